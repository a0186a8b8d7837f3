'use strict';

// The service of examples/service answers many requests at once, rightly, and leaves no tensor behind.
const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { test } = require('node:test');

const load = path.join(__dirname, '../../../examples/service/load.js');

test('the service under a short load', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'service-'));
  try {
    const run = spawnSync(process.execPath, [load, folder, '120'], { encoding: 'utf8', timeout: 120000 });
    assert.equal(run.status, 0, run.stderr);
    assert.match(run.stdout, /^120 requests in .*\ntensors: (\d+) before, \1 after/);
    const seen = JSON.parse(readFileSync(path.join(folder, 'memory.json'), 'utf8'));
    assert.equal(seen.at(-1).done, 120);
    // Tensors use no more memory than the current requests need.
    assert.ok(seen.every((s) => s.inUse < 32e6 && s.rss > s.inUse));
    assert.match(readFileSync(path.join(folder, 'memory.svg'), 'utf8'), /^<svg [^]*<polyline [^]*120 requests, 8 at once[^]*<\/svg>/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('how the load is called', () => {
  const run = spawnSync(process.execPath, [load], { encoding: 'utf8' });
  assert.equal(run.status, 2);
  assert.match(run.stderr, /usage: node load.js OUTPUT_FOLDER/);
});
