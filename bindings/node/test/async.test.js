'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const lt = require('..');

test('asynchronous calls give what synchronous ones give', async () => {
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
