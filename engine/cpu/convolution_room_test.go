package cpu

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
)

// No call of a convolution that is cut into boxes of positions and blocks of rows takes more scratch memory than queryMostRoom returns,
// whatever the sizes of the last boxes and blocks, for few and many rows, channels and kernel elements.
func TestScratchOfConvolutionsFitsEachCall(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 257))
	upTo := func(n int64) int64 { return 1 + r.Int64N(n) }
	dtypes := []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16, dtype.Complex64, dtype.Int32, dtype.Uint8}
	for range 3000 {
		p := cutting{run: convolutionKernel.Row(dtypes[r.IntN(len(dtypes))]), examples: 1, groups: 1, together: 1}
		p.rows, p.Channels = []int64{upTo(8), upTo(80), 225 + upTo(100), 513}[r.IntN(4)], []int64{1, upTo(8), upTo(70)}[r.IntN(3)]
		step := int64(1)
		for i := 2; i >= 0; i-- {
			a := &p.Axes[i]
			a.Taps, a.Stride, a.Step, a.End = upTo(4), upTo(3), upTo(2), []int64{1, upTo(12), upTo(40)}[r.IntN(3)]
			a.Size, a.Origin = a.End*a.Stride+2, -r.Int64N(2)
			a.ImageStep, a.PositionStep = step, step
			step *= a.Size
			p.box[i] = upTo(a.End)
		}
		p.ImageChannel, p.ResultRow = step, step
		p.block = []int64{upTo(p.rows), min(p.rows, 256), min(p.rows, 32)}[r.IntN(3)]
		room := p.queryMostRoom()
		for call := range p.countCalls() {
			part := p.Convolution
			p.setCall(&part, call)
			part.Groups, part.Room = 1, 0
			kernel.Call(p.run, unsafe.Pointer(&part))
			require.LessOrEqual(t, part.Bytes, room, "%d of %d rows in blocks of %d, axes %+v", part.Rows, p.rows, p.block, part.Axes)
		}
	}
}
