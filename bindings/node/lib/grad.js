'use strict';

// Gradients: properties and methods of tensors, modes, and lt.autograd.
const native = require('./native.js');
const { Function } = require('./function.js');
const { Node, checkFunction, immediate, registerMultiGradHook, savedTensorsHooks } = require('./graph.js');
const { read, typeError } = require('./options.js');

// The addon's functions that have another form here, and in names.js, and are not exported as they are.
const { internal } = require('./gen_internal.js');
const { Tensor } = native;

const listOf = (tensors) => (tensors === undefined || tensors === null ? [] : native.isTensor(tensors) ? [tensors] : tensors);
const orNull = (value) => value ?? null;

// Calls fn under a mode of the thread, which is what it was afterwards.
function under(op, set, enabled, fn) {
  checkFunction(op, fn);
  const grad = native.isGradEnabled();
  const inference = native.isInferenceModeEnabled();
  set(enabled);
  try {
    return immediate(op, fn());
  } finally {
    native.setInferenceMode(inference); // which sets the other mode too
    native.setGradEnabled(grad);
  }
}

const noGrad = (fn) => under('noGrad', native.setGradEnabled, false, fn);
const enableGrad = (fn) => under('enableGrad', native.setGradEnabled, true, fn);
const inferenceMode = (fn) => under('inferenceMode', native.setInferenceMode, true, fn);

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
  Function,
  Node,
  registerMultiGradHook,
  savedTensorsHooks,
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
