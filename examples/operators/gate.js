// A custom operator in JavaScript: gate(x, w) = x * sigmoid(w), with a loop over typed arrays and a derivative of any order. node gate.js
'use strict';
const lt = require('../../bindings/node');

const same = (a, b) => a.length === b.length && a.every((n, i) => n === b[i]);

const gate = lt.defineOperator(
  'examples::gate(Tensor x, Tensor w) -> Tensor',
  (x, w) => {
    if (!same(x.shape, w.shape)) throw new RangeError(`gate: x has the shape [${x.shape}] and w [${w.shape}]; they must be equal`);
    const [a, b] = [x.contiguous().data(), w.contiguous().data()];
    const to = Float32Array.from(a, (value, i) => value / (1 + Math.exp(-b[i])));
    return lt.tensor(to).reshape(x.shape);
  },
  {
    meta: (x) => lt.emptyLike(x),
    // Of operators of the library, so that the derivative can be differentiated again.
    backward({ args: [x, w] }, grad) {
      const s = w.sigmoid();
      return [grad.mul(s), grad.mul(x).mul(s).mul(s.neg().add(1))];
    },
  },
);

const x = lt.tensor([1, 2, 3]);
const w = lt.zeros(3, { requiresGrad: true });
console.log(gate(x, w).toArray());

const [first] = lt.autograd.grad(gate(x, w).sum(), [w], { createGraph: true });
console.log(first.toArray());

// One row at a time, for each of a batch of weights.
const rows = lt.func.vmap((row) => lt.call('examples::gate', x, row))(lt.zeros(2, 3));
console.log(rows.toArray());

try {
  gate(x, lt.zeros(4));
} catch (error) {
  console.log(`${error.name}: ${error.message}`);
}
gate.remove();

// Prints:
// [ 0.5, 1, 1.5 ]
// [ 0.25, 0.5, 0.75 ]
// [ [ 0.5, 1, 1.5 ], [ 0.5, 1, 1.5 ] ]
// RangeError: gate: x has the shape [3] and w [4]; they must be equal
