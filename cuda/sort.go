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

const (
	// kRun of kernels/merging.h
	sortedRun = 16
	// In lines of up to this number of elements a thread selects as the CPU does. In longer ones, the first of equal elements is the
	// smallest.
	selectedAlone = 64
	modeAlone     = 4096 // likewise for mode
	// A block of threads selects up to this number of elements of a line; kCollected of kernels/ranking.h.
	selectedByBlock = 1024
	// Single lines up to this length are selected from by a block of threads. If the lines are longer, enoughLines occupy the device.
	rankedLength = 1 << 16
	enoughLines  = 64
	modePiece    = 256 // kModePiece of kernels/sorting.h
	maxSorted    = 1<<32 - 1
)

// sortTensor runs a sorting kernel on the lines of a tensor.
func sortTensor(op string, w backend.Sorting) (err error) {
	self := w.In
	if self.Numel() == 0 || w.Keep == 0 {
		return nil
	}
	n := int64(1)
	if self.Dim() > 0 {
		n = self.Sizes()[w.Dim]
	}
	if n > maxSorted {
		return status.Runtimef("%s: a dimension of size %d exceeds the maximum of %d elements for sorting", op, n, int64(maxSorted))
	}
	var order []int // of the dimensions, with that of the lines last
	for d := range self.Dim() {
		if d != w.Dim {
			order = append(order, d)
		}
	}
	if self.Dim() > 0 {
		order = append(order, w.Dim)
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	turned := s.Track(view.Permute(op, self, order...))
	in := backend.RowMajor(&s, turned, turned.DType())
	var targets, results [2]*tensor.Tensor
	for i, t := range []*tensor.Tensor{w.Values, w.Indices} {
		targets[i] = s.Track(view.Permute(op, t, order...))
		if results[i] = targets[i]; !targets[i].IsContiguous() || t.Storage() == in.Storage() {
			results[i] = s.Track(tensor.Empty(op, targets[i].Sizes(), t.DType(), t.Device()))
		}
	}
	s.Check(withLaunches(op, self.Device(), func(s *launchSequence) { s.sortLines(w, in, results[0], results[1], n) }))
	for i, t := range targets {
		if t != results[i] {
			s.Check(copyTensor(op, backend.Copying{To: t, From: results[i]}))
		}
	}
	return nil
}

// sortLines writes a kernel's results for the contiguous lines of in.
func (s *launchSequence) sortLines(w backend.Sorting, in, values, indices *tensor.Tensor, n int64) {
	d := in.DType()
	a := sorting{in: uintptr(in.Data()), values: uintptr(values.Data()), indices: uintptr(indices.Data()), lines: in.Numel() / n, n: n,
		keep: w.Keep}
	switch {
	case w.Kernel == kernelapi.Sort:
		a.flip = w.Params[0]
	case n <= selectedAlone, w.Kernel == kernelapi.Mode && n <= modeAlone:
		l := lines{in: a.in, out: [2]uintptr{a.values, a.indices}, lines: a.lines, n: n, kept: w.Keep,
			scratchBytes: w.Entries * kernelapi.SortEntry(d.Size()), params: w.Params}
		l.scratch = s.allocateTemporary(l.lines * l.scratchBytes)
		launchStep(s, findEntry(w.Kernel, d), l.lines, &l)
		return
	case w.Kernel != kernelapi.Mode && w.Keep <= selectedByBlock && (n <= rankedLength || a.lines >= enoughLines):
		r := ranking{in: a.in, values: a.values, indices: a.indices, lines: a.lines, n: n, keep: w.Keep}
		r.setKind(w)
		launchStep(s, kernels.Of("rank", d), r.lines*blockThreads, &r)
		return
	case w.Kernel == kernelapi.Topk:
		a.flip = w.Params[0] & 1
	case w.Kernel == kernelapi.Kthvalue:
		a.first = w.Params[0]
	case w.Kernel == kernelapi.Nanmedian:
		a.first = 1
	}
	a.from = s.sortItems(a, d)
	switch w.Kernel {
	case kernelapi.Median, kernelapi.Nanmedian:
		launchStep(s, kernels.Of("sort_median", d), a.lines, &a)
	case kernelapi.Mode:
		pieces := a.lines * ((n + modePiece - 1) / modePiece)
		a.to = s.allocateTemporary(16 * pieces)
		launchStep(s, kernels.Of("sort_mode_pieces", d), pieces, &a)
		launchStep(s, kernels.Of("sort_mode", d), a.lines, &a)
	default:
		launchStep(s, kernels.Of("sort_take", d), a.lines*a.keep, &a)
	}
}

// The kinds of selection, RankKind of kernels/ranking.h.
const (
	elementOfRank = iota
	elementsUpToRank
	medianOfAll
	medianOfNumbers
)

// setKind sets the kind of a selection, and the rank of its last element.
func (r *ranking) setKind(w backend.Sorting) {
	switch w.Kernel {
	case kernelapi.Topk:
		r.kind, r.rank, r.flip = elementsUpToRank, w.Keep-1, w.Params[0]&1
	case kernelapi.Kthvalue:
		r.kind, r.rank = elementOfRank, w.Params[0]
	case kernelapi.Median:
		r.kind = medianOfAll
	case kernelapi.Nanmedian:
		r.kind = medianOfNumbers
	}
}

// sortItemSize returns the size of the items for sorting elements of a size, lt::ItemOf of kernels/sorting.h.
func sortItemSize(size int64) int64 { return 2 * max(size, 4) }

// sortItems returns the items of lines in order.
func (s *launchSequence) sortItems(a sorting, d dtype.DType) uintptr {
	a.to = s.allocateTemporary(a.lines * a.n * sortItemSize(d.Size()))
	launchStep(s, kernels.Of("sort_runs", d), a.lines*((a.n+sortedRun-1)/sortedRun), &a)
	return s.mergeRuns(a, d.Size())
}

// mergeRuns returns the items of lines in order, of which runs are sorted already.
func (s *launchSequence) mergeRuns(a sorting, size int64) uintptr {
	var other uintptr
	if a.n > sortedRun {
		other = s.allocateTemporary(a.lines * a.n * sortItemSize(size))
	}
	merge := kernels.Wide("sort_merge", max(size, 4))
	for a.run = sortedRun; a.run < a.n; a.run *= 2 {
		a.from, a.to, other = a.to, other, a.to
		launchStep(s, merge, a.lines*((a.n+sortedRun-1)/sortedRun), &a)
	}
	return a.to
}
