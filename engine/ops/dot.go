package ops

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

var dotKernel = kernel.Get("dot")

// dotPiece is the number of products that one call sums; pieces are added in order.
const dotPiece = 1 << 16

// dot sums the products of two vectors of one dtype into out, a zero-dim tensor.
func dot(op string, out, a, b *tensor.Tensor, conjugate bool) error {
	d := a.DType()
	fn, err := dotKernel.For(op, d)
	if err != nil {
		return err
	}
	td := d
	switch {
	case d.IsFloatingPoint():
		td = dtype.Float64
	case d.IsComplex():
		td = dtype.Complex128
	}
	n := a.Numel()
	pieces := max((n+dotPiece-1)/dotPiece, 1)
	s := within(op)
	defer s.Close()
	sums := s.empty(a, td, pieces)
	if s.Err != nil {
		return s.Err
	}
	step := func(t *tensor.Tensor) int64 {
		if n > 1 {
			return t.Strides()[0]
		}
		return 1
	}
	as, bs := step(a), step(b)
	parallel.For(pieces, 1, func(begin, end int64) {
		for p := begin; p < end; p++ {
			from := p * dotPiece
			l := kernel.Dot{A: uintptr(a.Data()) + uintptr(from*as*d.Size()), B: uintptr(b.Data()) + uintptr(from*bs*d.Size()),
				Out: uintptr(sums.Data()) + uintptr(p*td.Size()), N: min(dotPiece, n-from), AStep: as, BStep: bs}
			if conjugate {
				l.Conjugate = 1
			}
			kernel.Call(fn, unsafe.Pointer(&l))
		}
	})
	if pieces == 1 {
		iter.Copy(out, sums)
		return nil
	}
	return sumOf.run(op, td, [2]*tensor.Tensor{out}, sums, []bool{true})
}
