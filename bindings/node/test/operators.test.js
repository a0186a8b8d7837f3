'use strict';

// Every operator answers as in Python and C: the calls of build/operators/operators.json, compared bit for bit.
const assert = require('node:assert/strict');
const { existsSync, readFileSync } = require('node:fs');
const { join } = require('node:path');
const { test } = require('node:test');
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

const hex = (view) => Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString('hex');

function textOf(value, type, values) {
  if (lt.isTensor(value)) {
    const stored = /^qu?int/.test(value.dtype) ? value.intRepr() : value;
    const dense = values ? stored.contiguous() : null;
    return ` ${value.dtype} [${value.shape}] [${value.strides}] ${dense ? hex(dense.data()) : ''}`;
  }
  if (Array.isArray(value)) return value.map((item) => textOf(item, type, values)).join('');
  if (type === 'dtype') return ` dtype ${value}`;
  // A Scalar without a fraction could be either; the calls have one.
  if (type === 'float' || (type === 'Scalar' && typeof value === 'number' && !Number.isInteger(value))) return ` float ${hex(Float64Array.of(value))}`;
  if (type === 'str') return ` str ${value}`;
  if (typeof value === 'boolean') return ` bool ${Number(value)}`;
  if (typeof value === 'number' || typeof value === 'bigint') return ` int ${value}`;
  return Object.values(value).map((item) => textOf(item, type, values)).join('');
}

function answer(call) {
  const values = call.args.map((value, i) => valueOf(call.types[i], value));
  const given = {};
  values.forEach((value, i) => {
    given[call.names[i]] = value;
  });
  if (call.mode === 'out') {
    const outs = call.out.map((dtype) => lt.zeros([0], { dtype }));
    given.out = outs.length === 1 ? outs[0] : outs;
  }
  lt.manualSeed(0);
  let result;
  const at = `${call.node}${call.mode === 'inplace' ? '_' : ''}`.split('.');
  if ((call.mode === 'inplace' && at.length === 1) || call.method) {
    delete given[call.names[0]];
    const member = values[0][at[0]]; // a method, or a property such as mT
    result = typeof member === 'function' ? member.call(values[0], given) : member;
  } else {
    result = at.reduce((found, name) => found[name], lt)(given);
  }
  if (call.returns.length === 0) result = call.types[0] === 'Tensor' ? values[0] : [];
  return call.id + textOf(result, call.returns[0], call.values);
}

test('every operator answers as in Python', () => {
  assert.ok(existsSync(path), `${path} is missing: make test-node writes it`);
  const wrong = [];
  for (const call of JSON.parse(readFileSync(path, 'utf8'))) {
    let got;
    try {
      got = lt.scope(() => answer(call));
    } catch (error) {
      got = `${call.id} ${error.name}: ${error.message}`;
    }
    if (got !== call.answer) wrong.push(`Node   ${got.slice(0, 300)}\nPython ${call.answer.slice(0, 300)}`);
  }
  assert.equal(wrong.length, 0, `${wrong.length} differ\n${wrong.join('\n')}`);
});
