'use strict';

// vmap: a function is called once for all examples along a dimension of its arguments. Those are tensors, or arrays and plain objects of them.
const native = require('./native.js');
const { checkFunction, immediate } = require('./graph.js');
const { kindOf, read, typeError, valueError } = require('./options.js');

const isStructure = (tree) => typeof tree === 'object' && tree !== null && !native.isTensor(tree);

// A structure with each of its tensors mapped, by a function that also receives the corresponding tensors of others.
function mapped(change, tree, ...others) {
  if (Array.isArray(tree)) return tree.map((item, i) => mapped(change, item, ...others.map((other) => other[i])));
  if (!isStructure(tree)) return change(tree, ...others);
  return Object.fromEntries(Object.entries(tree).map(([key, item]) => [key, mapped(change, item, ...others.map((other) => other[key]))]));
}

function leaves(tree) {
  const found = [];
  mapped((leaf) => found.push(leaf), tree);
  return found;
}

function refilled(tree, values) {
  const next = values[Symbol.iterator]();
  return mapped(() => next.next().value, tree);
}

// Dimensions for each leaf of a structure, of which one can represent a whole part; undefined where the forms differ.
function spread(dims, tree) {
  if (dims === null || Number.isInteger(dims)) return leaves(tree).map(() => dims);
  if (!isStructure(dims) || !isStructure(tree) || Array.isArray(dims) !== Array.isArray(tree)) return undefined;
  const keys = Object.keys(tree);
  if (Object.keys(dims).length !== keys.length || keys.some((key) => !(key in dims))) return undefined;
  const parts = keys.map((key) => spread(dims[key], tree[key]));
  return parts.includes(undefined) ? undefined : parts.flat();
}

// The dimensions that each of the arguments is mapped over along, and how many examples there are.
function examples(args, inDims) {
  if (args.length === 0) throw typeError('func.vmap: the function must be called with at least one argument');
  const dims = spread(inDims, args);
  if (dims === undefined) throw valueError(`func.vmap: inDims ${JSON.stringify(inDims)} does not have the structure of the arguments`);
  const sizes = [];
  leaves(args).forEach((t, i) => {
    if (dims[i] === null) return;
    if (!native.isTensor(t)) throw typeError(`func.vmap: only tensors can be mapped over, not ${kindOf(t)}; use null for it in inDims`);
    const n = t.ndim;
    if (dims[i] < -n || dims[i] >= n) throw valueError(`func.vmap: inDims has ${dims[i]} for a tensor of shape [${t.shape}]; it must be from ${-n} to ${n - 1}`);
    if (dims[i] < 0) dims[i] += n;
    sizes.push(t.shape[dims[i]]);
  });
  if (sizes.length === 0) throw valueError('func.vmap: inDims must have a dimension for at least one argument');
  if (sizes.some((size) => size !== sizes[0])) throw valueError(`func.vmap: the mapped dimensions must have the same size, but have sizes ${sizes.join(', ')}`);
  return { dims, size: sizes[0] };
}

// The results of the function for a batch, and the batch dimension of each.
function results(fn, args, given, dims, size, { outDims, randomness }) {
  const level = native.vmapBegin(size, randomness);
  try {
    const wrapped = given.map((t, i) => (dims[i] === null ? t : native.vmapWrap(t, dims[i], level)));
    const output = immediate('func.vmap', fn(...refilled(args, wrapped)));
    const places = spread(outDims, output);
    if (places === undefined) throw valueError(`func.vmap: outDims ${JSON.stringify(outDims)} does not have the structure of the results`);
    const made = leaves(output).map((t, i) => {
      if (places[i] === null) {
        if (native.isTensor(t) && native.vmapMaps(t, level)) throw valueError('func.vmap: outDims is null for a batched result');
        return t;
      }
      if (!native.isTensor(t)) throw typeError(`func.vmap: the function must return tensors, not ${kindOf(t)}; use null for it in outDims`);
      return native.vmapUnwrap(t, places[i], level);
    });
    return { output, made, places };
  } finally {
    native.vmapEnd(level);
  }
}

function vmap(fn, options) {
  checkFunction('func.vmap', fn);
  const { inDims = 0, outDims: places = 0, randomness = 'error', chunkSize } = read('func.vmap', options, ['inDims', 'outDims', 'randomness', 'chunkSize']);
  const outDims = options && options.outDims === null ? null : places;
  if (!['error', 'different', 'same'].includes(randomness)) throw valueError(`func.vmap: randomness must be 'error', 'different' or 'same', not ${String(randomness)}`);
  if (chunkSize !== undefined && !(chunkSize > 0)) throw valueError(`func.vmap: chunkSize must be positive, but is ${String(chunkSize)}`);
  return (...args) => {
    const { dims, size } = examples(args, inDims);
    const given = leaves(args);
    const step = chunkSize === undefined ? Math.max(size, 1) : chunkSize;
    const parts = [];
    const generator = randomness === 'same' && step < size ? native.defaultGenerator() : null;
    const drawn = generator && generator.getState();
    for (let start = 0; start === 0 || start < size; start += step) {
      if (generator) generator.setState(drawn);
      const n = Math.min(step, size - start);
      const some = n === size ? given : given.map((t, i) => (dims[i] === null ? t : t.narrow(dims[i], start, n)));
      parts.push(results(fn, args, some, dims, n, { outDims, randomness }));
    }
    const { output, places } = parts[0];
    if (parts.length === 1) return refilled(output, parts[0].made);
    return refilled(output, places.map((dim, i) => (dim === null ? parts[0].made[i] : native.cat(parts.map((part) => part.made[i]), dim))));
  };
}

module.exports = { leaves, mapped, refilled, vmap };
