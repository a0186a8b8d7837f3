// Shared by both models in Node.
'use strict';
const path = require('node:path');
const lt = require('../../bindings/node');

// The tensors of a safetensors file by their names.
function load(folder, name) {
  return lt.safetensorsLoadFile(path.join(folder, `${name}.safetensors`));
}

// The folder argument of a program; without one it prints its usage.
function folderOf(usage) {
  const [folder] = process.argv.slice(2);
  if (folder && folder !== '--help') return folder;
  console.log(usage);
  process.exit(folder ? 0 : 2);
}

// The bytes of a tensor's elements.
function bytes(t) {
  const { buffer, byteOffset, byteLength } = t.data();
  return new Uint8Array(buffer, byteOffset, byteLength);
}

module.exports = { load, folderOf, bytes };
