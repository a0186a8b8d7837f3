'use strict';

// Calls of operators by name.
const test = require('node:test');
const assert = require('node:assert');
const lt = require('..');

const list = (t) => Array.from(t.contiguous().data());

test('names, overloads and options', () => {
  const x = lt.tensor([1, 2, 3]);
  assert.deepStrictEqual(list(lt.call('aten::add.Tensor', x, x, { alpha: 2 })), [3, 6, 9]);
  assert.deepStrictEqual(list(lt.call('aten::add', x, 1)), [2, 3, 4]);
  assert.deepStrictEqual(list(lt.call('add', x, 0.5)), [1.5, 2.5, 3.5]);
  assert.deepStrictEqual(list(lt.call('aten::_to_copy', x, { dtype: 'int32' })), [1, 2, 3]);
  const [values, indices] = lt.call('aten::max.dim', x, 0, { keepdim: true });
  assert.deepStrictEqual([list(values), list(indices)], [[3], [2n]]);
  assert.deepStrictEqual(lt.call('aten::split.Tensor', x, 2).map(list), [[1, 2], [3]]);
  assert.deepStrictEqual(list(lt.call('aten::index.Tensor', lt.tensor([[1, 2], [3, 4]]), [null, lt.tensor([1n])])), [2, 4]);
  assert.strictEqual(lt.call('aten::sym_size.int', x, 0), 3);
  assert.strictEqual(lt.call('aten::is_floating_point', x), true);
  assert.deepStrictEqual(list(lt.call('aten::cat', [x, x], 0)), [1, 2, 3, 1, 2, 3]);
});

test('written arguments are returned', () => {
  const x = lt.tensor([1, 2]);
  const out = lt.empty([0]);
  assert.strictEqual(lt.call('aten::add_.Scalar', x, 1), x);
  assert.deepStrictEqual(list(x), [2, 3]);
  assert.strictEqual(lt.call('aten::mul.out', x, x, { out }), out);
  assert.deepStrictEqual(list(out), [4, 9]);
});

test('errors name the operator and the argument', () => {
  const x = lt.tensor([1]);
  const handles = lt.liveHandles();
  assert.throws(() => lt.call('aten::ad.Tensor', x, x), /did you mean 'aten::add.Tensor'/);
  assert.throws(() => lt.call('aten::add.Tensor', x, 'a'), /aten::add.Tensor: argument 'other' is the str "a"/);
  assert.throws(() => lt.call('aten::add.Tensor', x, x, { alpa: 1 }), /did you mean 'alpha'/);
  assert.throws(() => lt.call('aten::add.Tensor', x, [x, 1]), /item 1 of an array has another type/);
  const cyclic = [x];
  cyclic.push(cyclic);
  assert.throws(() => lt.call('aten::cat.default', cyclic), /item 1 of an array is an array; operators take no nested arrays/);
  assert.throws(() => lt.call('aten::cat.default', [[x]]), /item 0 of an array is an array/);
  assert.throws(() => lt.call('aten::add.Tensor', x, {}.missing, Symbol('a')), /an argument is/);
  assert.throws(() => lt.call(), /the first argument is the name of an operator/);
  assert.throws(() => lt.call(7), /the first argument is the name of an operator/);
  assert.strictEqual(lt.liveHandles(), handles);
});

test('schemas', () => {
  assert.deepStrictEqual(lt.operatorSchemas('aten::add_.Tensor'), ['aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)']);
  assert.strictEqual(lt.operatorSchemas('aten::relu')[0], 'aten::relu(Tensor self) -> Tensor');
  assert.throws(() => lt.operatorSchemas('aten::relo'), /did you mean 'aten::relu'/);
});
