'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { Worker } = require('node:worker_threads');
const lt = require('..');

// x ** 3 by a loop over the elements.
const cube = (x) => lt.tensor(x.reshape(-1).toArray().map((v) => v ** 3)).reshape(x.shape);
const backward = ({ args: [x] }, grad) => lt.mul(grad, x.mul(x)).mul(3);

function defined(t, schema, fn, options) {
  const operator = lt.defineOperator(schema, fn, options);
  t.after(() => operator.remove());
  return operator;
}

const grads = (y, inputs, createGraph) => lt.autograd.grad(y.sum(), inputs, { createGraph });

test('an operator is called by its name, with conversions and defaults', (t) => {
  const seen = [];
  const op = defined(t, 'node::scale(Tensor x, float factor=2, *, int[] sizes=[1, 2], str? mode=None, ScalarType dtype=float32) -> Tensor', (x, ...rest) => {
    seen.push(rest);
    return x.mul(rest[0]);
  });
  const x = lt.tensor([1, 2]);
  assert.deepEqual(op(x).toArray(), [2, 4]);
  assert.deepEqual(lt.call('node::scale', x, 3, { sizes: [5], mode: 'a', dtype: 'int32' }).toArray(), [3, 6]);
  assert.deepEqual(seen, [[2, [1, 2], null, 'float32'], [3, [5], 'a', 'int32']]);
  assert.equal(op.schema, 'node::scale(Tensor x, float factor=2, *, int[] sizes=[1, 2], str? mode=None, ScalarType dtype=float32) -> Tensor');
  assert.equal(op.name, 'node::scale');
  assert.throws(() => op(x, 'text'), /node::scale: argument 'factor' is the str "text"/);
});

test('derivatives of any order, of views, in vmap and in jvp', (t) => {
  const op = defined(t, 'node::cube(Tensor x) -> Tensor', cube, { backward });
  const x = lt.tensor([[1, 2, 3], [4, 5, 6]], { requiresGrad: true });
  const y = op(x.t());
  assert.deepEqual(y.toArray(), [[1, 64], [8, 125], [27, 216]]);
  const [first] = grads(y, [x], true);
  assert.deepEqual(first.toArray(), [[3, 12, 27], [48, 75, 108]]);
  const [second] = grads(first, [x], true);
  assert.deepEqual(second.toArray(), [[6, 12, 18], [24, 30, 36]]);
  assert.deepEqual(grads(second, [x])[0].toArray(), [[6, 6, 6], [6, 6, 6]]);
  const plain = x.detach();
  assert.deepEqual(lt.func.vmap(op)(plain).toArray(), [[1, 8, 27], [64, 125, 216]]);
  assert.deepEqual(lt.func.vmap(lt.func.grad((row) => op(row).sum()))(plain).toArray(), [[3, 12, 27], [48, 75, 108]]);
  const [value, tangent] = lt.func.jvp(op, [plain], [lt.onesLike(plain)]);
  assert.deepEqual(value.toArray(), [[1, 8, 27], [64, 125, 216]]);
  assert.deepEqual(tangent.toArray(), [[3, 12, 27], [48, 75, 108]]);
});

test('a vmap rule is called once for a batch', (t) => {
  const calls = [];
  const op = defined(t, 'node::rule(Tensor x, Tensor y) -> Tensor', (x, y) => x.add(y), {
    vmap(batch, x, y) {
      calls.push([batch.batchSize, batch.isBatched, x.shape, y.shape]);
      return op(x, y);
    },
  });
  const x = lt.tensor([[1, 2], [3, 4], [5, 6]]);
  assert.deepEqual(lt.func.vmap(op, { inDims: [0, null] })(x, lt.tensor([10, 20])).toArray(), [[11, 22], [13, 24], [15, 26]]);
  assert.deepEqual(calls, [[3, [true, false], [3, 2], [2]]]);
});

test('meta tensors, several results and lists', (t) => {
  const op = defined(t, 'node::both(Tensor[] x, int k) -> (Tensor[], Tensor, int)', (x, k) => [x.map((one) => one.add(k)), x[0].mul(k), k + 1], {
    meta: (x) => [x.map((one) => lt.emptyLike(one)), lt.emptyLike(x[0]), 0],
  });
  const [list, one, n] = op([lt.tensor([1]), lt.tensor([2, 3])], 4);
  assert.deepEqual([list.map((item) => item.toArray()), one.toArray(), n], [[[5], [6, 7]], [4], 5]);
  const shapes = op([lt.empty([3, 4], { device: 'meta' })], 4);
  assert.deepEqual([shapes[1].device, shapes[1].shape], ['meta', [3, 4]]);
  const none = defined(t, 'node::none(Tensor x) -> Tensor', cube);
  assert.throws(() => none(lt.empty([2], { device: 'meta' })), /node::none: the operator has no meta function/);
  assert.throws(() => none(lt.tensor([1], { requiresGrad: true })).backward(), /node::none: the operator has no backward function/);
});

test('an operator that writes to an argument', (t) => {
  const op = defined(t, 'node::add_one_(Tensor(a!) x) -> ()', (x) => void x.add_(1));
  const x = lt.tensor([[1, 2], [3, 4]]);
  op(x.select(1, 0));
  assert.deepEqual(x.toArray(), [[2, 2], [4, 4]]);
  const w = lt.tensor([1, 2], { requiresGrad: true });
  assert.throws(() => op(w), /requires grad/);
  const saved = lt.tensor([1, 2]);
  const y = w.mul(saved);
  op(saved);
  assert.throws(() => y.sum().backward(), /modified by an inplace operation/);
});

test('exceptions and wrong results are errors of the call', (t) => {
  const own = new RangeError('the fuse is blown');
  const results = [() => { throw own; }, () => 3, () => 'text', () => undefined, () => Promise.resolve(lt.tensor([1])), (x) => x, (x) => x.view(-1)];
  const texts = [/the fuse is blown/, /result 0 is the int 3; a tensor is required/, /returned (a )?string/, /result 0 is None/, /not a promise/, /shares memory with an argument/, /shares memory/];
  let at = 0;
  const op = defined(t, 'node::bad(Tensor x) -> Tensor', (x) => results[at](x));
  const pair = defined(t, 'node::pair(Tensor x) -> (Tensor, Tensor)', (x) => [x.clone()]);
  const x = lt.tensor([1, 2]);
  for (; at < results.length; at++) assert.throws(() => op(x), texts[at]);
  at = 0;
  assert.throws(() => op(x), (error) => error === own);
  assert.throws(() => pair(x), /node::pair: the function must return an array of 2 values, but returned one of 1/);
  const halves = defined(t, 'node::halves(Tensor x, Tensor y) -> Tensor', (x, y) => x.add(y), { backward: (call, grad) => [grad] });
  assert.throws(() => halves(lt.tensor([1], { requiresGrad: true }), x).sum().backward(), /node::halves: backward must return an array of 2 values, but returned one of 1/);
  assert.throws(() => lt.defineOperator('node::pair(Tensor x) -> Tensor', (x) => x), /remove it with operator\.remove\(\) first/);
  assert.throws(() => lt.call('node::none', x), /defineOperator\(\) defines one/);
  assert.deepEqual(x.toArray(), [1, 2]);
});

test('a function may dispose its arguments, call operators, and define and remove them', (t) => {
  const op = defined(t, 'node::again(Tensor x, int n) -> Tensor', (x, n) => {
    if (n === 0) return x.clone();
    const inner = lt.defineOperator('node::inner(Tensor x) -> Tensor', (y) => y.add(1));
    const made = inner(x);
    inner.remove();
    x.dispose();
    return op(made, n - 1);
  });
  assert.deepEqual(op(lt.tensor([1, 2]), 3).toArray(), [4, 5]);
  const once = lt.defineOperator('node::once(Tensor x) -> Tensor', (x) => {
    once.remove();
    return x.mul(2);
  });
  assert.deepEqual(once(lt.tensor([2])).toArray(), [4]);
  assert.throws(() => once(lt.tensor([2])), /no operator 'node::once'/);
  once.remove();
});

test('a recursion without end is an error', (t) => {
  const op = defined(t, 'node::deep(Tensor x) -> Tensor', (x) => op(x));
  assert.throws(() => op(lt.tensor([1])), /nested too deeply|call stack/);
});

test('composite operators have the derivatives of what they call', (t) => {
  const op = defined(t, 'node::composite(Tensor x) -> Tensor', (x) => x.mul(x).mul(x), { composite: true });
  const x = lt.tensor([1, 2], { requiresGrad: true });
  assert.deepEqual(grads(op(x), [x])[0].toArray(), [3, 12]);
  assert.deepEqual(lt.func.vmap(op)(x.detach()).toArray(), [1, 8]);
});

test('definitions are checked', (t) => {
  assert.throws(() => lt.defineOperator('cube(Tensor x) -> Tensor', cube), /::, as in ns::name/);
  assert.throws(() => lt.defineOperator('node::f(Tensor x)', cube), /-> and the results/);
  assert.throws(() => lt.defineOperator('node::f(Tensor x) -> Tensor', 3), /must be a function/);
  assert.throws(() => lt.defineOperator('node::f(Tensor x) -> Tensor', cube, { grad: backward }), /unknown option 'grad'/);
  assert.throws(() => lt.defineOperator('node::f(Tensor x) -> Tensor', cube, { backward: 3 }), /backward must be a function/);
  defined(t, 'node::f(Tensor x) -> Tensor', cube);
  assert.throws(() => lt.defineOperator('node::f(Tensor x) -> Tensor', cube), /node::f is already defined/);
});

test('asynchronous backward passes call functions on the thread of JavaScript', async (t) => {
  const op = defined(t, 'node::slow(Tensor x) -> Tensor', cube, { backward });
  const x = lt.tensor([1, 2], { requiresGrad: true });
  await op(x).sum().backwardAsync();
  assert.deepEqual(x.grad.toArray(), [3, 12]);
});

test('operators of another thread are errors, and end with it', async () => {
  const worker = new Worker(
    `const lt = require(${JSON.stringify(require.resolve('..'))});
     const { parentPort } = require('node:worker_threads');
     lt.defineOperator('worker::f(Tensor x) -> Tensor', (x) => x.mul(2));
     parentPort.once('message', () => process.exit());
     parentPort.postMessage('defined');`,
    { eval: true },
  );
  await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  assert.throws(() => lt.call('worker::f', lt.tensor([1])), /belongs to another thread/);
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  worker.postMessage('end');
  await ended;
  assert.throws(() => lt.call('worker::f', lt.tensor([1])), /no operator 'worker::f'/);
});

test('the example prints what it says', () => {
  const example = path.join(__dirname, '../../../examples/operators/gate.js');
  const expected = readFileSync(example, 'utf8').split('// Prints:\n')[1].replaceAll(/^\/\/ /gm, '');
  assert.equal(execFileSync(process.execPath, [example], { encoding: 'utf8' }), expected);
});

// What functions return for a tensor of shape [2, 3], by the results of the schema, with the text of the error.
const wrong = {
  Tensor: [
    [() => undefined, /result 0 is None; a tensor is required/],
    [() => null, /result 0 is None; a tensor is required/],
    [() => true, /result 0 is the bool True; a tensor is required/],
    [(x) => [x.clone()], /result 0 is a Tensor\[\] of length 1; a tensor is required/],
    [() => ({}), /returned an? object; it must return a tensor/],
    [async (x) => x.clone(), /must not be asynchronous: return a value, not a promise/],
    [() => new Float32Array(2), /returned .*; it must return a tensor/],
    [(x) => { const y = x.clone(); y.dispose(); return y; }, /dispose/],
  ],
  '(Tensor, Tensor)': [
    [(x) => x.clone(), /must return an array of 2 values/],
    [(x) => [x.clone(), x.clone(), x.clone()], /must return an array of 2 values, but returned one of 3/],
    [(x) => [x.clone(), null], /result 1 is None; a tensor is required/],
    [(x) => { const y = x.clone(); return [y, y]; }, /shares memory with an argument or another result/],
  ],
  'Tensor[]': [
    [(x) => x.clone(), /result 0 is a Tensor; a list of tensors is required/],
    [(x) => [x.clone(), 3], /returned an array with .* among tensors/],
    [(x) => [x.clone(), null], /result 0 is not a live tensor/],
  ],
};
const wrongNumbers = {
  int: [[() => 2.5, /result 0 is the float 2.5; int is required/], [() => true, /result 0 is the bool True; int is required/]],
  bool: [[() => 1, /result 0 is the int 1; bool is required/]],
  float: [[(x) => x.sum(), /result 0 is a Tensor; float is required/]],
};

test('results of another kind than the schema are errors that name the operator', () => {
  const x = lt.ones(2, 3);
  const tried = { eager: x, autograd: lt.ones(2, 3, { requiresGrad: true }), meta: lt.empty([2, 3], { device: 'meta' }) };
  for (const [returned, all] of Object.entries({ ...wrong, ...wrongNumbers }))
    for (const [fn, text] of all) {
      const op = lt.defineOperator(`node::wrong(Tensor x) -> ${returned}`, fn, { meta: fn });
      const check = (error) => {
        assert.match(error.message, /^node::wrong: /);
        assert.match(error.message, text);
        return true;
      };
      for (const given of Object.values(tried)) assert.throws(() => op(given), check);
      if (returned in wrong) assert.throws(() => lt.func.vmap(op)(lt.ones(2, 2, 3)), check);
      op.remove();
      if (!(returned in wrong) || text.source.includes('shares memory')) continue;
      const rule = lt.defineOperator(`node::wrong(Tensor x) -> ${returned}`, () => x.clone(), { vmap: (_, y) => fn(y) });
      assert.throws(() => lt.func.vmap(rule)(x), (error) => text.test(error.message) && error.message.includes('node::wrong'));
      rule.remove();
    }
  assert.deepEqual(x.shape, [2, 3]);
});
