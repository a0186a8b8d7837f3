// Compiled, never run: the ES module's declarations.
import * as lt from 'libtensor';
import libtensor, { add, Tensor } from 'libtensor';

export const sum: Tensor = add(lt.zeros([1]), 1);
export const same: Tensor = libtensor.add(sum, 1);
