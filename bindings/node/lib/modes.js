'use strict';

// Modes of the thread.
const native = require('./native.js');
const { checkFunction, immediate } = require('./graph.js');

// Calls fn under a mode of the thread, and restores the mode afterwards.
function under(op, set, enabled, fn) {
  checkFunction(op, fn);
  const grad = native.isGradEnabled();
  const inference = native.isInferenceModeEnabled();
  set(enabled);
  try {
    return immediate(op, fn());
  } finally {
    native.setInferenceMode(inference); // which sets the other mode too
    native.setGradEnabled(grad);
  }
}

const noGrad = (fn) => under('noGrad', native.setGradEnabled, false, fn);
const enableGrad = (fn) => under('enableGrad', native.setGradEnabled, true, fn);
const inferenceMode = (fn) => under('inferenceMode', native.setInferenceMode, true, fn);

module.exports = { enableGrad, inferenceMode, noGrad };
