'use strict';

// The eight-bit floats: conversion, bits in typed arrays, printing, files, errors.
const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const lt = require('..');

// The bits of the fraction and the bias of the exponent of each dtype with a sign.
const shapes = { float8_e4m3fn: [3, 7], float8_e5m2: [2, 15], float8_e4m3fnuz: [3, 8], float8_e5m2fnuz: [2, 16] };
const all = [...Object.keys(shapes), 'float8_e8m0fnu'];

// The number of a code below 112, which is finite in every dtype.
function number(dtype, code) {
  if (dtype === 'float8_e8m0fnu') return 2 ** (code - 127);
  const [fraction, bias] = shapes[dtype];
  const [exponent, digits] = [code >> fraction, code & (2 ** fraction - 1)];
  return (digits / 2 ** fraction + (exponent > 0)) * 2 ** (Math.max(exponent, 1) - bias);
}

for (const dtype of all) {
  const bits = Uint8Array.from({ length: 112 }, (_, i) => i);
  const numbers = Array.from(bits, (code) => number(dtype, code));

  test(`${dtype} both ways`, () => {
    const x = lt.asTensor(bits, { dtype });
    assert.deepEqual([x.dtype, x.itemsize, x.isFloatingPoint(), x.isSigned()], [dtype, 1, true, dtype !== 'float8_e8m0fnu']);
    assert.deepEqual(x.toArray(), numbers);
    assert.deepEqual(x.to('float64').toArray(), numbers);
    assert.deepEqual(lt.tensor(numbers, { dtype }).data(), bits);
    assert.deepEqual(lt.tensor(Float64Array.from(numbers)).to(dtype).data(), bits);
    assert.deepEqual([x.at(60).item(), lt.full([2], 2, { dtype }).toArray()], [numbers[60], [2, 2]]);
    assert.deepEqual(lt.tensor(structuredClone(x)), x);
    assert.deepEqual(x.view('uint8').data(), bits);
    assert.deepEqual(x.eq(numbers[60]).nonzero().toArray(), [[60]]);
    assert.ok(lt.equal(lt.cat([x.at(lt.slice(0, 50)), x.at(lt.slice(50))]), x));
    assert.equal(String(lt.tensor([1, 2], { dtype })), `tensor([1., 2.], dtype=torch.${dtype})`);
    const { eps, bits: width, max } = lt.finfo(dtype);
    assert.deepEqual([eps, width], [number(dtype, 1 + lt.ones([1], { dtype }).data()[0]) - 1, 8]);
    assert.equal(lt.tensor([max], { dtype }).item(), max);
    lt.testing.assertClose(x, x.clone());
    assert.throws(() => lt.testing.assertClose(x, x.flip([0])), /elements differ/);
  });

  test(`files of ${dtype}`, () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'float8-'));
    try {
      const x = lt.tensor(numbers, { dtype });
      lt.save({ x }, path.join(folder, 'x.pt'));
      assert.deepEqual(lt.load(path.join(folder, 'x.pt')).x, x);
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });

  test(`${dtype} is not computed with`, () => {
    const x = lt.ones([2], { dtype });
    assert.throws(() => x.add(x), new RegExp(`add: not implemented for dtype ${dtype}`));
    assert.throws(() => x.add(lt.ones([2])), /Promotion for Float8 Types is not supported, attempted to promote Float8_.* and Float;/);
    assert.throws(() => lt.promoteTypes(dtype, 'int32'), /Promotion for Float8 Types is not supported/);
  });
}
