'use strict';

// The functions of the Python package exist in the Node package under their camelCase names; exceptions have a reason.
const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { test } = require('node:test');
const lt = require('..');

const camel = (name) => name.replace(/(?<=[a-z0-9])_+([a-z0-9])/g, (_, c) => c.toUpperCase());

// The public functions, or for an indentation the members of classes, in a file of declarations.
function declared(file, indent = '') {
  const text = readFileSync(join(__dirname, '../../python/libtensor', file), 'utf8');
  const found = text.matchAll(new RegExp(`^${indent}(?:def|class) ([A-Za-z]\\w*)`, 'gm'));
  return new Set(Array.from(found, (match) => match[1]));
}

// Names that stay away, by the reason.
const reasons = {
  'the names of properties and of other methods in JavaScript': ['size', 'stride', 'dim', 'ndimension', 'nelement', 'element_size', 'get_device', 'has_names', 'tolist', 'type', 'numpy', 'storage', 'storage_type', 'typename', 'new', 'new_tensor', 'untyped', 'to_dlpack', 'asarray'],
  'memory of Python objects, and addresses': ['data_ptr', 'from_numpy', 'frombuffer', 'from_dlpack', 'from_arrow', 'from_buffer', 'from_file', 'cuda', 'to', 'cpu', 'device'],
  'ways of Python to call functions and to make classes': ['apply_', 'map_', 'map2_', 'as_subclass', 'is_distributed', 'dim_order', 'OutOfMemoryError', 'ForkedError', 'SupportsRead', 'SupportsWrite', 'set_default_tensor_type'],
  'pictures for notebooks': ['draw'],
  'modules, which are Python classes': ['norm_except_dim', 'functional_call', 'stack_module_state', 'replace_all_batch_norm_modules_', 'module_load'],
  'for compilers of Python': ['functionalize', 'SymBool', 'SymFloat', 'SymInt'],
  'files of NumPy, which JavaScript has none of': ['save_npy', 'load_npy', 'save_npz', 'load_npz'],
  'rejected in Python, too': ['graphsafe_get_state', 'graphsafe_set_state', 'philox_state'],
  'for tests of the library': ['fail_allocation'],
  'the same as clone': ['clone_state'],
  'names by which packages of Python know arrays': ['astype', 'conjugate', 'strides', 'to_numpy', 'tobytes', 'to_device'],
};
const away = new Set(Object.values(reasons).flat());
// Typed storages and legacy classes: a storage has bytes, whose types are tensors'.
const legacy = /^(Q?U?(Double|Float|Half|BFloat16|Long|Int\d*|Short|Char|Byte|Bool|Complex\w+|QU?Int\w*)(Tensor|Storage))$/;
const ofStorages = new Set(['is_cuda', 'size', 'element_size', 'byteswap', 'double', 'float', 'half', 'long', 'int', 'short', 'char', 'byte', 'bool', 'bfloat16', 'complex_double', 'complex_float', 'is_sparse', 'is_sparse_csr']);

const places = {
  '__init__.pyi': lt,
  '_gen/gen_functions.pyi': lt,
  '_gen/gen_linalg.pyi': lt.linalg,
  '_gen/gen_fft.pyi': lt.fft,
  '_gen/gen_special.pyi': lt.special,
  '_gen/gen_sparse.pyi': lt.sparse,
  '_gen/gen_nn_functional.pyi': { ...lt, ...lt.nn },
  '_gen/gen_quantized.pyi': lt.quantized,
  '_gen/gen_signal_windows.pyi': lt.signal.windows,
  'func.pyi': lt.func,
  'autograd/functional.pyi': lt.autograd.functional,
  '_gen/gen_methods.pyi': lt.Tensor.prototype,
  '_core/tensor.pyi': lt.Tensor.prototype,
  '_storages/storage.pyi': lt.Storage.prototype,
  '_data/random.pyi': lt.Generator.prototype,
};

for (const [file, object] of Object.entries(places))
  test(`Node has what ${file} declares`, () => {
    const isClass = object === object.constructor?.prototype;
    const isMissing = (name) => {
      if (away.has(name) || legacy.test(name) || (object === lt.Storage.prototype && ofStorages.has(name))) return false;
      // In-place forms outside of a namespace are methods.
      return !(camel(name) in object || (name.endsWith('_') && camel(name) in lt.Tensor.prototype));
    };
    assert.deepEqual([...declared(file, isClass ? ' {4}' : '')].filter(isMissing), []);
  });
