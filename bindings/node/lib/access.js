'use strict';

// Reading and writing of elements: the methods of Tensor that exchange arrays with JavaScript.
const { getHeapStatistics } = require('node:v8');
const native = require('./native.js');
const dtypes = require('./gen_dtypes.js');
const { indexed, listed, ownNumber } = require('./classes.js');
const memory = require('./memory.js');
const { indices, tensor } = require('./create.js');
const { elements, withForm } = require('./elements.js');
const { define, isDtype, kindOf, read, renamed, typeError } = require('./options.js');

const { Tensor } = native;

// Arrays longer than this are filled from empty: V8 makes tables of longer ones that have holes.
const MOST_HOLES = 2 ** 25;

// V8 ends the process if an array or the heap exceeds its limit: these lengths stay below.
const LONGEST = 2 ** 26;
const SMALL = 2 ** 20;
const HEAP_LEFT = 2 ** 26;

function checkRoom(shape, dtype) {
  const count = shape.reduce((product, n) => product * n, 1);
  if (count <= SMALL) return;
  const longest = Math.max(...shape);
  if (longest > LONGEST)
    throw new RangeError(`toArray: dimension ${shape.indexOf(longest)} has ${longest} elements, more than the maximum length of an array, ${LONGEST}; use data()`);
  const { heap_size_limit: limit, used_heap_size: used } = getHeapStatistics();
  const needs = count * (dtype.startsWith('complex') ? 48 : 8);
  if (needs > limit - used - HEAP_LEFT)
    throw new RangeError(
      `toArray: ${count} elements take ${Math.ceil(needs / 1e6)} MB of JavaScript's heap, of which ${Math.floor((limit - used) / 1e6)} MB are left; ` +
        'data() gives a typed array, --max-old-space-size a larger heap',
    );
}

const HIGH = 2 ** 21;
const WORD = 2 ** 32;

// Readers of a row of count elements from position on, by the type of their typed arrays. Each allocates arrays at a separate call site, so
// that V8 learns their element kind.
function plainRow(values) {
  return (at, count) => {
    const row = count < MOST_HOLES ? new Array(count) : [];
    for (let i = 0; i < count; i++) row[i] = values[at + i];
    return row;
  };
}

function boolRow(values) {
  return (at, count) => {
    const row = count < MOST_HOLES ? new Array(count) : [];
    for (let i = 0; i < count; i++) row[i] = values[at + i] !== 0;
    return row;
  };
}

function complexRow(values) {
  return (at, count) => {
    const row = count < MOST_HOLES ? new Array(count) : [];
    for (let i = 0, k = 2 * at; i < count; i++, k += 2) row[i] = { re: values[k], im: values[k + 1] };
    return row;
  };
}

// Integers are combined from their halves, without a BigInt for each: only those beyond 2^53 become one.
function bigUintRow(values) {
  const halves = new Uint32Array(values.buffer, values.byteOffset, 2 * values.length);
  return (at, count) => {
    const row = count < MOST_HOLES ? new Array(count) : [];
    for (let i = 0, k = 2 * at; i < count; i++, k += 2) row[i] = halves[k + 1] < HIGH ? halves[k + 1] * WORD + halves[k] : values[at + i];
    return row;
  };
}

function bigRow(values) {
  const low = new Int32Array(values.buffer, values.byteOffset, 2 * values.length);
  return (at, count) => {
    const row = count < MOST_HOLES ? new Array(count) : [];
    for (let i = 0, k = 2 * at; i < count; i++, k += 2) {
      const l = low[k];
      const h = low[k + 1];
      if (h === l >> 31) row[i] = l;
      else if (h < HIGH && (h > -HIGH || (h === -HIGH && l !== 0))) row[i] = h * WORD + (l >>> 0);
      else row[i] = values[at + i];
    }
    return row;
  };
}

const rows = { bool: boolRow, int64: bigRow, uint64: bigUintRow, complex64: complexRow, complex128: complexRow };

// The items of an index that is given as one value: an array holds one for each dimension, but an array of booleans is a mask.
function itemsOf(index) {
  const list = listed(index);
  const isMask = Array.isArray(list) && list.length > 0 && list.every((item) => typeof item === 'boolean');
  return Array.isArray(list) && !isMask ? list : [list];
}

// Typed arrays that hold positions, though no dtype of index tensors.
const POSITIONS = new Set(['Int8Array', 'Int16Array']);

// Arrays among the items of an index are positions or masks: tensors.
function withItems(items, fn) {
  const made = [];
  try {
    return fn(
      items.map((given) => {
        const item = listed(given);
        if (!Array.isArray(item) && !memory.isTyped(item)) return item;
        const isPositions = Array.isArray(item) ? item.length === 0 : POSITIONS.has(memory.nameOf(item));
        made.push(isPositions ? tensor(item, { dtype: 'int64' }) : indices(item));
        return made.at(-1);
      }),
    );
  } finally {
    for (const t of made) t.dispose();
  }
}

// The options of to(): the first argument may be a dtype, a device or a tensor with both.
function target(first, ...rest) {
  const last = rest.at(-1);
  const options = typeof last === 'object' && last !== null && !native.isTensor(last) ? rest.pop() : {};
  if (native.isTensor(first)) return { dtype: first.dtype, device: first.device, ...options };
  const given = [first, ...rest.filter((item) => item !== undefined && item !== null)];
  const found = {};
  for (const item of given) {
    if (typeof item !== 'string') throw typeError(`to: the arguments must be a dtype, a device, a tensor or options, not ${kindOf(item)}`);
    const name = isDtype(item) ? 'dtype' : 'device';
    if (name === 'device' && !/^[a-z]+(:\d+)?$/.test(item)) throw typeError(`to: '${item}' is neither a dtype, such as 'float32', nor a device, such as 'cpu'`);
    if (name in found) throw typeError(`to: '${found[name]}' and '${item}' cannot both be passed`);
    found[name] = item;
  }
  return { ...found, ...options };
}

const convert = Tensor.prototype.to;

// Whether elements can be assigned from a value; complex numbers are {re, im}, and floats {value, kind}.
function isValue(value) {
  if (typeof value === 'object') return value !== null && (native.isTensor(value) || Array.isArray(value) || memory.isTyped(value) || 're' in value || 'kind' in value);
  return ['number', 'bigint', 'boolean'].includes(typeof value);
}

function* rowsOf() {
  const { length } = this;
  for (let i = 0; i < length; i++) yield this.at(i);
}

const methods = {
  to(first, ...rest) {
    if (typeof first === 'string' || native.isTensor(first)) return Reflect.apply(convert, this, [target(first, ...rest)]);
    return Reflect.apply(convert, this, [first, ...rest]);
  },

  data(options) {
    const { copy = false } = read('data', options, ['copy']);
    if (typeof copy !== 'boolean') throw typeError(`data: option 'copy' must be a boolean, not ${kindOf(copy)}`);
    return elements(this, !copy);
  },

  toArray() {
    const { shape, dtype } = this;
    checkRoom(shape, dtype);
    if (this.isQuantized()) return withForm(this, this.dequantize(), (t) => t.toArray());
    const { wide } = dtypes[dtype]; // the library widens floats of 8 and 16 bits
    if (wide) return withForm(this, this.to({ dtype: wide }), (t) => t.toArray());
    const readRow = (rows[dtype] ?? plainRow)(elements(this, false));
    if (shape.length === 0) return readRow(0, 1)[0];
    const last = shape.length - 1;
    let next = 0;
    const build = (depth) => {
      const count = shape[depth];
      if (depth === last) {
        next += count;
        return readRow(next - count, count);
      }
      const list = count < MOST_HOLES ? new Array(count) : [];
      for (let i = 0; i < count; i++) list[i] = build(depth + 1);
      return list;
    };
    return build(0);
  },

  get(index) {
    return this.indexGet(index);
  },

  set(index, value) {
    value = listed(value);
    if (!isValue(value)) throw typeError(`set: argument 'value' must be a tensor, a number or an array, not ${kindOf(value)}`);
    const items = typeof index === 'string' ? index.split(',') : itemsOf(index);
    const made = Array.isArray(value) || memory.isTyped(value) ? tensor(value, Array.isArray(value) ? { dtype: this.dtype } : {}) : undefined;
    try {
      const from = made ?? value;
      withItems(items, (all) => (native.isTensor(from) ? this.indexSet_(all, from) : this.indexSetScalar_(all, from)));
    } finally {
      made?.dispose();
    }
    return this;
  },

  // A zero-dim tensor has no rows, and is compared by its element rather than item by item.
  get [Symbol.iterator]() {
    return ownNumber(this) > 0 && this.ndim === 0 ? undefined : rowsOf;
  },
};

define(Tensor, methods);

// Separate from the other functions, because it is called often.
function at(...items) {
  const index = items.length === 1 ? itemsOf(items[0]) : items;
  const found = indexed(this, index);
  if (found !== undefined) return found;
  try {
    return withItems(index, (made) => this.indexGet(made));
  } catch (error) {
    throw renamed('at', error);
  }
}
Object.defineProperty(Tensor.prototype, 'at', { value: at, writable: true, configurable: true });

// As for arrays: the number of rows.
Object.defineProperty(Tensor.prototype, 'length', {
  configurable: true,
  get() {
    return this.shape[0];
  },
});
for (const Class of [Tensor, native.Storage, native.Generator, native.Node]) {
  if (Symbol.dispose) Object.defineProperty(Class.prototype, Symbol.dispose, { value: Class.prototype.dispose, writable: true, configurable: true });
}

function slice(start = null, stop = null, step = null) {
  return { start, stop, step, kind: 'slice' };
}

module.exports = { slice };
