'use strict';

// Conversions of tensors, storages, generators and nodes: for the console, text, numbers, JSON, comparisons and copies for other threads.
const { inspect } = require('node:util');
const native = require('./native.js');
const classes = require('./classes.js');
const { elements, shown } = require('./elements.js');
const { define, inNameOf, kindOf, read, typeError, valueError } = require('./options.js');
require('./access.js');

const { Tensor, Storage, Generator, Node } = native;
const { ownNumber } = classes;

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
      native.toString(shown, wanted); // rejects unsupported types
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
  if (value === undefined) throw typeError(`a tensor of shape [${t.shape}] cannot be converted to a number: use methods such as add() and gt(), or String(tensor)`);
  if (typeof value === 'object') throw typeError('a complex tensor cannot be converted to a number: use item(), which returns {re, im}');
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

// ------------------------------------------------------------------------------------------------------------------------
// the console

const FEW_ELEMENTS = 6;
const FEW_BYTES = 90; // a line each

// The first elements along the last dimension, as far as there are many.
function firstOf(t) {
  let part = t.detach();
  while (part.numel > FEW_ELEMENTS) {
    const next = part.ndim > 1 ? part.select(0, 0) : part.narrow(0, 0, FEW_ELEMENTS);
    part.dispose();
    part = next;
  }
  try {
    return part.toArray();
  } finally {
    part.dispose();
  }
}

// A tensor inside of another value: its shape, its dtype, its unusual properties, and a few elements, in one line.
function brief(t) {
  const { shape, dtype, device, layout, numel } = t;
  const unusual = [device === 'cpu' ? '' : device, layout === 'strided' ? '' : layout, t.requiresGrad ? 'requiresGrad' : ''].filter(Boolean);
  const head = ['Tensor', `[${shape.join(', ')}]`, dtype, ...unusual].join(' ');
  if (layout !== 'strided' || device === 'meta') return head;
  const first = firstOf(t);
  const text = inspect(first, { breakLength: Infinity, compact: true, depth: Infinity });
  return `${head} ${numel > FEW_ELEMENTS ? text.replace(/ \]$/, `, ... ${numel - first.length} more ]`) : text}`;
}

function linesOf(storage, start, stop) {
  const part = storage.slice(start, stop);
  try {
    return part.toString().split('\n').slice(0, stop - start);
  } finally {
    part.dispose();
  }
}

// The bytes of a storage, of many the first and the last ones.
function bytesOf(storage) {
  const count = storage.nbytes();
  if (count <= FEW_BYTES) return storage.toString();
  const half = FEW_BYTES / 2;
  const summary = `[torch.storage.UntypedStorage(device=${storage.getDevice()}) of size ${count}]`;
  return [...linesOf(storage, 0, half), ' ...', ...linesOf(storage, count - half, count), summary].join('\n');
}

// Nested arrays of JSON values: only integers that its numbers represent exactly.
function inJSON(t) {
  const list = t.toArray();
  if (!/^u?int64$/.test(t.dtype)) return list;
  const large = [list].flat(Infinity).find((value) => typeof value === 'bigint');
  if (large !== undefined) throw typeError(`toJSON: the integer ${large} exceeds 2^53 and has no exact JSON number; use toArray(), which returns BigInts`);
  return list;
}

// Jest and Vitest show differences of copies, which are no tensors, with the elements as a plain property.
const copied = (object) => (ownNumber(object) === 0 && Object.hasOwn(object, 'elements') ? object.elements : undefined);
for (const Class of [Tensor, Storage, Generator, Node]) Object.defineProperty(Class.prototype, Symbol.for('@jest/serializableProperties'), { value: ['elements'] });

define(Tensor, {
  toString(options = {}) {
    return native.toString(this, { ...print, ...options });
  },
  toJSON() {
    return copied(this) ?? inJSON(this);
  },
  [Symbol.toPrimitive](hint) {
    return hint === 'string' ? this.toString() : number(this, hint);
  },
  [inspect.custom](depth, options) {
    const isNested = options !== undefined && depth !== options.depth;
    return inspected(this, 'Tensor', () => (isNested ? brief(this) : native.toString(this, print)));
  },
});

define(Storage, {
  toJSON() {
    return copied(this) ?? Array.from(classes.views.Storage(this).bytes);
  },
  [inspect.custom]() {
    return inspected(this, 'Storage', () => bytesOf(this));
  },
});

define(Generator, {
  toJSON() {
    if (copied(this)) return copied(this);
    throw typeError('toJSON: generators cannot be serialized as JSON; use getState()');
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
