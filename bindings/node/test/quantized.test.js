'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const lt = require('..');

const numbers = () => lt.tensor([[-1, 0.26], [2.5, 100]], { dtype: 'float32' });
const quantized = () => lt.quantizePerTensor(numbers(), 0.1, 10, 'quint8');

test('numbers become integers and back', () => {
  const q = quantized();
  assert.equal(q.dtype, lt.quint8);
  assert.deepEqual(q.intRepr().toArray(), [[0, 13], [35, 255]]);
  assert.equal(q.qScale(), 0.1);
  assert.equal(Number(q.qZeroPoint()), 10);
  assert.equal(q.qscheme(), 'per_tensor_affine');
  assert.equal(q.isQuantized(), true);
  assert.deepEqual(q.t().dequantize().toArray(), [[-1, 2.5], [Math.fround(0.3), 24.5]]);
  assert.match(String(q), /size=\(2, 2\), dtype=torch\.quint8,\n {7}quantization_scheme=torch\.per_tensor_affine, scale=0\.1, zero_point=10\)$/);
});

test('channels have separate scales', () => {
  const q = lt.quantizePerChannel(lt.ones([2, 1]), lt.tensor([0.5, 0.25]), lt.tensor([0n, 1n]), 0, 'qint8');
  assert.deepEqual(q.intRepr().toArray(), [[2], [5]]);
  assert.deepEqual(q.qPerChannelScales().toArray(), [0.5, 0.25]);
  assert.equal(Number(q.t().qPerChannelAxis()), 1);
});

test('arithmetic has a separate quantizer, and other operators are rejected by name', () => {
  const q = quantized();
  assert.deepEqual(lt.quantized.add(q, q, 0.2, 10).intRepr().toArray(), [[0, 13], [35, 255]]);
  assert.throws(() => q.add(q), /add is not implemented for quantized tensors; call dequantize\(\) first/);
  assert.throws(() => lt.quantizePerTensor(numbers(), 0, 0, 'quint8'), /a scale must be positive/);
  assert.deepEqual(q.toArray(), q.dequantize().toArray());
  assert.throws(() => q.data(), /dequantize\(\)/);
  assert.throws(() => lt.zeros([2], { dtype: 'quint8' }), /quint8, a quantized dtype/);
});

test('without elements, quantized tensors are compared and cloned by their quantizers', () => {
  const [q, other] = [0.1, 0.2].map((scale) => lt.quantizePerTensor(lt.ones(2), scale, 3, 'qint8').to('meta'));
  assert.notDeepEqual(q, other);
  const clone = lt.tensor(structuredClone(q));
  assert.deepEqual([clone.qScale(), clone.qZeroPoint(), clone.dtype, clone.device], [0.1, 3, 'qint8', 'meta']);
  assert.deepEqual(clone, q);
});

test('the table of dispatch', () => {
  assert.match(lt.dispatchTable('sort'), /^sort\tkind\tquantized\trule$/m);
});
