'use strict';

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { getEventListeners } = require('node:events');
const { test } = require('node:test');
const lt = require('..');

test('asynchronous calls return the same as synchronous ones', async () => {
  const a = lt.randn([50, 50]);
  assert.ok(lt.equal(await lt.mulAsync(a, a), lt.mul(a, a)));
  const { values, indices } = await lt.maxAsync(a, 1);
  const now = lt.max(a, 1);
  assert.ok(lt.equal(values, now.values) && lt.equal(indices, now.indices));
  const out = lt.zeros([50, 50]);
  assert.equal(await lt.addAsync(a, 1, { out }), out);
  assert.ok(lt.equal(out, a.add(1)));
});

test('many calls run at once while the event loop turns', async () => {
  const a = lt.zeros([200_000]);
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const all = [];
  for (let i = 0; i < 64; i++) all.push(lt.addAsync(a, i));
  const results = await Promise.all(all);
  clearInterval(timer);
  results.forEach((r, i) => assert.equal(r.at(-1).toArray(), i));
});

test('errors reject the promise', async () => {
  const a = lt.zeros([2]);
  await assert.rejects(lt.addAsync(a, lt.zeros([3])), { name: 'Error', code: 'TENSOR_ERROR_RUNTIME', message: /must match/ });
  await assert.rejects(lt.addAsync(a, 'x'), { name: 'TypeError', code: 'TENSOR_ERROR_TYPE' });
  await assert.rejects(lt.sumAsync(a, 4), { name: 'RangeError', code: 'TENSOR_ERROR_INDEX' });
});

test('tensors in use by a call survive dispose, and are not written meanwhile', async () => {
  const handles = lt.liveHandles();
  const a = lt.zeros([1 << 20]);
  const out = lt.zeros([1 << 20]);
  const promise = lt.addAsync(a, 1, { out });
  assert.throws(() => a.add_(1), { code: 'TENSOR_ERROR_RUNTIME', message: /being read by an asynchronous call/ });
  assert.throws(() => out.sum(), { code: 'TENSOR_ERROR_RUNTIME', message: /being written by an asynchronous call/ });
  assert.equal(a.numel, 1 << 20);
  a.dispose();
  assert.throws(() => a.add(1), { code: 'TENSOR_ERROR_HANDLE' });
  await promise;
  assert.equal(out.at(0).toArray(), 1);
  out.dispose();
  assert.ok(lt.liveHandles() <= handles + 1); // the item that at() made waits for the collector
});

test('memory that a call uses is neither moved nor freed nor written through another tensor', async () => {
  const whole = lt.ones([1 << 20]);
  const used = whole.view(1024, 1024);
  const storage = whole.untypedStorage();
  const promises = [lt.addAsync(used, 1), lt.addAsync(used, 2), lt.addAsync(used, 3)];
  const rejected = {
    resize: () => whole.resize_([1 << 22]),
    'resize of an empty view': () => whole.narrow(0, 0, 0).resize_([1 << 22]),
    'resize of the storage': () => storage.resize_(0),
    'move to shared memory': () => storage.shareMemory_(),
    'move of the tensor': () => whole.shareMemory_(),
    'another storage': () => whole.set_(lt.zeros([1])),
    fill: () => whole.fill_(0),
    'fill of a part': () => whole.at(lt.slice(5, 6)).fill_(0),
    'fill of the storage': () => storage.fill_(0),
    'output of a call': () => lt.add(1, 1, { out: whole.at(3) }),
  };
  for (const [name, call] of Object.entries(rejected)) assert.throws(call, { code: 'TENSOR_ERROR_RUNTIME', message: /by an asynchronous call/ }, name);
  await assert.rejects(lt.addAsync(1, 1, { out: whole.at(3) }), { message: /being read by an asynchronous call/ });
  for (const object of [whole, used, storage]) object.dispose();
  const results = await Promise.all(promises);
  assert.deepEqual(results.map((r) => [r.shape[0], r.min().item(), r.max().item()]), [[1024, 2, 2], [1024, 3, 3], [1024, 4, 4]]);
});

test('memory that a call frees, as it resizes its output, belongs to the next tensor', async () => {
  for (let round = 0; round < 20; round++) {
    const outs = Array.from({ length: 20 }, () => lt.zeros([10]));
    const views = outs.map((out) => out.view(10));
    const written = outs.map((out, i) => lt.addAsync(lt.ones([110 + i]), 1, { out }));
    for (let i = 0; i < 200; i++) assert.equal(lt.ones([10]).mul(2).sum().item(), 20);
    const results = await Promise.all(written);
    results.forEach((result, i) => assert.deepEqual([result.numel, result.max().item(), views[i].shape[0]], [110 + i, 2, 10]));
    views.forEach((view, i) => assert.equal(outs[i].fill_(3) && view.sum().item(), 30)); // they share the memory still
  }
});

test('after the call the memory is free again', async () => {
  const t = lt.zeros([4]);
  const storage = t.untypedStorage();
  await lt.addAsync(t, 1);
  storage.resize_(64);
  assert.equal(t.resize_([16]).numel, 16);
  await assert.rejects(lt.addAsync(t, lt.zeros([3])));
  t.fill_(1);
  storage.resize_(0);
});

test('parts of one tensor are written side by side', async () => {
  const out = lt.zeros([8, 1000]);
  const rows = Array.from({ length: 8 }, (_, i) => lt.addAsync(lt.ones([1000]), i, { out: out.at(i) }));
  await assert.rejects(lt.addAsync(lt.ones([1000]), 1, { out: out.at(3) }), { message: /by an asynchronous call/ });
  await Promise.all(rows);
  assert.deepEqual(out.at('...', 999).toArray(), [1, 2, 3, 4, 5, 6, 7, 8]);
});

test('operands in an ArrayBuffer can be written, and taken away, meanwhile', async () => {
  const array = new Float32Array([1, 2, 3, 4]);
  const t = lt.asTensor(array);
  const result = lt.mulAsync(t, t);
  array.fill(100);
  assert.deepEqual((await result).toArray(), [1, 4, 9, 16]);
  const target = new Float32Array(4);
  await lt.addAsync(t, 1, { out: lt.asTensor(target) });
  assert.deepEqual([...target], [101, 101, 101, 101]);
  const view = await lt.reshapeAsync(t, [2, 2]);
  view.fill_(7);
  assert.deepEqual([...array], [7, 7, 7, 7]);
  const same = await lt.conjAsync(t);
  const pieces = [...(await lt.splitAsync(t, 2)), ...(await lt.meshgridAsync([t])), ...(await lt.atleast2dAsync([t]))];
  array.fill(9);
  for (const piece of [same, ...pieces]) assert.deepEqual([...new Set(piece.flatten().toArray())], [9]);
  array.fill(7);
  const small = lt.asTensor(new Float32Array(3));
  await assert.rejects(lt.addAsync(t, 1, { out: small }), { code: 'TENSOR_ERROR_RUNTIME', message: /not resizable/ });
  assert.deepEqual(small.toArray(), [0, 0, 0]);
  const shared = new Float32Array(new SharedArrayBuffer(16));
  await lt.addAsync(t, 1, { out: lt.asTensor(shared) });
  assert.deepEqual([...shared], [8, 8, 8, 8]);
});

test('the stack of a rejected promise contains the call', async () => {
  async function caller(call) {
    await call();
  }
  for (const call of [() => lt.addAsync(lt.zeros([2]), lt.zeros([3])), () => lt.addAsync(lt.zeros([2]), 'x'), () => lt.sumAsync(lt.zeros([2]), 9)]) {
    await assert.rejects(caller(call), (error) => error.stack.startsWith(`${error.name}: ${error.message}\n`) && /at caller /.test(error.stack));
  }
});

test('an AbortSignal ends calls', async () => {
  const a = lt.zeros([1 << 20]);
  const handles = lt.liveHandles();
  await assert.rejects(lt.addAsync(a, 1, { signal: AbortSignal.abort() }), { name: 'AbortError' });
  await assert.rejects(lt.addAsync(a, 1, { signal: AbortSignal.abort(new Error('mine')) }), { message: 'mine' });
  await assert.rejects(lt.addAsync(a, 1, { signal: 3 }), { name: 'TypeError' });
  await assert.rejects(lt.addAsync(a, 1, { signal: {} }), { name: 'TypeError', message: /must be an AbortSignal/ });
  assert.throws(() => lt.add(a, 1, { signal: AbortSignal.abort() }), { name: 'TypeError' });
  const controller = new AbortController();
  const calls = Array.from({ length: 8 }, () => lt.addAsync(a, 1, { signal: controller.signal }));
  controller.abort();
  for (const { status, reason } of await Promise.allSettled(calls)) assert.deepEqual([status, reason?.name], ['rejected', 'AbortError']);
  const quiet = new AbortController();
  const done = await lt.addAsync(a, 1, { signal: quiet.signal });
  quiet.abort();
  assert.equal(done.at(0).item(), 1);
  done.dispose();
  // Running calls continue to their end, and claim the tensors that they read until then.
  for (let claimed = true; claimed || lt.liveHandles() > handles + 1; await new Promise((resolve) => setTimeout(resolve, 1))) {
    try {
      a.fill_(1);
      claimed = false;
    } catch (error) {
      assert.match(error.message, /asynchronous call/);
    }
  }
});

test('many calls may have one signal, which has one listener of theirs', async () => {
  const [warned, a, controller] = [[], lt.zeros([4]), new AbortController()];
  const { signal } = controller;
  const warn = (warning) => warned.push(warning.name);
  process.on('warning', warn);
  await assert.rejects(lt.addAsync(a, [1, 2], { signal }));
  const done = await Promise.all(Array.from({ length: 40 }, () => lt.addAsync(a, 1, { signal })));
  assert.ok(done.every((t) => t.at(3).item() === 1));
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  const calls = Array.from({ length: 40 }, (_, i) => lt.addAsync(a, i, { signal }));
  assert.equal(getEventListeners(signal, 'abort').length, 1);
  controller.abort(new Error('mine'));
  for (const { status, reason } of await Promise.allSettled(calls)) assert.deepEqual([status, reason?.message], ['rejected', 'mine']);
  await lt.settled();
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  await new Promise((resolve) => setTimeout(resolve, 10)); // warnings are reported later
  process.off('warning', warn);
  assert.deepEqual(warned, []);
});

test('a call that fails before it begins leaves no listener', async () => {
  const [a, { signal }] = [lt.zeros([4]), new AbortController()];
  const { addEventListener } = signal;
  signal.addEventListener = (...args) => {
    addEventListener.apply(signal, args);
    a.dispose();
  };
  await assert.rejects(lt.addAsync(a, 1, { signal }), { code: 'TENSOR_ERROR_HANDLE' });
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});

test('signals with wrong properties do no harm', async () => {
  const a = lt.zeros([4]);
  const listeners = [];
  const liar = { aborted: false, reason: 'because', addEventListener: (name, fn) => { fn(); listeners.push(fn); }, removeEventListener() { throw new Error('no'); } };
  assert.equal((await lt.addAsync(a, 1, { signal: liar })).numel, 4);
  for (const fn of listeners) fn();
  const disposing = { aborted: false, addEventListener: () => a.dispose(), removeEventListener() {} };
  await assert.rejects(lt.addAsync(a, 1, { signal: disposing }), { code: 'TENSOR_ERROR_HANDLE' });
});

test('files are read while every thread for tensors is busy', async () => {
  const { readFile } = require('node:fs/promises');
  const before = lt.getAsyncThreads();
  lt.setAsyncThreads(4);
  assert.equal(lt.getAsyncThreads(), 4);
  const a = lt.zeros([1 << 21]);
  let ended = 0;
  // Work for half a minute and more, most of which never runs.
  const many = new AbortController();
  const calls = Array.from({ length: 2000 }, () => lt.expAsync(a, { signal: many.signal }).then(() => ended++));
  await readFile(__filename);
  assert.ok(ended < 2000);
  many.abort();
  const aborted = (await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected');
  assert.ok(aborted.length > 0 && aborted.every(({ reason }) => reason.name === 'AbortError'));
  for (const count of [0, -1, 257, 1.5, 'a', undefined]) assert.throws(() => lt.setAsyncThreads(count), /must be an integer from 1 to 256/);
  lt.setAsyncThreads(before);
});

test('results of asynchronous calls belong to no scope', async () => {
  const a = lt.asTensor(new Float32Array(4));
  let promise;
  lt.scope(() => {
    promise = lt.reshapeAsync(a, [2, 2]);
  });
  assert.deepEqual((await promise).shape, [2, 2]);
});

test('hooks of an asynchronous backward pass run in the AsyncLocalStorage context of its start', async () => {
  const storage = new AsyncLocalStorage();
  const seen = [];
  await storage.run('mine', async () => {
    const x = lt.tensor([1.5], { requiresGrad: true });
    const y = x.mul(2);
    y.registerHook(() => void seen.push(storage.getStore()));
    await y.sum().backwardAsync();
    seen.push(storage.getStore());
  });
  assert.deepEqual(seen, ['mine', 'mine']);
});

test('settled() is kept when calls are done with the tensors, also those that were aborted', async () => {
  const [a, out] = [lt.ones(400, 400), lt.zeros(400, 400)];
  await lt.settled();
  const controller = new AbortController();
  const late = Array.from({ length: 8 }, () => lt.matmulAsync(a, a, { out: lt.zeros(400, 400), signal: controller.signal }));
  late.push(lt.matmulAsync(a, a, { out, signal: controller.signal }));
  controller.abort();
  for (const promise of late) await assert.rejects(promise, { name: 'AbortError' });
  await lt.settled(out);
  out.fill_(1);
  await lt.settled(a, out);
  a.fill_(1);
  await lt.settled();
  await assert.rejects(lt.settled(3), { code: 'TENSOR_ERROR_TYPE', message: /^settled: / });
});

test('tensors written by an asynchronous call are unchanged until it is done', async () => {
  const [a, out] = [lt.ones(300, 300), lt.zeros([0], { dtype: 'float32' })];
  const promise = lt.matmulAsync(a, a, { out });
  assert.deepEqual([out.shape, out.strides, out.dtype, out.numel, out.ndim, out.device, out.layout], [[0], [1], 'float32', 0, 1, 'cpu', 'strided']);
  assert.throws(() => out.toArray(), /is being written by an asynchronous call/);
  await promise;
  assert.deepEqual(out.shape, [300, 300]);
});

test('in-place forms off the event loop', async () => {
  const t = lt.zeros(3);
  assert.equal(await t.add_Async(2), t);
  assert.deepEqual((await t.mul_Async(lt.tensor([1, 2, 3]))).toArray(), [2, 4, 6]);
  await assert.rejects(t.add_Async(lt.zeros(2)), /^Error: add_Async: /);
  const lent = lt.asTensor(new Float32Array(2));
  await lent.add_Async(1);
  assert.deepEqual(lent.toArray(), [1, 1]);
});

test('writes to external memory are stored even if the tensor was disposed in the meantime', async () => {
  const memory = new Float32Array(4);
  const lent = lt.asTensor(memory);
  const promises = [lt.addAsync(lt.ones(4), 1, { out: lent })];
  lent.dispose();
  await Promise.all(promises);
  assert.deepEqual([...memory], [2, 2, 2, 2]);
});

// The first twelve numbers, in an ArrayBuffer.
function lent() {
  const array = Float32Array.from({ length: 12 }, (_, i) => i + 1);
  return { array, t: lt.asTensor(array) };
}

// Calls on tensors in one ArrayBuffer: [self or the module, name, arguments].
const onLent = {
  'out that is an operand': (t) => [lt, 'add', [t, 1, { out: t }]],
  'out that is one of three': (t) => [lt, 'where', [t.gt(3), t, 0, { out: t }]],
  'out that views the same': (t) => [lt, 'add', [t.at(lt.slice(0, 11)), 1, { out: t.at(lt.slice(0, 11)) }]],
  'out that overlaps': (t) => [lt, 'add', [t.at(lt.slice(0, 11)), 1, { out: t.at(lt.slice(1)) }]],
  'out that is transposed': (t) => [lt, 'add', [t.at(lt.slice(0, 9)).view(3, 3), 1, { out: t.at(lt.slice(0, 9)).view(3, 3).t() }]],
  'out that is expanded': (t) => [lt, 'add', [lt.ones(2, 12), 1, { out: t.expand(2, 12) }]],
  'out with gaps': (t) => [lt, 'add', [lt.ones(6), 1, { out: t.view(6, 2).select(1, 0) }]],
  'out that is empty': (t) => [lt, 'add', [lt.ones(3), 1, { out: t.at(lt.slice(0, 0)) }]],
  'out that is too small': (t) => [lt, 'add', [lt.ones(24), 1, { out: t }]],
  'out of another dtype': (t) => [lt, 'add', [lt.ones(12, { dtype: 'complex64' }), 1, { out: t }]],
  'parts of out': (t) => [lt, 'cat', [[t.at(lt.slice(6)), t.at(lt.slice(0, 6))], { out: t }]],
  'two parts': (t) => [lt, 'matmul', [t.view(3, 4).at(lt.slice(), lt.slice(0, 3)), t.view(3, 4), { out: lt.zeros(3, 4) }]],
  'in place with itself': (t) => [t, 'mul_', [t]],
  'in place with a part that overlaps': (t) => [t.at(lt.slice(1)), 'add_', [t.at(lt.slice(0, 11))]],
  'in place, of more elements': (t) => [t.at(lt.slice(11)), 'sub_', [lt.ones(4)]],
  'in place, transposed': (t) => [t.view(3, 4), 't_', []],
  'in place, squeezed': (t) => [t.view(1, 12), 'squeeze_', []],
  'in place, a leaf': (t) => [t.requiresGrad_(), 'add_', [1]],
};

test('asynchronous calls on memory of an ArrayBuffer return the same as synchronous ones', async () => {
  for (const [name, of] of Object.entries(onLent)) {
    const outcome = async (suffix) => {
      const { array, t } = lent();
      try {
        const [self, fn, given] = of(t);
        const made = await self[fn + suffix](...given);
        return { array, made: made.toArray(), same: made === (given.at(-1)?.out ?? self) };
      } catch ({ code, message }) {
        return { array, code, message: message.replace('Async', '') };
      }
    };
    assert.deepEqual(await outcome('Async'), await outcome(''), name);
  }
});

test('results are copied to an ArrayBuffer under the modes of the call', async () => {
  const { array, t } = lent();
  t.requiresGrad_();
  let call;
  lt.noGrad(() => {
    call = t.add_Async(1);
  });
  await call;
  assert.equal(array[0], 2);
  const w = lt.ones(12).requiresGrad_();
  const product = await lent().t.mul_Async(w);
  product.sum().backward();
  assert.deepEqual(w.grad.toArray(), [...lent().array]);
});

test('an aborted call that runs stops, and lets go of its tensors', async () => {
  const controller = new AbortController();
  const x = lt.rand(1500, 1500);
  const before = lt.liveHandles();
  // Without the signal it takes minutes.
  const call = lt.linalg.multiDotAsync(Array(2000).fill(x), { signal: controller.signal });
  setTimeout(() => controller.abort(), 200);
  await assert.rejects(call, { name: 'AbortError' });
  await lt.settled(x);
  assert.ok(lt.liveHandles() <= before); // objects of other tests may be collected meanwhile
  assert.deepEqual(lt.ones(2).add(1).toArray(), [2, 2]);
});
