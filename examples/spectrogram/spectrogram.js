// The spectrogram in Node: node spectrogram.js OUTPUT_FOLDER. The same levels as spectrogram.py; writes them to node.bin.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const lt = require('../../bindings/node');

const [rate, seconds, points, hop] = [16000, 3, 512, 128];

function synthesize() {
  const position = lt.arange(rate * seconds, { dtype: lt.float64 });
  const time = position.div(rate);
  const tone = (hertz) => time.mul(2 * Math.PI * hertz).sin();
  const sound = tone(120).mul(0.05).add(tone(240).mul(0.03));
  for (const start of [0.3, 1.0, 1.7, 2.4]) {
    const since = time.sub(start);
    const swell = since.div(0.12).square().neg().exp();
    const wobble = since.mul(2 * Math.PI * 5).sin().mul(400 / (2 * Math.PI * 5)).mul(lt.float(4));
    const phase = since.mul(lt.float(3000)).add(wobble).mul(2 * Math.PI);
    sound.add_(swell.mul(0.5).mul(phase.sin()));
  }
  const noise = position.mul(position).mul(12.9898).sin().mul(43758.5453);
  return sound.add(noise.sub(noise.floor()).sub(0.5).mul(0.005));
}

const [output] = process.argv.slice(2);
if (!output) {
  console.error('usage: node spectrogram.js OUTPUT_FOLDER');
  process.exit(2);
}
const window = lt.signal.windows.hann(points, { sym: false, dtype: lt.float64 });
const spectra = lt.stft(synthesize(), points, { hopLength: hop, window, returnComplex: true });
const { buffer, byteOffset, byteLength } = spectra.abs().clampMin(1e-4).log10().mul(lt.float(20)).contiguous().data();
fs.writeFileSync(path.join(output, 'node.bin'), Buffer.from(buffer, byteOffset, byteLength));
