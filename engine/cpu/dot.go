package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

var dotKernel, sumKernel = kernel.Of(kernelapi.Dot), kernelapi.Sum

// dotPiece is the number of products that one call sums. The partial sums are added in order.
const dotPiece = 1 << 16

// runDot sums the products of two vectors.
func runDot(op string, w backend.Dot) (err error) {
	a, b, d := w.A, w.B, w.A.DType()
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
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	sums := s.Track(tensor.Empty(op, []int64{pieces}, td, device.Host))
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
			l := kernel.Dot{A: at(a, from*as), B: at(b, from*bs), Out: at(sums, p), N: min(dotPiece, n-from), AStep: as, BStep: bs}
			if w.Conjugate {
				l.Conjugate = 1
			}
			kernel.Call(fn, unsafe.Pointer(&l))
		}
	})
	if pieces == 1 {
		return copyTo(op, backend.Copying{To: w.To, From: sums})
	}
	return runReduction(op, backend.Reduction{Kernel: sumKernel, Compute: td, Out: [2]*tensor.Tensor{w.To}, In: sums, Mask: []bool{true}})
}
