'use strict';

// Loads the addon, which lies beside libtensor.so in build/.
const path = require('node:path');
const { install } = require('./classes.js');

const file = path.join(__dirname, '..', 'build', 'libtensor.node');

try {
  module.exports = install(require(file));
} catch (error) {
  throw new Error(
    `libtensor: the addon ${file} cannot be loaded on ${process.platform}-${process.arch} (${error.message}); ` +
      'the package holds a build for the platform that it was packed on: in a clone of the repository, run make in bindings/node',
    { cause: error },
  );
}
