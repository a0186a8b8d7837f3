'use strict';

// Every operator answers as in Python and C: the calls of build/operators/operators.json, compared bit for bit.
const assert = require('node:assert/strict');
const { test } = require('node:test');
const lt = require('..');
const { recordedCalls, valueOf } = require('./recorded.js');

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

test('every operator returns the same as in Python', () => {
  const wrong = [];
  for (const call of recordedCalls()) {
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
