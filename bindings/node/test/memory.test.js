'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { test } = require('node:test');
const vm = require('node:vm');
const { setImmediate: turn } = require('node:timers/promises');
const { inspect } = require('node:util');
const lt = require('..');
const native = require('../lib/native.js');

// Collects garbage until the number of handles is the given one. Returns the number after several attempts.
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
    assert.throws(() => lt.asTensor(new DataView(memory, 1), { dtype: lt.int16 }), { name: 'RangeError', message: /7 bytes are not a multiple of 2/ });
  }
});

test('storages: bytes, parts, files and shared memory', () => {
  const t = lt.tensor([1, 2, 3], { dtype: lt.int32 });
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

test('memory is reported by dtype and limited', () => {
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
  assert.equal(lt.tensor(Uint16Array.from([1])).dtype, 'uint16');
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
  assert.ok(lt.tensor([1n]).data() instanceof BigInt64Array);
  assert.ok(lt.tensor([true]).data() instanceof Uint8Array);
  assert.equal(lt.zeros([2], { dtype: lt.complex128 }).data().length, 4);
  assert.equal(lt.zeros([0]).data().length, 0);
  assert.throws(() => lt.zeros([2], { device: 'meta' }).data(), { code: 'TENSOR_ERROR_RUNTIME' });
});

test('tensors over memory returned by data() share it, and are freed', async () => {
  const handles = await settle(0);
  (() => {
    for (let i = 0; i < 100; i++) {
      const t = lt.ones(2, 3);
      const data = t.data();
      const whole = lt.asTensor(data);
      const part = lt.asTensor(data.subarray(1, 3));
      t.dispose();
      part.add_(1);
      structuredClone(data.buffer, { transfer: [data.buffer] });
      assert.deepEqual([whole.toArray(), part.toArray()], [[1, 2, 2, 1, 1, 1], [2, 2]]);
    }
  })();
  assert.equal(await settle(handles), handles);
});

test('data({ copy: true }) returns separate memory', () => {
  const t = lt.tensor([1.5, 2]);
  const copy = t.data({ copy: true });
  copy[0] = 7;
  assert.deepEqual(t.toArray(), [1.5, 2]);
  t.untypedStorage().resize_(1000); // which a storage that data() has given out rejects
  assert.throws(() => t.data({ copy: 1 }), { name: 'TypeError', message: /^data: option 'copy' must be a boolean/ });
  assert.throws(() => t.data({ dim: 1 }), { name: 'TypeError', message: /^data: unknown option 'dim'/ });
});

test('memory returned by data() outlives dispose()', async () => {
  const before = await settle(0);
  (() => {
    const t = lt.tensor([1, 2.5]);
    const [data, again] = [t.data(), t.data()];
    t.dispose();
    assert.deepEqual([...data], [1, 2.5]);
    assert.deepEqual([...again], [1, 2.5]);
    assert.equal(data.buffer, again.buffer);
    assert.equal(lt.liveHandles(), before + 1);
  })();
  assert.equal(await settle(before), before);
});

test('memory returned by data() is not moved', () => {
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

// Takes the memory of an ArrayBuffer away, as WebAssembly does when its memory grows.
function detached() {
  const wasm = new WebAssembly.Memory({ initial: 1, maximum: 4 });
  const array = new Float32Array(wasm.buffer, 0, 8);
  return { array, take: () => wasm.grow(1) };
}

test('nothing uses memory that WebAssembly has taken back', async () => {
  const { array, take } = detached();
  const t = lt.asTensor(array);
  const all = [t, t.at(lt.slice(1)), t.untypedStorage(), t.untypedStorage().slice(4, 8), lt.zeros([1]).set_(t), t.t(), ...t.split(4)];
  const promise = lt.addAsync(t, 1);
  const [target, takeTarget] = Object.values(detached());
  const out = lt.addAsync(1, 1, { out: lt.asTensor(target).at(0) });
  const rejected = assert.rejects(out, { code: 'TENSOR_ERROR_HANDLE', message: /^addAsync: the ArrayBuffer of argument 'out' was transferred, or its WebAssembly.Memory grew, .* the result was lost/ }); // whichever of the two comes first
  take();
  takeTarget();
  assert.deepEqual((await promise).toArray(), [1, 1, 1, 1, 1, 1, 1, 1]);
  await rejected;
  for (const object of all) {
    const use = lt.isTensor(object) ? [() => object.add(1), () => object.fill_(1), () => object.data(), () => object.toArray(), () => object.shape] : [() => object.fill_(1), () => object.view(), () => object.clone(), () => object.toString()];
    for (const call of use) assert.throws(call, { code: 'TENSOR_ERROR_HANDLE', message: /transferred/ });
    assert.equal(typeof inspect(object), 'string');
    object.dispose();
  }
  assert.throws(() => lt.asTensor(array), { code: 'TENSOR_ERROR_HANDLE', message: /transferred/ });
  assert.throws(() => lt.tensor(array), { code: 'TENSOR_ERROR_HANDLE' });
});

test('writes to memory that grows in the meantime are stored, or the promise is rejected', async () => {
  const shared = new WebAssembly.Memory({ initial: 1, maximum: 4, shared: true });
  const written = lt.asTensor(new Float32Array(shared.buffer, 0, 8)).add_Async(2);
  shared.grow(1);
  await written;
  assert.deepEqual([...new Float32Array(shared.buffer, 0, 8)], Array(8).fill(2));
  const [array, take] = Object.values(detached());
  const t = lt.asTensor(array);
  const view = t.at(lt.slice(0, 4));
  const calls = [t.at(lt.slice(4)).mul_Async(2), lt.addAsync(view, 1, { out: view })];
  t.dispose();
  take();
  for (const { status, reason } of await Promise.allSettled(calls)) assert.deepEqual([status, reason?.code], ['rejected', 'TENSOR_ERROR_HANDLE']);
  const resizable = new ArrayBuffer(16, { maxByteLength: 32 });
  const copy = lt.asTensor(new Float32Array(resizable));
  const added = copy.add_Async(1);
  resizable.resize(0);
  assert.deepEqual((await added).toArray(), [1, 1, 1, 1]);
});

test('no run through a graph uses memory that was taken back', async () => {
  const run = {
    backward: y => y.backward(),
    grad: (y, x) => lt.autograd.grad(y, [x]),
    backwardAsync: y => y.backwardAsync(),
  };
  for (const [name, call] of Object.entries(run)) {
    for (const disposed of [false, true]) {
      const { array, take } = detached();
      const [given, other] = [lt.asTensor(array), lt.asTensor(new Float32Array(8).fill(2))];
      const x = lt.ones(8).requiresGrad_();
      const [y, kept] = [x.mul(given).sum(), x.mul(other).sum()];
      if (disposed) given.dispose();
      take();
      await assert.rejects(async () => call(y, x), { code: 'TENSOR_ERROR_HANDLE', message: /: a saved tensor of the graph shares an ArrayBuffer that was transferred/ }, name);
      assert.equal(x.grad, null);
      await call(kept, x);
      await call(x.mul(3).sum(), x);
    }
  }
  const { array, take } = detached();
  const x = lt.ones(8).requiresGrad_();
  x.grad = lt.asTensor(array);
  take();
  assert.throws(() => x.sum().backward(), { code: 'TENSOR_ERROR_HANDLE', message: /a gradient of the graph shares/ });
  x.grad = null;
  x.sum().backward();
  assert.deepEqual(x.grad.toArray(), [1, 1, 1, 1, 1, 1, 1, 1]);
});

test('a getter among the arguments that takes the memory away is noticed', () => {
  const { array, take } = detached();
  const t = lt.asTensor(array);
  const sizes = [2, 4];
  Object.defineProperty(sizes, 1, { get() { take(); return 4; } });
  assert.throws(() => t.reshape(sizes), { code: 'TENSOR_ERROR_HANDLE' });
  const gone = lt.zeros([8]);
  const other = [2, 4];
  Object.defineProperty(other, 1, { get() { gone.dispose(); return 4; } });
  assert.throws(() => gone.reshape(other), { code: 'TENSOR_ERROR_HANDLE' });
});

test('resizable buffers are copied', () => {
  const buffer = new ArrayBuffer(16, { maxByteLength: 32 });
  const t = lt.asTensor(new Float32Array(buffer));
  buffer.resize(4);
  assert.deepEqual(t.add(1).toArray(), [1, 1, 1, 1]);
  const shrunk = new Float32Array(buffer, 0, 1);
  buffer.resize(0);
  assert.deepEqual(lt.tensor(shrunk).shape, [0]);
});

test('arrays are recognized by the runtime, not by their properties', () => {
  const lying = new Float32Array([1, 2]);
  for (const [name, value] of Object.entries({ length: 1e9, byteLength: 4e9, byteOffset: 64, buffer: new ArrayBuffer(1), constructor: Float64Array })) {
    Object.defineProperty(lying, name, { value });
  }
  Object.setPrototypeOf(lying, Int8Array.prototype);
  assert.deepEqual(lt.tensor(lying).toArray(), [1, 2]);
  lt.asTensor(lying).add_(1);
  assert.deepEqual(lt.asTensor(lying).dtype, 'float32');
  assert.equal(lt.zeros([2]).set('...', lying).toArray()[1], 3);
  assert.throws(() => lt.tensor(Object.create(Float32Array.prototype)), { name: 'TypeError' });
  assert.throws(() => lt.tensor(new Proxy(new Float32Array(2), {})), { name: 'TypeError' });
});

test('arrays of other contexts are as good', () => {
  const other = vm.runInNewContext('({ floats: new Float32Array([1, 2]), nested: [[1], [2]], memory: new ArrayBuffer(4), options: { dtype: "int8" }, view: new DataView(new ArrayBuffer(8)) })');
  assert.equal(lt.tensor(other.floats).dtype, 'float32');
  assert.deepEqual(lt.tensor(other.nested, other.options).dtype, 'int8');
  assert.deepEqual(lt.asTensor(other.memory).shape, [4]);
  assert.deepEqual(lt.tensor(other.view, { dtype: 'float64' }).shape, [1]);
  lt.asTensor(other.floats).add_(1);
  assert.deepEqual([...other.floats], [2, 3]);
});

test('a tensor whose storage was made smaller is not read or written beyond it', async () => {
  for (const bytes of [0, 8, (1 << 20) - 4]) {
    const t = lt.ones([1 << 18]);
    const first = t.at(lt.slice(0, 2));
    t.untypedStorage().resize_(bytes);
    const uses = [() => t.add(1), () => t.fill_(1), () => t.data(), () => t.toArray(), () => t.clone(), () => lt.add(1, 1, { out: t }), () => lt.cat([t]), () => t.elements];
    for (const use of uses) assert.throws(use, { code: 'TENSOR_ERROR_RUNTIME', message: /its storage was resized to/ });
    await assert.rejects(lt.addAsync(t, 1), { message: /its storage was resized to/ });
    if (bytes > 0) assert.deepEqual(first.toArray(), [1, 1]);
    else assert.throws(() => first.toArray(), { message: /its storage was resized to/ });
    assert.equal(t.resize_([3, 3]).fill_(2).sum().item(), 18);
    assert.deepEqual(first.toArray(), [2, 2]);
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

// Runs a script in a separate process and returns its output, parsed as JSON.
function measured(source) {
  const script = `const lt = require(${JSON.stringify(path.join(__dirname, '..'))}); ${source}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8', timeout: 120_000 });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

const loops = {
  tensors: 'lt.zeros([4 << 20])',
  storages: 'lt.storageNew(16 << 20).fill_(1)',
  views: 'lt.zeros([4 << 20]).view(2048, 2048).t()',
  'storages of tensors': 'lt.ones([4 << 20]).untypedStorage()',
  'tensors that were resized': 'lt.zeros([1]).resize_([4 << 20]).fill_(1)',
  outputs: 'lt.add(lt.zeros([1]), lt.zeros([4 << 20]), { out: lt.zeros([0]) })',
  copies: 'lt.tensor(array)',
  'copies of elements': 'lt.zeros([4 << 20]).data({ copy: true })',
};
for (const [name, made] of Object.entries(loops)) {
  test(`a loop that disposes no ${name} and never yields does not fill the memory`, () => {
    const most = measured(`
      const array = new Float32Array(4 << 20);
      const kept = lt.ones([24 << 20]);
      let most = 0;
      for (let i = 0; i < 100; i++) { ${made}; most = Math.max(most, lt.memoryStats().inUse); }
      console.log(most);`);
    const live = (96 + 16 + (name === 'outputs' ? 16 : 0)) << 20;
    // 1.7 GB if nothing were collected; when the collector runs is its own choice.
    assert.ok(most <= 3 * live, `${most} bytes were in use at once`);
  });
}

test('memory returned by data() is found in later turns of the event loop', () => {
  const most = measured(`
    let most = 0;
    (async () => {
      for (let i = 0; i < 400; i++) {
        lt.zeros([4 << 20]).data();
        most = Math.max(most, lt.memoryStats().inUse);
        await new Promise(setImmediate);
      }
      console.log(most);
    })();`);
  assert.ok(most <= 100 * (16 << 20), `${most} bytes were in use at once`);
});

test('many small tensors that nobody disposes are found', () => {
  const most = measured(`
    let most = 0;
    for (let i = 0; i < 200_000; i++) { lt.zeros([1]); if (i % 1000 === 0) most = Math.max(most, lt.liveHandles()); }
    console.log(most);`);
  assert.ok(most < 150_000, `${most} handles were live at once`);
});

test('the bytes of a storage count once, until the last tensor over them is gone', () => {
  const { accountedBytes } = native;
  const before = accountedBytes();
  const t = lt.zeros([1 << 20]);
  const views = Array.from({ length: 50 }, () => t.view(-1, 2));
  const storage = t.untypedStorage();
  views.push(t.narrow(0, 0, 0), ...t.split(1 << 18), storage.view());
  assert.equal(accountedBytes() - before, 4 << 20);
  storage.resize_(8 << 20);
  assert.equal(accountedBytes() - before, 8 << 20);
  storage.resize_(0);
  assert.equal(accountedBytes() - before, 0);
  storage.resize_(4 << 20);
  t.dispose();
  assert.equal(accountedBytes() - before, 4 << 20);
  const other = lt.zeros([1 << 18]);
  views[0].set_(other);
  other.dispose();
  assert.equal(accountedBytes() - before, 5 << 20);
  views[0].set_();
  assert.equal(accountedBytes() - before, 4 << 20);
  for (const view of views) view.dispose();
  views[1].dispose();
  assert.equal(accountedBytes() - before, 4 << 20);
  storage.dispose();
  assert.equal(accountedBytes() - before, 0);
  const out = lt.zeros([0]);
  lt.add(lt.zeros([1 << 18]), 1, { out }).dispose();
  const array = lt.asTensor(new Float32Array(1 << 20));
  assert.ok(accountedBytes() - before <= 1 << 20);
  array.dispose();
});

test('data() returns the same memory again without another array', () => {
  const t = lt.zeros([16]);
  const data = t.data();
  assert.equal(t.data().buffer, data.buffer);
  assert.notEqual(t.view(4, 4).data().buffer, data.buffer);
  t.resize_([8]);
  assert.equal(t.data().length, 8);
  t.fill_(3);
  assert.deepEqual([...data.subarray(0, 9)], [3, 3, 3, 3, 3, 3, 3, 3, 0]);
});

test('scope disposes tensors that were created and not returned', () => {
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
  assert.throws(() => lt.scope(async () => lt.zeros([1])), { code: 'TENSOR_ERROR_TYPE', message: /must not be asynchronous/ });
  assert.throws(() => lt.scope('x'), { code: 'TENSOR_ERROR_TYPE', message: /must be a function, not the string 'x'/ });
  const [[key, value]] = lt.scope(() => new Map([[lt.zeros([1]), lt.ones([2])]]));
  assert.deepEqual([key.disposed, value.disposed], [false, false]);
  key.dispose();
  value.dispose();
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

test('data() of a tensor over an ArrayBuffer is of that one, so that a transfer takes it from both', () => {
  const array = new Float32Array(new ArrayBuffer(80), 16, 8).fill(2);
  const t = lt.asTensor(array);
  const part = t.narrow(0, 2, 3).data();
  assert.ok(part.buffer === array.buffer && part.byteOffset === 24 && part.length === 3);
  part[0] = 7;
  assert.equal(t.at(2).item(), 7);
  if (!ArrayBuffer.prototype.transfer) return; // without which only workers take buffers away
  array.buffer.transfer();
  assert.equal(part.length, 0);
  assert.throws(() => t.data(), /was transferred/);
});
