'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { inspect } = require('node:util');
const lt = require('..');

test('a tensor returns its geometry', () => {
  const t = lt.zeros([2, 3], { dtype: lt.float64 });
  assert.deepEqual(t.shape, [2, 3]);
  assert.deepEqual(t.strides, [3, 1]);
  assert.equal(t.dtype, 'float64');
  assert.equal(t.device, 'cpu');
  assert.equal(t.layout, 'strided');
  assert.equal(t.ndim, 2);
  assert.equal(t.numel, 6);
  assert.equal(t.storageOffset, 0);
  assert.equal(lt.zeros(3).shape[0], 3);
  assert.deepEqual(lt.zeros([2n, 0]).shape, [2, 0]);
  assert.equal(lt.zeros([4], { device: 'meta' }).device, 'meta');
});

test('a program asks which devices there are', () => {
  assert.equal(lt.deviceCount('cpu'), 1);
  assert.equal(lt.deviceCount('xpu'), 0);
  assert.equal(lt.deviceAbsence('xpu'), 'this library has no backend for it');
  assert.equal(lt.deviceAbsence('cuda') === '', lt.deviceCount('cuda') > 0);
  assert.throws(() => lt.deviceCount('gpu'), /expected one of cpu, cuda/);
});

test('nested arrays take the dtype of their numbers', () => {
  const cases = [
    [[1, 2], 'float32', [1, 2]],
    [[1n, 2n], 'int64', [1, 2]],
    [[1n, 2], 'float32', [1, 2]],
    [[1, 2.5], 'float32', [1, 2.5]],
    [[lt.float(1), 2], 'float32', [1, 2]],
    [[true, false], 'bool', [true, false]],
    [[true, 2], 'float32', [1, 2]],
    [[true, 2n], 'int64', [1, 2]],
    [[1n, 2n ** 62n + 1n], 'int64', [1, 2n ** 62n + 1n]],
    [[{ re: 1, im: -2 }, 3], 'complex64', [{ re: 1, im: -2 }, { re: 3, im: 0 }]],
    [[[], []], 'float32', [[], []]],
    [7, 'float32', 7],
    [7n, 'int64', 7],
    [-0, 'float32', -0],
    [[[1], [2]], 'float32', [[1], [2]]],
  ];
  for (const [data, dtype, back] of cases) {
    const t = lt.tensor(data);
    assert.equal(t.dtype, dtype, inspect(data));
    assert.deepEqual(t.toArray(), back);
  }
});

test('a dtype can be asked for', () => {
  assert.deepEqual(lt.tensor([1, 2], { dtype: lt.float32 }).toArray(), [1, 2]);
  assert.deepEqual(lt.tensor([1.9, -1.9], { dtype: lt.int32 }).toArray(), [1, -1]);
  assert.deepEqual(lt.tensor([0, 0.5], { dtype: lt.bool }).toArray(), [false, true]);
  assert.deepEqual(lt.tensor([1, 0.1], { dtype: lt.float16 }).toArray(), [1, 0.0999755859375]);
  assert.deepEqual(lt.tensor([1], { dtype: lt.complex128 }).toArray(), [{ re: 1, im: 0 }]);
  assert.deepEqual(lt.tensor([1, 2, 3, 4], { shape: [2, 2] }).shape, [2, 2]);
});

test('invalid data is rejected with the reason', () => {
  assert.throws(() => lt.tensor([[1, 2], [3]]), { name: 'RangeError', code: 'TENSOR_ERROR_VALUE', message: /expected sequence of length 2 at dim 1 \(got 1 at position 1\)/ });
  assert.throws(() => lt.tensor([[1], 2]), { code: 'TENSOR_ERROR_TYPE', message: /not a sequence: expected one at dim 1 \(got float at position 1\)/ });
  assert.throws(() => lt.tensor([1, 'a']), { name: 'TypeError', code: 'TENSOR_ERROR_TYPE', message: /the string 'a' is not a number/ });
  assert.throws(() => lt.tensor([300], { dtype: lt.uint8 }), { message: /uint8 without overflow: 300/ });
  assert.throws(() => lt.tensor([2 ** 63], { dtype: lt.int64 }), { message: /int64 without overflow: 9.223372036854776e\+18/ });
  assert.throws(() => lt.tensor([{ re: 1, im: 1 }], { dtype: lt.float32 }), { name: 'TypeError', message: /can't convert complex to float32/ });
  assert.throws(() => lt.tensor([1, 2, 3], { shape: [2] }), { name: 'RangeError' });
  assert.throws(() => lt.tensor([1], { dtype: 'float8' }), { message: /the string 'float8' is not a dtype/ });
  assert.throws(() => lt.tensor(), { code: 'TENSOR_ERROR_TYPE' });
  assert.throws(() => lt.tensor(lt.zeros([1])), { message: /clone/ });
  assert.throws(() => new lt.Tensor(), { name: 'TypeError', message: /use tensor\(data\)/ });
});

test('names of devices and dtypes have no NUL characters', () => {
  for (const text of ['cpu\0', 'cpu\0x', 'cuda:0\0', '\0']) {
    assert.throws(() => lt.ones([1], { device: text }), TypeError);
    assert.throws(() => lt.ones([1]).to(text), TypeError);
    assert.throws(() => lt.setDefaultDevice(text), TypeError);
  }
  for (const make of [() => lt.ones([1], { dtype: 'float32\0' }), () => lt.tensor([1], { dtype: 'float32\0' }), () => lt.tensor(new Float32Array(1), { dtype: 'float32\0' })]) {
    assert.throws(make, TypeError);
  }
  assert.equal(lt.tensor(Array.from({ length: 128 }).reduce((inner) => [inner], 1)).shape.length, 128);
});

test('arrays that contain themselves, or strings for numbers, are rejected', () => {
  const circle = [1];
  circle[0] = circle;
  assert.throws(() => lt.tensor(circle), { name: 'RangeError', message: /more than 128 dimensions; does it contain itself/ });
  const second = [1, 2];
  second[1] = second;
  assert.throws(() => lt.tensor(second), { name: 'TypeError', message: /expected a number at dim 1, not an array of length 2 \(at position 1\)/ });
  assert.throws(() => lt.tensor([[[1], [2]], [[3]]]), { name: 'RangeError' });
  assert.throws(() => lt.tensor([1, 3, [2]]), { name: 'TypeError', message: /expected a number at dim 1, not an array of length 1 \(at position 2\)/ });
  assert.throws(() => lt.tensor([[1], 2]), { name: 'TypeError' });
  let wide = [0];
  for (let i = 0; i < 60; i++) wide = [wide, wide];
  assert.throws(() => lt.tensor(wide), { name: 'RangeError' });
  for (const value of [{ kind: 'float', value: '3' }, { re: '1', im: 2 }, new Date(), () => 1, undefined, null]) {
    assert.throws(() => lt.tensor([value]), { name: 'TypeError', code: 'TENSOR_ERROR_TYPE' });
  }
  for (const shape of [['2'], '2', [1.5], [-1], [NaN], [{}], [null]]) assert.throws(() => lt.tensor([1, 2], { shape }), { name: 'RangeError' });
});

test('numbers of several kinds keep their values, whatever their order', () => {
  const kinds = [[true, 'bool'], [2n, 'int64'], [3n, 'int64'], [0.5, 'float32'], [lt.float(4), 'float32'], [{ re: 1, im: -2 }, 'complex64']];
  const plain = (value) => (typeof value === 'object' && value.re !== undefined ? value : { re: Number(value?.value ?? value), im: 0 });
  for (const n of [1, 2, 40]) {
    for (const [a, b, c] of [[0, 1, 3], [3, 1, 0], [1, 5, 3], [5, 0, 2], [2, 4, 1], [4, 3, 5], [3, 3, 3], [1, 0, 1], [2, 2, 2]]) {
      const rows = [a, b, c].map((kind) => Array(n).fill(kinds[kind][0]));
      const wanted = rows.map((row) => row.map(plain));
      for (const [data, values] of [[rows, wanted], [rows.flat(), wanted.flat()], [[rows, rows], [wanted, wanted]]]) {
        const made = lt.tensor(data);
        assert.equal(made.dtype, kinds[Math.max(a, b, c)][1]);
        assert.deepEqual(made.to({ dtype: 'complex64' }).toArray(), values);
      }
    }
  }
});

test('irregular arrays are rejected with the position', () => {
  const ragged = (data, text) => assert.throws(() => lt.tensor(data), { name: 'RangeError', code: 'TENSOR_ERROR_VALUE', message: text });
  ragged([[1, 2], [3, 4], [5]], /length 2 at dim 1 \(got 1 at position 2\)/);
  ragged([[[1], [2]], [[3], [4, 5]]], /length 1 at dim 2 \(got 2 at position 1\)/);
  ragged([[1], [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]], /length 1 at dim 1 \(got 14 at position 1\)/);
  ragged([[[]], []], /length 1 at dim 1 \(got 0 at position 1\)/);
  const mixed = (data, text) => assert.throws(() => lt.tensor(data), { name: 'TypeError', code: 'TENSOR_ERROR_TYPE', message: text });
  mixed([[], 0.5], /not a sequence: expected one at dim 1 \(got float at position 1\)/);
  mixed([[1], true], /not a sequence: expected one at dim 1 \(got bool at position 1\)/);
  mixed([[1, 2], [true, [3]]], /number at dim 2, not an array of length 1 \(at position 1\)/);
  mixed([0.5, []], /number at dim 1, not an array of length 0 \(at position 1\)/);
  assert.throws(() => lt.tensor([[1, 2], [3, 'a']]), { name: 'TypeError', message: /the string 'a' is not a number/ });
});

test('arrays that change while they are read make no tensor of wrong numbers', () => {
  const shrinking = [1, 2, 3];
  Object.defineProperty(shrinking, 0, { get() { shrinking.length = 1; return 1; } });
  assert.throws(() => lt.tensor(shrinking), { name: 'RangeError' });
  const thrower = [1, 2];
  Object.defineProperty(thrower, 1, { get() { throw new Error('mine'); } });
  assert.throws(() => lt.tensor(thrower), { message: 'mine' });
  assert.deepEqual(lt.tensor(new Proxy([1, 2], {})).toArray(), [1, 2]);
});

test('numbers of all sizes go into arrays and come back', () => {
  const cases = [[0, -0], [2 ** 31, -(2 ** 31) - 1], [2 ** 53 - 1, -(2 ** 53) + 1], [1, NaN, Infinity, -Infinity], [0.1, 1e-320]];
  for (const data of cases) assert.deepStrictEqual(lt.tensor(data, { dtype: 'float64' }).toArray(), data);
  assert.deepStrictEqual(lt.tensor([2 ** 31, -(2 ** 53) + 1, -1], { dtype: 'int64' }).toArray(), [2 ** 31, -(2 ** 53) + 1, -1]);
  assert.deepStrictEqual(lt.tensor([-(2n ** 63n), 2n ** 63n - 1n, -(2n ** 53n), -1n]).toArray(), [-(2n ** 63n), 2n ** 63n - 1n, -(2n ** 53n), -1]);
  assert.equal(lt.tensor([1, 2, -0]).dtype, 'float32');
  assert.throws(() => lt.tensor([1, 2 ** 63], { dtype: 'int64' }), { message: /int64 without overflow: 9.223372036854776e\+18/ });
  assert.throws(() => lt.tensor([NaN], { dtype: 'int32' }), { message: /int32 without overflow: nan/ });
  assert.throws(() => lt.tensor([2n ** 63n]), { name: 'RangeError', message: /9223372036854775808 does not fit into 64 bits/ });
  assert.deepEqual(lt.tensor([2n ** 63n], { dtype: 'float64' }).toArray(), [2 ** 63]);
  assert.deepEqual(lt.tensor([-1, 200], { dtype: 'uint8' }).toArray(), [255, 200]);
});

test('integers beyond 2^53 come back as bigints', () => {
  const t = lt.tensor([2n ** 53n, 2n ** 60n]);
  assert.deepEqual(t.toArray(), [2n ** 53n, 2n ** 60n].map((v) => (v <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(v) : v)));
  assert.equal(lt.sum(t).toArray(), 2n ** 53n + 2n ** 60n);
});

test('a tensor prints as PyTorch prints it', () => {
  assert.equal(String(lt.tensor([1n, 2n])), 'tensor([1, 2])');
  assert.equal(String(lt.tensor([1, 2])), 'tensor([1., 2.])');
  assert.equal(inspect(lt.tensor([1.5])), 'tensor([1.5000])');
  assert.equal(lt.tensor([1.23456]).toString({ precision: 2 }), 'tensor([1.23])');
});

test('elements are read and written by index', () => {
  const t = lt.tensor([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  assert.deepEqual(t.at(0).toArray(), [1, 2, 3]);
  assert.equal(t.at(1, -1).toArray(), 6);
  assert.deepEqual(t.at(lt.slice(), lt.slice(null, null, 2)).toArray(), [[1, 3], [4, 6]]);
  assert.deepEqual(t.get('..., 1').toArray(), [2, 5]);
  assert.deepEqual(t.get('1:, None, ::2').toArray(), [[[4, 6]]]);
  assert.deepEqual(t.at(null, 0).shape, [1, 3]);
  assert.deepEqual(t.at([1, 0], [2, 0]).toArray(), [6, 1]);
  assert.deepEqual(t.at(lt.gt(t, 4)).toArray(), [5, 6]);
  assert.deepEqual(t.at('...', '0:2').shape, [2, 2]);
  assert.equal(t.set('0, :', 9), t);
  t.set([1, lt.slice(0, 2)], [7, 8]);
  t.set(lt.tensor([false, true]), lt.tensor([1, 2, 3]));
  assert.deepEqual(t.toArray(), [[9, 9, 9], [1, 2, 3]]);
  assert.throws(() => t.at(2), { name: 'RangeError', code: 'TENSOR_ERROR_INDEX', message: /index 2 is out of bounds for dimension 0 with size 2/ });
  assert.throws(() => t.get('1;2'), { name: 'TypeError', message: /'1;2' is not an index/ });
  for (const index of ['9223372036854775808', '-99999999999999999999', '0, 99999999999999999999']) {
    assert.throws(() => t.get(index), { code: 'TENSOR_ERROR_INDEX', message: new RegExp(`index '${index}' does not fit into 64 bits`) });
  }
  assert.deepEqual(t.get('0:99999999999999999999').toArray(), t.toArray());
  assert.throws(() => t.at({ start: 1 }), { name: 'TypeError' });
});

test('a basic index is a view', () => {
  const t = lt.zeros([2, 2]);
  const row = t.at(1);
  assert.equal(row.storageOffset, 2);
  row.add_(1);
  assert.deepEqual(t.toArray(), [[0, 0], [1, 1]]);
});

test('whole numbers beyond int64 are floats', () => {
  for (const value of [1e20, -1e20, 2 ** 63]) {
    for (const data of [value, [value, 1], [[1], [value]], [1n, value], [true, value]]) {
      assert.equal(lt.tensor(data).dtype, 'float32');
      assert.ok(lt.tensor(data, { dtype: 'float64' }).flatten().toArray().includes(value));
      assert.throws(() => lt.tensor(data, { dtype: 'int64' }), /int64 without overflow/);
    }
  }
  const t = lt.zeros([2], { dtype: 'float64' });
  assert.deepEqual(t.set('0:1', [1e25]).toArray(), [1e25, 0]);
  assert.deepEqual(t.set(1, -1e25).toArray(), [1e25, -1e25]);
});

test('an index means the same where it is read and where it is written', () => {
  for (const index of [[0, 1], [[0, 1]], [[1, 0], [2, 0]], [1, lt.slice(0, 2)], [null, 1], [[true, false]], 1, lt.slice(1), '0, :', ['...', 0]]) {
    const t = lt.zeros([2, 3]);
    t.set(index, 9);
    const read = typeof index === 'string' ? t.get(index) : t.at(index);
    assert.ok(read.toArray().flat?.(9).every((x) => x === 9) ?? read.item() === 9, String(index));
    assert.equal(t.eq(9).sum().item(), read.numel, String(index));
  }
  assert.deepEqual(lt.arange(6).view([2, 3]).at([[1, 0]]).shape, [2, 3]);
});

test('an array of booleans is a mask, in at and in set', () => {
  const t = lt.arange(3);
  for (const mask of [[true, false, true], [false, false, false], [true, true, true]]) {
    const want = [0, 1, 2].filter((i) => mask[i]);
    assert.deepEqual(t.at(mask).toArray(), want);
    assert.deepEqual(t.at([mask]).toArray(), want);
    assert.deepEqual(t.at(lt.tensor(mask)).toArray(), want);
    assert.deepEqual(lt.arange(3).set(mask, 7).toArray(), [0, 1, 2].map((i) => (mask[i] ? 7 : i)));
  }
  assert.deepEqual(t.at(true).toArray(), [[0, 1, 2]]);
  assert.throws(() => t.at([true, false]), { code: 'TENSOR_ERROR_INDEX' });
  assert.deepEqual(lt.ones([2, 3]).at([[true, false]]).shape, [1, 3]);
});
