// Devices, streams, events and pinned memory from Node, on a device.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import lt from '../../bindings/node/index.js';

test('the current device and streams', () => {
  assert.equal(lt.deviceCount('cuda'), 2);
  lt.deviceSetCurrent('cuda:1');
  assert.equal(lt.zeros([2], { device: 'cuda' }).device, 'cuda:1');
  lt.deviceSetCurrent('cuda:0');
  const stream = lt.streamNew('cuda');
  const before = lt.streamCurrent('cuda');
  const x = lt.tensor([1, 2, 3]).pinMemory().to({ device: 'cuda', nonBlocking: true });
  lt.streamWaitStream(stream, before);
  lt.streamSetCurrent(stream);
  const y = x.mul(2);
  const event = lt.eventNew('cuda');
  lt.eventRecord(event, stream);
  lt.streamSetCurrent(before);
  lt.streamWaitEvent(before, event);
  assert.deepEqual(y.to({ device: 'cpu' }).toArray(), [2, 4, 6]);
  lt.eventSynchronize(event);
  assert.equal(lt.eventQuery(event), true);
  lt.eventFree(event);
  assert.throws(() => lt.eventFree(event), /there is no event/);
  assert.equal(lt.deviceAttribute('cuda', 'warp_size'), 32);
});

test('an asynchronous call has the streams of its caller', async () => {
  const stream = lt.streamNew('cuda:0');
  const before = lt.streamCurrent('cuda:0');
  lt.streamSetCurrent(stream);
  const made = lt.ones([1000], { device: 'cuda' });
  for (let i = 0; i < 50; i++) {
    const doubled = await lt.mulAsync(made, 2); // no stream is waited for
    assert.equal(lt.streamCurrent('cuda:0'), stream);
    assert.equal(doubled.sum().item(), 2000);
  }
  lt.streamSetCurrent(before);
});
