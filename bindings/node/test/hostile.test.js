'use strict';

// A short test with test/hostile.js, which accepts the number of calls.
const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { test } = require('node:test');

test('fifteen thousand hostile calls crash nothing and leak nothing', { timeout: 300_000 }, () => {
  const args = ['--no-warnings', '--expose-gc', path.join(__dirname, 'hostile.js'), '--count', '15000', '--seed', '1'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}${stderr}`);
  const report = JSON.parse(stdout);
  assert.deepEqual([report.wrong, report.leaked], [[], 0]);
  assert.ok(report.functions > 600, `${report.functions} of the recorded functions answered`);
});
