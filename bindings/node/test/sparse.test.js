'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const lt = require('..');

const dense = () => lt.tensor([[0, 2, 0], [3, 0, 0]], { dtype: 'float32' });

test('sparse tensors have layouts and parts', () => {
  const s = dense().toSparse();
  assert.equal(s.layout, 'sparse_coo');
  assert.deepEqual(s.indices().toArray(), [[0, 1], [1, 0]]);
  assert.deepEqual(s.values().toArray(), [2, 3]);
  assert.equal(Number(s.nnz()), 2);
  const c = s.toSparseCsr();
  assert.equal(c.layout, 'sparse_csr');
  assert.deepEqual(c.crowIndices().toArray().map(Number), [0, 1, 2]);
  assert.deepEqual(c.toDense().toArray(), dense().toArray());
  assert.match(String(s), /layout=torch\.sparse_coo\)$/);
});

test('sparse tensors are made of parts, which are checked', () => {
  const [at, values] = [lt.tensor([[0n, 1n], [2n, 0n]]), lt.tensor([3, 4], { dtype: 'float32' })];
  const s = lt.sparseCooTensor(at, values, { size: [2, 3] });
  assert.deepEqual(s.toDense().toArray(), [[0, 0, 3], [4, 0, 0]]);
  assert.throws(() => lt.sparseCooTensor(at, values, { size: [2, 2] }), /size is 2 but found index 2/);
  assert.throws(() => lt.sparseCompressedTensor([0, 2], [1, 1], values, { size: [1, 2], layout: 'sparse_csr' }), /colIndices must be strictly increasing/);
});

test('sparse tensors compute, and unsupported operators are rejected by name', () => {
  const s = dense().toSparseCsr();
  assert.deepEqual(s.matmul(lt.ones([3, 2])).toArray(), [[2, 2], [3, 3]]);
  assert.deepEqual(s.add(s).toDense().toArray(), [[0, 4, 0], [6, 0, 0]]);
  assert.deepEqual(lt.sparse.sum(dense().toSparse(), { dim: [0] }).toDense().toArray(), [3, 2, 0]);
  assert.throws(() => s.sort(), /sort is not implemented for sparse_csr tensors; convert with toDense\(\)/);
});

test('gradients reach the values', () => {
  const s = dense().toSparse();
  s.requiresGrad = true;
  s.mul(2).sum().backward();
  assert.equal(s.grad.layout, 'sparse_coo');
  assert.deepEqual(s.grad.values().toArray(), [2, 2]);
});

test('hooks receive sparse gradients, and sparse tensors reject names', () => {
  const s = dense().toSparse();
  s.requiresGrad = true;
  const seen = [];
  s.registerHook((grad) => { seen.push(grad.layout); return grad.mul(10); });
  s.mul(s).toDense().sum().backward();
  assert.deepEqual(seen, ['sparse_coo']);
  assert.deepEqual(s.grad.toDense().toArray(), [[0, 40, 0], [60, 0, 0]]);
  assert.throws(() => dense().toSparse().rename(['A', 'B']), /names are not supported for sparse tensors/);
});

test('embeddings have sparse gradients, which accumulate in place', () => {
  const weight = lt.ones([4, 2]).requiresGrad_();
  const pick = () => lt.nn.embedding(lt.tensor([3n, 1n, 3n]), weight, { sparse: true }).sum().backward();
  pick();
  const kept = weight.grad;
  assert.equal(kept.layout, 'sparse_coo');
  assert.equal(Number(kept.nnz()), 3);
  pick();
  assert.deepEqual(kept.toDense().toArray(), [[0, 0], [2, 2], [0, 0], [4, 4]]);
  weight.grad.zero_();
  assert.equal(Number(kept.nnz()), 0);
  weight.grad = lt.tensor([[0, 1], [0, 0], [0, 0], [0, 0]]).toSparse();
  assert.equal(weight.grad.layout, 'sparse_coo');
  weight.sum().backward();
  assert.deepEqual(weight.grad.toArray(), [[1, 2], [1, 1], [1, 1], [1, 1]]);
  const [gathered] = lt.autograd.grad([lt.gather(weight, 0, lt.tensor([[3n, 0n]]), { sparseGrad: true }).sum()], [weight]);
  assert.equal(gathered.layout, 'sparse_coo');
  assert.deepEqual(gathered.toDense().toArray(), [[0, 1], [0, 0], [0, 0], [1, 0]]);
});
