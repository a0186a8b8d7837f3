'use strict';

// The runtime's collector of garbage, as far as a program can have it.
const v8 = require('node:v8');
const vm = require('node:vm');

let gc;

// V8's, which a flag uncovers to contexts made while it is set.
function ofV8() {
  v8.setFlagsFromString('--expose-gc');
  try {
    return vm.runInNewContext('gc');
  } finally {
    if (!globalThis.gc) v8.setFlagsFromString('--no-expose-gc');
  }
}

function find() {
  if (globalThis.Bun) return () => globalThis.Bun.gc(true);
  try {
    const found = ofV8();
    return (all) => found({ type: all ? 'major' : 'minor' });
  } catch {
    return () => {}; // the runtime decides when to collect
  }
}

// Collects all garbage, or that of young objects alone.
function collect(all) {
  gc ??= find();
  gc(all);
}

module.exports = { collect };
