'use strict';

// Short forms of operators, and queries that a tensor's properties answer.
const native = require('./native.js');
const { checks } = require('./numbers.js');
const { define, inNameOf, kindOf, typeError, valueError } = require('./options.js');

const { Tensor } = native;

const casts = {
  half: 'float16',
  bfloat16: 'bfloat16',
  float: 'float32',
  double: 'float64',
  char: 'int8',
  byte: 'uint8',
  short: 'int16',
  int: 'int32',
  long: 'int64',
  bool: 'bool',
  chalf: 'complex32',
  cfloat: 'complex64',
  cdouble: 'complex128',
};

for (const [name, dtype] of Object.entries(casts))
  define(Tensor, {
    [name](options = {}) {
      return this.to(dtype, options);
    },
  });

// Attributes of PyTorch.
for (const name of ['T', 'mT', 'H', 'mH']) {
  const view = Tensor.prototype[name];
  define(Tensor, {
    get [name]() {
      return view.call(this);
    },
  });
}

define(Tensor, {
  cpu() {
    return this.to('cpu');
  },
  typeAs(other) {
    return this.to({ dtype: tensorOf('typeAs', other).dtype, device: other.device });
  },
  where(condition, other) {
    return native.where(condition, this, other);
  },
  polygamma(n) {
    return native.polygamma(n, this);
  },
  polygamma_(n) {
    return native.polygamma(n, this, { out: this });
  },
  isComplex() {
    return checks.isComplexDtype(this.dtype);
  },
  isFloatingPoint() {
    return checks.isFloatingDtype(this.dtype);
  },
  isSigned() {
    return checks.isSignedDtype(this.dtype);
  },
  get real() {
    return this.isComplex() ? native.real(this) : this;
  },
  get imag() {
    return native.imag(this);
  },
  get itemsize() {
    return native.dtypeSize(this.dtype);
  },
  get nbytes() {
    return this.numel * this.itemsize;
  },
  get isMeta() {
    return this.device === 'meta';
  },
  get isCuda() {
    return this.device.startsWith('cuda');
  },
  get isCpu() {
    return this.device === 'cpu';
  },
  get isSparse() {
    return this.layout === 'sparse_coo';
  },
  get isSparseCsr() {
    return this.layout === 'sparse_csr';
  },
});

function tensorOf(op, value) {
  if (!native.isTensor(value)) throw typeError(`${op}: the argument must be a tensor, not ${kindOf(value)}`);
  return value;
}

const isComplex = (input) => tensorOf('isComplex', input).isComplex();
const isFloatingPoint = (input) => tensorOf('isFloatingPoint', input).isFloatingPoint();
const isSigned = (input) => tensorOf('isSigned', input).isSigned();
const numel = (input) => tensorOf('numel', input).numel;
const isInference = (input) => tensorOf('isInference', input).isInference();
const isStorage = (value) => value instanceof native.Storage;

// Tensors of the compressed layouts, each of which has a separate function.
const compressed = (op, layout) => (...args) => {
  const last = args.at(-1);
  const isGiven = typeof last === 'object' && last !== null && !native.isTensor(last) && !Array.isArray(last) && !ArrayBuffer.isView(last);
  return inNameOf(op, () => native.sparseCompressedTensor(...(isGiven ? args.slice(0, -1) : args), { ...(isGiven && last), layout }));
};

const sparse = {
  sparseCsrTensor: compressed('sparseCsrTensor', 'sparse_csr'),
  sparseCscTensor: compressed('sparseCscTensor', 'sparse_csc'),
  sparseBsrTensor: compressed('sparseBsrTensor', 'sparse_bsr'),
  sparseBscTensor: compressed('sparseBscTensor', 'sparse_bsc'),
};

// The shape that shapes broadcast to.
const broadcastShapes = (...shapes) => inNameOf('broadcastShapes', () => broadcast(shapes));

function broadcast(shapes) {
  const strange = shapes.find((shape) => typeof shape !== 'number' && typeof shape?.[Symbol.iterator] !== 'function');
  if (strange !== undefined) throw typeError(`broadcastShapes: the shapes must be arrays of integers, not ${kindOf(strange)}`);
  const lists = shapes.map((shape) => (typeof shape === 'object' && shape !== null ? Array.from(shape) : [shape]));
  const made = new Array(Math.max(0, ...lists.map((list) => list.length))).fill(1);
  for (const list of lists) {
    for (let i = 1; i <= list.length; i++) {
      const size = list.at(-i);
      if (typeof size !== 'number') throw typeError(`broadcastShapes: the shapes must contain integers, not ${kindOf(size)}`);
      if (!Number.isSafeInteger(size) || size < 0) throw valueError(`broadcastShapes: ${size} is not a valid size; sizes must be non-negative integers`);
      const other = made.at(-i);
      if (size !== 1 && other !== 1 && size !== other) throw valueError(`broadcastShapes: ${lists.map((shape) => `[${shape}]`).join(', ')} cannot be broadcast: ${other} and ${size} differ`);
      if (size !== 1) made[made.length - i] = size;
    }
  }
  return made;
}

module.exports = { ...sparse, broadcastShapes, isComplex, isFloatingPoint, isInference, isSigned, isStorage, numel };
