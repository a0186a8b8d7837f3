'use strict';

// Files of tensors by name, as objects. As two lists, which keep the order, equal names and metadata, they are under names that end with List.
const { types } = require('node:util');
const { asBytes } = require('./memory.js');
const native = require('./native.js');
const { inNameOf, kindOf, renamed, typeError } = require('./options.js');
const { pathOf } = require('./paths.js');

// Savers and loaders, and whether the path is the first argument.
const savers = { saveDict: true, safetensorsSaveFile: true, safetensorsSave: false, npzSave: true, npzSaveBytes: false };
const loaders = { loadDict: true, safetensorsLoadFile: true, safetensorsLoad: false, npzLoad: true, npzLoadBytes: false };

// The names and the tensors of an object, a Map or pairs.
function listsOf(op, tensors) {
  if (typeof tensors !== 'object' || tensors === null || native.isTensor(tensors) || ArrayBuffer.isView(tensors)) {
    throw typeError(`${op}: the tensors must be an object, a Map or pairs of a name and a tensor, not ${kindOf(tensors)}`);
  }
  const isIterable = types.isMap(tensors) || typeof tensors[Symbol.iterator] === 'function';
  const pairs = isIterable ? Array.from(tensors) : Object.entries(tensors);
  for (const pair of pairs) {
    if (!Array.isArray(pair) || pair.length !== 2 || typeof pair[0] !== 'string') throw typeError(`${op}: the tensors must be pairs of a name and a tensor, not ${kindOf(pair)}; use ${op}List to pass names and tensors as two lists`);
    if (!native.isTensor(pair[1])) throw typeError(`${op}: '${pair[0]}' must be a tensor, not ${kindOf(pair[1])}`);
  }
  return [pairs.map(([name]) => name), pairs.map(([, tensor]) => tensor)];
}

const byName = ({ names, tensors }) => Object.fromEntries(names.map((name, i) => [name, tensors[i]]));

const located = (hasPath, args) => (hasPath ? [pathOf(args[0]), ...args.slice(1)] : args.map(asBytes));

function saving(op, hasPath, args) {
  const first = hasPath ? [pathOf(args[0])] : [];
  const [tensors, ...options] = args.slice(first.length);
  return [...first, ...listsOf(op, tensors), ...options];
}

const functions = {};

function add(name, length, fn) {
  functions[name] = Object.defineProperty({ [name]: fn }[name], 'length', { value: length, configurable: true });
}

// The addon's functions under names that end with List.
function addLists(name, hasPath, call, callAsync) {
  const [list, listAsync] = [`${name}List`, `${name}ListAsync`];
  add(list, call.length, (...args) => inNameOf(list, () => call(...located(hasPath, args))));
  add(listAsync, call.length, async (...args) => {
    try {
      return await callAsync(...located(hasPath, args));
    } catch (error) {
      throw renamed(listAsync, error);
    }
  });
}

for (const [name, hasPath] of Object.entries(savers)) {
  const [save, saveAsync] = [native[name], native[`${name}Async`]];
  add(name, hasPath ? 2 : 1, (...args) => save(...inNameOf(name, () => saving(name, hasPath, args))));
  add(`${name}Async`, hasPath ? 2 : 1, async (...args) => saveAsync(...inNameOf(`${name}Async`, () => saving(name, hasPath, args))));
  addLists(name, hasPath, save, saveAsync);
}
for (const [name, hasPath] of Object.entries(loaders)) {
  const [load, loadAsync] = [native[name], native[`${name}Async`]];
  add(name, 1, (...args) => byName(load(...located(hasPath, args))));
  add(`${name}Async`, 1, async (...args) => byName(await loadAsync(...located(hasPath, args))));
  addLists(name, hasPath, load, loadAsync);
}

module.exports = functions;
