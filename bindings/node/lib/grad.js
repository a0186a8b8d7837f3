'use strict';

// Gradients: properties and methods of tensors, modes, and lt.autograd.
const native = require('./native.js');
const { Function } = require('./function.js');
const functional = require('./functional.js');
const { GradcheckError, gradcheck, gradgradcheck } = require('./gradcheck.js');
const { Node, registerMultiGradHook, savedTensorsHooks } = require('./graph.js');
const { enableGrad, inferenceMode, noGrad } = require('./modes.js');
const { define, kindOf, read, renamed, typeError } = require('./options.js');

// The addon's functions that grad.js and names.js wrap, and that are not exported directly.
const { Tensor } = native;

const orNull = (value) => value ?? null;

const isIterable = (value) => typeof value === 'object' && value !== null && typeof value[Symbol.iterator] === 'function' && !ArrayBuffer.isView(value) && !native.isTensor(value);

// A tensor, or several, as an array; null among them where some may be left out.
function listOf(op, what, given, optional = false) {
  if (given === undefined || given === null) return [];
  const list = isIterable(given) ? Array.from(given, orNull) : [given];
  const wrong = list.findIndex((item) => !native.isTensor(item) && !(optional && item === null));
  if (wrong < 0) return list;
  const wanted = optional ? 'a tensor, null or an array of these' : 'a tensor or an array of tensors';
  throw typeError(`${op}: ${what} must be ${wanted}${isIterable(given) ? `; item ${wrong} is ` : ', not '}${kindOf(list[wrong])}`);
}

const backwardOptions = ['retainGraph', 'createGraph', 'inputs', 'signal'];

const isOptions = (value) => typeof value === 'object' && value !== null && !isIterable(value) && !ArrayBuffer.isView(value) && !native.isTensor(value);

// The arguments of the addon's function. A gradient may be omitted before the options. Inputs, if present, must not be empty: by default
// all leaves.
function backwardArguments(op, tensors, first, second) {
  const [gradients, given] = isOptions(first) ? [undefined, first] : [first, second];
  const { retainGraph, createGraph = false, inputs, signal } = read(op, given, backwardOptions);
  const leaves = listOf(op, 'the inputs', inputs);
  if (inputs !== undefined && leaves.length === 0) throw typeError(`${op}: the inputs must not be empty`);
  const args = [listOf(op, 'the tensors', tensors), listOf(op, 'the gradient', gradients, true), orNull(retainGraph), createGraph, leaves];
  return signal === undefined ? args : [...args, { signal }];
}

const gradOptions = ['gradOutputs', 'retainGraph', 'createGraph', 'allowUnused', 'materializeGrads', 'signal'];

function gradArguments(op, outputs, inputs, given) {
  const { gradOutputs, retainGraph, createGraph = false, allowUnused = false, materializeGrads = false, signal } = read(op, given, gradOptions);
  const args = [listOf(op, 'the outputs', outputs), listOf(op, 'the inputs', inputs), listOf(op, 'gradOutputs', gradOutputs, true), orNull(retainGraph), createGraph, allowUnused, materializeGrads];
  return signal === undefined ? args : [...args, { signal }];
}

const autograd = {
  Function,
  functional,
  GradcheckError,
  gradcheck,
  gradgradcheck,
  Node,
  registerMultiGradHook,
  savedTensorsHooks,
  backward(tensors, gradients, options) {
    native.backward(...backwardArguments('autograd.backward', tensors, gradients, options));
  },
  backwardAsync(tensors, gradients, options) {
    return native.backwardAsync(...backwardArguments('autograd.backwardAsync', tensors, gradients, options));
  },
  grad(outputs, inputs, options) {
    const args = gradArguments('autograd.grad', outputs, inputs, options);
    try {
      return native.autogradGrad(...args);
    } catch (error) {
      // Errors of hooks keep their own operator names.
      throw error?.message?.startsWith('autogradGrad: ') ? renamed('autograd.grad', error) : error;
    }
  },
  gradAsync(outputs, inputs, options) {
    return native.autogradGradAsync(...gradArguments('autograd.gradAsync', outputs, inputs, options));
  },
};

const properties = {
  requiresGrad: { get() { return native.requiresGrad(this); }, set(wanted) { native.setRequiresGrad(this, wanted); } },
  isLeaf: { get() { return native.isLeaf(this); } },
  outputNr: { get() { return native.outputNr(this); } },
  retainsGrad: { get() { return native.retainsGrad(this); } },
  grad: { get() { return native.grad(this); }, set(gradient) { native.setGrad(this, orNull(gradient)); } },
};

const methods = {
  requiresGrad_(requiresGrad = true) {
    native.setRequiresGrad(this, requiresGrad);
    return this;
  },
  isInference() {
    return native.isInference(this);
  },
  retainGrad() {
    native.retainGrad(this);
  },
  detach_() {
    return native.detach_(this);
  },
};

// Custom functions, which these call, report errors under their own operator names.
const runs = {
  backward(gradient, options) {
    native.backward(...backwardArguments('backward', this, gradient, options));
  },
  backwardAsync(gradient, options) {
    return native.backwardAsync(...backwardArguments('backwardAsync', this, gradient, options));
  },
};

for (const [name, property] of Object.entries(properties)) Object.defineProperty(Tensor.prototype, name, { ...property, configurable: true });
define(Tensor, methods);
for (const [name, value] of Object.entries(runs)) Object.defineProperty(Tensor.prototype, name, { value, writable: true, configurable: true });

module.exports = { noGrad, enableGrad, inferenceMode, autograd };
