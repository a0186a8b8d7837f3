// A convolutional network reads letters, in Node: node letters.js FOLDER. The same steps as letters.py; writes the scores to letters.node.bin.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const lt = require('../../bindings/node');
const { load, folderOf, bytes } = require('./model.js');

const STAGES = 3;

function scores(images, w) {
  let x = images;
  for (let i = 1; i <= STAGES; i++) {
    x = lt.nn.conv2d(x, w[`conv${i}.weight`], { padding: 1 });
    x = lt.nn.batchNorm(x, w[`bn${i}.running_mean`], w[`bn${i}.running_var`], w[`bn${i}.weight`], w[`bn${i}.bias`]);
    x = lt.nn.maxPool2d(x.relu(), 2);
  }
  return lt.nn.linear(x.flatten(1), w['fc.weight'], w['fc.bias']);
}

const folder = folderOf('usage: node letters.js FOLDER\nreads the images of held-out.safetensors with the weights of letters.safetensors');
const [weights, { images, letters }] = ['letters', 'held-out'].map((name) => load(folder, name));
const result = scores(images, weights);
const right = result.argmax(1).eq(letters).double().mean().item();
console.log(`${(100 * right).toFixed(1)}% of ${result.length} letters, in fonts that it has not seen, are read right`);
fs.writeFileSync(path.join(folder, 'letters.node.bin'), bytes(result));
