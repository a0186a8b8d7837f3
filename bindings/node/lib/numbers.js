'use strict';

// The properties of dtypes, and constants.
const native = require('./native.js');
const { isDtype, kindOf, typeError } = require('./options.js');

// eps, the smallest normal number, the largest number, and the decimal digits that are kept.
const floats = {
  float16: [2 ** -10, 2 ** -14, 65504, 3],
  bfloat16: [2 ** -7, 2 ** -126, (2 - 2 ** -7) * 2 ** 127, 2],
  float32: [2 ** -23, 2 ** -126, (2 - 2 ** -23) * 2 ** 127, 6],
  float64: [2 ** -52, 2 ** -1022, Number.MAX_VALUE, 15],
  float8_e4m3fn: [2 ** -3, 2 ** -6, 448, 0],
  float8_e5m2: [2 ** -2, 2 ** -14, 57344, 0],
  float8_e4m3fnuz: [2 ** -3, 2 ** -7, 240, 0],
  float8_e5m2fnuz: [2 ** -2, 2 ** -15, 57344, 0],
  float8_e8m0fnu: [1, 2 ** -127, 2 ** 127, 0],
};
const parts = { complex32: 'float16', bcomplex32: 'bfloat16', complex64: 'float32', complex128: 'float64' };
const integers = /^(u?)int(\d+)$/;

const isComplexDtype = (dtype) => dtype in parts;
const isFloatingDtype = (dtype) => dtype in floats;
const isSignedDtype = (dtype) => !/^(bool|q?uint|float8_e8m0)/.test(dtype);

function checked(op, dtype) {
  if (!isDtype(dtype)) throw typeError(`${op}: the argument must be a dtype, such as 'float32': ${kindOf(dtype)} is not a dtype`);
  return dtype;
}

function finfo(dtype = native.getDefaultDtype()) {
  const real = parts[checked('finfo', dtype)] ?? dtype;
  if (!isFloatingDtype(real)) throw typeError(`finfo: '${dtype}' is not a floating-point dtype; use iinfo`);
  const [eps, tiny, max, digits] = floats[real];
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
