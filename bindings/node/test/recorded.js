'use strict';

// The calls of build/operators/operators.json, which capi/test/operators.py records, and their arguments as values of JavaScript.
const { existsSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const lt = require('..');

const path = process.env.LIBTENSOR_OPERATORS ?? join(__dirname, '../../../build/operators/operators.json');
const absent = -(2n ** 63n);

function real(text) {
  const special = { inf: Infinity, '-inf': -Infinity, nan: NaN };
  return text in special ? special[text] : Number(text);
}

function tensorOf(value) {
  if (value === null) return null;
  const bytes = Buffer.from(value.bytes, 'hex');
  const flat = lt.zeros([bytes.length / lt.dtypeSize(value.dtype)], { dtype: value.dtype });
  if (bytes.length > 0) {
    const memory = flat.data();
    Buffer.from(memory.buffer, memory.byteOffset, memory.byteLength).set(bytes);
  }
  return flat.asStrided(value.size, value.stride, { storageOffset: value.offset });
}

function scalarOf({ kind, value, re, im }) {
  if (kind === 'none') return null;
  if (kind === 'bool') return value !== 0;
  if (kind === 'int') return value;
  return kind === 'float' ? lt.float(real(re)) : { re: real(re), im: real(im) };
}

function indexOf(items) {
  const bound = (value) => (BigInt(value) <= absent ? null : value);
  const made = [
    ({ bounds }) => bounds[0],
    ({ bounds }) => lt.slice(...bounds.map(bound)),
    () => null,
    () => '...',
    ({ tensor }) => tensorOf(tensor),
    ({ bounds }) => bounds[0] !== 0,
  ];
  return items.map((item) => made[item.kind](item));
}

function valueOf(type, value) {
  const kind = type.replaceAll('?', '');
  if (value === null) return null;
  if (kind === 'Tensor[]') return value.map(tensorOf);
  if (kind === 'float[]') return value.map(real);
  const convert = { Tensor: tensorOf, Scalar: scalarOf, Index: indexOf, float: real }[kind];
  return convert ? convert(value) : value;
}


function recordedCalls() {
  if (!existsSync(path)) throw new Error(`${path} is missing: make test-node writes it`);
  return JSON.parse(readFileSync(path, 'utf8'));
}

module.exports = { recordedCalls, valueOf };
