'use strict';

// The addon's functions and classes.
const { onGlibc } = require('./addon.js');
const { install } = require('./classes.js');

function load() {
  try {
    return install();
  } catch (error) {
    throw new Error(`libtensor: the addon cannot be loaded on ${process.platform}-${process.arch}: ${error.message}`, { cause: error });
  }
}

module.exports = onGlibc(load);
