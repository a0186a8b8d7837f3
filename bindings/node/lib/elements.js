'use strict';

// A tensor as plain values and back: the form that comparisons, structuredClone and postMessage use, and that lt.tensor reads.
const native = require('./native.js');
const dtypes = require('./gen_dtypes.js');
const memory = require('./memory.js');
const { inNameOf, isDtype, typeError } = require('./options.js');

// The typed arrays that show the elements of each dtype.
const views = Object.fromEntries(Object.entries(dtypes).map(([name, { array }]) => [name, array]));

// Calls fn with t in the requested form, and disposes that form if it is another tensor.
function withForm(t, form, fn) {
  try {
    return fn(form);
  } finally {
    if (form !== t) form.dispose();
  }
}

// The elements of a dense tensor in row-major order.
function elements(t, share) {
  const { dtype } = t;
  const View = views[dtype];
  if (!View) throw typeError(`elements: dtype ${dtype} has no typed array; use dequantize() or intRepr()`);
  const found = native.memoryOf(t, share);
  if (memory.isTyped(found)) return new View(found.buffer, found.byteOffset, found.byteLength / View.BYTES_PER_ELEMENT);
  if (found) return new View(found);
  return withForm(t, t.resolveConj().resolveNeg().contiguous(), (dense) => elements(dense, share));
}

// The parts of each layout, by the functions that return them, and the constructor from them.
const coo = { parts: ['indices', 'values'], make: (parts, options) => native.sparseCooTensor(parts.indices, parts.values, options) };
const rows = { parts: ['crowIndices', 'colIndices', 'values'], make: (parts, options) => native.sparseCompressedTensor(parts.crowIndices, parts.colIndices, parts.values, options) };
const columns = { parts: ['ccolIndices', 'rowIndices', 'values'], make: (parts, options) => native.sparseCompressedTensor(parts.ccolIndices, parts.rowIndices, parts.values, options) };
const layouts = { sparse_coo: coo, sparse_csr: rows, sparse_bsr: rows, sparse_csc: columns, sparse_bsc: columns };

function partsOf(t, names) {
  const found = {};
  for (const name of names) found[name] = withForm(undefined, t[name](), shown);
  return found;
}

function sparse(t, layout) {
  if (layout !== 'sparse_coo') return { layout, ...partsOf(t, layouts[layout].parts) };
  return withForm(undefined, t.detach(), (plain) => withForm(plain, plain.coalesce(), (sorted) => ({ layout, ...partsOf(sorted, coo.parts) })));
}

// On the meta device there are no integers.
function quantized(t, device) {
  const qscheme = t.qscheme();
  const values = device === 'meta' ? null : withForm(undefined, t.intRepr(), (integers) => elements(integers, false));
  if (qscheme.startsWith('per_tensor')) return { qscheme, scale: t.qScale(), zeroPoint: t.qZeroPoint(), values };
  const channels = { scales: 'qPerChannelScales', zeroPoints: 'qPerChannelZeroPoints' };
  for (const [name, method] of Object.entries(channels)) channels[name] = withForm(undefined, t[method](), shown);
  return { qscheme, axis: t.qPerChannelAxis(), ...channels, values };
}

function content(t, device, layout) {
  if (layout !== 'strided') return sparse(t, layout);
  if (t.isQuantized()) return { ...(device !== 'cpu' && { device }), ...quantized(t, device) };
  if (device === 'meta') return { device, values: null };
  if (device === 'cpu') return { values: elements(t, false) };
  return { device, values: withForm(undefined, t.to('cpu'), (copy) => elements(copy, false)) };
}

// The visible properties of a tensor; names and requiresGrad only if set.
function shown(t) {
  return inNameOf('elements', () => {
    const { dtype, shape, device, layout } = t;
    const made = { dtype, shape, ...content(t, device, layout) };
    const names = native.names(t);
    if (names.some(Boolean)) made.names = names.map((name) => name || null);
    if (native.requiresGrad(t)) made.requiresGrad = true;
    return made;
  });
}

// Whether an object is the structuredClone, or postMessage, form of a tensor.
function isShown(data) {
  const found = typeof data === 'object' && data !== null && !native.isTensor(data) ? data.elements : undefined;
  if (typeof found !== 'object' || found === null) return false;
  if (!isDtype(found.dtype) || !Array.isArray(found.shape)) return false;
  return memory.isTyped(found.values) || found.values === null || found.layout in layouts;
}

// Returns a tensor from its visible properties: fromTyped creates dense ones.
function restored(op, found, fromTyped) {
  const { dtype, shape, device, layout } = found;
  if (layout in layouts) return fromParts(op, found, layouts[layout], fromTyped);
  if (found.qscheme !== undefined) return requantized(op, found, fromTyped);
  if (found.values === null) return native.empty(shape, { dtype, device: 'meta' });
  const made = fromTyped(found.values, { dtype, shape });
  if (device === undefined) return made;
  return withForm(undefined, made, (copy) => copy.to(device));
}

function fromParts(op, found, { parts, make }, fromTyped) {
  const made = {};
  try {
    for (const name of parts) made[name] = restored(op, found[name], fromTyped);
    const options = { size: found.shape, dtype: found.dtype };
    return make(made, found.layout === 'sparse_coo' ? { ...options, isCoalesced: true } : { ...options, layout: found.layout });
  } finally {
    for (const part of Object.values(made)) part.dispose();
  }
}

const integersOf = { quint8: 'uint8', qint8: 'int8', qint32: 'int32' };

function requantized(op, found, fromTyped) {
  const temporary = [];
  const keep = (t) => {
    temporary.push(t);
    return t;
  };
  try {
    const integers = keep(restored(op, { ...found, qscheme: undefined, dtype: integersOf[found.dtype] ?? 'uint8' }, fromTyped));
    if (found.axis === undefined) return native.makePerTensorQuantizedTensor(integers, found.scale, found.zeroPoint);
    return native.makePerChannelQuantizedTensor(integers, keep(restored(op, found.scales, fromTyped)), keep(restored(op, found.zeroPoints, fromTyped)), found.axis);
  } finally {
    for (const t of temporary) t.dispose();
  }
}

module.exports = { elements, isShown, restored, shown, views, withForm };
