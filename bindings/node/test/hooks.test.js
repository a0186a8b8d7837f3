'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { test } = require('node:test');
const lt = require('..');

const home = JSON.stringify(path.join(__dirname, '..'));
const leaf = (...values) => lt.tensor(values.map(lt.float), { dtype: 'float64', requiresGrad: true });

// Both ways to run backward; an exception becomes a rejection of the second.
const runs = {
  backward: async (t) => t.backward(),
  backwardAsync: (t) => t.backwardAsync(),
};

for (const [name, run] of Object.entries(runs)) {
  test(`${name}: hooks of tensors see gradients and replace them`, async () => {
    const x = leaf(1, 2);
    const seen = [];
    const handles = [x.registerHook((grad) => grad.mul(10)), x.registerHook((grad) => { seen.push(grad.toArray()); })];
    x.registerPostAccumulateGradHook((t) => seen.push([t === x, t.grad.toArray()]));
    const y = x.mul(x);
    y.registerHook((grad) => grad.add(1));
    await run(y.sum());
    assert.deepEqual(seen, [[40, 80], [true, [40, 80]]]);
    for (const handle of handles) handle.remove();
    handles[0].remove();
    x.grad = null;
    await run(x.mul(3).sum());
    assert.deepEqual(x.grad.toArray(), [3, 3]);
    assert.deepEqual(seen.length, 3);
  });

  test(`${name}: hooks of nodes`, async () => {
    const [x, w] = [leaf(1, 2), leaf(3, 4)];
    const node = x.mul(w).sum().gradFn.nextFunctions[0][0];
    assert.deepEqual([node.name, node.variable], ['MulBackward0', null]);
    const y = x.mul(w);
    const seen = [];
    y.gradFn.registerPrehook(([grad]) => [grad.mul(2)]);
    y.gradFn.registerHook((inputs, outputs) => {
      seen.push(inputs.map((t) => t.toArray()), outputs.map((t) => t.toArray()));
      return [null, inputs[1].neg()];
    });
    await run(y.sum());
    assert.deepEqual(seen, [[[6, 8], [2, 4]], [[2, 2]]]);
    assert.deepEqual([x.grad.toArray(), w.grad.toArray()], [[0, 0], [-2, -4]]);
  });

  test(`${name}: what a hook throws is what the run throws`, async () => {
    for (const thrown of [new RangeError('mine'), 'a text', undefined]) {
      const x = leaf(1, 2);
      const before = [lt.liveHandles(), lt.memoryStats().inUse];
      const y = x.exp();
      const handle = y.registerHook((grad) => { grad.dispose(); throw thrown; });
      const total = y.sum();
      const caught = await run(total).then(() => assert.fail('nothing was thrown'), (error) => [error]);
      assert.equal(caught[0], thrown);
      assert.equal(x.grad, null);
      handle.remove();
      total.dispose();
      y.dispose();
      lt.zeros(1).dispose();
      assert.deepEqual([lt.liveHandles(), lt.memoryStats().inUse], before);
    }
  });

  test(`${name}: hooks that return other values raise`, async () => {
    const rejected = async (hook, expected) => {
      const x = leaf(1, 2);
      x.registerHook(hook);
      await assert.rejects(run(x.mul(2).sum()), expected);
      assert.equal(x.grad, null);
    };
    await rejected(() => 3, { name: 'TypeError', message: /registerHook: the hook must return a tensor or undefined, not number/ });
    await rejected(async (grad) => grad, { name: 'TypeError', message: /registerHook: the function must not be asynchronous/ });
    await rejected(() => lt.zeros(3), /has changed the (type|size) of value/);
    await rejected((grad) => grad.sum(), /has changed the size of value/);
    await rejected((grad) => { grad.dispose(); return grad; }, /has been disposed/);
  });

  test(`${name}: hooks run under the modes of the run, and leave those of the thread`, async () => {
    const x = leaf(2);
    const seen = [];
    x.registerHook((grad) => {
      seen.push(lt.isGradEnabled(), lt.enableGrad(() => lt.isGradEnabled()));
      lt.setDefaultDtype('float64');
      const made = lt.zeros(1).dtype;
      lt.setDefaultDtype('float32');
      return made === 'float64' ? grad.add(1) : null;
    });
    await run(x.mul(3).sum());
    assert.deepEqual([seen, lt.isGradEnabled(), lt.zeros(1).dtype, x.grad.toArray()], [[false, true], true, 'float32', [4]]);
  });

  test(`${name}: functions of one's own`, async () => {
    class Scaled extends lt.autograd.Function {
      static forward(context, x, factor) {
        context.factor = factor;
        context.saveForBackward(x);
        return [x.mul(factor), x.gt(0)];
      }

      static backward(context, grad, ofMask) {
        assert.deepEqual([context.needsInputGrad, ofMask.toArray()], [[true, false], [false, false]]);
        assert.deepEqual(context.savedTensors[0].toArray(), [1, -2]);
        return [grad.mul(context.factor), null];
      }
    }
    const x = leaf(1, -2);
    const [y, mask] = Scaled.apply(x, 3);
    assert.deepEqual([y.gradFn.name, mask.requiresGrad, mask.toArray()], ['ScaledBackward', false, [true, false]]);
    await run(y.sum());
    assert.deepEqual(x.grad.toArray(), [3, 3]);
    assert.equal(lt.noGrad(() => Scaled.apply(x, 3))[0].requiresGrad, false);
    class Wrong extends lt.autograd.Function {
      static forward(_, t) { return t.clone(); }
      static backward() { return [null, null]; }
    }
    await assert.rejects(run(Wrong.apply(x).sum()), { name: 'TypeError', message: /must return a gradient for each of the 1 arguments of forward, but returned 2/ });
  });

  test(`${name}: hooks on the gradients of several tensors`, async () => {
    const [a, b, c] = [leaf(1, 2), leaf(3, 4), leaf(5, 6)];
    const log = [];
    const all = lt.autograd.registerMultiGradHook([a, b], (grads) => { log.push(grads.map((grad) => grad && grad.toArray())); return 1; });
    const any = lt.autograd.registerMultiGradHook(new Set([a, c, lt.ones([2])]), (grad) => { log.push(grad.toArray()); }, { mode: 'any' });
    await run(a.mul(2).sum());
    assert.deepEqual(log.splice(0), [[[2, 2], null], [2, 2]]);
    await run(a.mul(b).sum());
    assert.deepEqual(log.splice(0).sort(), [[3, 4], [[3, 4], [1, 2]]].sort());
    any.remove();
    all.remove();
    await run(a.mul(b).sum());
    assert.deepEqual(log, []);
    lt.autograd.registerMultiGradHook([a], () => { throw new RangeError('enough'); });
    await assert.rejects(run(a.sum()), { name: 'RangeError', message: 'enough' });
    assert.throws(() => lt.autograd.registerMultiGradHook([a], () => {}, { mode: 'some' }), /registerMultiGradHook: option 'mode' must be 'all' or 'any', not the string 'some'/);
    assert.throws(() => lt.autograd.registerMultiGradHook([a], 3), /registerMultiGradHook: the argument must be a function/);
    assert.throws(() => lt.autograd.registerMultiGradHook([lt.ones([2])], () => {}), /require/);
  });

  test(`${name}: hooks on what is saved`, async () => {
    const x = leaf(1, 2);
    const log = [];
    const total = lt.autograd.savedTensorsHooks(
      (t) => { log.push('pack'); return { bits: t.to('float32') }; },
      ({ bits }) => { log.push('unpack'); return bits.to('float64').mul(2); },
      () => x.mul(x).sum());
    await run(total);
    assert.deepEqual([x.grad.toArray(), log], [[4, 8], ['pack', 'pack', 'unpack', 'unpack']]);
    const broken = lt.autograd.savedTensorsHooks((t) => t, () => 'lost', () => x.mul(x).sum());
    await assert.rejects(run(broken), { name: 'TypeError', message: /unpack must return a tensor, not the string 'lost'/ });
    assert.throws(() => lt.autograd.savedTensorsHooks(() => { throw new Error('full'); }, (t) => t, () => x.mul(x)), /^Error: full$/);
    assert.throws(() => lt.autograd.savedTensorsHooks((t) => t, 3, () => x), /savedTensorsHooks: the argument must be a function/);
  });
}

test('a node is called, and shows what its operation saved', () => {
  const x = leaf(1);
  const node = x.mul(lt.tensor([3])).gradFn;
  assert.equal(node.saved.self, null);
  assert.deepEqual(node.saved.other.toArray(), [3]);
  assert.deepEqual(lt.cat([x, x]).gradFn.saved, {});
  const [first, none] = node.call(lt.tensor([2], { dtype: 'float64' }));
  assert.deepEqual([first.toArray(), none], [[6], null]);
  assert.throws(() => node.call(), /MulBackward0 expects 1 gradients, one for each result, but got 0/);
  assert.throws(() => x.data(), /^Error: data: Can't export tensors that require gradient, use tensor\.detach\(\)$/);
});

test('a node is the same object with every look', () => {
  const x = leaf(1);
  const y = x.mul(2);
  assert.equal(y.gradFn, y.gradFn);
  assert.equal(y.exp().gradFn.nextFunctions[0][0], y.gradFn);
  const accumulate = y.gradFn.nextFunctions[0][0];
  accumulate.variable.grad = lt.ones(1, { dtype: 'float64' });
  assert.deepEqual([accumulate.name, x.grad.toArray(), x.gradFn], ['AccumulateGrad', [1], null]);
  assert.deepEqual(x.mul(x).gradFn.savedTensors.map((t) => t.toArray()), [[1], [1]]);
  const node = y.gradFn;
  node.dispose();
  assert.equal(y.gradFn.name, 'MulBackward0');
  assert.throws(() => node.name, /has been disposed/);
});

test('hooks must be functions, and tensors without a gradient reject them', () => {
  const x = leaf(1);
  const before = lt.liveHandles();
  assert.throws(() => x.registerHook(3), { name: 'TypeError', message: /registerHook: the argument must be a function, not number/ });
  assert.throws(() => lt.ones(1).registerHook(() => {}), /cannot register a hook on a tensor that doesn't require gradient/);
  assert.throws(() => x.mul(2).registerPostAccumulateGradHook(() => {}), /cannot be registered on non-leaf tensors/);
  assert.ok(lt.liveHandles() <= before + 2);
});

test('operations off the event loop save by the hooks that they were called under', async () => {
  const x = leaf(3);
  let packed = 0;
  const later = [];
  lt.autograd.savedTensorsHooks((t) => { packed++; return t; }, (t) => t.mul(2), () => { later.push(lt.mulAsync(x, x)); });
  const [y] = await Promise.all(later);
  assert.equal(packed, 2);
  await y.sum().backwardAsync();
  assert.deepEqual(x.grad.toArray(), [12]);
  assert.equal((await lt.mulAsync(x, x)).toArray()[0], 9);
  assert.equal(packed, 2);
});

test('a call with another default dtype does not wait for a run that waits for its hook', async () => {
  const x = leaf(2);
  x.registerHook((grad) => grad.mul(2));
  const total = x.mul(3).sum();
  const running = total.backwardAsync();
  lt.setDefaultDtype('float64');
  try {
    for (let i = 0; i < 1000; i++) assert.equal(lt.zeros(1).dtype, 'float64');
    await running;
  } finally {
    lt.setDefaultDtype('float32');
  }
  assert.deepEqual(x.grad.toArray(), [6]);
});

test('the functions of hooks are freed with their tensor or node', async () => {
  const { setFlagsFromString } = require('node:v8');
  setFlagsFromString('--expose-gc');
  const gc = require('node:vm').runInNewContext('gc');
  const refs = [];
  (() => {
    const x = leaf(1, 2);
    const hook = () => {};
    const pack = (t) => t;
    const y = lt.autograd.savedTensorsHooks(pack, pack, () => x.mul(x));
    y.registerHook(hook);
    y.gradFn.registerHook(hook);
    refs.push(new WeakRef(hook), new WeakRef(pack));
    for (const t of [y.gradFn, y, x]) t.dispose();
  })();
  for (let i = 0; i < 10 && refs.some((ref) => ref.deref()); i++) {
    await new Promise(setImmediate);
    lt.zeros(1).dispose();
    gc();
  }
  assert.deepEqual(refs.map((ref) => ref.deref()), [undefined, undefined]);
});

const nested = `
  const lt = require(${home});
  const x = lt.tensor([1.5], { requiresGrad: true });`;

function end(source) {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['-e', source], { encoding: 'utf8', timeout: 60_000 });
  return { status, signal, stdout, stderr };
}

test('a worker that ends while its hooks are waited for', () => {
  for (const ending of ['process.exit(0)', 'for (;;);']) {
    const source = `${nested}
      const { parentPort } = require('node:worker_threads');
      x.registerHook(() => { parentPort.postMessage('in'); ${ending} });
      for (let i = 0; i < 8; i++) x.mul(2).sum().backwardAsync();`;
    const main = `
      const { Worker } = require('node:worker_threads');
      const lt = require(${home});
      const worker = new Worker(${JSON.stringify(source)}, { eval: true });
      worker.once('message', () => worker.terminate().then(() => console.log(lt.liveHandles())));`;
    assert.deepEqual(end(main), { status: 0, signal: null, stdout: '0\n', stderr: '' });
  }
});

test('process.exit in a hook', () => {
  for (const run of ['backward', 'backwardAsync']) {
    const source = `${nested} x.registerHook(() => process.exit(3)); for (let i = 0; i < 4; i++) x.mul(2).sum().${run}();`;
    assert.deepEqual(end(source), { status: 3, signal: null, stdout: '', stderr: '' });
  }
});
