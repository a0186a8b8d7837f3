'use strict';

// The classes of objects that own handles of the library's. An object has the number of its box, in which the addon keeps the handle
// (src/box.c): a private field, which nobody else can read, give to another object or change.
const v8 = require('node:v8');
const vm = require('node:vm');

// Where the addon and the classes hand each other numbers of boxes, which takes less time than arguments and results do: READ has that of
// an object that the addon asked for, or is to have; MADE that of the object which is being made.
const cell = new Int32Array(new ArrayBuffer(8));
const [READ, MADE] = [0, 1];

// What comparisons, structuredClone and postMessage see of an object: its elements, as an own property.
const views = {};
// A getter defined so takes a third of the time of one that defineProperty takes a descriptor for.
const defineGetter = Function.prototype.call.bind(Object.prototype.__defineGetter__);

const instead = {
  Tensor: 'tensor(data), zeros(size) or another function that makes tensors',
  Storage: 'storageNew(nbytes) or tensor.untypedStorage()',
  Generator: 'generatorNew()',
  Node: 'tensor.gradFn',
};

function refuse(message) {
  throw Object.assign(new TypeError(message), { code: 'TENSOR_ERROR_TYPE' });
}

// The addon's functions, once it is loaded.
let native;
let read, write;

class Owner {
  // From 1 on; negative once the object was disposed, by its kind.
  #box;

  constructor(elements) {
    const box = cell[MADE];
    cell[MADE] = 0;
    if (box <= 0) refuse(`${new.target.name} is not constructed with new: use ${instead[new.target.name] ?? 'the functions of libtensor'}`);
    defineGetter(this, 'elements', elements);
    this.#box = box;
  }

  dispose() {
    if (!(#box in this)) refuse('dispose: the method was used on something else than a tensor, storage, generator or node');
    const box = this.#box;
    if (box < 0) return;
    native.disposeBox(box);
    this.#box = cell[READ];
  }

  get disposed() {
    if (!(#box in this)) refuse('disposed: the property was read of something else than a tensor, storage, generator or node');
    return this.#box < 0;
  }

  static {
    read = (object) => {
      cell[READ] = #box in object ? object.#box : 0;
    };
    write = (object) => {
      object.#box = cell[READ];
    };
  }
}

function elementsOf(kind) {
  return function elements() {
    return views[kind](this);
  };
}

const elements = { Tensor: elementsOf('Tensor'), Storage: elementsOf('Storage'), Generator: elementsOf('Generator'), Node: elementsOf('Node') };

class Tensor extends Owner {
  constructor() {
    super(elements.Tensor);
  }
}

class Storage extends Owner {
  constructor() {
    super(elements.Storage);
  }
}

class Generator extends Owner {
  constructor() {
    super(elements.Generator);
  }
}

class Node extends Owner {
  constructor() {
    super(elements.Node);
  }
}

// In the order of their kinds.
const classes = [Tensor, Storage, Generator, Node];
const makers = [() => new Tensor(), () => new Storage(), () => new Generator(), () => new Node()];

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

function install(addon) {
  native = addon;
  // An addon that is loaded already has the classes of before.
  if (!addon.Tensor) addon.install(addon, classes, makers, read, write, cell, collect);
  return addon;
}

module.exports = { install, views };
