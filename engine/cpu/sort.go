package cpu

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

const (
	// sortSlab is the approximate number of bytes of lines and results to copy at a time if their layout does not suit the kernels. Fewer
	// than leastSorted lines would waste cache lines and occupy too few threads.
	sortSlab, leastSorted = 1 << 20, 16
	// Rows of more than longRow elements are sorted in stages, which keep to the caches and which threads share; for the threads, a single
	// row of half of that is, too.
	longRow = 1 << 18
	// Stages sort into buckets of at least bucketWords on average, by up to mostBits bits, and count elements in up to sortBlocks blocks. A
	// word has a key and an index.
	bucketWords, mostBits, sortBlocks, sortWord = 512, 10, 16, 8
)

var sortStages = kernel.Of(kernelapi.SortStages)

// runSort runs a sorting kernel on the lines of a tensor, in blocks if they have to be copied.
func runSort(op string, w backend.Sorting) error {
	if w.In.Numel() == 0 || w.Keep == 0 {
		return nil
	}
	dim, most := sortedAtOnce(w)
	if dim < 0 {
		return sortLines(op, w)
	}
	all := w.In.Sizes()[dim]
	for i := int64(0); i < all; i += most {
		if err := sortPart(op, w, dim, i, min(most, all-i)); err != nil {
			return err
		}
	}
	return nil
}

// sortPart sorts the lines at n positions of dimension dim, from position i on.
func sortPart(op string, w backend.Sorting, dim int, i, n int64) (err error) {
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	for _, t := range []**tensor.Tensor{&w.In, &w.Values, &w.Indices} {
		*t = s.Track(view.Narrow(op, *t, int64(dim), i, n))
	}
	return sortLines(op, w)
}

// sortedAtOnce returns the dimension to split and the length to process at a time, or -1 if all lines are sorted together. The dimension
// with the largest stride copies fastest.
func sortedAtOnce(w backend.Sorting) (dim int, most int64) {
	var copied int64
	for i, t := range []*tensor.Tensor{w.In, w.Values, w.Indices} {
		if !alongLast(t, w.Dim) || i > 0 && t.Storage() == w.In.Storage() || t == w.Indices && w.Shared {
			copied += t.Numel() * t.DType().Size()
		}
	}
	parts := (copied + sortSlab - 1) / sortSlab
	if parts <= 1 {
		return -1, 0
	}
	sizes, strides := w.In.Sizes(), w.In.Strides()
	dim = -1
	better := func(a, b int) bool {
		if enough := sizes[a] >= parts; enough != (sizes[b] >= parts) {
			return enough
		} else if enough {
			return strides[a] > strides[b]
		}
		return sizes[a] > sizes[b]
	}
	for d := range sizes {
		if d != w.Dim && (dim < 0 || better(d, dim)) {
			dim = d
		}
	}
	if dim < 0 {
		return -1, 0
	}
	lines := w.In.Numel() / sizes[w.Dim]
	return dim, min(sizes[dim], max(sizes[dim]/parts, (leastSorted*sizes[dim]+lines-1)/lines))
}

// alongLast reports whether a tensor is contiguous with dim as the last dimension.
func alongLast(t *tensor.Tensor, dim int) bool {
	return t.IsContiguous() && shape.Product(t.Sizes()[min(dim+1, t.Dim()):]) == 1
}

// sortLines is runSort for all lines, which threads share.
func sortLines(op string, w backend.Sorting) (err error) {
	self, size := w.In, w.In.DType().Size()
	fn, err := kernel.Of(w.Kernel).For(op, self.DType())
	if err != nil {
		return err
	}
	n := int64(1)
	if self.Dim() > 0 {
		n = self.Sizes()[w.Dim]
	}
	if n > 1<<32-1 {
		return status.Runtimef("%s: a dimension of size %d exceeds the maximum of 4294967295 elements for sorting", op, n)
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
	lines := s.Track(view.Permute(op, self, order...))
	in := backend.RowMajor(&s, lines, lines.DType())
	var targets, sorted [2]*tensor.Tensor
	for i, t := range []*tensor.Tensor{w.Values, w.Indices} {
		targets[i] = s.Track(view.Permute(op, t, order...))
		if sorted[i] = targets[i]; !targets[i].IsContiguous() || t.Storage() == in.Storage() || t == w.Indices && w.Shared {
			sorted[i] = s.Track(tensor.Empty(op, targets[i].Sizes(), t.DType(), device.Host))
		}
	}
	rows := self.Numel() / n
	if w.Kernel == kernelapi.Sort && size > 1 && (n > longRow || n > longRow/2 && rows == 1 && parallel.Threads() > 1) {
		for row := range rows {
			a := sortStageArgs{in: at(in, row*n), values: at(sorted[0], row*n), indices: at(sorted[1], row*n), n: n, descending: w.Params[0]}
			s.Check(sortLong(op, a, self.DType()))
		}
	} else {
		scratch := w.Entries * kernelapi.SortEntry(size)
		if w.Kernel == kernelapi.Sort && size > 1 {
			scratch = n * sortWord
		}
		shareRooms(&s, scratch, rows, max(Grain/(8*n), 1), func(begin, end int64, scratch uintptr) {
			l := kernel.Scan{In: at(in, begin*n), Scratch: scratch, Outer: end - begin, N: n, Inner: 1, Width: 1, Params: w.Params}
			l.Out[0], l.Out[1] = at(sorted[0], begin*w.Keep), at(sorted[1], begin*w.Keep)
			kernel.Call(fn, unsafe.Pointer(&l))
		})
	}
	for i, t := range targets {
		if t != sorted[i] {
			s.Check(copyTo(op, backend.Copying{To: t, From: sorted[i]}))
		}
	}
	return nil
}

// The stages of a long sort.
const (
	sortRange = iota
	sortCount
	sortSpread
	sortFinish
)

// sortLong sorts a contiguous row with all threads: by the upper bits of the keys into buckets, and then each bucket. The memory of the
// indices holds the words to sort.
func sortLong(op string, args sortStageArgs, d dtype.DType) (err error) {
	fn, err := sortStages.For(op, d)
	if err != nil {
		return err
	}
	step := max(Grain, (args.n+sortBlocks-1)/sortBlocks)
	blocks := (args.n + step - 1) / step
	args.digit = int64(min(bits.Len64(uint64(args.n/bucketWords)), mostBits))
	buckets := int64(1) << args.digit
	ranges := make([]sortStageArgs, blocks)
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	counts := s.Track(tensor.Zeros(op, []int64{blocks + 1, buckets}, dtype.Int32, device.Host))
	each := func(stage int64) {
		forEachBlock(args.n, step, func(p, begin, end int64) {
			a := args
			a.stage, a.begin, a.end, a.counts = stage, begin, end, at(counts, p*buckets)
			kernel.Call(fn, unsafe.Pointer(&a))
			ranges[p] = a
		})
	}
	args.least, args.most = math.MaxUint64, 0
	each(sortRange)
	for _, r := range ranges {
		args.least, args.most = min(args.least, r.least), max(args.most, r.most)
	}
	each(sortCount)
	next, all, largest := elementsOf[uint32](counts), uint32(0), uint32(0)
	ends := next[blocks*buckets:]
	for b := range buckets {
		start := all
		for p := range blocks {
			size := next[p*buckets+b]
			next[p*buckets+b] = all
			all += size
		}
		ends[b], largest = all, max(largest, all-start)
	}
	// Threads are limited by the largest bucket, so that their scratch never exceeds one row.
	rooms := newScratchPool(&s, int64(largest)*sortWord, max(args.n/int64(largest), 1))
	each(sortSpread)
	parallel.For(buckets, 1, func(begin, end int64) {
		a := args
		a.stage, a.begin, a.end, a.counts, a.scratch = sortFinish, begin, end, at(counts, blocks*buckets), <-rooms
		defer func() { rooms <- a.scratch }()
		kernel.Call(fn, unsafe.Pointer(&a))
	})
	return nil
}
