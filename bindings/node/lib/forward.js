'use strict';

// Levels of forward-mode differentiation, and custom functions in them, which have only a backward.
const native = require('./native.js');
const { typeError } = require('./options.js');

// Runs fn in a level of forward-mode differentiation; fn receives the number of the level.
function within(fn) {
  const level = native.jvpBegin();
  try {
    return fn(level);
  } finally {
    native.jvpEnd(level);
  }
}

// The innermost level in which one of some values has a tangent, 0 for none.
const levelOf = (values) => values.reduce((level, value) => (native.isTensor(value) ? Math.max(level, Number(native.jvpLevel(value))) : level), 0);

// A tensor detached from the autograd graph, with its tangents.
const cut = (t) => (native.isTensor(t) ? native.jvpDetach(t) : t);

// The tensors with separate autograd graphs: for those with tangents in levels of forward mode, primals and tangents.
function parts(tensors) {
  return tensors.flatMap((t) => {
    const level = levelOf([t]);
    return level ? parts([native.jvpPrimal(t, level), native.jvpTangent(t, level)]) : [t];
  });
}

// The product of the outputs' Jacobian with tangents of the inputs, for each output; null if it does not depend on these. The product of a
// vector with the Jacobian is linear in the vector: its derivative is the Jacobian.
function products(outputs, inputs, tangents, recorded) {
  if (!outputs.length) return [];
  const vectors = outputs.map((t) => native.zerosLike(t).requiresGrad_());
  const rows = native.autogradGrad(outputs, inputs, vectors, true, true, true, false);
  const live = [...rows.keys()].filter((i) => rows[i]?.requiresGrad);
  if (!live.length) return outputs.map(() => null);
  return native.autogradGrad(live.map((i) => rows[i]), vectors, live.map((i) => tangents[i]), true, recorded, true, false);
}

// Applies a custom function to arguments of which some have tangents in a level.
function pushed(apply, level, args) {
  const before = native.isGradEnabled();
  const inference = native.isInferenceModeEnabled();
  const recorded = before && !inference && parts(args.filter((arg) => native.isTensor(arg))).some((t) => t.requiresGrad);
  const slopes = args.map((arg) => (native.isTensor(arg) ? native.jvpTangent(arg, level) : null));
  const moving = [...slopes.keys()].filter((i) => slopes[i] !== null);
  native.setInferenceMode(false);
  native.setGradEnabled(true);
  try {
    const given = args.map((arg, i) => (slopes[i] === null ? arg : native.jvpInput(native.jvpPrimal(arg, level), recorded)));
    const made = apply(...given);
    const outputs = Array.isArray(made) ? made : [made];
    if (outputs.some((output) => moving.some((i) => output === given[i]))) throw typeError('func.jvp: functions that write to their arguments are not implemented; return another tensor from forward');
    const live = outputs.filter((t) => native.isTensor(t) && t.requiresGrad);
    const tangents = products(live, moving.map((i) => given[i]), moving.map((i) => slopes[i]), recorded);
    const whole = outputs.map((t) => {
      const tangent = tangents[live.indexOf(t)] ?? null;
      const primal = recorded ? t : cut(t);
      return tangent === null ? primal : native.jvpWrap(primal, tangent, level);
    });
    return Array.isArray(made) ? whole : whole[0];
  } finally {
    native.setInferenceMode(inference);
    native.setGradEnabled(before);
  }
}

module.exports = { cut, levelOf, parts, pushed, within };
