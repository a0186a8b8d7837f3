'use strict';

// The objects that the addon's handles live in, and the collection of those that nobody reaches.
const v8 = require('node:v8');
const vm = require('node:vm');

// What comparisons, structuredClone and postMessage see of an object: its elements, as an own property.
const views = {};
// A getter defined so takes a third of the time of one that defineProperty takes a descriptor for.
const defineGetter = Function.prototype.call.bind(Object.prototype.__defineGetter__);

function factory(native, kind) {
  function Made() {}
  Made.prototype = native[kind].prototype;
  function elements() {
    return views[kind](this);
  }
  return () => {
    const made = new Made();
    defineGetter(made, 'elements', elements);
    return made;
  };
}

// V8's collector, which a flag uncovers to contexts made while it is set.
let gc;
function collector() {
  v8.setFlagsFromString('--expose-gc');
  try {
    return vm.runInNewContext('gc');
  } finally {
    if (!globalThis.gc) v8.setFlagsFromString('--no-expose-gc');
  }
}

function collect(all) {
  gc ??= collector();
  gc({ type: all ? 'major' : 'minor' });
}

function install(native) {
  native.install(factory(native, 'Tensor'), factory(native, 'Storage'), factory(native, 'Generator'), factory(native, 'Node'), collect);
  return native;
}

module.exports = { install, views };
