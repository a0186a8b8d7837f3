'use strict';

// The addon, one instance for each copy of the package's JavaScript: copies do not share state. Jest has a copy for each test file, and
// each bundle is one.
const { existsSync } = require('node:fs');
const path = require('node:path');

const platform = `@libtensor/${process.platform}-${process.arch}`;
const built = path.join(__dirname, '..', 'build', 'libtensor.node');

// On musl, as on Alpine, no package of the platform is installed, or its library does not load.
const isMusl = () => process.platform === 'linux' && !process.report?.getReport().header.glibcVersionRuntime && !process.versions.bun && !process.versions.deno;

// Node, which caches required modules, returns the instance of the first copy: other copies open another one.
function open(file) {
  const opened = { exports: {} };
  process.dlopen(opened, file);
  return opened.exports;
}

function instance(addon) {
  if (Object.hasOwn(addon, 'isTaken')) return open(addon.file);
  addon.isTaken = true;
  return addon;
}

// The names are literal, and in a try block, so that bundlers and tracers of files follow the one that is installed. In a checkout the addon
// is in build/.
function load() {
  try {
    if (existsSync(built)) return open(built);
    switch (`${process.platform}-${process.arch}`) {
      case 'linux-x64':
        return instance(require('@libtensor/linux-x64'));
      case 'linux-arm64':
        return instance(require('@libtensor/linux-arm64'));
      default:
        throw Object.assign(new Error('no package exists for this platform'), { code: 'MODULE_NOT_FOUND' });
    }
  } catch (cause) {
    const message = /MODULE_NOT_FOUND/.test(cause.code)
      ? `libtensor: neither the package ${platform} is installed, which npm install brings unless optional dependencies are omitted, ` +
        `nor is there ${built}; in a checkout of libtensor, run \`make addon\` at its top`
      : `libtensor: the addon cannot be loaded on ${process.platform}-${process.arch}: ${cause.message}`;
    throw new Error(message, { cause });
  }
}

// Loads a file that needs the addon, and explains errors on an unsupported Node.
function onGlibc(load) {
  try {
    return load();
  } catch (cause) {
    if (!isMusl()) throw cause;
    throw new Error('libtensor requires glibc, but this Node is built for musl (Alpine Linux): use an image such as node:22-slim', { cause });
  }
}

module.exports = { addon: onGlibc(load), onGlibc };
