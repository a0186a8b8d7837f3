// A small transformer writes prose, letter after letter, in Node: node prose.js FOLDER. The same steps as prose.py; writes the scores of
// the beginning, and both strings, to prose.node.bin.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const lt = require('../../bindings/node');
const { load, folderOf, bytes } = require('./model.js');

const [CONTEXT, WIDTH, HEADS, BLOCKS] = [64, 96, 4, 3];
const [BEGINNING, LENGTH, BOLDNESS] = ['A tensor ', 240, 0.6];

// Of every letter as the next one, after each of `letters` (N, n): (N, n, LETTERS).
function scores(letters, w) {
  const linear = (x, name) => lt.nn.linear(x, w[`${name}.weight`], w[`${name}.bias`]);
  const normed = (x, name) => lt.nn.layerNorm(x, [WIDTH], w[`${name}.weight`], w[`${name}.bias`]);

  let x = lt.nn.embedding(letters, w['letters.weight']).add(w['places.weight'].narrow(0, 0, letters.shape[1]));
  for (let i = 0; i < BLOCKS; i++) {
    const mixed = linear(normed(x, `blocks.${i}.ln1`), `blocks.${i}.qkv`);
    const [q, k, v] = mixed.unflatten(-1, [3, HEADS, -1]).permute(2, 0, 3, 1, 4).unbind();
    const attended = lt.nn.scaledDotProductAttention(q, k, v, { isCausal: true });
    x = x.add(linear(attended.transpose(1, 2).flatten(2), `blocks.${i}.proj`));
    x = x.add(linear(lt.nn.gelu(linear(normed(x, `blocks.${i}.ln2`), `blocks.${i}.up`)), `blocks.${i}.down`));
  }
  return lt.nn.linear(normed(x, 'ln'), w['letters.weight']);
}

const asLetters = (text) => lt.tensor([...Buffer.from(text)], { dtype: lt.int64 }).unsqueeze(0);
const likeliest = (given) => given.argmax();
const drawn = (given) => given.div(BOLDNESS).softmax(0).multinomial(1);

function written(w, chosen) {
  lt.manualSeed(0);
  let text = BEGINNING;
  for (let step = 0; step < LENGTH; step++) {
    text += String.fromCharCode(lt.scope(() => chosen(scores(asLetters(text.slice(-CONTEXT)), w).at(0, -1)).item()));
  }
  return text;
}

const folder = folderOf('usage: node prose.js FOLDER\nwrites with the weights of prose.safetensors');
const weights = load(folder, 'prose');
const first = scores(asLetters(BEGINNING), weights);
const texts = [likeliest, drawn].map((chosen) => written(weights, chosen));
for (const text of texts) console.log(text);
fs.writeFileSync(path.join(folder, 'prose.node.bin'), Buffer.concat([bytes(first), Buffer.from(texts.join(''))]));
