'use strict';

// The classes of objects that own handles of the library's. An object has the number of its box, in which the addon keeps the handle
// (src/box.c): a private field, which nobody else can read, give to another object or change.
const v8 = require('node:v8');
const vm = require('node:vm');

// What the addon and this file hand each other without the time that arguments and results take: numbers of boxes, and what the
// arguments of a call are. As in src/addon.h.
const memory = new ArrayBuffer(192);
const cell = new Int32Array(memory, 0, 16);
const numbers = new Float64Array(memory, 64, 16);
// An object's box that the addon asked for, or is to have; that of the object which is being made; how many arguments were noted; and
// their kinds, from this one on.
const [READ, MADE, NOTED, KINDS] = [0, 1, 2, 4];
// Kinds of arguments: any, a number, an object of ours, the option out alone.
const [ANY, NUMBER, OWN, OUT] = [0, 1, 2, 3];

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
let read, write, numberOf;

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
    numberOf = (object) => (#box in object ? object.#box : 0);
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

// What a look at a tensor tells, in the addon's order.
const [SHAPE, STRIDES, DTYPE, DEVICE, LAYOUT, NDIM, NUMEL, OFFSET] = [0, 1, 2, 3, 4, 5, 6, 7];
const dtypes = []; // their names by number

// Numbers that are too many, or too large, come as values of the addon's.
function integers(tensor, what) {
  const value = native.look(numberOf(tensor), what);
  if (value !== undefined) return value;
  const count = cell[READ];
  if (count === 1) return [numbers[0]];
  if (count === 2) return [numbers[0], numbers[1]];
  const list = [];
  for (let i = 0; i < count; i++) list.push(numbers[i]);
  return list;
}

function integer(tensor, what) {
  return native.look(numberOf(tensor), what) ?? numbers[0];
}

class Tensor extends Owner {
  constructor() {
    super(elements.Tensor);
  }

  get shape() {
    return integers(this, SHAPE);
  }

  get strides() {
    return integers(this, STRIDES);
  }

  get dtype() {
    return native.look(numberOf(this), DTYPE) ?? dtypes[cell[READ]];
  }

  get device() {
    return native.look(numberOf(this), DEVICE);
  }

  get layout() {
    return native.look(numberOf(this), LAYOUT);
  }

  get ndim() {
    return integer(this, NDIM);
  }

  get numel() {
    return integer(this, NUMEL);
  }

  get storageOffset() {
    return integer(this, OFFSET);
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

// -----------------------------------------------------------------------------------------------------------------------------
// calls

// Options that are only { out }, which the addon then need not read.
function hasOutAlone(value) {
  let found = false;
  for (const name in value) {
    if (name !== 'out') return false;
    found = true;
  }
  return found;
}

// Notes what an argument is; gives what the addon is to have in its place.
function note(at, value, last) {
  if (typeof value === 'number') {
    cell[KINDS + at] = NUMBER;
    numbers[at] = value;
    return value;
  }
  cell[KINDS + at] = ANY;
  if (typeof value !== 'object' || value === null) return value;
  const box = numberOf(value);
  if (box !== 0) {
    cell[KINDS + at] = OWN;
    numbers[at] = box;
  } else if (last && !Array.isArray(value) && !ArrayBuffer.isView(value) && hasOutAlone(value)) {
    const { out } = value; // whose getter may make calls
    cell[KINDS + at] = OUT;
    return out;
  }
  return value;
}

// What a call gave: a value, or the number of a tensor's box.
function finish(value) {
  if (cell[MADE] <= 0) return value;
  const made = new Tensor();
  native.own(made);
  return made;
}

// A function of the addon's that notes its arguments where they are few.
function noting(call) {
  return function (a, b, c, d) {
    const count = arguments.length;
    if (count > 4) return finish(Reflect.apply(call, this, arguments));
    // Of what is noted the getters of options must not be the first: they may make calls.
    if (count > 3) d = note(4, d, true);
    if (count > 2) c = note(3, c, count === 3);
    if (count > 1) b = note(2, b, count === 2);
    if (count > 0) a = note(1, a, count === 1);
    note(0, this, false);
    cell[NOTED] = count + 1;
    if (count === 0) return finish(call.call(this));
    if (count === 1) return finish(call.call(this, a));
    if (count === 2) return finish(call.call(this, a, b));
    if (count === 3) return finish(call.call(this, a, b, c));
    return finish(call.call(this, a, b, c, d));
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

function install(addon) {
  native = addon;
  // An addon that is loaded already has the classes of before.
  if (!addon.Tensor) addon.install(addon, { classes, makers, read, write, cell, collect, noting, dtypes });
  return addon;
}

module.exports = { install, views };
