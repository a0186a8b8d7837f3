'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const lt = require('..');

const leaf = (...values) => lt.tensor(values.map(lt.float), { dtype: 'float64', requiresGrad: true });

test('backward sums gradients up in leaves', () => {
  const x = leaf(1, 2, 3);
  assert.deepEqual([x.requiresGrad, x.isLeaf, x.grad, x.gradFn, x.outputNr], [true, true, null, null, 0]);
  const y = x.mul(x);
  assert.deepEqual([y.requiresGrad, y.isLeaf, y.gradFn.name], [true, false, 'MulBackward0']);
  assert.match(String(y), /grad_fn=<MulBackward0>\)$/);
  y.sum().backward();
  assert.deepEqual(x.grad.toArray(), [2, 4, 6]);
  x.mul(3).backward(lt.tensor([1, 0, 2], { dtype: 'float64' }));
  assert.deepEqual(x.grad.toArray(), [5, 4, 12]);
  x.grad = null;
  assert.equal(x.grad, null);
  x.grad = lt.ones(3, { dtype: 'float64' });
  assert.deepEqual(x.grad.toArray(), [1, 1, 1]);
});

test('the options of backward', () => {
  const [x, w] = [leaf(1, 2), leaf(3, 4)];
  const y = x.mul(w);
  y.retainGrad();
  const total = y.mul(y).sum();
  total.backward({ retainGraph: true, inputs: x });
  assert.deepEqual([x.grad.toArray(), w.grad], [[18, 64], null]);
  lt.autograd.backward([total]);
  assert.deepEqual([x.grad.toArray(), w.grad.toArray(), y.grad.toArray(), y.retainsGrad], [[36, 128], [6, 32], [12, 32], true]);
  assert.throws(() => total.backward(), /Trying to backward through the graph a second time/);
  assert.throws(() => x.sum().backward({ inputs: [] }), { name: 'TypeError', message: /the inputs must not be empty/ });
  assert.throws(() => x.sum().backward({ retain: true }), /there is no option 'retain'; there are retainGraph/);
});

test('autograd.grad, and gradients of gradients', () => {
  const x = leaf(2);
  const [slope] = lt.autograd.grad(x.pow(3).sum(), x, { createGraph: true });
  assert.deepEqual(slope.toArray(), [12]);
  const [bend] = lt.autograd.grad(slope, [x], { gradOutputs: [null] });
  assert.deepEqual([bend.toArray(), x.grad], [[12], null]);
  const other = leaf(1);
  assert.throws(() => lt.autograd.grad(x.sum(), other), /appears to not have been used in the graph/);
  assert.deepEqual(lt.autograd.grad(x.sum(), other, { allowUnused: true }), [null]);
  assert.deepEqual(lt.autograd.grad(x.sum(), [other], { materializeGrads: true })[0].toArray(), [0]);
});

test('modes end with their functions', () => {
  const x = leaf(1);
  assert.equal(lt.noGrad(() => x.mul(2)).requiresGrad, false);
  assert.equal(lt.noGrad(() => lt.enableGrad(() => x.mul(2))).requiresGrad, true);
  const inferred = lt.inferenceMode(() => x.mul(2));
  assert.deepEqual([inferred.requiresGrad, inferred.isInference(), x.isInference(), lt.isInferenceModeEnabled()], [false, true, false, false]);
  assert.throws(() => inferred.add_(1), /Inplace update to inference tensor outside InferenceMode is not allowed/);
  assert.throws(() => x.mul(inferred), /Inference tensors cannot be saved for backward/);
  assert.equal(lt.inferenceMode(() => lt.enableGrad(() => lt.isInferenceModeEnabled() && lt.isGradEnabled())), true);
  assert.equal(lt.enableGrad(() => lt.inferenceMode(() => lt.isGradEnabled())), false);
  assert.throws(() => lt.noGrad(() => { throw new Error('mine'); }), /mine/);
  assert.equal(lt.isGradEnabled(), true);
  assert.throws(() => lt.noGrad(async () => x), { name: 'TypeError', message: /noGrad: the function must not be asynchronous/ });
  assert.throws(() => lt.noGrad(x), { name: 'TypeError', message: /noGrad: the argument must be a function, not a tensor/ });
  lt.setGradEnabled(false);
  assert.equal(x.mul(2).requiresGrad, false);
  lt.setGradEnabled(true);
});

test('leaves', () => {
  const x = lt.ones(2);
  assert.equal(x.requiresGrad, false);
  assert.equal(x.requiresGrad_(), x);
  assert.equal(x.requiresGrad, true);
  x.requiresGrad = false;
  assert.equal(x.mul(2).requiresGrad, false);
  x.requiresGrad_();
  const y = x.mul(2);
  assert.throws(() => { y.requiresGrad = false; }, /you can only change requires_grad flags of leaf variables/);
  assert.equal(y.detach_(), y);
  assert.equal(y.isLeaf, true);
  assert.throws(() => x.add_(1), /a leaf Variable that requires grad is being used in an in-place operation/);
  lt.noGrad(() => x.add_(1));
  assert.deepEqual(x.toArray(), [2, 2]);
  const before = lt.liveHandles();
  assert.throws(() => lt.tensor([1, 2], { requiresGrad: true }), /floating point and complex dtype can require gradients/);
  assert.equal(lt.liveHandles(), before);
});

test('off the event loop', async () => {
  const x = leaf(1, 2);
  await x.mul(x).sum().backwardAsync();
  assert.deepEqual(x.grad.toArray(), [2, 4]);
  await lt.autograd.backwardAsync(x.mul(2), lt.ones(2, { dtype: 'float64' }));
  assert.deepEqual(x.grad.toArray(), [4, 6]);
  const [slope] = await lt.autograd.gradAsync(x.mul(x).sum(), x);
  assert.deepEqual(slope.toArray(), [2, 4]);
  const y = await lt.mulAsync(x, x);
  assert.equal(y.requiresGrad, true);
  await assert.rejects(y.backwardAsync(), /grad can be implicitly created only for scalar outputs/);
});

test('what a graph holds is freed with its tensors', () => {
  const x = leaf(...Array(100).keys());
  const before = [lt.liveHandles(), lt.memoryStats().inUse];
  lt.scope(() => {
    const y = x.mul(x).exp().sum();
    y.backward();
    x.grad = null;
  });
  assert.deepEqual([lt.liveHandles(), lt.memoryStats().inUse], before);
});
