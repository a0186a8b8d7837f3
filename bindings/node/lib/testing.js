'use strict';

// Comparison of tensors in tests.
const { AssertionError } = require('node:assert');
const native = require('./native.js');
const { checks } = require('./numbers.js');
const { inNameOf, kindOf, read, typeError, valueError } = require('./options.js');
const { tensor } = require('./create.js');
const { scope } = require('./scope.js');

const tolerances = { float16: [1e-3, 1e-5], bfloat16: [1.6e-2, 1e-5], float32: [1.3e-6, 1e-5], float64: [1e-7, 1e-7], complex64: [1.3e-6, 1e-5], complex128: [1e-7, 1e-7] };
const names = ['rtol', 'atol', 'equalNan', 'checkDevice', 'checkDtype', 'checkLayout', 'checkStride', 'msg'];

// The larger of both dtypes' tolerances, by default.
function allowed(actual, expected, { rtol, atol }) {
  if (rtol !== undefined) return [rtol, atol];
  const [a, b] = [actual, expected].map((t) => tolerances[t.dtype] ?? [0, 0]);
  return [Math.max(a[0], b[0]), Math.max(a[1], b[1])];
}

const isObject = (value) => typeof value === 'object' && value !== null && !native.isTensor(value) && !ArrayBuffer.isView(value) && !('re' in value);

// A number has the dtype of the tensor that it is compared with, and is float64 next to another number.
function operand(value, other) {
  if (native.isTensor(value)) return value;
  const dtype = native.isTensor(other) && (Number.isInteger(value) || checks.isFloatingDtype(other.dtype)) ? other.dtype : 'float64';
  return tensor(value, typeof value === 'number' ? { dtype } : {});
}

// The difference between two values, '' if they are close.
function difference(actual, expected, where, options) {
  if (!isObject(actual) || !isObject(expected)) {
    if (isObject(actual) || isObject(expected)) throw typeError(`testing.assertClose: ${kindOf(actual)} and ${kindOf(expected)} cannot be compared${where}`);
    return tensorDifference(operand(actual, expected), operand(expected, actual), where, options);
  }
  const keys = Object.keys(actual);
  if (Array.isArray(actual) !== Array.isArray(expected)) return `An array is compared with an object${where}`;
  if (Array.isArray(actual) && actual.length !== expected.length) return `The lengths of the arrays do not match${where}: ${actual.length} and ${expected.length}`;
  const alone = [...keys.filter((key) => !(key in expected)), ...Object.keys(expected).filter((key) => !(key in actual))];
  if (alone.length) return `The keys of the objects do not match${where}: ${alone.join(', ')} are in one only`;
  for (const key of keys) {
    const found = difference(actual[key], expected[key], `${where} at item ${key}`, options);
    if (found) return found;
  }
  return '';
}

const attributes = { dtype: 'checkDtype', device: 'checkDevice', layout: 'checkLayout', shape: null, strides: 'checkStride' };

function tensorDifference(actual, expected, where, options) {
  for (const [name, option] of Object.entries(attributes)) {
    if (option && !(options[option] ?? option !== 'checkStride')) continue;
    const [a, b] = [String(actual[name]), String(expected[name])];
    if (a !== b) return `The values for property '${name}' do not match${where}: ${a} and ${b}`;
  }
  const dense = (t) => (t.isQuantized() ? t.dequantize() : t.layout === 'strided' ? t : t.toDense());
  [actual, expected] = [dense(actual), dense(expected)];
  const [rtol, atol] = allowed(actual, expected, options);
  const common = native.promoteTypes(actual.dtype, expected.dtype);
  [actual, expected] = [actual.to(common), expected.to(common).to(actual.device)];
  const exact = rtol === 0 && atol === 0 && !checks.isFloatingDtype(common) && !checks.isComplexDtype(common);
  const bits = common.startsWith('float8');
  if (bits && (rtol || atol)) return `rtol ${rtol} and atol ${atol} are not supported for ${common}, which is compared by its bits${where}; use 0 and 0`;
  if (bits) [actual, expected] = [actual.view('uint8'), expected.view('uint8')];
  const close = exact || bits ? actual.eq(expected) : native.isclose(actual, expected, { rtol: rtol, atol, equalNan: options.equalNan ?? false });
  const wrong = close.logicalNot().flatten().nonzero();
  const count = wrong.shape[0];
  if (count === 0) return '';
  const at = Number(wrong.at(0, 0).item());
  const [a, b] = [actual, expected].map((t) => JSON.stringify(t.flatten().at(at).toArray()));
  return `The tensors are not close${where}: ${count} of ${close.numel} elements differ, first ${a} and ${b} at position ${at} (allowed: rtol ${rtol}, atol ${atol})`;
}

// Throws an AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere; arrays and objects are compared item by item.
function assertClose(actual, expected, given) {
  const options = read('testing.assertClose', given, names);
  if ((options.rtol === undefined) !== (options.atol === undefined)) throw valueError('testing.assertClose: rtol and atol must be passed together, or neither of them');
  const problem = inNameOf('testing.assertClose', () => scope(() => difference(actual, expected, '', options)));
  if (problem) throw new AssertionError({ message: options.msg ?? problem, actual, expected, operator: 'assertClose' });
}

module.exports = { assertClose };
