package kernel

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/libtensor/libtensor/engine/dtype"
)

// Stores past the caches write what plain ones write, and nothing beside it, wherever the rows begin and end.
func TestStreamedRowsMatchPlainOnes(t *testing.T) {
	const n, rows, gap, kept = 1531, 3, 7, 64 // elements; bytes on either side of the output
	r := rand.New(rand.NewPCG(9, 9))
	for _, tier := range tierTables() {
		k := tier.kernels["add"]
		for _, d := range []dtype.DType{dtype.Uint8, dtype.Int16, dtype.Float32, dtype.Float64, dtype.Complex128} {
			a, b := values(r, d, n*rows, false), values(r, d, n, false)
			for shift := int64(0); shift < 3; shift++ {
				add := func(stream, inPlace bool) []byte {
					out := slices.Repeat([]byte{0xA5}, int((n+gap)*rows*d.Size()+2*kept))
					l := &Loop{Row: k.Row(d), Operands: 3, Outputs: 1, Ndim: 2, Stream: stream}
					var pins runtime.Pinner
					defer pins.Unpin()
					for i, data := range [][]byte{out[kept+shift*d.Size():], a, b} {
						if inPlace && i == 1 {
							copy(out[kept+shift*d.Size():], a)
							data = out[kept+shift*d.Size():]
						}
						pins.Pin(&data[0])
						l.Memory[i], l.Compute[i], l.Data[i] = d, d, uintptr(unsafe.Pointer(&data[0]))
						l.Strides[i][0] = d.Size()
					}
					l.Sizes[0], l.Sizes[1] = n, rows
					l.Strides[0][1], l.Strides[1][1] = (n+gap)*d.Size(), n*d.Size()
					if inPlace {
						l.Strides[1][1] = l.Strides[0][1]
					}
					pins.Pin(l)
					Call(tier.elementwise, unsafe.Pointer(l))
					return out
				}
				for _, inPlace := range []bool{false, true} {
					assert.Equal(t, add(false, inPlace), add(true, inPlace), "%v in tier %s, %d elements past a line, in place %v", d, tier.tier, shift, inPlace)
				}
			}
		}
	}
}
