'use strict';

// Every example of the README runs, and returns the value after its arrow.
const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { inspect } = require('node:util');
const lt = require('..');

const home = path.join(__dirname, '..');
const text = readFileSync(path.join(home, 'README.md'), 'utf8');
const examples = [...text.matchAll(/```js\n([^]*?)```/g)].map(([, source]) => source);
const AsyncFunction = (async () => {}).constructor;

test('the README has examples', () => assert.ok(examples.length >= 6));

for (const [i, source] of examples.entries()) {
  test(`example ${i + 1} of the README`, async () => {
    const checked = source.replaceAll(/^( *)(.*); \/\/ → (.*)$/gm, (line, indent, expression, shown) => `${indent}check(${expression}, ${JSON.stringify(shown)});`);
    assert.ok(checked.includes('check('));
    const inWorkers = checked.replaceAll("const lt = require('libtensor');\n  lt", `const lt = require(${JSON.stringify(home)});\n  lt`);
    const check = (value, shown) => assert.equal(inspect(value, { breakLength: Infinity }), shown);
    const own = inWorkers.includes("const lt = require('libtensor')") ? [] : ['lt'];
    const console = { log() {} };
    const load = (name) => (name === 'libtensor' ? lt : require(name));
    await new AsyncFunction('require', 'check', 'console', ...own, inWorkers)(load, check, console, lt);
  });
}
