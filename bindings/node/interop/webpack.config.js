'use strict';

const path = require('node:path');

module.exports = {
  mode: 'production',
  target: 'node',
  entry: path.join(__dirname, 'program.js'),
  output: { path: path.join(__dirname, 'webpack'), filename: 'program.js' },
  externals: [({ request }, done) => (request.startsWith('@libtensor/') ? done(null, `commonjs ${request}`) : done())],
};
