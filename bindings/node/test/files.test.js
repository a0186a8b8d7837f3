'use strict';

// Files: saved values can be loaded in every language, and files are complete at any moment.
const assert = require('node:assert/strict');
const { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { after, test } = require('node:test');
const { pathToFileURL } = require('node:url');
const lt = require('..');

const folder = mkdtempSync(join(tmpdir(), 'libtensor-'));
after(() => rmSync(folder, { recursive: true }));
const at = (name) => join(folder, name);
const testdata = (name) => join(__dirname, '../../../engine/serial/testdata', name);

test('containers, tensors and storages come back', () => {
  const w = lt.tensor([[1n, 2n, 3n], [4n, 5n, 6n]]);
  const shared = [1, 2];
  const value = {
    w, row: w.at(1), same: w, shared: [shared, shared], storage: w.untypedStorage(), bytes: new Uint8Array([1, 2]), set: new Set([1]), map: new Map([[3, 'c']]),
    numbers: [1, -2.5, lt.float(2), Infinity, -0, 2n ** 60n, true, null, 'é\0'], complex: { re: 1, im: 2 }, ['__proto__']: 1,
  };
  lt.save(value, at('a.pt'));
  for (const found of [lt.load(at('a.pt')), lt.load(at('a.pt'), { mmap: true }), lt.loadBytes(lt.saveBytes(value))]) {
    assert.deepEqual(found.w.toArray(), [[1, 2, 3], [4, 5, 6]]);
    assert.equal(found.same, found.w);
    assert.equal(found.shared[0], found.shared[1]);
    found.w.fill_(0);
    assert.deepEqual(found.row.toArray(), [0, 0, 0]);
    assert.equal(found.storage.nbytes(), 48);
    assert.deepEqual(found.bytes, new Uint8Array([1, 2]));
    assert.deepEqual(found.map, new Map([[3, 'c']]));
    assert.deepEqual(found.set, new Set([1]));
    assert.deepEqual(found.numbers, [1, -2.5, 2, Infinity, -0, 2n ** 60n, true, null, 'é\0']);
    assert.deepEqual(found.complex, { re: 1, im: 2 });
    assert.ok(Object.hasOwn(found, '__proto__'));
  }
});

test('texts with halves of surrogate pairs come back', () => {
  const value = { a: '\ud800x', ['\udfff\ud800']: ['é😀\ude00', 'x'.repeat(40) + '\udbff', '😀', '\ud83d'] };
  lt.save(value, at('halves.pt'));
  assert.deepEqual(lt.load(at('halves.pt')), value);
});

test("PyTorch's file", () => {
  const found = lt.load(testdata('torch.pt'));
  assert.deepEqual(found.a.toArray(), [[0, 1, 2], [3, 4, 5]]);
  assert.deepEqual(found.view.strides, [1, 3]);
  assert.equal(found.dtype, 'float32');
});

test('compact files contain only the visible elements of a storage', () => {
  const big = lt.zeros([100000]);
  lt.save(big.at(lt.slice(0, 3)), at('whole.pt'));
  lt.save(big.at(lt.slice(0, 3)), at('compact.pt'), { compact: true });
  assert.ok(statSync(at('whole.pt')).size > 400000);
  assert.ok(statSync(at('compact.pt')).size < 2000);
  assert.deepEqual(lt.load(at('compact.pt')).toArray(), [0, 0, 0]);
});

test('asynchronous forms', async () => {
  const t = lt.arange(1000);
  await lt.saveAsync([t], at('b.pt'));
  const [found] = await lt.loadAsync(at('b.pt'));
  assert.ok(found.equal(t));
  await lt.safetensorsSaveFileAsync(at('b.safetensors'), { t });
  assert.ok((await lt.safetensorsLoadFileAsync(at('b.safetensors'))).t.equal(t));
  assert.ok((await lt.loadBytesAsync(await lt.saveBytesAsync({ t }))).t.equal(t));
  assert.equal((await lt.safetensorsLoadFileListAsync(at('b.safetensors'))).names[0], 't');
  await assert.rejects(lt.saveDictAsync(at('b.pt'), [t]), { name: 'TypeError', message: /^saveDictAsync: / });
  await assert.rejects(lt.loadBytesAsync([1]), { name: 'TypeError', message: /^loadBytesAsync: / });
});

test('dicts, safetensors, npy and npz by name', () => {
  const tensors = { x: lt.ones([2, 2]), ['__proto__']: lt.tensor([true, false]) };
  const isSame = (found) => assert.deepEqual(Object.entries(found).map(([name, t]) => [name, t.toArray()]), [['x', [[1, 1], [1, 1]]], ['__proto__', [true, false]]]);
  for (const given of [tensors, new Map(Object.entries(tensors)), Object.entries(tensors), Object.entries(tensors).values()]) {
    lt.saveDict(at('d.pt'), given);
    isSame(lt.loadDict(at('d.pt')));
  }
  lt.safetensorsSaveFile(at('d.safetensors'), tensors, { metadata: '{"k":"v"}' });
  isSame(lt.safetensorsLoadFile(at('d.safetensors')));
  assert.deepEqual(Object.keys(lt.safetensorsLoadFile(at('d.safetensors'), { only: ['x'] })), ['x']);
  isSame(lt.safetensorsLoad(lt.safetensorsSave(tensors)));
  lt.npySave(at('d.npy'), tensors.x.mul(3));
  assert.deepEqual(lt.npyLoad(at('d.npy')).toArray(), [[3, 3], [3, 3]]);
  lt.npzSave(at('d.npz'), tensors);
  isSame(lt.npzLoad(at('d.npz')));
  isSame(lt.npzLoadBytes(lt.npzSaveBytes(tensors)));
  for (const wrong of [[lt.ones(1)], [['x', 1]], { x: [1] }, lt.ones(2), 'x', null]) {
    assert.throws(() => lt.saveDict(at('d.pt'), wrong), { name: 'TypeError', message: /^saveDict: / });
  }
  assert.throws(() => lt.saveDict(at('d.pt'), ['x'], [lt.ones(1)]), /use saveDictList to pass names and tensors as two lists/);
});

test('the list forms keep the order, equal names and metadata', () => {
  const tensors = [lt.ones([2, 2]), lt.tensor([true, false])];
  lt.saveDictList(at('l.pt'), ['2', '1'], tensors);
  assert.deepEqual(lt.loadDictList(at('l.pt')).names, ['2', '1']);
  lt.safetensorsSaveFileList(at('l.safetensors'), ['x', 'y'], tensors, { metadata: '{"k":"v"}' });
  const found = lt.safetensorsLoadFileList(at('l.safetensors'), { only: ['y'] });
  assert.deepEqual([found.names, found.metadata], [['y'], '{"k":"v"}']);
  assert.deepEqual(found.tensors[0].toArray(), [true, false]);
  lt.npzSaveList(at('l.npz'), ['x', 'y'], tensors);
  assert.deepEqual(lt.npzLoadList(at('l.npz')).names, ['x', 'y']);
});

test('URLs of files are paths', async () => {
  const url = (name) => pathToFileURL(at(name));
  const t = lt.tensor([1, 2.5]);
  lt.save({ t }, url('é u.pt'));
  assert.ok(lt.load(at('é u.pt')).t.equal(t) && lt.load(url('é u.pt')).t.equal(t));
  lt.safetensorsSaveFile(url('u.safetensors'), { t });
  assert.ok((await lt.safetensorsLoadFileAsync(url('u.safetensors'))).t.equal(t));
  lt.npySave(url('u.npy'), t);
  assert.ok(lt.npyLoad({ path: url('u.npy') }).equal(t) && (await lt.npyLoadAsync(url('u.npy'))).equal(t));
  assert.equal(lt.storageFromFile(url('u.npy'), { nbytes: 6 }).view().at(1).item(), 'N'.charCodeAt());
  assert.throws(() => lt.load(new URL('http://localhost/a.pt')), { code: 'ERR_INVALID_URL_SCHEME' });
});

test('failures to save or load throw, keep the old file and leak no handles', async () => {
  lt.save([1], at('old.pt'));
  const before = readFileSync(at('old.pt'));
  const handles = lt.liveHandles();
  assert.throws(() => lt.save({ a: [undefined] }, at('old.pt')), /value\.a\[0\] is undefined/);
  assert.throws(() => lt.save({ a: new Date() }, at('old.pt')), /value\.a is a Date/);
  const circle = [];
  circle.push(circle);
  assert.throws(() => lt.save(circle, at('old.pt')), /contains itself/);
  const damaged = Buffer.from(before);
  damaged[66] ^= 1; // in the pickle, the first record
  writeFileSync(at('damaged.pt'), damaged);
  assert.throws(() => lt.load(at('damaged.pt')), /damaged/);
  assert.throws(() => lt.load(at('missing.pt')), { code: 'ENOENT', errno: -2, message: /no such file/ });
  await assert.rejects(lt.loadAsync(at('missing.pt')), { code: 'ENOENT', errno: -2 });
  assert.throws(() => lt.save([1], at('no/a.pt')), { code: 'ENOENT', errno: -2, message: `save: cannot write ${at('no/a.pt')}: no such file or directory` });
  assert.throws(() => lt.save([1], folder), { code: 'EISDIR', errno: -21, message: `save: cannot write ${folder}: is a directory` });
  assert.throws(() => lt.save([1], ''), { code: 'ENOENT', message: /the path is empty/ });
  assert.throws(() => lt.load(''), { code: 'ENOENT', message: /the path is empty/ });
  assert.throws(() => lt.load(at('a\0.pt')), /NUL/);
  assert.throws(() => lt.saveDictList(at('x.pt'), ['a'], []), /1 names were given for 0 tensors/);
  assert.deepEqual(readFileSync(at('old.pt')), before);
  assert.ok(lt.liveHandles() <= handles); // the collector may have run meanwhile
  assert.deepEqual(readdirSync(folder).filter((name) => name.startsWith('.')), []);
});

test('files before PyTorch 1.6, tar archives and TorchScript archives load', async () => {
  for (const found of [lt.load(testdata('torch_legacy_dict.pt')), await lt.loadAsync(testdata('torch_legacy_dict.pt')), lt.loadDict(testdata('torch_legacy_dict.pt'))]) {
    assert.deepEqual(found.a.toArray(), [[0, 1, 2], [3, 4, 5]]);
    assert.deepEqual(found.t.strides, [1, 3]);
    found.a.fill_(7);
    assert.deepEqual(found.row.toArray(), [7, 7, 7]);
  }
  assert.deepEqual(lt.loadBytes(readFileSync(testdata('torch_tar.pt'))).row.toArray(), [3, 4, 5]);
  const module = lt.loadDict(testdata('torch_script.pt'));
  assert.deepEqual(Object.keys(module).sort(), ['c', 'd.k', 'l.bias', 'l.weight', 'tied']);
  assert.deepEqual(module['l.weight'].toArray(), module.tied.toArray());
  assert.throws(() => lt.load(testdata('torch_legacy_dict.pt'), { mmap: true }), /mmap can only be used/);
  assert.throws(() => lt.load(testdata('torch_module.pt')), /torch\.nn\.modules\.container\.Sequential, which is not allowed/);
  const data = readFileSync(testdata('torch_legacy_dict.pt'));
  for (let n = 1; n < data.length; n += 41) assert.throws(() => lt.loadBytes(data.subarray(0, n)));
});

test('archives of records come back', () => {
  const record = lt.tensor([1, 2, 3], { dtype: 'uint8' });
  lt.archiveSave(at('records.zip'), ['a', 'b/c'], [record, record]);
  for (const found of [lt.archiveLoad(at('records.zip')), lt.archiveLoad(at('records.zip'), { mmap: true })]) {
    const [names, records] = Array.isArray(found) ? found : [found.names, found.records];
    assert.deepEqual([names, records[1].toArray()], [['a', 'b/c'], [1, 2, 3]]);
  }
});

// A GGUF file of a vector q of `length` elements, whose `bytes` of data begin at 64.
const makeGGUF = (bytes, length, type) => {
  const file = Buffer.alloc(64 + bytes);
  file.write('GGUF');
  file.writeUInt32LE(3, 4); // version
  file.writeBigUInt64LE(1n, 8); // tensors
  file.writeBigUInt64LE(1n, 24); // length of the name
  file.write('q', 32);
  file.writeUInt32LE(1, 33); // dimensions
  file.writeBigUInt64LE(length, 37);
  file.writeUInt32LE(type, 45);
  return file;
};

test('tensors of GGUF files stay in blocks, or are dequantized', async () => {
  const file = makeGGUF(18, 32n, 2); // Q4_0
  file.writeUInt16LE(0x3c00, 64); // scale 1
  file.fill(0x98, 66); // 0 and 1
  writeFileSync(at('q.gguf'), file);
  for (const found of [lt.ggufLoadFile(pathToFileURL(at('q.gguf'))), await lt.ggufLoadFileAsync(at('q.gguf'), { mmap: false }), lt.ggufLoad(file)]) {
    assert.deepEqual([found.names, found.types, found.metadata], [['q'], ['Q4_0'], '{}']);
    const [q] = found.tensors;
    assert.deepEqual(lt.ggufDequantize(q, 'Q4_0').sum().item(), 16);
    assert.deepEqual(lt.ggufLinear(lt.ones(1, 32), q.view(1, 18), 'Q4_0').toArray(), [[16]]);
  }
  assert.throws(() => lt.ggufLoad(file.subarray(0, 70)), /tensor "q" has 18 bytes from byte 0 of the data on, and the file has 6/);
});

test('contents of files are bytes of any buffer', async () => {
  const x = lt.tensor([1, 2, 3]);
  const gguf = makeGGUF(16, 3n, 0); // float32
  new Float32Array([1, 2, 3]).forEach((each, i) => gguf.writeFloatLE(each, 64 + 4 * i));
  const loaders = [
    [lt.saveBytes(x), (data) => lt.loadBytes(data), (data) => lt.loadBytesAsync(data)],
    [lt.safetensorsSave({ x }), (data) => lt.safetensorsLoad(data).x, async (data) => (await lt.safetensorsLoadAsync(data)).x],
    [lt.npySaveBytes(x), (data) => lt.npyLoadBytes(data), (data) => lt.npyLoadBytesAsync(data)],
    [lt.npzSaveBytes({ x }), (data) => lt.npzLoadBytes(data).x, async (data) => (await lt.npzLoadBytesAsync(data)).x],
    [lt.npzSaveBytes({ x }), (data) => lt.npzLoadBytesList(data).tensors[0], async (data) => (await lt.npzLoadBytesListAsync(data)).tensors[0]],
    [gguf, (data) => lt.ggufLoad(data).tensors[0], async (data) => (await lt.ggufLoadAsync(data)).tensors[0]],
  ];
  for (const [saved, load, loadAsync] of loaders) {
    const bytes = Uint8Array.from(lt.isTensor(saved) ? saved.toArray() : saved);
    const shared = new SharedArrayBuffer(bytes.length + 8);
    new Uint8Array(shared).set(bytes, 8);
    const exact = new SharedArrayBuffer(bytes.length);
    new Uint8Array(exact).set(bytes);
    for (const data of [bytes, bytes.buffer, exact, new DataView(bytes.buffer), new DataView(shared, 8), new Uint8Array(shared, 8)]) {
      assert.deepEqual(load(data).toArray(), [1, 2, 3]);
      assert.deepEqual((await loadAsync(data)).toArray(), [1, 2, 3]);
    }
  }
  assert.throws(() => lt.loadBytes([1, 2]), /loadBytes: the data must be a Uint8Array, an ArrayBuffer, a SharedArrayBuffer or a DataView/);
});
