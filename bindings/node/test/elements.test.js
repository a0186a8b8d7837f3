'use strict';

// Comparisons, structuredClone and postMessage of all tensor kinds, and lt.tensor of their results.
const assert = require('node:assert/strict');
const { test } = require('node:test');
const lt = require('..');

const dense = () => lt.tensor([[0, 2, 0], [3, 0, 0]], { dtype: 'float32' });
const kinds = {
  'of names': () => lt.zeros([2, 1], { names: ['rows', null] }),
  'requires grad': () => lt.ones([2], { requiresGrad: true }),
  'of both': () => lt.ones([2], { requiresGrad: true, names: ['rows'] }),
  'without data': () => lt.zeros([2, 3], { device: 'meta', dtype: 'int8' }),
  'of coordinates': () => dense().toSparse(),
  'of compressed rows': () => dense().toSparseCsr(),
  'of compressed columns': () => dense().toSparseCsc(),
  'of blocks': () => lt.ones([4, 4]).toSparseBsr([2, 2]),
  'quantized as a whole': () => lt.quantizePerTensor(dense(), 0.5, 3, 'quint8'),
  'quantized by channels': () => lt.quantizePerChannel(dense(), lt.tensor([0.5, 0.25]), [0, 1], 0, 'qint8'),
};

for (const [name, make] of Object.entries(kinds))
  test(`a tensor ${name} is equal to its like, and comes back of a clone`, () => {
    const t = make();
    assert.deepStrictEqual(make(), t);
    const back = lt.tensor(structuredClone(t));
    assert.deepStrictEqual(back, t);
    assert.deepEqual([back.names, back.requiresGrad, back.device, back.layout, back.dtype], [t.names, t.requiresGrad, t.device, t.layout, t.dtype]);
  });

test('tensor kinds, names and requiresGrad make tensors unequal', () => {
  const all = [lt.zeros([2, 3]), dense(), ...Object.values(kinds).map((make) => make())];
  for (const a of all) for (const b of all) if (a !== b) assert.notDeepStrictEqual(a, b);
});

test('options of tensor() take precedence over the properties of a clone', () => {
  const clone = structuredClone(lt.ones([2], { requiresGrad: true, names: ['rows'] }));
  const made = lt.tensor(clone, { requiresGrad: false, dtype: 'float64' });
  assert.deepEqual([made.requiresGrad, made.names, made.dtype], [false, ['rows'], 'float64']);
});

test('errors of unreadable properties name the requested property', () => {
  const gone = dense();
  gone.dispose();
  assert.throws(() => gone.toArray(), { code: 'TENSOR_ERROR_HANDLE', message: /^toArray: .* has been disposed$/ });
  assert.throws(() => JSON.stringify(gone), /^Error: toJSON: .* has been disposed$/);
  assert.throws(() => structuredClone(gone), /^Error: elements: .* has been disposed$/);
  assert.throws(() => dense().toSparse().toArray(), { message: 'toArray is not implemented for sparse_coo tensors; convert with toDense()' });
  assert.deepEqual(kinds['quantized as a whole']().toArray(), [[0, 2, 0], [3, 0, 0]]);
});

test('bytes are read as elements of the dtype, whatever holds them', () => {
  const { buffer } = new Float32Array([1, 2.5]);
  const holders = [buffer, new DataView(buffer), Buffer.from(buffer)];
  for (const make of [lt.tensor, lt.asTensor]) for (const bytes of holders) assert.deepEqual(make(bytes, { dtype: 'float32' }).toArray(), [1, 2.5]);
  assert.equal(lt.asTensor(Buffer.from('ab')).dtype, 'uint8');
  assert.deepEqual(lt.asTensor(new Uint8Array([1, 2]), { dtype: 'float32' }).toArray(), [1, 2]);
});

test('a copy is made of bytes that begin anywhere', () => {
  const bytes = Buffer.concat([Buffer.from([9]), Buffer.from(new Float64Array([1, 2.5]).buffer)]);
  for (const holder of [bytes.subarray(1), new DataView(bytes.buffer, bytes.byteOffset + 1, 16)]) {
    assert.deepEqual(lt.tensor(holder, { dtype: 'float64' }).toArray(), [1, 2.5]);
    if (holder.byteOffset % 8) assert.throws(() => lt.asTensor(holder, { dtype: 'float64' }), /^RangeError: asTensor: byte offset \d+ is not a multiple of 8, the size of an element of float64/);
  }
  assert.throws(() => lt.tensor(bytes, { dtype: 'float64' }), /^RangeError: tensor: 17 bytes are not a multiple of 8, the size of an element of float64$/);
});

test('typed arrays and tensors are items of arrays', () => {
  const made = lt.tensor([new Float32Array([1, 2]), [3, 4]]);
  assert.deepEqual([made.dtype, made.toArray()], ['float32', [[1, 2], [3, 4]]]);
  assert.deepEqual(lt.tensor([lt.tensor(1), 2]).toArray(), [1, 2]);
  assert.deepEqual(lt.tensor([[lt.tensor([1.5])], [lt.tensor([2])]]).shape, [2, 1, 1]);
  assert.throws(() => lt.tensor([new Float32Array(2), new Float32Array(3)]), /^Error: tensor: /);
  const circle = [new Float32Array(1)];
  circle.push(circle);
  assert.throws(() => lt.tensor(circle), RangeError);
});

test('conjugated and negated views: writes reach the tensor, arrays are computed', () => {
  const z = lt.tensor([{ re: 1, im: 2 }, { re: 3, im: -4 }]);
  const c = z.conj();
  assert.ok(c.isConj() && c.imag.isNeg() && !z.isConj());
  assert.deepEqual([...c.data()], [1, -2, 3, 4]);
  assert.deepEqual(c.imag.toArray(), [-2, 4]);
  assert.deepEqual(c.toArray(), c.resolveConj().toArray());
  c.at(0).fill_(0);
  assert.deepEqual([...z.data()].map(Math.abs), [0, 0, 3, 4]);
  assert.equal(c.imag.resolveNeg().isNeg(), false);
  assert.ok(lt.loadBytes(lt.saveBytes(c)).isConj());
});
