// An HTTP service on 127.0.0.1: POST a sound to /pitch, as float32 samples, and get the loudest frequency in each of its windows as JSON.
// node service.js [PORT]. Spectra are computed off the event loop, so that other requests are answered meanwhile.
'use strict';
const http = require('node:http');
const lt = require('../../bindings/node');

const [rate, points, hop, most] = [16000, 1024, 512, 4 << 20];
const window = lt.signal.windows.hann(points, { sym: false });

async function pitches(samples) {
  const sound = lt.tensor(samples);
  let spectra;
  try {
    spectra = await lt.stftAsync(sound, points, { hopLength: hop, window, center: false, returnComplex: true });
    // Tensors created in a scope are disposed at its end.
    return lt.scope(() => Array.from(spectra.abs().argmax(0).toArray(), (bin) => (Number(bin) * rate) / points));
  } finally {
    sound.dispose();
    spectra?.dispose();
  }
}

async function body(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > most) throw new RangeError(`a sound has at most ${most} bytes`);
    chunks.push(chunk);
  }
  if (length < 4 * points || length % 4) throw new RangeError(`${length} bytes are not ${points} float32 samples or more`);
  const bytes = Buffer.concat(chunks, length);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + length));
}

const server = http.createServer(async (request, response) => {
  let [status, answer] = [404, { error: 'POST /pitch' }];
  try {
    if (request.method === 'POST' && request.url === '/pitch') [status, answer] = [200, { pitches: await pitches(await body(request)) }];
  } catch (error) {
    [status, answer] = [error instanceof RangeError ? 400 : 500, { error: error.message }];
  }
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
});

server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  if (process.send) process.send({ port: server.address().port });
  else console.log(`http://127.0.0.1:${server.address().port}/pitch`);
});

// A parent process may query the memory in use.
process.on('message', () => process.send({ rss: process.memoryUsage.rss(), tensors: lt.memoryStats().tensors, inUse: lt.memoryStats().inUse }));
process.on('disconnect', () => process.exit());
