'use strict';

// Tensors from numbers, nested arrays and typed arrays.
const { markAsUntransferable } = require('node:worker_threads');
const native = require('./native.js');
const { late, listed } = require('./classes.js');
const dtypes = require('./gen_dtypes.js');
const memory = require('./memory.js');
const nested = require('./nested.js');
const { isShown, restored, views } = require('./elements.js');
const { failure, inNameOf, kindOf, read, renamed, typeError, valueError } = require('./options.js');

// The dtypes of typed arrays, by their class name: those whose elements are the items of the array, not their bits or parts.
const dtypeOf = { Uint8ClampedArray: 'uint8', Float16Array: 'float16' };
for (const [name, { array, kind, wide }] of Object.entries(dtypes)) {
  if (array && !wide && ['unsigned', 'int', 'float'].includes(kind)) dtypeOf[array.name] = name;
}

// A number that counts as float although it may have no fraction.
function float(value) {
  if (typeof value !== 'number') throw typeError(`float: the value must be a number, not ${kindOf(value)}`);
  return { value, kind: 'float' };
}

function sizesOf(shape, count) {
  if (shape === undefined) return [count];
  const list = typeof shape === 'number' || typeof shape === 'bigint' ? [shape] : typeof shape === 'object' ? Array.from(shape) : [shape];
  for (const size of list) {
    if (!((Number.isSafeInteger(size) || typeof size === 'bigint') && size >= 0)) {
      throw valueError(`tensor: ${kindOf(size)}${typeof size === 'number' || typeof size === 'bigint' ? ` ${size}` : ''} is not a valid size; sizes must be non-negative integers`);
    }
  }
  return list;
}

const sizesArray = (sizes) => BigInt64Array.from(sizes, BigInt);

// The dtype of a typed array's elements if the user requests dtype: its own, or the one with the same bits.
function storedDtype(array, dtype) {
  const name = memory.nameOf(array);
  if (views[dtype]?.name === name) return dtype; // also of the bits, or the parts
  const own = dtypeOf[name];
  if (own === undefined) throw typeError(`tensor: a ${name} has no corresponding dtype; pass option dtype, or another typed array`);
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
  const { buffer, length } = memory.bytes(array);
  const shared = share && memory.isFixed(buffer) && (dtype ?? stored) === stored;
  const made = native.fromTypedArray(array, stored, sizesArray(sizesOf(shape, Math.floor(length / native.dtypeSize(stored)))), shared);
  // A transfer to another thread would take the memory away from the tensor.
  if (shared && !memory.isShared(buffer)) markAsUntransferable(buffer);
  return cast(made, dtype, device);
}

// Returns the elements in another shape, and disposes the tensor before reshaping.
function shaped(made, shape) {
  if (shape === undefined) return made;
  try {
    const sizes = sizesOf(shape);
    const count = sizes.reduce((product, size) => product * Number(size), 1);
    if (count !== made.numel) throw valueError(`tensor: shape [${sizes}] has ${count} elements, but the data has ${made.numel}`);
    return made.reshape(sizes);
  } finally {
    made.dispose();
  }
}

function fromNested(op, data, { dtype, device, shape, asIndices = false }) {
  return cast(shaped(nestedOrStacked(op, data, { dtype, asIndices }, 0), shape), undefined, device);
}

const MOST_DIMENSIONS = 64;

// A tensor of nested arrays, among whose items may be typed arrays and tensors.
function nestedOrStacked(op, given, { dtype, asIndices }, depth) {
  const data = listed(given);
  if (native.isTensor(data)) return data.detach();
  if (memory.isTyped(data)) return fromTyped(data, {}, false);
  if (depth > MOST_DIMENSIONS) throw valueError(`${op}: arrays are nested more than ${MOST_DIMENSIONS} levels deep`);
  try {
    return nested.fromNested(data, dtype, asIndices);
  } catch (error) {
    if (error !== nested.HAS_ARRAYS) throw error;
  }
  const made = [];
  try {
    for (const item of data) made.push(nestedOrStacked(op, item, { asIndices }, depth + 1));
    return cast(native.stack(made), dtype);
  } catch (error) {
    throw renamed(op, error);
  } finally {
    for (const t of made) t.dispose();
  }
}

// A look at memory, which may have been taken away.
function opened(look) {
  try {
    return look();
  } catch {
    throw failure(Error, 'TENSOR_ERROR_HANDLE', 'tensor: the buffer of the data was transferred or resized');
  }
}

// Untyped bytes, viewed as elements of dtype: bytes by default. A view needs alignment; a copy does not.
function viewOf(data, dtype, share) {
  const View = views[dtype];
  if (!View) throw typeError(`tensor: dtype ${dtype} has no typed array; use quantizePerTensor()`);
  const { buffer, offset, length } = opened(() => memory.bytes(data));
  const size = View.BYTES_PER_ELEMENT;
  if (length % size) throw valueError(`tensor: ${length} bytes are not a multiple of ${size}, the size of an element of ${dtype}`);
  if (offset % size && share) throw valueError(`asTensor: byte offset ${offset} is not a multiple of ${size}, the size of an element of ${dtype}; use tensor(), which copies`);
  if (offset % size) return opened(() => new View(buffer.slice(offset, offset + length)));
  return opened(() => new View(buffer, offset, length / size));
}

// The options that a tensor had of which structuredClone, or postMessage, made the data.
function wishes(data) {
  if (!isShown(data)) return {};
  const { requiresGrad, names } = data.elements;
  return { ...(requiresGrad && { requiresGrad }), ...(names && { names }) };
}

function make(op, data, given, share) {
  const { requiresGrad, names, ...options } = { ...wishes(data), ...read(op, given, ['dtype', 'device', 'shape', 'requiresGrad', 'names']) };
  const made = share ? inNameOf(op, () => plain(op, data, options, share)) : plain(op, data, options, share);
  if (!requiresGrad && !names) return made;
  try {
    if (names) giveNames(op, made, names);
    if (requiresGrad) native.setRequiresGrad(made, requiresGrad);
  } catch (error) {
    made.dispose();
    throw error;
  }
  return made;
}

// Separate from make(), where a closure over the tensor would delay its collection.
function giveNames(op, made, names) {
  if (names.includes?.('...')) throw typeError(`${op}: an ellipsis in names is only supported for existing tensors; use null for a dimension without a name`);
  inNameOf(op, () => made.rename_(names));
}

function plain(op, data, options, share) {
  if (memory.isUntyped(data) || Buffer.isBuffer(data)) data = viewOf(data, options.dtype ?? 'uint8', share);
  if (memory.isTyped(data)) return fromTyped(data, options, share);
  if (native.isTensor(data)) throw typeError(`${op}: the data must be a number, an array or a typed array; use clone() to copy a tensor`);
  if (data === null || data === undefined) throw typeError(`${op}: the data must be a number, an array or a typed array, not ${data}`);
  if (!isShown(data)) return fromNested(op, data, options);
  const made = inNameOf(op, () => restored(op, data.elements, (values, given) => fromTyped(values, given, false)));
  return cast(shaped(made, options.shape), options.dtype, options.device);
}

// A tensor of a copy of the data.
function tensor(data, options) {
  return make('tensor', data, options, false);
}

// A tensor over the data's own memory where the runtime allows it.
function asTensor(data, options) {
  if (!native.isTensor(data)) return make('asTensor', data, options, true);
  const given = inNameOf('asTensor', () => ({ dtype: data.dtype, device: data.device }));
  const { dtype = given.dtype, device = given.device, shape } = read('asTensor', options, ['dtype', 'device', 'shape']);
  const made = given.dtype === dtype && given.device === device ? data : data.to({ dtype, device });
  return shape === undefined ? made : made.reshape(shape);
}

// A tensor of positions: numbers without a fraction are integers.
const indices = (data) => (memory.isTyped(data) ? tensor(data) : plain('tensor', data, { asIndices: true }, false));

late.tensor = (data, op, asIndices) => inNameOf(op, () => (asIndices ? indices(data) : tensor(data)));

module.exports = { tensor, asTensor, float, indices };
