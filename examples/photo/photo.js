// The photo job in Node: node photo.js PHOTO.ppm OUTPUT_FOLDER. The same steps as photo.py; writes their numbers to node.bin.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const lt = require('../../bindings/node');

function readPpm(file) {
  const bytes = fs.readFileSync(file);
  const header = /^P6\s+(\d+)\s+(\d+)\s+255\s/.exec(bytes.subarray(0, 64).toString('latin1'));
  if (!header) throw new Error(`${file}: expected a binary PPM file with 255 levels`);
  const [width, height] = [Number(header[1]), Number(header[2])];
  return lt.tensor(new Uint8Array(bytes.subarray(header[0].length)), { shape: [height, width, 3] });
}

function run(pixels) {
  const image = pixels.permute([2, 0, 1]).to({ dtype: lt.float32 }).div(255); // [channels, rows, columns]
  const batch = lt.stack([image, image.rsub(1)]); // the photograph and its negative

  const greyMean = batch.mean(-3);
  const weights = lt.tensor([0.9, 0.1, 0]).unsqueeze(-1).unsqueeze_(-1);
  const redFilter = batch.mul(weights).sum(-3);
  const blueFilter = lt.einsum('...chw,c->...hw', [batch, lt.tensor([0, 0.2, 0.8])]);

  const [, height, width] = image.shape;
  const [y, x] = [Math.floor(height / 4), Math.floor(width / 4)];
  const crop = image.get(`:, ${y}:${-y}, ${x}:${-x}`); // a view: no pixel is copied
  const cropped = crop.contiguous();
  const area = [1, 2];
  const statistics = lt.stack([image.mean(area), image.std(area), image.amin(area), image.amax(area)]);

  crop.mul_(0.5); // darkens the middle of image, too
  image.get(`0, ::${y}`).fill_(lt.float(1)); // red lines, which also cross the crop
  const shared = lt.stack([image.sum(0), image.amax(0)]);
  return [batch, greyMean, redFilter, blueFilter, cropped, statistics, shared];
}

const [photo, output] = process.argv.slice(2);
if (!output) {
  console.error('usage: node photo.js PHOTO.ppm OUTPUT_FOLDER');
  process.exit(2);
}
const parts = run(readPpm(photo)).map((t) => {
  const { buffer, byteOffset, byteLength } = t.contiguous().data();
  return Buffer.from(buffer, byteOffset, byteLength);
});
fs.writeFileSync(path.join(output, 'node.bin'), Buffer.concat(parts));
