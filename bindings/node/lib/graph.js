'use strict';

// Operations on the autograd graph as objects, hooks on them and on tensors, and saved-tensor hooks.
const native = require('./native.js');
const classes = require('./classes.js');
const { kindOf, read, typeError } = require('./options.js');
const { keep } = require('./scope.js');

const { Node, Tensor } = native;

function checkFunction(op, fn) {
  if (typeof fn !== 'function') throw typeError(`${op}: the argument must be a function, not ${kindOf(fn)}`);
}

// The result of a function that must be synchronous.
function immediate(op, result) {
  if (typeof result?.then !== 'function') return result;
  result.then(undefined, () => {}); // the error below is more specific than an unhandled rejection
  throw typeError(`${op}: the function must not be asynchronous: return a value, not a promise`);
}

// Node objects by the library's number, while they are referenced: a node is always the same object.
const nodes = new Map();
const gone = new FinalizationRegistry((id) => {
  if (nodes.get(id)?.deref() === undefined) nodes.delete(id);
});

function same(node) {
  if (node === null) return null;
  const id = native.nodeId(node);
  const known = nodes.get(id)?.deref();
  if (known && !known.disposed) {
    node.dispose();
    return known;
  }
  nodes.set(id, new WeakRef(node));
  gone.register(node, id);
  return node;
}

// Removes a hook.
class RemovableHandle {
  #number;

  constructor(number) {
    this.#number = number;
  }

  remove() {
    native.removeHook(this.#number);
  }
}
if (Symbol.dispose) Object.defineProperty(RemovableHandle.prototype, Symbol.dispose, { value: RemovableHandle.prototype.remove, writable: true, configurable: true });

// The gradient that a hook returns; null to keep the gradient.
function replacement(op, made) {
  if (made === undefined || made === null) return null;
  if (!native.isTensor(made)) throw typeError(`${op}: the hook must return a tensor or undefined, not ${kindOf(made)}`);
  return made;
}

// The same for several gradients, where null represents a gradient of zeros.
function replacements(op, grads, made) {
  if (made === undefined || made === null) return null;
  if (!Array.isArray(made)) throw typeError(`${op}: the hook must return an array of gradients or undefined, not ${kindOf(made)}`);
  if (made.length !== grads.length) throw typeError(`${op}: the hook returned ${made.length} gradients, but ${grads.length} are expected`);
  return made.map((grad, i) => replacement(op, grad) ?? (grads[i] && native.zerosLike(grads[i])));
}

function register(op, how, on, fn, call) {
  checkFunction(op, fn);
  return new RemovableHandle(how(on, call));
}

const methods = {
  registerHook(fn) {
    const op = 'registerHook';
    return register(op, native.registerHook, this, fn, ([grad]) => [replacement(op, immediate(op, fn(grad)))]);
  },
  registerPostAccumulateGradHook(fn) {
    const op = 'registerPostAccumulateGradHook';
    if (!native.isTensor(this)) throw typeError(`${op}: the method was called on ${kindOf(this)}`);
    const self = new WeakRef(this);
    return register(op, native.registerPostAccumulateGradHook, this, fn, ([leaf]) => {
      immediate(op, fn(self.deref() ?? leaf));
    });
  },
};

const nodeMethods = {
  call(...grads) { return native.nodeCall(this, grads); },
  registerHook(fn) {
    const op = 'registerHook';
    return register(op, native.nodeRegisterHook, this, fn, (given, count) => {
      const inputs = given.slice(0, count);
      return replacements(op, inputs, immediate(op, fn(inputs, given.slice(count))));
    });
  },
  registerPrehook(fn) {
    const op = 'registerPrehook';
    return register(op, native.nodeRegisterPrehook, this, fn, (grads) => replacements(op, grads, immediate(op, fn(grads))));
  },
};

const nodeProperties = {
  name: { get() { return native.nodeName(this); } },
  variable: { get() { return native.nodeVariable(this); } },
  savedTensors: { get() { return native.nodeSaved(this); } },
  saved: {
    get() {
      return Object.fromEntries(native.nodeSavedNames(this).split(' ').filter(Boolean).map((named) => {
        const name = named.replace('[]', '');
        const list = native.nodeSavedAs(this, name);
        return [name, name === named ? list[0] : list];
      }));
    },
  },
  nextFunctions: {
    get() {
      return Array.from({ length: native.nodeEdges(this) }, (_, i) => {
        const { node, output } = native.nodeEdge(this, i);
        return [same(node), output];
      });
    },
  },
};

for (const [name, value] of Object.entries(methods)) Object.defineProperty(Tensor.prototype, name, { value, writable: true, configurable: true });
for (const [name, value] of Object.entries(nodeMethods)) Object.defineProperty(Node.prototype, name, { value, writable: true, configurable: true });
for (const [name, property] of Object.entries(nodeProperties)) Object.defineProperty(Node.prototype, name, { ...property, configurable: true });
Object.defineProperty(Tensor.prototype, 'gradFn', { configurable: true, get() { return same(native.gradFn(this)); } });
classes.views.Node = (node) => ({ name: node.name });

// Calls fn with saved-tensor hooks: its operations save the result of pack for each tensor; unpack restores the tensor.
function savedTensorsHooks(pack, unpack, fn) {
  const op = 'savedTensorsHooks';
  for (const given of [pack, unpack, fn]) checkFunction(op, given);
  const make = (packed) => {
    const made = immediate(op, unpack(packed));
    if (!native.isTensor(made)) throw typeError(`${op}: unpack must return a tensor, not ${kindOf(made)}`);
    return made;
  };
  native.pushSavedTensorsHooks([(t) => keep(immediate(op, pack(t))), make]);
  try {
    return immediate(op, fn());
  } finally {
    native.popSavedTensorsHooks();
  }
}

// Registers fn to be called with the gradients of several tensors once all that a backward pass computes are there, or with the first of
// them.
function registerMultiGradHook(tensors, fn, options) {
  const op = 'registerMultiGradHook';
  const { mode = 'all' } = read(op, options, ['mode']);
  if (mode !== 'all' && mode !== 'any') throw typeError(`${op}: option 'mode' must be 'all' or 'any', not ${kindOf(mode)}`);
  const first = mode === 'any';
  checkFunction(op, fn);
  const list = Array.from(tensors);
  const wanted = first ? list.filter((t) => t.requiresGrad) : list;
  return new RemovableHandle(native.registerMultiGradHook(wanted, first, (grads) => {
    immediate(op, fn(first ? grads[0] : grads));
  }));
}

module.exports = { Node, checkFunction, immediate, registerMultiGradHook, same, savedTensorsHooks };
