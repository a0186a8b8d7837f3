'use strict';

// Whole Jacobians and Hessians of functions of tensors, and products with them, under the names of torch.autograd.functional: a function
// gets a tensor or several, and returns a tensor or an array of them.
const native = require('./native.js');
const func = require('./func.js');
const { checkFunction } = require('./graph.js');
const { kindOf, read, typeError } = require('./options.js');

const options = ['createGraph'];

function listOf(op, what, given) {
  const list = Array.isArray(given) ? given : [given];
  for (const t of list) if (!native.isTensor(t)) throw typeError(`${op}: ${what} must be a tensor or an array of tensors, not ${kindOf(t)}`);
  return list;
}

// Results in the structure of the inputs; detached unless createGraph is set.
function formed(made, several, createGraph) {
  const list = createGraph ? made : made.map((t) => t.detach());
  return several ? list : list[0];
}

// Inputs to differentiate: detached from their graph, unless createGraph is set.
const taken = (inputs, createGraph) => inputs.map((t) => (createGraph ? t : t.detach()));

function vectors(op, v, like, what) {
  if (v === undefined || v === null) {
    if (like.length === 1 && like[0].numel === 1) return [native.onesLike(like[0])];
    throw typeError(`${op}: the vector is required unless ${what} is a tensor of one element`);
  }
  const list = listOf(op, 'the vector', v);
  if (list.length !== like.length || list.some((t, i) => String(t.shape) !== String(like[i].shape))) {
    throw typeError(`${op}: the vector must have the shapes of ${what}, ${like.map((t) => `[${t.shape}]`).join(', ')}, not ${list.map((t) => `[${t.shape}]`).join(', ')}`);
  }
  return list;
}

// Returns the value of fn at the inputs, and the product of a vector, with the structure of that value, with the Jacobian there.
function vjp(fn, inputs, v, given) {
  const op = 'autograd.functional.vjp';
  checkFunction(op, fn);
  const { createGraph = false } = read(op, given, options);
  const [output, multiplied] = func.vjp(fn, taken(listOf(op, 'the inputs', inputs), createGraph));
  const outputs = listOf(op, 'what the function gives', output);
  const list = vectors(op, v, outputs, 'what the function gives');
  const made = multiplied(Array.isArray(output) ? list : list[0]);
  return [formed(outputs, Array.isArray(output), createGraph), formed(made, Array.isArray(inputs), createGraph)];
}

// Returns the value of fn at the inputs, and the product of its Jacobian there with a vector, with the structure of the inputs.
function jvp(fn, inputs, v, given) {
  const op = 'autograd.functional.jvp';
  checkFunction(op, fn);
  const { createGraph = false } = read(op, given, options);
  const primals = taken(listOf(op, 'the inputs', inputs), createGraph);
  const [output, made] = func.jvp(fn, primals, vectors(op, v, primals, 'the inputs'));
  const several = Array.isArray(output);
  return [formed(listOf(op, 'what the function gives', output), several, createGraph), formed(several ? made : [made], several, createGraph)];
}

// For a function with a single-element result: the value, and the product of a vector with its symmetric Hessian.
function product(op, fn, inputs, v, given) {
  checkFunction(op, fn);
  const { createGraph = false } = read(op, given, options);
  const primals = taken(listOf(op, 'the inputs', inputs), createGraph);
  const list = vectors(op, v, primals, 'the inputs');
  const slopes = func.gradAndValue((...args) => single(op, fn(...args)), { argnums: [...primals.keys()] });
  let value;
  const [, multiplied] = func.vjp((...args) => {
    const [made, found] = slopes(...args);
    value = found;
    return made;
  }, primals);
  return [formed([value], false, createGraph), formed(multiplied(list), Array.isArray(inputs), createGraph)];
}

function single(op, output) {
  if (!native.isTensor(output) || output.numel !== 1) throw typeError(`${op}: the function must return a tensor of one element, not ${native.isTensor(output) ? `one of shape [${output.shape}]` : kindOf(output)}`);
  return output.reshape([]);
}

const vhp = (fn, inputs, v, given) => product('autograd.functional.vhp', fn, inputs, v, given);
const hvp = (fn, inputs, v, given) => product('autograd.functional.hvp', fn, inputs, v, given);

function whole(op, make, fn, inputs, given) {
  checkFunction(op, fn);
  const { createGraph = false } = read(op, given, options);
  const primals = taken(listOf(op, 'the inputs', inputs), createGraph);
  const made = make(fn, { argnums: Array.isArray(inputs) ? [...primals.keys()] : 0 })(...primals);
  return createGraph ? made : detached(made);
}

const detached = (tree) => (Array.isArray(tree) ? tree.map(detached) : tree.detach());

// The sizes of an output, then those of an input; in arrays where these are several.
const jacobian = (fn, inputs, given) => whole('autograd.functional.jacobian', func.jacrev, fn, inputs, given);
// Of a function whose result is a single element.
function hessian(fn, inputs, given) {
  const op = 'autograd.functional.hessian';
  checkFunction(op, fn);
  return whole(op, func.hessian, (...args) => single(op, fn(...args)), inputs, given);
}

module.exports = { hessian, hvp, jacobian, jvp, vhp, vjp };
