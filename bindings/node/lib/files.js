'use strict';

// save and load: JavaScript's containers as the JSON text and list of tensors that files take, and back.
const { types } = require('node:util');
const native = require('./native.js');
const memory = require('./memory.js');
const { tensor } = require('./create.js');
const { inNameOf, typeError } = require('./options.js');
const { pathOf } = require('./paths.js');

const { Storage } = native;

// Collects the tensors of a value while it converts the value to a form for JSON.stringify.
class Encoder {
  constructor(value) {
    this.tensors = [];
    this.temporary = [];
    this.numbers = new Map();
    this.counts = new Map();
    this.defined = new Map();
    try {
      this.count(value, []);
      this.text = JSON.stringify(this.node(value, 'value'));
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  dispose() {
    for (const t of this.temporary) t.dispose();
  }

  // Finds the containers that occur more than once.
  count(value, open) {
    const items = contents(value);
    if (!items) return;
    if (open.includes(value)) throw typeError('save: a container contains itself');
    const seen = this.counts.get(value) ?? 0;
    this.counts.set(value, seen + 1);
    if (seen > 0) return;
    open.push(value);
    for (const item of items) this.count(item, open);
    open.pop();
  }

  node(value, path) {
    if (this.defined.has(value)) return { ref: this.defined.get(value) };
    if ((this.counts.get(value) ?? 0) < 2) return this.plain(value, path);
    const node = this.plain(value, path);
    this.defined.set(value, this.defined.size);
    return { def: this.defined.get(value), value: node };
  }

  number(key, make) {
    if (!this.numbers.has(key)) {
      this.numbers.set(key, this.tensors.length);
      this.tensors.push(make());
    }
    return this.numbers.get(key);
  }

  float(value) {
    return { float: Object.is(value, -0) ? '-0.0' : String(value).replace('Infinity', 'inf').toLowerCase() };
  }

  plain(value, path) {
    switch (typeof value) {
      case 'boolean':
        return value;
      case 'string':
        return value.isWellFormed() ? value : { text: encodeText(value).toString('base64') };
      case 'bigint':
        return { int: String(value) };
      case 'number':
        return Number.isSafeInteger(value) && !Object.is(value, -0) ? value : this.float(value);
      case 'object':
        return value === null ? null : this.object(value, path);
      default:
        throw typeError(`save: ${path} is ${typeof value}, which is not supported`);
    }
  }

  object(value, path) {
    if (native.isTensor(value)) return { tensor: this.number(value, () => value) };
    if (value instanceof Storage) return { storage: this.number(value, () => this.bytesOf(value)) };
    if (types.isUint8Array(value)) return { bytes: Buffer.from(value).toString('base64') };
    if (Array.isArray(value)) return value.map((item, i) => this.node(item, `${path}[${i}]`));
    if (types.isSet(value)) return { set: Array.from(value, (item) => this.node(item, `an item of ${path}`)) };
    if (types.isMap(value)) return this.dict(value, path);
    if (value.kind === 'float' && typeof value.value === 'number') return this.float(value.value);
    const prototype = Object.getPrototypeOf(value);
    // Objects of other contexts have another Object.prototype.
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
      throw typeError(`save: ${path} is a ${value.constructor?.name}, which is not supported; convert it to a tensor, a plain object or an array`);
    }
    const keys = Object.keys(value);
    if (keys.length === 2 && typeof value.re === 'number' && typeof value.im === 'number') return { complex: [this.float(value.re), this.float(value.im)] };
    return this.dict(Object.entries(value), path);
  }

  dict(entries, path) {
    return { dict: Array.from(entries, ([key, item]) => [this.node(key, `a key of ${path}`), this.node(item, `${path}.${String(key)}`)]) };
  }

  // A storage as the tensor of its bytes.
  bytesOf(storage) {
    const made = native.empty([0], { dtype: 'uint8' });
    this.temporary.push(made);
    return made.set_(storage);
  }
}

// The items of a container, or undefined for other values.
function contents(value) {
  if (Array.isArray(value)) return value;
  if (types.isSet(value)) return [...value];
  if (types.isMap(value)) return [...value.keys(), ...value.values()];
  if (typeof value !== 'object' || value === null || native.isTensor(value) || value instanceof Storage || ArrayBuffer.isView(value)) return undefined;
  return Object.values(value);
}

// Text with halves of surrogate pairs as Python pickles it, UTF-8 that encodes these as if they were characters, and back.
const half = /[\ud800-\udfff]/u;
const encodeText = (text) => Buffer.concat(Array.from(text, (c) => Buffer.from(half.test(c) ? threeBytes(c.charCodeAt(0)) : c)));
const threeBytes = (code) => [0xed, 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)];

function decodeText(bytes) {
  let text = '';
  for (let at = 0, from = 0; at <= bytes.length; at++) {
    if (at < bytes.length && !(bytes[at] === 0xed && bytes[at + 1] >= 0xa0)) continue;
    text += bytes.toString('utf8', from, at);
    if (at < bytes.length) text += String.fromCharCode(0xd000 | ((bytes[at + 1] & 0x3f) << 6) | (bytes[at + 2] & 0x3f));
    from = at + 3;
  }
  return text;
}

const list = (decoder, nodes) => nodes.map((node) => decoder.read(node));

function dict(decoder, nodes) {
  const entries = nodes.map(([key, value]) => [decoder.read(key), decoder.read(value)]);
  return entries.every(([key]) => typeof key === 'string') ? Object.fromEntries(entries) : new Map(entries);
}

const readers = {
  tensor: (d, i) => d.tensors[i],
  storage: (d, i) => d.storage(i),
  typed_storage: (d, i) => d.storage(i),
  tuple: list,
  size: list,
  set: (d, nodes) => new Set(list(d, nodes)),
  dict,
  ordered_dict: dict,
  counter: dict,
  text: (d, text) => decodeText(Buffer.from(text, 'base64')),
  int: (d, text) => BigInt(text),
  float: (d, text) => Number(text.replace('inf', 'Infinity')),
  complex: (d, nodes) => {
    const [re, im] = list(d, nodes);
    return { re, im };
  },
  bytes: (d, text) => new Uint8Array(Buffer.from(text, 'base64')),
  bytearray: (d, text) => new Uint8Array(Buffer.from(text, 'base64')),
  dtype: (d, name) => name,
  device: (d, name) => name,
  layout: (d, name) => name,
  ref: (d, number) => d.defined[number],
};

// Turns a structure's JSON into values.
class Decoder {
  constructor({ structure, tensors }) {
    this.tensors = tensors;
    this.storages = new Map();
    this.defined = [];
    try {
      this.value = this.read(JSON.parse(structure));
    } catch (error) {
      for (const t of tensors) t.dispose();
      throw error;
    }
    for (const i of this.storages.keys()) tensors[i].dispose();
  }

  read(node) {
    if (typeof node !== 'object' || node === null) return node;
    if (Array.isArray(node)) return list(this, node);
    if ('def' in node) return (this.defined[node.def] = this.read(node.value));
    for (const tag of Object.keys(node)) if (Object.hasOwn(readers, tag)) return readers[tag](this, node[tag]);
    throw new Error('load: the structure has an unknown form');
  }

  storage(i) {
    if (!this.storages.has(i)) this.storages.set(i, this.tensors[i].untypedStorage());
    return this.storages.get(i);
  }
}

function save(value, path, options) {
  const encoded = new Encoder(value);
  try {
    native.save(pathOf(path), encoded.text, encoded.tensors, options ?? {});
  } finally {
    encoded.dispose();
  }
}

async function saveAsync(value, path, options) {
  const encoded = inNameOf('saveAsync', () => new Encoder(value));
  try {
    await native.saveAsync(pathOf(path), encoded.text, encoded.tensors, options ?? {});
  } finally {
    encoded.dispose();
  }
}

function saveBytes(value, options) {
  const encoded = inNameOf('saveBytes', () => new Encoder(value));
  let data;
  try {
    data = native.saveBytes(encoded.text, encoded.tensors, options ?? {});
    return data.data({ copy: true });
  } finally {
    data?.dispose();
    encoded.dispose();
  }
}

async function saveBytesAsync(value, options) {
  const encoded = inNameOf('saveBytesAsync', () => new Encoder(value));
  let data;
  try {
    data = await native.saveBytesAsync(encoded.text, encoded.tensors, options ?? {});
    return data.data({ copy: true });
  } finally {
    data?.dispose();
    encoded.dispose();
  }
}

function load(path, options) {
  return new Decoder(native.load(pathOf(path), options ?? {})).value;
}

async function loadAsync(path, options) {
  return new Decoder(await native.loadAsync(pathOf(path), options ?? {})).value;
}

function bytesFor(op, data) {
  const bytes = memory.asBytes(data);
  if (memory.nameOf(bytes) !== 'Uint8Array') throw typeError(`${op}: the data must be a Uint8Array, an ArrayBuffer, a SharedArrayBuffer or a DataView`);
  return tensor(bytes);
}

function loadBytes(data, options) {
  const bytes = bytesFor('loadBytes', data);
  try {
    return new Decoder(native.loadBytes(bytes, options ?? {})).value;
  } finally {
    bytes.dispose();
  }
}

async function loadBytesAsync(data, options) {
  const bytes = bytesFor('loadBytesAsync', data);
  try {
    return new Decoder(await native.loadBytesAsync(bytes, options ?? {})).value;
  } finally {
    bytes.dispose();
  }
}

module.exports = { save, saveAsync, saveBytes, saveBytesAsync, load, loadAsync, loadBytes, loadBytesAsync };
