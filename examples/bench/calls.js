'use strict';

// Small calls from Node, for calls.py: for each line of input, each call is timed once, and the nanoseconds are printed as JSON. Results
// are disposed.
const readline = require('node:readline');
const lt = require('../../bindings/node');

const CALLS = 200;
const a = lt.tensor([1, 2, 3.5]);
const b = lt.tensor([3, 4, 5.5]);
const out = lt.zeros(3);
const square = lt.rand(4, 4);
const large = lt.rand(100, 100);
const [x, weights, bias] = [lt.rand(1, 64), lt.rand(64, 64), lt.rand(64)];

function chain() {
  const product = a.mul(b);
  const sum = product.add(a);
  product.dispose();
  const made = sum.sub(b);
  sum.dispose();
  return made;
}

function item() {
  const sum = a.sum();
  sum.item();
  return sum;
}

function layer() {
  const units = lt.nn.linear(x, weights, bias);
  const made = units.relu();
  units.dispose();
  return made;
}

const cases = {
  'a + b': () => a.add(b),
  'add(a, b, out=c)': () => void lt.add(a, b, { out }),
  'x[1:50]': () => large.at(lt.slice(1, 50)),
  'a.view(3, 1)': () => a.view(3, 1),
  'a.sum()': () => a.sum(),
  'a.sum().item()': item,
  'zeros(3)': () => lt.zeros(3),
  'x[3]': () => large.at(3),
  'x.shape': () => void large.shape,
  'm @ m (4 x 4)': () => square.matmul(square),
  'a * b + a - b': chain,
  'linear, relu (64)': layer,
};

function time(call) {
  const began = process.hrtime.bigint();
  for (let i = 0; i < CALLS; i++) call()?.dispose();
  return Number(process.hrtime.bigint() - began) / CALLS;
}

readline.createInterface({ input: process.stdin }).on('line', () => {
  console.log(JSON.stringify(Object.fromEntries(Object.entries(cases).map(([name, call]) => [name, time(call)]))));
});
