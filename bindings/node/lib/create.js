'use strict';

// Tensors from numbers, nested arrays and typed arrays.
const { markAsUntransferable } = require('node:worker_threads');
const native = require('./native.js');

const dtypeOf = new Map([
  [Uint8Array, 'uint8'],
  [Uint8ClampedArray, 'uint8'],
  [Buffer, 'uint8'],
  [Int8Array, 'int8'],
  [Int16Array, 'int16'],
  [Int32Array, 'int32'],
  [BigInt64Array, 'int64'],
  [Float32Array, 'float32'],
  [Float64Array, 'float64'],
]);
if (globalThis.Float16Array) dtypeOf.set(globalThis.Float16Array, 'float16');

// The typed arrays that show the elements of each dtype.
const views = {
  bool: Uint8Array,
  uint8: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
  complex32: Uint16Array,
  complex64: Float32Array,
  complex128: Float64Array,
};

// Typed arrays whose elements are the bits of another dtype.
const carriers = new Map([
  ['bool', [Uint8Array]],
  ['float16', [Uint16Array]],
  ['bfloat16', [Uint16Array]],
  ['complex32', [Uint16Array]],
  ['complex64', [Float32Array]],
  ['complex128', [Float64Array]],
]);

const ranges = { uint8: [0, 255], int8: [-128, 127], int16: [-32768, 32767], int32: [-(2 ** 31), 2 ** 31 - 1], int64: [-(2 ** 63), 2 ** 63] };

function failure(Kind, code, message) {
  return Object.assign(new Kind(message), { code });
}

const isComplex = (dtype) => dtype.startsWith('complex');

// A number that counts as float although it may have no fraction.
function float(value) {
  if (typeof value !== 'number') throw failure(TypeError, 'TENSOR_ERROR_TYPE', `float: the value must be a number, not ${typeof value}`);
  return { value, kind: 'float' };
}

function sizesOf(shape, count) {
  const list = shape === undefined || shape === null ? [count] : typeof shape === 'number' || typeof shape === 'bigint' ? [shape] : [...shape];
  for (const size of list) {
    if (!(Number.isInteger(Number(size)) && size >= 0)) {
      throw failure(RangeError, 'TENSOR_ERROR_VALUE', `tensor: ${size} is not a size; sizes are integers from 0 on`);
    }
  }
  return list;
}

// The dtype that a typed array holds when the user asks for dtype: its own, or the one whose bits its elements are.
function storedDtype(array, dtype) {
  const own = dtypeOf.get(array.constructor);
  if (carriers.get(dtype)?.includes(array.constructor)) return dtype;
  if (own === undefined) {
    throw failure(
      TypeError,
      'TENSOR_ERROR_TYPE',
      `tensor: a ${array.constructor.name} has no dtype of its own; a Uint16Array can hold float16, bfloat16 or complex32`,
    );
  }
  return own;
}

function cast(made, dtype, device) {
  const change = {};
  if (dtype && made.dtype !== dtype) change.dtype = dtype;
  if (device && made.device !== device) change.device = device;
  if (Object.keys(change).length === 0) return made;
  try {
    return made.to(change);
  } finally {
    made.dispose();
  }
}

function fromTyped(array, { dtype, device, shape }, share) {
  const stored = storedDtype(array, dtype);
  const count = Math.floor(array.byteLength / native.dtypeSize(stored));
  const { buffer } = array;
  const shared = share && !buffer.resizable && !buffer.growable && (dtype ?? stored) === stored;
  const made = native.fromTypedArray(array, stored, BigInt64Array.from(sizesOf(shape, count), BigInt), shared);
  // A transfer to another thread would take the memory away from the tensor.
  if (shared && buffer instanceof ArrayBuffer) markAsUntransferable(buffer);
  return cast(made, dtype, device);
}

const isComplexNumber = (value) => typeof value === 'object' && value !== null && typeof value.re === 'number' && typeof value.im === 'number';

// What kinds of numbers nested arrays hold, and their shape.
class Reader {
  constructor(data) {
    this.shape = [];
    for (let level = data; Array.isArray(level); level = level[0]) this.shape.push(level.length);
    this.values = [];
    this.bool = this.int = this.big = this.float = this.complex = false;
    this.read(data, 0);
  }

  read(data, depth) {
    if (Array.isArray(data)) {
      if (depth === this.shape.length || data.length !== this.shape[depth]) this.ragged(depth, data.length);
      for (const item of data) this.read(item, depth + 1);
      return;
    }
    if (depth !== this.shape.length && !this.shape.includes(0)) this.ragged(depth, 'no');
    this.add(data);
  }

  ragged(depth, found) {
    const expected = this.shape[depth] ?? 'no';
    throw failure(RangeError, 'TENSOR_ERROR_VALUE', `tensor: expected ${expected} items at dimension ${depth}, found ${found}; the arrays must be of equal lengths`);
  }

  add(value) {
    if (typeof value === 'number') {
      if (Number.isInteger(value) && !Object.is(value, -0)) this.int = true;
      else this.float = true;
    } else if (typeof value === 'boolean') {
      this.bool = true;
    } else if (typeof value === 'bigint') {
      this.big = true;
    } else if (value?.kind === 'float') {
      this.float = true;
      value = value.value;
    } else if (isComplexNumber(value)) {
      this.complex = true;
    } else {
      const what = value === null ? 'null' : typeof value;
      throw failure(TypeError, 'TENSOR_ERROR_TYPE', `tensor: ${what} is not a number; items are numbers, bigints, booleans or {re, im}`);
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
    if (this.complex && !isComplex(dtype)) {
      throw failure(RangeError, 'TENSOR_ERROR_VALUE', `tensor: complex numbers cannot be stored as ${dtype}; complex64 holds them`);
    }
    if (isComplex(dtype)) {
      const parts = new Float64Array(2 * this.values.length);
      this.values.forEach((v, i) => {
        parts[2 * i] = isComplexNumber(v) ? v.re : Number(v);
        parts[2 * i + 1] = isComplexNumber(v) ? v.im : 0;
      });
      return [parts, 'complex128'];
    }
    if (ranges[dtype]) this.check(dtype);
    if (this.big && dtype === 'int64') return [BigInt64Array.from(this.values, (v) => (typeof v === 'bigint' ? v : BigInt(Math.trunc(Number(v))))), 'int64'];
    if (dtype === 'bool') return [Uint8Array.from(this.values, (v) => (v === true || Number(v) !== 0 ? 1 : 0)), 'bool'];
    if (dtype === 'float32') return [Float32Array.from(this.values, Number), 'float32'];
    return [Float64Array.from(this.values, Number), 'float64'];
  }

  check(dtype) {
    const [low, high] = ranges[dtype];
    for (const value of this.values) {
      const n = typeof value === 'bigint' ? value : Math.trunc(Number(value));
      const fits = dtype === 'int64' && typeof value === 'number' ? n >= low && n < high : dtype === 'int64' ? BigInt.asIntN(64, BigInt(n)) === BigInt(n) : n >= low && n <= high;
      if (!fits) throw failure(Error, 'TENSOR_ERROR_RUNTIME', `tensor: the value ${value} does not fit in ${dtype}`);
    }
  }
}

function fromNested(data, { dtype, device, shape }) {
  const reader = new Reader(data);
  const target = dtype ?? reader.dtype;
  if (native.dtypeSize(target) === 0) throw failure(TypeError, 'TENSOR_ERROR_TYPE', `tensor: '${target}' is not a dtype`);
  const [array, stored] = reader.store(target);
  const sizes = shape === undefined || shape === null ? reader.shape : sizesOf(shape);
  return cast(native.fromTypedArray(array, stored, BigInt64Array.from(sizes, BigInt), false), target, device);
}

// Memory without a type, seen as elements of dtype: bytes unless given.
function viewOf(data, dtype = 'uint8') {
  const View = views[dtype];
  if (!View) throw failure(TypeError, 'TENSOR_ERROR_TYPE', `tensor: '${dtype}' is not a dtype`);
  const [buffer, offset] = data instanceof DataView ? [data.buffer, data.byteOffset] : [data, 0];
  if (data.byteLength % View.BYTES_PER_ELEMENT || offset % View.BYTES_PER_ELEMENT) {
    throw failure(RangeError, 'TENSOR_ERROR_VALUE', `tensor: ${data.byteLength} bytes from byte ${offset} on are no whole elements of ${dtype}`);
  }
  return new View(buffer, offset, data.byteLength / View.BYTES_PER_ELEMENT);
}

const isMemory = (data) => data instanceof ArrayBuffer || data instanceof SharedArrayBuffer || data instanceof DataView;

function checkData(data) {
  if (ArrayBuffer.isView(data)) return;
  if (data instanceof native.Tensor || data === null || data === undefined) {
    throw failure(TypeError, 'TENSOR_ERROR_TYPE', `tensor: the data must be a number, an array or a typed array${data ? '; use clone() to copy a tensor' : ''}`);
  }
}

// A tensor of a copy of the data.
function tensor(data, options) {
  options ??= {};
  if (isMemory(data)) data = viewOf(data, options.dtype);
  checkData(data);
  return ArrayBuffer.isView(data) ? fromTyped(data, options, false) : fromNested(data, options);
}

// A tensor over the data's own memory where the runtime allows it.
function asTensor(data, options) {
  options ??= {};
  if (data instanceof native.Tensor) {
    const dtype = options.dtype ?? data.dtype;
    const device = options.device ?? data.device;
    return data.dtype === dtype && data.device === device ? data : data.to({ dtype, device });
  }
  if (isMemory(data)) data = viewOf(data, options.dtype);
  checkData(data);
  return ArrayBuffer.isView(data) ? fromTyped(data, options, true) : fromNested(data, options);
}

module.exports = { tensor, asTensor, float, views };
