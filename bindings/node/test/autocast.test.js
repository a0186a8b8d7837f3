'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const lt = require('..');

function withAutocast(dtype, fn) {
  lt.setAutocastEnabled('cpu', true);
  lt.setAutocastDtype('cpu', dtype);
  lt.autocastIncrementNesting();
  try {
    return fn();
  } finally {
    if (Number(lt.autocastDecrementNesting()) === 0) lt.clearAutocastCache();
    lt.setAutocastDtype('cpu', lt.bfloat16);
    lt.setAutocastEnabled('cpu', false);
  }
}

test('products run in lower precision and losses in float32', () => {
  const a = lt.ones([2, 2]);
  for (const low of [lt.bfloat16, lt.float16]) {
    withAutocast(low, () => {
      assert.equal(lt.matmul(a, a).dtype, low);
      assert.equal(lt.nn.linear(a, a).dtype, low);
      assert.equal(lt.nn.mseLoss(lt.matmul(a, a), a).dtype, lt.float32);
      assert.equal(lt.add(a, a).dtype, lt.float32);
    });
  }
  assert.equal(lt.matmul(a, a).dtype, lt.float32);
  assert.equal(lt.isAutocastEnabled('cpu'), false);
});

test('asynchronous calls run in the mode of their caller', async () => {
  const a = lt.ones([2, 2]);
  const made = withAutocast(lt.float16, () => lt.matmulAsync(a, a));
  const plain = lt.matmulAsync(a, a);
  assert.equal((await made).dtype, lt.float16);
  assert.equal((await plain).dtype, lt.float32);
});

test('gradients of parameters are float32', () => {
  const w = lt.ones([2, 2]).requiresGrad_();
  const y = withAutocast(lt.bfloat16, () => lt.matmul(w, w));
  lt.autograd.backward(y.sum());
  assert.equal(w.grad.dtype, lt.float32);
  assert.deepEqual(w.grad.toArray(), [[4, 4], [4, 4]]);
});

test('other types of devices and dtypes raise', () => {
  assert.throws(() => lt.setAutocastEnabled('mps', true), /autocast is not supported for device type 'mps'/);
  assert.throws(() => lt.setAutocastDtype('cpu', lt.int32), /must be a floating-point dtype/);
});
