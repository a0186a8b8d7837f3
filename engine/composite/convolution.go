package composite

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Conv1d returns a convolution in one dimension.
func Conv1d(c dispatch.Context, self, weight, bias *tensor.Tensor, stride, padding, dilation []int64,
	groups int64) (*tensor.Tensor, error) {
	return runConvolution(c, convolution{op: "conv1d", n: 1, stride: stride, padding: padding, dilation: dilation, groups: groups}, self,
		weight, bias)
}

// Conv1dPadding is Conv1d with a padding by its name.
func Conv1dPadding(c dispatch.Context, self, weight, bias *tensor.Tensor, stride []int64, padding string, dilation []int64,
	groups int64) (*tensor.Tensor, error) {
	return runConvolution(c, convolution{op: "conv1d", n: 1, stride: stride, named: padding, dilation: dilation, groups: groups}, self,
		weight, bias)
}

// Conv2d returns a convolution in two dimensions.
func Conv2d(c dispatch.Context, self, weight, bias *tensor.Tensor, stride, padding, dilation []int64,
	groups int64) (*tensor.Tensor, error) {
	return runConvolution(c, convolution{op: "conv2d", n: 2, stride: stride, padding: padding, dilation: dilation, groups: groups}, self,
		weight, bias)
}

// Conv2dPadding is Conv2d with a padding by its name.
func Conv2dPadding(c dispatch.Context, self, weight, bias *tensor.Tensor, stride []int64, padding string, dilation []int64,
	groups int64) (*tensor.Tensor, error) {
	return runConvolution(c, convolution{op: "conv2d", n: 2, stride: stride, named: padding, dilation: dilation, groups: groups}, self,
		weight, bias)
}

// Conv3d returns a convolution in three dimensions.
func Conv3d(c dispatch.Context, self, weight, bias *tensor.Tensor, stride, padding, dilation []int64,
	groups int64) (*tensor.Tensor, error) {
	return runConvolution(c, convolution{op: "conv3d", n: 3, stride: stride, padding: padding, dilation: dilation, groups: groups}, self,
		weight, bias)
}

// Conv3dPadding is Conv3d with a padding by its name.
func Conv3dPadding(c dispatch.Context, self, weight, bias *tensor.Tensor, stride []int64, padding string, dilation []int64,
	groups int64) (*tensor.Tensor, error) {
	return runConvolution(c, convolution{op: "conv3d", n: 3, stride: stride, named: padding, dilation: dilation, groups: groups}, self,
		weight, bias)
}

// ConvTranspose1d returns a transposed convolution in one dimension.
func ConvTranspose1d(c dispatch.Context, self, weight, bias *tensor.Tensor, stride, padding, outputPadding []int64, groups int64,
	dilation []int64) (*tensor.Tensor, error) {
	return runConvolution(c, convolution{op: "conv_transpose1d", n: 1, transposed: true, stride: stride, padding: padding,
		outputPadding: outputPadding, dilation: dilation, groups: groups}, self, weight, bias)
}

// ConvTranspose2d returns a transposed convolution in two dimensions.
func ConvTranspose2d(c dispatch.Context, self, weight, bias *tensor.Tensor, stride, padding, outputPadding []int64, groups int64,
	dilation []int64) (*tensor.Tensor, error) {
	return runConvolution(c, convolution{op: "conv_transpose2d", n: 2, transposed: true, stride: stride, padding: padding,
		outputPadding: outputPadding, dilation: dilation, groups: groups}, self, weight, bias)
}

// ConvTranspose3d returns a transposed convolution in three dimensions.
func ConvTranspose3d(c dispatch.Context, self, weight, bias *tensor.Tensor, stride, padding, outputPadding []int64, groups int64,
	dilation []int64) (*tensor.Tensor, error) {
	return runConvolution(c, convolution{op: "conv_transpose3d", n: 3, transposed: true, stride: stride, padding: padding,
		outputPadding: outputPadding, dilation: dilation, groups: groups}, self, weight, bias)
}

// ConvTbc returns a convolution in one dimension of signals whose channels are adjacent.
func ConvTbc(c dispatch.Context, self, weight, bias *tensor.Tensor, pad int64) (_ *tensor.Tensor, err error) {
	const op = "conv_tbc"
	if self.Dim() != 3 || weight.Dim() != 3 || bias.Dim() != 1 {
		return nil, status.Runtimef("%s: self must be (L, N, C), weight (K, C, M) and bias (M), but they have sizes %v, %v and %v", op,
			self.Sizes(), weight.Sizes(), bias.Sizes())
	}
	b := build.New(c, op)
	defer b.Close(&err)
	signals, kernels := b.ReorderDims(self, 1, 2, 0), b.ReorderDims(weight, 2, 1, 0)
	one := []int64{1}
	result := b.Conv1d(signals, kernels, bias, one, []int64{pad}, one, 1)
	return build.WriteResult(b, nil, b.AsContiguous(b.ReorderDims(result, 2, 0, 1)))
}

// convolution holds the arguments of a convolution in n dimensions.
type convolution struct {
	op                                       string
	n                                        int
	transposed                               bool
	named                                    string // the padding, if it is a string
	stride, padding, outputPadding, dilation []int64
	groups                                   int64
}

// runConvolution checks the arguments, and runs a convolution on images with a dimension for examples.
func runConvolution(c dispatch.Context, v convolution, self, weight, bias *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if err := v.expandArguments(); err != nil {
		return nil, err
	}
	if n := self.Dim(); n != v.n+1 && n != v.n+2 {
		return nil, v.makeError("Expected %dD (unbatched) or %dD (batched) input to %s, but got input of size: %v", v.n+1, v.n+2, v.op,
			self.Sizes())
	}
	if weight.Dim() != v.n+2 {
		return nil, v.makeError("expected %d-dimensional weight, but got weight of size %v", v.n+2, weight.Sizes())
	}
	b := build.New(c, v.op)
	defer b.Close(&err)
	alone := self.Dim() == v.n+1
	if alone {
		self = b.Unsqueeze(self, 0)
	}
	if !alone && self.Sizes()[0] == 0 {
		self, weight, bias = v.castEmptyBatch(b, self, weight, bias)
	}
	if err := v.checkOperands(self, weight, bias); err != nil {
		return nil, err
	}
	sizes, err := v.outputSizes(self, weight)
	if err != nil {
		return nil, err
	}
	format := v.outputFormat(self, weight)
	run := c.NnConvolution
	if v.transposed {
		run = c.NnConvolutionTranspose
	}
	if !v.transposed && self.Sizes()[1] == 0 { // as in PyTorch: kernels without input channels have no output channels
		weight = b.Narrow(weight, 0, 0, 0)
		if bias != nil {
			bias = b.Narrow(bias, 0, 0, 0)
		}
	}
	result := b.Track(run(self, weight, bias, sizes, v.stride, v.padding, v.dilation, v.groups, format))
	if alone {
		result = b.SqueezeDim(result, 0)
	}
	return build.WriteResult(b, nil, result)
}

func (v *convolution) makeError(format string, a ...any) error {
	return status.Runtimef("%s: "+format, append([]any{v.op}, a...)...)
}

// expandArguments repeats single values of stride, padding and dilation for every dimension, and returns an error for invalid ones.
func (v *convolution) expandArguments() error {
	for _, p := range []struct {
		name  string
		list  *[]int64
		least int64
		want  string
	}{
		{"stride", &v.stride, 1, "non-positive stride is not supported"},
		{"padding", &v.padding, 0, "negative padding is not supported"},
		{"output_padding", &v.outputPadding, 0, "negative output_padding is not supported"},
		{"dilation", &v.dilation, 1, "dilation should be greater than zero"},
	} {
		if *p.list == nil {
			*p.list = []int64{0}
		}
		switch len(*p.list) {
		case v.n:
			*p.list = slices.Clone(*p.list)
		case 1:
			*p.list = slices.Repeat(*p.list, v.n)
		default:
			return v.makeError("expected %s to be a single integer value or a list of %d values to match the convolution dimensions, but got %s=%v",
				p.name, v.n, p.name, *p.list)
		}
		if slices.Min(*p.list) < p.least {
			return v.makeError("%s, but got %s=%v", p.want, p.name, *p.list)
		}
	}
	if v.groups < 1 {
		return v.makeError("non-positive groups is not supported, but got groups=%d", v.groups)
	}
	if !slices.Contains([]string{"", "valid", "same"}, v.named) {
		return v.makeError("padding must be numbers, valid or same, but is %s", v.named)
	}
	if v.named == "same" && slices.Max(v.stride) > 1 {
		return v.makeError("padding='same' is not supported for strided convolutions, but got stride=%v", v.stride)
	}
	return nil
}

// checkOperands returns an error for tensors that do not fit each other.
func (v *convolution) checkOperands(self, weight, bias *tensor.Tensor) error {
	w, channels := weight.Sizes(), self.Sizes()[1]
	switch {
	case w[0] < v.groups:
		return v.makeError("given groups=%d, expected weight to be at least %d at dimension 0, but got weight of size %v instead", v.groups,
			v.groups, w)
	case w[0]%v.groups != 0:
		return v.makeError("given groups=%d, expected weight to be divisible by %d at dimension 0, but got weight of size %v instead",
			v.groups, v.groups, w)
	}
	over, wanted := bits.Mul64(uint64(w[1]), uint64(v.groups))
	if over != 0 || int64(wanted) < 0 {
		return v.makeError("given groups=%d, weight of size %v has more channels than can be counted", v.groups, w)
	}
	result := w[0]
	if v.transposed {
		result, wanted = int64(wanted), uint64(w[0])
	}
	if channels != int64(wanted) {
		return v.makeError("given groups=%d, weight of size %v, expected input %v to have %d channels, but got %d channels instead",
			v.groups, w, self.Sizes(), wanted, channels)
	}
	if bias != nil && (bias.Dim() != 1 || bias.Sizes()[0] != result) {
		return v.makeError("given weight of size %v, expected bias to be 1-dimensional with %d elements, but got bias of size %v instead",
			w, result, bias.Sizes())
	}
	if weight.DType() != self.DType() || bias != nil && bias.DType() != self.DType() {
		return v.makeError("input, weight and bias should have the same dtype, but got %v", listDTypes(self, weight, bias))
	}
	return nil
}

// castEmptyBatch casts the operands to the dtype of the result for an input without batch elements. As in PyTorch, the dtypes may then
// differ: the weight takes part in promotion as a 0-dim tensor. Operands that are rejected are not cast.
func (v *convolution) castEmptyBatch(b *build.Builder, self, weight, bias *tensor.Tensor) (_, _, _ *tensor.Tensor) {
	result := self.DType()
	if result.IsComplex() || !v.transposed && bias != nil && bias.DType() != result {
		return self, weight, bias
	}
	if weight.DType().Category() > result.Category() {
		result = dtype.Promote(result, weight.DType())
	}
	if bias != nil {
		bias = b.CastTo(bias, result)
	}
	return b.CastTo(self, result), b.CastTo(weight, result), bias
}

// outputSizes returns the spatial sizes of the result. It converts a padding that is a string.
func (v *convolution) outputSizes(self, weight *tensor.Tensor) ([]int64, error) {
	in, kernel := self.Sizes()[2:], weight.Sizes()[2:]
	result := make([]int64, v.n)
	for i := range result {
		if kernel[i] < 1 {
			return nil, v.makeError("kernel size should be greater than zero, but weight has size %v", weight.Sizes())
		}
		reach, fits := dilatedSize(kernel[i], v.dilation[i])
		switch {
		case v.named == "same":
			v.padding[i], result[i] = (reach-1)/2, in[i]
			fits = fits && reach <= 1<<40
		case v.transposed:
			result[i], fits = v.inputSize(i, in[i], reach, fits)
			if result[i] < 0 {
				return nil, v.makeError("nothing is left of input %v with padding=%v, stride=%v, dilation=%v and weight of size %v",
					self.Sizes(), v.padding, v.stride, v.dilation, weight.Sizes())
			}
			if fits && v.outputPadding[i] >= v.stride[i] && v.outputPadding[i] >= v.dilation[i] {
				return nil,
					v.makeError("output padding must be smaller than either stride or dilation, but got output_padding=%v, stride=%v and dilation=%v",
						v.outputPadding, v.stride, v.dilation)
			}
		default:
			fits = fits && v.padding[i] <= 1<<60
			padded := in[i] + 2*min(v.padding[i], 1<<60)
			if fits && padded < reach {
				return nil,
					v.makeError("calculated padded input size per channel: %s, kernel size: %s; kernel size can't be greater than actual input size",
						v.joinDims(func(i int) string { return fmt.Sprint(in[i], "+2*", v.padding[i]) }),
						v.joinDims(func(i int) string { return fmt.Sprint(kernel[i]) }))
			}
			result[i] = max(padded-reach, 0)/v.stride[i] + 1
		}
		if !fits {
			return nil, v.makeError("sizes are larger than can be counted: input %v, weight %v, stride %v, padding %v, dilation %v",
				self.Sizes(), weight.Sizes(), v.stride, v.padding, v.dilation)
		}
		// Dilation has no effect with one kernel element, and stride none with one position.
		if kernel[i] == 1 {
			v.dilation[i] = 1
		}
		if v.transposed && in[i] <= 1 || !v.transposed && result[i] <= 1 {
			v.stride[i] = 1
		}
	}
	if slices.Contains(in, 0) && self.Sizes()[0] != 0 && self.Sizes()[1] != 0 {
		return nil, v.makeError("only zero batch or zero channel inputs are supported, but got input shape: %v", self.Sizes())
	}
	return result, nil
}

// dilatedSize returns the number of elements that a dilated kernel spans; fits reports whether it is representable.
func dilatedSize(taps, dilation int64) (n int64, fits bool) {
	over, span := bits.Mul64(uint64(taps-1), uint64(dilation))
	return int64(span) + 1, over == 0 && span < 1<<60
}

// inputSize returns the size of the input whose convolution along dimension i has n positions.
func (v *convolution) inputSize(i int, n, reach int64, fits bool) (int64, bool) {
	over, span := bits.Mul64(uint64(max(n-1, 0)), uint64(v.stride[i]))
	if over != 0 || span > 1<<60 || !fits || v.padding[i] > 1<<60 || v.outputPadding[i] > 1<<60 {
		return 0, false
	}
	return int64(span) + reach - 2*v.padding[i] + v.outputPadding[i], true
}

func listDTypes(list ...*tensor.Tensor) (all []dtype.DType) {
	for _, t := range list {
		if t != nil {
			all = append(all, t.DType())
		}
	}
	return all
}

// joinDims joins the descriptions of all dimensions: 2 x 3.
func (v *convolution) joinDims(each func(i int) string) string {
	var list []string
	for i := range v.n {
		list = append(list, each(i))
	}
	return "(" + strings.Join(list, " x ") + ")"
}

// outputFormat returns the memory format of the result: channels last if an operand is; for volumes only with the dtypes that PyTorch
// supports.
func (v *convolution) outputFormat(self, weight *tensor.Tensor) shape.MemoryFormat {
	if self.Sizes()[0] == 0 || self.Sizes()[1] == 0 {
		return shape.Contiguous
	}
	switch v.n {
	case 2:
	case 3:
		if !slices.Contains([]dtype.DType{dtype.Float32, dtype.BFloat16, dtype.Complex64}, self.DType()) {
			return shape.Contiguous
		}
	default:
		return shape.Contiguous
	}
	return max(shape.SuggestFormat(self.Sizes(), self.Strides()), shape.SuggestFormat(weight.Sizes(), weight.Strides()))
}
