'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { test } = require('node:test');

test('require starts no thread, the first call does', () => {
  const code = `
    const { readdirSync } = require('node:fs');
    const threads = () => readdirSync('/proc/self/task').length;
    const before = threads();
    const lt = require(${JSON.stringify(path.join(__dirname, '..'))});
    const after = threads();
    const sum = lt.ones([3]).sum().item();
    console.log(after === before, threads() > before, sum);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', code], { encoding: 'utf8' });
  assert.equal(stdout, 'true true 3\n', stderr);
});
