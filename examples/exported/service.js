// An HTTP service that classifies images of letters with an exported program: node service.js LETTERS.pt2 [PORT]. The body of POST /letters is
// the pixels of N images, float32 numbers of shape (N, 1, 28, 28); the answer is {"letters": "..."}.
'use strict';
const http = require('node:http');
const lt = require('../../bindings/node');

const SIDE = 28;
const MOST_BYTES = 1 << 24;
const program = lt.program.load(process.argv[2]);

async function classify(bytes) {
  const pixels = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const images = lt.scope(() => lt.tensor(pixels).reshape([-1, 1, SIDE, SIDE]));
  const scores = await program.runAsync(images).finally(() => images.dispose());
  const best = lt.scope(() => scores.argmax(1).toArray());
  scores.dispose();
  return best.map((i) => String.fromCharCode(65 + Number(i))).join('');
}

const server = http.createServer((request, response) => {
  const parts = [];
  let length = 0;
  const answer = (status, body) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  request.on('data', (part) => {
    if ((length += part.length) <= MOST_BYTES) parts.push(part);
  });
  request.on('end', () => {
    if (request.method !== 'POST' || request.url !== '/letters') return answer(404, { error: 'POST /letters' });
    if (length === 0 || length > MOST_BYTES || length % (4 * SIDE ** 2)) return answer(400, { error: `the body must be images of ${4 * SIDE ** 2} bytes` });
    return classify(Buffer.concat(parts)).then(
      (letters) => answer(200, { letters }),
      (error) => answer(500, { error: error.message }),
    );
  });
});
server.listen(Number(process.argv[3] ?? 0), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/letters`);
});
