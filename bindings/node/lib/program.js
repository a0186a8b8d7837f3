'use strict';

// Exported programs: structures of arguments and results, as PyTorch's pytrees describe them in JSON.
const { asTensor, tensor } = require('./create.js');
const { asBytes } = require('./memory.js');
const native = require('./native.js');
const { definesOperators } = require('./operators.js');
const { failure, read, typeError } = require('./options.js');
const { pathOf } = require('./paths.js');

const isLeaf = (spec) => spec.type === null;
const isKeyed = (spec) => spec.type === 'builtins.dict' || spec.type === 'collections.OrderedDict' || spec.type === 'collections.defaultdict';

// The keys of a dict's children.
function keysOf(spec) {
  const context = JSON.parse(spec.context);
  return spec.type === 'collections.defaultdict' ? context[1] : context;
}

const describe = (value) => (value === null ? 'null' : Array.isArray(value) ? `an array of ${value.length}` : value instanceof native.Tensor ? 'a tensor' : typeof value);

// Appends the leaves of a value that has the structure of a spec, an argument of the method `op`.
function flatten(op, value, spec, path, leaves) {
  if (isLeaf(spec)) {
    leaves.push(value);
    return;
  }
  const children = spec.children_spec;
  if (isKeyed(spec)) {
    const keys = keysOf(spec).map(String);
    const given = value === undefined ? [] : typeof value === 'object' && value !== null ? Object.keys(value) : null;
    if (!given || given.length !== keys.length || !keys.every((key) => Object.hasOwn(value, key))) {
      throw typeError(`program.${op}: ${path} must be an object with the keys ${keys.join(', ') || '(none)'}, not ${given ? `one with ${given.join(', ') || 'none'}` : describe(value)}`);
    }
    keys.forEach((key, i) => flatten(op, value[key], children[i], `${path}.${key}`, leaves));
    return;
  }
  if (spec.type === 'builtins.NoneType') return;
  if (!Array.isArray(value) || value.length !== children.length) {
    throw typeError(`program.${op}: ${path} must be an array of ${children.length}, not ${describe(value)}`);
  }
  children.forEach((child, i) => flatten(op, value[i], child, `${path}[${i}]`, leaves));
}

// The value of a spec's structure, with the leaves of an iterator.
function unflatten(spec, leaves) {
  if (isLeaf(spec)) return leaves.next().value;
  if (isKeyed(spec)) return Object.fromEntries(keysOf(spec).map((key, i) => [key, unflatten(spec.children_spec[i], leaves)]));
  return spec.children_spec.map((child) => unflatten(child, leaves));
}

// The line of an input that is no tensor, for the addon.
function lineOf(op, value, input) {
  switch (typeof value) {
    case 'boolean':
      return `b${Number(value)}`;
    case 'bigint':
      return `i${value}`;
    case 'number':
      return Number.isSafeInteger(value) ? `i${value}` : `f${value}`;
    case 'string':
      return `s${encodeURIComponent(value)}`;
  }
  if (value === null || value === undefined) return 'n';
  throw typeError(`program.${op}: input '${input?.name}' must be a tensor, a number, a boolean, a string or null, not ${describe(value)}`);
}

function valueOf(line, tensors) {
  switch (line[0]) {
    case 't':
      return tensors.next().value;
    case 'i':
      return Number.isSafeInteger(Number(line.slice(1))) ? Number(line.slice(1)) : BigInt(line.slice(1));
    case 'f':
      return { inf: Infinity, '-inf': -Infinity, nan: NaN, '-nan': NaN }[line.slice(1)] ?? Number(line.slice(1));
    case 'b':
      return line[1] === '1';
    case 's':
      return line.slice(1);
  }
  return null;
}

// The sizes of a text such as [s0, Max(2, s1), 16].
function sizesOf(text) {
  const sizes = [];
  let depth = 0;
  let size = '';
  for (const letter of text.slice(1, -1)) {
    if (letter === ',' && depth === 0) {
      sizes.push(size);
      size = '';
      continue;
    }
    depth += Number(letter === '(') - Number(letter === ')');
    size += letter;
  }
  if (size) sizes.push(size);
  return sizes.map((each) => each.trim()).map((each) => (/^-?\d+$/.test(each) ? Number(each) : each));
}

// The description of an input or an output.
function itemOf({ name, kind, dtype, shape, isWritten, constant }) {
  const isTensor = dtype !== '';
  const item = { name, kind, dtype: isTensor ? dtype : null, shape: isTensor ? Object.freeze(sizesOf(shape)) : null, isWritten };
  return Object.freeze(constant === undefined ? item : { ...item, constant });
}

// An input or an output as text: x: float32[s0, 3].
function showItem({ name, kind, dtype, shape, constant }) {
  const type = dtype === null ? kind : `${dtype}[${shape.join(', ')}]`;
  return `${name}: ${type}${constant === undefined ? '' : ` = ${JSON.stringify(typeof constant === 'bigint' ? Number(constant) : constant)}`}`;
}

const isOptions = (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof native.Tensor);

class ExportedProgram {
  #opened;
  #in;
  #out;
  #trained; // the tensors of the state, if runs record gradients
  #writes; // whether runs write to the state, and are executed one after the other
  #running = 0; // runs of runAsync that have not ended
  #disposed = 0; // the handle of a disposed program that is not freed yet

  constructor(opened, { gradients = false } = {}) {
    this.#opened = opened;
    const { inputs, outputs, state, inSpec, outSpec } = this.#opened;
    this.#in = inSpec && JSON.parse(inSpec)[1];
    this.#out = outSpec && JSON.parse(outSpec)[1];
    this.inputs = inputs.map(itemOf);
    this.outputs = outputs.map(itemOf);
    this.#writes = state.some(({ isWritten }) => isWritten);
    this.state = state.map(({ name, dtype, role, requiresGrad }, index) => ({ name, kind: role, dtype, index, requiresGrad }));
    if (gradients) {
      this.#trained = state.map(({ requiresGrad, isWritten }, index) => {
        const tensor = native.programTensor(this.#opened.handle, index);
        if (requiresGrad) native.setRequiresGrad(tensor, true);
        return { tensor, isWritten };
      });
    }
  }

  // The inputs and outputs, nested as the arguments, the keyword arguments and the result.
  get structure() {
    const [args, keywords] = this.#in ? unflatten(this.#in, this.inputs.values()) : [this.inputs, {}];
    return { args, keywords, result: this.#out ? unflatten(this.#out, this.outputs.values()) : this.outputs };
  }

  // The handle of the program, for a function of this name.
  #handle(op) {
    if (this.#opened.handle === 0) throw failure(Error, 'TENSOR_ERROR_HANDLE', `program.${op}: the program was disposed`);
    return this.#opened.handle;
  }

  // The inputs, the outputs and the graph, a line for each node.
  toString() {
    const list = (title, items) => `${title}:\n${items.map((item) => `  ${showItem(item)}\n`).join('')}`;
    const graph = this.disposed ? 'the program was disposed\n' : native.programGraph(this.#opened.handle);
    return `ExportedProgram\n${list('inputs', this.inputs)}${list('outputs', this.outputs)}${graph}`;
  }

  get disposed() {
    return this.#opened.handle === 0;
  }

  // Frees the program, after the runs of runAsync that have not ended; its weights are freed with the last tensor that uses them.
  dispose() {
    this.#disposed ||= this.#opened.handle;
    this.#opened.handle = 0;
    this.#freeDisposed();
  }

  #freeDisposed() {
    if (this.#running || !this.#disposed) return;
    native.programFree(this.#disposed);
    this.#disposed = 0;
  }

  // The parameters, buffers and constants by name; they share memory with the program.
  stateDict() {
    const handle = this.#handle('stateDict');
    const tensorOf = (index) => this.#trained?.[index].tensor ?? native.programTensor(handle, index);
    return Object.fromEntries(this.state.map(({ name, index }) => [name, tensorOf(index)]));
  }

  // The number of arguments of a run.
  get #count() {
    if (!this.#in) return this.inputs.length;
    const [positional, keywords] = this.#in.children_spec;
    return positional.children_spec.length + Number(keywords.children_spec.length > 0);
  }

  // The arguments of programRun.
  #prepare(op, args) {
    const handle = this.#handle(op);
    let leaves = args;
    if (this.#in) {
      leaves = [];
      const [positional, keywords] = this.#in.children_spec;
      const count = positional.children_spec.length;
      const named = keywords.children_spec.length > 0;
      if (args.length !== count + Number(named)) {
        throw typeError(`program.${op}: ${args.length} arguments were given; the program takes ${count}${named ? ' and an object of keyword arguments' : ''}: ${this.inputs.map(({ name }) => name).join(', ')}`);
      }
      flatten(op, args.slice(0, count), positional, 'arguments', leaves);
      if (named) flatten(op, args[count], keywords, 'keywords', leaves);
    }
    const tensors = [];
    const written = [];
    let text = this.#trained ? 'g\n' : '';
    leaves.forEach((value, i) => {
      const input = this.inputs[i];
      const isTensor = value instanceof native.Tensor;
      if (isTensor) (input?.isWritten ? written : tensors).push(value);
      text += `${isTensor ? (input?.isWritten ? 'w' : 't') : lineOf(op, value, input)}\n`;
    });
    for (const { tensor, isWritten } of this.#trained ?? []) {
      (isWritten ? written : tensors).push(tensor);
      text += isWritten ? 'w\n' : 't\n';
    }
    return [handle, tensors, written, text];
  }

  #restore({ tensors, text }) {
    const made = tensors.values();
    const leaves = text.split('\n').slice(0, -1).map((line) => valueOf(line, made));
    if (this.#out) return unflatten(this.#out, leaves.values());
    return leaves.length === 1 ? leaves[0] : leaves;
  }

  run(...args) {
    if (this.#writes && this.#running && definesOperators()) {
      throw failure(Error, 'TENSOR_ERROR_RUNTIME', 'program.run: the program writes to its state, and a runAsync() has not ended, which may call operators of this thread; await it first');
    }
    return this.#restore(native.programRun(...this.#prepare('run', args)));
  }

  async runAsync(...args) {
    const options = args.length === this.#count + 1 && isOptions(args.at(-1)) ? [read('program.runAsync', args.pop(), ['signal'])] : [];
    const prepared = this.#prepare('runAsync', args);
    this.#running++;
    try {
      return this.#restore(await native.programRunAsync(...prepared, ...options));
    } finally {
      this.#running--;
      this.#freeDisposed();
    }
  }
}

if (Symbol.dispose) Object.defineProperty(ExportedProgram.prototype, Symbol.dispose, { value: ExportedProgram.prototype.dispose, writable: true, configurable: true });

// The path of a program, or a list with the tensor of its bytes.
function sourceOf(op, source, tensorOf) {
  const data = asBytes(source);
  const bytes = data instanceof Uint8Array ? [tensorOf(data)] : [];
  const path = bytes.length ? '' : pathOf(source);
  if (typeof path !== 'string') throw typeError(`program.${op}: argument 'source' must be a path or a Uint8Array, ArrayBuffer, SharedArrayBuffer or DataView`);
  return [path, bytes];
}

// Loads a program from a path or the bytes of a file.
function load(source, options) {
  const given = sourceOf('load', source, asTensor);
  try {
    return new ExportedProgram(native.programAdopt(native.programLoad(...given)), options);
  } finally {
    for (const t of given[1]) t.dispose();
  }
}

async function loadAsync(source, { gradients, ...options } = {}) {
  const given = sourceOf('loadAsync', source, tensor);
  try {
    return new ExportedProgram(native.programAdopt(await native.programLoadAsync(...given, options)), { gradients });
  } finally {
    for (const t of given[1]) t.dispose();
  }
}

module.exports = { program: { load, loadAsync, ExportedProgram } };
