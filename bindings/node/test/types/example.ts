// Compiled, never run: what the type declarations must accept and refuse.
import lt = require('libtensor');

const x: lt.Tensor = lt.zeros([2, 3], { dtype: lt.float32, device: 'cpu' });
const y = lt.add(x, 2, { alpha: lt.float(2), out: x });
const shape: number[] = y.shape;
const total: lt.Tensor = x.sum(0, { keepdim: true, dtype: 'float64' }).sum({ dim: [0] });
const { values, indices } = x.max(1);
const same: lt.Tensor = x.add_(values).mul_(indices);
const later: Promise<lt.Tensor> = lt.addAsync(x, y);
const pair: Promise<{ values: lt.Tensor; indices: lt.Tensor }> = lt.maxAsync(x, { dim: 0 });
const part = x.at(0, lt.slice(1), null, '...', [0, 1]).get('1:, None');
const complex = lt.tensor([{ re: 1, im: 2 }, 3n, true]);
const shared: lt.Tensor = lt.asTensor(new Float32Array(4), { shape: [2, 2] });
const kept: lt.Tensor[] = lt.scope(() => [part.set('0', [1, 2])]);
const code = (error: lt.TensorError): boolean => error.code === 'TENSOR_ERROR_INDEX';
{
  using temporary = lt.zeros(3);
  temporary.toArray();
}

// @ts-expect-error: a string is no operand
lt.add(x, 'a');
// @ts-expect-error: no such dtype
lt.zeros([1], { dtype: 'float33' });
// @ts-expect-error: no such option
lt.add(x, y, { beta: 1 });
// @ts-expect-error: tensors are not made with new
new lt.Tensor();

export { shape, total, same, later, pair, complex, shared, kept, code };
