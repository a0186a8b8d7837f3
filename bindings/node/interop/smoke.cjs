'use strict';

// Checks for every runtime of JavaScript.
const assert = require('node:assert/strict');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const lt = require('libtensor');

async function main() {
  // More handles than the threshold of a collection, without dispose; and disposed ones.
  for (let i = 0; i < 60_000; i++) lt.ones(1000);
  for (let i = 0; i < 20_000; i++) lt.scope(() => lt.ones(10).add(1));
  const kept = Array.from({ length: 20_000 }, () => lt.ones(3));
  for (const t of kept) t.dispose();
  assert.ok(lt.liveHandles() < 60_000);

  const x = lt.tensor([[1, 2], [3, 4.5]]);
  assert.deepEqual([x.dtype, x.shape, x.at(1, lt.slice(1)).toArray(), [...x].length], ['float32', [2, 2], [4.5], 2]);
  assert.deepEqual(x.max(1).indices.toArray(), [1, 1]);
  assert.throws(() => x.at(7), { name: 'RangeError', code: 'TENSOR_ERROR_INDEX' });
  assert.throws(() => x.add('a'), TypeError);
  assert.ok(Math.abs(lt.linalg.det(x).item() + 1.5) < 1e-5);

  x.requiresGrad_();
  x.registerHook((grad) => grad.mul(2));
  x.mul(x).sum().backward();
  assert.deepEqual(x.grad.toArray(), [[4, 8], [12, 18]]);
  await x.mul(3).sum().backwardAsync();
  assert.deepEqual(x.grad.toArray(), [[10, 14], [18, 24]]);

  const samples = new Float32Array([1, 2, 3]);
  lt.asTensor(samples).mul_(2);
  assert.deepEqual([...samples], [2, 4, 6]);
  const shared = lt.ones(3);
  shared.data()[1] = 5;
  assert.deepEqual([shared.toArray(), [...shared.data({ copy: true })]], [[1, 5, 1], [1, 5, 1]]);
  const products = await Promise.all([1, 2, 3].map((n) => lt.matmulAsync(lt.ones(64, 64), lt.ones(64, 64).mul(n))));
  assert.deepEqual(products.map((t) => t.at(0, 0).item()), [64, 128, 192]);
  await assert.rejects(lt.addAsync(lt.ones(2), lt.ones(3)), { code: 'TENSOR_ERROR_RUNTIME' });

  const folder = mkdtempSync(path.join(tmpdir(), 'libtensor-'));
  lt.safetensorsSaveFile(pathToFileURL(path.join(folder, 'a.safetensors')), { x: lt.tensor(samples) });
  assert.deepEqual(lt.safetensorsLoadFile(path.join(folder, 'a.safetensors')).x.toArray(), [2, 4, 6]);
  rmSync(folder, { recursive: true });
  assert.deepEqual(lt.tensor(structuredClone(lt.ones(2))).toArray(), [1, 1]);
  console.log('the package works');
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
