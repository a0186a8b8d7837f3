package composite

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// parameterDType returns the dtype of the parameters and the statistics of a normalization, which must agree: that of self, or float32 for
// 16-bit floats.
func parameterDType(b *build.Builder, self *tensor.Tensor, parameters ...*tensor.Tensor) dtype.DType {
	d := self.DType()
	for _, t := range parameters {
		if t != nil && t.DType() != d {
			d = dtype.Float32
		}
	}
	var have []dtype.DType
	fit := d == self.DType() || self.DType().IsReducedFloat()
	for _, t := range parameters {
		if t != nil {
			have, fit = append(have, t.DType()), fit && t.DType() == d
		}
	}
	if !fit {
		wanted := status.Textf("have the dtype of self, %v", self.DType())
		if self.DType().IsReducedFloat() {
			wanted += ", or all have float32"
		}
		b.Failf("weight, bias and running statistics must all %s, but have %v", wanted, have)
	}
	return d
}

// castParameter returns t as a vector in the compute dtype of self; nil stays nil.
func castParameter(b *build.Builder, t, self *tensor.Tensor) *tensor.Tensor {
	if t == nil {
		return nil
	}
	return b.AsShape(b.CastTo(t, self.DType().Compute()), t.Numel())
}

// normalizedShape returns an error unless last are the last sizes of self and the parameters have these sizes. It returns the number of
// rows, and the length of each.
func normalizedShape(op string, self *tensor.Tensor, last []int64, names []string,
	parameters ...*tensor.Tensor) (rows, width int64, err error) {
	if len(last) == 0 {
		return 0, 0, status.Runtimef("%s: normalized_shape must have at least one size, but is []", op)
	}
	for i, t := range parameters {
		if t != nil && !slices.Equal(t.Sizes(), last) {
			return 0, 0, status.Runtimef("%s: %s must have the sizes of normalized_shape, %v, but has %v", op, names[i], last, t.Sizes())
		}
	}
	first := self.Dim() - len(last)
	if first < 0 || !slices.Equal(self.Sizes()[first:], last) {
		return 0, 0, status.Runtimef("%s: self must end with the sizes of normalized_shape, %v, but has sizes %v", op, last, self.Sizes())
	}
	return shape.Product(self.Sizes()[:first]), shape.Product(last), nil
}

// running are the statistics that a normalization of batches keeps, of which there are both or none.
type running struct {
	mean, variance *tensor.Tensor
	momentum       float64
}

// normalized are the result of a normalization and its statistics, and what running ones are to become.
type normalized struct {
	result, mean, rstd, variance *tensor.Tensor
	into, moved                  running
}

// writeRunning stores the updated running statistics: last, so that a failing call changes nothing.
func writeRunning(b *build.Builder, n normalized) {
	if n.moved.mean == nil {
		return
	}
	b.Copy(n.into.mean, n.moved.mean, false)
	b.Copy(n.into.variance, n.moved.variance, false)
}

// normalizeGroups normalizes groups of channels of each batch element. The parameters are in the compute dtype.
func normalizeGroups(b *build.Builder, self, weight, bias *tensor.Tensor, batch, groups, channels int64, eps float64, centred,
	rounded bool) (n normalized) {
	weight, bias = castParameter(b, weight, self), castParameter(b, bias, self)
	result, mean, rstd, variance, err := b.C.NnNormalizeGroups(self, weight, bias, batch, groups, channels, eps, centred, rounded)
	return normalized{result: b.Track(result, err), mean: b.Track(mean, nil), rstd: b.Track(rstd, nil), variance: b.Track(variance, nil)}
}

// normalizeChannels normalizes channels over the batch, by mean and rstd if they are not nil.
func normalizeChannels(b *build.Builder, self, weight, bias, mean, rstd *tensor.Tensor, eps float64, rounded bool) (n normalized) {
	weight, bias = castParameter(b, weight, self), castParameter(b, bias, self)
	result, mean, rstd, variance, err := b.C.NnNormalizeChannels(self, weight, bias, mean, rstd, eps, rounded)
	return normalized{result: b.Track(result, err), mean: b.Track(mean, nil), rstd: b.Track(rstd, nil), variance: b.Track(variance, nil)}
}

// returnWithStatistics returns a result, and its detached statistics in the dtype of the parameters, reshaped to sizes.
func returnWithStatistics(b *build.Builder, result *tensor.Tensor, n normalized, d dtype.DType,
	sizes ...int64) (normalized, mean, rstd *tensor.Tensor, err error) {
	list := []*tensor.Tensor{result, n.mean, n.rstd}
	for i, t := range list[1:] {
		list[1+i] = b.Detach(b.AsShape(b.CastTo(t, d), sizes...))
	}
	writeRunning(b, n)
	if list, err = b.ReturnAll(list); err != nil {
		return nil, nil, nil, err
	}
	return list[0], list[1], list[2], nil
}

// NativeLayerNorm normalizes the last dimensions, and returns their means and the reciprocals of their standard deviations too.
func NativeLayerNorm(c dispatch.Context, self *tensor.Tensor, last []int64, weight, bias *tensor.Tensor,
	eps float64) (out, mean, rstd *tensor.Tensor, err error) {
	const op = "native_layer_norm"
	b := build.New(c, op)
	defer b.Close(&err)
	n := normalizeLastDims(b, self, last, weight, bias, eps)
	first := self.Dim() - len(last)
	return returnWithStatistics(b, n.result, n, parameterDType(b, self, weight, bias), append(slices.Clone(self.Sizes()[:first]),
		slices.Repeat([]int64{1}, len(last))...)...)
}

// LayerNorm normalizes the last dimensions.
func LayerNorm(c dispatch.Context, self *tensor.Tensor, last []int64, weight, bias *tensor.Tensor, eps float64,
	_ bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, "layer_norm")
	defer b.Close(&err)
	return build.WriteResult(b, nil, normalizeLastDims(b, self, last, weight, bias, eps).result)
}

// NnLayerNorm normalizes the last dimensions.
func NnLayerNorm(c dispatch.Context, self *tensor.Tensor, last []int64, weight, bias *tensor.Tensor,
	eps float64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "nn_layer_norm")
	defer b.Close(&err)
	return build.WriteResult(b, nil, normalizeLastDims(b, self, last, weight, bias, eps).result)
}

// normalizeLastDims checks the arguments of layer normalization, and normalizes over the last dimensions.
func normalizeLastDims(b *build.Builder, self *tensor.Tensor, last []int64, weight, bias *tensor.Tensor, eps float64) (n normalized) {
	rows, width, err := normalizedShape(b.Op, self, last, []string{"weight", "bias"}, weight, bias)
	b.Check(err)
	b.Check(checkFloating(b.Op, self))
	parameterDType(b, self, weight, bias)
	return normalizeGroups(b, self, weight, bias, rows, 1, width, eps, true, false)
}

// RmsNorm divides the last dimensions by the root of their mean square.
func RmsNorm(c dispatch.Context, self *tensor.Tensor, last []int64, weight *tensor.Tensor, eps *float64) (_ *tensor.Tensor, err error) {
	const op = "rms_norm"
	rows, width, err := normalizedShape(op, self, last, []string{"weight"}, weight)
	if err != nil {
		return nil, err
	}
	if d := self.DType(); d.Category() < dtype.Floating {
		return nil, unsupportedDType(op, d, "convert to a floating-point dtype")
	}
	least := self.DType().Compute().ToReal().Epsilon()
	if eps != nil {
		least = *eps
	}
	b := build.New(c, op)
	defer b.Close(&err)
	if !self.DType().IsComplex() {
		return build.WriteResult(b, nil, matchFormat(b, self, normalizeGroups(b, self, weight, nil, rows, 1, width, least, false,
			false).result))
	}
	dims := make([]int64, len(last))
	for i := range dims {
		dims[i] = int64(self.Dim() - 1 - i)
	}
	square := b.Mul(self, self)
	mean := b.Mean(square, dims, true)
	y := b.Mul(self, b.Rsqrt(b.Add(mean, b.FloatNumber(least))))
	if weight != nil {
		y = b.CastTo(b.Mul(y, weight), self.DType())
	}
	return build.WriteResult(b, nil, y)
}

// checkVectors returns an error for parameters that do not have n elements, one for each channel.
func checkVectors(b *build.Builder, n int64, names []string, parameters ...*tensor.Tensor) {
	for i, t := range parameters {
		if t != nil && t.Numel() != n {
			b.Failf("%s must have %d elements, one for each channel, but has sizes %v", names[i], n, t.Sizes())
		}
	}
}

// NativeGroupNorm normalizes groups of channels, and returns their means and the reciprocals of their standard deviations too.
func NativeGroupNorm(c dispatch.Context, self, weight, bias *tensor.Tensor, batch, channels, span, groups int64,
	eps float64) (out, mean, rstd *tensor.Tensor, err error) {
	b := build.New(c, "native_group_norm")
	defer b.Close(&err)
	if whole := shape.Times(shape.Times(max(batch, 0), max(channels, 0)), max(span, 0)); whole != self.Numel() {
		b.Failf("the product of N, C and HxW, %d, %d and %d, must be the number of elements of self, %d", batch, channels, span,
			self.Numel())
	}
	n := checkAndNormalizeGroups(b, self, weight, bias, batch, channels, span, groups, eps)
	return returnWithStatistics(b, matchFormat(b, self, n.result), n, parameterDType(b, self, weight, bias), batch, groups)
}

// GroupNorm normalizes groups of channels.
func GroupNorm(c dispatch.Context, self *tensor.Tensor, groups int64, weight, bias *tensor.Tensor, eps float64,
	_ bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, "group_norm")
	defer b.Close(&err)
	return build.WriteResult(b, nil, groupNorm(b, self, groups, weight, bias, eps))
}

// NnGroupNorm normalizes groups of channels, of which one has more than one element.
func NnGroupNorm(c dispatch.Context, self *tensor.Tensor, groups int64, weight, bias *tensor.Tensor,
	eps float64) (_ *tensor.Tensor, err error) {
	const op = "nn_group_norm"
	b := build.New(c, op)
	defer b.Close(&err)
	if self.Numel() == groups && self.Dim() > 1 && self.Sizes()[0] == 1 {
		b.Check(status.Valuef("%s: Expected more than 1 value per channel when training, but self has sizes %v and num_groups is %d", op,
			self.Sizes(), groups))
	}
	return build.WriteResult(b, nil, groupNorm(b, self, groups, weight, bias, eps))
}

// groupNorm applies group normalization to self of shape (N, C, ...).
func groupNorm(b *build.Builder, self *tensor.Tensor, groups int64, weight, bias *tensor.Tensor, eps float64) *tensor.Tensor {
	if self.Dim() < 2 {
		b.Failf("self must have shape (N, C, ...), but has sizes %v", self.Sizes())
	}
	sizes := self.Sizes()
	return matchFormat(b, self, checkAndNormalizeGroups(b, self, weight, bias, sizes[0], sizes[1], shape.Product(sizes[2:]), groups,
		eps).result)
}

// checkAndNormalizeGroups checks the arguments of group normalization, and normalizes the groups of each batch element.
func checkAndNormalizeGroups(b *build.Builder, self, weight, bias *tensor.Tensor, batch, channels, span, groups int64,
	eps float64) (n normalized) {
	b.Check(checkFloating(b.Op, self))
	switch {
	case groups <= 0 || channels%groups != 0:
		b.Failf("num_groups must be positive and divide the number of channels, %d, but is %d", channels, groups)
	case channels == 0 || span == 0:
		b.Failf("self must have at least one channel, but has sizes %v", self.Sizes())
	}
	for i, t := range []*tensor.Tensor{weight, bias} {
		if t != nil && t.Dim() != 1 {
			b.Failf("%s must be a vector of %d elements, one for each channel, but has sizes %v", []string{"weight", "bias"}[i], channels,
				t.Sizes())
		}
	}
	checkVectors(b, channels, []string{"weight", "bias"}, weight, bias)
	parameterDType(b, self, weight, bias)
	return normalizeGroups(b, self, weight, bias, batch, groups, channels/groups, eps, true, false)
}

// meanRounding returns the rounding mode of the division of a mean: means of integers are integers.
func meanRounding(d dtype.DType) string {
	if d.IsFloatingPoint() {
		return ""
	}
	return "trunc"
}

// NnLocalResponseNorm divides by a power of the mean square of neighbouring channels.
func NnLocalResponseNorm(c dispatch.Context, self *tensor.Tensor, size int64, alpha, beta, k float64) (_ *tensor.Tensor, err error) {
	const op = "nn_local_response_norm"
	switch {
	case self.DType() != dtype.Int64 && !self.DType().IsFloatingPoint():
		return nil, unsupportedDType(op, self.DType(), "convert to a floating-point dtype, or to int64")
	case self.Dim() < 3:
		return nil, status.Valuef("%s: self must have shape (N, C, ...) with at least 3 dimensions, but has sizes %v", op, self.Sizes())
	case size <= 0:
		return nil, status.Runtimef("%s: size must be positive, but is %d", op, size)
	case self.Numel() == 0:
		return self.Alias(), nil
	case size > math.MaxInt32:
		return nil, status.Runtimef("%s: size must be less than 2^31, but is %d", op, size)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	pad := make([]int64, 2*(self.Dim()-1))
	pad[len(pad)-2], pad[len(pad)-1] = size/2, (size-1)/2
	square := b.Mul(self, self)
	around := b.ConstantPadNd(square, pad, dtype.IntScalar(0))
	windows := b.Unfold(around, 1, size, 1)
	sum, count := b.Sum(windows, []int64{-1}, false), b.IntNumber(size)
	mean := b.DivWith(sum, count, meanRounding(self.DType()))
	by := b.Pow(b.Add(b.Mul(mean, b.FloatNumber(alpha)), b.FloatNumber(k)), b.FloatNumber(beta))
	return build.WriteResult(b, nil, b.Div(self, by))
}
