'use strict';

// Properties of dtypes and tensors, printing, random states, assertClose.
const assert = require('node:assert/strict');
const { test } = require('node:test');
const lt = require('..');

test('finfo, iinfo and constants', () => {
  assert.deepEqual(lt.finfo(), lt.finfo('float32'));
  assert.deepEqual([lt.finfo('float16').max, lt.finfo('complex128').eps, lt.finfo('bfloat16').bits], [65504, 2 ** -52, 16]);
  assert.deepEqual([lt.iinfo('uint8'), lt.iinfo('int64').max, lt.iinfo('int8').min], [{ dtype: 'uint8', bits: 8, min: 0, max: 255 }, 2n ** 63n - 1n, -128]);
  assert.throws(() => lt.finfo('int8'), { code: 'TENSOR_ERROR_TYPE', message: /iinfo/ });
  assert.throws(() => lt.iinfo('bool'), { code: 'TENSOR_ERROR_TYPE', message: /finfo/ });
  assert.deepEqual([lt.inf, lt.nan, lt.pi, lt.e, lt.newaxis], [Infinity, NaN, Math.PI, Math.E, null]);
});

test('questions about tensors', () => {
  const z = lt.tensor([{ re: 1, im: 2 }]);
  assert.deepEqual([z.real.toArray(), z.imag.toArray(), z.isComplex(), lt.isFloatingPoint(z), z.itemsize, z.nbytes], [[1], [2], true, false, 8, 8]);
  const x = lt.tensor([1, 2]);
  assert.equal(x.real, x);
  assert.deepEqual([x.isMeta, x.to('meta').isMeta, x.isSparse, x.toSparse().isSparse, x.toSparse().isSparseCsr, x.isCpu, lt.numel(x)], [false, true, false, true, false, true, 2]);
  assert.deepEqual([x.double().dtype, x.half().dtype, x.bool().dtype, x.float().long().dtype, x.typeAs(z).dtype], ['float64', 'float16', 'bool', 'int64', 'complex64']);
  assert.deepEqual(x.where(lt.tensor([true, false]), -1).toArray(), [1, -1]);
  assert.deepEqual(lt.tensor([1.5]).polygamma(1).toArray(), lt.polygamma(1, lt.tensor([1.5])).toArray());
  assert.deepEqual(lt.tensor([1.5]).polygamma_(1).toArray(), lt.polygamma(1, lt.tensor([1.5])).toArray());
  assert.deepEqual(lt.broadcastShapes([2, 1], [3], []), [2, 3]);
  assert.throws(() => lt.broadcastShapes([2], [3]), { code: 'TENSOR_ERROR_VALUE', message: /\[2\], \[3\] cannot be broadcast/ });
  assert.deepEqual(lt.sparseCsrTensor([0, 1, 1], [1], [2.5], { size: [2, 2] }).toDense().toArray(), [[0, 2.5], [0, 0]]);
});

test('printing', () => {
  const before = lt.getPrintoptions();
  lt.setPrintoptions({ precision: 2 });
  assert.equal(String(lt.tensor([1.23456])), 'tensor([1.23])');
  assert.throws(() => lt.setPrintoptions({ precision: -1 }), /^RangeError: setPrintoptions: |^Error: setPrintoptions: /);
  assert.throws(() => lt.setPrintoptions({ profile: 'tiny' }), /default, short, full/);
  lt.setPrintoptions({ profile: 'default' });
  assert.deepEqual(lt.getPrintoptions(), before);
});

test('the state of the default generator comes back', () => {
  lt.manualSeed(7);
  assert.equal(lt.initialSeed(), 7);
  const state = lt.getRngState();
  const drawn = lt.rand(3).toArray();
  lt.setRngState(state);
  assert.deepEqual(lt.rand(3).toArray(), drawn);
  assert.throws(() => lt.setRngState(lt.zeros(3)), /^\w*Error: setRngState: /);
});

test('assertClose', () => {
  lt.testing.assertClose({ a: [lt.tensor([1, 2.5])], b: 1 }, { a: [lt.tensor([1, 2.5000001])], b: 1 });
  const differ = (a, b, options) => assert.throws(() => lt.testing.assertClose(a, b, options), { name: 'AssertionError' });
  differ(lt.tensor([1, 2.5]), lt.tensor([1, 2.6]));
  differ(lt.tensor([1n]), lt.tensor([1]));
  differ(lt.tensor(2n), 2.5);
  lt.testing.assertClose(lt.tensor(2n), 2);
  differ(lt.tensor([NaN]), lt.tensor([NaN]));
  lt.testing.assertClose(lt.tensor([NaN]), lt.tensor([NaN]), { equalNan: true });
  differ([1, 2], [1]);
  differ({ a: 1 }, { b: 1 });
  lt.testing.assertClose(lt.tensor([1]), lt.tensor([1.5]), { rtol: 0, atol: 1, checkDtype: false });
  assert.throws(() => lt.testing.assertClose(lt.tensor([1]), lt.tensor([1]), { rtol: 1 }), { code: 'TENSOR_ERROR_VALUE' });
});

test('iterables are taken where arrays are', () => {
  function* numbers() {
    yield 1;
    yield 2;
  }
  assert.deepEqual(lt.tensor(new Set([1, 2])).toArray(), [1, 2]);
  assert.deepEqual(lt.tensor([numbers(), numbers()]).toArray(), [[1, 2], [1, 2]]);
  assert.deepEqual(lt.add(numbers(), [3, 4].values()).toArray(), [4, 6]);
  assert.deepEqual(lt.stack(new Set([lt.ones(1), lt.zeros(1)])).toArray(), [[1], [0]]);
  assert.deepEqual([lt.zeros(numbers()).shape, lt.zeros(2, 3).reshape(new Set([3, 2])).shape, lt.ones(2, 3).sum({ dim: new Set([0]) }).shape], [[1, 2], [3, 2], [3]]);
  assert.deepEqual([lt.zeros(1, { names: new Set(['a']) }).names, lt.zeros(1).rename(['b'].values()).names], [['a'], ['b']]);
  const x = lt.tensor([[1, 2], [3, 4]]);
  assert.deepEqual([x.at(new Set([1, 0])).toArray(), x.at([new Set([1, 0])]).toArray(), x.set(0, numbers()).toArray()], [3, [[3, 4], [1, 2]], [[1, 2], [3, 4]]]);
  const generator = numbers();
  assert.equal(lt.isTensor(generator), false);
  assert.deepEqual([...generator], [1, 2]);
  for (const call of [() => lt.add(1, new Map()), () => lt.zeros('23'), () => lt.tensor(new Map())]) assert.throws(call, { name: 'TypeError' });
});

test('numbers in an array are integers where indices are meant', () => {
  const x = lt.tensor([[1, 2], [3, 4]]);
  const cases = [
    [x.gather(1, [[0, 0], [1, 0]]), [[1, 1], [4, 3]]],
    [x.indexSelect(0, [1]), [[3, 4]]],
    [lt.take(x, [3, 0]), [4, 1]],
    [lt.zeros(3).scatter(0, [1], [5]), [0, 5, 0]],
    [lt.zeros(3).indexPut([[0, 2]], [7, 8]), [7, 0, 8]],
    [lt.zeros(2).indexAdd(0, [1, 1], [1, 2]), [0, 3]],
    [lt.nn.oneHot([0, 2]), [[1, 0, 0], [0, 0, 1]]],
    [lt.nn.embedding([1], x), [[3, 4]]],
    [lt.bincount([1, 1, 2]), [0, 2, 1]],
    [lt.bitwiseAnd([3, 5], [1, 4]), [1, 4]],
    [lt.repeatInterleave([5, 6], [1, 2]), [5, 6, 6]],
    [x.at([1, 0], [0, 1]), [3, 2]],
  ];
  for (const [made, values] of cases) assert.deepEqual(made.toArray(), values);
  assert.ok(Math.abs(lt.nn.crossEntropy(x, [0, 1]).item() - lt.nn.crossEntropy(x, lt.tensor([0n, 1n])).item()) < 1e-6);
  assert.throws(() => lt.take(x, [0.5]), /^\w*Error: take: expected dtype int64 for index, but got float32$/);
  assert.equal(lt.add([1, 2], [3, 4]).dtype, 'float32');
  assert.equal(lt.add([1n, 2n], [true, false]).dtype, 'int64');
});

test('the transposes of PyTorch are properties', () => {
  const x = lt.tensor([[[1, 2, 3]], [[4, 5, 6]]]);
  assert.deepEqual([x.T.shape, x.mT.shape, x.mH.shape, x.at(0).H.shape], [[3, 1, 2], [2, 3, 1], [2, 3, 1], [3, 1]]);
  assert.equal(x.mT.strides[1], 1);
  assert.throws(() => x.H, /^\w*Error: H: only supported on matrices/);
});

test('arrays are taken for tensors, and proxies for arrays', () => {
  assert.deepEqual(lt.stack([[1, 2], new Float32Array([3, 4])]).toArray(), [[1, 2], [3, 4]]);
  assert.deepEqual(lt.tensor([1, 2]).add([1, 2]).toArray(), [2, 4]);
  assert.deepEqual(lt.matmul([[1, 0], [0, 2]], [[1, 2], [3, 4]]).toArray(), [[1, 2], [6, 8]]);
  assert.deepEqual(lt.sum([[1, 2], [3, 4]], [0]).toArray(), [4, 6]);
  assert.deepEqual(lt.zeros(new Proxy([2, 3], {})).shape, [2, 3]);
  assert.deepEqual(lt.cat(new Proxy([lt.tensor([1]), [2]], {})).toArray(), [1, 2]);
  assert.throws(() => lt.tensor([1, 2]).add(['a']), /^TypeError: add: /);
});
