package composite

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// NnLinear returns the product of rows and a transposed matrix, and a bias.
func NnLinear(c dispatch.Context, out, self, weight, bias *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "nn_linear"
	if self.Dim() == 0 || weight.Dim() == 0 || weight.Dim() > 2 {
		return nil, status.Runtimef("%s: self must have at least 1 dimension and weight 1 or 2, but they have sizes %v and %v", op,
			self.Sizes(), weight.Sizes())
	}
	if weight.Dim() == 1 && bias != nil {
		return nil, status.Runtimef("%s: weight must be a matrix if bias is passed, but has sizes %v", op, weight.Sizes())
	}
	if out == nil && c.Plain(self, weight, bias) && ops.Linears(self, weight, bias) {
		return ops.Linear(op, self, weight, bias)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	if weight.Dim() == 2 {
		weight = b.Transpose(weight, 0, 1)
	}
	switch {
	case bias == nil:
		return b.ReturnNew(c.Matmul(out, self, weight))
	case self.Dim() == 2:
		return b.ReturnNew(c.Addmm(out, bias, self, weight, one, one))
	}
	k, sizes := self.Sizes()[self.Dim()-1], slices.Clone(self.Sizes())
	rows := b.AsShape(self, shape.Product(sizes[:len(sizes)-1]), k)
	rows = b.AddmmWith(bias, rows, weight, one, one)
	sizes[len(sizes)-1] = rows.Sizes()[1]
	return build.WriteResult(b, out, b.AsShape(rows, sizes...))
}

var one = dtype.IntScalar(1)

// NnBilinear is, for each row of weight, the product of two vectors and the matrix there.
func NnBilinear(c dispatch.Context, first, second, weight, bias *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "bilinear"
	n := first.Dim()
	if n == 0 || second.Dim() != n || weight.Dim() != 3 || !slices.Equal(first.Sizes()[:n-1], second.Sizes()[:n-1]) {
		return nil,
			status.Runtimef("%s: input1 and input2 must have the same sizes except the last, and weight must have 3 dimensions, but they have sizes %v, %v and %v",
				op, first.Sizes(), second.Sizes(), weight.Sizes())
	}
	outputs, i, j := weight.Sizes()[0], weight.Sizes()[1], weight.Sizes()[2]
	if first.Sizes()[n-1] != i || second.Sizes()[n-1] != j {
		return nil, status.Runtimef("%s: the last sizes of input1 and input2, %d and %d, must be those of weight, which has sizes %v", op,
			first.Sizes()[n-1], second.Sizes()[n-1], weight.Sizes())
	}
	if bias != nil && (bias.Dim() != 1 || bias.Sizes()[0] != outputs) {
		return nil, status.Runtimef("%s: bias must have %d elements, one for each row of weight, but has sizes %v", op, outputs,
			bias.Sizes())
	}
	if first.DType() != weight.DType() || second.DType() != weight.DType() {
		return nil, status.Runtimef("%s: all tensors must have the same dtype, but have %v, %v and %v", op, first.DType(), second.DType(),
			weight.DType())
	}
	b := build.New(c, op)
	defer b.Close(&err)
	rows := shape.Product(first.Sizes()[:n-1])
	matrices := b.AsShape(b.ReorderDims(weight, 1, 0, 2), i, outputs*j)
	half := b.AsShape(b.Matmul(b.AsShape(first, rows, i), matrices), rows, outputs, j)
	y := b.AsShape(b.Matmul(half, b.AsShape(second, rows, j, 1)), shape.Append(first.Sizes()[:n-1], outputs)...)
	if bias != nil {
		y = b.Add(y, bias)
	}
	return build.WriteResult(b, nil, y)
}

// NnNormalize divides vectors along a dimension by their norms.
func NnNormalize(c dispatch.Context, out, self *tensor.Tensor, p float64, dim []int64, eps float64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "nn_normalize")
	defer b.Close(&err)
	norm := b.Norm(self, dtype.FloatScalar(p), dim, true)
	norm = b.ClampMin(norm, b.FloatNumber(eps))
	return b.ReturnNew(c.Div(out, self, norm, ""))
}

// PairwiseDistance returns the norm of the differences of vectors, to each element of which a little is added.
func PairwiseDistance(c dispatch.Context, x1, x2 *tensor.Tensor, p, eps float64, keepdim bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, "pairwise_distance")
	defer b.Close(&err)
	difference := b.Add(b.Sub(x1, x2), b.FloatNumber(eps))
	return b.ReturnNew(c.Norm(nil, difference, dtype.FloatScalar(p), []int64{-1}, keepdim, dtype.None))
}

// NnOneHot returns 1 at the position that an element names, and 0 at others, along a new dimension.
func NnOneHot(c dispatch.Context, self *tensor.Tensor, classes int64) (_ *tensor.Tensor, err error) {
	const op = "nn_one_hot"
	if self.DType() != dtype.Int64 {
		return nil, status.Runtimef("%s: is only applicable to index tensors of int64, but self is of %v", op, self.DType())
	}
	b := build.New(c, op)
	defer b.Close(&err)
	if classes == -1 && self.Numel() == 0 {
		return nil, status.Runtimef("%s: Can not infer total number of classes from empty tensor; pass num_classes", op)
	}
	if classes == -1 || backend.Known(self) && self.Numel() > 0 {
		low, high := b.Min(self), b.Max(self)
		least, err := c.Item(low)
		b.Check(err)
		most, err := c.Item(high)
		b.Check(err)
		switch {
		case least.I < 0:
			return nil, status.Runtimef("%s: classes must not be negative, but one is %d", op, least.I)
		case classes == -1 && most.I == math.MaxInt64:
			return nil, status.Runtimef("%s: class %d is too large", op, most.I)
		case classes == -1:
			classes = most.I + 1
		case most.I >= classes:
			return nil, status.Runtimef("%s: classes must be smaller than num_classes, %d, but one is %d", op, classes, most.I)
		}
	}
	if classes <= 0 {
		return nil, status.Runtimef("%s: num_classes must be positive, or -1, but is %d", op, classes)
	}
	indices := b.ArangeWith(dtype.IntScalar(classes), dtype.Int64, tensor.NoLayout, self.Device())
	return build.WriteResult(b, nil, b.CastTo(b.Eq(b.Unsqueeze(self, -1), indices), dtype.Int64))
}

// PixelShuffle moves channels into height and width.
func PixelShuffle(c dispatch.Context, self *tensor.Tensor, factor int64) (_ *tensor.Tensor, err error) {
	const op = "pixel_shuffle"
	lead, n, err := splitImageSizes(op, self, "upscale_factor", factor)
	if err != nil {
		return nil, err
	}
	channels, height, width := n[0], n[1], n[2]
	if factor > math.MaxInt32 || channels%(factor*factor) != 0 {
		return nil, status.Runtimef("%s: the number of channels, %d, must be divisible by the square of upscale_factor, %d", op, channels,
			factor)
	}
	channels /= factor * factor
	b := build.New(c, op)
	defer b.Close(&err)
	parts := b.AsShape(self, append(lead, channels, factor, factor, height, width)...)
	parts = permuteLast(b, parts, 5, 0, 3, 1, 4, 2)
	return build.WriteResult(b, nil, matchFormat(b, self, b.AsShape(parts, append(lead, channels, height*factor, width*factor)...)))
}

// PixelUnshuffle reverses PixelShuffle.
func PixelUnshuffle(c dispatch.Context, self *tensor.Tensor, factor int64) (_ *tensor.Tensor, err error) {
	const op = "pixel_unshuffle"
	lead, n, err := splitImageSizes(op, self, "downscale_factor", factor)
	if err != nil {
		return nil, err
	}
	channels, height, width := n[0], n[1]/factor, n[2]/factor
	if n[1]%factor != 0 || n[2]%factor != 0 {
		return nil, status.Runtimef("%s: height and width, %d and %d, must be divisible by downscale_factor, %d", op, n[1], n[2], factor)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	parts := b.AsShape(self, append(lead, channels, height, factor, width, factor)...)
	parts = permuteLast(b, parts, 5, 0, 2, 4, 1, 3)
	return build.WriteResult(b, nil, matchFormat(b, self, b.AsShape(parts, append(lead, channels*factor*factor, height, width)...)))
}

// splitImageSizes returns the sizes before the last three, and the last three.
func splitImageSizes(op string, self *tensor.Tensor, name string, factor int64) (lead, last []int64, err error) {
	at := self.Dim() - 3
	if at < 0 {
		return nil, nil, status.Runtimef("%s: self must have shape (..., C, H, W), but has sizes %v", op, self.Sizes())
	}
	if factor <= 0 {
		return nil, nil, status.Runtimef("%s: %s must be positive, but is %d", op, name, factor)
	}
	lead = slices.Clip(slices.Clone(self.Sizes()[:at]))
	return lead, self.Sizes()[at:], nil
}

// permuteLast returns a copy of t with its last n dimensions permuted.
func permuteLast(b *build.Builder, t *tensor.Tensor, n int, order ...int64) *tensor.Tensor {
	all := make([]int64, 0, t.Dim())
	first := int64(t.Dim() - n)
	for d := range first {
		all = append(all, d)
	}
	for _, d := range order {
		all = append(all, first+d)
	}
	return b.CloneWith(b.ReorderDims(t, all...), shape.Contiguous)
}

// matchFormat returns t in the memory format of an image.
func matchFormat(b *build.Builder, image, t *tensor.Tensor) *tensor.Tensor {
	f := shape.SuggestFormat(image.Sizes(), image.Strides())
	if f == shape.Contiguous {
		return t
	}
	return b.ContiguousWith(t, f)
}

// ChannelShuffle takes channels from each of several groups in turn.
func ChannelShuffle(c dispatch.Context, self *tensor.Tensor, groups int64) (_ *tensor.Tensor, err error) {
	const op = "channel_shuffle"
	if self.Dim() < 3 {
		return nil, status.Runtimef("%s: self must have shape (N, C, ...) with at least 3 dimensions, but has sizes %v", op, self.Sizes())
	}
	channels := self.Sizes()[1]
	if groups <= 0 || channels%groups != 0 {
		return nil, status.Runtimef("%s: groups must be positive and divide the number of channels, %d, but is %d", op, channels, groups)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	sizes := slices.Concat(self.Sizes()[:1], []int64{groups, channels / groups}, self.Sizes()[2:])
	parts := b.AsShape(self, sizes...)
	transposed := b.Transpose(parts, 1, 2)
	return build.WriteResult(b, nil, matchFormat(b, self, b.AsShape(b.CloneWith(transposed, shape.Contiguous), self.Sizes()...)))
}

// NnEmbedding selects rows of weight. With maxNorm, it first renormalizes the rows in place.
func NnEmbedding(c dispatch.Context, self, weight *tensor.Tensor, padding ops.Int, maxNorm *float64, normType float64, byFrequency,
	sparse bool) (_ *tensor.Tensor, err error) {
	const op = "nn_embedding"
	at := int64(-1)
	if !padding.IsNone() && weight.Dim() > 0 {
		rows := weight.Sizes()[0]
		at = int64(padding)
		if at < -rows || at >= rows {
			return nil, status.Valuef("%s: padding_idx must be between %d and %d, but is %d", op, -rows, rows-1, at)
		}
		if at < 0 {
			at += rows
		}
	}
	b := build.New(c, op)
	defer b.Close(&err)
	if maxNorm != nil {
		plain := b.Detach(weight)
		b.EmbeddingRenorm(plain, self, *maxNorm, normType)
	}
	return b.ReturnNew(c.Embedding(weight, self, at, byFrequency, sparse))
}

// Embedding picks rows of a matrix.
func Embedding(c dispatch.Context, weight, indices *tensor.Tensor, padding int64, byFrequency, sparse bool) (_ *tensor.Tensor, err error) {
	const op = "embedding"
	if weight.Dim() != 2 {
		return nil, status.Runtimef("%s: 'weight' must be 2-D, but has sizes %v", op, weight.Sizes())
	}
	if err := checkRowIndices(op, "indices", indices); err != nil {
		return nil, err
	}
	b := build.New(c, op)
	defer b.Close(&err)
	flat := b.AsShape(indices, indices.Numel())
	rows := b.IndexSelect(weight, 0, flat)
	return build.WriteResult(b, nil, b.AsShape(rows, shape.Append(indices.Sizes(), weight.Sizes()[1])...))
}

// checkRowIndices returns an error if indices, the argument `name`, do not have an integer dtype for row numbers.
func checkRowIndices(op, name string, indices *tensor.Tensor) error {
	if d := indices.DType(); d != dtype.Int64 && d != dtype.Int32 {
		return status.Runtimef("%s: %s must be of int64 or int32, but are of %v", op, name, d)
	}
	return nil
}

// renormRows returns rows scaled to a norm of at most maxNorm. Factors are computed in float64: in float32, the 1e-7 that keeps results
// below the norm in spite of rounding would be lost.
func renormRows(b *build.Builder, rows *tensor.Tensor, maxNorm, normType float64) *tensor.Tensor {
	compute := rows.DType().Compute()
	norms := b.NormWith(rows, dtype.FloatScalar(normType), []int64{1}, true, compute)
	wide := b.CastTo(norms, dtype.Float64)
	factors := b.Div(b.FloatNumber(maxNorm), b.Add(wide, b.FloatNumber(1e-7)))
	factors = b.Where(b.Gt(wide, b.FloatNumber(maxNorm)), factors, b.FloatNumber(1))
	return b.CastTo(b.Mul(rows, b.CastTo(factors, compute)), rows.DType())
}

// EmbeddingRenorm shortens rows that indices name to a norm.
func EmbeddingRenorm(c dispatch.Context, self, indices *tensor.Tensor, maxNorm, normType float64) (err error) {
	const op = "embedding_renorm_"
	if self.Dim() != 2 {
		return status.Runtimef("%s: self must be a matrix, but has sizes %v", op, self.Sizes())
	}
	if err := checkRowIndices(op, "indices", indices); err != nil {
		return err
	}
	if !(normType > 0) || !(maxNorm >= 0) {
		return status.Runtimef("%s: norm_type must be positive and max_norm at least 0, but they are %v and %v", op, normType, maxNorm)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	flat := b.CastTo(b.AsShape(indices, indices.Numel()), dtype.Int64)
	rows := b.IndexSelect(self, 0, flat)
	shorter := renormRows(b, rows, maxNorm, normType)
	b.CheckWritten(c.IndexCopy(self, self, 0, flat, shorter))
	return nil
}
