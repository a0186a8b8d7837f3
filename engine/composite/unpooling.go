package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// NnMaxUnpool1d scatters elements to their positions in signals.
func NnMaxUnpool1d(c dispatch.Context, self, indices *tensor.Tensor, kernel, stride, padding, sizes []int64) (*tensor.Tensor, error) {
	return maxUnpool(c, "nn_max_unpool1d", 1, self, indices, kernel, stride, padding, sizes)
}

// NnMaxUnpool2d scatters elements to their positions in images.
func NnMaxUnpool2d(c dispatch.Context, self, indices *tensor.Tensor, kernel, stride, padding, sizes []int64) (*tensor.Tensor, error) {
	return maxUnpool(c, "nn_max_unpool2d", 2, self, indices, kernel, stride, padding, sizes)
}

// NnMaxUnpool3d scatters elements to their positions in volumes.
func NnMaxUnpool3d(c dispatch.Context, self, indices *tensor.Tensor, kernel, stride, padding, sizes []int64) (*tensor.Tensor, error) {
	return maxUnpool(c, "nn_max_unpool3d", 3, self, indices, kernel, stride, padding, sizes)
}

func maxUnpool(c dispatch.Context, op string, n int, self, indices *tensor.Tensor, kernel, stride, padding,
	sizes []int64) (_ *tensor.Tensor, err error) {
	p := pooling{Builder: build.New(c, op), n: n, kernel: kernel, stride: stride, padding: padding}
	defer p.Close(&err)
	p.expandArguments()
	p.addBatchDim(self)
	lead := self.Dim() - n
	switch {
	case indices.DType() != dtype.Int64:
		return nil, status.Runtimef("%s: elements in indices should be of int64, but got %v", op, indices.DType())
	case !slices.Equal(indices.Sizes(), self.Sizes()):
		return nil, status.Runtimef("%s: expected indices to have the sizes of self, %v, but got %v", op, self.Sizes(), indices.Sizes())
	case sizes != nil && len(sizes) != n && len(sizes) != n+2:
		return nil, status.Valuef("%s: output_size must have %d or %d values, but is %v", op, n, n+2, sizes)
	}
	result, volume := make([]int64, n), int64(1)
	for i := range n {
		span, fits := windowSpan(self.Sizes()[lead+i], p.stride[i], p.kernel[i])
		if !fits || p.padding[i] > 1<<60 {
			return nil, status.Runtimef("%s: kernel_size %v, stride %v and padding %v overflow a 64-bit integer", op, p.kernel, p.stride,
				p.padding)
		}
		result[i] = span - 2*p.padding[i]
		if sizes != nil {
			size := sizes[len(sizes)-n+i]
			if size <= result[i]-p.stride[i] || size >= result[i]+p.stride[i] {
				return nil, status.Valuef("%s: output_size %v is invalid: dimension %d must be between %d and %d", op, sizes, i,
					result[i]-p.stride[i], result[i]+p.stride[i])
			}
			result[i] = size
		}
		if result[i] < 1 {
			return nil, status.Runtimef("%s: output_size must be positive, but is %v for input of sizes %v", op, result[:i+1], self.Sizes())
		}
		volume = shape.Times(volume, result[i])
	}
	outer := self.Sizes()[:lead]
	flat := shape.Append(outer, -1)
	if self.Numel() == 0 {
		flat[lead] = 0
	}
	zeros := p.ZerosBeside(self, self.DType(), shape.Append(outer, volume)...)
	places, values := p.AsShape(indices, flat...), p.AsShape(self, flat...)
	put := p.Scatter(zeros, int64(lead), places, values)
	put = p.AsShape(put, slices.Concat(outer, result)...)
	if n == 2 {
		put = matchFormat(p.Builder, self, put)
	}
	return build.WriteResult(p.Builder, nil, put)
}

// windowSpan returns the number of elements that n windows span, and whether it is representable.
func windowSpan(n, stride, taps int64) (int64, bool) {
	span := float64(n-1)*float64(stride) + float64(taps)
	return (n-1)*stride + taps, span < 1<<60
}
