'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { setImmediate: turn } = require('node:timers/promises');
const lt = require('..');

// Collects until the handles are back at the number, or gives up and tells the number.
async function settle(handles) {
  for (let i = 0; i < 20 && lt.liveHandles() > handles; i++) {
    globalThis.gc();
    await turn();
  }
  return lt.liveHandles();
}

const typed = [
  [Uint8Array, 'uint8'],
  [Int8Array, 'int8'],
  [Int16Array, 'int16'],
  [Int32Array, 'int32'],
  [Float32Array, 'float32'],
  [Float64Array, 'float64'],
];

test('typed arrays are copied by tensor and shared by asTensor', () => {
  for (const [Kind, dtype] of typed) {
    const array = Kind.from([1, 2, 3, 4]);
    const copy = lt.tensor(array, { shape: [2, 2] });
    const shared = lt.asTensor(array, { shape: [2, 2] });
    assert.equal(copy.dtype, dtype);
    assert.equal(shared.dtype, dtype);
    array[0] = 9;
    assert.deepEqual(copy.toArray(), [[1, 2], [3, 4]]);
    assert.deepEqual(shared.toArray(), [[9, 2], [3, 4]]);
    shared.add_(1);
    assert.deepEqual([...array], [10, 3, 4, 5]);
  }
  const big = BigInt64Array.from([1n, 2n ** 60n]);
  assert.deepEqual(lt.asTensor(big).add(1).toArray(), [2, 2n ** 60n + 1n]);
});

test('a part of an ArrayBuffer, a Buffer and a SharedArrayBuffer are shared, too', () => {
  const whole = new Float32Array([1, 2, 3, 4]);
  lt.asTensor(whole.subarray(1, 3)).mul_(0);
  assert.deepEqual([...whole], [1, 0, 0, 4]);
  assert.deepEqual(lt.asTensor(Buffer.from([1, 2])).toArray(), [1, 2]);
  const shared = new Int32Array(new SharedArrayBuffer(8));
  lt.asTensor(shared).add_(5);
  assert.deepEqual([...shared], [5, 5]);
});

test('memory without a type is seen as a dtype', () => {
  for (const memory of [new ArrayBuffer(8), new SharedArrayBuffer(8)]) {
    const t = lt.asTensor(memory, { dtype: lt.int32, shape: [2, 1] });
    t.fill_(258);
    assert.deepEqual([...new Uint8Array(memory)], [2, 1, 0, 0, 2, 1, 0, 0]);
    assert.deepEqual(lt.asTensor(memory).shape, [8]);
    assert.deepEqual(lt.tensor(new DataView(memory, 4, 4), { dtype: lt.int16 }).toArray(), [258, 0]);
    assert.throws(() => lt.asTensor(memory, { dtype: lt.complex128 }), { name: 'RangeError' });
    assert.throws(() => lt.asTensor(new DataView(memory, 1), { dtype: lt.int16 }), { name: 'RangeError', message: /7 bytes from byte 1/ });
  }
});

test('storages: bytes, parts, files and shared memory', () => {
  const t = lt.tensor([1, 2, 3]).to(lt.int32);
  const storage = t.untypedStorage();
  assert.equal(storage.nbytes(), 12);
  const bytes = storage.view();
  bytes.set(4, 9);
  assert.deepEqual(t.toArray(), [1, 9, 3]);
  assert.deepEqual(storage.slice(4, 8).view({ dtype: lt.int32 }).toArray(), [9]);
  assert.deepEqual(storage.clone().fill_(1).view().toArray(), Array(12).fill(1));
  assert.match(storage.toString({ dtype: lt.int32 }), /\[torch\.IntStorage of size 3\]/);
  assert.throws(() => storage.resize_(100), { message: /not resizable/ });

  const shared = lt.storageNew(8);
  assert.equal(shared.isShared(), false);
  shared.shareMemory_();
  const again = lt.storageFromDescriptor(shared.descriptor(), 8);
  again.fill_(7);
  assert.deepEqual(shared.view().toArray(), Array(8).fill(7));
  assert.throws(() => lt.storageFromFile('/nowhere/file', { nbytes: 8 }), { message: /unable to open file/ });
  assert.throws(() => shared.pinMemory(), { message: /accelerator/ });
});

test('memory is told by dtype and limited', () => {
  const before = lt.memoryStatsOf(lt.int16);
  const t = lt.zeros([10], { dtype: lt.int16 });
  const now = lt.memoryStatsOf(lt.int16);
  assert.deepEqual([now.tensors - before.tensors, now.storages - before.storages, now.nbytes - before.nbytes], [1, 1, 20]);
  assert.match(lt.memorySummary(), /int16/);
  lt.setMemoryLimit(lt.memoryStats().inUse + 1000);
  try {
    assert.throws(() => lt.zeros([100000]), { message: /memory limit/ });
  } finally {
    lt.setMemoryLimit(0);
  }
  assert.deepEqual(t.shape, [10]);
});

test('typed arrays carry the bits of dtypes that JavaScript lacks', () => {
  assert.deepEqual(lt.asTensor(Uint16Array.from([0x3c00, 0xc000]), { dtype: lt.float16 }).toArray(), [1, -2]);
  assert.deepEqual(lt.tensor(Uint16Array.from([0x3f80]), { dtype: lt.bfloat16 }).toArray(), [1]);
  assert.deepEqual(lt.asTensor(Float32Array.from([1, 2]), { dtype: lt.complex64 }).toArray(), [{ re: 1, im: 2 }]);
  assert.deepEqual(lt.asTensor(Uint8Array.from([0, 1]), { dtype: lt.bool }).toArray(), [false, true]);
  assert.throws(() => lt.tensor(Uint16Array.from([1])), { name: 'TypeError', message: /no dtype of its own/ });
  assert.throws(() => lt.asTensor(new Float32Array(4), { shape: [5] }), { name: 'RangeError' });
  assert.throws(() => lt.asTensor(new Float32Array(4), { shape: [-1] }), { name: 'RangeError' });
});

test('data() shares contiguous memory and copies the rest', () => {
  const t = lt.tensor([
    [1.5, 2],
    [3, 4],
  ]);
  const data = t.data();
  assert.ok(data instanceof Float32Array);
  data[0] = 7;
  assert.equal(t.at(0, 0).toArray(), 7);
  t.add_(1);
  assert.deepEqual([...data], [8, 3, 4, 5]);
  const column = t.get(':, 0');
  column.data()[0] = 0;
  assert.deepEqual(column.toArray(), [8, 4]);
  assert.ok(lt.tensor([1]).data() instanceof BigInt64Array);
  assert.ok(lt.tensor([true]).data() instanceof Uint8Array);
  assert.equal(lt.zeros([2], { dtype: lt.complex128 }).data().length, 4);
  assert.equal(lt.zeros([0]).data().length, 0);
  assert.throws(() => lt.zeros([2], { device: 'meta' }).data(), { code: 'TENSOR_ERROR_RUNTIME' });
});

test('memory given out outlives dispose()', async () => {
  const before = await settle(0);
  (() => {
    const t = lt.tensor([1, 2.5]);
    const [data, again] = [t.data(), t.data()];
    t.dispose();
    assert.deepEqual([...data], [1, 2.5]);
    assert.deepEqual([...again], [1, 2.5]);
    assert.equal(lt.liveHandles(), before + 2);
  })();
  assert.equal(await settle(before), before);
});

test('memory given out stays where it is', () => {
  const t = lt.zeros([1 << 20]);
  const data = t.data();
  assert.throws(() => t.resize_([1 << 22]), { code: 'TENSOR_ERROR_RUNTIME', message: /not resizable/ });
  assert.throws(() => t.view([-1]).resize_([1 << 22]), { code: 'TENSOR_ERROR_RUNTIME' });
  assert.throws(() => t.untypedStorage().resize_(0), { code: 'TENSOR_ERROR_RUNTIME' });
  t.set_(lt.zeros([3]));
  assert.equal(t.numel, 3);
  t.dispose();
  lt.emptyCache();
  data[data.length - 1] = 4;
  assert.equal(data.at(-1), 4);
  const small = lt.zeros([2]);
  small.data();
  small.dispose();
  assert.equal(lt.zeros([2]).resize_([5000]).numel, 5000);
});

test('a buffer that a tensor shares cannot be taken away unnoticed', () => {
  const array = new Float32Array([1, 2, 3]);
  const t = lt.asTensor(array);
  const view = t.at(lt.slice(1));
  try {
    structuredClone(array.buffer, { transfer: [array.buffer] });
  } catch (error) {
    assert.equal(error.name, 'DataCloneError');
  }
  if (array.length === 0) {
    assert.throws(() => t.add(1), { code: 'TENSOR_ERROR_HANDLE', message: /transferred/ });
    assert.throws(() => view.toArray(), { code: 'TENSOR_ERROR_HANDLE' });
  } else {
    assert.deepEqual(view.toArray(), [2, 3]);
  }
  if (ArrayBuffer.prototype.transfer) {
    const other = new Float32Array([1, 2, 3]);
    const u = lt.asTensor(other);
    const part = u.at(lt.slice(1));
    other.buffer.transfer();
    assert.throws(() => u.add(1), { code: 'TENSOR_ERROR_HANDLE', message: /transferred/ });
    assert.throws(() => part.toArray(), { code: 'TENSOR_ERROR_HANDLE' });
  }
});

test('dispose frees at once, and is harmless when repeated', () => {
  const handles = lt.liveHandles();
  const { inUse } = lt.memoryStats();
  const t = lt.zeros([1 << 20]);
  assert.ok(lt.memoryStats().inUse >= inUse + (4 << 20));
  t.dispose();
  t.dispose();
  assert.ok(t.disposed);
  assert.equal(lt.memoryStats().inUse, inUse);
  assert.equal(lt.liveHandles(), handles);
  if (Symbol.dispose) {
    const other = lt.zeros([1]);
    other[Symbol.dispose]();
    assert.ok(other.disposed);
  }
});

test('tensors without dispose are collected', async () => {
  const before = await settle(0);
  const { inUse } = lt.memoryStats();
  (() => {
    const array = new Float32Array(64);
    for (let i = 0; i < 2000; i++) {
      lt.zeros([100]).add(1).sum();
      lt.asTensor(array).add(1);
      lt.zeros([10]).data();
    }
  })();
  assert.equal(await settle(before), before);
  assert.equal(lt.memoryStats().inUse, inUse);
});

test('a loop that disposes nothing and never yields does not fill the memory', () => {
  const { inUse } = lt.memoryStats();
  const handles = lt.liveHandles();
  let bytes = 0;
  for (let i = 0; i < 1000; i++) {
    lt.zeros([1 << 20]);
    bytes = Math.max(bytes, lt.memoryStats().inUse - inUse);
  }
  assert.ok(bytes < 2 ** 30, `${bytes} bytes were in use at once`);
  let most = 0;
  for (let i = 0; i < 200_000; i++) {
    lt.zeros([1]);
    if (i % 1000 === 0) most = Math.max(most, lt.liveHandles() - handles);
  }
  assert.ok(most < 150_000, `${most} handles were live at once`);
});

test('scope disposes what was made and not returned', () => {
  const handles = lt.liveHandles();
  let lost;
  const kept = lt.scope(() => {
    lost = lt.zeros([2]).add(1);
    const inner = lt.scope(() => [lt.zeros([1]), lt.zeros([2]), lost.mul(2)]);
    return { list: [lost.add(1)], nested: { a: inner[2] } };
  });
  assert.ok(lost.disposed);
  assert.deepEqual(kept.list[0].toArray(), [2, 2]);
  assert.deepEqual(kept.nested.a.toArray(), [2, 2]);
  assert.equal(lt.liveHandles(), handles + 2);
  kept.list[0].dispose();
  kept.nested.a.dispose();
  assert.throws(() => lt.scope(() => { lost = lt.zeros([1]); throw new Error('mine'); }), { message: 'mine' });
  assert.ok(lost.disposed);
  assert.throws(() => lt.scope(async () => lt.zeros([1])), { name: 'TypeError', message: /must not be asynchronous/ });
  assert.equal(lt.liveHandles(), handles);
});

test('failed calls leave no handles behind', () => {
  const a = lt.zeros([2]);
  const handles = lt.liveHandles();
  for (let i = 0; i < 100; i++) {
    assert.throws(() => lt.add(a, lt.float));
    assert.throws(() => lt.where(a, 1, 'x'));
    assert.throws(() => lt.sub(1, a, { alpha: 'x' }));
    assert.throws(() => a.sum(9));
  }
  assert.equal(lt.liveHandles(), handles);
});
