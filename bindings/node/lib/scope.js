'use strict';

const { types } = require('node:util');
const native = require('./native.js');
const { kindOf, typeError } = require('./options.js');

const classes = [native.Tensor, native.Storage, native.Generator, native.Node];

// The objects of the library's in a value, through arrays and plain objects.
function collect(value, into, seen) {
  if (typeof value !== 'object' || value === null || seen.has(value)) return;
  seen.add(value);
  if (classes.some((Class) => value instanceof Class)) {
    into.push(value);
  } else if (!ArrayBuffer.isView(value)) {
    if (types.isMap(value)) for (const key of value.keys()) collect(key, into, seen);
    for (const item of types.isMap(value) || types.isSet(value) ? value.values() : Object.values(value)) collect(item, into, seen);
  }
}

// Keeps the objects in a value from the ends of scopes: a graph needs them.
function keep(value) {
  const found = [];
  collect(value, found, new Set());
  native.releaseFromScope(found);
  return value;
}

// Calls fn and disposes the tensors that it made, except those in its result.
function scope(fn) {
  if (typeof fn !== 'function') throw typeError(`scope: the argument must be a function, not ${kindOf(fn)}`);
  const kept = [];
  native.enterScope();
  try {
    const result = fn();
    if (typeof result?.then === 'function') {
      result.then(undefined, () => {}); // the error below is more specific than an unhandled rejection
      throw typeError('scope: the function must not be asynchronous; call dispose() on its tensors instead');
    }
    collect(result, kept, new Set());
    return result;
  } finally {
    native.leaveScope(kept);
  }
}

module.exports = { keep, scope };
