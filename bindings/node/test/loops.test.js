'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { test } = require('node:test');
const lt = require('..');

const home = JSON.stringify(path.join(__dirname, '..'));

// Resident bytes of a process that runs a loop of which no turn of the event loop is part.
function resident(body) {
  const source = `const lt = require(${home}); const a = lt.tensor([1, 2, 3]); ${body}; console.log(process.memoryUsage().rss);`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', source], { encoding: 'utf8', timeout: 300_000 });
  assert.equal(status, 0, stderr);
  return Number(stdout);
}

for (const [name, body] of [
  ['disposed', 'for (let i = 0; i < 4e6; i++) a.add(1).dispose()'],
  ['in scopes', 'for (let i = 0; i < 4e4; i++) lt.scope(() => { for (let k = 0; k < 100; k++) a.add(1); })'],
])
  test(`four million tensors, ${name}, in one loop stay within 200 MB`, () => {
    assert.ok(resident(body) < 200e6);
  });

test('elements that are copied in one loop stay within 300 MB', () => {
  assert.ok(resident('for (let i = 0; i < 400; i++) lt.ones(1_000_000).data({ copy: true })[0] += 1') < 300e6);
  assert.ok(resident('const all = lt.ones(400, 1_000_000, { dtype: "int8" }); for (const row of all) row.data({ copy: true })[0] += 1') < 800e6);
});

test('memory of collected tensors is returned during a loop', () => {
  const few = resident('for (let i = 0; i < 1e6; i++) a.add(1)');
  const many = resident('for (let i = 0; i < 3e6; i++) a.add(1)');
  assert.ok(many < 1.5 * few, `${few} bytes, then ${many}`);
});

test('a disposed object is distinguished from one that never was a tensor', () => {
  const t = lt.tensor([1, 2]);
  t.dispose();
  t.dispose();
  assert.ok(t.disposed && lt.isTensor(t));
  assert.throws(() => t.add(1), /disposed/);
  assert.throws(() => lt.add(lt.tensor([1, 2]), t), /disposed/);
  assert.throws(() => t.shape, /disposed/);
  assert.equal(lt.isTensor(Object.create(null)), false);
});

test('tensors too large for an array throw a RangeError', () => {
  const long = lt.zeros([113_000_000], { dtype: 'int8' });
  assert.throws(() => long.toArray(), { name: 'RangeError', message: /dimension 0 has 113000000 elements.*data\(\)/ });
  assert.throws(() => JSON.stringify(long), RangeError);
  assert.throws(() => lt.zeros([]).expand([30_000, 30_000]).toArray(), { name: 'RangeError', message: /900000000 elements take 7200 MB.*heap/ });
  assert.equal(lt.zeros([2_000_000]).toArray().length, 2_000_000);
  long.dispose();
});

const step = `
  const w = lt.tensor([0.5, 1.5, -1], { requiresGrad: true });
  const x = lt.tensor([1, 2, 3.5]);
  function train() {
    const loss = w.mul(x).sub(1).pow(2).sum();
    loss.backward();
    lt.noGrad(() => w.sub_(w.grad.mul(0.001)));
    w.grad = null;
  }`;
test('training steps in one loop stay within 200 MB', () => {
  assert.ok(resident(`${step} for (let i = 0; i < 25_000; i++) lt.scope(train);`) < 200e6);
  assert.ok(resident(`${step} for (let i = 0; i < 25_000; i++) train();`) < 200e6);
});

test('small tensors that nobody keeps stay within 200 MB', () => {
  assert.ok(resident('for (let i = 0; i < 1e6; i++) a.add(1)') < 200e6);
});

test('a box that a getter frees is not the next tensor of the call', () => {
  const t = lt.tensor([1, 2, 3]);
  const options = {
    get dim() {
      t.dispose();
      lt.tensor([7, 8, 9]);
      return 0;
    },
  };
  assert.throws(() => lt.sum(t, options), { code: 'TENSOR_ERROR_HANDLE' });
  const [a, b] = [lt.tensor([1, 2]), lt.tensor([3, 4])];
  const list = [a, b];
  Object.defineProperty(list, 1, { get() { a.dispose(); lt.tensor([5, 6]); return b; } });
  assert.throws(() => lt.stack(list), { code: 'TENSOR_ERROR_HANDLE' });
});

test('a disposed tensor stays disposed when the next result gets its handle', async () => {
  const [a, b] = [lt.tensor([1, 2]), lt.tensor([3, 4])];
  const isGone = (t) => {
    assert.ok(t.disposed);
    assert.throws(() => t.add(1), { code: 'TENSOR_ERROR_HANDLE' });
    t.dispose();
  };
  const first = a.add(b);
  first.dispose();
  const second = a.mul(b);
  isGone(first);
  assert.deepEqual(second.toArray(), [3, 8]);
  second.dispose();
  assert.throws(() => a.add(lt.ones(3)), /size/); // which announces the handle, and makes no result
  const third = a.sub(b);
  for (const t of [first, second]) isGone(t);
  assert.deepEqual(third.toArray(), [-2, -2]);

  const inside = lt.scope(() => {
    const made = [a.add(1), a.at(0), b.neg()];
    return () => made;
  });
  const outside = [a.mul(2), b.at(1), a.abs()];
  for (const t of inside()) isGone(t);
  assert.deepEqual(outside.map((t) => t.toArray()), [[2, 4], 4, [1, 2]]);

  const used = a.add(b);
  const promise = lt.mulAsync(used, 2);
  used.dispose();
  const next = a.sub(b);
  isGone(used);
  assert.deepEqual((await promise).toArray(), [8, 12]);
  assert.deepEqual(next.toArray(), [-2, -2]);
});

test('many tensors that are disposed together leave no handles', () => {
  const a = lt.tensor([1, 2]);
  const before = lt.liveHandles();
  for (let round = 0; round < 3; round++) {
    const many = Array.from({ length: 1000 }, (_, i) => a.add(i));
    assert.equal(lt.liveHandles(), before + 1000);
    assert.deepEqual(many[999].toArray(), [1000, 1001]);
    for (const t of many) t.dispose();
    assert.equal(lt.liveHandles(), before);
  }
});
