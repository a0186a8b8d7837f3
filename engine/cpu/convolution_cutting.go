package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/parallel"
)

const (
	// Boxes of positions are halved until a thread's scratch memory for one fits roomBytes, with the sums, up to sumBytes, in the L2 cache,
	// and until each thread gets blocksPerThread boxes. Boxes of fewer than leastLanes positions are not halved.
	sumBytes, leastLanes = 1 << 19, 192
	// leastRows is the smallest number of weight rows for which several threads fill separate tiles.
	leastRows = 32
	// rowBlock is the largest number of weight rows per call, whose sums are stored.
	rowBlock = 256
)

// cutting is a convolution that is cut into boxes of positions and blocks of rows, on which the results do not depend.
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

// queryMostRoom returns the most bytes of scratch that a call takes. A call of the last rows, or of the last positions along an axis, can
// take more than others: it keeps more sums in registers, or does not pack positions.
func (p *cutting) queryMostRoom() int64 {
	part, most := *p, int64(0)
	for _, part.block = range listSizes(p.rows, p.block) {
		for _, part.box[0] = range listSizes(p.Axes[0].End, p.box[0]) {
			for _, part.box[1] = range listSizes(p.Axes[1].End, p.box[1]) {
				for _, part.box[2] = range listSizes(p.Axes[2].End, p.box[2]) {
					most = max(most, part.queryRoom())
				}
			}
		}
	}
	return most
}

// listSizes returns the sizes of n elements' parts, which have `each` elements, but for the last one.
func listSizes(n, each int64) []int64 {
	if each == 0 || n%each == 0 {
		return []int64{each}
	}
	return []int64{each, n % each}
}

// setCall sets the positions and the rows of call t of a group in part, and returns the example and the first row.
func (p *cutting) setCall(part *kernel.Convolution, t int64) (image, row int64) {
	for i := range p.box {
		n := ceilDiv(p.Axes[i].End, p.box[i])
		part.Axes[i].Begin = t % n * p.box[i]
		part.Axes[i].End = min(part.Axes[i].Begin+p.box[i], p.Axes[i].End)
		t /= n
	}
	blocks := ceilDiv(p.rows, p.block)
	row = t % blocks * p.block
	part.Rows = min(p.block, p.rows-row)
	return t / blocks, row
}

// countCalls counts the boxes and blocks of all examples and groups, or of those that are together.
func (p *cutting) countCalls() int64 {
	n := p.examples * p.groups / p.together * ceilDiv(p.rows, p.block)
	for i, a := range p.Axes {
		n *= ceilDiv(a.End, p.box[i])
	}
	return n
}
