package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// NnUnfold returns the sliding windows of images as columns (im2col).
func NnUnfold(c dispatch.Context, self *tensor.Tensor, kernel, dilation, padding, stride []int64) (_ *tensor.Tensor, err error) {
	p := pooling{Builder: build.New(c, "nn_unfold"), n: 2, kernel: kernel, stride: stride, padding: padding, dilation: dilation,
		counted: true}
	defer p.Close(&err)
	p.expandArguments()
	images := p.addBatchDim(self)
	if err := p.countBlocks(images.Sizes()[2:]); err != nil {
		return nil, err
	}
	result := p.NnColumns(images, p.sizes, p.kernel, p.stride, p.padding, p.dilation...)
	result = p.AsShape(result, slices.Concat(result.Sizes()[:2], []int64{shape.Product(p.sizes)})...)
	return build.WriteResult(p.Builder, nil, p.removeBatchDim(self, result))
}

// NnFold adds columns up to images.
func NnFold(c dispatch.Context, self *tensor.Tensor, sizes, kernel, dilation, padding, stride []int64) (_ *tensor.Tensor, err error) {
	const op = "nn_fold"
	p := pooling{Builder: build.New(c, op), n: 2, kernel: kernel, stride: stride, padding: padding, dilation: dilation}
	defer p.Close(&err)
	p.expandArguments()
	if len(sizes) == 1 {
		sizes = slices.Repeat(sizes, 2)
	}
	dim := self.Dim()
	if len(sizes) != 2 || slices.Min(sizes) < 1 {
		return nil, status.Runtimef("%s: output_size must be a positive int or 2 of them, but is %v", op, sizes)
	}
	if dim != 2 && dim != 3 || slices.Contains(self.Sizes()[dim-2:], 0) {
		return nil, status.Runtimef("%s: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got: %v", op,
			self.Sizes())
	}
	if err := p.countBlocks(sizes); err != nil {
		return nil, err
	}
	taps, blocks := shape.Times(p.kernel[0], p.kernel[1]), shape.Times(p.sizes[0], p.sizes[1])
	if rows := self.Sizes()[dim-2]; rows%taps != 0 {
		return nil,
			status.Runtimef("%s: expected size of input's dimension %d to be divisible by the product of kernel_size, but got input of sizes %v and kernel_size=%v",
				op, dim-2, self.Sizes(), p.kernel)
	}
	if n := self.Sizes()[dim-1]; n != blocks {
		return nil,
			status.Runtimef("%s: given output_size=%v, kernel_size=%v, dilation=%v, padding=%v, stride=%v, expected size of input's dimension %d to match the calculated number of sliding blocks %d * %d = %d, but got input of sizes %v",
				op, sizes, p.kernel, p.dilation, p.padding, p.stride, dim-1, p.sizes[0], p.sizes[1], blocks, self.Sizes())
	}
	columns := self
	if dim == 2 {
		columns = p.Unsqueeze(self, 0)
	}
	columns = p.AsShape(columns, slices.Concat(columns.Sizes()[:2], p.sizes)...)
	result := p.NnFromColumns(columns, sizes, p.kernel, p.stride, p.padding, p.dilation...)
	if dim == 2 {
		result = p.SqueezeDim(result, 0)
	}
	return build.WriteResult(p.Builder, nil, result)
}

// countBlocks returns an error unless there is at least one window along each dimension, and stores their numbers.
func (p *pooling) countBlocks(images []int64) error {
	p.sizes = make([]int64, p.n)
	for i, size := range images {
		const most = 1 << 60
		span := float64(p.kernel[i]-1)*float64(p.dilation[i]) + 1
		if span > most || p.padding[i] > most || p.stride[i] > most || size > most {
			return status.Runtimef("%s: kernel_size %v, stride %v, padding %v and dilation %v overflow a 64-bit integer", p.Op, p.kernel,
				p.stride, p.padding, p.dilation)
		}
		room := size + 2*p.padding[i] - (p.kernel[i]-1)*p.dilation[i] - 1
		if room < 0 {
			room -= p.stride[i] - 1 // rounds down
		}
		p.sizes[i] = room/p.stride[i] + 1
	}
	if slices.Min(p.sizes) < 1 {
		return status.Runtimef("%s: given spatial size %v, kernel_size=%v, dilation=%v, padding=%v, stride=%v, calculated shape of the array of sliding blocks as %v, but its components must be at least one",
			p.Op, images, p.kernel, p.dilation, p.padding, p.stride, p.sizes)
	}
	return nil
}
