'use strict';

// A program to be bundled: with the addon and OpenBLAS next to it.
const lt = require('libtensor');

const x = lt.tensor([[1, 2], [3, 4.5]]);
console.log(x.at(1).toArray(), [...x].length, Math.round(2 * lt.linalg.det(x).item()));
