'use strict';

// Typed arrays and buffers according to the runtime: of any context, and regardless of the objects' properties.
const { types } = require('node:util');

const TypedArray = Object.getPrototypeOf(Uint8Array);

function getter(prototype, name) {
  const get = Object.getOwnPropertyDescriptor(prototype, name)?.get;
  return get ? (object) => Reflect.apply(get, object, []) : () => false;
}

const of = {
  typed: { buffer: getter(TypedArray.prototype, 'buffer'), offset: getter(TypedArray.prototype, 'byteOffset'), bytes: getter(TypedArray.prototype, 'byteLength') },
  view: { buffer: getter(DataView.prototype, 'buffer'), offset: getter(DataView.prototype, 'byteOffset'), bytes: getter(DataView.prototype, 'byteLength') },
};
const nameOf = getter(TypedArray.prototype, Symbol.toStringTag);
const bytesOf = getter(ArrayBuffer.prototype, 'byteLength');
const sharedBytesOf = getter(SharedArrayBuffer.prototype, 'byteLength');
const resizable = getter(ArrayBuffer.prototype, 'resizable');
const growable = getter(SharedArrayBuffer.prototype, 'growable');

const isTyped = types.isTypedArray;
const isUntyped = (data) => types.isAnyArrayBuffer(data) || types.isDataView(data);

// The memory range of a typed array, DataView or buffer.
function bytes(data) {
  if (types.isArrayBuffer(data)) return { buffer: data, offset: 0, length: bytesOf(data) };
  if (types.isSharedArrayBuffer(data)) return { buffer: data, offset: 0, length: sharedBytesOf(data) };
  const get = isTyped(data) ? of.typed : of.view;
  return { buffer: get.buffer(data), offset: get.offset(data), length: get.bytes(data) };
}

// Whether a buffer keeps its length.
const isFixed = (buffer) => (types.isSharedArrayBuffer(buffer) ? !growable(buffer) : !resizable(buffer));

// The contents of a file: a Uint8Array over a buffer or a DataView, and other values as they are.
function asBytes(data) {
  if (!isUntyped(data)) return data;
  const { buffer, offset, length } = bytes(data);
  return new Uint8Array(buffer, offset, length);
}

module.exports = { isTyped, isUntyped, nameOf, bytes, isFixed, asBytes, isShared: types.isSharedArrayBuffer };
