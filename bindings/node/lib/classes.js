'use strict';

// The classes of objects that own library handles. An object has the number of its box, in which the addon keeps the handle (src/box.c): a
// private field, which other code cannot read, copy to another object or change.
const { types } = require('node:util');
const { addon } = require('./addon.js');
const { collect } = require('./collector.js');
const { isForeign, localized, localizeAsync } = require('./realm.js');
const { watch, unwatch } = require('./signals.js');

// Memory shared with the addon, which avoids the cost of arguments and results: numbers of boxes, and the arguments of a call. As in
// src/addon.h.
const cell = new Int32Array(addon.memory, 0, 16);
const numbers = new Float64Array(addon.memory, 64, 16);
// Cells: the box of an object that the addon requested, or its new box; the box of the object being created; the number of recorded
// arguments; whether an error is the addon's; the kinds of the arguments, from this one on; and the box of the handle for the result, 0 for a
// new handle, negative without one.
const [READ, MADE, NOTED, FAILED, KINDS, HANDLE] = [0, 1, 2, 3, 4, 9];
// Kinds of arguments: any, a number, an object of ours, the option out alone.
const [ANY, NUMBER, OWN, OUT] = [0, 1, 2, 3];
const MOST_ARGUMENTS = 4;

// Functions of other files: tensor of lib/create.js.
const late = {};

// What comparisons, structuredClone and postMessage read from an object: its elements, as an own property.
const views = {};
// A getter defined so takes a third of the time of one that defineProperty takes a descriptor for.
const defineGetter = Function.prototype.call.bind(Object.prototype.__defineGetter__);

function throwTypeError(message) {
  throw Object.assign(new TypeError(message), { code: 'TENSOR_ERROR_TYPE' });
}

// The addon's functions, once it is loaded.
let native;
let numberOf, ownNumber, handleOf, setHandle;

// Adds private fields to existing objects: subclass fields are added to the object that the constructor returns.
class Given {
  constructor(object) {
    return object;
  }
}

// Has the number of a box: from 1 on; 0 before it has one; negative of the handles of disposed objects. The addon's finalizer of a result is that of
// its handle, which lives as long as the object. After dispose() another object gets the handle: a finalizer takes as long as a small operator.
class Handle {
  constructor(box) {
    this.box = box;
    this.object = undefined;
  }
}

const idle = [];

class Owner extends Given {
  #handle;

  constructor(object, handle) {
    super(object);
    this.#handle = handle;
  }

  static {
    numberOf = (object) => (#handle in object ? object.#handle.box : 0);
    ownNumber = (value) => (typeof value === 'object' && value !== null ? numberOf(value) : 0);
    handleOf = (object) => object.#handle;
    setHandle = (object, handle) => {
      object.#handle = handle;
    };
  }
}

// The handles of disposed objects, by their kinds.
const gone = [-1, -2, -3, -4].map((box) => new Handle(box));

// Marks an object as disposed. Its handle, if the addon keeps the finalizer, is used again.
function leave(object) {
  const handle = handleOf(object);
  setHandle(object, gone[-1 - cell[READ]]);
  if (cell[HANDLE] <= 0) return;
  handle.object = undefined;
  idle.push(handle);
}

const common = {
  dispose() {
    const box = ownNumber(this);
    if (box === 0) throwTypeError('dispose: the method was used on something else than a tensor, storage, generator or node');
    if (box < 0) return;
    cell[READ] = box;
    native.disposeBox();
    leave(this);
  },

  get disposed() {
    const box = ownNumber(this);
    if (box === 0) throwTypeError('disposed: the property was read of something else than a tensor, storage, generator or node');
    return box < 0;
  },
};

// Whether an object is made by the library, rather than by new.
let making = false;

// Adds the members of a class whose objects the library's functions make. Returns the getter of an object's own property `elements`.
function define(Class, members) {
  for (const source of [common, members]) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(source))) Object.defineProperty(Class.prototype, name, { ...property, enumerable: false });
  }
  return function elements() {
    return views[Class.name](this);
  };
}

// The properties of a tensor, in the addon's order.
const [SHAPE, STRIDES, DTYPE, DEVICE, LAYOUT, NDIM, NUMEL, OFFSET] = [0, 1, 2, 3, 4, 5, 6, 7];
const dtypes = []; // their names by number

function look(tensor, what) {
  const box = ownNumber(tensor);
  if (box === 0) throwTypeError('the property is used on something else than a tensor');
  return native.look(box, what);
}

// Large integers, or many of them, are returned as values of the addon.
function integers(tensor, what) {
  const value = look(tensor, what);
  if (value !== undefined) return value;
  const count = cell[READ];
  if (count === 1) return [numbers[0]];
  if (count === 2) return [numbers[0], numbers[1]];
  const list = [];
  for (let i = 0; i < count; i++) list.push(numbers[i]);
  return list;
}

function integer(tensor, what) {
  return look(tensor, what) ?? numbers[0];
}

const properties = {
  get shape() {
    return integers(this, SHAPE);
  },

  get strides() {
    return integers(this, STRIDES);
  },

  get dtype() {
    return look(this, DTYPE) ?? dtypes[cell[READ]];
  },

  get device() {
    return look(this, DEVICE);
  },

  get layout() {
    return look(this, LAYOUT);
  },

  get ndim() {
    return integer(this, NDIM);
  },

  get numel() {
    return integer(this, NUMEL);
  },

  get storageOffset() {
    return integer(this, OFFSET);
  },
};

class Tensor {
  constructor() {
    if (!making) throwTypeError('Tensor is not constructed with new: use tensor(data), zeros(size) or another function that makes tensors');
  }
}

class Storage {
  constructor() {
    if (!making) throwTypeError('Storage is not constructed with new: use storageNew(nbytes) or tensor.untypedStorage()');
  }
}

class Generator {
  constructor() {
    if (!making) throwTypeError('Generator is not constructed with new: use generatorNew()');
  }
}

class Node {
  constructor() {
    if (!making) throwTypeError('Node is not constructed with new: use tensor.gradFn');
  }
}

// In the order of their kinds.
const classes = [Tensor, Storage, Generator, Node];
const elements = [define(Tensor, properties), define(Storage, {}), define(Generator, {}), define(Node, {})];
const elementsOfTensor = elements[0];

function make(kind, handle) {
  making = true;
  const object = new classes[kind]();
  making = false;
  defineGetter(object, 'elements', elements[kind]);
  return new Owner(object, handle);
}

// The same for tensors alone: engines compile the creation of objects of one class into the caller.
function makeTensor(handle) {
  making = true;
  const object = new Tensor();
  making = false;
  defineGetter(object, 'elements', elementsOfTensor);
  return new Owner(object, handle);
}

const makers = classes.map((_, kind) => () => make(kind, new Handle(cell[MADE])));

// Makes the object of a tensor that the addon is about to make, and announces its handle.
function makeNext() {
  const handle = idle.pop() ?? new Handle(0);
  const object = makeTensor(handle);
  handle.object = object;
  cell[HANDLE] = handle.box;
  return object;
}

// Arrays that only JavaScript recognizes, which are proxies, objects of another copy of the package, and other iterables, except Maps,
// which are converted to arrays.
const [LIST, STRANGER, ITERABLE] = [-1000, -1001, -1002];

// The objects of every copy have it.
const brand = Symbol.for('libtensor.object');
for (const Class of classes) Object.defineProperty(Class.prototype, brand, { value: true });

const isStranger = (value) => typeof value === 'object' && value !== null && value[brand] === true && numberOf(value) === 0;

function kindOf(object) {
  if (Array.isArray(object)) return LIST;
  if (object[brand] === true) return STRANGER;
  return typeof object[Symbol.iterator] === 'function' && !types.isTypedArray(object) && !types.isMap(object) ? ITERABLE : 0;
}

function read(object) {
  cell[READ] = numberOf(object) || kindOf(object);
}

const isIterable = (value) => typeof value === 'object' && value !== null && numberOf(value) === 0 && kindOf(value) === ITERABLE;

// Converts an iterable to an array; returns other values unchanged.
const listed = (value) => (isIterable(value) ? Array.from(value) : value);

// Marks an object that is disposed with its scope, which the addon knows by its handle or itself.
function write(owner) {
  leave(owner instanceof Handle ? owner.object : owner);
}

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

// Records the type of an argument; returns the value to pass to the addon.
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
    numbers[at] = ownNumber(out);
    return out;
  }
  return value;
}

// The object of a tensor that the addon has just made.
function owned(made) {
  handleOf(made).box = cell[MADE];
  return made;
}

// Items of an index, four numbers each: kinds as in include/tensor.h, and NaN for omitted parts of a slice.
const [INT, SLICE, NEW_AXIS, ELLIPSIS] = [0, 1, 2, 3];
const MOST_ITEMS = numbers.length / 4;
let reads = 0; // of indices: getters of a slice may make calls

function bound(value) {
  if (value === null || value === undefined) return NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

function noteItem(at, item) {
  if (typeof item === 'number') {
    if (!Number.isSafeInteger(item)) return false;
    numbers[at] = INT;
    numbers[at + 1] = item;
    return true;
  }
  if (item === null) numbers[at] = NEW_AXIS;
  else if (item === '...') numbers[at] = ELLIPSIS;
  else if (typeof item !== 'object' || numberOf(item) !== 0 || item.kind !== 'slice') return false;
  else {
    const start = bound(item.start);
    const stop = bound(item.stop);
    const step = bound(item.step);
    if (start === undefined || stop === undefined || step === undefined) return false;
    numbers[at] = SLICE;
    numbers[at + 1] = start;
    numbers[at + 2] = stop;
    numbers[at + 3] = step;
  }
  return true;
}

// Evaluates a basic index of few items; returns undefined for others, which are not recorded yet.
function indexed(tensor, items) {
  if (items.length > MOST_ITEMS) return undefined;
  const read = ++reads;
  for (let i = 0; i < items.length; i++) if (!noteItem(4 * i, items[i])) return undefined;
  if (reads !== read) return undefined;
  const made = makeNext();
  native.indexNoted(ownNumber(tensor), items.length, handleOf(made));
  return owned(made);
}

// A function of the addon that records its arguments if they are few. One that returns a tensor is passed the object for it after the
// arguments. The stack of an error begins at the call of the function.
function noting(call, makes) {
  return function noted(a, b, c, d) {
    const count = arguments.length;
    cell[FAILED] = 0;
    try {
      if (count > MOST_ARGUMENTS) return Reflect.apply(call, this, arguments);
      // The getters of options come first: they may make calls, which record other arguments.
      if (count > 3) d = note(4, d, true);
      if (count > 2) c = note(3, c, count === 3);
      if (count > 1) b = note(2, b, count === 2);
      if (count > 0) a = note(1, a, count === 1);
      note(0, this, false);
      cell[NOTED] = count + 1;
      let made, handle;
      if (makes && cell[KINDS + count] !== OUT) {
        made = makeNext();
        handle = handleOf(made);
      } else {
        cell[HANDLE] = -1;
      }
      let value;
      if (count === 1) value = call.call(this, a, handle);
      else if (count === 0) value = call.call(this, handle);
      else if (count === 2) value = call.call(this, a, b, handle);
      else if (count === 3) value = call.call(this, a, b, c, handle);
      else value = call.call(this, a, b, c, d, handle);
      if (cell[MADE] !== 0) return owned(made);
      return isForeign && !makes ? localized(value) : value;
    } catch (error) {
      if (cell[FAILED]) Error.captureStackTrace(error, noted);
      cell[FAILED] = 0;
      throw error;
    }
  };
}

const kinds = [Error, RangeError, TypeError];

// An error of the addon's.
function fail(kind, code, message) {
  return Object.assign(new kinds[kind](message), { code });
}

// Node and its relatives let a reference go while a finalizer is waiting for its object; others need it until that has run.
const isEager = !process.versions.deno && !process.versions.bun;

// The parts of this file that the addon keeps. It holds them through one weak scope, which tensors keep alive.
const toTensor = (array, op, asIndices) => late.tensor(array, op, asIndices);
const parts = { classes, makers, read, write, collect, noting, dtypes, watch, unwatch, toTensor, list: Array.from, fail, isEager };

function install() {
  native = {};
  addon.install(native, parts);
  if (isForeign) for (const place of [native, ...classes.map((Class) => Class.prototype)]) localizeAsync(place);
  return native;
}

module.exports = { indexed, install, isIterable, isStranger, late, listed, ownNumber: (value) => ownNumber(value), views };
