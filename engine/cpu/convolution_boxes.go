package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

var convolutionKernel = kernel.Of(kernelapi.Convolution)

const (
	// Convolutions of bfloat16 use tile registers for more rows of weights than skinny, of at least amxDepth products.
	amxDepth = 16
	// Boxes of positions are halved until a thread's scratch memory for one fits roomBytes, with the sums, up to sumBytes, in the L2 cache,
	// and until each thread gets blocksPerThread boxes. Boxes of fewer than leastLanes positions are not halved.
	sumBytes, leastLanes = 1 << 19, 192
	// rowBlock is the largest number of weight rows per im2col tile, and leastRows the smallest for which several threads fill separate
	// tiles.
	rowBlock, leastRows = 256, 32
)

// byBoxes makes to of from and weights, which it converts to the kernel's dtype, and whose first element it may not begin with: threads
// share the boxes, blocks, examples and groups.
func (c *convolver) byBoxes(k kernel.Convolution, weights, to, from *tensor.Tensor, first uintptr) {
	size, unit := c.d.Size(), c.unit.Size()
	p := cutting{Convolution: k, run: convolutionKernel.Row(c.d), examples: c.apart, groups: c.Groups, rows: to.Sizes()[1] / c.Groups}
	p.depth = weights.Numel() / max(c.Groups*p.rows, 1)
	factors := c.unit
	if c.d == dtype.BFloat16 && p.rows > skinny && p.depth >= amxDepth {
		if run := kernel.OfTiles(kernelapi.ConvolutionAmx).Row(0); run != 0 {
			p.run, factors = run, c.d
		}
	}
	weights = backend.RowMajor(&c.Scope, weights, factors)
	p.Image, p.Weight, p.Result = at(from, 0), at(weights, 0), first
	p.Channels = from.Sizes()[1] / c.Groups
	p.ImageGroup, p.ImageChannel = p.Channels*from.Strides()[1], from.Strides()[1]
	p.WeightGroup, p.WeightRow, p.BiasGroup = p.rows*p.depth, p.depth, p.rows
	p.ResultGroup, p.ResultRow = p.rows*to.Strides()[1], to.Strides()[1]
	p.together = 1
	if p.Channels == 1 && p.rows == 1 && p.ImageGroup == 1 && p.ResultGroup == 1 { // channels are adjacent: they are vector lanes
		p.together = p.groups
	}
	work, apart := p.chooseBlocks(unit), p.groups/p.together
	total := p.countCalls()
	shareRooms(&c.Scope, p.queryRoom(), total, max(convolutionGrain*total/max(work, 1), 1), func(begin, end int64, room uintptr) {
		for t := begin; t < end; {
			part, at, group := p.Convolution, t/apart, t%apart
			calls := min(apart-group, end-t)
			part.Groups = calls * p.together
			t += calls
			for i := range p.box {
				n := ceilDiv(p.Axes[i].End, p.box[i])
				part.Axes[i].Begin = at % n * p.box[i]
				part.Axes[i].End = min(part.Axes[i].Begin+p.box[i], p.Axes[i].End)
				at /= n
			}
			blocks := ceilDiv(p.rows, p.block)
			row, image := at%blocks*p.block, at/blocks
			part.Rows, part.Room = min(p.block, p.rows-row), room
			part.Image += uintptr((image*from.Strides()[0] + group*p.ImageGroup) * size)
			part.Result += uintptr((image*to.Strides()[0] + group*p.ResultGroup + row*p.ResultRow) * size)
			part.Weight += uintptr((group*p.WeightGroup + row*p.WeightRow) * factors.Size())
			if part.Bias != 0 {
				part.Bias += uintptr((group*p.BiasGroup + row) * unit)
			}
			kernel.Call(p.run, unsafe.Pointer(&part))
		}
	})
}

// cutting is a convolution that is cut into boxes of positions and blocks of rows. How does not show in the results.
type cutting struct {
	kernel.Convolution
	run                           uintptr
	examples, groups, rows, depth int64 // of all calls, and products for each element
	together                      int64 // groups per work item
	box                           [3]int64
	block                         int64
}

// chooseBlocks sets box and block, and counts the multiplications of all calls.
func (p *cutting) chooseBlocks(unit int64) (work int64) {
	work = p.examples * p.groups * p.rows * p.depth
	for i, a := range p.Axes {
		p.box[i] = a.End
		work *= a.End
	}
	p.block = min(p.rows, rowBlock)
	wanted := int64(1)
	if threads := int64(parallel.Threads()); threads > 1 && work > convolutionGrain {
		wanted = threads * blocksPerThread
	}
	for {
		lanes := p.box[0] * p.box[1] * p.box[2]
		crowded := lanes*p.block*unit > sumBytes || p.queryRoom() > roomBytes
		if !crowded && (lanes*p.together < 2*leastLanes || p.countCalls() >= wanted) || !halveBox(&p.box) {
			break
		}
	}
	for p.queryRoom() > roomBytes && p.block > 1 || p.countCalls() < wanted && p.block >= 2*leastRows {
		p.block = partOf(p.block, 2, min(p.block/2, 8))
	}
	return work
}

// queryRoom returns how many bytes of scratch a call takes.
func (p *cutting) queryRoom() int64 {
	part := p.Convolution
	part.Groups, part.Rows, part.Room = p.groups, p.block, 0
	for i := range p.box {
		part.Axes[i].End = p.box[i]
	}
	kernel.Call(p.run, unsafe.Pointer(&part))
	return part.Bytes
}

// countCalls counts the boxes and blocks of all examples and groups, or of those that are together.
func (p *cutting) countCalls() int64 {
	n := p.examples * p.groups / p.together * ceilDiv(p.rows, p.block)
	for i, a := range p.Axes {
		n *= ceilDiv(a.End, p.box[i])
	}
	return n
}
