'use strict';

// Checks of derivatives against differences of the function's values.
const native = require('./native.js');
const { kindOf, read, typeError } = require('./options.js');
const { scope } = require('./scope.js');

const names = ['eps', 'atol', 'rtol', 'raiseException'];

// A difference between the gradients.
class GradcheckError extends Error {}
Object.defineProperty(GradcheckError.prototype, 'name', { value: 'GradcheckError', configurable: true, writable: true });

const listOf = (given) => (Array.isArray(given) ? given : [given]);

// The elements as float64 numbers: of complex ones both parts.
function numbersOf(t) {
  const plain = t.detach().resolveConj();
  return (plain.isComplex() ? native.viewAsReal(plain) : plain).flatten().to('float64').toArray();
}

// An input with one of its numbers changed.
function moved(t, at, by) {
  const copy = t.detach().clone({ memoryFormat: 'contiguous_format' });
  (copy.isComplex() ? native.viewAsReal(copy) : copy).view(-1).at(at).add_(by);
  return copy;
}

// The columns of the Jacobian of all outputs: a row of numbers for each number of the input.
function numerical(fn, inputs, i, eps) {
  const values = (by, at) => listOf(native.isTensor(inputs[i]) && fn(...inputs.map((t, k) => (k === i ? moved(t, at, by) : t)))).filter((t) => native.isTensor(t)).flatMap(numbersOf);
  const count = inputs[i].numel * (inputs[i].isComplex() ? 2 : 1);
  return Array.from({ length: count }, (_, at) => {
    const [up, down] = [values(eps, at), values(-eps, at)];
    return up.map((value, k) => (value - down[k]) / (2 * eps));
  });
}

// The analytical gradients by backward: for complex outputs the seeds 1 and i return the derivatives of both parts.
function analytical(outputs, input, createGraph) {
  const rows = [];
  for (const output of outputs) {
    for (let at = 0; at < output.numel; at++) {
      for (const unit of output.isComplex() ? [1, { re: 0, im: 1 }] : [1]) {
        const seed = native.zeros([output.numel], { dtype: output.dtype });
        seed.at(at).fill_(unit);
        const [gradient] = output.requiresGrad ? native.autogradGrad([output], [input], [seed.reshape(output.shape)], true, createGraph, true, true) : [native.zerosLike(input)];
        rows.push(numbersOf(gradient));
      }
    }
  }
  return rows;
}

function compare(op, fn, inputs, { eps, atol, rtol }) {
  const outputs = listOf(fn(...inputs)).filter((t) => native.isTensor(t) && (t.isFloatingPoint() || t.isComplex()));
  for (const [i, input] of inputs.entries()) {
    if (!native.isTensor(input) || !input.requiresGrad) continue;
    const found = numerical(fn, inputs, i, eps);
    const given = analytical(outputs, input, false);
    for (let row = 0; row < given.length; row++) {
      for (let at = 0; at < found.length; at++) {
        const [a, n] = [given[row][at], found[at][row]];
        if (!(Math.abs(a - n) <= atol + rtol * Math.abs(n))) return `${op}: the gradient of input ${i} is wrong: backward gives ${a} for number ${row} of the results and ${at} of the input, differences of values give ${n}`;
      }
    }
  }
  return '';
}

function checkedInputs(op, fn, given) {
  if (typeof fn !== 'function') throw typeError(`${op}: the first argument must be a function, not ${kindOf(fn)}`);
  const inputs = listOf(given);
  if (!inputs.some((t) => native.isTensor(t) && t.requiresGrad)) throw typeError(`${op}: at least one input must be a tensor that requires grad`);
  return inputs;
}

function check(op, fn, given, wishes) {
  const inputs = checkedInputs(op, fn, given);
  const { eps = 1e-6, atol = 1e-5, rtol = 1e-3, raiseException = true } = read(op, wishes, names);
  const problem = scope(() => compare(op, fn, inputs, { eps, atol, rtol }));
  if (problem && raiseException) throw new GradcheckError(problem);
  return !problem;
}

// Whether the gradients of fn at the inputs equal central differences of its values. Inputs should be float64 or complex128.
const gradcheck = (fn, inputs, options) => check('autograd.gradcheck', fn, inputs, options);

// The same of the gradients' gradients.
function gradgradcheck(fn, inputs, gradOutputs, options) {
  const op = 'autograd.gradgradcheck';
  const list = checkedInputs(op, fn, inputs);
  const wanted = list.filter((t) => native.isTensor(t) && t.requiresGrad);
  const slopes = (...args) => {
    const given = args.slice(0, list.length);
    const outputs = listOf(fn(...given)).filter((t) => t.requiresGrad);
    const seeds = gradOutputs === undefined || gradOutputs === null ? outputs.map((t) => native.onesLike(t)) : listOf(gradOutputs);
    const leaves = given.filter((_, i) => wanted.includes(list[i]));
    return native.autogradGrad(outputs, leaves, seeds, true, true, true, true);
  };
  const moving = (...args) => slopes(...args.map((t) => (native.isTensor(t) && !t.requiresGrad && (t.isFloatingPoint() || t.isComplex()) ? t.detach().requiresGrad_() : t)));
  return check(op, moving, list, options);
}

module.exports = { GradcheckError, gradcheck, gradgradcheck };
