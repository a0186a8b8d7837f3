'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { test } = require('node:test');
const { Worker } = require('node:worker_threads');
const lt = require('..');

const home = JSON.stringify(path.join(__dirname, '..'));

function run(source) {
  return new Promise((resolve, reject) => {
    const messages = [];
    const worker = new Worker(source, { eval: true });
    worker.on('message', (m) => messages.push(m));
    worker.on('error', reject);
    worker.on('exit', (code) => resolve({ code, messages }));
  });
}

test('workers compute side by side with the main thread and end cleanly', async () => {
  const source = `
    const { parentPort } = require('node:worker_threads');
    const lt = require(${home});
    let t = lt.zeros([1000]);
    for (let i = 0; i < 200; i++) t = t.add(1);
    const shared = lt.asTensor(new Float32Array(8)), data = t.data();
    lt.addAsync(t, 1).then((r) => parentPort.postMessage([t.at(0).toArray(), r.at(0).toArray(), data.length]));`;
  const ends = [run(source), run(source), run(source)];
  let t = lt.zeros([1000]);
  for (let i = 0; i < 200; i++) t = t.add(1);
  for (const { code, messages } of await Promise.all(ends)) {
    assert.equal(code, 0);
    assert.deepEqual(messages, [[200, 201, 1000]]);
  }
});

test('what a worker made is freed when it ends', async () => {
  const before = lt.liveHandles();
  await run(`const lt = require(${home}); globalThis.keep = [lt.zeros([9]), lt.asTensor(new Float32Array(9)), lt.zeros([9]).data()];`);
  assert.equal(lt.liveHandles(), before);
});

function end(source) {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['-e', source], { encoding: 'utf8', timeout: 60_000 });
  return { status, signal, stdout, stderr };
}

test('process.exit while workers and asynchronous calls compute', () => {
  const busy = `const lt = require(${home}); require('node:worker_threads').parentPort?.postMessage('on');
    const t = lt.zeros([1 << 20]); for (;;) t.add(1).dispose();`;
  const source = `
    const { Worker } = require('node:worker_threads');
    const lt = require(${home});
    const a = lt.zeros([1 << 22]);
    for (let i = 0; i < 8; i++) lt.addAsync(a, i);
    const worker = new Worker(${JSON.stringify(busy)}, { eval: true });
    worker.on('message', () => setTimeout(() => process.exit(3), 20));`;
  assert.deepEqual(end(source), { status: 3, signal: null, stdout: '', stderr: '' });
});

test('terminate() while asynchronous calls of the worker run', async () => {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
     const lt = require(${home});
     const a = lt.zeros([1 << 22]);
     for (let i = 0; i < 16; i++) lt.addAsync(a, i);
     parentPort.postMessage('on');
     setInterval(() => {}, 1000);`,
    { eval: true },
  );
  await new Promise((resolve) => worker.once('message', resolve));
  assert.equal(typeof (await worker.terminate()), 'number');
});
