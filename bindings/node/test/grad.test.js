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

test('factories make leaves', async () => {
  const x = lt.ones(1);
  const option = { requiresGrad: true };
  const made = [
    lt.zeros([2], option), lt.zeros(2, 3, option), lt.rand([2], { ...option, dtype: 'complex64' }), lt.arange(1.5, option), lt.zerosLike(x, option),
    x.newFull([2], 3, option), lt.fft.fftfreq(4, option), lt.normal(0, 1, [2], option), await lt.onesAsync([2], option),
    lt.noGrad(() => lt.eye(2, option)), lt.inferenceMode(() => lt.empty([2], option)),
  ];
  for (const t of made) assert.deepEqual([t.requiresGrad, t.isLeaf, t.gradFn], [true, true, null]);
  const named = lt.full([2], lt.float(3), { names: ['N'], requiresGrad: true });
  named.mul(named).sum().backward();
  assert.deepEqual([named.names, named.grad.toArray()], [['N'], [6, 6]]);
  for (const no of [false, null, undefined]) assert.equal(lt.zeros([2], { requiresGrad: no }).requiresGrad, false);
  assert.equal(lt.zeros([1], { out: x, requiresGrad: false }), x);
});

test('factories that make no leaf', async () => {
  const out = lt.ones(2);
  const before = lt.liveHandles();
  const integers = { name: 'Error', message: /Only Tensors of floating point and complex dtype can require gradients, not one of int64/ };
  assert.throws(() => lt.arange(3, { requiresGrad: true }), integers);
  assert.throws(() => lt.randperm(3, { requiresGrad: true }), integers);
  await assert.rejects(lt.zerosAsync([2], { dtype: 'int64', requiresGrad: true }), integers);
  assert.throws(() => lt.zeros([2], { requiresGrad: 1 }), { name: 'TypeError', message: "zeros: option 'requiresGrad' must be a boolean, not an integer" });
  assert.throws(() => lt.zeros([2], { out, requiresGrad: true }), { name: 'TypeError', message: /zeros: .*with out; use out\.requiresGrad_\(\)/ });
  assert.throws(() => lt.add(out, 1, { requiresGrad: true }), { name: 'TypeError', message: /no argument 'requiresGrad'/ });
  assert.deepEqual([out.toArray(), out.requiresGrad, lt.liveHandles()], [[1, 1], false, before]);
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
  assert.throws(() => x.sum().backward({ retain: true }), /unknown option 'retain'; supported are retainGraph/);
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
  assert.throws(() => { y.requiresGrad = false; }, /you can only change requiresGrad flags of leaf variables/);
  assert.equal(y.detach_(), y);
  assert.equal(y.isLeaf, true);
  assert.throws(() => x.add_(1), /a leaf Variable that requires grad is being used in an in-place operation/);
  lt.noGrad(() => x.add_(1));
  assert.deepEqual(x.toArray(), [2, 2]);
  const before = lt.liveHandles();
  assert.throws(() => lt.tensor([1n, 2n], { requiresGrad: true }), /floating point and complex dtype can require gradients/);
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

test('tensors of a backward pass off the event loop are not written in the meantime', async () => {
  for (const size of [3, 100_000]) {
    const x = lt.full([size], lt.float(1.5)).requiresGrad_();
    const w = lt.full([size], lt.float(2)).requiresGrad_();
    const other = lt.zeros(size);
    for (const t of [x, w]) t.grad = lt.zeros(size);
    const y = x.mul(w);
    y.retainGrad();
    const total = y.sum();
    const rejected = (fn, doing) => assert.throws(fn, { code: 'TENSOR_ERROR_RUNTIME', message: new RegExp(`is being ${doing} by an asynchronous call`) });
    let run = total.backwardAsync(null, { retainGraph: true });
    rejected(() => lt.noGrad(() => x.mul_(2)), 'read');
    rejected(() => lt.noGrad(() => x.detach().at(0).fill_(2)), 'read');
    rejected(() => x.grad.mul_(2), 'written');
    rejected(() => x.grad.sum().item(), 'written');
    assert.equal(x.at(-1).item(), 1.5);
    await run;
    run = lt.autograd.gradAsync(total, w, { retainGraph: true });
    rejected(() => lt.noGrad(() => x.mul_(2)), 'read');
    x.grad.mul_(2); // no gradients are added
    await run;
    await Promise.all([total.backwardAsync(null, { retainGraph: true }), total.backwardAsync(null, { retainGraph: true })]);
    assert.deepEqual([x.grad.at(0).item(), x.grad.at(-1).item(), w.grad.at(0).item()], [8, 8, 4.5]);
    const handles = lt.liveHandles();
    for (let i = 0; i < 20; i++) await total.backwardAsync(null, { retainGraph: true });
    assert.ok(lt.liveHandles() <= handles);
    x.grad = w.grad = null;
    run = total.backwardAsync();
    x.dispose();
    await run;
    lt.noGrad(() => w.mul_(2));
    assert.equal(w.grad.at(-1).item(), 1.5);
    const square = w.mul(w).sum();
    const writing = lt.addAsync(other, 1, { out: w.detach() });
    await assert.rejects(square.backwardAsync(), { code: 'TENSOR_ERROR_RUNTIME', message: /argument 'saved tensor' .* is being written by an asynchronous call/ });
    await writing;
  }
});

test('a hook of an asynchronous backward pass may write tensors that the pass no longer needs', async () => {
  const x = leaf(1.5, 1.5);
  x.registerPostAccumulateGradHook((t) => {
    lt.noGrad(() => t.sub_(t.grad.mul(0.25)));
    t.grad.zero_();
  });
  for (let i = 0; i < 3; i++) await x.mul(x).sum().backwardAsync();
  assert.deepEqual([x.toArray(), x.grad.toArray()], [[0.1875, 0.1875], [0, 0]]);
  x.mul(x).registerHook(() => {});
  const y = x.mul(x);
  y.registerHook(() => { lt.noGrad(() => x.add_(1)); });
  await assert.rejects(y.sum().backwardAsync(), /has been modified by an inplace operation/);
});

test('tensors of a graph outlive the scope that created them', async () => {
  class Cube extends lt.autograd.Function {
    static forward(context, x) {
      context.saveForBackward(x);
      context.more = { three: lt.tensor(lt.float(3), { dtype: 'float64' }) };
      return x.pow(3);
    }

    static backward(context, grad) {
      const [x] = context.savedTensors;
      return grad.mul(x.mul(x)).mul(context.more.three);
    }
  }
  for (const run of ['backward', 'backwardAsync']) {
    const x = leaf(1, 2);
    await lt.scope(() => Cube.apply(x).sum())[run]();
    assert.deepEqual(x.grad.toArray(), [3, 12]);
    x.grad = null;
    const packs = [(t) => t, (t) => ({ halves: [t.mul(0.5), t.mul(0.5)] })];
    const unpacks = [(t) => t, ({ halves }) => halves[0].add(halves[1])];
    for (const i of [0, 1]) await lt.scope(() => lt.autograd.savedTensorsHooks(packs[i], unpacks[i], () => x.mul(x).sum()))[run]();
    assert.deepEqual(x.grad.toArray(), [4, 8]);
  }
});

test('errors of backward and grad describe invalid arguments', () => {
  const x = leaf(1, 2);
  const says = (fn, message) => assert.throws(fn, { name: 'TypeError', code: 'TENSOR_ERROR_TYPE', message });
  says(() => x.backward(3), 'backward: the gradient must be a tensor, null or an array of these, not number');
  says(() => x.backward([3, 4]), 'backward: the gradient must be a tensor, null or an array of these; item 0 is number');
  says(() => x.backward(new Float64Array(2)), /^backward: the gradient must be .*, not a typed array$/);
  says(() => x.backward({ retain: true }), /^backward: unknown option 'retain'; supported are retainGraph/);
  says(() => lt.autograd.backward(3), 'autograd.backward: the tensors must be a tensor or an array of tensors, not number');
  says(() => lt.autograd.grad(x.sum(), [x, 'w']), "autograd.grad: the inputs must be a tensor or an array of tensors; item 1 is the string 'w'");
  says(() => lt.autograd.grad(x, x, { gradOutputs: [3] }), 'autograd.grad: gradOutputs must be a tensor, null or an array of these; item 0 is number');
  lt.autograd.backward(new Set([x.mul(2), x.sum()]), [lt.ones(2, { dtype: 'float64' }), null]);
  assert.deepEqual(x.grad.toArray(), [3, 3]);
});

test('objects of a graph are freed with its tensors', () => {
  const x = leaf(...Array(100).keys());
  const before = [lt.liveHandles(), lt.memoryStats().inUse];
  lt.scope(() => {
    const y = x.mul(x).exp().sum();
    y.backward();
    x.grad = null;
  });
  assert.deepEqual([lt.liveHandles(), lt.memoryStats().inUse], before);
});
