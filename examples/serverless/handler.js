// A serverless function that classifies points of the plane, for AWS Lambda behind a function URL or API Gateway: handler.handler. The body of
// a request is {"points": [[x, y], ...]}, that of the response {"scores": [[p0, p1], ...]}: the probability of each class. The exported
// program in model.pt2 is loaded once per process.
'use strict';
const path = require('node:path');
const lt = require('libtensor');

const MAX_POINTS = 10000;
const MAX_COORDINATE = 1000000;

const program = lt.program.load(path.join(__dirname, 'model.pt2'));

const isCoordinate = (value) => typeof value === 'number' && Math.abs(value) <= MAX_COORDINATE;
const isPoint = (value) => Array.isArray(value) && value.length === 2 && value.every(isCoordinate);

// Returns the points of a request, an array of N pairs. Throws a RangeError or a SyntaxError for other bodies.
function readPoints({ body, isBase64Encoded }) {
  const request = JSON.parse(isBase64Encoded ? Buffer.from(body ?? '', 'base64').toString() : (body ?? ''));
  const points = request?.points;
  if (!Array.isArray(points) || points.length < 1 || points.length > MAX_POINTS || !points.every(isPoint)) {
    throw new RangeError(`the body must be {"points": [[x, y], ...]} with 1 to ${MAX_POINTS} points of coordinates up to ${MAX_COORDINATE}`);
  }
  return points;
}

// The tensors of a scope are freed at its end.
const computeScores = (points) => lt.scope(() => program.run(lt.tensor(points)).toArray());

exports.handler = async (event) => {
  let [statusCode, answer] = [400];
  try {
    [statusCode, answer] = [200, { scores: computeScores(readPoints(event)) }];
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error;
    answer = { error: error.message };
  }
  return { statusCode, headers: { 'content-type': 'application/json' }, body: JSON.stringify(answer) };
};
