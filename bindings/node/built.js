'use strict';

// npm runs this before it packs the package, and before it links a program to this folder: without the addon, which make builds, neither is of use.
const { spawnSync } = require('node:child_process');
const { copyFileSync, existsSync } = require('node:fs');
const path = require('node:path');

const top = path.join(__dirname, '..', '..');
const packing = process.env.npm_lifecycle_event === 'prepack';
const setsUpThisFolder = !packing && path.resolve(process.env.INIT_CWD ?? __dirname) === __dirname;

function refuse(why) {
  console.error(`libtensor: ${why}`);
  process.exit(1);
}

if (!setsUpThisFolder) {
  if (!existsSync(path.join(__dirname, 'build', 'libtensor.node'))) {
    refuse(`bindings/node/build/libtensor.node is missing; run \`make addon\` in ${top} first, which needs Go, gcc, g++ and make`);
  }
  if (packing) {
    // What is packed is current, and for every kind of processor.
    const made = spawnSync('make', ['--no-print-directory', '-C', top, 'addon', 'TIERS=all'], { stdio: ['ignore', 'inherit', 'inherit'] });
    if (made.status !== 0) refuse('`make addon` failed, so that there is nothing to pack');
    copyFileSync(path.join(top, 'LICENSE'), path.join(__dirname, 'LICENSE'));
  }
}
