'use strict';

// The function of examples/serverless in Node scores points with the program of train.py (spirals.pt2), and leaves no tensor behind.
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
copyFileSync(path.join(__dirname, 'spirals.pt2'), path.join(folder, 'model.pt2'));
const { handler } = require(path.join(folder, 'handler.js'));

async function call(body, isBase64Encoded = false) {
  const answer = await handler({ body, isBase64Encoded });
  assert.deepEqual(answer.headers, { 'content-type': 'application/json' });
  return [answer.statusCode, JSON.parse(answer.body)];
}

// Points of two spirals, which belong to the two classes in turn.
const points = Array.from({ length: 200 }, (_, i) => {
  const angle = Math.sqrt((i + 1) / 200) * 2.5 * Math.PI;
  const turn = angle + (i % 2) * Math.PI;
  return [(angle * Math.cos(turn)) / 8, (angle * Math.sin(turn)) / 8];
});

test('scores are probabilities of the classes', async () => {
  const body = JSON.stringify({ points });
  const [status, { scores }] = await call(body);
  assert.equal(status, 200);
  assert.ok(scores.every(([p, q]) => p >= 0 && q >= 0 && Math.abs(p + q - 1) < 1e-6));
  assert.ok(scores.filter((row, i) => row[i % 2] > 0.5).length > 190);
  const weights = lt.program.load(path.join(folder, 'model.pt2')).stateDict();
  const layer = (x, name) => lt.nn.linear(x, weights[`${name}.weight`], weights[`${name}.bias`]);
  const logits = layer(layer(layer(lt.tensor(points), '0').tanh(), '2').tanh(), '4');
  assert.deepEqual(scores, logits.softmax(1).toArray());
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
