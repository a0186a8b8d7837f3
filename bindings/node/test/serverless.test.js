'use strict';

// The function of examples/serverless in Node scores points as its weights say, and leaves no tensor behind.
const assert = require('node:assert/strict');
const { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { after, test } = require('node:test');
const lt = require('..');

const folder = mkdtempSync(path.join(tmpdir(), 'serverless-'));
after(() => rmSync(folder, { recursive: true }));
copyFileSync(path.join(__dirname, '../../../examples/serverless/handler.js'), path.join(folder, 'handler.js'));
mkdirSync(path.join(folder, 'node_modules'));
symlinkSync(path.join(__dirname, '..'), path.join(folder, 'node_modules/libtensor'));

// The first class's logit is tanh(tanh(x)), the second's tanh(tanh(y)).
const state = {};
for (const name of ['0', '2', '4']) {
  state[`${name}.weight`] = lt.eye(2);
  state[`${name}.bias`] = lt.zeros(2);
}
lt.safetensorsSaveFile(path.join(folder, 'model.safetensors'), state);
const { handler } = require(path.join(folder, 'handler.js'));

async function call(body, isBase64Encoded = false) {
  const answer = await handler({ body, isBase64Encoded });
  assert.deepEqual(answer.headers, { 'content-type': 'application/json' });
  return [answer.statusCode, JSON.parse(answer.body)];
}

const points = [
  [0, 0],
  [1, -2],
  [1e6, -1e6],
];

test('scores are probabilities of the classes', async () => {
  const body = JSON.stringify({ points });
  const [status, { scores }] = await call(body);
  assert.equal(status, 200);
  points.forEach(([x, y], i) => {
    const [a, b] = [x, y].map((value) => Math.exp(Math.tanh(Math.tanh(value))));
    assert.ok(Math.abs(scores[i][0] - a / (a + b)) < 1e-6 && Math.abs(scores[i][1] - b / (a + b)) < 1e-6, `${scores[i]}`);
  });
  assert.deepEqual(await call(Buffer.from(body).toString('base64'), true), [200, { scores }]);
});

test('other bodies are rejected', async () => {
  const bodies = ['', null, '{', '[]', '1', 'null', '{"points": []}', '{"points": [[1]]}', '{"points": [[1, true]]}', '{"points": [1, 2]}'];
  for (const body of [...bodies, '{"points": [[1e7, 1]]}', JSON.stringify({ points: Array(10001).fill([0, 0]) })]) {
    const [status, { error }] = await call(body);
    assert.ok(status === 400 && error.length > 0, body);
  }
  const before = lt.memoryStats().tensors;
  for (let i = 0; i < 50; i++) assert.equal((await call('{"points": [[0, 0]]}'))[0], 200);
  assert.equal(lt.memoryStats().tensors, before);
});
