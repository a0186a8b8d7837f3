'use strict';

// Several copies of the package's JavaScript in one process, as test runners and bundles have them: none disturbs another one.
const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const { test } = require('node:test');
const { setTimeout: sleep } = require('node:timers/promises');
const vm = require('node:vm');
const { Worker } = require('node:worker_threads');
const lt = require('..');

const home = path.join(__dirname, '..');

// A copy of the package, of which every module is run in a context.
function copyIn(context, file = path.join(home, 'index.js'), modules = new Map()) {
  if (modules.has(file)) return modules.get(file).exports;
  const module = { exports: {} };
  modules.set(file, module);
  const text = readFileSync(file, 'utf8');
  if (file.endsWith('.json')) return (module.exports = JSON.parse(text));
  const real = createRequire(file);
  const own = (name) => (name.startsWith('.') ? copyIn(context, real.resolve(name), modules) : real(name));
  const source = `(function (exports, require, module, __filename, __dirname) {${text}\n})`;
  const run = context ? vm.runInContext(source, context, { filename: file }) : vm.runInThisContext(source, { filename: file });
  run(module.exports, own, module, file, path.dirname(file));
  return module.exports;
}

const globals = { process, console, Buffer, structuredClone };

// Values of another realm have other prototypes.
const same = (value, expected) => assert.deepEqual(JSON.parse(JSON.stringify(value)), expected);

const doubled = (grad) => grad.mul(2); // a hook in useAll would have its tensor

function useAll(copy) {
  const x = copy.tensor([[1, 2], [3, 4.5]]);
  same(x.at(1, copy.slice(1)).toArray(), [4.5]);
  same([...x].map((row) => row.toArray()), [[1, 2], [3, 4.5]]);
  same(copy.scope(() => x.add(1)).toArray(), [[2, 3], [4, 5.5]]);
  x.requiresGrad_();
  x.registerHook(doubled);
  x.mul(x).sum().backward();
  same(x.grad.at(1).toArray(), [12, 18]);
  assert.throws(() => x.at(7), { code: 'TENSOR_ERROR_INDEX' });
}

test('copies in one realm, of which each goes on to work', async () => {
  const copies = [lt, copyIn(), copyIn()];
  for (const copy of [...copies, ...copies]) useAll(copy);
  const [a, b] = copies.map((copy) => copy.tensor([1.5, 2]));
  const [first, second] = copies;
  assert.ok(!first.isTensor(b) && second.isTensor(b));
  for (const call of [() => a.add(b), () => first.add(a, b), () => first.stack([a, b]), () => a.set('...', b), () => first.scope(b)]) {
    assert.throws(call, { name: 'TypeError', message: /another copy of libtensor/ });
  }
  assert.ok(first.tensor(b).equal(a));
  await Promise.all(copies.map((copy) => copy.addAsync(copy.ones(3), 1)));
  first.setDefaultDtype('float64');
  assert.deepEqual(copies.map((copy) => copy.ones(1).dtype), ['float64', 'float32', 'float32']);
  first.setDefaultDtype('float32');
});

test('CommonJS and ES modules have one copy', async () => {
  const es = await import('../gen_index.mjs');
  assert.ok(es.default === lt && es.isTensor(lt.ones(1)));
});

test('a copy in another realm makes values of that realm', async () => {
  const context = vm.createContext({ ...globals });
  const copy = copyIn(context);
  const own = vm.runInContext('({ Array, Object, Promise, Float32Array, Error, RangeError, TypeError })', context);
  useAll(copy);
  const x = copy.tensor(vm.runInContext('[[1, 2], [3, 4.5]]', context));
  for (const list of [x.shape, x.toArray(), x.unbind(), x.names, await copy.splitAsync(x, 1)]) assert.ok(list instanceof own.Array);
  for (const object of [x.max(1), await copy.maxAsync(x, { dim: 1 })]) {
    assert.ok(object instanceof own.Object && copy.isTensor(object.values));
  }
  assert.ok(copy.addAsync(x, 1) instanceof own.Promise);
  assert.ok(x.data() instanceof own.Float32Array && x.data()[3] === 4.5);
  assert.equal(copy.asTensor(new Float32Array([1, 2])).data()[1], 2);
  assert.throws(() => x.at(9), own.RangeError);
  assert.throws(() => x.add('a'), own.TypeError);
  assert.throws(() => x.add(copy.ones(7)), own.Error);
  await assert.rejects(copy.addAsync(x, copy.ones(7)), own.Error);
  same([...copy.loadBytes(copy.saveBytes(new Map([['a', new Set([1])]]))).a], [1]);
});

test('contexts whose copy nobody has any more are collected', async () => {
  const contexts = [];
  for (let i = 0; i < 6; i++) {
    const context = vm.createContext({ ...globals });
    const copy = copyIn(context);
    useAll(copy);
    await copy.addAsync(copy.ones(3), 1);
    contexts.push(new WeakRef(context));
  }
  for (let i = 0; i < 20 && contexts.some((context) => context.deref()); i++) {
    await sleep(5);
    globalThis.gc();
  }
  assert.ok(contexts.filter((context) => context.deref()).length <= 1); // one may still be on the stack
});

test('copies in a worker', async () => {
  const source = `
    const { parentPort } = require('node:worker_threads');
    const home = ${JSON.stringify(home)};
    const copies = [require(home)];
    for (const file of Object.keys(require.cache)) delete require.cache[file];
    copies.push(require(home));
    parentPort.postMessage(copies.map((copy) => copy.tensor([[1, 2.5]]).at(0, 1).item() + [...copy.ones(2, 2)].length));
  `;
  const worker = new Worker(source, { eval: true });
  const values = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  assert.deepEqual(values, [4.5, 4.5]);
});

test('warnings are reported by the copy that made the call', async () => {
  const [first, second] = [copyIn(), copyIn()];
  const told = [];
  const listen = (warning) => told.push(warning.code);
  process.on('warning', listen);
  for (const copy of [first, second, first]) copy.add(copy.ones(4), 1, { out: copy.ones(3) });
  await sleep(10);
  process.off('warning', listen);
  assert.deepEqual(told.filter((code) => code === 'TENSOR_WARNING_OUT_RESIZED').length, 2);
});
