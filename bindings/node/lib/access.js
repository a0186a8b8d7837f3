'use strict';

// Reading and writing of elements: the methods of Tensor that exchange arrays with JavaScript.
const { inspect } = require('node:util');
const native = require('./native.js');
const { tensor, views } = require('./create.js');

const { Tensor } = native;

const isSafe = (n) => n <= Number.MAX_SAFE_INTEGER && n >= Number.MIN_SAFE_INTEGER;

// Elements as JavaScript sees them, by dtype.
const readers = {
  bool: (array, i) => array[i] !== 0,
  int64: (array, i) => (isSafe(array[i]) ? Number(array[i]) : array[i]),
  complex64: (array, i) => ({ re: array[2 * i], im: array[2 * i + 1] }),
  complex128: (array, i) => ({ re: array[2 * i], im: array[2 * i + 1] }),
};
const plain = (array, i) => array[i];

// 16-bit floats are widened by the library.
const wide = { float16: 'float32', bfloat16: 'float32', complex32: 'complex64' };

function slice(start = null, stop = null, step = null) {
  return { start, stop, step, kind: 'slice' };
}

// Calls fn with t in a form that fits what is needed, and disposes that form when it is another tensor.
function withForm(t, form, fn) {
  try {
    return fn(form);
  } finally {
    if (form !== t) form.dispose();
  }
}

// Arrays in an index are positions or masks: tensors.
function withItems(items, fn) {
  const made = [];
  try {
    return fn(
      items.map((item) => {
        if (!Array.isArray(item) && !ArrayBuffer.isView(item)) return item;
        made.push(tensor(item, Array.isArray(item) && item.length === 0 ? { dtype: 'int64' } : {}));
        return made.at(-1);
      }),
    );
  } finally {
    for (const t of made) t.dispose();
  }
}

// The elements in row-major order.
function elements(t, share) {
  const memory = native.memoryOf(t, share);
  if (memory) return new views[t.dtype](memory);
  return withForm(t, t.contiguous(), (dense) => elements(dense, share));
}

const methods = {
  data() {
    return elements(this, true);
  },

  toArray() {
    const { shape, dtype } = this;
    if (wide[dtype]) return withForm(this, this.to({ dtype: wide[dtype] }), (t) => t.toArray());
    const array = elements(this, false);
    const read = readers[dtype] ?? plain;
    let next = 0;
    const build = (depth) => {
      if (depth === shape.length) return read(array, next++);
      return Array.from({ length: shape[depth] }, () => build(depth + 1));
    };
    return build(0);
  },

  at(...items) {
    return withItems(items, (index) => this.indexGet(index));
  },

  get(index) {
    return this.indexGet(index);
  },

  set(index, value) {
    const items = typeof index === 'string' ? index.split(',') : Array.isArray(index) ? index : [index];
    const made = Array.isArray(value) || ArrayBuffer.isView(value) ? tensor(value) : undefined;
    try {
      const from = made ?? value;
      withItems(items, (all) => (native.isTensor(from) ? this.indexSet_(all, from) : this.indexSetScalar_(all, from)));
    } finally {
      made?.dispose();
    }
    return this;
  },

  toString(options = {}) {
    return native.toString(this, options);
  },

  [inspect.custom]() {
    return this.disposed ? 'Tensor (disposed)' : native.toString(this);
  },
};

for (const name of Reflect.ownKeys(methods)) {
  Object.defineProperty(Tensor.prototype, name, { value: methods[name], writable: true, configurable: true });
}
for (const Class of [Tensor, native.Storage, native.Generator]) {
  if (Symbol.dispose) Object.defineProperty(Class.prototype, Symbol.dispose, { value: Class.prototype.dispose, writable: true, configurable: true });
}

module.exports = { slice };
