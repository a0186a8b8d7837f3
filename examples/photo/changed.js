// Compares the files of photo.py and change.c: node changed.js RESULTS.pt CHANGED.pt
'use strict';
const lt = require('../../bindings/node');

const [results, changed] = process.argv.slice(2);
if (!changed) {
  console.error('usage: node changed.js RESULTS.pt CHANGED.pt');
  process.exit(2);
}
const before = lt.load(results);
const after = lt.load(changed, { mmap: true });
for (const [name, tensor] of Object.entries(before)) {
  const expected = name === 'crop' ? tensor.neg().add(1) : tensor;
  if (!lt.equal(after[name], expected)) throw new Error(`${changed}: ${name} is not what change.c should have saved`);
}
