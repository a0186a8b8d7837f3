'use strict';

// Calls every function and method with hostile arguments, and with those of reference calls, some of them changed, synchronously and
// asynchronously, while other calls dispose, resize and write the same memory. A crash, a hang, an internal error or a leak fails the test.
//
//  node --expose-gc test/hostile.js --count 1000000 --seed 1
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { setImmediate: turn } = require('node:timers/promises');
const lt = require('..');
const { recordedCalls, valueOf } = require('./recorded.js');

const usage = `usage: node --expose-gc test/hostile.js [--count N] [--seed N] [--trace FILE]
  --count N     how many calls to make, 10000 unless given
  --seed N      the seed that decides them, 0 unless given
  --trace FILE  writes each call's name to FILE before it is made`;

// mulberry32
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Functions that change the whole process, or take files and descriptors that are not ours.
const left = new Set(['setMemoryLimit', 'setNumThreads', 'setAsyncThreads', 'setDefaultDevice', 'setGradEnabled', 'storageFromDescriptor', 'emptyCache', 'resetPeakMemoryStats', 'setInferenceMode', 'setWarnAlways', 'default', 'scope']);
const dtypes = ['bool', 'uint8', 'int8', 'int16', 'int32', 'int64', 'uint16', 'uint32', 'uint64', 'float16', 'bfloat16', 'float32', 'float64', 'complex32', 'complex64', 'complex128'];
const names = ['dim', 'keepdim', 'dtype', 'out', 'other', 'alpha', 'input', 'generator', 'size', 'device', 'signal', 'shape', 'memoryFormat', 'copy', 'nonsense'];

class Run {
  constructor(seed, trace) {
    this.random = generator(seed);
    // Strings among the arguments also name files: these are in a separate folder.
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'libtensor-hostile-'));
    this.home = process.cwd();
    process.chdir(this.folder);
    this.trace = trace ? fs.openSync(path.resolve(this.home, trace), 'w') : undefined;
    this.pool = [];
    this.growing = [];
    this.flying = new Set();
    this.wrong = [];
    this.answers = this.errors = 0;
    this.answered = new Set(); // the functions of successful reference calls
    this.recorded = recordedCalls().filter(({ node }) => !left.has(node) && (node in lt.Tensor.prototype || node.split('.').reduce((found, name) => found?.[name], lt)));
    this.calls = this.collect();
    process.on('unhandledRejection', (error) => this.judge('a rejection that nobody awaits', error));
  }

  collect() {
    const calls = [];
    const walk = (object, name) => {
      for (const [key, value] of Object.entries(object)) {
        if (left.has(key)) continue;
        if (typeof value === 'function') calls.push({ name: name + key, fn: value });
        else if (typeof value === 'object' && value !== null) walk(value, `${name}${key}.`);
      }
    };
    walk(lt, '');
    for (const Class of [lt.Tensor, lt.Storage, lt.Generator, lt.autograd.Node]) {
      for (const key of Reflect.ownKeys(Class.prototype)) {
        const { value, get } = Object.getOwnPropertyDescriptor(Class.prototype, key);
        if (key !== 'constructor') calls.push({ name: `${Class.name}.${String(key)}`, fn: value ?? get, of: Class });
      }
    }
    return calls;
  }

  below(n) {
    return Math.floor(this.random() * n);
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  list(most, make) {
    return Array.from({ length: this.below(most + 1) }, make);
  }

  // A tensor, storage or generator: one that is in use, has been disposed or is a view of another, or a new one.
  object() {
    if (this.pool.length > 0 && this.random() < 0.8) return this.pick(this.pool);
    const made = this.fresh();
    if (this.pool.length < 40) this.pool.push(made);
    else this.pool[this.below(40)] = made;
    return made;
  }

  fresh() {
    const shape = this.list(3, () => this.below(5));
    switch (this.below(17)) {
      case 10:
        return lt.eye(2 + this.below(3)).toSparse();
      case 11:
        return this.pick([() => lt.eye(3).toSparseCsr(), () => lt.eye(4).toSparseBsc([2, 2])])();
      case 12:
        return this.pick([() => lt.quantizePerTensor(lt.ones(shape), 0.1, 2, 'quint8'), () => lt.quantizePerChannel(lt.ones([2, 3]), lt.tensor([0.5, 0.25]), [0, 1], 0, 'qint8')])();
      case 13:
        return lt.zeros(shape, { names: shape.map((_, i) => this.pick([null, `d${i}`])) });
      case 14:
        return lt.ones(shape, { requiresGrad: true });
      case 15:
        return this.leaf(lt.ones(shape, { requiresGrad: true }).mul(2));
      case 16:
        return lt.ones(3, 4).t().expand(2, 4, 3);
      case 0:
        return lt.storageNew(this.below(100));
      case 1:
        return lt.generatorNew();
      case 2:
        return lt.asTensor(new Float32Array(1 + this.below(8)));
      case 3:
        return lt.asTensor(new Int32Array(new SharedArrayBuffer(32)));
      case 4:
        return lt.asTensor(new Float32Array(this.memory(), 0, 8));
      case 5:
        return lt.zeros(shape, { device: 'meta' });
      case 6:
        return lt.zeros([1000, this.below(100)]);
      default:
        return lt.zeros(shape, { dtype: this.pick(dtypes) });
    }
  }

  // Memory of WebAssembly's, which is taken away when it grows.
  memory() {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 2 });
    if (this.growing.length === 8) this.growing.shift();
    this.growing.push(memory);
    return memory.buffer;
  }

  // A result that requires grad, with a hook that may change anything that other calls use.
  leaf(t) {
    if (this.random() < 0.5) {
      t.registerHook((grad) => {
        this.disturb();
        return this.pick([grad, undefined, null, 3, this.object()]);
      });
    }
    return t;
  }

  number() {
    return this.pick([0, 1, 2, 3, -1, -2, 0.5, -0, NaN, Infinity, -Infinity, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 7, 64, 1n, -1n, 2n ** 63n, -(2n ** 70n), this.below(10)]);
  }

  // Objects with properties that throw, return wrong values or change the call's operands.
  trap() {
    const object = this.object();
    const dispose = () => object.dispose?.();
    // Another object in the place of one that is gone, which may have its memory.
    const replace = () => {
      dispose();
      return this.fresh();
    };
    switch (this.below(14)) {
      case 7:
        return new Proxy(object, {});
      case 8:
        return new Proxy([1, 2, 0], {});
      case 9:
        return { get out() { replace(); return object; }, get dim() { return replace(); } };
      case 10:
        return { start: 0, get stop() { replace(); return 2; }, step: null, kind: 'slice' };
      case 11: {
        const lent = new Float32Array(4);
        structuredClone(lent.buffer, { transfer: [lent.buffer] });
        return lent;
      }
      case 12:
        return [[1, 2], new Float32Array(2), object, [object]];
      case 13:
        return { elements: { dtype: this.pick(dtypes), shape: this.list(3, () => this.number()), values: this.value(2), layout: this.pick([undefined, 'sparse_coo', 'strided']), get qscheme() { replace(); return undefined; } } };
      case 0:
        return { get dim() { throw new Error('mine'); } };
      case 1:
        return { get out() { dispose(); return object; } };
      case 2:
        return new Proxy([1, 2], { get() { throw new Error('mine'); } });
      case 3: {
        const circle = [1];
        circle.push(circle);
        return circle;
      }
      case 4: {
        const list = [object, object];
        Object.defineProperty(list, 1, { get() { dispose(); return object; } });
        return list;
      }
      case 5:
        return Object.create(lt.Tensor.prototype);
      default:
        return Object.defineProperty(new Float32Array(2), 'length', { value: 1e9 });
    }
  }

  options() {
    const found = {};
    for (const name of this.list(3, () => this.pick(names))) found[name] = name === 'dtype' ? this.pick(dtypes) : name === 'signal' ? this.signal() : this.value(1);
    return found;
  }

  signal() {
    const controller = new AbortController();
    if (this.random() < 0.5) setImmediate(() => controller.abort());
    return controller.signal;
  }

  text() {
    return this.pick(['', 'a', 'cpu', 'meta', 'float32', '1:, None', '...', ':::', 'sum', 'ij,jk->ik', 'x'.repeat(5000), '\0', 'é\ud800', path.join(this.folder, 'file')]);
  }

  value(depth = 0) {
    const kinds = depth > 2 ? 4 : 13;
    switch (this.below(kinds)) {
      case 0:
      case 1:
        return this.object();
      case 2:
        return this.number();
      case 3:
        return this.text();
      case 4:
        return this.list(4, () => this.number());
      case 5:
        return this.list(3, () => this.value(depth + 1));
      case 6:
        return this.options();
      case 7:
        return this.trap();
      case 8:
        return this.pick([undefined, null, true, false, Symbol('s'), () => 1, new Date(0), new Map(), Promise.resolve(1), /a/]);
      case 9:
        return this.pick([new Float32Array(4), new Uint8Array(0), new BigInt64Array(2), new Uint16Array(3), new Uint32Array(1), new BigUint64Array(2), Buffer.from('abc'), new DataView(new ArrayBuffer(8)), new ArrayBuffer(8, { maxByteLength: 16 })]);
      case 10:
        return lt.slice(this.number(), this.number(), this.number());
      case 11:
        return { re: this.number(), im: this.value(depth + 1) };
      default:
        return this.list(3, () => this.object());
    }
  }

  judge(name, error) {
    this.errors++;
    const known = error instanceof Error && (error.message === 'mine' || error.name === 'AbortError' || /^(TENSOR_ERROR_|E[A-Z]+$|ERR_)/.test(error.code) || error.name === 'GradcheckError' || error instanceof TypeError || error instanceof RangeError);
    const internal = !known || error.code === 'TENSOR_ERROR_INTERNAL' || /internal error|panic|runtime error/i.test(error.message);
    if (internal && this.wrong.length < 20) this.wrong.push(`${name}: ${error?.code} ${error?.message ?? String(error)}`);
  }

  keep(value) {
    if (typeof value !== 'object' || value === null) return;
    if (value instanceof lt.Tensor && value.numel < 1e5 && this.random() < 0.2) this.pool[this.below(this.pool.length)] = value;
  }

  call() {
    if (this.random() < 0.5) this.callRecorded();
    else this.callAny();
  }

  // A tensor of a reference call in another form that most operators accept.
  changed(t) {
    switch (this.below(12)) {
      case 0:
        return t.to(this.pick(dtypes));
      case 1:
        return t.to('meta');
      case 2:
        return t.ndim > 0 ? t.flip(0) : t.unsqueeze(0);
      case 3:
        return t.ndim > 1 ? t.transpose(0, -1) : t.expand(2, ...t.shape);
      case 4:
        return t.narrow(0, 0, Math.min(1, t.shape[0]));
      case 5:
        return this.leaf(t.requiresGrad_().mul(1));
      case 6:
        return lt.asTensor(t.data());
      case 7:
        return t.toSparse();
      case 8:
        return t.toArray();
      default:
        return t;
    }
  }

  // The arguments of a reference call, one of them possibly replaced.
  recordedArguments({ types, args }) {
    const given = args.map((value, i) => valueOf(types[i], value));
    const at = this.below(given.length || 1);
    const fate = this.random();
    if (fate < 0.15 && given.length) given[at] = this.value();
    else if (fate < 0.5 && lt.isTensor(given[at])) given[at] = this.changed(given[at]);
    return given;
  }

  // A reference call in any form: with positional or named arguments, as a method, in place, with out, asynchronously.
  callRecorded() {
    const call = this.pick(this.recorded);
    const name = `${call.node}${this.pick(['', '', '', '_'])}${this.random() < 0.2 ? 'Async' : ''}`;
    this.attempt(name, () => {
      const given = this.recordedArguments(call);
      const isMethod = lt.isTensor(given[0]) && name in lt.Tensor.prototype && this.random() < 0.5;
      const fn = isMethod ? given[0][name] : name.split('.').reduce((found, part) => found?.[part], lt);
      if (typeof fn !== 'function') return undefined;
      const self = isMethod ? given.shift() : undefined;
      const names = call.names.slice(isMethod ? 1 : 0);
      const placed = this.pick([given.length, this.below(given.length + 1), 0]);
      const options = Object.fromEntries(names.slice(placed).map((each, i) => [each, given[placed + i]]));
      if (this.random() < 0.1) options.out = this.pick([this.object(), lt.zeros([0]), given[0]]);
      return Reflect.apply(fn, self, Object.keys(options).length ? [...given.slice(0, placed), options] : given);
    }, () => this.answered.add(call.node));
  }

  callAny() {
    const { name, fn, of } = this.pick(this.calls);
    const self = of && this.random() < 0.95 ? this.object() : this.random() < 0.02 ? this.value() : undefined;
    const given = this.list(this.random() < 0.05 ? 30 : 4, () => this.value());
    if (!of && this.random() < 0.7) given.unshift(this.object());
    this.attempt(name, () => Reflect.apply(fn, self, given));
  }

  attempt(name, make, note = () => {}) {
    if (this.trace) fs.writeSync(this.trace, `${name}\n`);
    try {
      const result = make();
      this.answers++;
      note();
      if (typeof result?.then === 'function') {
        const promise = result.then((value) => this.keep(value), (error) => this.judge(name, error)).finally(() => this.flying.delete(promise));
        this.flying.add(promise);
      } else {
        this.keep(result);
      }
    } catch (error) {
      this.judge(name, error);
    }
  }

  // Other changes to memory that calls use.
  disturb() {
    const object = this.object();
    try {
      switch (this.below(7)) {
        case 0:
          return object.dispose();
        case 6:
          return this.growing.length > 0 && this.pick(this.growing).grow(0);
        case 4:
          return object.data?.().buffer.transfer?.(this.below(100));
        case 1:
          return object.resize_?.(object instanceof lt.Storage ? this.below(200) : [this.below(50)]);
        case 2:
          return object.data?.().fill?.(this.number());
        case 3:
          return structuredClone(object.data?.().buffer, { transfer: [object.data().buffer] });
        default:
          return object.untypedStorage?.().resize_(this.below(100));
      }
    } catch (error) {
      if (error.name !== 'DataCloneError' && !(error instanceof SyntaxError)) this.judge('disturb', error);
    }
  }

  async settle(handles) {
    this.pool = this.growing = [];
    for (let i = 0; i < 50 && lt.liveHandles() > handles; i++) {
      globalThis.gc?.();
      await turn();
    }
    return lt.liveHandles() - handles;
  }

  async run(count) {
    const handles = lt.liveHandles();
    lt.setMemoryLimit(lt.memoryStats().inUse + 2 ** 28);
    for (let i = 0; i < count; i++) {
      this.call();
      if (this.random() < 0.05) this.disturb();
      if (this.flying.size > 64) await Promise.race(this.flying);
      if (i % 100 === 0) await turn();
    }
    await Promise.all(this.flying);
    lt.setMemoryLimit(0);
    lt.setDefaultDtype('float32');
    process.chdir(this.home);
    fs.rmSync(this.folder, { recursive: true });
    return { calls: count, answers: this.answers, errors: this.errors, wrong: this.wrong, functions: this.answered.size, leaked: globalThis.gc ? await this.settle(handles) : 'unknown' };
  }
}

async function main() {
  const options = { count: { type: 'string', default: '10000' }, seed: { type: 'string', default: '0' }, trace: { type: 'string' }, help: { type: 'boolean' } };
  const { values } = parseArgs({ options });
  if (values.help) return console.log(usage);
  const started = Date.now();
  const report = await new Run(Number(values.seed), values.trace).run(Number(values.count));
  console.log(JSON.stringify({ ...report, seconds: Math.round((Date.now() - started) / 1000), rss: process.memoryUsage().rss }));
  if (report.wrong.length > 0 || report.leaked > 0) process.exitCode = 1;
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
