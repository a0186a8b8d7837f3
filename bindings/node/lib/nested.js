'use strict';

// Nested arrays of numbers: their shape, the dtype of their numbers, and a typed array of these.
const native = require('./native.js');
const { failure, kindOf, typeError, valueError } = require('./options.js');

const MOST_DIMS = 1024;
const MOST_ITEMS = 2 ** 32;

// The least value of each dtype, and the first one beyond it.
const ranges = { uint8: [0, 256], int8: [-128, 128], int16: [-32768, 32768], int32: [-(2 ** 31), 2 ** 31], int64: [-(2 ** 63), 2 ** 63] };

// Whole numbers beyond int64 are floats, as they are where they stand alone.
const isWhole = (value) => Number.isInteger(value) && !Object.is(value, -0) && value >= -(2 ** 63) && value < 2 ** 63;
const isComplex = (dtype) => dtype.startsWith('complex');
const isComplexNumber = (value) => typeof value === 'object' && value !== null && typeof value.re === 'number' && typeof value.im === 'number';

// The lengths of the first array at each depth.
function shapeOf(data) {
  const shape = [];
  for (let level = data; Array.isArray(level); level = level[0]) {
    if (shape.length === MOST_DIMS) {
      throw valueError(`tensor: arrays nested deeper than ${MOST_DIMS} make no tensor; does an array contain itself?`);
    }
    shape.push(level.length);
  }
  const count = shape.reduce((product, size) => product * size, 1);
  if (count > MOST_ITEMS) throw valueError(`tensor: ${count} items are too many for nested arrays`);
  return { shape, count };
}

function ragged(shape, depth, found) {
  return valueError(`tensor: expected ${shape[depth] ?? 'no'} items at dimension ${depth}, found ${found}; the arrays must be of equal lengths`);
}

// The array at a depth, when it is one of the length that the first one had.
function checked(level, shape, depth) {
  if (!Array.isArray(level)) throw ragged(shape, depth, 'none');
  if (level.length !== shape[depth]) throw ragged(shape, depth, level.length);
  return level;
}

// Fills the next items of to with the numbers and booleans of an array. false when one of them is something else.
function fillRow(to, row) {
  const { values, at } = to;
  const count = row.length;
  for (let i = 0; i < count; i++) {
    let value = row[i];
    if (typeof value !== 'number') {
      if (typeof value !== 'boolean') return false;
      value = Number(value);
      to.bools++;
    }
    values[at + i] = value;
    if ((value | 0) !== value || Object.is(value, -0)) to.float ||= !isWhole(value);
  }
  to.at += count;
  return true;
}

function fill(to, level, shape, depth) {
  checked(level, shape, depth);
  if (depth === shape.length - 1) return fillRow(to, level);
  for (let i = 0; i < shape[depth]; i++) if (!fill(to, level[i], shape, depth + 1)) return false;
  return true;
}

// Most arrays hold nothing but numbers or booleans: these go straight into a Float64Array. undefined for all others.
function readNumbers(data, shape, count) {
  const to = { values: new Float64Array(count), at: 0, float: false, bools: 0 };
  if (shape.length === 0 ? !fillRow(to, [data]) : !fill(to, data, shape, 0)) return undefined;
  return to;
}

function checkRange(values, dtype) {
  if (!ranges[dtype]) return;
  const [low, high] = ranges[dtype];
  for (let i = 0; i < values.length; i++) {
    const value = Math.trunc(values[i]);
    if (!(value >= low && value < high)) throw failure(Error, 'TENSOR_ERROR_RUNTIME', `tensor: the value ${values[i]} does not fit in ${dtype}`);
  }
}

// Values of all kinds.
class Mixed {
  constructor(data, shape) {
    this.shape = shape;
    this.values = [];
    this.bool = this.int = this.big = this.float = this.complex = false;
    this.read(data, 0);
  }

  read(data, depth) {
    if (depth === this.shape.length) {
      if (Array.isArray(data)) throw ragged(this.shape, depth, data.length);
      this.add(data);
      return;
    }
    checked(data, this.shape, depth);
    for (let i = 0; i < this.shape[depth]; i++) this.read(data[i], depth + 1);
  }

  add(value) {
    if (typeof value === 'number') {
      if (isWhole(value)) this.int = true;
      else this.float = true;
    } else if (typeof value === 'boolean') {
      this.bool = true;
    } else if (typeof value === 'bigint') {
      this.big = true;
    } else if (value?.kind === 'float' && typeof value.value === 'number') {
      this.float = true;
      value = value.value;
    } else if (isComplexNumber(value)) {
      this.complex = true;
    } else {
      throw typeError(`tensor: ${kindOf(value)} is not a number; items are numbers, bigints, booleans, {re, im} or float(number)`);
    }
    this.values.push(value);
  }

  get dtype() {
    if (this.complex) return native.getDefaultDtype() === 'float64' ? 'complex128' : 'complex64';
    if (this.float || this.values.length === 0) return native.getDefaultDtype();
    return this.int || this.big ? 'int64' : 'bool';
  }

  // The values in an array that loses nothing on the way to dtype, and the dtype of that array.
  store(dtype) {
    if (this.complex && !isComplex(dtype)) throw valueError(`tensor: complex numbers cannot be stored as ${dtype}; complex64 holds them`);
    if (isComplex(dtype)) {
      const parts = new Float64Array(2 * this.values.length);
      this.values.forEach((v, i) => {
        parts[2 * i] = isComplexNumber(v) ? v.re : Number(v);
        parts[2 * i + 1] = isComplexNumber(v) ? v.im : 0;
      });
      return [parts, 'complex128'];
    }
    if (dtype === 'bool') return [Uint8Array.from(this.values, (v) => (v === true || Number(v) !== 0 ? 1 : 0)), 'bool'];
    if (this.big && dtype === 'int64') return [this.bigs(), 'int64'];
    const numbers = Float64Array.from(this.values, Number);
    checkRange(numbers, dtype);
    return [numbers, 'float64'];
  }

  bigs() {
    return BigInt64Array.from(this.values, (value) => {
      if (typeof value !== 'bigint') checkRange([value], 'int64');
      const big = typeof value === 'bigint' ? value : BigInt(Math.trunc(Number(value)));
      if (BigInt.asIntN(64, big) !== big) throw failure(Error, 'TENSOR_ERROR_RUNTIME', `tensor: the value ${value} does not fit in int64`);
      return big;
    });
  }
}

// The shape of nested arrays, a typed array of their numbers, the dtype of its elements, and the dtype that the tensor is to have.
function read(data, dtype) {
  const { shape, count } = shapeOf(data);
  const numbers = readNumbers(data, shape, count);
  if (!numbers) {
    const mixed = new Mixed(data, shape);
    const target = dtype ?? mixed.dtype;
    const [values, stored] = mixed.store(target);
    return { shape, values, stored, target };
  }
  const target = dtype ?? (numbers.float || count === 0 ? native.getDefaultDtype() : numbers.bools === count ? 'bool' : 'int64');
  checkRange(numbers.values, target);
  return { shape, values: numbers.values, stored: 'float64', target };
}

module.exports = { read };
