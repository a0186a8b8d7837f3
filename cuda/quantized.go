package cuda

import (
	"math"

	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/tensor"
)

// multiplyQuantized multiplies quantized matrices, and accumulates in int32.
var multiplyQuantized = makeComposite(func(b *composite, w backend.QuantizedProduct) {
	if w.To.Numel() == 0 {
		return
	}
	x, y := b.CastTo(w.A, dtype.Int32), b.CastTo(w.B, dtype.Int32)
	if w.AZero != 0 {
		x = b.Sub(x, b.IntNumber(int64(w.AZero)))
	}
	if len(w.BZeros) > 0 {
		y = b.Sub(y, b.CastTo(b.uploadNumbers(w.To, w.BZeros), dtype.Int32))
	}
	sums := b.EmptyBeside(w.To, dtype.Int32, w.To.Sizes()...)
	b.Check(multiplyMatrices(b.Op, backend.Product{To: sums, A: x, B: y, Alpha: dtype.IntScalar(1)}))
	if w.Bias != nil && w.Bias.DType() == dtype.Int32 {
		sums = b.Add(sums, w.Bias)
	}
	if w.To.DType() == dtype.Int32 {
		b.copyResult(w.To, sums)
		return
	}
	v := b.CastTo(sums, dtype.Float32)
	if w.Bias != nil && w.Bias.DType() != dtype.Int32 {
		v = b.Add(v, w.Bias)
	}
	v = b.Mul(v, b.CastTo(b.uploadNumbers(w.To, w.Scales), dtype.Float32))
	if w.To.DType() != dtype.Float32 {
		low, high := int64(w.Low-w.Zero), int64(w.High-w.Zero)
		v = b.Where(b.Isnan(v), b.IntNumber(high), b.Clamp(b.Round(v), dtype.IntScalar(low), dtype.IntScalar(high)))
		v = b.Add(v, b.IntNumber(int64(w.Zero)))
	}
	b.copyResult(w.To, v)
})

// uploadNumbers returns numbers of the host, on the device of t.
func (b *composite) uploadNumbers(t *tensor.Tensor, numbers any) *tensor.Tensor {
	var list []float64
	switch numbers := numbers.(type) {
	case []int32:
		for _, n := range numbers {
			list = append(list, float64(n))
		}
	case []float32:
		for _, n := range numbers {
			list = append(list, float64(n))
		}
	}
	made := b.EmptyBeside(t, dtype.Float64, int64(len(list)))
	b.Check(backend.WriteFloats(b.Op, made, func(to []float64) { copy(to, list) }))
	return made
}

// packQuantized returns no bytes: products read the matrix itself.
func packQuantized(op string, b *tensor.Tensor) (*tensor.Tensor, error) {
	return tensor.Empty(op, []int64{0}, dtype.Uint8, b.Device())
}

// multiplyWeights multiplies with weights of 8 or 4 bits, converted to float32.
var multiplyWeights = makeComposite(func(b *composite, w backend.WeightLinear) {
	if w.To.Numel() == 0 {
		return
	}
	if w.Group == 0 {
		b.copyResult(w.To, b.Mul(b.Matmul(w.A, b.Transpose(b.CastTo(w.Weight, dtype.Float32), 0, 1)), w.Scales))
		return
	}
	integers := b.CastTo(b.unpackNibbles(w.Weight), dtype.Float32)
	rows, depth := integers.Sizes()[0], integers.Sizes()[1]
	each := func(i int64) *tensor.Tensor { // of scales and zeros, for each weight
		of := b.Transpose(b.Select(w.Scales, 2, i), 0, 1)
		whole := b.Reshape(b.Expand(b.Unsqueeze(of, 2), rows, of.Sizes()[1], w.Group), rows, of.Sizes()[1]*w.Group)
		return b.Narrow(whole, 1, 0, depth)
	}
	weight := b.Addcmul(each(1), b.Sub(integers, b.IntNumber(8)), each(0))
	b.copyResult(w.To, b.Matmul(w.A, b.Transpose(weight, 0, 1)))
})

const panelRows = 32 // of weights of 4 bits that are packed together

// unpackNibbles unpacks weights of 4 bits: rows i and i + 16 of 32 share bytes, and after these rows 2 i and 2 i + 1 of 16.
func (b *composite) unpackNibbles(packed *tensor.Tensor) *tensor.Tensor {
	rows, depth := packed.Sizes()[0], 2*packed.Sizes()[1]
	bytes := b.viewFlat(packed, packed.Numel())
	halves := func(t *tensor.Tensor) (low, high *tensor.Tensor) {
		return b.BitwiseAnd(t, b.IntNumber(15)), b.BitwiseRightShift(t, b.IntNumber(4))
	}
	var parts []*tensor.Tensor
	panels := rows / panelRows
	whole := panels * panelRows * depth / 2
	if panels > 0 {
		low, high := halves(b.Reshape(b.Narrow(bytes, 0, 0, whole), panels, depth, panelRows/2))
		all := b.Transpose(b.Cat([]*tensor.Tensor{low, high}, 2), 1, 2)
		parts = append(parts, b.Reshape(all, panels*panelRows, depth))
	}
	if rest := rows % panelRows; rest > 0 {
		low, high := halves(b.Reshape(b.Narrow(bytes, 0, whole, packed.Numel()-whole), depth, rest/2))
		all := b.Reshape(b.Stack([]*tensor.Tensor{low, high}, 2), depth, rest)
		parts = append(parts, b.Transpose(all, 0, 1))
	}
	return b.Cat(parts, 0)
}

const blockThread = 256 // values that a thread decodes: LT_BLOCK of engine/kernel/blocks.h

// dequantizeBlocks decodes blocks of GGUF, with a thread for each blockThread values.
func dequantizeBlocks(op string, w backend.Dequantization) error {
	if w.To.Numel() == 0 {
		return nil
	}
	v := kernelapi.BlockValues{Blocks: uintptr(w.Blocks.Data()), Out: uintptr(w.To.Data()), Count: w.To.Numel(), Type: int32(w.Type)}
	return withCurrentStream(op, w.To.Device(), func(m *deviceStream) error {
		return launchEntry(m, op, kernels.Alone("dequantize"), (v.Count+blockThread-1)/blockThread, &v)
	})
}

const (
	activationGroup = 32       // activations that share a scale
	leastActivation = 0x1p-100 // smaller ones are zeros
)

// multiplyBlocks multiplies activations that are rounded to 8 bits, as on the CPU, by the values of blocks.
var multiplyBlocks = makeComposite(func(b *composite, w backend.BlockLinear) {
	if w.To.Numel() == 0 {
		return
	}
	rows, depth := w.Blocks.Sizes()[0], w.A.Sizes()[1]
	weight := b.EmptyBeside(w.A, dtype.Float32, rows, depth)
	b.Check(dequantizeBlocks(b.Op, backend.Dequantization{To: weight, Blocks: w.Blocks, Type: w.Type}))
	to := b.Matmul(b.roundActivations(w.A), b.Transpose(weight, 0, 1))
	if w.Bias != nil {
		to = b.Add(to, w.Bias)
	}
	b.copyResult(w.To, to)
})

// roundActivations rounds each group of a row to integers from -127 to 127 times a scale. A group that is not finite becomes NaN.
func (b *composite) roundActivations(a *tensor.Tensor) *tensor.Tensor {
	rows, depth := a.Sizes()[0], a.Sizes()[1]
	groups := (depth + activationGroup - 1) / activationGroup
	whole := b.ConstantPadNd(a, []int64{0, groups*activationGroup - depth}, dtype.IntScalar(0))
	x := b.Reshape(whole, rows, groups, activationGroup)
	most := b.Amax(b.Abs(x), []int64{2}, true)
	finite := b.Isfinite(most)
	some := b.LogicalAnd(finite, b.Ge(most, b.FloatNumber(leastActivation)))
	integers := b.Round(b.Mul(b.Where(some, x, b.IntNumber(0)), b.Where(some, b.Div(b.FloatNumber(127), most), b.IntNumber(0))))
	scale := b.Where(some, b.Div(most, b.FloatNumber(127)), b.IntNumber(0))
	scale = b.Where(finite, scale, b.FloatNumber(math.NaN()))
	return b.Narrow(b.Reshape(b.Mul(integers, scale), rows, groups*activationGroup), 1, 0, depth)
}
