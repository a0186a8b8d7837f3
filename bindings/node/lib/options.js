'use strict';

// Options of the functions that are written in JavaScript: those of the addon check their own.
const { types } = require('node:util');
const { isStranger } = require('./classes.js');
const native = require('./native.js');

function failure(Kind, code, message) {
  return Object.assign(new Kind(message), { code });
}

const typeError = (message) => failure(TypeError, 'TENSOR_ERROR_TYPE', message);
const valueError = (message) => failure(RangeError, 'TENSOR_ERROR_VALUE', message);

// The error of an inner call, with the name of the outer function.
function renamed(op, error) {
  if (!/^TENSOR_ERROR_/.test(error?.code)) return error;
  const message = error.message.replace(/^[\w.]+(?=: | is not implemented| expected )/, op);
  error.stack = error.stack.replace(error.message, () => message);
  error.message = message;
  return error;
}

// Runs a call and reports its errors with the name of the outer function.
function inNameOf(op, call) {
  try {
    return call();
  } catch (error) {
    throw renamed(op, error);
  }
}

// Defines methods and properties of a class, which fail in their own names.
function define(Class, members) {
  for (const key of Reflect.ownKeys(members)) {
    const { value, get, set } = Object.getOwnPropertyDescriptor(members, key);
    const own = (fn) => {
      if (typeof key === 'symbol' || fn === undefined) return fn;
      const named = {
        [key](...args) {
          try {
            return Reflect.apply(fn, this, args);
          } catch (error) {
            throw renamed(key, error);
          }
        },
      }[key];
      return Object.defineProperty(named, 'length', { value: fn.length, configurable: true });
    };
    const property = value ? { value: own(value), writable: true } : { get: own(get), set: own(set) };
    Object.defineProperty(Class.prototype, key, { ...property, configurable: true });
  }
}

// How a value reads in messages.
function kindOf(value) {
  if (value === null) return 'null';
  if (native.isTensor(value)) return 'a tensor';
  if (Array.isArray(value)) return 'an array';
  if (types.isTypedArray(value)) return 'a typed array';
  if (isStranger(value)) return 'an object of another copy of libtensor (copy it with tensor())';
  return typeof value === 'object' ? 'an object' : typeof value === 'string' ? `the string '${value}'` : typeof value;
}

const isDtype = (name) => typeof name === 'string' && native.dtypeSize(name) > 0;

// The options of a call, each read once; unknown names are rejected.
function read(op, options, names) {
  if (options === undefined || options === null) return {};
  const isPlain = typeof options === 'object' && !Array.isArray(options) && !ArrayBuffer.isView(options) && !native.isTensor(options);
  if (!isPlain) throw typeError(`${op}: the options must be an object, such as { ${names[0]}: ... }, not ${kindOf(options)}`);
  const found = {};
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) throw typeError(`${op}: unknown option '${name}'; supported are ${names.join(', ')}`);
    if (options[name] !== undefined && options[name] !== null) found[name] = options[name];
  }
  if (found.dtype !== undefined && !isDtype(found.dtype)) {
    throw typeError(`${op}: option 'dtype' must be a dtype, such as 'float32': ${kindOf(found.dtype)} is not a dtype`);
  }
  return found;
}

module.exports = { define, failure, inNameOf, renamed, typeError, valueError, kindOf, isDtype, read };
