package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/tensor"
)

var convolutionKernel = kernel.Of(kernelapi.Convolution)

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
	if !c.packForTiles(&p, weights.view) && !c.packForRows(&p, weights.view) {
		c.readWeights(&p, weights.inRows())
		p.chooseBlocks(rowBlock, 8, unit)
	}
	work, apart := p.countMultiplications(), p.groups/p.together
	total := p.countCalls()
	shareRooms(&c.Scope, p.queryMostRoom(), total, max(convolutionGrain*total/max(work, 1), 1), func(begin, end int64, room uintptr) {
		for t := begin; t < end; {
			part, group := p.Convolution, t%apart
			image, row := p.setCall(&part, t/apart)
			calls := min(apart-group, end-t)
			part.Groups, part.Room = calls*p.together, room
			t += calls
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
