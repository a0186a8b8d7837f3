'use strict';

// The addon makes its arrays, objects and promises in the realm of the process: where the package is loaded into another one, as by Jest,
// these become ones of that realm.
const { addon } = require('./addon.js');

const isForeign = !(addon.install instanceof Function);

function localized(value) {
  if (Array.isArray(value)) return Array.from(value);
  const isObject = typeof value === 'object' && value !== null && !(value instanceof Object);
  return isObject && Object.getPrototypeOf(Object.getPrototypeOf(value) ?? value) === null ? { ...value } : value;
}

// Replaces the asynchronous functions of an object, and of those in it.
function localizeAsync(place) {
  for (const [name, { value, ...property }] of Object.entries(Object.getOwnPropertyDescriptors(place))) {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) localizeAsync(value);
    if (typeof value !== 'function' || !name.endsWith('Async') || !property.configurable) continue;
    const local = {
      async [name](...args) {
        return localized(await Reflect.apply(value, this, args));
      },
    }[name];
    Object.defineProperty(local, 'length', { value: value.length, configurable: true });
    Object.defineProperty(place, name, { ...property, value: local });
  }
}

module.exports = { isForeign, localized, localizeAsync };
