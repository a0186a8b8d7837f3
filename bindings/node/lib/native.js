'use strict';

// Loads the addon, which lies beside libtensor.so: in a checkout in build/, otherwise in a package of this platform's.
const { existsSync } = require('node:fs');
const path = require('node:path');
const { install } = require('./classes.js');

const platform = `@libtensor/${process.platform}-${process.arch}`;

// Where this is musl's, as on Alpine, no package of the platform is installed, or its library does not load.
const musl = () => process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime;

function find() {
  const built = path.join(__dirname, '..', 'build', 'libtensor.node');
  if (existsSync(built)) return built;
  try {
    return require.resolve(platform);
  } catch (error) {
    throw new Error(
      `libtensor: neither the package ${platform} is installed, which npm install brings unless optional dependencies are omitted, ` +
        `nor is there ${built}; in a checkout of libtensor, run \`make addon\` at its top`,
      { cause: error },
    );
  }
}

function load() {
  const file = find();
  try {
    return install(require(file));
  } catch (error) {
    delete require.cache[file]; // the next attempt loads it anew
    throw new Error(`libtensor: the addon ${file} cannot be loaded on ${process.platform}-${process.arch}: ${error.message}`, { cause: error });
  }
}

try {
  module.exports = load();
} catch (error) {
  if (!musl()) throw error;
  throw new Error('libtensor needs glibc, and this Node is built for musl, as on Alpine: use one of a system with glibc, such as node:22-slim', { cause: error });
}
