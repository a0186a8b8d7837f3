'use strict';

// uint16, uint32 and uint64: typed arrays, bigints, operators, files.
const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const lt = require('..');

const kinds = { uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array };
const bits = (dtype) => Number(dtype.slice(4));
const top = (dtype) => 2n ** BigInt(bits(dtype)) - 1n;
const item = (dtype, value) => (dtype === 'uint64' && value > BigInt(Number.MAX_SAFE_INTEGER) ? value : Number(value));

for (const [dtype, Kind] of Object.entries(kinds)) {
  const most = item(dtype, top(dtype));
  const array = () => Kind.from([0, 1, most], dtype === 'uint64' ? BigInt : Number);

  test(`typed arrays of ${dtype} both ways`, () => {
    const memory = array();
    const copied = lt.tensor(memory);
    const shared = lt.asTensor(memory);
    assert.deepEqual([copied.dtype, shared.dtype, lt[dtype]], [dtype, dtype, dtype]);
    shared.set(0, 7);
    assert.deepEqual([String(memory[0]), copied.toArray(), shared.toArray()], ['7', [0, 1, most], [7, 1, most]]);
    assert.ok(copied.data() instanceof Kind);
    assert.deepEqual(copied.data(), array());
    assert.deepEqual(lt.tensor(structuredClone(copied)), copied);
    assert.deepEqual(lt.tensor([array(), array()]).dtype, dtype);
    assert.equal(copied.add(array()).dtype, dtype);
    const positions = Kind.from([2, 0], dtype === 'uint64' ? BigInt : Number);
    assert.deepEqual([copied.at([positions]).toArray(), copied.set([positions], 5).toArray()], [[most, 0], [5, 1, 5]]);
    assert.deepEqual(lt.tensor([3, 1, most], { dtype }).at(lt.tensor(positions)).toArray(), [most, 3]);
  });

  test(`numbers of ${dtype}`, () => {
    const x = lt.tensor([0, 1, most], { dtype });
    assert.deepEqual([x.toArray(), x.at(2).item(), x.itemsize, x.isSigned(), x.isFloatingPoint()], [[0, 1, most], most, bits(dtype) / 8, false, false]);
    assert.deepEqual(lt.iinfo(dtype), { dtype, bits: bits(dtype), min: 0, max: most });
    assert.equal(String(lt.tensor([1, 2], { dtype })), `tensor([1, 2], dtype=torch.${dtype})`);
    assert.equal(String(x.at(2)), `tensor(${top(dtype)}, dtype=torch.${dtype})`);
    assert.deepEqual(lt.full([2], top(dtype), { dtype }).toArray(), [most, most]);
    assert.deepEqual(x.eq(top(dtype)).toArray(), [false, false, true]);
    assert.deepEqual(x.add(top(dtype)).toArray(), [most, 0, item(dtype, top(dtype) - 1n)]);
    assert.deepEqual(x.sub(1).toArray(), [most, 0, item(dtype, top(dtype) - 1n)]);
    assert.deepEqual(lt.tensor([top(dtype), 0n], { dtype }).max().item(), most);
    assert.throws(() => lt.tensor([top(dtype) + 1n], { dtype }), new RegExp(String(top(dtype) + 1n)));
  });

  test(`operators of ${dtype}`, () => {
    const x = lt.tensor([top(dtype), 5n, 2n], { dtype });
    const half = item(dtype, top(dtype) / 2n);
    assert.deepEqual(x.div(2, { roundingMode: 'floor' }).toArray(), [half, 2, 1]);
    assert.deepEqual(x.bitwiseRightShift(1).toArray(), [half, 2, 1]);
    assert.deepEqual(x.sort().values.toArray(), [2, 5, most]);
    assert.deepEqual([x.argmax().item(), x.min().item(), x.gt(5).toArray()], [0, 2, [true, false, false]]);
    assert.deepEqual(x.to('float64').toArray(), [Number(top(dtype)), 5, 2]);
    assert.deepEqual(lt.tensor([1.5, 300]).to(dtype).toArray(), [1, 300]);
    assert.equal(lt.promoteTypes(dtype, 'uint8'), dtype);
    assert.equal(lt.randint(0, 10, [4], { dtype }).dtype, dtype);
    lt.testing.assertClose(x, x.clone());
  });

  test(`files of ${dtype}`, () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'unsigned-'));
    try {
      const x = lt.tensor(array());
      lt.save({ x }, path.join(folder, 'x.pt'));
      lt.npySave(path.join(folder, 'x.npy'), x);
      assert.deepEqual([lt.load(path.join(folder, 'x.pt')).x, lt.npyLoad(path.join(folder, 'x.npy'))], [x, x]);
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });
}

test('bigints of 64 bits without a sign are numbers', () => {
  assert.deepEqual(lt.tensor([1, 2n ** 64n - 1n, 2n ** 63n], { dtype: 'uint64' }).toArray(), [1, 2n ** 64n - 1n, 2n ** 63n]);
  assert.deepEqual(lt.tensor([2n ** 63n], { dtype: 'float64' }).toArray(), [2 ** 63]);
  assert.deepEqual(lt.tensor([2 ** 63], { dtype: 'uint64' }).toArray(), [2n ** 63n]);
  assert.deepEqual(lt.tensor([1.5]).add(2n ** 63n).toArray(), [2 ** 63]);
  assert.throws(() => lt.tensor([-1n, 2n ** 63n], { dtype: 'uint64' }), /uint64 without overflow: -1/);
  assert.throws(() => lt.tensor([2n ** 64n], { dtype: 'uint64' }), /18446744073709551616 does not fit into 64 bits/);
});
