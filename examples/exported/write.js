// Continues a text with an exported program: node write.js PROSE.pt2 [TEXT].
'use strict';
const lt = require('../../bindings/node');

const CONTEXT = 64;
const LENGTH = 240;

if (process.argv.length !== 3 && process.argv.length !== 4) {
  console.error('usage: node write.js PROSE.pt2 [TEXT]');
  process.exit(2);
}
const program = lt.program.load(process.argv[2]);
const text = [...Buffer.from(process.argv[3] ?? 'A tensor ', 'ascii')];
for (let i = 0; i < LENGTH; i++) {
  // The tensors of a scope are freed at its end.
  text.push(lt.scope(() => Number(program.run(lt.tensor([text.slice(-CONTEXT)], { dtype: 'int64' })).argmax().item())));
}
console.log(Buffer.from(text).toString('ascii'));
