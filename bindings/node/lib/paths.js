'use strict';

// Functions of the addon's that take the path of a file, or a URL of one, and those that take the contents of a file, or a buffer with them.
const { fileURLToPath } = require('node:url');
const { asBytes } = require('./memory.js');
const native = require('./native.js');

const isURL = (value) => typeof value === 'object' && value !== null && !native.isTensor(value) && typeof value.href === 'string' && typeof value.protocol === 'string';

const pathOf = (value) => (isURL(value) ? fileURLToPath(value.href) : value);

// The path is the first argument, or an option.
function withPath(args) {
  return args.map((arg) => {
    if (isURL(arg)) return pathOf(arg);
    const name = typeof arg === 'object' && arg !== null && ['path', 'filename'].find((each) => Object.hasOwn(arg, each) && isURL(arg[each]));
    return name ? { ...arg, [name]: pathOf(arg[name]) } : arg;
  });
}

const names = ['safetensorsOpen', 'ggufLoadFile', 'archiveSave', 'archiveLoad', 'npySave', 'npyLoad', 'fromFile', 'storageFromFile', 'fileWrite'];

const functions = {};

function add(names, convert) {
  for (const name of names.flatMap((each) => [each, `${each}Async`]).filter((each) => each in native)) {
    const call = native[name];
    const taking = { [name](...args) { return call(...convert(args)); } }[name];
    functions[name] = Object.defineProperty(taking, 'length', { value: call.length, configurable: true });
  }
}

add(names, withPath);
add(['ggufLoad', 'archiveLoadBytes', 'npyLoadBytes', 'pickleRename'], (args) => args.map(asBytes));

module.exports = { functions, pathOf };
