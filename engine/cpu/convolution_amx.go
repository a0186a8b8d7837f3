package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

const (
	// Convolutions of bfloat16 are computed in tile registers for more rows of weights and more positions than skinny, and at least
	// leastTileDepth products per element, if a box of positions takes at most mostTileRoom bytes.
	leastTileDepth, mostTileRoom = 16, 1 << 25
	// packedRows is the number of weight rows in a packed panel, packedUnit the bytes of its units, and tileValues the number of values
	// that fill a row of a register.
	packedRows, packedUnit, tileValues = 32, 4, 32
)

// packForTiles sets the kernel that uses tile registers, its boxes, and packed weights, which view returns. It reports whether that suits
// the convolution.
func (c *convolver) packForTiles(p *cutting, view func() *tensor.Tensor) bool {
	if c.d != dtype.BFloat16 || p.rows <= skinny || p.depth < leastTileDepth {
		return false
	}
	run, pack := kernel.OfTiles(kernelapi.ConvolutionAmx).Row(0), packRoundedKernel()
	if run == 0 || p.examples*p.Axes[0].End*p.Axes[1].End*p.Axes[2].End <= skinny {
		return false
	}
	cut, values := *p, p.Channels
	// Kernel elements along the last axis count as channels if that fills registers better.
	registers := func(n int64) int64 { return ceilDiv(n, tileValues) }
	if taps := p.Axes[2].Taps; 4*registers(taps*p.Channels) <= 3*taps*registers(p.Channels) {
		cut.Merged, values = 1, taps*p.Channels
	}
	m := kernel.GemmPacking{N: p.rows, K: values, BRow: 1, BCol: p.depth}
	kernel.Call(pack, unsafe.Pointer(&m))
	taps := p.depth / values
	cut.run, cut.weightSize = run, packedUnit
	cut.WeightTap = m.Bytes / packedUnit
	cut.WeightGroup, cut.WeightRow = taps*cut.WeightTap, cut.WeightTap/(ceilDiv(p.rows, packedRows)*packedRows)
	cut.chooseBlocks(p.rows, packedRows, 0)
	if cut.queryRoom() > mostTileRoom {
		return false
	}
	from := backend.RowMajor(&c.Scope, view(), c.d)
	packed := c.Track(tensor.Empty(c.Op, []int64{p.groups * taps * m.Bytes}, dtype.Uint8, device.Host))
	parallel.ForInterruptible(p.groups*taps, max(Grain/max(p.rows*values, 1), 1), func(begin, end int64) {
		for t := begin; t < end; t++ {
			part, group, k := m, t/taps, t%taps
			part.B, part.Packed = at(from, group*p.rows*p.depth+k*values), at(packed, t*m.Bytes)
			kernel.Call(pack, unsafe.Pointer(&part))
		}
	})
	cut.Weight = at(packed, 0)
	*p = cut
	return true
}
