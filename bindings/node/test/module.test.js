'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const lt = require('..');

test('the ES module exports what the CommonJS module exports', async () => {
  const esm = await import('../gen_index.mjs');
  assert.deepEqual(Object.keys(esm).sort(), [...Object.keys(lt), 'default'].sort());
  assert.equal(esm.add, lt.add);
  assert.equal(esm.default, lt);
  assert.equal(lt.default, lt);
});

test('internal entries of the addon are not exported', () => {
  for (const name of ['install', 'accountedBytes', 'enterScope', 'leaveScope', 'fromTypedArray', 'memoryOf']) assert.equal(lt[name], undefined);
});

test('the type declarations fit the example', { timeout: 120_000 }, () => {
  const tsc = path.join(__dirname, '..', 'node_modules', 'typescript', 'bin', 'tsc');
  const { status, stdout } = spawnSync(process.execPath, [tsc, '--noEmit', '-p', path.join(__dirname, '..')], { encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});

// Programs that use each member of an object, and of those in it.
function usesOf(object, path, depth = 0) {
  return Object.keys(object).filter((key) => key !== 'default').flatMap((key) => {
    const value = object[key];
    const inside = depth < 3 && typeof value === 'object' && value !== null && !Array.isArray(value) ? usesOf(value, `${path}.${key}`, depth + 1) : [];
    return [`void ${path}.${key};`, ...inside];
  });
}

test('every function, method and property is declared', { timeout: 120_000 }, (t) => {
  const home = path.join(__dirname, '..');
  const folder = mkdtempSync(path.join(tmpdir(), 'libtensor-types-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const classes = { 'lt.Tensor': lt.Tensor, 'lt.Storage': lt.Storage, 'lt.Generator': lt.Generator, 'lt.autograd.Node': lt.autograd.Node };
  const members = Object.entries(classes).flatMap(([name, Class]) => Object.getOwnPropertyNames(Class.prototype).filter((key) => key !== 'constructor').map((key) => `void ({} as ${name}).${key};`));
  writeFileSync(path.join(folder, 'members.ts'), [`import lt = require(${JSON.stringify(home)});`, ...usesOf(lt, 'lt'), ...members].join('\n'));
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ extends: path.join(home, 'tsconfig.json'), files: ['members.ts'] }));
  const { status, stdout } = spawnSync(process.execPath, [path.join(home, 'node_modules', 'typescript', 'bin', 'tsc'), '--noEmit', '-p', folder], { encoding: 'utf8' });
  assert.equal(status, 0, stdout);
});

test('every method that the declarations promise exists', () => {
  const text = require('node:fs').readFileSync(path.join(__dirname, '..', 'gen_index.d.ts'), 'utf8');
  const body = text.match(/export class Tensor [^]*?\n}/)[0];
  const names = [...body.matchAll(/^ {2}(\w+)\(/gm)].map((m) => m[1]);
  assert.ok(names.length > 20);
  for (const name of names) assert.equal(typeof lt.Tensor.prototype[name], 'function', name);
});

test('functions have meaningful names and lengths', () => {
  const cases = [[lt.add, 'add', 2], [lt.Tensor.prototype.add, 'add', 1], [lt.Tensor.prototype.add_, 'add_', 1], [lt.zeros, 'zeros', 1], [lt.addAsync, 'addAsync', 2], [lt.special.zeta, 'zeta', 2]];
  for (const [fn, name, length] of cases) assert.deepEqual([fn.name, fn.length], [name, length]);
});

test('the stack of an error begins where the function was called', () => {
  const caller = () => lt.add(lt.zeros([2]), lt.zeros([3]));
  assert.throws(caller, (error) => /^Error: add: [^\n]*\n {4}at caller /.test(error.stack));
});
