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
    const queued = lt.program.load(new Uint8Array(fs.readFileSync(fileOf(name))));
    for (const each of runs) checkClose(await queued.runAsync(...argumentsOf(each)), rebuild(each.result));
  });
}

test('a program describes its inputs, outputs and weights', () => {
  const program = lt.program.load(pathToFileURL(fileOf('classifier')));
  assert.deepEqual(program.inputs.map(({ name, type, shape }) => `${name} ${type}${shape}`), ['x float32[s77, 3]', 'scale float32[]', 'extra_bias float32[2]']);
  assert.equal(program.outputs.length, 3);
  assert.equal(program.state.filter(({ kind }) => kind === 'parameter').length, 6);
  assert.deepEqual(program.stateDict()['layers.0.weight'].shape, [4, 3]);
  assert.ok(program.inputs.every(({ isWritten }) => !isWritten));
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

test('errors name the input and what the program expects', async () => {
  const program = lt.program.load(fileOf('classifier'));
  const [x, keywords] = argumentsOf(cases.classifier[0]);
  assert.throws(() => program.run(x), { name: 'TypeError', message: /1 arguments were given; the program takes 1 and an object of keyword arguments/ });
  assert.throws(() => program.run(x, { scale: keywords.scale }), /keywords must be an object with the keys scale, extra, not one with scale/);
  assert.throws(() => program.run(lt.ones(2, 5), keywords), /input 0 \('x'\) is float32\[2, 5\].*expects float32\[s77, 3\]/);
  await assert.rejects(program.runAsync(lt.ones(9, 3), keywords), /s77 <= 8 is required/);
  assert.throws(() => program.run(Symbol('x'), keywords), /must be a tensor, a number, a boolean, a string or null/);
  assert.throws(() => program.run(1.5, keywords), /input 0 \('x'\)/);
});

test('files that are no programs are errors', () => {
  assert.throws(() => lt.program.load('/no/such/file.pt2'), { code: 'ENOENT' });
  assert.throws(() => lt.program.load(new Uint8Array(0)), /no zip archive/);
  assert.throws(() => lt.program.load(new Uint8Array([80, 75, 3, 4])), /zip archive/);
  assert.throws(() => lt.program.load(3), /must be a path or a Uint8Array/);
});
