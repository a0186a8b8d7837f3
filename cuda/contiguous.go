package cuda

import (
	"math/bits"

	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
)

const (
	packetBytes    = 16 // of the widest operand that a thread loads at once
	largestDivided = 1 << 31
	firstBFloat16  = 8 // the major compute capability of the first devices with instructions for bfloat16
)

// computeDivisors computes the numbers by which the kernels divide indices below 2^31 by sizes.
func (l *loop) computeDivisors() {
	for d, size := range l.sizes[:l.ndim] {
		n := uint64(size)
		if n == 0 || n >= largestDivided {
			continue
		}
		shift := bits.Len64(n - 1)
		l.shifts[d] = uint8(shift)
		l.multipliers[d] = uint32((1<<32)*(1<<shift-n)/n + 1)
	}
}

// findStoredDType returns the dtype of floating-point operands in memory that are computed on in float32, and otherwise that of an entry.
func (l *loop) findStoredDType(e kernels.Entry, operands int) dtype.DType {
	for k := range operands {
		if e.DType() == dtype.Float32 && l.compute[k] == dtype.Float32 && l.data[k] != 0 {
			return l.memory[k]
		}
	}
	return e.DType()
}

// chooseContiguousEntry returns the entry for rows of contiguous and constant operands, and sets l to loop over vectors of their elements.
// ok is false if there is none, or if rows do not consist of whole vectors.
func (m *deviceStream) chooseContiguousEntry(e kernels.Entry, l *loop, rows *kernelapi.Loop) (form kernels.Entry, ok bool) {
	if rows.Ndim > loopDims {
		return form, false
	}
	operands, outputs, ndim := int(rows.Operands), int(rows.Outputs), int(rows.Ndim)
	copy(l.data[:operands], rows.Data[:operands])
	stored := l.findStoredDType(e, operands)
	form = e.Contiguous(stored)
	if _, ok = kernels.Unit(form); !ok || stored == dtype.BFloat16 && m.major < firstBFloat16 {
		return form, false
	}
	var sizes [loopOperands]int64 // of elements
	widest := int64(1)
	for k := range operands {
		sizes[k] = e.Bytes()
		if sizes[k] == 0 {
			is := l.compute[k]
			if is == dtype.Float32 {
				is = stored
			}
			if l.data[k] != 0 && l.memory[k] != is {
				return form, false
			}
			sizes[k] = is.Size()
		}
		widest = max(widest, sizes[k])
	}
	each := packetBytes / widest
	constants, aligned := uint8(0), true
	for k := range operands {
		switch step := rows.Strides[k][0]; {
		case step == 0 && k >= outputs && operands-outputs > 1:
			constants |= 1 << k
		case step == sizes[k]:
			at := int64(rows.Data[k])
			for _, step := range rows.Strides[k][1:ndim] {
				at |= step
			}
			aligned = aligned && at&(each*sizes[k]-1) == 0
		default:
			return form, false
		}
	}
	vectors := rows.Sizes[0] / each
	if ndim > 1 && (!aligned || rows.Sizes[0]%each != 0) {
		return form, false
	}
	l.numel = 1
	for _, size := range rows.Sizes[:ndim] {
		l.numel *= size
	}
	if l.numel/each >= largestDivided {
		return form, false
	}
	copy(l.sizes[:], rows.Sizes[:ndim])
	for k := range operands {
		copy(l.strides[k][:], rows.Strides[k][:ndim])
		l.strides[k][0] *= each
	}
	l.sizes[0], l.ndim, l.constants, l.vectors = vectors, int32(ndim), constants, 0
	if aligned {
		l.vectors = uint32(l.numel / each)
	}
	l.computeDivisors()
	return form, true
}
