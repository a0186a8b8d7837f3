'use strict';

// Functions that make a function's derivatives, under the names of torch.func. Arguments and results are tensors, or arrays and plain
// objects of them. The derivatives can be differentiated again, by these functions or by backward, with respect to whatever else they
// depend on.
const native = require('./native.js');
const { cut, parts, within } = require('./forward.js');
const { checkFunction, immediate, same } = require('./graph.js');
const { kindOf, read, typeError, valueError } = require('./options.js');
const { leaves, mapped, refilled, vmap } = require('./vmap.js');

// ------------------------------------------------------------------------------------------------------------------------
// one evaluation

const formOf = (tree) => JSON.stringify(mapped(() => 0, tree));
const isDifferentiable = (t) => t.isFloatingPoint() || t.isComplex();

// The node numbers of leaves that evaluations created: the number of running evaluations, and the leaves of those with results that keep a
// graph.
let running = 0;
const over = new Set();
const MOST_OVER = 100_000;

const nodeOf = (t) => same(native.gradientEdge(t).node);

// Whether outputs depend on leaves of others: not on the operands, nor on the inputs of evaluations that are over.
function depends(outputs, operands) {
  const seen = new Set(operands.filter((t) => t.isLeaf && t.requiresGrad).map((t) => native.nodeId(nodeOf(t))));
  const waiting = outputs.filter((t) => t.requiresGrad).map(nodeOf);
  while (waiting.length) {
    const node = waiting.pop();
    const id = native.nodeId(node);
    if (seen.has(id)) continue;
    seen.add(id);
    const behind = node.nextFunctions;
    if (behind.length === 0 && !over.has(id)) return true;
    for (const [next] of behind) if (next !== null) waiting.push(next);
  }
  return false;
}

// A function's results for separate inputs, which are distinguished from other uses of the same tensors.
class Evaluation {
  constructor(op, fn, args, argnums, hasAux) {
    checkFunction(op, fn);
    this.op = op;
    this.nodes = [];
    const enabled = native.isGradEnabled();
    const chosen = positions(op, argnums, args.length);
    const given = [...args];
    const inference = native.isInferenceModeEnabled();
    let output;
    running++;
    native.setInferenceMode(false);
    native.setGradEnabled(true);
    try {
      for (const i of chosen) given[i] = mapped((t) => this.own(t), given[i]);
      output = immediate(op, fn(...given));
    } finally {
      running--;
      native.setInferenceMode(inference);
      native.setGradEnabled(enabled);
    }
    if (hasAux) {
      if (!Array.isArray(output) || output.length !== 2) throw typeError(`${op}: with hasAux the function must return an array [output, aux], not ${kindOf(output)}`);
      [output, this.aux] = output;
    }
    this.output = output;
    this.inputs = Array.isArray(argnums) ? chosen.map((i) => given[i]) : given[chosen[0]];
    this.operands = leaves(this.inputs);
    this.outputs = leaves(output);
    for (const t of this.outputs) if (!native.isTensor(t)) throw typeError(`${op}: the function must return a tensor, or a structure of tensors, not ${kindOf(t)}`);
    // Whether the results depend on tensors other than the inputs: the derivatives then depend on them, too.
    this.connected = enabled && depends(parts(this.outputs), this.operands);
  }

  // An input: a view if the tensor has an autograd graph, so that gradients flow on, and a leaf otherwise.
  own(t) {
    if (!native.isTensor(t)) throw typeError(`${this.op}: the arguments that are differentiated must be tensors, or structures of them, not ${kindOf(t)}`);
    t = native.vmapSpread(t); // inside vmap each example has its own
    const goesOn = t.requiresGrad;
    const input = native.jvpInput(t.isInference() ? t.clone() : t, true);
    if (!goesOn) this.nodes.push(native.nodeId(nodeOf(input)));
    return input;
  }

  seeded() {
    for (const t of this.outputs) if (!isDifferentiable(t)) throw typeError(`${this.op}: the results must be floating-point or complex tensors, not ${t.dtype}`);
  }

  // The gradients of the inputs, zeros where nothing depends on them.
  gradients(outputs, seeds, createGraph = this.connected) {
    const live = [...outputs.keys()].filter((i) => outputs[i].requiresGrad);
    if (!live.length) return this.operands.map((t) => native.zerosLike(t));
    const pick = (list) => live.map((i) => list[i]);
    return native.autogradGrad(pick(outputs), this.operands, pick(seeds), true, createGraph, false, true);
  }

  // Results for the caller: without the autograd graph of this evaluation.
  finished(tree) {
    if (this.connected) for (const id of this.nodes) over.add(id);
    else if (running === 0 || over.size > MOST_OVER) over.clear();
    return this.connected ? tree : mapped(cut, tree);
  }
}

function positions(op, argnums, count) {
  const chosen = Array.isArray(argnums) ? argnums : [argnums];
  for (const i of chosen) {
    if (!Number.isInteger(i)) throw typeError(`${op}: argnums must be an integer or an array of integers, not ${kindOf(i)}`);
    if (i < -count || i >= count) throw valueError(`${op}: argnums has ${i}, but the function was called with ${count} arguments`);
  }
  const places = chosen.map((i) => (i < 0 ? i + count : i));
  if (new Set(places).size < places.length) throw valueError(`${op}: argnums must differ, but are ${chosen.join(', ')}`);
  return places;
}

const everyOne = (primals) => [...primals.keys()];

function primalsOf(op, primals) {
  if (!Array.isArray(primals)) throw typeError(`${op}: the primals must be an array with an item for each argument, not ${kindOf(primals)}`);
  return primals;
}

// ------------------------------------------------------------------------------------------------------------------------
// gradients

const derivativeOptions = ['argnums', 'hasAux'];

// Returns a function for [gradient, value] of fn, which must return a zero-dim tensor; with hasAux [gradient, [value, aux]].
function gradAndValue(fn, given) {
  checkFunction('func.gradAndValue', fn);
  const { argnums = 0, hasAux = false } = read('func.gradAndValue', given, derivativeOptions);
  return (...args) => {
    const run = new Evaluation('func.gradAndValue', fn, args, argnums, hasAux);
    const { output } = run;
    if (!native.isTensor(output) || output.ndim > 0) throw typeError(`func.gradAndValue: the function must return a 0-dim tensor, not ${native.isTensor(output) ? `one of shape [${output.shape}]` : kindOf(output)}; use vjp or jacrev for other functions`);
    run.seeded();
    const made = refilled(run.inputs, run.gradients([output], [native.onesLike(output)]));
    return [run.finished(made), run.finished(hasAux ? [output, run.aux] : output)];
  };
}

// Returns a function for the gradient of fn; with hasAux [gradient, aux].
function grad(fn, given) {
  checkFunction('func.grad', fn);
  const { hasAux = false } = read('func.grad', given, derivativeOptions);
  const both = gradAndValue(fn, given);
  return (...args) => {
    const [made, value] = both(...args);
    return hasAux ? [made, value[1]] : made;
  };
}

// ------------------------------------------------------------------------------------------------------------------------
// products

// Returns the value of fn at the primals, and a function that multiplies a vector, with the structure of that value, with the Jacobian.
function vjp(fn, primals, given) {
  checkFunction('func.vjp', fn);
  const { hasAux = false } = read('func.vjp', given, ['hasAux']);
  const run = new Evaluation('func.vjp', fn, primalsOf('func.vjp', primals), everyOne(primals), hasAux);
  run.seeded();
  const multiplied = (cotangents) => {
    if (formOf(cotangents) !== formOf(run.output)) throw typeError('func.vjp: the vector must have the structure of the result');
    const seeds = leaves(cotangents);
    const again = native.isGradEnabled() && (run.connected || seeds.some((t) => t.requiresGrad));
    const made = run.gradients(run.outputs, seeds, again);
    return refilled(run.inputs, again ? made : made.map((t) => t.detach()));
  };
  const output = run.finished(run.output);
  return hasAux ? [output, multiplied, run.finished(run.aux)] : [output, multiplied];
}

// Returns the value of fn at the primals, and the product of its Jacobian with the tangents.
function jvp(fn, primals, tangents, given) {
  checkFunction('func.jvp', fn);
  const { hasAux = false } = read('func.jvp', given, ['hasAux']);
  if (formOf(primalsOf('func.jvp', primals)) !== formOf(tangents)) throw typeError('func.jvp: primals and tangents must have the same structure');
  for (const t of [...leaves(primals), ...leaves(tangents)]) if (!native.isTensor(t)) throw typeError(`func.jvp: primals and tangents must be tensors, or structures of them, not ${kindOf(t)}`);
  return within((level) => {
    let output = immediate('func.jvp', fn(...mapped((t, tangent) => native.jvpWrap(t, tangent, level), primals, tangents)));
    let aux;
    if (hasAux) {
      if (!Array.isArray(output) || output.length !== 2) throw typeError(`func.jvp: with hasAux the function must return an array [output, aux], not ${kindOf(output)}`);
      [output, aux] = output;
    }
    for (const t of leaves(output)) if (!native.isTensor(t)) throw typeError(`func.jvp: the function must return a tensor, or a structure of tensors, not ${kindOf(t)}`);
    const primal = (t) => (native.isTensor(t) ? native.jvpPrimal(t, level) : t);
    const made = mapped((t) => native.jvpTangent(t, level) ?? native.zerosLike(primal(t)), output);
    output = mapped(primal, output);
    return hasAux ? [output, made, mapped(primal, aux)] : [output, made];
  });
}

// Returns the value of fn at the primals, and a function that multiplies its Jacobian there with tangents. It calls fn each time.
function linearize(fn, primals) {
  checkFunction('func.linearize', fn);
  return [immediate('func.linearize', fn(...primalsOf('func.linearize', primals))), (tangents) => jvp(fn, primals, tangents)[1]];
}

// ------------------------------------------------------------------------------------------------------------------------
// Jacobians

// The derivatives of each element of an output, stacked, for each operand.
function rowsOf(run, output, forward) {
  const parts = output.reshape(-1).unbind().map((element) => run.gradients([element], [native.onesLike(element.detach())]));
  return run.operands.map((t, i) => {
    const shape = [...output.shape, ...t.shape];
    const made = parts.length ? native.stack(parts.map((part) => part[i])).reshape(shape) : t.detach().newZeros(shape);
    return forward ? made.to(output.dtype) : made;
  });
}

function jacobianOf(op, fn, given, forward) {
  checkFunction(op, fn);
  const { argnums = 0, hasAux = false } = read(op, given, derivativeOptions);
  return (...args) => {
    const run = new Evaluation(op, fn, args, argnums, hasAux);
    for (const t of [...run.operands, ...run.outputs]) if (t.isComplex()) throw typeError(`${op}: inputs and results must be real; use viewAsReal() for complex tensors`);
    if (!forward) run.seeded();
    const made = run.finished(mapped((output) => refilled(run.inputs, rowsOf(run, output, forward)), run.output));
    return hasAux ? [made, run.finished(run.aux)] : made;
  };
}

// Returns a function for the Jacobian of fn: for each tensor of the result, and in it for each argument, a tensor with the sizes of both.
const jacrev = (fn, options) => jacobianOf('func.jacrev', fn, options, false);
// The same, in the dtype of the result: derivatives are computed in reverse mode.
const jacfwd = (fn, options) => jacobianOf('func.jacfwd', fn, options, true);

// Returns a function for the Hessian of fn: the Jacobian of its Jacobian.
function hessian(fn, given) {
  checkFunction('func.hessian', fn);
  const { argnums = 0 } = read('func.hessian', given, ['argnums']);
  return jacrev(jacrev(fn, { argnums }), { argnums });
}

module.exports = { grad, gradAndValue, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap };
