// Starts the service, sends it many concurrent requests, and plots its memory over time: node load.js OUTPUT_FOLDER [REQUESTS]. Fails if a
// response is wrong, a tensor leaks, or, from 2000 requests on, after which JavaScript's heap has reached its size, the second half takes a
// quarter more memory than the first.
'use strict';
const { fork } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');

const [rate, length, atOnce, samples] = [16000, 16000, 8, 60];

const agent = new http.Agent({ keepAlive: true, maxSockets: atOnce });

function post(port, bytes) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, path: '/pitch', method: 'POST', agent }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += chunk)).on('end', () => resolve({ status: response.statusCode, answer: JSON.parse(text) }));
    });
    request.on('error', reject).end(bytes);
  });
}

// A tone of one of the frequencies that windows have.
function tone(bin) {
  const sound = Float32Array.from({ length }, (_, i) => Math.sin((2 * Math.PI * bin * i) / 1024));
  return Buffer.from(sound.buffer);
}

async function memory(service) {
  service.send('memory');
  return (await once(service, 'message'))[0];
}

// The memory over the requests, as a line.
function picture(seen) {
  const [wide, high, left, top] = [640, 260, 60, 40];
  const most = Math.max(...seen.map((s) => s.rss)) * 1.15;
  const x = (s) => left + ((wide - left - 20) * s.done) / seen.at(-1).done;
  const y = (bytes) => high - 40 - ((high - 40 - top) * bytes) / most;
  const line = (of) => seen.map((s) => `${x(s).toFixed(1)},${y(of(s)).toFixed(1)}`).join(' ');
  const marks = [0, 0.5, 1].map((part) => {
    const at = y(most * part);
    return `<line x1="${left}" x2="${wide - 20}" y1="${at}" y2="${at}" stroke="#d8dce2"/><text x="${left - 8}" y="${at + 4}" text-anchor="end">${Math.round((most * part) / 1e6)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${high}" font-family="sans-serif" font-size="12">
<rect width="${wide}" height="${high}" fill="#ffffff"/>
<text x="${left}" y="22">Memory of the service, MB: of the process (blue), of tensors (orange)</text>
${marks.join('\n')}
<polyline fill="none" stroke="#2b6cd4" stroke-width="2" points="${line((s) => s.rss)}"/>
<polyline fill="none" stroke="#d9730d" stroke-width="2" points="${line((s) => s.inUse)}"/>
<text x="${left}" y="${high - 16}">0</text><text x="${wide - 20}" y="${high - 16}" text-anchor="end">${seen.at(-1).done} requests, ${atOnce} at once</text>
</svg>
`;
}

async function main(output, requests) {
  const service = fork(path.join(__dirname, 'service.js'));
  const [{ port }] = await once(service, 'message');
  const tones = [8, 20, 50, 120].map((bin) => ({ bin, bytes: tone(bin) }));
  const seen = [{ done: 0, ...(await memory(service)) }];
  let [asked, done] = [0, 0];
  const began = performance.now();
  async function client() {
    while (asked < requests) {
      const { bin, bytes } = tones[asked++ % tones.length];
      const { status, answer } = await post(port, bytes);
      if (status !== 200 || !answer.pitches.every((hertz) => hertz === (bin * rate) / 1024)) throw new Error(`a tone of bin ${bin} has pitches ${JSON.stringify(answer)}`);
      if (++done % Math.ceil(requests / samples) === 0) seen.push({ done, ...(await memory(service)) });
    }
  }
  await Promise.all(Array.from({ length: atOnce }, client));
  const seconds = (performance.now() - began) / 1000;
  const rejected = await post(port, Buffer.alloc(10));
  if (rejected.status !== 400) throw new Error(`10 bytes are answered with ${rejected.status}`);
  const last = await memory(service);
  seen.push({ done: requests, ...last });
  agent.destroy();
  service.disconnect();
  fs.writeFileSync(path.join(output, 'memory.svg'), picture(seen.sort((a, b) => a.done - b.done)));
  fs.writeFileSync(path.join(output, 'memory.json'), JSON.stringify(seen));
  const highest = (part) => Math.max(...part.map((s) => s.rss));
  const [first, second] = [highest(seen.slice(1, seen.length / 2)), highest(seen.slice(seen.length / 2))];
  console.log(`${requests} requests in ${seconds.toFixed(1)} s; at most ${(first / 1e6).toFixed(0)} MB in the first half, ${(second / 1e6).toFixed(0)} MB in the second`);
  console.log(`tensors: ${seen[0].tensors} before, ${last.tensors} after; ${path.join(output, 'memory.svg')} has the picture`);
  if (last.tensors !== seen[0].tensors) throw new Error('the service has more tensors than before');
  if (requests >= 2000 && second > first * 1.25) throw new Error('the memory of the service grows');
}

const [output, requests = '4000'] = process.argv.slice(2);
if (!output || !(Number(requests) > 0)) {
  console.error('usage: node load.js OUTPUT_FOLDER [REQUESTS]');
  process.exit(2);
}
fs.mkdirSync(output, { recursive: true });
main(output, Number(requests)).catch((error) => {
  console.error(error.message);
  process.exit(1);
});
