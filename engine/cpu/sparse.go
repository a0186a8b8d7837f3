package cpu

import (
	"math/bits"
	"sync/atomic"
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
)

var (
	placeKeys   = kernel.Of(kernelapi.PlaceKeys).Row(0)
	placeCount  = kernel.Of(kernelapi.PlaceCount).Row(0)
	placeSpread = kernel.Of(kernelapi.PlaceSpread).Row(0)
	placeSort   = kernel.Of(kernelapi.PlaceSort).Row(0)
	placeMerge  = kernel.Of(kernelapi.PlaceMerge).Row(0)
	placeGroups = kernel.Of(kernelapi.PlaceGroups).Row(0)
	placeLines  = kernel.Of(kernelapi.PlaceLines).Row(0)
	placeExpand = kernel.Of(kernelapi.PlaceExpand).Row(0)
)

const (
	// The approximate number of entries in a bucket of a sort, and the largest number of buckets.
	bucketEntries = 1 << 10
	bucketBits    = 11
)

// forEachBlock calls visit for equal blocks of [0, n); their number does not depend on the number of threads.
func forEachBlock(n, step int64, visit func(p, begin, end int64)) {
	parallel.For((n+step-1)/step, 1, func(first, last int64) {
		for p := first; p < last; p++ {
			visit(p, p*step, min(n, (p+1)*step))
		}
	})
}

// grouping is the state of groupEntries: keys are the positions of all entries as row-major indices.
type grouping struct {
	owner.Scope
	backend.Grouping
	n    int64
	keys *tensor.Tensor
}

func (s *grouping) newInts(n int64) *tensor.Tensor {
	return s.Track(tensor.Empty(s.Op, []int64{n}, dtype.Int64, device.Host))
}

// groupEntries sorts entries by their positions: two ascending lists are merged, others are sorted.
func groupEntries(op string, w backend.Grouping) (_ backend.Grouped, err error) {
	s := &grouping{Scope: owner.Scope{Op: op}, Grouping: w}
	defer s.Close(&err)
	for _, l := range w.Lists {
		s.n += l.Sizes()[1]
	}
	if s.n > 1<<32-1 {
		return backend.Grouped{}, status.Runtimef("%s: %d entries exceed the maximum of 4294967295 for sorting", op, s.n)
	}
	s.keys = s.newInts(s.n)
	rising := s.computeKeys()
	if rising && len(w.Lists) == 1 {
		return backend.Grouped{}, nil
	}
	order := s.newInts(s.n)
	if rising && len(w.Lists) == 2 {
		s.mergeEntries(order)
	} else {
		s.sortEntries(order)
	}
	places, starts := s.findGroups()
	order, _ = s.Return(order)
	places, starts, _ = s.ReturnBoth(places, starts)
	return backend.Grouped{Places: places, Order: order, Starts: starts}, nil
}

// computeKeys computes the keys, and reports whether those of each list ascend.
func (s *grouping) computeKeys() bool {
	rising := true
	for first, i := int64(0), 0; i < len(s.Lists); i++ {
		l := s.Lists[i]
		n, unit := l.Sizes()[1], l.DType().Size()
		args := placeKeysArgs{indices: uintptr(l.Data()), keys: at(s.keys, first), rowStep: l.Strides()[0] * unit, step: l.Strides()[1] * unit,
			dims: int64(len(s.Sizes))}
		copy(args.sizes[:], s.Sizes)
		falls, failed := atomic.Bool{}, atomic.Pointer[placeKeysArgs]{}
		forEachBlock(n, Grain, func(_, begin, end int64) {
			a := args
			a.begin, a.end, a.rising = begin, end, 1
			kernel.Call(placeKeys, unsafe.Pointer(&a))
			if a.failed != 0 {
				failed.Store(&a)
			}
			if a.rising == 0 {
				falls.Store(true)
			}
		})
		if a := failed.Load(); a != nil {
			s.Check(backend.BadPosition(s.Op, a.bad, a.failed-1, s.Sizes[a.failed-1]))
		}
		rising = rising && !falls.Load()
		first += n
	}
	return rising
}

// sortEntries orders all entries: by the upper bits of their keys into buckets, and then each bucket.
func (s *grouping) sortEntries(order *tensor.Tensor) {
	width := 0 // of the keys, in bits
	if places := shape.Product(s.Sizes); places > 1 {
		width = bits.Len64(uint64(places - 1))
	}
	buckets := min(bucketBits, width, bits.Len64(uint64(s.n/bucketEntries)))
	step := max(4*Grain, (s.n+15)/16) // each block counts separately
	count := (s.n + step - 1) / step
	counts := s.Track(tensor.Zeros(s.Op, []int64{count, 1 << buckets}, dtype.Int64, device.Host))
	entries := s.Track(tensor.Empty(s.Op, []int64{2, s.n, kernelapi.SortEntry(8)}, dtype.Uint8, device.Host))
	if s.n == 0 {
		return
	}
	args := placeSortArgs{keys: at(s.keys, 0), order: at(order, 0), entries: at(entries, 0), other: at(entries, s.n*kernelapi.SortEntry(8)),
		shift: int64(width - buckets)}
	each := func(fn uintptr) {
		forEachBlock(s.n, step, func(p, begin, end int64) {
			a := args
			a.begin, a.end, a.counts = begin, end, at(counts, p<<buckets)
			kernel.Call(fn, unsafe.Pointer(&a))
		})
	}
	each(placeCount)
	next, starts, all := elementsOf[int64](counts), make([]int64, 1<<buckets+1), int64(0)
	for b := range int64(1) << buckets {
		for p := range count {
			size := next[p<<buckets+b]
			next[p<<buckets+b] = all
			all += size
		}
		starts[b+1] = all
	}
	each(placeSpread)
	parallel.For(int64(len(starts)-1), max(1, Grain/8<<buckets/s.n), func(begin, end int64) {
		for b := begin; b < end; b++ {
			if a := args; starts[b] < starts[b+1] {
				a.begin, a.end = starts[b], starts[b+1]
				kernel.Call(placeSort, unsafe.Pointer(&a))
			}
		}
	})
}

// mergeEntries orders the entries of two lists that rise.
func (s *grouping) mergeEntries(order *tensor.Tensor) {
	merged := s.newInts(s.n)
	keys, n := elementsOf[int64](s.keys), s.Lists[0].Sizes()[1]
	// taken reports how many of the first list are among the first `of` of all.
	taken := func(of int64) int64 {
		low, high := max(0, of-(s.n-n)), min(of, n)
		for low < high {
			if i := (low + high) / 2; keys[i] <= keys[n+of-i-1] {
				low = i + 1
			} else {
				high = i
			}
		}
		return low
	}
	forEachBlock(s.n, Grain, func(_, begin, end int64) {
		i, j := taken(begin), taken(end)
		a := placeMergeArgs{keys: at(s.keys, 0), merged: at(merged, 0), order: at(order, 0), aBegin: i, aEnd: j, bBegin: n + begin - i,
			bEnd: n + end - j, to: begin}
		kernel.Call(placeMerge, unsafe.Pointer(&a))
	})
	s.keys = merged
}

// findGroups returns the distinct positions of the sorted keys, and the start of each one's entries.
func (s *grouping) findGroups() (places, starts *tensor.Tensor) {
	args := placeGroupsArgs{keys: at(s.keys, 0), dims: int64(len(s.Sizes))}
	copy(args.sizes[:], s.Sizes)
	before := make([]int64, (s.n+Grain-1)/Grain+1) // the number of groups that start before each block
	forEachBlock(s.n, Grain, func(p, begin, end int64) {
		a := args
		a.begin, a.end = begin, end
		kernel.Call(placeGroups, unsafe.Pointer(&a))
		before[p+1] = a.found
	})
	for p := range before[1:] {
		before[p+1] += before[p]
	}
	args.groups = before[len(before)-1]
	places = s.Track(tensor.Empty(s.Op, []int64{args.dims, args.groups}, dtype.Int64, device.Host))
	starts = s.newInts(args.groups + 1)
	args.places, args.starts = at(places, 0), at(starts, 0)
	forEachBlock(s.n, Grain, func(p, begin, end int64) {
		a := args
		a.begin, a.end, a.found = begin, end, before[p]
		kernel.Call(placeGroups, unsafe.Pointer(&a))
	})
	elementsOf[int64](starts)[args.groups] = s.n
	return places, starts
}

// compressLines compresses the numbers of lines.
func compressLines(op string, w backend.Lines) error {
	to := elementsOf[int64](w.To)
	clear(to)
	n := w.From.Numel()
	if n == 0 {
		return nil
	}
	args := placeLinesArgs{lines: uintptr(w.From.Data()), compressed: at(w.To, 0), step: w.From.Strides()[0] * w.From.DType().Size(), n: n,
		size: w.To.Numel() - 1}
	failed := atomic.Pointer[placeLinesArgs]{}
	forEachBlock(n, Grain, func(_, begin, end int64) {
		a := args
		a.begin, a.end = begin, end
		kernel.Call(placeLines, unsafe.Pointer(&a))
		if a.failed != 0 {
			failed.Store(&a)
		}
	})
	switch a := failed.Load(); {
	case a == nil:
		return nil
	case a.failed == 1:
		return backend.BadLine(op, a.bad, a.size)
	default:
		return backend.FallingLine(op, a.bad)
	}
}

// expandLines finds the line of each entry.
func expandLines(op string, w backend.Expansion) error {
	clear(elementsOf[int64](w.To))
	matrices, n := w.From.Sizes()[0], w.From.Sizes()[1]-1
	if n == 0 || matrices == 0 {
		return nil
	}
	args := placeExpandArgs{compressed: at(w.From, 0), to: at(w.To, 0), lines: n, n: w.To.Sizes()[1]}
	failed := atomic.Pointer[placeExpandArgs]{}
	forEachBlock(matrices*n, max(64, Grain/(1+args.n/n)), func(_, begin, end int64) {
		a := args
		a.begin, a.end = begin, end
		kernel.Call(placeExpand, unsafe.Pointer(&a))
		if a.failed != 0 {
			failed.Store(&a)
		}
	})
	if a := failed.Load(); a != nil {
		return newIndexError(op, wrongCompressed, (a.failed-1)%n)
	}
	return nil
}
