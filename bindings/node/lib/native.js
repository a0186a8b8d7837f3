'use strict';

// Loads the addon, which lies beside libtensor.so in build/.
const { existsSync } = require('node:fs');
const path = require('node:path');
const { install } = require('./classes.js');

const file = path.join(__dirname, '..', 'build', 'libtensor.node');

try {
  module.exports = install(require(file));
} catch (error) {
  delete require.cache[file]; // the next attempt loads it anew
  throw new Error(
    existsSync(file)
      ? `libtensor: the addon ${file} cannot be loaded on ${process.platform}-${process.arch} (${error.message}); ` +
          'a package holds a build for the platform that it was packed on'
      : `libtensor: the addon ${file} is missing; in a checkout of libtensor, run \`make addon\` at its top`,
    { cause: error },
  );
}
