package iter

import (
	"slices"

	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// CopyReversed writes src to dst, of the same shape and dtype, with the positions of the masked dimensions in reverse order.
// The two must not overlap and not be empty.
func CopyReversed(dst, src *tensor.Tensor, reversed []bool) {
	l := loops.Get().(*kernel.Loop)
	l.Fixed = 0
	l.Memory[0], l.Memory[1] = dst.DType(), src.DType()
	l.Operands, l.Outputs = 2, 1
	size := dst.DType().Size()
	order := shape.Permutation(dst.Sizes(), dst.Strides())
	slices.Reverse(order)
	l.Data[0], l.Data[1] = uintptr(dst.Data()), uintptr(src.Data())
	n := 0
	for _, d := range order {
		count, to, from := dst.Sizes()[d], dst.Strides()[d]*size, src.Strides()[d]*size
		if count == 1 {
			continue
		}
		if reversed[d] {
			l.Data[1] += uintptr((count - 1) * from)
			from = -from
		}
		if n > 0 && to == l.Strides[0][n-1]*l.Sizes[n-1] && from == l.Strides[1][n-1]*l.Sizes[n-1] {
			l.Sizes[n-1] *= count
			continue
		}
		l.Sizes[n], l.Strides[0][n], l.Strides[1][n] = count, to, from
		n++
	}
	if n == 0 {
		l.Sizes[0], l.Strides[0][0], l.Strides[1][0] = 1, size, size
		n = 1
	}
	l.Ndim = int32(n)
	split(l, kernel.Copy)
	loops.Put(l)
}
