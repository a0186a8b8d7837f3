// A small network learns to read digits, in Node: node digits.js FOLDER. The same steps as digits.py; writes its numbers to node.bin.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const lt = require('../../bindings/node');

const [HIDDEN, EPOCHS, BATCH, RATE, MOMENTUM, DECAY] = [128, 30, 64, 0.1, 0.9, 0.003];

const SGD = { weightDecay: DECAY, momentum: MOMENTUM, lr: RATE, dampening: 0, nesterov: false, maximize: false, isFirstStep: false };

const scores = (x, [w1, b1, w2, b2]) => x.matmul(w1).add(b1).relu().matmul(w2).add(b2);

// The mean of the negative log softmax of the correct classes.
function crossEntropy(given, y) {
  const shifted = given.sub(given.detach().amax(1, { keepdim: true }));
  const right = shifted.gather(1, y.unsqueeze(1)).squeeze(1);
  return shifted.exp().sum(1).log().sub(right).mean();
}

// A training step on some of the digits; its intermediate tensors are freed at the end.
function step(x, y, batch, parameters, velocities) {
  return lt.scope(() => {
    const loss = crossEntropy(scores(x.indexSelect(0, batch), parameters), y.indexSelect(0, batch));
    loss.backward();
    lt.noGrad(() => {
      const gradients = parameters.map((parameter) => parameter.grad);
      lt.fusedSgd_(parameters, gradients, velocities, SGD);
      for (const parameter of parameters) parameter.grad = null;
    });
    return loss.item();
  });
}

function learn(x, y) {
  lt.manualSeed(0);
  const parameters = [lt.randn(64, HIDDEN).div(6), lt.zeros(HIDDEN), lt.randn(HIDDEN, 10).div(7), lt.zeros(10)];
  for (const parameter of parameters) parameter.requiresGrad_();
  const velocities = parameters.map((parameter) => lt.zerosLike(parameter));
  const losses = [];
  for (let epoch = 1; epoch <= EPOCHS; epoch++) {
    const order = lt.randperm(x.length);
    let total = 0;
    for (let start = 0; start < x.length; start += BATCH) {
      const batch = order.get(`${start}:${start + BATCH}`);
      total += step(x, y, batch, parameters, velocities) * batch.numel;
    }
    losses.push(total / x.length);
    console.log(`epoch ${String(epoch).padStart(2)}  loss ${losses.at(-1)}`);
    if (process.stderr.isTTY) {
      const bar = '#'.repeat(Math.floor((30 * epoch) / EPOCHS)).padEnd(30);
      process.stderr.write(`\r[${bar}] ${epoch}/${EPOCHS}${epoch < EPOCHS ? '' : '\n'}`);
    }
  }
  return { parameters, losses };
}

const [folder] = process.argv.slice(2);
if (!folder || folder === '--help') {
  console.log('usage: node digits.js FOLDER\nlearns from train_x.npy and train_y.npy, and is tried with test_x.npy and test_y.npy');
  process.exit(folder ? 0 : 2);
}
const [x, y, testX, testY] = ['train_x', 'train_y', 'test_x', 'test_y'].map((name) => lt.npyLoad(path.join(folder, `${name}.npy`)));
const { parameters, losses } = learn(x, y);
const accuracy = lt.noGrad(() => scores(testX, parameters).argmax(1).eq(testY).to('float64').mean().item());
console.log(`held-out accuracy ${accuracy}`);
fs.writeFileSync(path.join(folder, 'node.bin'), new Uint8Array(Float64Array.from([...losses, accuracy]).buffer));
