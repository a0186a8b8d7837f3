'use strict';

// lt.func, lt.autograd.functional, gradcheck, and in-place operators with saved-tensor hooks.
const assert = require('node:assert/strict');
const { test } = require('node:test');
const lt = require('..');

const vector = (...numbers) => lt.tensor(numbers, { dtype: 'float32' });
const plain = (tree) => (Array.isArray(tree) ? tree.map(plain) : tree.toArray());
const { func } = lt;
const { functional } = lt.autograd;

test('gradients of functions, which have gradients', () => {
  assert.equal(func.grad((x) => x.pow(3))(lt.tensor(lt.float(2))).item(), 12);
  assert.equal(func.grad(func.grad((x) => x.pow(3)))(lt.tensor(lt.float(2))).item(), 12);
  const [slope, value] = func.gradAndValue((x) => x.mul(x).sum())(vector(1, 2));
  assert.deepEqual([slope.toArray(), value.item(), slope.requiresGrad], [[2, 4], 5, false]);
  const both = func.grad((x, { w }) => x.mul(w).sum(), { argnums: [0, 1] })(vector(1, 2), { w: vector(3, 4) });
  assert.deepEqual([both[0].toArray(), both[1].w.toArray()], [[3, 4], [1, 2]]);
  assert.deepEqual(func.grad((x) => [x.sum(), 'more'], { hasAux: true })(vector(1))[1], 'more');
});

test('derivatives depend on the other operands', () => {
  const w = lt.tensor([1.5, 2], { requiresGrad: true });
  func.grad((x) => x.mul(x).mul(w).sum())(vector(1, 2)).sum().backward();
  assert.deepEqual(w.grad.toArray(), [2, 4]);
});

test('products with Jacobians, and whole ones', () => {
  const [y, multiplied] = func.vjp((x) => x.exp(), [lt.zeros(2)]);
  assert.deepEqual([y.toArray(), plain(multiplied(vector(1, 2)))], [[1, 1], [[1, 2]]]);
  assert.deepEqual(plain(func.jvp((x) => x.mul(x), [vector(1, 2)], [vector(1, 10)])), [[1, 4], [2, 40]]);
  for (const jacobian of [func.jacrev, func.jacfwd]) assert.deepEqual(jacobian((x) => x.mul(x))(vector(1, 2)).toArray(), [[2, 0], [0, 4]]);
  assert.deepEqual(func.hessian((x) => x.pow(3).sum())(vector(1, 2)).toArray(), [[6, 0], [0, 12]]);
});

test('products inside of others, of gradients and of examples', () => {
  const one = lt.tensor(lt.float(1));
  const [value, multiplied] = func.linearize((x) => x.mul(x), [vector(1, 2)]);
  assert.deepEqual([plain(value), plain(multiplied([vector(1, 10)]))], [[1, 4], [2, 40]]);
  const slope = (fn, t) => (x) => func.jvp(fn, [x], [t])[1];
  assert.equal(slope((x) => x.mul(slope((y) => x.add(y), one)(one)), one)(one).item(), 1); // tangents of two levels are not mixed
  assert.deepEqual(slope(func.grad((x) => x.pow(3).sum()), vector(1, 0))(vector(1, 2)).toArray(), [6, 0]);
  assert.deepEqual(func.grad((x) => slope((y) => y.pow(3), vector(1, 2))(x).sum())(vector(1, 2)).toArray(), [6, 24]);
  assert.deepEqual(func.vmap(slope((x) => x.mul(x), one))(vector(1, 2)).toArray(), [2, 4]);
  assert.deepEqual(slope(func.vmap((x) => x.mul(x)), vector(1, 2))(vector(3, 4)).toArray(), [6, 16]);
  const [product] = func.jvp((x) => x.exp(), [lt.zeros(2)], [vector(1, 2)]);
  assert.deepEqual([product.toArray(), product.requiresGrad], [[1, 1], false]);
});

test('products of tensors written in place, and of functions with a backward', () => {
  const push = (fn, ...rest) => func.jvp(fn, [vector(1, 2)], [vector(1, 10)], ...rest);
  assert.deepEqual(plain(push((x) => lt.zeros(2).add_(x).mul_(x))), [[1, 4], [2, 40]]);
  assert.deepEqual(plain(push((x) => [x.argmax(), x.mul(2)])), [[1, [2, 4]], [0, [2, 20]]]);
  class Tripled extends lt.autograd.Function {
    static forward(context, x) { return x.mul(2); }
    static backward(context, grad) { return grad.mul(3); }
  }
  assert.deepEqual(plain(push((x) => Tripled.apply(x))), [[2, 4], [3, 30]]);
  assert.deepEqual(push((x) => [x, 'more'], { hasAux: true })[2], 'more');
  let left;
  assert.throws(() => push((x) => { left = x.mul(2); throw new Error('stops'); }), /stops/);
  assert.deepEqual(left.add(1).toArray(), [3, 5]); // after the level a tensor is its primal
  assert.throws(() => push((x) => x.toSparse()), /forward differentiation is not implemented for sparse_coo tensors/);
  assert.throws(() => func.jvp((x) => x, [lt.tensor([1n])], [lt.tensor([1n])]), /a tensor with a tangent must have a floating-point or complex dtype/);
});

test('the functions of autograd.functional', () => {
  const cubes = (x) => x.pow(3).sum();
  assert.deepEqual(functional.jacobian((x) => x.mul(x), vector(1, 2)).toArray(), [[2, 0], [0, 4]]);
  assert.deepEqual(functional.hessian(cubes, vector(1, 2)).toArray(), [[6, 0], [0, 12]]);
  assert.deepEqual(plain(functional.vjp((x) => x.mul(x), vector(1, 2), vector(1, 10))), [[1, 4], [2, 40]]);
  assert.deepEqual(plain(functional.jvp((x) => x.mul(x), vector(1, 2), vector(1, 10))), [[1, 4], [2, 40]]);
  for (const product of [functional.vhp, functional.hvp]) assert.deepEqual(plain(product(cubes, vector(1, 2), vector(1, 10))), [9, [6, 120]]);
  assert.deepEqual(plain(functional.jacobian((x, y) => [x.mul(y)], [vector(2), vector(5)])), [[[[5]], [[2]]]]);
  assert.throws(() => functional.vjp((x) => x, vector(1, 2)), /vjp: the vector is required/);
});

test('gradcheck finds derivatives that are wrong', () => {
  class Wrong extends lt.autograd.Function {
    static forward(context, x) {
      return x.mul(x);
    }
    static backward(context, grad) {
      return grad;
    }
  }
  const x = lt.tensor([0.5, 1.5], { dtype: 'float64', requiresGrad: true });
  const z = lt.tensor([{ re: 1, im: 2 }], { dtype: 'complex128', requiresGrad: true });
  assert.ok(lt.autograd.gradcheck((t) => t.sin().mul(t), x) && lt.autograd.gradcheck((t) => t.mul(t), z) && lt.autograd.gradgradcheck((t) => t.pow(3), x));
  assert.throws(() => lt.autograd.gradcheck((t) => Wrong.apply(t), x), { name: 'GradcheckError', message: /gradient of input 0 is wrong/ });
  assert.equal(lt.autograd.gradcheck((t) => Wrong.apply(t), x, { raiseException: false }), false);
});

test('in-place operators pass saved tensors to hooks before they overwrite them', () => {
  const packed = [];
  const x = lt.tensor([0.5, 2], { requiresGrad: true });
  const y = lt.autograd.savedTensorsHooks(
    (t) => {
      packed.push(t.toArray());
      return t.clone();
    },
    (t) => t,
    () => x.mul(2).mul_(x).exp_(),
  );
  y.sum().backward();
  // d exp(2 x^2) = 4 x exp(2 x^2)
  lt.testing.assertClose(x.grad, lt.tensor([2 * Math.exp(0.5), 8 * Math.exp(8)], { dtype: 'float32' }));
  assert.ok(packed.some((values) => values[0] === 1 && values[1] === 4), JSON.stringify(packed));
});

test('checkpoints are recomputed in a backward pass', () => {
  // A checkpoint: the inputs are kept, and the intermediate results made again.
  class Checkpoint extends lt.autograd.Function {
    static forward(context, fn, x) {
      Object.assign(context, { fn });
      context.saveForBackward(x);
      return fn(x);
    }
    static backward(context, grad) {
      const x = context.savedTensors[0].detach().requiresGrad_();
      const y = lt.enableGrad(() => context.fn(x));
      return [null, lt.autograd.grad(y, x, { gradOutputs: grad })[0]];
    }
  }
  const layer = (x) => x.mul(3).add_(1).sigmoid_().mul(2).add_(x);
  const [a, b] = [vector(0.5, -1).requiresGrad_(), vector(0.5, -1).requiresGrad_()];
  layer(a).sum().backward();
  Checkpoint.apply(layer, b).sum().backward();
  assert.deepEqual(b.grad.toArray(), a.grad.toArray());
});

test('vmap, with derivatives inside and outside', () => {
  const x = lt.tensor([[1, 2], [3, 4], [5, 6]], { dtype: 'float64' });
  const w = lt.tensor([1, 0.5], { dtype: 'float64' });
  assert.deepEqual(func.vmap((a, b) => a.dot(b), { inDims: [0, null] })(x, w).toArray(), [2, 5, 8]);
  assert.deepEqual(func.vmap((a) => [a.mul(2), { sum: a.sum() }], { inDims: 1, outDims: [1, { sum: 0 }] })(x)[1].sum.toArray(), [9, 12]);
  const drawn = func.vmap((row) => row.sum().mul(0).add(lt.rand([])), { randomness: 'same', chunkSize: 1 })(x).toArray();
  assert.equal(new Set(drawn).size, 1);
  const each = func.vmap(func.grad((v, row) => row.dot(v).pow(2)), { inDims: [null, 0] })(w, x);
  assert.deepEqual(each.toArray(), [[4, 8], [30, 40], [80, 96]]);
  const all = func.grad((v) => func.vmap((row) => row.dot(v).pow(2))(x).sum())(w);
  assert.deepEqual(all.toArray(), each.sum([0]).toArray());
  const twice = func.vmap((a) => func.vmap((b) => a.mul(b).sum())(x), { chunkSize: 2 })(x);
  assert.deepEqual(twice.toArray(), x.matmul(x.t()).toArray());
  assert.equal(func.vmap(() => lt.rand(2), { randomness: 'different' })(x).shape[0], 3);
  assert.throws(() => func.vmap(() => lt.rand(2))(x), /random operation/);
  assert.throws(() => func.vmap((a) => lt.tensor(a.sum().item()))(x), /data-dependent control flow/);
  assert.throws(() => func.vmap((a) => a, { inDims: 2 })(x), /it must be from -2 to 1/);
  assert.throws(() => func.vmap(() => 1)(x), /must return tensors/);
  assert.throws(() => func.vmap((a) => a, { outDims: null })(x), /outDims is null for a batched result/);
  assert.throws(() => func.vmap((a) => a, { outDims: [0, 0] })(x), /does not have the structure/);
  lt.rand(2); // nothing is left of them
});
