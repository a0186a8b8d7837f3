'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const lt = require('..');

const named = (...names) => lt.arange(24).reshape([2, 3, 4]).rename_(names);

test('names of created tensors', () => {
  assert.deepEqual(lt.zeros([2, 3], { names: ['N', null] }).names, ['N', null]);
  assert.deepEqual(lt.randn([2], { names: ['N'], dtype: 'float64' }).names, ['N']);
  const x = lt.tensor([1.5, 2.5], { names: ['a'], requiresGrad: true });
  assert.deepEqual([x.names, x.isLeaf, String(x)], [['a'], true, "tensor([1.5000, 2.5000], requires_grad=True, names=('a',))"]);
  assert.deepEqual(lt.zeros(2, 3).names, [null, null]);
  assert.throws(() => lt.zeros([2, 3], { names: ['N', 'N'] }), /'N' occurs twice/);
  assert.throws(() => lt.zeros([2, 3], { names: ['N'] }), /do not match the 2 dimensions/);
  assert.throws(() => lt.zeros([2], { names: 'N' }), { name: 'TypeError', message: /must be an array with a name for each dimension, not a string/ });
  assert.throws(() => lt.ones(2).add(1, { names: ['N'] }), { name: 'TypeError', message: /no argument 'names'/ });
});

test('names of asynchronously created tensors', async () => {
  assert.deepEqual((await lt.zerosAsync([2], { names: ['N'] })).names, ['N']);
});

test('other names', () => {
  const x = named('N', 'C', null);
  assert.deepEqual(x.rename(['A', '...']).names, ['A', 'C', null]);
  assert.deepEqual(x.rename({ N: 'A', C: null }).names, ['A', null, null]);
  assert.deepEqual([x.rename(null).names, x.names], [[null, null, null], ['N', 'C', null]]);
  assert.throws(() => x.rename({ Z: 'A' }), /Name 'Z' not found in Tensor\['N', 'C', null\]/);
  const y = x.refineNames(['...', 'H']);
  assert.deepEqual(y.names, ['N', 'C', 'H']);
  assert.deepEqual([y.alignTo(['H', '...']).names, y.alignTo(['N', 'C', 'W', 'H']).shape], [['H', 'N', 'C'], [2, 3, 1, 4]]);
  assert.deepEqual(y.sum('C').alignAs(y).shape, [2, 1, 4]);
  assert.deepEqual(y.flatten(['C', 'H'], 'F').names, ['N', 'F']);
  assert.deepEqual(y.unflatten('H', [['a', 2], ['b', 2]]).names, ['N', 'C', 'a', 'b']);
  x.names = null;
  assert.deepEqual(x.names, [null, null, null]);
  x.names = ['a', null, 'b'];
  assert.deepEqual(x.names, ['a', null, 'b']);
});

test('dimensions by name', () => {
  const x = named('N', 'C', 'H');
  for (const [a, b] of [
    [x.sum('C'), x.sum(1)],
    [x.sum(['N', 'H']), x.sum([0, 2])],
    [x.max('C').values, x.max(1).values],
    [x.argmax('C'), x.argmax(1)],
    [x.flip('C', 'H'), x.flip(1, 2)],
    [x.permute('H', 'N', 'C'), x.permute(2, 0, 1)],
    [lt.cat([x, x], 'C'), lt.cat([x, x], 1)],
    [x.sort({ dim: 'C', descending: true }).values, x.sort({ dim: 1, descending: true }).values],
  ]) {
    assert.deepEqual([a.toArray(), a.names], [b.toArray(), b.names]);
  }
  assert.throws(() => x.sum('Q'), /Name 'Q' not found in Tensor\['N', 'C', 'H'\]/);
  assert.throws(() => lt.ones(2).sum('Q'), /Name 'Q' not found in Tensor\[null\]/);
  assert.throws(() => lt.zeros('N'), { name: 'TypeError' });
});

test('errors of names are those of the call', () => {
  for (const make of [(names) => lt.zeros([2, 3], { names }), (names) => lt.tensor([[1, 2, 3]], { names })]) {
    assert.throws(() => make(['N', '...']), { name: 'TypeError', message: /^(zeros|tensor): an ellipsis in names is only supported for existing tensors/ });
    assert.throws(() => make(['N']), /^Error: (zeros|tensor): 1 names, \['N'\], do not match the 2 dimensions/);
    assert.throws(() => make(['N', '2']), /^Error: (zeros|tensor): Invalid name/);
  }
  const x = named('N', 'C', 'H');
  assert.throws(() => x.sum('Z'), /^Error: sum: Name 'Z' not found/);
  assert.throws(() => x.unflatten('Z', [['a', 1], ['b', 2]]), /^Error: unflatten: Name 'Z' not found/);
});

test('names of two operands', () => {
  const x = named('N', 'C', 'H');
  assert.deepEqual(lt.add(lt.ones([4], { names: ['H'] }), x).names, ['N', 'C', 'H']);
  assert.throws(() => lt.add(x, lt.ones([4], { names: ['C'] })), /dim 'H' and dim 'C' are at the same position from the right/);
});
