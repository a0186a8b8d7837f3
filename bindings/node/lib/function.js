'use strict';

// autograd.Function: operations with a forward and a backward of the program's own.
const native = require('./native.js');
const { levelOf, pushed } = require('./forward.js');
const { immediate } = require('./graph.js');
const { kindOf, typeError } = require('./options.js');
const { keep } = require('./scope.js');

// The context that a call saves for its backward.
class FunctionContext {
  needsInputGrad;
  #node = null; // does not keep the node, which keeps the context
  #saved = [];
  #dirty = [];
  #constant = [];
  #materialize = true;

  constructor(args) {
    this.needsInputGrad = args.map((arg) => native.isTensor(arg) && native.requiresGrad(arg));
  }

  saveForBackward(...tensors) {
    for (const [i, t] of tensors.entries()) {
      if (t !== null && !native.isTensor(t)) throw typeError(`saveForBackward: argument ${i} must be a tensor or null, not ${kindOf(t)}`);
    }
    this.#saved = tensors;
  }

  markDirty(...tensors) {
    this.#dirty = tensors;
  }

  markNonDifferentiable(...tensors) {
    this.#constant = tensors;
  }

  setMaterializeGrads(materialize) {
    this.#materialize = materialize;
  }

  get savedTensors() {
    return this.#node === null ? [] : native.nodeSaved(this.#node);
  }

  // An output for the caller: an argument that was not written to, or a tensor with an autograd graph, is returned as a view.
  static present(context, args, output) {
    if (!native.isTensor(output) || context.#dirty.includes(output)) return output;
    if (!args.includes(output) && !native.requiresGrad(output)) return output;
    const view = output.detach();
    if (context.#constant.includes(output)) context.#constant.push(view);
    return view;
  }

  // Makes the call that the context is of the one that made the outputs.
  static record(context, name, inputs, outputs, backward) {
    if (!context.#dirty.every((t) => outputs.includes(t))) throw typeError(`${name}: forward must return the inputs that it marked as dirty`);
    const tensors = outputs.map((output) => (native.isTensor(output) ? output : null));
    const constant = [...tensors.keys()].filter((i) => context.#constant.includes(tensors[i]));
    const node = native.recordFunction(name, inputs, tensors, constant, context.#saved, context.#materialize, backward);
    context.#saved = context.#dirty = context.#constant = []; // outputs among them would keep their own node
    context.#node = keep(native.nodeWeak(node));
    node.dispose();
    keep(context); // the values that forward has stored for backward
  }
}

// The gradients for the tensor arguments, among those that backward returns for all arguments.
function checked(name, isTensor, made) {
  const grads = Array.isArray(made) ? made : [made];
  if (grads.length !== isTensor.length) throw typeError(`${name}: backward must return a gradient for each of the ${isTensor.length} arguments of forward, but returned ${grads.length}`);
  return grads.filter((grad, i) => {
    const none = grad === null || grad === undefined;
    if (!none && !native.isTensor(grad)) throw typeError(`${name}: backward must return tensors or null, but result ${i} is ${kindOf(grad)}`);
    if (!none && !isTensor[i]) throw typeError(`${name}: backward returned a gradient at position ${i}, but that argument of forward was not a tensor`);
    return isTensor[i];
  });
}

class Function {
  constructor() {
    throw typeError(`${new.target.name}: its methods are static: call ${new.target.name}.apply(...)`);
  }

  static forward() {
    throw typeError(`${this.name}: a subclass of autograd.Function must have a static method forward(context, ...args)`);
  }

  static backward() {
    throw typeError(`${this.name}: a subclass of autograd.Function must have a static method backward(context, ...grads)`);
  }

  static apply(...args) {
    const level = levelOf(args);
    if (level) return pushed((...inputs) => this.apply(...inputs), level, args);
    const name = `${this.name}Backward`;
    const context = new FunctionContext(args);
    const isTensor = args.map((arg) => native.isTensor(arg));
    const before = native.isGradEnabled();
    let made;
    let outputs;
    native.setGradEnabled(false);
    try {
      made = immediate(this.name, this.forward(context, ...args));
      outputs = (Array.isArray(made) ? made : [made]).map((output) => FunctionContext.present(context, args, output));
    } finally {
      native.setGradEnabled(before);
    }
    if (before && context.needsInputGrad.includes(true)) {
      const backward = (grads) => checked(name, isTensor, immediate(this.name, this.backward(context, ...grads)));
      FunctionContext.record(context, name, args.filter((_, i) => isTensor[i]), outputs, backward);
    }
    return Array.isArray(made) ? outputs : outputs[0];
  }
}

module.exports = { Function };
