'use strict';

// Nested arrays of numbers, written down for the library, which makes a tensor of them (src/nested.c).
const { isIterable } = require('./classes.js');
const native = require('./native.js');
const memory = require('./memory.js');
const { kindOf, typeError, valueError } = require('./options.js');

// Thrown if typed arrays or tensors are among the items.
const HAS_ARRAYS = Symbol('has arrays');

const DEEPEST = 129; // one more than lists can be deep
const MOST_ITEMS = 2 ** 31 - 1;

// As in src/nested.c.
const RUN = -(2 ** 31);
const [BOOL, FLOAT, BIGINT, COMPLEX] = [1, 2, 3, 4];

// The lengths of the first array at each depth.
function shapeOf(data) {
  const shape = [];
  for (let level = data; Array.isArray(level) && shape.length < DEEPEST; level = level[0]) shape.push(level.length);
  return shape;
}

// Copies the numbers of an array from index i on. Returns the index of the first item that is not a number.
function fill(numbers, first, row, i, count) {
  for (; i < count; i++) {
    const value = row[i];
    if (typeof value !== 'number') break;
    numbers[first + i] = value;
  }
  return i;
}

// The tokens for the library. The buffer is sized for regular arrays and a little more: if it overflows, the tokens so far suffice for an
// error.
class Notes {
  constructor(shape) {
    let arrays = 1;
    this.depth = shape.length - 1; // of the arrays that hold numbers
    this.count = 1;
    for (const size of shape) {
      arrays += this.count;
      this.count *= size;
    }
    if (!(this.count + arrays <= MOST_ITEMS)) {
      if (shape.length < DEEPEST) throw valueError(`tensor: ${this.count} elements are too many for nested arrays`);
      arrays = this.count = DEEPEST;
    }
    this.tokens = new Int32Array(arrays + 8);
    this.used = 0;
    this.numbers = new Float64Array(this.count + 1);
    this.at = 0;
    this.kinds = undefined; // of the items that are no plain numbers
    this.others = []; // their values, if they are not numbers
  }

  // Returns false if the buffer is full.
  token(value) {
    if (this.used === this.tokens.length) return false;
    this.tokens[this.used++] = value;
    return true;
  }

  // An item that is neither a number nor a bool.
  other(value, at) {
    let kind, number;
    if (typeof value === 'bigint') {
      kind = BIGINT;
      number = Number(value);
      this.others.push(value);
    } else if (value?.kind === 'float' && typeof value.value === 'number') {
      kind = FLOAT;
      number = value.value;
    } else if (typeof value === 'object' && value !== null && typeof value.re === 'number' && typeof value.im === 'number') {
      kind = COMPLEX;
      number = value.re;
      this.others.push(value.im);
    } else if (native.isTensor(value) || memory.isTyped(value) || isIterable(value)) {
      throw HAS_ARRAYS;
    } else {
      throw typeError(`tensor: ${kindOf(value)} is not a number; items are numbers, bigints, booleans, {re, im} or float(number)`);
    }
    if (this.kinds === undefined) this.kinds = new Uint8Array(this.numbers.length);
    this.kinds[at] = kind;
    this.numbers[at] = number;
  }

  // The bools of an array from index i on, as fill() does it.
  bools(first, row, i, count) {
    if (this.kinds === undefined) this.kinds = new Uint8Array(this.numbers.length);
    const { numbers, kinds } = this;
    for (; i < count; i++) {
      const value = row[i];
      if (typeof value !== 'boolean') break;
      numbers[first + i] = value ? 1 : 0;
      kinds[first + i] = BOOL;
    }
    return i;
  }

  // An array, at the depth of the numbers or above. Returns false if the buffer is full.
  array(level, depth) {
    const count = level.length;
    if (depth < this.depth) return this.token(-1 - count) && this.arrays(level, count, depth + 1);
    return this.token(count) && this.row(level, count);
  }

  // An array that turns out to hold numbers alone, as most do. false, with nothing noted, for another one.
  numbersAlone(level) {
    const { at, numbers, tokens, used } = this;
    const count = level.length;
    if (at + count > numbers.length || used === tokens.length || fill(numbers, at, level, 0, count) < count) return false;
    tokens[used] = count;
    this.used = used + 1;
    this.at = at + count;
    return true;
  }

  // Numbers and their other representations.
  row(level, count) {
    if (this.at + count > this.numbers.length) return false;
    const first = this.at;
    let i = fill(this.numbers, first, level, 0, count);
    this.at += i;
    while (i < count) {
      const value = level[i];
      if (Array.isArray(value)) return this.broken(count, i, value);
      if (typeof value === 'boolean') i = this.bools(first, level, i, count);
      else if (typeof value === 'number') i = fill(this.numbers, first, level, i, count);
      else this.other(value, first + i++);
      this.at = first + i;
    }
    return true;
  }

  arrays(level, count, depth) {
    for (let i = 0; i < count; i++) {
      const item = level[i];
      if (Array.isArray(item)) {
        if (!(depth === this.depth && this.numbersAlone(item)) && !this.array(item, depth)) return false;
        continue;
      }
      if (!this.token(RUN) || !this.token(1) || !this.row([item], 1)) return false;
    }
    return true;
  }

  // An array after numbers: the library rejects it.
  broken(count, i, array) {
    this.tokens[this.used - 1] = -1 - count;
    return this.token(RUN) && this.token(i) && this.token(array.length) && false;
  }
}

// A tensor of nested arrays, on the CPU. Without a dtype numbers are floats, or, as indices, integers if they have no fraction.
function fromNested(data, dtype, asIndices) {
  const notes = new Notes(shapeOf(data));
  if (Array.isArray(data)) notes.array(data, 0);
  else notes.arrays([data], 1, 0);
  const made = native.fromNested(notes.tokens, notes.used, notes.numbers, notes.kinds, notes.others, dtype, asIndices);
  if (notes.at === notes.count) return made;
  made.dispose();
  throw valueError('tensor: an array was modified during the call');
}

module.exports = { HAS_ARRAYS, fromNested };
