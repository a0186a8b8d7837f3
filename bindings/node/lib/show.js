'use strict';

// How tensors, storages, generators and nodes look to what knows nothing of them: the console, text, numbers, JSON, comparisons and
// copies for other threads.
const { inspect } = require('node:util');
const native = require('./native.js');
const classes = require('./classes.js');
const { elements } = require('./access.js');
const { typeError } = require('./options.js');

const { Tensor, Storage, Generator, Node } = native;

// A copy of a tensor's elements: its dtype and shape tell how to read the values.
classes.views.Tensor = (t) => {
  const { dtype, shape, device } = t;
  const values = device === 'meta' ? null : elements(t, false);
  return { dtype, shape, values };
};
classes.views.Storage = (storage) => {
  const bytes = storage.view();
  try {
    return { bytes: elements(bytes, false) };
  } finally {
    bytes.dispose();
  }
};
classes.views.Generator = (generator) => {
  const state = generator.getState();
  try {
    return { state: elements(state, false) };
  } finally {
    state.dispose();
  }
};

// The number of one element.
function number(t, hint) {
  const value = t.numel === 1 ? t.item() : undefined;
  if (value === undefined) throw typeError(`a tensor of shape [${t.shape}] is no number: use its methods, such as add and gt, or String(tensor)`);
  if (typeof value === 'object') throw typeError('a complex number is no number of JavaScript');
  return hint === 'number' ? Number(value) : value;
}

// The console shows every object, also those that cannot be read now.
function shown(object, name, text) {
  try {
    return object.disposed ? `${name} (disposed)` : text();
  } catch (error) {
    return `${name} (${error.message})`;
  }
}

const indented = (text, depth) => text.replaceAll('\n', `\n${' '.repeat(depth)}`);

function define(Class, methods) {
  for (const name of Reflect.ownKeys(methods)) Object.defineProperty(Class.prototype, name, { value: methods[name], writable: true, configurable: true });
}

define(Tensor, {
  toString(options = {}) {
    return native.toString(this, options);
  },
  toJSON() {
    return this.toArray();
  },
  [Symbol.toPrimitive](hint) {
    return hint === 'string' ? this.toString() : number(this, hint);
  },
  [inspect.custom](depth, options) {
    return shown(this, 'Tensor', () => indented(native.toString(this), options?.indentationLvl ?? 0));
  },
});

define(Storage, {
  toJSON() {
    return Array.from(classes.views.Storage(this).bytes);
  },
  [inspect.custom](depth, options) {
    return shown(this, 'Storage', () => indented(this.toString(), options?.indentationLvl ?? 0));
  },
});

define(Generator, {
  toJSON() {
    throw typeError('a generator has no form in JSON; getState() gives its state');
  },
  [inspect.custom]() {
    return shown(this, 'Generator', () => `Generator (seed ${this.initialSeed()})`);
  },
});

define(Node, {
  [inspect.custom]() {
    return shown(this, 'Node', () => `<${this.name}>`);
  },
});
