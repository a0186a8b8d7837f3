package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

var convolutionKernel = kernel.Of(kernelapi.Convolution)

const (
	// Boxes of positions are halved until a thread's scratch memory for one fits roomBytes, with the sums, up to sumBytes, in the L2 cache,
	// and until each thread gets blocksPerThread boxes. Boxes of fewer than leastLanes positions are not halved.
	sumBytes, leastLanes = 1 << 19, 192
	// rowBlock is the largest number of weight rows per im2col tile, and leastRows the smallest for which several threads fill separate
	// tiles.
	rowBlock, leastRows = 256, 32
)

// boxWeights returns the weights of byBoxes: (groups * rows, channels, kernel elements) without gaps, or a view of (groups, rows, kernel
// elements along each axis, channels).
type boxWeights struct{ inRows, view func() *tensor.Tensor }

// byBoxes makes to, whose first element is not necessarily the first that it writes, of from and weights: threads share the boxes, blocks,
// examples and groups.
func (c *convolver) byBoxes(k kernel.Convolution, weights boxWeights, to, from *tensor.Tensor, first uintptr) {
	size, unit := c.d.Size(), c.unit.Size()
	p := cutting{Convolution: k, run: convolutionKernel.Row(c.d), examples: c.apart, groups: c.Groups, rows: to.Sizes()[1] / c.Groups}
	p.Image, p.Result = at(from, 0), first
	p.Channels = from.Sizes()[1] / c.Groups
	p.depth = p.Channels * p.Axes[0].Taps * p.Axes[1].Taps * p.Axes[2].Taps
	p.ImageGroup, p.ImageChannel = p.Channels*from.Strides()[1], from.Strides()[1]
	p.BiasGroup, p.ResultGroup, p.ResultRow = p.rows, p.rows*to.Strides()[1], to.Strides()[1]
	p.together = 1
	if p.Channels == 1 && p.rows == 1 && p.ImageGroup == 1 && p.ResultGroup == 1 { // channels are adjacent: they are vector lanes
		p.together = p.groups
	}
	if !c.packForTiles(&p, weights.view) {
		c.readWeights(&p, weights.inRows())
		p.chooseBlocks(rowBlock, 8, unit)
	}
	work, apart := p.countMultiplications(), p.groups/p.together
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
			part.Weight += uintptr((group*p.WeightGroup + row*p.WeightRow) * p.weightSize)
			if part.Bias != 0 {
				part.Bias += uintptr((group*p.BiasGroup + row) * unit)
			}
			kernel.Call(p.run, unsafe.Pointer(&part))
		}
	})
}

// readWeights sets the weights, which the kernel reads in place.
func (c *convolver) readWeights(p *cutting, weights *tensor.Tensor) {
	weights = backend.RowMajor(&c.Scope, weights, c.unit)
	p.Weight, p.weightSize = at(weights, 0), c.unit.Size()
	p.WeightGroup, p.WeightRow = p.rows*p.depth, p.depth
}

// cutting is a convolution that is cut into boxes of positions and blocks of rows. How does not show in the results.
type cutting struct {
	kernel.Convolution
	run                           uintptr
	examples, groups, rows, depth int64 // of all calls, and products for each element
	together                      int64 // groups per work item
	weightSize                    int64 // bytes of WeightGroup's and WeightRow's units
	box                           [3]int64
	block                         int64
}

// countMultiplications counts the multiplications of all calls.
func (p *cutting) countMultiplications() int64 {
	work := p.examples * p.groups * p.rows * p.depth
	for _, a := range p.Axes {
		work *= a.End
	}
	return work
}

// chooseBlocks sets box and block, which has at most mostRows rows, and a multiple of blockStep if there are enough. A call stores sums of
// sumSize bytes, or keeps them in registers: then the scratch memory does not depend on the rows.
func (p *cutting) chooseBlocks(mostRows, blockStep, sumSize int64) {
	for i, a := range p.Axes {
		p.box[i] = a.End
	}
	p.block = min(p.rows, mostRows)
	wanted := int64(1)
	if threads := int64(parallel.Threads()); threads > 1 && p.countMultiplications() > convolutionGrain {
		wanted = threads * blocksPerThread
	}
	for {
		lanes, room, whole := p.box[0]*p.box[1]*p.box[2], p.queryRoom(), p.box
		crowded := lanes*p.block*sumSize > sumBytes || room > roomBytes
		if !crowded && (lanes*p.together < 2*leastLanes || p.countCalls() >= wanted) || !halveBox(&p.box) {
			break
		}
		if sumSize == 0 && p.queryRoom() > room/4*3 { // most of the elements that a half reads are those of the other, too
			p.box = whole
			break
		}
	}
	for sumSize > 0 && p.queryRoom() > roomBytes && p.block > 1 || p.countCalls() < wanted && p.block >= 2*leastRows {
		p.block = partOf(p.block, 2, min(p.block/2, blockStep))
	}
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
