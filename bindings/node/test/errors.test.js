'use strict';

// Errors of every function: they speak of the function that was called, in JavaScript's names and words.
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
    const named = /^([\w.]+)(?=: | is not implemented)/.exec(error.message)?.[1];
    const own = named === undefined || named === name || named === name.split('.').at(-1);
    const isOurs = error instanceof TypeError || error instanceof RangeError || /^(TENSOR_ERROR_(?!INTERNAL)|E[A-Z]+$|ERR_)/.test(error.code) || error.name === 'GradcheckError';
    const problem = !isOurs ? 'a kind of error that nobody expects' : /\b[a-z][a-z0-9]*_[a-z0-9]/.test(text) ? 'a name in snake case' : /\b(None|True|False|tuple|dict|kwargs?)\b/.test(text) ? 'a word of Python\'s' : own ? undefined : 'another function';
    if (problem) wrong.set(`${problem}: ${name}: ${error.message}`, error);
  }
  assert.deepEqual([...wrong.keys()], []);
});
