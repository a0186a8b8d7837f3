package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var bincountKernel, histogramKernel = kernel.Of(kernelapi.Bincount), kernel.Of(kernelapi.Histogram)

// countBins computes a histogram.
func countBins(op string, w backend.Counting) error {
	args := histogramArgs{n: w.In.Numel(), size: w.To.Numel(), in: at(w.In, 0), out: at(w.To, 0), weights: atOr0(w.Weights)}
	fn, err := bincountKernel.For(op, w.In.DType())
	if err != nil {
		return err
	}
	kernel.Call(fn, unsafe.Pointer(&args))
	if args.bad != 0 {
		return status.Runtimef("%s: another thread wrote to the elements during the call", op)
	}
	return nil
}

// runHistogram sorts points into bins.
func runHistogram(op string, w backend.Histogram) (err error) {
	fn, err := histogramKernel.For(op, w.In.DType())
	if err != nil || w.In.Sizes()[0] == 0 {
		return err
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	dims := int64(len(w.Edges))
	grid := s.Track(tensor.Empty(op, []int64{2 * dims}, dtype.Int64, device.Host)) // the edges, and the numbers of bins
	for i, e := range w.Edges {
		elementsOf[int64](grid)[i], elementsOf[int64](grid)[dims+int64(i)] = int64(at(e, 0)), e.Numel()-1
	}
	args := &histogramArgs{n: w.In.Sizes()[0], dims: dims, place: int64(w.Bin), in: at(w.In, 0), out: at(w.To, 0), weights: atOr0(w.Weights),
		edges: at(grid, 0), bins: at(grid, dims)}
	kernel.Call(fn, unsafe.Pointer(args))
	return nil
}

// atOr0 returns the address of a contiguous tensor, or 0 for nil.
func atOr0(t *tensor.Tensor) uintptr {
	if t == nil {
		return 0
	}
	return at(t, 0)
}
