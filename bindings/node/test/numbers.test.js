'use strict';

// What is known of dtypes and tensors, printing, random states, assertClose.
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
  assert.throws(() => lt.broadcastShapes([2], [3]), { code: 'TENSOR_ERROR_VALUE', message: /\[2\], \[3\] do not broadcast/ });
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

test('arrays are taken for tensors, and proxies for arrays', () => {
  assert.deepEqual(lt.stack([[1, 2], new Float32Array([3, 4])]).toArray(), [[1, 2], [3, 4]]);
  assert.deepEqual(lt.tensor([1, 2]).add([1, 2]).toArray(), [2, 4]);
  assert.deepEqual(lt.matmul([[1, 0], [0, 2]], [[1, 2], [3, 4]]).toArray(), [[1, 2], [6, 8]]);
  assert.deepEqual(lt.sum([[1, 2], [3, 4]], [0]).toArray(), [4, 6]);
  assert.deepEqual(lt.zeros(new Proxy([2, 3], {})).shape, [2, 3]);
  assert.deepEqual(lt.cat(new Proxy([lt.tensor([1]), [2]], {})).toArray(), [1, 2]);
  assert.throws(() => lt.tensor([1, 2]).add(['a']), /^TypeError: add: /);
});
