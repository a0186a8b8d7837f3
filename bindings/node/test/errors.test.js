'use strict';

// Errors of every function name the function that was called and its arguments as in JavaScript.
const assert = require('node:assert/strict');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { test } = require('node:test');
const lt = require('..');

const CALLS = 12; // of each function

// Functions that change the process, or take descriptors that are not the test's.
const left = new Set(['setMemoryLimit', 'setNumThreads', 'setAsyncThreads', 'setDefaultDevice', 'setDefaultDtype', 'setGradEnabled', 'setInferenceMode', 'setWarnAlways', 'storageFromDescriptor', 'emptyCache', 'resetPeakMemoryStats', 'default', 'constructor']);

const matrix = () => lt.tensor([[1, 2.5], [3, 4]]);
const gone = () => {
  const t = matrix();
  t.dispose();
  return t;
};
const tensors = [
  matrix,
  () => lt.tensor([1, 2, 3]),
  () => lt.zeros([2, 3, 4]),
  () => matrix().toSparse(),
  () => lt.quantizePerTensor(matrix(), 0.1, 0, 'quint8'),
  () => lt.zeros([2, 2], { device: 'meta' }),
  () => lt.zeros([2, 2], { names: ['rows', null] }),
  gone,
  () => lt.zeros([2, 2], { dtype: 'complex64' }),
  () => lt.zeros([0]),
  () => lt.zeros([2, 2], { requiresGrad: true }).mul(2),
  () => lt.zeros([2, 2], { dtype: 'bool' }),
];
const others = [() => lt.storageNew(4), () => lt.generatorNew()];
const values = [...tensors, ...others, () => 1, () => -7, () => 1.5, () => 'x', () => null, () => true, () => [1, 2], () => [], () => [matrix(), gone()], () => 99n, () => Symbol('s'), () => 2n ** 70n];
const options = [() => ({ bad: 1 }), () => ({ dim: 9 }), () => ({ out: matrix() }), () => ({ dtype: 'int32' }), () => ({ dim: 'nope' }), () => ({ out: 5 })];

function functions() {
  const found = [];
  const walk = (object, path) => {
    for (const [key, value] of Object.entries(object)) {
      if (left.has(key) || /Async$/.test(key)) continue;
      if (typeof value === 'function' && !/^class/.test(String(value))) found.push({ name: path + key, fn: value });
      else if (typeof value === 'object' && value !== null) walk(value, `${path}${key}.`);
    }
  };
  walk(lt, '');
  for (const Class of [lt.Tensor, lt.Storage, lt.Generator]) {
    for (const key of Object.getOwnPropertyNames(Class.prototype)) {
      const { value } = Object.getOwnPropertyDescriptor(Class.prototype, key);
      if (typeof value === 'function' && !left.has(key) && !/Async$/.test(key)) found.push({ name: key, fn: value, Class });
    }
  }
  return found;
}

// The errors that functions have for arguments which hardly any takes.
function provoke() {
  const found = [];
  let state = 1;
  const below = (n) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % n;
  };
  const pick = (list) => list[below(list.length)]();
  for (const { name, fn, Class } of functions()) {
    for (let i = 0; i < CALLS; i++) {
      lt.scope(() => {
        const given = Array.from({ length: below(3) }, () => pick(values));
        if (!Class && below(4)) given.unshift(pick(tensors));
        if (below(2)) given.push(pick(options));
        const self = Class ? (Class === lt.Tensor ? pick(tensors) : others[Class === lt.Storage ? 0 : 1]()) : undefined;
        try {
          const made = Reflect.apply(fn, self, given);
          made?.catch?.(() => {});
        } catch (error) {
          found.push({ name, error });
        }
      });
    }
  }
  return found;
}

// Values that are spelled so in JavaScript, too.
const spelled = /sparse_(coo|csr|csc|bsr|bsc)|channels_last(_3d)?|(contiguous|preserve)_format|per_(tensor|channel)_\w+|(donot_)?use_mm_\w+/g;

test('errors name the function that was called, in JavaScript\'s names and words', () => {
  const folder = mkdtempSync(join(tmpdir(), 'libtensor-errors-'));
  const home = process.cwd();
  const limit = lt.memoryStats().inUse + 2 ** 28;
  process.on('warning', () => {});
  process.chdir(folder);
  lt.setMemoryLimit(limit);
  let found;
  try {
    found = provoke();
  } finally {
    lt.setMemoryLimit(0);
    process.chdir(home);
    rmSync(folder, { recursive: true });
  }
  assert.ok(found.length > 10_000, `${found.length} errors`);
  const wrong = new Map();
  for (const { name, error } of found) {
    const text = error.message.replace(spelled, '');
    const named = /^([\w.]+)(?=: | is not implemented| expected )/.exec(error.message)?.[1];
    const own = named === name || named === name.split('.').at(-1) || /^ERR_|^undefined$/.test(error.code);
    const isOurs = error instanceof TypeError || error instanceof RangeError || /^(TENSOR_ERROR_(?!INTERNAL)|E[A-Z]+$|ERR_)/.test(error.code) || error.name === 'GradcheckError';
    const problem = !isOurs ? 'a kind of error that nobody expects' : /\b[a-z][a-z0-9]*_[a-z0-9]/.test(text) ? 'a name in snake case' : /\b(None|True|False|tuple|dict|kwargs?)\b/.test(text) ? 'a word of Python\'s' : own ? undefined : 'another function';
    if (problem) wrong.set(`${problem}: ${name}: ${error.message}`, error);
  }
  assert.deepEqual([...wrong.keys()], []);
});

function message(call) {
  try {
    call();
  } catch (error) {
    return error.message;
  }
  return 'no error';
}

test('errors describe rejected numbers, arrays and memory', () => {
  const t = lt.zeros([2, 3]);
  const numbers = [
    [NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [-Infinity, '-Infinity'],
    [1e300, 'a number that does not fit into 64 bits'],
    [1.5, 'a number with a fraction'],
    [lt.float(2), 'a float'],
  ];
  for (const [value, name] of numbers) {
    assert.equal(message(() => t.select(0, value)), `select: argument 'index' must be an integer, not ${name}`);
    assert.equal(message(() => lt.zeros([value])), `zeros: argument 'size' must be an integer or an array of integers, not an array whose first item is ${name}`);
    assert.equal(message(() => lt.zeros([2, value])), `zeros: argument 'size' must be an integer or an array of integers; item 1 is ${name}`);
    assert.equal(message(() => t.reshape(6, value)), `reshape: argument 'shape' must be an integer or an array of integers; item 1 is ${name}`);
    assert.equal(message(() => t.at(lt.slice(value))), `at: start of a slice must be an integer, not ${name}`);
  }
  assert.match(message(() => lt.add(lt.ones(2, { requiresGrad: true }), 1, { out: lt.zeros(2) })), /^add: functions with out/);
  assert.equal(message(() => t.at(7)), 'at: index 7 is out of bounds for dimension 0 with size 2');
  for (const value of ['a', undefined, null, () => 1]) assert.match(message(() => t.set(0, value)), /^set: argument 'value' must be a tensor, a number or an array, not /);
  for (const memory of [new ArrayBuffer(8), new DataView(new ArrayBuffer(8))]) {
    assert.equal(message(() => t.add(memory)), 'add: an ArrayBuffer or a DataView has no dtype; use tensor(data, {dtype})');
    structuredClone(memory.buffer ?? memory, { transfer: [memory.buffer ?? memory] });
    for (const dtype of [undefined, 'float64']) assert.match(message(() => lt.asTensor(memory, { dtype })), /^asTensor: the buffer of the data was transferred/);
  }
  const clone = { dtype: 'quint8', shape: [2], values: new Uint8Array(2), qscheme: 'per_tensor_affine', scale: 'x', zeroPoint: 0 };
  assert.equal(message(() => lt.tensor({ elements: clone })), "tensor: argument 'scale' must be a number, not a string");
  assert.match(message(() => lt.tensor(new Float32Array(4), { shape: [2n ** 62n, 4] })), /^tensor: the shape requires more bytes than a 64-bit integer can represent of float32, but the array has 16$/);
});

test('errors of unavailable elements name the function that returns them', () => {
  const t = lt.tensor([[1, 0], [0, 2.5]]);
  for (const method of ['toArray', 'toJSON', 'data']) {
    for (const sparse of [t.toSparse(), t.toSparseCsr()]) assert.match(message(() => sparse[method]()), new RegExp(`^${method} is not implemented for sparse_\\w+ tensors; convert with toDense\\(\\)$`));
    const meta = lt.zerosLike(t, { device: 'meta' });
    assert.equal(message(() => meta[method]()), `${method}: tensors on the meta device have no elements; zerosLike(tensor, {device: 'cpu'}) creates one that has`);
    assert.deepEqual(lt.zerosLike(meta, { device: 'cpu' })[method]().length, method === 'data' ? 4 : 2);
  }
  const quantized = lt.quantizePerTensor(t, 0.5, 0, 'quint8');
  assert.deepEqual([quantized.toArray(), JSON.stringify(quantized)], [[[1, 0], [0, 2.5]], '[[1,0],[0,2.5]]']);
  assert.match(message(() => quantized.data()), /^data: .*use dequantize\(\) or intRepr\(\)$/);
});
