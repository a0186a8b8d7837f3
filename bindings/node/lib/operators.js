'use strict';

// Custom operators: JavaScript functions that every language of the process calls by name.
const native = require('./native.js');
const { immediate } = require('./graph.js');
const { typeError } = require('./options.js');

const FUNCTIONS = ['meta', 'backward', 'vmap'];

// A function of the program's, whose promises are errors.
function checked(name, fn) {
  if (fn === undefined || fn === null) return null;
  if (typeof fn !== 'function') throw typeError(`defineOperator: ${name} must be a function`);
  return (...args) => immediate('defineOperator', fn(...args));
}

function defineOperator(schema, fn, options = {}) {
  if (typeof schema !== 'string') throw typeError("defineOperator: the first argument is a schema, such as 'ns::scale(Tensor x, float factor) -> Tensor'");
  if (typeof fn !== 'function') throw typeError('defineOperator: the second argument must be a function');
  if (typeof options !== 'object' || options === null) throw typeError('defineOperator: the third argument must be an object with options');
  const unknown = Object.keys(options).find((key) => !FUNCTIONS.includes(key) && key !== 'composite');
  if (unknown !== undefined) throw typeError(`defineOperator: unknown option '${unknown}'; the options are ${FUNCTIONS.join(', ')} and composite`);
  const id = native.operatorDefine(schema, [checked('the second argument', fn), ...FUNCTIONS.map((key) => checked(key, options[key]))], Boolean(options.composite));
  const name = schema.slice(0, schema.indexOf('(')).trim();
  const operator = (...args) => native.call(name, ...args);
  return Object.defineProperties(operator, {
    name: { value: name },
    schema: { value: native.operatorSchemas(name)[0], enumerable: true },
    remove: { value: () => native.operatorRemove(id), enumerable: true },
  });
}

module.exports = { defineOperator };
