package kernel

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
)

// rowsOf holds two disjoint rows of every operand of a kernel. Those of the outputs begin some bytes after a cache line.
type rowsOf struct {
	kernel  *Kernel
	dtype   dtype.DType
	types   []dtype.DType
	outputs int
	shift   int64
	inputs  [][]byte
}

const streamed, streamedRows, streamedGap, kept = 521, 2, 7, 64 // elements; bytes on either side of the output

// run returns the memory of the outputs, which held `before` everywhere.
func (o *rowsOf) run(t *table, stream bool, before byte) [][]byte {
	l := &kernelapi.Loop{Row: o.kernel.Row(o.dtype), Operands: int32(len(o.types)), Outputs: int32(o.outputs), Ndim: 2, Stream: stream,
		Fixed: o.kernel.Fixed()}
	l.Sizes[0], l.Sizes[1] = streamed, streamedRows
	setParameters(l, o.kernel, o.dtype)
	var pins runtime.Pinner
	defer pins.Unpin()
	var memory [][]byte
	for i, of := range o.types {
		data, gap := []byte(nil), int64(0)
		if i < o.outputs {
			gap = streamedGap
			out := slices.Repeat([]byte{before}, int((streamed+gap)*streamedRows*of.Size()+2*kept))
			memory = append(memory, out)
			data = out[kept+o.shift*of.Size():]
		} else {
			data = o.inputs[i]
		}
		pins.Pin(&data[0])
		l.Memory[i], l.Compute[i], l.Data[i] = of, of, uintptr(unsafe.Pointer(&data[0]))
		l.Strides[i][0], l.Strides[i][1] = of.Size(), (streamed+gap)*of.Size()
	}
	pins.Pin(l)
	Call(t.elementwise, unsafe.Pointer(l))
	return memory
}

// written returns the elements that were to be written from an output's memory, and the bytes around them.
func (o *rowsOf) written(memory []byte, of dtype.DType) (elements, around []byte) {
	at := kept + o.shift*of.Size()
	around = append(around, memory[:at]...)
	for range streamedRows {
		elements = append(elements, memory[at:at+streamed*of.Size()]...)
		around = append(around, memory[at+streamed*of.Size():at+(streamed+streamedGap)*of.Size()]...)
		at += (streamed + streamedGap) * of.Size()
	}
	return elements, append(around, memory[at:]...)
}

// Every kernel that declares to write whole outputs and to read none of them does so, in every tier. Stores past the caches write the same
// bytes as plain ones, and nothing else, wherever the rows begin and end.
func TestWholeOutputsAndStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, tier := range tierTables() {
		for _, k := range tier.elementwiseKernels() {
			if !k.IsWhole() {
				continue
			}
			assert.Zero(t, k.Fixed(), "%s: a block may not stand in for an operand at places of the kernel's choosing", k.Name())
			for _, d := range dtype.All {
				if !k.Has(d) {
					continue
				}
				o := rowsOf{kernel: k, dtype: d}
				o.types, o.outputs = operandTypes(k, d)
				for i, of := range o.types {
					o.inputs = append(o.inputs, values(r, of, streamed*streamedRows, i == 2 && slices.Contains(nonzero, k.Name())))
				}
				for o.shift = range int64(3) {
					plain, other, past := o.run(tier, false, 0xA5), o.run(tier, false, 0x5A), o.run(tier, true, 0xA5)
					for i, of := range o.types[:o.outputs] {
						want, _ := o.written(plain[i], of)
						got, around := o.written(other[i], of)
						assert.True(t, slices.Equal(want, got), "%s of %v in tier %s: the result depends on what was in the output", k.Name(), d, tier.tier)
						assert.Empty(t, slices.DeleteFunc(around, func(b byte) bool {
							return b == 0x5A
						}), "%s of %v in tier %s writes beside its output", k.Name(), d, tier.tier)
						assert.True(t, slices.Equal(plain[i], past[i]), "%s of %v in tier %s, %d elements past a line, streamed", k.Name(), d, tier.tier,
							o.shift)
					}
				}
			}
		}
	}
}
