'use strict';

// Jest's and Vitest's expect, which both have as globals.
const lt = require('libtensor');

const x = () => lt.tensor([[1, 2.5], [3, 4]]);

test('indices and rows in this file', () => {
  expect(x().at(1).toArray()).toEqual([3, 4]);
  expect([...x()].length).toBe(2);
});

test('equality sees elements, dtype and shape', () => {
  for (const make of [x, () => lt.tensor(1), () => lt.tensor([]), () => lt.tensor([1n]), () => lt.ones(2, { device: 'meta' }), () => lt.eye(2).toSparse()]) {
    expect(make()).toEqual(make());
    expect({ a: [make()] }).toStrictEqual({ a: [make()] });
  }
  for (const other of [lt.tensor([[1, 2.5], [3, 5]]), x().t(), x().double(), x().flatten(), lt.tensor(1), [[1, 2.5], [3, 4]]]) expect(x()).not.toEqual(other);
});

test('what differs is shown', () => {
  expect(() => expect(x()).toEqual(lt.tensor([[1, 2.5], [3, 5]]))).toThrow(/deep/);
  expect(() => expect(lt.ones(2, { device: 'meta' })).toEqual(lt.ones(3, { device: 'meta' }))).toThrow(/deep/);
});

test('errors and results are those of this realm', async () => {
  expect(() => x().at(9)).toThrow(RangeError);
  expect(() => x().add('a')).toThrow(TypeError);
  await expect(lt.addAsync(x(), lt.ones(7))).rejects.toThrow(Error);
  expect(x().max(1)).toStrictEqual({ values: lt.tensor([2.5, 4]), indices: lt.tensor([1n, 1n]) });
});
