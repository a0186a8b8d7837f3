package cpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

var uniqueCounts = kernel.Of(kernelapi.UniqueCounts).Row(0)

// groupRows groups equal rows.
func groupRows(op string, w backend.Distinct) (_ backend.Groups, err error) {
	fn, err := kernel.Of(w.Kernel).For(op, w.In.DType())
	n := w.In.Sizes()[0]
	if err == nil && n > 1<<32-1 {
		err = status.Runtimef("%s: %d elements exceed the maximum of 4294967295 for sorting", op, n)
	}
	if err != nil {
		return backend.Groups{}, err
	}
	args := uniqueArgs{in: at(w.In, 0), n: n, width: w.In.Numel() / max(n, 1)}
	if w.Inverse != nil {
		args.inverse = at(w.Inverse, 0)
	}
	s := groups{owner.Scope{Op: op}, w}
	defer s.Close(&err)
	group := s.findSorted
	if w.Kernel.Name() == "unique_consecutive" {
		group = s.findConsecutive
	}
	rows, counts := group(fn, args)
	rows, counts, err = s.ReturnBoth(rows, counts)
	return backend.Groups{Rows: rows, Counts: counts}, err
}

type groups struct {
	owner.Scope
	backend.Distinct
}

// newRows allocates n rows, and their counts if requested.
func (s *groups) newRows(n int64) (rows, counts *tensor.Tensor) {
	counted := n
	if !s.Counts {
		counted = 0
	}
	rows = s.Track(tensor.Empty(s.Op, append([]int64{n}, s.In.Sizes()[1:]...), s.In.DType(), device.Host))
	counts = s.Track(tensor.Empty(s.Op, []int64{counted}, dtype.Int64, device.Host))
	return rows, counts
}

// setOutput has the kernel write to rows and counts.
func (s *groups) setOutput(args *uniqueArgs, rows, counts *tensor.Tensor) {
	args.values = at(rows, 0)
	if s.Counts {
		args.counts = at(counts, 0)
	}
}

// findSorted returns the distinct rows in order.
func (s *groups) findSorted(fn uintptr, args uniqueArgs) (rows, counts *tensor.Tensor) {
	all, counts := s.newRows(args.n)
	scratch := s.Track(tensor.Empty(s.Op, []int64{2 * args.n * kernelapi.SortEntry(s.In.DType().Size())}, dtype.Uint8, device.Host))
	s.setOutput(&args, all, counts)
	args.scratch, args.limit = at(scratch, 0), args.n
	if args.n > 0 {
		kernel.Call(fn, unsafe.Pointer(&args))
	}
	if s.Counts {
		counts = s.copyFirstRows(counts, args.found)
	}
	return s.copyFirstRows(all, args.found), counts
}

// findConsecutive returns the rows that differ from the row before. Threads first count the groups that start in each block, then write
// them.
func (s *groups) findConsecutive(fn uintptr, args uniqueArgs) (rows, counts *tensor.Tensor) {
	step := max(Grain/max(args.width, 1), 1)
	before := make([]int64, (args.n+step-1)/step+1) // the number of groups that start before each block
	each := func(visit func(p int64, piece *uniqueArgs)) {
		parallel.For(int64(len(before)-1), 1, func(begin, end int64) {
			for p := begin; p < end; p++ {
				piece := args
				piece.begin, piece.n = p*step, min(step, args.n-p*step)
				visit(p, &piece)
			}
		})
	}
	each(func(p int64, piece *uniqueArgs) {
		kernel.Call(fn, unsafe.Pointer(piece))
		before[p+1] = piece.found
	})
	for p := range before[1:] {
		before[p+1] += before[p]
	}
	args.found = before[len(before)-1]
	rows, counts = s.newRows(args.found)
	s.setOutput(&args, rows, counts)
	var changed atomic.Bool
	each(func(p int64, piece *uniqueArgs) {
		piece.found, piece.limit = before[p], before[p+1]
		kernel.Call(fn, unsafe.Pointer(piece))
		if piece.found != piece.limit {
			changed.Store(true)
		}
	})
	if changed.Load() {
		s.Check(status.Runtimef("%s: another thread wrote to the elements during the call", s.Op))
	}
	kernel.Call(uniqueCounts, unsafe.Pointer(&args))
	return rows, counts
}

// copyFirstRows returns a new tensor of the first n rows of the contiguous tensor t.
func (s *groups) copyFirstRows(t *tensor.Tensor, n int64) *tensor.Tensor {
	if t.Sizes()[0] == n {
		return t
	}
	part := s.Track(view.Narrow(s.Op, t, 0, 0, n))
	return backend.RowMajorCopy(&s.Scope, part, t.DType())
}

var memberKernel = kernel.Of(kernelapi.Member)

// isIn returns a mask of the values that are among sorted ones.
func isIn(op string, w backend.Membership) error {
	fn, err := memberKernel.For(op, w.Values.DType())
	if err != nil {
		return err
	}
	parallel.For(w.Values.Numel(), Grain/8, func(begin, end int64) {
		args := uniqueArgs{in: at(w.Sorted, 0), values: at(w.Values, begin), inverse: at(w.Found, begin), n: end - begin, width: w.Sorted.Numel()}
		kernel.Call(fn, unsafe.Pointer(&args))
	})
	return nil
}
