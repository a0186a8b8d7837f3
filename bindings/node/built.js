'use strict';

// npm runs this before it links a program to this folder: without the addon, which make builds, it is of no use.
const { existsSync } = require('node:fs');
const path = require('node:path');

const setsUpThisFolder = path.resolve(process.env.INIT_CWD ?? __dirname) === __dirname;

if (!setsUpThisFolder && !existsSync(path.join(__dirname, 'build', 'libtensor.node'))) {
  const top = path.join(__dirname, '..', '..');
  console.error(`libtensor: bindings/node/build/libtensor.node is missing; run \`make addon\` in ${top} first, which needs Go, gcc, g++ and make`);
  process.exit(1);
}
