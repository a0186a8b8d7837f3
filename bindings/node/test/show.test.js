'use strict';

// Tensors as seen by generic code.
const assert = require('node:assert/strict');
const loose = require('node:assert');
const { test } = require('node:test');
const { inspect } = require('node:util');
const { MessageChannel } = require('node:worker_threads');
const lt = require('..');

const x = lt.tensor([[1, 2], [3, 4.5]]);

test('comparisons see the elements, the dtype and the shape', () => {
  const same = () => lt.tensor([[1, 2], [3, 4.5]]);
  for (const equal of [assert.deepStrictEqual, assert.deepEqual, loose.deepEqual]) {
    equal(same(), x);
    equal({ a: [same()] }, { a: [x] });
    for (const other of [lt.tensor([[1, 2], [3, 5]]), lt.tensor([1, 2, 3, 4.5]), x.t(), x.to('float64'), x.to('meta')]) {
      assert.throws(() => equal(x, other), { name: 'AssertionError' });
      assert.throws(() => equal([other], [x]), { name: 'AssertionError' });
    }
  }
  assert.deepStrictEqual(lt.tensor([[1, 3], [2, 4.5]]).t(), x);
  assert.notDeepStrictEqual(x.untypedStorage(), lt.zeros([4]).untypedStorage());
  assert.deepStrictEqual(x.untypedStorage(), x.clone().untypedStorage());
  const [first, second] = [lt.generatorNew(), lt.generatorNew()];
  assert.deepStrictEqual(first, second);
  second.manualSeed(2);
  assert.notDeepStrictEqual(first, second);
});

test('copies for other threads hold the elements, and make the tensor again', async () => {
  for (const t of [x, lt.tensor([true, false]), lt.tensor([2n ** 60n]), lt.tensor([1.5], { dtype: 'bfloat16' }), lt.tensor([{ re: 1, im: 2 }]), lt.zeros([0, 3]), lt.tensor(4)]) {
    assert.deepStrictEqual(lt.tensor(structuredClone(t)), t);
    const { port1, port2 } = new MessageChannel();
    port1.postMessage([t]);
    const [message] = await new Promise((resolve) => port2.once('message', resolve));
    port1.close();
    assert.deepStrictEqual(lt.tensor(message), t);
  }
  const gone = lt.zeros([1]);
  gone.dispose();
  assert.throws(() => structuredClone(gone), { code: 'TENSOR_ERROR_HANDLE' });
  assert.deepEqual(structuredClone(lt.storageNew(2).fill_(7)).elements.bytes, new Uint8Array([7, 7]));
});

test('JSON holds the numbers, or there is an error', () => {
  assert.equal(JSON.stringify({ x, n: lt.tensor(3) }), '{"x":[[1,2],[3,4.5]],"n":3}');
  assert.equal(JSON.stringify(lt.storageNew(2).fill_(7)), '[7,7]');
  assert.throws(() => JSON.stringify(lt.tensor([[1n, 2n ** 60n]])), { name: 'TypeError', message: /^toJSON: the integer 1152921504606846976 exceeds 2\^53.*toArray\(\)/ });
  assert.equal(JSON.stringify(lt.tensor([2n ** 52n])), '[4503599627370496]');
  assert.throws(() => JSON.stringify(lt.zeros([1], { device: 'meta' })));
  assert.throws(() => JSON.stringify(lt.generatorNew()), { name: 'TypeError' });
});

test('one element is a number to operators', () => {
  assert.ok(lt.tensor(3) > 2 && lt.tensor([[3]]) < 4);
  assert.equal(+lt.tensor(2.5), 2.5);
  assert.equal(+lt.tensor([true]), 1);
  assert.equal(lt.tensor(2) * 3, 6);
  assert.equal(lt.tensor(2n ** 60n) + 1n, 2n ** 60n + 1n);
  assert.equal(`${x}`, x.toString());
  for (const call of [() => +x, () => x > 1, () => x + 1, () => +lt.zeros([0]), () => +lt.tensor({ re: 1, im: 1 })]) {
    assert.throws(call, { name: 'TypeError', code: 'TENSOR_ERROR_TYPE' });
  }
});

test('the console shows tensors among other values in a line each', () => {
  const of = (t) => inspect([t]);
  assert.equal(inspect({ a: [x] }), '{ a: [ Tensor [2, 2] float32 [ [ 1, 2 ], [ 3, 4.5 ] ] ] }');
  assert.equal(of(lt.ones(20, 30)), '[ Tensor [20, 30] float32 [ 1, 1, 1, 1, 1, 1, ... 594 more ] ]');
  assert.equal(of(lt.ones(4, 2).t().to('float64')), '[ Tensor [2, 4] float64 [ 1, 1, 1, 1, ... 4 more ] ]');
  assert.equal(of(lt.zeros([3], { device: 'meta', dtype: 'int8' })), '[ Tensor [3] int8 meta ]');
  assert.equal(of(lt.eye(2).toSparse()), '[ Tensor [2, 2] float32 sparse_coo ]');
  assert.equal(of(lt.ones(1, { requiresGrad: true }).mul(2)), '[ Tensor [1] float32 requiresGrad [ 2 ] ]');
  assert.equal(of(lt.tensor(3n)), '[ Tensor [] int64 3 ]');
  assert.equal(inspect(new Map([['w', lt.zeros(0, 3)]])), "Map(1) { 'w' => Tensor [0, 3] float32 [] }");
  const handles = lt.liveHandles();
  lt.scope(() => of(lt.ones(20, 30)));
  assert.ok(lt.liveHandles() <= handles);
});

test('the console shows the first and the last bytes of a storage', () => {
  const bytes = lt.arange(256, { dtype: 'uint8' }).expand(1000, 256).clone().untypedStorage();
  const lines = inspect(bytes).split('\n');
  assert.deepEqual([lines[0], lines[1], lines.at(-2), lines.at(-1)], [' 0', ' 1', ' 255', '[torch.storage.UntypedStorage(device=cpu) of size 256000]']);
  assert.ok(lines.length <= 100 && lines.includes(' ...'));
  assert.equal(inspect(lt.storageNew(3).fill_(7)), lt.storageNew(3).fill_(7).toString());
});

test('rows are iterated over', () => {
  assert.equal(x.length, 2);
  assert.deepEqual([...x].map((row) => row.toArray()), [[1, 2], [3, 4.5]]);
  assert.equal(lt.tensor(1).length, undefined);
  assert.throws(() => [...lt.tensor(1)], { name: 'TypeError', message: /not iterable/ });
  assert.deepEqual([...lt.zeros([0, 2])], []);
});

test('the console shows every object in every state', async () => {
  const gone = lt.zeros([1]);
  gone.dispose();
  const out = lt.zeros([1 << 20]);
  const promise = lt.addAsync(lt.zeros([1 << 20]), 1, { out });
  assert.match(inspect(out), /^Tensor \(.*asynchronous call\)$|^tensor/);
  await promise;
  assert.equal(inspect(gone), 'Tensor (disposed)');
  assert.equal(inspect(x), 'tensor([[1.0000, 2.0000],\n        [3.0000, 4.5000]])');
  for (const object of [lt.Tensor.prototype, lt.Tensor, Object.create(lt.Tensor.prototype), lt.zeros([3], { device: 'meta' }), lt.zeros([1000, 1000]), lt.zeros(new Array(20).fill(1)), lt.storageNew(3), lt.generatorNew(), lt]) {
    assert.equal(typeof inspect(object), 'string');
    assert.equal(typeof inspect(object, { showHidden: true, depth: 0 }), 'string');
  }
});
