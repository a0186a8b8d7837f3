// Compiled, never run: the ES module's declarations.
import * as lt from 'libtensor';
import { add, Tensor } from 'libtensor';

export const sum: Tensor = add(lt.zeros([1]), 1);
