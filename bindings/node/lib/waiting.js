'use strict';

// Waiting for asynchronous calls.
const native = require('./native.js');
const { kindOf, typeError } = require('./options.js');

// A promise that resolves when asynchronous calls no longer use the tensors, by default when all have ended, including aborted ones.
async function settled(...tensors) {
  for (const t of tensors) if (!native.isTensor(t)) throw typeError(`settled: the arguments must be tensors, not ${kindOf(t)}`);
  await native.settled(tensors);
}

module.exports = { settled };
