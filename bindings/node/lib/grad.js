'use strict';

// Gradients: properties and methods of tensors, modes, and lt.autograd.
const native = require('./native.js');
const { kindOf, read, typeError } = require('./options.js');

// The addon's functions that have another form here, and in names.js, and are not exported as they are.
const { internal } = require('./gen_internal.js');
const { Tensor } = native;

const listOf = (tensors) => (tensors === undefined || tensors === null ? [] : native.isTensor(tensors) ? [tensors] : tensors);
const orNull = (value) => value ?? null;

// Calls fn while operations are, or are not, recorded for gradients.
function under(op, enabled, fn) {
  if (typeof fn !== 'function') throw typeError(`${op}: the argument must be a function, not ${kindOf(fn)}`);
  const before = native.isGradEnabled();
  native.setGradEnabled(enabled);
  try {
    const result = fn();
    if (typeof result?.then === 'function') {
      result.then(undefined, () => {}); // the error below tells more than a rejection that nobody awaits
      throw typeError(`${op}: the function must not be asynchronous: what runs in between would be under the mode too`);
    }
    return result;
  } finally {
    native.setGradEnabled(before);
  }
}

const noGrad = (fn) => under('noGrad', false, fn);
const enableGrad = (fn) => under('enableGrad', true, fn);
const inferenceMode = (fn) => under('inferenceMode', false, fn);

const backwardOptions = ['retainGraph', 'createGraph', 'inputs', 'signal'];

// The arguments of the addon's function. Inputs that are given must be some: none stands for all leaves.
function backwardArguments(op, tensors, gradients, given) {
  const { retainGraph, createGraph = false, inputs, signal } = read(op, given, backwardOptions);
  if (inputs !== undefined && listOf(inputs).length === 0) throw typeError(`${op}: the inputs must not be empty`);
  const args = [listOf(tensors), listOf(gradients), orNull(retainGraph), createGraph, listOf(inputs)];
  return signal === undefined ? args : [...args, { signal }];
}

// A gradient may be left out, and the options come in its place.
function split(first, second) {
  const isGradient = first === undefined || first === null || native.isTensor(first) || Array.isArray(first);
  return isGradient ? [first, second] : [undefined, first];
}

const gradOptions = ['gradOutputs', 'retainGraph', 'createGraph', 'allowUnused', 'materializeGrads', 'signal'];

function gradArguments(op, outputs, inputs, given) {
  const { gradOutputs, retainGraph, createGraph = false, allowUnused = false, materializeGrads = false, signal } = read(op, given, gradOptions);
  const args = [listOf(outputs), listOf(inputs), listOf(gradOutputs), orNull(retainGraph), createGraph, allowUnused, materializeGrads];
  return signal === undefined ? args : [...args, { signal }];
}

const autograd = {
  backward(tensors, gradients, options) {
    native.backward(...backwardArguments('autograd.backward', tensors, ...split(gradients, options)));
  },
  backwardAsync(tensors, gradients, options) {
    return native.backwardAsync(...backwardArguments('autograd.backwardAsync', tensors, ...split(gradients, options)));
  },
  grad(outputs, inputs, options) {
    return native.autogradGrad(...gradArguments('autograd.grad', outputs, inputs, options));
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
  gradFn: { get() { const name = native.gradFnName(this); return name === '' ? null : { name }; } },
};

const methods = {
  requiresGrad_(requiresGrad = true) {
    native.setRequiresGrad(this, requiresGrad);
    return this;
  },
  retainGrad() {
    native.retainGrad(this);
  },
  detach_() {
    return native.detach_(this);
  },
  backward(gradient, options) {
    autograd.backward(this, gradient, options);
  },
  backwardAsync(gradient, options) {
    return autograd.backwardAsync(this, gradient, options);
  },
};

for (const [name, property] of Object.entries(properties)) Object.defineProperty(Tensor.prototype, name, { ...property, configurable: true });
for (const [name, value] of Object.entries(methods)) Object.defineProperty(Tensor.prototype, name, { value, writable: true, configurable: true });

module.exports = { noGrad, enableGrad, inferenceMode, autograd, internal };
