'use strict';

// Exported programs: PyTorch's results for the recorded ones, structures, asynchronous runs, errors.
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { test } = require('node:test');
const lt = require('..');

const folder = path.join(__dirname, '../../../engine/program/testdata');
const cases = JSON.parse(fs.readFileSync(path.join(folder, 'cases.json'), 'utf8'));
const fileOf = (name) => path.join(folder, `${name}.pt2`);

// The value of a description in cases.json.
function rebuild(value) {
  if (Array.isArray(value)) return value.map(rebuild);
  if (typeof value !== 'object' || value === null) return value;
  if ('dtype' in value) return lt.tensor(value.values.flat(), { dtype: lt.float64 }).to(lt[value.dtype]).reshape(value.shape);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, rebuild(each)]));
}

function checkClose(found, expected) {
  if (expected instanceof lt.Tensor) {
    assert.equal(found.dtype, expected.dtype);
    lt.testing.assertClose(found, expected, { rtol: 1e-5, atol: 1e-6 });
  } else if (typeof expected === 'object' && expected !== null) {
    assert.deepEqual(Object.keys(found), Object.keys(expected));
    for (const key of Object.keys(expected)) checkClose(found[key], expected[key]);
  } else {
    assert.equal(found, expected);
  }
}

const argumentsOf = ({ args, keywords }) => [...rebuild(args), ...(Object.keys(keywords).length ? [rebuild(keywords)] : [])];

for (const [name, runs] of Object.entries(cases)) {
  test(`${name} gives PyTorch's results`, async () => {
    const program = lt.program.load(fileOf(name));
    for (const each of runs) checkClose(program.run(...argumentsOf(each)), rebuild(each.result));
    const bytes = new Uint8Array(fs.readFileSync(fileOf(name)));
    const shared = new SharedArrayBuffer(bytes.length);
    new Uint8Array(shared).set(bytes);
    for (const buffer of [bytes.buffer, shared]) lt.program.load(buffer).dispose();
    const queued = lt.program.load(bytes);
    for (const each of runs) checkClose(await queued.runAsync(...argumentsOf(each)), rebuild(each.result));
  });
}

test('a program describes its inputs, outputs and weights', () => {
  const program = lt.program.load(pathToFileURL(fileOf('classifier')));
  const [x, scale, bias] = program.inputs;
  assert.deepEqual(x, { name: 'x', kind: 'tensor', dtype: 'float32', shape: ['s77', 3], isWritten: false });
  assert.deepEqual([scale.name, scale.shape, bias.name, bias.shape], ['scale', [], 'extra_bias', [2]]);
  assert.equal(program.outputs.length, 3);
  const { args, keywords, result } = program.structure;
  assert.deepEqual([args, keywords], [[x], { scale, extra: { bias } }]);
  const [log, first, second] = program.outputs;
  assert.deepEqual(result, { log, parts: [first, [second]] });
  assert.deepEqual([first.dtype, first.shape], ['int64', ['s77']]);
  assert.equal(program.state.filter(({ kind }) => kind === 'parameter').length, 6);
  assert.deepEqual(program.stateDict()['layers.0.weight'].shape, [4, 3]);
  assert.ok(program.inputs.every(({ isWritten }) => !isWritten));
});

test('the text of a program has its inputs, outputs and graph', () => {
  const program = lt.program.load(fileOf('classifier'));
  const text = String(program);
  assert.match(text, /^ExportedProgram\ninputs:\n {2}x: float32\[s77, 3\]\n {2}scale: float32\[\]\n/);
  for (const { name } of [...program.inputs, ...program.outputs]) assert.match(text, new RegExp(`\\b${name}\\b`));
  assert.match(text, /\n {4}linear = aten.linear.default\(x, /);
  assert.match(text, /\n {4}return log_softmax, argmax, add\n/);
  program.dispose();
  assert.match(String(program), /inputs:\n {2}x: .*outputs:.*the program was disposed\n$/s);
  assert.match(String(loadWithConstants([{ as_int: 3 }, { as_string: 'fast' }, { as_none: true }])), /\n {2}c0: int = 3\n {2}c1: string = "fast"\n {2}c2: null\n/);
});

// A program of one tensor and constants.
function loadWithConstants(constants) {
  const { names, records } = lt.archiveLoad(fileOf('counter'));
  const at = names.findIndex((name) => /models\/.*\.json$/.test(name));
  const text = JSON.parse(Buffer.from(records[at].data()).toString());
  const { graph, signature } = text.graph_module;
  constants.forEach((value, i) => {
    graph.inputs.push(value);
    signature.input_specs.push({ constant_input: { name: `c${i}`, value } });
  });
  text.graph_module.module_call_graph = [];
  records[at] = lt.tensor(new Uint8Array(Buffer.from(JSON.stringify(text))));
  return lt.program.load(lt.archiveSaveBytes(names, records).data());
}

test('inputs that were constant in the export describe their value', () => {
  const program = loadWithConstants([{ as_int: 3 }, { as_float: 0.5 }, { as_bool: true }, { as_string: 'fast' }, { as_none: true }]);
  const [, ...described] = program.inputs;
  assert.deepEqual(described.map(({ name, kind, constant }) => [name, kind, constant]), [['c0', 'int', 3], ['c1', 'float', 0.5], ['c2', 'boolean', true], ['c3', 'string', 'fast'], ['c4', 'null', undefined]]);
  assert.deepEqual(program.structure, { args: program.inputs, keywords: {}, result: program.outputs });
  assert.deepEqual(program.run(lt.ones(1, 2), 3, 0.5, true, 'fast', null).shape, [1, 3]);
});

test('constant inputs accept equal numbers', async () => {
  const values = [{ as_float: 2 }, { as_int: 2 ** 53 }, { as_bool: true }, { as_int: 1 }, { as_float: -0.0 }, { as_float: 2 ** 70 }];
  const program = loadWithConstants(values);
  const x = lt.ones(1, 2);
  const constants = program.inputs.slice(1).map(({ constant }) => constant);
  for (const given of [constants, [2, 2 ** 53, true, 1, 0, 2 ** 70], [2n, 2n ** 53n, 1, true, false, 2 ** 70]]) {
    assert.deepEqual(program.run(x, ...given).shape, [1, 3]);
    assert.deepEqual((await program.runAsync(x, ...given)).shape, [1, 3]);
  }
  const wrong = [2.5, 2 ** 53 + 2, false, 1.5, 1, 2 ** 69];
  wrong.forEach((value, i) => {
    for (const other of [value, null, '2', NaN]) {
      assert.throws(() => program.run(x, ...constants.with(i, other)), new RegExp(`input ${i + 1} \\('c${i}'\\) is .*the program was exported for`));
    }
  });
});

test('asynchronous runs of one program are concurrent', async () => {
  const program = lt.program.load(fileOf('classifier'));
  const args = argumentsOf(cases.classifier[0]);
  const results = await Promise.all(Array.from({ length: 50 }, () => program.runAsync(...args)));
  for (const result of results) checkClose(result, rebuild(cases.classifier[0].result));
});

test('runs of a program that changes a buffer count each of them', async () => {
  const program = lt.program.load(fileOf('counter'));
  await Promise.all(Array.from({ length: 20 }, () => program.runAsync(lt.ones(1, 2))));
  assert.equal(program.stateDict().count.item(), 20);
});

test('runs of a program that is loaded for gradients are recorded, and equal others', () => {
  const args = argumentsOf(cases.classifier[0]);
  const [program, plain] = [{ gradients: true }, {}].map((options) => lt.program.load(fileOf('classifier'), options));
  const [result, other] = [program.run(...args), plain.run(...args)];
  assert.ok(lt.equal(result.log, other.log) && result.log.requiresGrad && !other.log.requiresGrad);
  result.log.sum().backward();
  const { 'layers.0.weight': weight, 'layers.3.bias': bias } = program.stateDict();
  assert.ok(weight.grad.abs().sum().item() > 0 && program.state.every(({ requiresGrad }) => requiresGrad));
  assert.equal(plain.stateDict()['layers.3.bias'].grad, null);
  lt.setGradEnabled(false);
  try {
    bias.sub_(bias.grad);
    assert.ok(!program.run(...args).log.requiresGrad && !lt.equal(program.run(...args).log, result.log));
  } finally {
    lt.setGradEnabled(true);
  }
});

test('a program that is loaded for gradients writes to its buffers', () => {
  const program = lt.program.load(fileOf('counter'), { gradients: true });
  program.run(lt.ones(1, 2));
  program.run(lt.ones(1, 2));
  assert.equal(program.stateDict().count.item(), 2);
});

test('a run ends when its signal is aborted', async () => {
  const program = lt.program.load(fileOf('classifier'));
  const args = argumentsOf(cases.classifier[0]);
  checkClose(await program.runAsync(...args, { signal: new AbortController().signal }), rebuild(cases.classifier[0].result));
  checkClose(await program.runAsync(...args, {}), rebuild(cases.classifier[0].result));
  await assert.rejects(program.runAsync(...args, { signal: AbortSignal.abort(new Error('enough')) }), /enough/);
  const controller = new AbortController();
  const runs = Array.from({ length: 200 }, () => program.runAsync(...args, { signal: controller.signal }));
  controller.abort(new Error('later'));
  const settled = await Promise.allSettled(runs);
  assert.ok(settled.some(({ reason }) => reason?.message === 'later'));
  await assert.rejects(program.runAsync(...args, { signal: 3 }), /argument 'signal' must be an AbortSignal/);
  await assert.rejects(program.runAsync(...args, { sinal: controller.signal }), /program.runAsync: unknown option 'sinal'; supported are signal/);
  await assert.rejects(program.runAsync(...args, { signal: controller.signal, foo: 1 }), /program.runAsync: unknown option 'foo'/);
  await assert.rejects(program.runAsync(...args, lt.ones(1)), /3 arguments were given/);
  assert.throws(() => program.run(...args, { signal: controller.signal }), /3 arguments were given/);
  const counter = lt.program.load(fileOf('counter'));
  await assert.rejects(counter.runAsync(lt.ones(1, 2), { signal: AbortSignal.abort(new Error('enough')) }), /enough/);
});

test('a program is loaded off the event loop', async () => {
  const expected = rebuild(cases.classifier[0].result);
  const bytes = new Uint8Array(fs.readFileSync(fileOf('classifier')));
  const loading = lt.program.loadAsync(bytes);
  bytes.fill(0);
  for (const program of [await loading, await lt.program.loadAsync(pathToFileURL(fileOf('classifier')))]) {
    assert.ok(program instanceof lt.program.ExportedProgram);
    checkClose(program.run(...argumentsOf(cases.classifier[0])), expected);
  }
  await assert.rejects(lt.program.loadAsync(fileOf('classifier'), { signal: AbortSignal.abort(new Error('enough')) }), /enough/);
  await assert.rejects(lt.program.loadAsync('/no/such/file.pt2'), { code: 'ENOENT' });
  await assert.rejects(lt.program.loadAsync(new Uint8Array([80, 75, 3, 4])), /zip archive/);
  await assert.rejects(lt.program.loadAsync(3), /must be a path or a Uint8Array/);
});

test('a disposed program is freed, and its running runs complete', async () => {
  const program = lt.program.load(fileOf('classifier'));
  const [x, keywords] = argumentsOf(cases.classifier[0]);
  const weight = program.stateDict()['layers.0.weight'];
  assert.equal(program.disposed, false);
  const runs = Array.from({ length: 30 }, () => program.runAsync(x, keywords));
  program.dispose();
  program.dispose();
  assert.equal(program.disposed, true);
  assert.deepEqual(weight.shape, [4, 3]);
  assert.throws(() => program.run(x, keywords), /program.run: the program was disposed/);
  assert.throws(() => program.stateDict(), { code: 'TENSOR_ERROR_HANDLE', message: 'program.stateDict: the program was disposed' });
  await assert.rejects(program.runAsync(x, keywords), /program.runAsync: the program was disposed/);
  for (const result of await Promise.all(runs)) checkClose(result, rebuild(cases.classifier[0].result));
  if (Symbol.dispose) {
    const other = lt.program.load(fileOf('classifier'));
    other[Symbol.dispose]();
    assert.ok(other.disposed);
  }
});

test('errors name the input and what the program expects', async () => {
  const program = lt.program.load(fileOf('classifier'));
  const [x, keywords] = argumentsOf(cases.classifier[0]);
  assert.throws(() => program.run(x), { name: 'TypeError', message: /1 arguments were given; the program takes 1 and an object of keyword arguments/ });
  assert.throws(() => program.run(x, { scale: keywords.scale }), /keywords must be an object with the keys scale, extra, not one with scale/);
  assert.throws(() => program.run(lt.ones(2, 5), keywords), /input 0 \('x'\) is float32\[2, 5\].*expects float32\[s77, 3\]/);
  await assert.rejects(program.runAsync(lt.ones(9, 3), keywords), /s77 <= 8 is required/);
  assert.throws(() => program.run(Symbol('x'), keywords), /must be a tensor, a number, a boolean, a string or null/);
  assert.throws(() => program.run(1.5, keywords), /input 0 \('x'\)/);
  for (const args of [[x], [x, 3], [x, { scale: keywords.scale }], [Symbol('x'), keywords], [x, { ...keywords, extra: [] }]]) {
    assert.throws(() => program.run(...args), { name: 'TypeError', message: /^program\.run: / });
    await assert.rejects(program.runAsync(...args), { name: 'TypeError', message: /^program\.runAsync: / });
  }
});

test('files that are no programs are errors', () => {
  assert.throws(() => lt.program.load('/no/such/file.pt2'), { code: 'ENOENT' });
  assert.throws(() => lt.program.load(new Uint8Array(0)), /not a zip archive/);
  assert.throws(() => lt.program.load(new Uint8Array([80, 75, 3, 4])), /zip archive/);
  assert.throws(() => lt.program.load(3), /must be a path or a Uint8Array/);
});

test('a run does not wait for an asynchronous one that may call operators of the thread', async () => {
  const program = lt.program.load(fileOf('counter'));
  const x = lt.ones(1, 2);
  const first = program.run(x).sub(3);
  const both = program.runAsync(x);
  program.run(x); // no operator of this thread exists: the runs are executed one after the other
  await both;
  const operator = lt.defineOperator('test_programs::same(Tensor x) -> Tensor', (t) => t.clone());
  const running = program.runAsync(x);
  assert.throws(() => program.run(x), /program writes to its state, and a runAsync\(\) has not ended, which may call operators of this thread; await it first/);
  await running;
  assert.ok(program.run(x).sub(first).abs().sum().item() > 0);
  operator.remove();
});
