package cpu

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/tensor"
)

const (
	// Convolutions whose channels are adjacent have positions as rows of products, for at least leastWeightRows weight rows, which are
	// vector lanes, and leastRowPositions adjacent positions, whose sums hide the latency of additions.
	leastWeightRows, leastRowPositions = 16, 4
	// weightStep is the number of weight rows in a packed panel of the widest vectors.
	weightStep = 32
)

var convolutionRowsKernel = kernel.Of(kernelapi.ConvolutionRows)

// packForRows sets the kernel that has positions as rows of products, its boxes, and the weights, which view returns. It reports whether
// that suits the convolution. The packed panel of weights takes at most three quarters of the scratch memory.
func (c *convolver) packForRows(p *cutting, view func() *tensor.Tensor) bool {
	run, x := convolutionRowsKernel.Row(0), p.Axes[2]
	if run == 0 || c.d != dtype.Float32 || p.ImageChannel != 1 || p.ResultRow != 1 || p.rows < leastWeightRows || x.End < leastRowPositions ||
		p.depth*weightStep*c.d.Size() > roomBytes/4*3 {
		return false
	}
	cut := *p
	cut.run = run
	cut.chooseBlocks(rowBlock, weightStep, 0)
	if cut.queryRoom() > 2*roomBytes {
		return false
	}
	c.readWeights(&cut, view())
	*p = cut
	return true
}

// readWeights sets the weights, which the kernel reads in place.
func (c *convolver) readWeights(p *cutting, weights *tensor.Tensor) {
	weights = backend.RowMajor(&c.Scope, weights, c.unit)
	p.Weight, p.weightSize = at(weights, 0), c.unit.Size()
	p.WeightGroup, p.WeightRow = p.rows*p.depth, p.depth
}
