// Compiled, never run: code that the type declarations must accept or reject.
import lt = require('libtensor');

class URLLike {
  href = 'file:///a.safetensors';
  protocol = 'file:';
}

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
const bytes: lt.Tensor = lt.asTensor(new SharedArrayBuffer(8), { dtype: 'int32' });
const copy: lt.Tensor = lt.tensor({ elements: x.elements });
const kept: lt.Tensor[] = lt.scope(() => [part.set('0', [1, 2])]);
const code = (error: lt.TensorError): boolean => error.code === 'TENSOR_ERROR_INDEX';
const sizes: lt.Tensor[] = [lt.zeros(2, 3), lt.rand(2, { dtype: 'float64' }), x.reshape(3, 2), x.view(-1), lt.reshape(x, 6), x.permute(1, 0)];
const converted: lt.Tensor[] = [x.to('float64'), x.to('cpu', 'int8'), x.to(y), x.to({ dtype: 'bool' }), x.to('meta', { copy: true })];
const number: number = x.item<'float32'>();
const anything: number | bigint | boolean | lt.Complex = x.item();
const memory: Float32Array = x.data<'float32'>();
const owned: Int32Array = x.data<'int32'>({ copy: true });
const transposed: lt.Tensor = x.T.mT.H.mH;
const weights: { [name: string]: lt.Tensor } = lt.loadDict('a.pt');
lt.saveDict('a.pt', new Map([['w', x]]), { compact: true });
lt.safetensorsSaveFile(new URLLike(), { w: x });
const listed: { names: string[]; tensors: lt.Tensor[]; metadata: string } = lt.safetensorsLoadFileList('a.safetensors', { only: new Set(['w']) });
const restored: Promise<Uint8Array> = lt.saveBytesAsync({ w: x });
const ofItems: lt.Tensor[] = [lt.tensor(new Set([1, 2])), lt.stack([x, y].values()), lt.zeros(new Set([2, 3])), x.at(new Set([0]))];
const big: BigInt64Array = x.data<'int64'>();
const words: Uint16Array = x.data<'uint16'>();
const unsigned: BigUint64Array = lt.tensor(new BigUint64Array(2), { dtype: lt.uint64 }).data<'uint64'>();
const rows: lt.Tensor[] = [...x];
const elements: lt.Elements = x.elements;
const stopped: Promise<lt.Tensor> = lt.addAsync(x, y, { signal: { aborted: false, addEventListener() {}, removeEventListener() {} } });
const rounded: lt.Tensor = lt.div(x, y, { roundingMode: 'floor' });
const threads: number = lt.getAsyncThreads();
const fallback: lt.Tensor = lt.default.zeros(2);
const primitive: number = x[Symbol.toPrimitive]('number');
const leaf: lt.Tensor = lt.tensor([1.5], { requiresGrad: true }).requiresGrad_();
const leaves: lt.Tensor[] = [lt.zeros(2, { requiresGrad: true }), x.newOnes([2], { requiresGrad: true, names: ['N'] })];
leaf.backward();
leaf.backward(null, { retainGraph: true, inputs: [leaf] });
leaf.grad = leaf.grad ?? null;
const node: lt.autograd.Node | null = leaf.gradFn;
const named: string | undefined = node?.nextFunctions[0]?.[0]?.name;
const hook: lt.autograd.RemovableHandle = leaf.registerHook((grad) => grad.mul(2));
leaf.registerHook((grad) => { grad.toArray(); });
leaf.registerPostAccumulateGradHook((t) => { t.grad = null; });
node?.registerHook(([grad], [output]) => [grad ?? null, output ?? null]);
node?.registerPrehook((grads) => grads);
hook.remove();
const several: lt.autograd.RemovableHandle = lt.autograd.registerMultiGradHook([leaf], (grads) => { const [first]: (lt.Tensor | null)[] = grads; void first; });
lt.autograd.registerMultiGradHook([leaf], (grad: lt.Tensor) => { void grad; }, { mode: 'any' }).remove();
several.remove();
const packing: lt.Tensor = lt.autograd.savedTensorsHooks((t) => ({ half: t.to('float16') }), (packed) => packed.half.to('float32'), () => leaf.exp());
class Scaled extends lt.autograd.Function {
  static forward(context: lt.autograd.FunctionContext, t: lt.Tensor, factor: number): lt.Tensor {
    context.factor = factor;
    context.saveForBackward(t);
    return t.mul(factor);
  }
  static backward(context: lt.autograd.FunctionContext, grad: lt.Tensor): (lt.Tensor | null)[] {
    return [grad.mul(context.factor), null];
  }
}
const scaled: lt.Tensor = Scaled.apply(leaf, 3);
const inferred: boolean = leaf.isInference();
const slopes: lt.Tensor[] = lt.autograd.grad(leaf, [leaf], { createGraph: true });
const perhaps: (lt.Tensor | null)[] = lt.autograd.grad(leaf, leaf, { allowUnused: true });
const done: Promise<void> = lt.autograd.backwardAsync([leaf], { retainGraph: true });
const plain: lt.Tensor = lt.noGrad(() => lt.enableGrad(() => lt.inferenceMode(() => leaf.mul(2))));
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
// @ts-expect-error: the dtype is an option
lt.tensor([1], 'float32');
// @ts-expect-error: no such option of tensor
lt.tensor([1], { dtyp: 'float32' });
// @ts-expect-error: no such rounding
lt.div(x, y, { roundingMode: 'up' });
// @ts-expect-error: only asynchronous calls heed a signal
lt.add(x, y, { signal: null });
// @ts-expect-error: a float32 tensor has no BigInts
const wrong: BigInt64Array = x.data<'float32'>();
// @ts-expect-error: the factor is a number
Scaled.apply(leaf, 'three');
// @ts-expect-error: a hook returns a tensor or nothing
leaf.registerHook(() => 3);
// @ts-expect-error: a hook is not asynchronous
leaf.registerHook(async (grad) => grad);

export { shape, total, same, later, pair, complex, shared, bytes, copy, kept, code, sizes, converted, number, anything, memory, big, words, unsigned, rows, elements, stopped, rounded, threads, fallback, primitive, wrong, packing, scaled, inferred, owned, transposed, weights, listed, restored, ofItems };
// @ts-expect-error: there is no such option
leaf.backward({ retain: true });

// A function for a scope is not asynchronous.
const scoped: lt.Tensor = lt.scope(() => lt.zeros(2));
// @ts-expect-error
lt.scope(async () => lt.zeros(2));
// @ts-expect-error
lt.noGrad(async () => 1);
const items: lt.NestedArray<boolean> = lt.tensor([true]).toArray<'bool'>();
const summed: lt.Tensor = lt.stack([[1, 2], scoped]).add([1, 2]);
const compared: boolean = +summed.sum() > 2;
const inPlace: Promise<lt.Tensor> = scoped.add_Async(1);
const made = lt.func.grad((x: lt.Tensor) => x.sin())(scoped) as lt.Tensor;
void [items, compared, inPlace, made, scoped.real.nbytes, lt.finfo('float32').eps, lt.settled(scoped)];

// Functions of neural networks.
const seen: lt.Tensor = lt.nn.maxPool2d(lt.nn.batchNorm(lt.nn.conv2d(scoped, scoped, { padding: 1 }), scoped, scoped).relu(), 2);
const scores: lt.Tensor = lt.nn.linear(lt.nn.gelu(lt.nn.layerNorm(seen, [2]), { approximate: 'tanh' }), scoped, scoped);
// @ts-expect-error: the words of an argument are part of its type
lt.nn.gelu(scores, { approximate: 'sin' });

// Descriptions of exported programs.
const exported = lt.program.load('classifier.pt2');
const [firstInput] = exported.inputs;
const variableSizes: (number | string)[] = [...(firstInput.shape ?? [])];
const inputDtype: lt.DType | null = firstInput.dtype;
const keywordInput: lt.program.Item = exported.structure.keywords['scale'];
void [variableSizes, inputDtype, keywordInput];
