'use strict';

// Names of dimensions in JavaScript: null for an unnamed dimension.
const { isIterable, listed } = require('./classes.js');
const native = require('./native.js');
const { define, inNameOf, kindOf, typeError, valueError } = require('./options.js');

const { Tensor } = native;
const unflatten = Tensor.prototype.unflatten;

const spelled = (name) => name ?? '';

function spelledList(op, given) {
  const names = listed(given);
  if (!Array.isArray(names)) throw typeError(`${op}: the names must be an array with a name for each dimension, not ${kindOf(names)}`);
  return names.map(spelled);
}

// The names that a tensor is to have: a list, or its own with some replaced; null for none.
function others(op, tensor, names) {
  if (names === null) return null;
  if (typeof names !== 'object' || native.isTensor(names) || Array.isArray(names) || isIterable(names)) return spelledList(op, names);
  const own = native.names(tensor);
  const unknown = Object.keys(names).find((name) => !own.includes(name));
  if (unknown !== undefined) throw valueError(`${op}: Name '${unknown}' not found in Tensor[${own.map((name) => (name ? `'${name}'` : 'null')).join(', ')}]`);
  return own.map((name) => (name in names ? spelled(names[name]) : name));
}

const names = {
  get() { return native.names(this).map((name) => name || null); },
  set(given) { native.rename_(this, others('names', this, given)); },
};

const methods = {
  rename(given) {
    return native.rename(this, others('rename', this, given));
  },
  rename_(given) {
    return native.rename_(this, others('rename_', this, given));
  },
  refineNames(given) {
    return native.refineNames(this, spelledList('refineNames', given));
  },
  alignTo(given) {
    return native.alignTo(this, spelledList('alignTo', given));
  },
  // Sizes, or pairs of a name and a size.
  unflatten(dim, sizes) {
    if (!Array.isArray(sizes) || !sizes.length || !sizes.every((pair) => Array.isArray(pair))) return unflatten.call(this, dim, sizes);
    return inNameOf('unflatten', () => native.unflattenNames(this, dim, sizes.map(([, size]) => size), sizes.map(([name]) => spelled(name))));
  },
};

define(Tensor, methods);
Object.defineProperty(Tensor.prototype, 'names', { ...names, configurable: true });
