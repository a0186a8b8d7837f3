'use strict';

// The properties of dtypes, and constants.
const native = require('./native.js');
const dtypes = require('./gen_dtypes.js');
const { isDtype, kindOf, typeError } = require('./options.js');

const integers = /^(u?)int(\d+)$/;

const isComplexDtype = (dtype) => dtypes[dtype]?.kind === 'complex';
const isFloatingDtype = (dtype) => dtypes[dtype]?.kind === 'float';
const isSignedDtype = (dtype) => dtypes[dtype]?.signed !== false;

function checked(op, dtype) {
  if (!isDtype(dtype)) throw typeError(`${op}: the argument must be a dtype, such as 'float32': ${kindOf(dtype)} is not a dtype`);
  return dtype;
}

function finfo(dtype = native.getDefaultDtype()) {
  const real = dtypes[checked('finfo', dtype)].part ?? dtype;
  if (!isFloatingDtype(real)) throw typeError(`finfo: '${dtype}' is not a floating-point dtype; use iinfo`);
  const [eps, tiny, max, digits] = dtypes[real].limits;
  return { dtype: real, bits: 8 * native.dtypeSize(real), eps, tiny, smallestNormal: tiny, min: isSignedDtype(real) ? -max : tiny, max, resolution: Number(`1e-${digits}`) };
}

function iinfo(dtype) {
  const [, unsigned, bits] = integers.exec(checked('iinfo', dtype)) ?? [];
  if (bits === undefined) throw typeError(`iinfo: '${dtype}' is not an integer dtype; use finfo`);
  const [min, max] = unsigned ? [0n, 2n ** BigInt(bits) - 1n] : [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n];
  const shown = (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : value);
  return { dtype, bits: Number(bits), min: shown(min), max: shown(max) };
}

const constants = { inf: Infinity, nan: NaN, pi: Math.PI, e: Math.E, newaxis: null };

module.exports = { checks: { isComplexDtype, isFloatingDtype, isSignedDtype }, constants, finfo, iinfo };
