'use strict';

// Custom operators: JavaScript functions that every language of the process calls by name.
const native = require('./native.js');
const { immediate } = require('./graph.js');
const { typeError } = require('./options.js');

const FUNCTIONS = ['meta', 'backward', 'vmap'];

// A function of the program's, whose promises are errors. Errors of its results begin with its name.
function checked(operator, option, fn) {
  if (fn === undefined || fn === null) return null;
  if (typeof fn !== 'function') throw typeError(`defineOperator: ${option} must be a function`);
  const checking = (...args) => immediate(operator, fn(...args));
  return Object.defineProperty(checking, 'name', { value: `${operator}: ${option}` });
}

const defined = new Set(); // the operators of defineOperator that were not removed

function defineOperator(schema, fn, options = {}) {
  if (typeof schema !== 'string') throw typeError("defineOperator: the first argument is a schema, such as 'ns::scale(Tensor x, float factor) -> Tensor'");
  if (typeof fn !== 'function') throw typeError('defineOperator: the second argument must be a function');
  if (typeof options !== 'object' || options === null) throw typeError('defineOperator: the third argument must be an object with options');
  const unknown = Object.keys(options).find((key) => !FUNCTIONS.includes(key) && key !== 'composite');
  if (unknown !== undefined) throw typeError(`defineOperator: unknown option '${unknown}'; the options are ${FUNCTIONS.join(', ')} and composite`);
  const name = schema.slice(0, schema.indexOf('(')).trim();
  const id = native.operatorDefine(schema, [checked(name, 'the function', fn), ...FUNCTIONS.map((key) => checked(name, key, options[key]))], Boolean(options.composite));
  defined.add(id);
  const operator = (...args) => native.call(name, ...args);
  return Object.defineProperties(operator, {
    name: { value: name },
    schema: { value: native.operatorSchemas(name)[0], enumerable: true },
    remove: {
      value: () => {
        defined.delete(id);
        return native.operatorRemove(id);
      },
      enumerable: true,
    },
  });
}

// Returns whether operators are defined whose functions run on this thread.
const definesOperators = () => defined.size > 0;

module.exports = { defineOperator, definesOperators };
