'use strict';

// The package: the addon's operators, and the parts that are written in JavaScript.
const native = require('./lib/native.js');
const constants = require('./lib/gen_constants.js');
const { tensor, asTensor, float } = require('./lib/create.js');
const { slice } = require('./lib/access.js');
const print = require('./lib/show.js');
const files = require('./lib/files.js');
const dicts = require('./lib/dicts.js');
const { functions: ofPaths } = require('./lib/paths.js');
const random = require('./lib/random.js');
const { scope } = require('./lib/scope.js');
require('./lib/names.js');
const methods = require('./lib/methods.js');
const { constants: numbers, finfo, iinfo } = require('./lib/numbers.js');
const func = require('./lib/func.js');
const { assertClose } = require('./lib/testing.js');
const gradients = require('./lib/grad.js');
const { program } = require('./lib/program.js');
const { defineOperator } = require('./lib/operators.js');
const { internal, functional } = require('./lib/gen_places.js');
const { settled } = require('./lib/waiting.js');
const { version } = require('./package.json');

const { Node, programLoad, programLoadAsync, programAdopt, programFree, programTensor, programRun, programRunAsync, operatorDefine, operatorRemove, accountedBytes, disposeBox, look, indexNoted, enterScope, leaveScope, fromTypedArray, memoryOf, ...operators } = native;
for (const name of internal) delete operators[name];
const nn = { ...operators.nn, ...Object.fromEntries(functional.map((name) => [name, operators[name]])) };

module.exports = { ...operators, nn, ...constants, ...numbers, ...methods, ...print, ...files, ...dicts, ...ofPaths, ...random, ...gradients, tensor, asTensor, float, slice, scope, settled, func, finfo, iinfo, testing: { assertClose }, program, defineOperator, version };

// For compilers that take the default export for a property.
Object.defineProperty(module.exports, 'default', { value: module.exports });
