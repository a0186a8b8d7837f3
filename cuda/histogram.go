package cuda

import (
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

const maxHistogramDims = 16

// countIntegers counts integers, or adds up their weights.
func countIntegers(op string, w backend.Counting) (err error) {
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	in := backend.RowMajor(&s, w.In, dtype.Int64)
	return addCounts(&s, w.To, in, w.Weights)
}

// addCounts adds the number of occurrences of each position of the contiguous `to` in index, or the sum of the weights, to the zeros in to.
func addCounts(s *owner.Scope, to, index, weights *tensor.Tensor) error {
	n := index.Numel()
	switch {
	case n == 0 || to.Numel() == 0:
		return nil
	case n > maxSorted:
		return status.NotImplementedf("%s is not implemented on cuda for more than %d elements; move the tensors to the cpu", s.Op,
			int64(maxSorted))
	case weights == nil:
		return withLaunches(s.Op, to.Device(), func(s *launchSequence) {
			a := sorting{in: uintptr(index.Data()), values: uintptr(to.Data()), lines: 1, n: n, keep: to.Numel()}
			a.from = s.sortItems(a, dtype.Int64)
			launchStep(s, kernels.Of("sort_count", to.DType()), a.keep, &a)
		})
	}
	weights = backend.RowMajor(s, weights, to.DType())
	still := s.Track(to.View(s.Op, []int64{n}, []int64{0}, to.Offset()))
	return scatterSources(s.Op, backend.Indexed{Kernel: kernelapi.ScatterAdd, Compute: to.DType(),
		Operands: [3]*tensor.Tensor{still, index, weights},
		Step:     to.DType().Size(), Size: to.Numel()})
}

// computeHistogram finds the bins of points and counts them. Points outside of all bins are counted in an additional last bin.
func computeHistogram(op string, w backend.Histogram) (err error) {
	in, to := w.In, w.To
	b := binning{in: uintptr(in.Data()), n: in.Sizes()[0], dims: int64(len(w.Edges)), place: int64(w.Bin), total: to.Numel()}
	switch {
	case b.n == 0:
		return nil
	case b.dims > maxHistogramDims:
		return status.NotImplementedf("%s is not implemented on cuda for more than %d dimensions; move the tensors to the cpu", op,
			maxHistogramDims)
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	bins := s.Track(tensor.Empty(op, []int64{b.n}, dtype.Int64, to.Device()))
	sums := s.Track(tensor.Zeros(op, []int64{b.total + 1}, to.DType(), to.Device()))
	for d, e := range w.Edges {
		b.edges[d], b.counts[d] = uintptr(e.Data()), e.Numel()-1
	}
	b.bins = uintptr(bins.Data())
	s.Check(withCurrentStream(op, to.Device(), func(m *deviceStream) error {
		return launchEntry(m, op, kernels.Of("bins", in.DType()), b.n, &b)
	}))
	s.Check(addCounts(&s, sums, bins, w.Weights))
	inside := s.Track(view.Narrow(op, sums, 0, 0, b.total))
	line := s.Track(to.View(op, []int64{b.total}, []int64{1}, to.Offset()))
	s.Check(copyTensor(op, backend.Copying{To: line, From: inside}))
	return nil
}
