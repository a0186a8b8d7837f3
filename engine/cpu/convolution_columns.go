package cpu

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

const (
	// columnChannels is the number of channels of results from which their products take longer than writing and adding up columns.
	columnChannels = 128
	// columnPositions is the number of positions up to which transposing the kernels takes longer than that, if the stride is 1. With
	// another one, the direct way also writes to elements at a distance.
	columnPositions = 64
	// columnBytes limits the memory for columns.
	columnBytes = 1 << 26
)

// imagesByColumns is computeImages by one product of the kernels, which are read as they are, with the results: columns, which are then
// added up (col2im). It reports whether the shapes suit that.
func (c *convolver) imagesByColumns() bool {
	sizes, taps := c.Kernels.Sizes(), c.Kernels.Sizes()[2:]
	y, uniform := pixelsOf(c.Results)
	columns := []int64{y.examples, sizes[1] * c.taps}
	if c.Groups != 1 || c.unit != c.d || !c.d.IsFloatingPoint() || !uniform || !c.Images.IsContiguous() || !c.Kernels.IsContiguous() ||
		sizes[0] < columnChannels || slices.Max(c.Stride) == 1 && y.examples*y.count > columnPositions ||
		shape.Product(columns)*y.count*c.d.Size() > columnBytes {
		return false
	}
	p := pointwise{products{owner.Scope{Op: c.Op}}}
	defer p.ReleaseAll()
	results := p.viewMatrices(y)
	kernels := p.transposeLast(p.Track(c.Kernels.View(p.Op, []int64{sizes[0], columns[1]}, []int64{columns[1], 1}, c.Kernels.Offset())))
	kernels = p.Track(view.Expand(p.Op, kernels, []int64{y.examples, columns[1], sizes[0]}))
	made := p.Track(tensor.Empty(p.Op, append(slices.Clone(columns), c.Results.Sizes()[2:]...), c.d, device.Host))
	to := p.Track(made.View(p.Op, append(slices.Clone(columns), y.count), []int64{columns[1] * y.count, y.count, 1}, made.Offset()))
	p.multiplyMatrices(backend.Product{To: to, A: kernels, B: results, Alpha: dtype.IntScalar(1), Beta: dtype.IntScalar(0)})
	p.Check(runPooling(p.Op, backend.Pooling{Kernel: fromColumnsKernel, Images: c.Images, Results: made, Taps: taps, Stride: c.Stride,
		Padding: c.Padding, Dilation: c.Dilation}))
	if c.Bias != nil {
		strides := make([]int64, c.Images.Dim())
		strides[1] = c.Bias.Strides()[0]
		bias := p.Track(c.Bias.View(p.Op, c.Images.Sizes(), strides, c.Bias.Offset()))
		p.Check(runElementwise(p.Op, backend.Elementwise{Kernel: kernelapi.Add, Compute: c.d,
			Operands: [backend.MaxOperands]*tensor.Tensor{c.Images, c.Images, bias}}))
	}
	return true
}
