'use strict';

// Waiting for asynchronous calls.
const native = require('./native.js');
const { kindOf, typeError } = require('./options.js');

// A promise that is kept when asynchronous calls are done with the tensors, or, where none are given, with all: also those that were
// aborted.
async function settled(...tensors) {
  for (const t of tensors) if (!native.isTensor(t)) throw typeError(`settled: the arguments must be tensors, not ${kindOf(t)}`);
  await native.settled(tensors);
}

module.exports = { settled };
