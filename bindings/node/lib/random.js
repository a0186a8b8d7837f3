'use strict';

// Seeds are 64 bits: those from 2^63 are passed to the library as the negative integers of the same bits, and converted back.
const native = require('./native.js');
const { inNameOf } = require('./options.js');

const { manualSeed, initialSeed, seed } = native.Generator.prototype;
const seedDefault = native.manualSeed;

const isLarge = (value) => typeof value === 'bigint' && value >= 2n ** 63n && value < 2n ** 64n;
const given = (value) => (isLarge(value) ? BigInt.asIntN(64, value) : value);
const shown = (value) => (value < 0 ? BigInt.asUintN(64, BigInt(value)) : value);
// The seed alone, or as the option of that name.
const taken = (args) => args.map((arg) => (typeof arg?.seed === 'bigint' ? { ...arg, seed: given(arg.seed) } : given(arg)));

const methods = {
  manualSeed(...args) {
    return Reflect.apply(manualSeed, this, taken(args));
  },

  initialSeed(...args) {
    return shown(Reflect.apply(initialSeed, this, args));
  },

  seed(...args) {
    return shown(Reflect.apply(seed, this, args));
  },
};

for (const name of Object.keys(methods)) {
  Object.defineProperty(native.Generator.prototype, name, { value: methods[name], writable: true, configurable: true });
}

// Those of the default generator.
const byDefault = (use) => (...args) => {
  const generator = native.defaultGenerator();
  try {
    return use(generator, ...args);
  } finally {
    generator.dispose();
  }
};

module.exports = {
  manualSeed: (...args) => seedDefault(...taken(args)),
  seed: byDefault((generator) => generator.seed()),
  initialSeed: byDefault((generator) => generator.initialSeed()),
  getRngState: byDefault((generator) => generator.getState()),
  setRngState: byDefault((generator, state) => inNameOf('setRngState', () => void generator.setState(state))),
};
