'use strict';

// How tensors, storages, generators and nodes look to what knows nothing of them: the console, text, numbers, JSON, comparisons and
// copies for other threads.
const { inspect } = require('node:util');
const native = require('./native.js');
const classes = require('./classes.js');
const { elements, shown } = require('./elements.js');
const { define, inNameOf, kindOf, read, typeError, valueError } = require('./options.js');
require('./access.js');

const { Tensor, Storage, Generator, Node } = native;

const named = (view) => (object) => inNameOf('elements', () => view(object));

classes.views.Tensor = shown;
classes.views.Storage = named((storage) => {
  const bytes = storage.view();
  try {
    return { bytes: elements(bytes, false) };
  } finally {
    bytes.dispose();
  }
});
classes.views.Generator = named((generator) => {
  const state = generator.getState();
  try {
    return { state: elements(state, false) };
  } finally {
    state.dispose();
  }
});

// How tensors are printed.
const usual = { precision: 4, threshold: 1000, edgeitems: 3, linewidth: 80 };
const profiles = { default: usual, short: { ...usual, precision: 2, edgeitems: 2 }, full: { ...usual, threshold: Number.MAX_SAFE_INTEGER } };
let print = { ...usual, sciMode: null };

function setPrintoptions(given) {
  const { profile, ...options } = read('setPrintoptions', given, ['precision', 'threshold', 'edgeitems', 'linewidth', 'sciMode', 'profile']);
  if (profile !== undefined && !Object.hasOwn(profiles, profile)) throw valueError(`setPrintoptions: option 'profile' must be one of ${Object.keys(profiles).join(', ')}, not ${kindOf(profile)}`);
  if (options.threshold === Infinity) options.threshold = Number.MAX_SAFE_INTEGER;
  const wanted = { ...print, ...(profile && profiles[profile]), ...options, sciMode: options.sciMode ?? null };
  inNameOf('setPrintoptions', () => {
    const shown = native.zeros([]);
    try {
      native.toString(shown, wanted); // refuses what it cannot be
    } finally {
      shown.dispose();
    }
  });
  print = wanted;
}

const getPrintoptions = () => ({ ...print });

// The number of one element.
function number(t, hint) {
  const value = t.numel === 1 ? t.item() : undefined;
  if (value === undefined) throw typeError(`a tensor of shape [${t.shape}] is no number: use its methods, such as add and gt, or String(tensor)`);
  if (typeof value === 'object') throw typeError('a complex number is no number of JavaScript: item() gives {re, im}');
  return hint === 'number' ? Number(value) : value;
}

// The console shows every object, also those that cannot be read now.
function inspected(object, name, text) {
  try {
    return object.disposed ? `${name} (disposed)` : text();
  } catch (error) {
    return `${name} (${error.message})`;
  }
}

const indented = (text, depth) => text.replaceAll('\n', `\n${' '.repeat(depth)}`);

define(Tensor, {
  toString(options = {}) {
    return native.toString(this, { ...print, ...options });
  },
  toJSON() {
    return this.toArray();
  },
  [Symbol.toPrimitive](hint) {
    return hint === 'string' ? this.toString() : number(this, hint);
  },
  [inspect.custom](depth, options) {
    return inspected(this, 'Tensor', () => indented(native.toString(this, print), options?.indentationLvl ?? 0));
  },
});

define(Storage, {
  toJSON() {
    return Array.from(classes.views.Storage(this).bytes);
  },
  [inspect.custom](depth, options) {
    return inspected(this, 'Storage', () => indented(this.toString(), options?.indentationLvl ?? 0));
  },
});

define(Generator, {
  toJSON() {
    throw typeError('toJSON: a generator has no form in JSON; getState() gives its state');
  },
  [inspect.custom]() {
    return inspected(this, 'Generator', () => `Generator (seed ${this.initialSeed()})`);
  },
});

define(Node, {
  [inspect.custom]() {
    return inspected(this, 'Node', () => `<${this.name}>`);
  },
});

module.exports = { getPrintoptions, setPrintoptions };
