'use strict';

// Dtypes, layouts and memory formats are strings; these are their names.
const dtypes = [
  'bool', 'uint8', 'int8', 'int16', 'int32', 'int64', 'float16', 'bfloat16', 'float32', 'float64', 'complex32', 'complex64', 'complex128',
];

module.exports = {
  ...Object.fromEntries(dtypes.map((name) => [name, name])),
  strided: 'strided',
  contiguousFormat: 'contiguous_format',
  preserveFormat: 'preserve_format',
  channelsLast: 'channels_last',
  channelsLast3d: 'channels_last_3d',
};
