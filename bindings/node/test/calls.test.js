'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const lt = require('..');

const x = lt.tensor([
  [1n, 5n],
  [3n, 2n],
]);

test('-0 is the integer 0, and a number with its sign', () => {
  const t = lt.tensor([[1, 2], [3, 4]]);
  for (const sum of [t.sum(-0), t.sum([-0]), t.sum({ dim: -0 }), t.sum(new Float64Array([-0]))]) assert.deepEqual(sum.toArray(), [4, 6]);
  assert.deepEqual([lt.zeros(-0, 3).shape, lt.zeros([2, -0]).shape], [[0, 3], [2, 0]]);
  assert.deepEqual([t.at(-0), t.at([-0]), t.get('-0'), t.at(lt.slice(-0, 1)).at(0), t.at(true, -0).at(0)].map((row) => row.toArray()), Array(5).fill([1, 2]));
  assert.deepEqual(t.set([-0, lt.slice(-0)], 7).toArray(), [[7, 7], [3, 4]]);
  assert.ok(Object.is(lt.full([1], -0).item(), -0));
});

test('functions, methods, options and defaults agree', () => {
  assert.deepEqual(lt.add(x, x, { alpha: 2 }).toArray(), x.add(x, { alpha: 2 }).toArray());
  assert.deepEqual(lt.add(x, { other: 1 }).toArray(), [[2, 6], [4, 3]]);
  assert.deepEqual(lt.add({ input: x, other: 1 }).toArray(), [[2, 6], [4, 3]]);
  assert.deepEqual(lt.sum(x, 0).toArray(), [4, 7]);
  assert.deepEqual(x.sum({ dim: [0], keepdim: true }).toArray(), [[4, 7]]);
  assert.deepEqual(x.sum(0, true).shape, [1, 2]);
  assert.deepEqual(x.sum(0, { keepdim: true }).shape, [1, 2]);
  assert.equal(x.sum(null, undefined, undefined).toArray(), 11);
  assert.equal(x.sum({ dtype: lt.float32 }).dtype, 'float32');
});

test('numbers take part in promotion as their kind', () => {
  assert.equal(x.mul(2).dtype, 'int64');
  assert.equal(x.mul(lt.float(2)).dtype, 'float32');
  assert.equal(x.mul(2.5).dtype, 'float32');
  assert.equal(x.mul(2n).dtype, 'int64');
  assert.equal(x.mul({ re: 0, im: 1 }).dtype, 'complex64');
  assert.equal(lt.tensor([true]).mul(true).dtype, 'bool');
  assert.equal(lt.zeros([1], { dtype: lt.int8 }).add(1000).dtype, 'int8');
  assert.equal(lt.resultType(lt.zeros([1], { dtype: lt.int8 }), lt.float(1)), 'float32');
  assert.deepEqual(lt.sub(10, x).toArray(), [[9, 5], [7, 8]]);
  assert.deepEqual(lt.where(lt.gt(x, 2), x, 0).toArray(), [[0, 5], [3, 0]]);
  assert.deepEqual(lt.where(lt.gt(x, 2), 1, 0).toArray(), [[0, 1], [1, 0]]);
});

test('overloads are distinguished by the arguments', () => {
  assert.equal(x.max().toArray(), 5);
  const { values, indices } = x.max(1);
  assert.deepEqual([values.toArray(), indices.toArray()], [[5, 3], [1, 0]]);
  assert.deepEqual(lt.max(x, { dim: 0, keepdim: true }).values.shape, [1, 2]);
  const f = lt.tensor([1.5, 2.5]);
  assert.equal(f.std({ correction: 0 }).toArray(), 0.5);
  assert.equal(f.std(false).toArray(), 0.5);
  assert.equal(f.std(0, false).toArray(), 0.5);
  assert.deepEqual(x.clamp(2, 4).toArray(), [[2, 4], [3, 2]]);
  assert.deepEqual(x.clamp({ min: lt.tensor(2) }).toArray(), [[2, 5], [3, 2]]);
  assert.throws(() => x.max(true), { name: 'TypeError', code: 'TENSOR_ERROR_TYPE', message: /no overload accepts these arguments.*max\(input\) and max\(input, dim, keepdim\)/ });
});

test('out and in-place forms write to an existing tensor and return it', () => {
  const out = lt.zeros([2, 2], { dtype: lt.int64 });
  assert.equal(lt.add(x, 1, { out }), out);
  assert.deepEqual(out.toArray(), [[2, 6], [4, 3]]);
  assert.equal(out.mul_(2), out);
  assert.deepEqual(out.toArray(), [[4, 12], [8, 6]]);
  const empty = [lt.zeros([0], { dtype: lt.int64 }), lt.zeros([0], { dtype: lt.int64 })];
  const made = lt.max(x, 1, { out: empty });
  assert.equal(made.indices, empty[1]);
  assert.deepEqual(empty[0].toArray(), [5, 3]);
  assert.deepEqual(empty[0].shape, [2]);
  assert.throws(() => lt.add(x, 1, { out: 3 }), { name: 'TypeError', message: /out must be a tensor/ });
  assert.throws(() => lt.linalg.svd(x, { out: [x] }), { name: 'TypeError', message: 'linalg.svd: out must have a tensor for each of the 3 results, but it has 1' });
  assert.throws(() => lt.max(x, 0, { out: { values: x, indices: 3 } }), { name: 'TypeError', message: "max: out must have a tensor for each of the 2 results; 'indices' is an integer" });
  assert.throws(() => lt.tensordot(x, x, { dims: [[0], [1]] }), { message: /no overload accepts these arguments \(a tensor, a tensor, dims: an array\); the overloads are/ });
  assert.throws(() => lt.quantizePerTensor(x, 0.1, 3.5, 'quint8'), ({ message }) => message.split('quantizePerTensor(input, scale, zeroPoint, dtype)').length === 2);
  const wide = (op, argument, sign = ' with sign') => ({ name: 'RangeError', code: 'TENSOR_ERROR_VALUE', message: `${op}: argument '${argument}': a BigInt does not fit in 64 bits${sign}` });
  assert.throws(() => lt.manualSeed(2n ** 64n), wide('manualSeed', 'seed', ''));
  assert.throws(() => lt.add(x, 2n ** 64n), wide('add', 'other', ''));
  assert.throws(() => lt.sum(x, { dim: -(2n ** 63n) - 1n }), wide('sum', 'dim', ''));
  assert.throws(() => x.at(2n ** 63n), wide('at', 'index'));
  assert.throws(() => lt.sum(x, [0, 2n ** 63n]), wide('sum', 'dim'));
  assert.throws(() => lt.zeros(2, 2n ** 63n), wide('zeros', 'size'));
  assert.throws(() => x.at(lt.slice(0, 2n ** 63n)), wide('at', 'stop'));
  assert.throws(() => lt.zeros([2, 2], { dtype: lt.int64 }).add_(0.5), { code: 'TENSOR_ERROR_RUNTIME' });
  const filled = lt.zeros([3]);
  assert.equal(filled.uniform_(1, 1.5), filled);
  assert.ok(filled.toArray().every((v) => v >= 1 && v < 1.5));
});

test('errors of wrong arguments name the argument, its type and the expected type', () => {
  const cases = [
    [() => lt.add(x), /add: argument 'other' \(a tensor or a number\) is missing/],
    [() => lt.add(x, 'a'), /argument 'other' must be a tensor or a number, not a string/],
    [() => lt.add(x, 1, 2), /takes 2 positional arguments, but got 3/],
    [() => lt.add(x, 1, { beta: 2 }), /has no argument 'beta'/],
    [() => lt.add(x, 1, { other: 2 }), /argument 'other' was passed twice/],
    [() => lt.zeros([1.5]), /must be an integer or an array of integers/],
    [() => lt.zeros([1, 1.5]), /item 1 is a number with a fraction/],
    [() => lt.zeros([1], { dtype: 'float33' }), /must be a dtype/],
    [() => lt.zeros([1], { device: 'gpu' }), /must be a device/],
    [() => x.sum(0, 1), /argument 'keepdim' must be a boolean, not an integer/],
    [() => lt.zeros.call(null), /'size'.*is missing/],
    [() => lt.Tensor.prototype.add.call({}, 1), /./],
    [() => lt.Tensor.prototype.add_.call(3, 1), /./],
    [() => Reflect.get(lt.Tensor.prototype, 'shape', {}), /something else than a tensor/],
    [() => lt.add(x, Symbol('s')), /an unsupported value/],
  ];
  for (const [call, message] of cases) assert.throws(call, { name: 'TypeError', code: 'TENSOR_ERROR_TYPE', message });
});

test('errors of the library come as the kinds of JavaScript', () => {
  assert.throws(() => lt.add(x, lt.zeros([3])), { name: 'Error', code: 'TENSOR_ERROR_RUNTIME', message: /size of tensor a \(2\) must match/ });
  assert.throws(() => x.sum(5), { name: 'RangeError', code: 'TENSOR_ERROR_INDEX', message: /Dimension out of range|dimension/ });
  assert.throws(() => lt.zeros([2n ** 62n, 4]), { code: /TENSOR_ERROR_/ });
  assert.throws(() => x.add(2n ** 64n), { name: 'RangeError', code: 'TENSOR_ERROR_VALUE' });
  const gone = lt.zeros([1]);
  gone.dispose();
  assert.throws(() => gone.add(1), { name: 'Error', code: 'TENSOR_ERROR_HANDLE', message: /argument 'input' \(a Tensor\) has been disposed/ });
  assert.throws(() => gone.shape, { code: 'TENSOR_ERROR_HANDLE' });
});

test('sizes can be passed as separate arguments', () => {
  assert.deepEqual(lt.zeros(2, 3).shape, [2, 3]);
  assert.deepEqual(lt.rand(2n, 3, { dtype: 'float64' }).shape, [2, 3]);
  assert.deepEqual(x.reshape(4, 1).shape, [4, 1]);
  assert.deepEqual(x.reshape(-1).shape, [4]);
  assert.deepEqual(lt.reshape(x, 1, 4).shape, [1, 4]);
  assert.deepEqual(x.view(1, 2, 2).expand(3, 2, 2).shape, [3, 2, 2]);
  assert.deepEqual(x.permute(1, 0).toArray(), [[1, 3], [5, 2]]);
  assert.deepEqual(x.repeat(2, 1).shape, [4, 2]);
  assert.throws(() => x.reshape(2, 'a'), { name: 'TypeError' });
  assert.throws(() => x.reshape(2, 2.5), { name: 'TypeError' });
});

test('too many chunks are rejected before any is created', () => {
  const empty = lt.zeros([0, 3]);
  for (const pieces of [2 ** 31, 2 ** 53, 2n ** 62n]) {
    for (const split of [lt.chunk, lt.tensorSplit]) assert.throws(() => split(empty, pieces), { code: 'TENSOR_ERROR_MEMORY', message: /chunks exceed the maximum/ });
  }
  assert.equal(empty.chunk(3).length, 3);
});

test('to takes dtypes, devices and tensors', () => {
  assert.equal(x.to('float64').dtype, 'float64');
  assert.equal(x.to('meta').device, 'meta');
  assert.deepEqual([x.to('meta', 'int8').device, x.to('meta', 'int8').dtype], ['meta', 'int8']);
  assert.equal(x.to(lt.zeros([1], { dtype: 'bool' })).dtype, 'bool');
  assert.notEqual(x.to('int64', { copy: true }).data().buffer, x.data().buffer);
  assert.equal(x.to({ dtype: 'int16' }).dtype, 'int16');
  assert.throws(() => x.to('float99'), { name: 'TypeError', message: /'float99' is neither a dtype.*nor a device/ });
  assert.throws(() => x.to('int8', 'int16'), { name: 'TypeError', message: /'int8' and 'int16'/ });
  assert.throws(() => x.to('int8', 3), { name: 'TypeError' });
});

test('options are plain objects with known names', () => {
  for (const options of [new Map([['alpha', 2]]), new Date(), new (class A {})(), new Set()]) {
    assert.throws(() => lt.add(x, 1, options), { name: 'TypeError', code: 'TENSOR_ERROR_TYPE' });
  }
  assert.deepEqual(lt.add(x, 1, Object.create(null)).toArray(), [[2, 6], [4, 3]]);
  assert.throws(() => lt.tensor([1], 'float32'), { name: 'TypeError', message: /options must be an object.*'float32'/ });
  assert.throws(() => lt.tensor([1], [2]), { name: 'TypeError', message: /not an array/ });
  assert.throws(() => lt.tensor([1], { dtyp: 'int8' }), { name: 'TypeError', message: /unknown option 'dtyp'; supported are dtype, device, shape/ });
  assert.throws(() => lt.asTensor(x, { dtyp: 'int8' }), { name: 'TypeError' });
  assert.throws(() => lt.zeros([1], { signal: null, dtyp: 1 }), { name: 'TypeError' });
});

test('a getter that throws, or disposes what is being used, does no harm', () => {
  assert.throws(() => lt.add(x, 1, { get alpha() { throw new Error('mine'); } }), { message: 'mine' });
  const t = lt.zeros([1]);
  assert.throws(() => lt.add(t, 1, { get alpha() { t.dispose(); return 1; } }), { code: 'TENSOR_ERROR_HANDLE' });
});

test('isTensor answers for every value', () => {
  assert.ok(lt.isTensor(x));
  for (const value of [undefined, null, 1, 2n ** 70n, 'a', Symbol('s'), {}, { re: 'a' }, [], lt.generatorNew(), () => 1]) {
    assert.equal(lt.isTensor(value), false);
  }
});

test('generators and storages are separate objects', () => {
  const g = lt.generatorNew();
  g.manualSeed(7);
  const first = lt.rand([4], { generator: g }).toArray();
  g.manualSeed(7);
  assert.deepEqual(lt.rand([4], { generator: g }).toArray(), first);
  assert.equal(g.initialSeed(), 7);
  const storage = lt.zeros([4]).untypedStorage();
  assert.equal(storage.nbytes(), 16);
  assert.throws(() => storage.nbytes.call(g), { name: 'TypeError', message: /must be a storage, not a generator/ });
  assert.throws(() => lt.rand([1], { generator: storage }), { name: 'TypeError' });
});

test('every function and method rejects unsupported values', () => {
  const handWritten = ['setAsyncThreads', 'getAsyncThreads', 'tensor', 'asTensor', 'float', 'slice', 'scope', 'isTensor', 'liveHandles', 'dtypeSize', 'call', 'operatorSchemas', 'Tensor', 'Storage', 'Generator', 'Node', 'Function', 'saveBytes', 'broadcastShapes', 'isStorage', 'settled', 'getPrintoptions', 'seed', 'initialSeed', 'getRngState', 'GradcheckError', 'ExportedProgram'];
  const functions = [];
  const walk = (object, path) => {
    for (const [name, value] of Object.entries(object)) {
      if (typeof value === 'function' && !handWritten.includes(name)) functions.push([path + name, value]);
      else if (typeof value === 'object' && value !== null) walk(value, `${path}${name}.`);
    }
  };
  walk(lt, '');
  assert.ok(functions.length > 100);
  for (const [name, fn] of functions) {
    if (name.endsWith('Async')) continue;
    assert.throws(() => fn(Symbol('s'), Symbol('t')), { name: 'TypeError', code: 'TENSOR_ERROR_TYPE' }, name);
    assert.throws(() => fn(...new Array(30).fill(1)), { name: 'TypeError', code: 'TENSOR_ERROR_TYPE' }, name);
    assert.throws(() => fn({ noSuchArgument: 1 }), { name: 'TypeError', code: 'TENSOR_ERROR_TYPE' }, name);
  }
});

test('generators that count find elements by their indices', () => {
  const g = lt.generatorNew({ engine: 'philox' });
  assert.equal(g.engine(), 'philox');
  g.manualSeed(3);
  const whole = lt.rand([100], { generator: g }).toArray();
  assert.equal(g.getOffset(), 128);
  assert.deepEqual(lt.rand([4], { generator: g.clone() }).toArray(), lt.rand([4], { generator: g }).toArray());
  g.setOffset(40);
  assert.deepEqual(lt.rand([60], { generator: g }).toArray(), whole.slice(40));
  assert.deepEqual([...g.elements.state].slice(0, 9), [3, 0, 0, 0, 0, 0, 0, 0, 104]);
  assert.throws(() => g.setOffset(2), /a multiple of 4/);
  assert.throws(() => lt.generatorNew({ engine: 'pcg' }), /mt19937 or philox/);
  assert.throws(() => lt.generatorNew().getOffset(), /mt19937 generators have no offset/);
  assert.throws(() => g.setState(lt.generatorNew().getState()), /16 bytes, but found 5056/);
});

test('seeds are 64 bits, with or without a sign', () => {
  const draw = (seed) => (lt.manualSeed(seed), lt.rand([4]).toArray());
  assert.deepEqual(draw(2n ** 64n - 1n), draw(-1));
  assert.deepEqual(draw(2n ** 63n), draw(-(2n ** 63n)));
  assert.deepEqual(draw({ seed: 2n ** 64n - 2n }), draw(-2));
  assert.notDeepEqual(draw(2n ** 64n - 1n), draw(2n ** 63n));
  const g = lt.generatorNew();
  g.manualSeed(2n ** 64n - 1n);
  assert.equal(g.initialSeed(), 2n ** 64n - 1n);
  for (const seed of [2n ** 64n, -(2n ** 63n) - 1n]) {
    assert.throws(() => lt.manualSeed(seed), /64/);
    assert.throws(() => g.manualSeed(seed), /64/);
  }
});

test('matrices are factored and solved, and singular ones named', () => {
  const a = lt.diag(lt.tensor([2, 4], { dtype: 'float64' }));
  assert.deepEqual(lt.linalg.solve(a, lt.tensor([2, 8], { dtype: 'float64' })).toArray(), [1, 2]);
  assert.deepEqual(lt.linalg.svd(a).S.toArray(), [4, 2]);
  const batch = lt.stack([a, lt.onesLike(a)]);
  assert.throws(() => lt.linalg.inv(batch), { code: 'TENSOR_ERROR_LINALG', message: /batch element 1.*diagonal element 2 is zero/ });
  assert.deepEqual(lt.linalg.invEx(batch).info.toArray(), [0, 2]);
});
