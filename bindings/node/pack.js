'use strict';

// Packs the npm packages: node pack.js FOLDER. These are the package itself, and another one with the binaries for this platform, or for
// the processors that make built for (ARCH), which npm installs with it on a matching platform, so that no compiler is needed. Writes the
// names of both files.
const { execFileSync } = require('node:child_process');
const { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { main, types, exports: entries, files, ...manifest } = require('./package.json');

for (const key of ['private', 'scripts', 'devDependencies']) delete manifest[key];
const into = path.resolve(process.argv[2]);
const top = path.join(__dirname, '..', '..');
const { ARCH } = process.env;
const built = path.join(__dirname, 'build', ARCH ?? '');
const arch = ARCH || process.arch;
const addon = (cpu) => `@libtensor/linux-${cpu}`;

function pack(description, from) {
  const stage = mkdtempSync(path.join(os.tmpdir(), 'libtensor-'));
  try {
    for (const file of description.files) cpSync(path.join(from, file), path.join(stage, file), { recursive: true });
    cpSync(path.join(top, 'LICENSE'), path.join(stage, 'LICENSE'));
    cpSync(path.join(__dirname, 'README.md'), path.join(stage, 'README.md'));
    writeFileSync(path.join(stage, 'package.json'), `${JSON.stringify(description, null, 2)}\n`);
    process.stdout.write(execFileSync('npm', ['pack', '--silent', '--pack-destination', into], { cwd: stage }));
  } finally {
    rmSync(stage, { recursive: true });
  }
}

const optionalDependencies = Object.fromEntries(manifest.cpu.map((cpu) => [addon(cpu), manifest.version]));
pack({ ...manifest, main, types, exports: entries, files, optionalDependencies }, __dirname);

const description = `What the package ${manifest.name} loads on ${process.platform} with ${arch} processors`;
const loaded = readdirSync(built).filter((file) => /\.node$|\.so|^licenses$/.test(file));
const kernels = { 'libtensor-cuda': manifest.version };
const peers = { peerDependencies: kernels, peerDependenciesMeta: { 'libtensor-cuda': { optional: true } } };
pack({ ...manifest, name: addon(arch), description, cpu: [arch], main: 'libtensor.node', files: loaded, ...peers }, built);
