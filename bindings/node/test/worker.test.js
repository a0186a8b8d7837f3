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

test('tensors of a worker are freed when it ends', async () => {
  const before = lt.liveHandles();
  await run(`const lt = require(${home}); globalThis.keep = [lt.zeros([9]), lt.asTensor(new Float32Array(9)), lt.zeros([9]).data()];`);
  assert.equal(lt.liveHandles(), before);
});

// The exit status of a separate process, in which only the source loads the package in the main thread.
function end(source, timeout = 60_000) {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['-e', source], { encoding: 'utf8', timeout });
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

test('the default dtype of a worker is its own', async () => {
  const source = `
    const { parentPort } = require('node:worker_threads');
    const lt = require(${home});
    const first = lt.zeros([1]).dtype;
    lt.setDefaultDtype('float64');
    const all = [];
    for (let i = 0; i < 2000; i++) all.push(lt.zeros([1]).dtype, lt.tensor([0.5]).dtype, lt.div(1, 2).dtype);
    lt.randAsync([2]).then((r) => parentPort.postMessage([first, [...new Set(all)], r.dtype, lt.getDefaultDtype()]));`;
  const end = run(source);
  const seen = new Set();
  for (let i = 0; i < 2000; i++) {
    seen.add(lt.zeros([1]).dtype).add(lt.tensor([0.5]).dtype).add((await lt.divAsync(1, 2)).dtype);
  }
  const { messages } = await end;
  assert.deepEqual(messages, [['float32', ['float64'], 'float64', 'float64']]);
  assert.deepEqual([...seen], ['float32']);
  assert.equal(lt.getDefaultDtype(), 'float32');
  assert.throws(() => lt.setDefaultDtype('int8'), { name: 'TypeError' });
});

test('the default device and the gradient mode of a worker are its own, and go with its asynchronous calls', async () => {
  const source = `
    const { parentPort } = require('node:worker_threads');
    const lt = require(${home});
    const modes = async () => [lt.getDefaultDevice(), lt.isGradEnabled(), lt.zeros([1]).device, (await lt.zerosAsync([1])).device];
    (async () => {
      const first = await modes();
      lt.setDefaultDevice('meta');
      lt.setGradEnabled(false);
      const seen = new Set();
      for (let i = 0; i < 500; i++) seen.add(String(await modes()));
      const waiting = lt.zerosAsync([1]);
      lt.setDefaultDevice('cpu');
      parentPort.postMessage([first, [...seen], (await waiting).device, (await lt.onesAsync([1])).device]);
    })();`;
  const end = run(source);
  const seen = new Set();
  for (let i = 0; i < 500; i++) {
    seen.add(String([lt.getDefaultDevice(), lt.isGradEnabled(), lt.zeros([1]).device, (await lt.zerosAsync([1])).device]));
  }
  const { messages } = await end;
  assert.deepEqual(messages, [[['cpu', true, 'cpu', 'cpu'], ['meta,false,meta,meta'], 'meta', 'cpu']]);
  assert.deepEqual([...seen], ['cpu,true,cpu,cpu']);
});

test('modes of the main thread, of which a worker knows nothing', async () => {
  lt.setDefaultDevice('meta');
  lt.setGradEnabled(false);
  try {
    const { messages } = await run(`
      const lt = require(${home});
      require('node:worker_threads').parentPort.postMessage([lt.getDefaultDevice(), lt.isGradEnabled(), lt.zeros([1]).device]);`);
    assert.deepEqual(messages, [['cpu', true, 'cpu']]);
    assert.deepEqual([lt.isGradEnabled(), lt.zeros([1]).device, (await lt.addAsync(lt.ones([1], { device: 'cpu' }), 1)).device], [false, 'meta', 'cpu']);
  } finally {
    lt.setDefaultDevice('cpu');
    lt.setGradEnabled(true);
  }
});

test('workers that end while their calls wait and run', async () => {
  const before = lt.liveHandles();
  for (let i = 0; i < 10; i++) {
    const worker = new Worker(
      `const { parentPort } = require('node:worker_threads');
       const lt = require(${home});
       const shared = lt.asTensor(new Float32Array(new SharedArrayBuffer(4 << 20)));
       const own = lt.asTensor(new Float32Array(1 << 20));
       for (let i = 0; i < 30; i++) { lt.addAsync(shared, i); lt.addAsync(own, i); lt.addAsync(lt.zeros([1 << 20]), i); }
       parentPort.postMessage('on');`,
      { eval: true },
    );
    await new Promise((resolve) => worker.once('message', resolve));
    await worker.terminate();
  }
  assert.ok(lt.liveHandles() <= before);
});

test('a package that cannot be loaded says so, and can be loaded later', () => {
  const source = `
    Object.defineProperty(Object.prototype, 'linalg', { configurable: true, set() { throw new RangeError('not now'); } });
    try { require(${home}); } catch (error) { console.log(error.cause.message); }
    delete Object.prototype.linalg;
    const lt = require(${home});
    console.log(lt.linalg.det(lt.eye(2)).item());`;
  assert.deepEqual(end(source), { status: 0, signal: null, stdout: 'not now\n1\n', stderr: '' });
});

test('Node built for musl is recognized', () => {
  const source = `
    process.report.getReport = () => ({ header: {} });
    Object.defineProperty(Object.prototype, 'linalg', { set() { throw new RangeError('no such library'); } });
    try { require(${home}); } catch (error) { console.log(error.message); }`;
  const says = 'libtensor requires glibc, but this Node is built for musl (Alpine Linux): use an image such as node:22-slim\n';
  assert.deepEqual(end(source), { status: 0, signal: null, stdout: says, stderr: '' });
});

test('a worker that ends while it loads the package', () => {
  const load = `require(${home});`;
  const exit = `Object.defineProperty(Object.prototype, 'linalg', { set() { process.exit(7); } }); ${load}`;
  const source = `
    const { Worker } = require('node:worker_threads');
    (async () => {
      console.log(await new Promise((resolve) => new Worker(${JSON.stringify(exit)}, { eval: true }).on('exit', resolve)));
      for (let i = 0; i < 12; i++) {
        const worker = new Worker(${JSON.stringify(load)}, { eval: true });
        await new Promise((resolve) => worker.once('online', resolve));
        await new Promise((resolve) => setTimeout(resolve, 4 * i));
        await worker.terminate();
      }
    })();`;
  assert.deepEqual(end(source, 20_000), { status: 0, signal: null, stdout: '7\n', stderr: '' });
});

test('the threads of asynchronous calls stay for the workers to come', () => {
  const source = `
    const { Worker } = require('node:worker_threads');
    const run = (call) => new Promise((resolve) => {
      const source = 'const lt = require(' + ${JSON.stringify(home)} + '); ' + call;
      new Worker(source, { eval: true }).on('exit', resolve);
    });
    (async () => {
      await run('lt.setAsyncThreads(7); lt.addAsync(1, 1);');
      await run('lt.addAsync(1, 1).then(() => console.log(lt.getAsyncThreads()));');
    })();`;
  assert.deepEqual(end(source, 20_000), { status: 0, signal: null, stdout: '7\n', stderr: '' });
});

// Endless loops of workers until they are terminated, in a process that has not loaded the package in its main thread: the last worker to
// end is the last user of the package.
const endless = {
  calls: 'for (;;) await lt.matmulAsync(x, x);',
  'many calls': 'for (;;) await Promise.all([lt.matmulAsync(x, x), lt.sortAsync(x), lt.splitAsync(x, 9)]);',
  'calls that are aborted': `for (;;) {
    const controller = new AbortController();
    const calls = [1, 2, 3].map(() => lt.matmulAsync(x, x, { signal: controller.signal }).catch(() => 0));
    setImmediate(() => controller.abort());
    await Promise.all(calls);
  }`,
  'runs backward': 'x.requiresGrad_(true); for (;;) await x.matmul(x).sum().backwardAsync();',
  'runs backward with hooks': 'x.requiresGrad_(true); x.registerHook((g) => g.mul(2)); for (;;) await x.matmul(x).sum().backwardAsync();',
  'hooks on what is saved': `x.requiresGrad_(true);
    lt.autograd.savedTensorsHooks((t) => [t], ([t]) => t, () => { for (;;) x.matmul(x).sum().backward(); });`,
  'calls on memory that is transferred': `for (;;) {
    const array = new Float32Array(999), call = lt.addAsync(lt.asTensor(array), 1);
    structuredClone(array.buffer, { transfer: [array.buffer] });
    const data = (await call).data();
    structuredClone(data.buffer, { transfer: [data.buffer] });
  }`,
  'calls at once': 'for (;;) { x.sort(); x.split(9); lt.scope(() => x.add(1)); lt.asTensor(new Float32Array(9)).data(); }',
};
for (const [what, loop] of Object.entries(endless)) {
  test(`terminate(), one worker after the other: ${what}`, () => {
    const worker = `
      const { parentPort } = require('node:worker_threads');
      const lt = require(${home});
      const x = lt.ones([50, 50]);
      parentPort.postMessage('on');
      (async () => { ${loop} })();`;
    const source = `
      const { Worker } = require('node:worker_threads');
      (async () => {
        for (let i = 0; i < 4; i++) {
          const worker = new Worker(${JSON.stringify(worker)}, { eval: true });
          worker.on('error', (error) => { throw error; });
          await new Promise((resolve) => worker.once('message', resolve));
          await new Promise((resolve) => setTimeout(resolve, 20 + 5 * i));
          await worker.terminate();
        }
      })();`;
    assert.deepEqual(end(source, 20_000), { status: 0, signal: null, stdout: '', stderr: '' });
  });
}
