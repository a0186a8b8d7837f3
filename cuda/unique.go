package cuda

import (
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// findUnique groups equal rows: rows are sorted, or for unique_consecutive kept in order, and each row that differs from the one before
// begins a group. It waits for the number of groups.
func findUnique(op string, w backend.Distinct) (_ backend.Groups, err error) {
	in := w.In
	d, n := in.DType(), in.Sizes()[0]
	if err := w.Kernel.Check(op, d); err != nil {
		return backend.Groups{}, err
	}
	if n > maxSorted {
		return backend.Groups{}, status.Runtimef("%s: %d elements exceed the maximum of %d for sorting", op, n, int64(maxSorted))
	}
	sc := owner.Scope{Op: op}
	defer sc.Close(&err)
	empty := func(sizes []int64, d dtype.DType) *tensor.Tensor {
		return sc.Track(tensor.Empty(op, sizes, d, in.Device()))
	}
	var values, counts *tensor.Tensor
	open := func(found int64) {
		values = empty(append([]int64{found}, in.Sizes()[1:]...), d)
		if !w.Counts {
			found = 0
		}
		counts = empty([]int64{found}, dtype.Int64)
	}
	if n == 0 {
		open(0)
	} else {
		sc.Check(withLaunches(op, in.Device(), func(s *launchSequence) {
			g := groups{in: uintptr(in.Data()), n: n, width: in.Numel() / n}
			if w.Inverse != nil {
				g.inverse = uintptr(w.Inverse.Data())
			}
			s.sortRows(w.Kernel.Name(), &g, d)
			s.numberGroups(&g, d)
			if s.err != nil {
				return
			}
			open(g.found)
			g.values = uintptr(values.Data())
			launchStep(s, kernels.Wide("group_take", d.Size()), g.found*g.width, &g)
			if w.Counts {
				g.counts = uintptr(counts.Data())
				launchStep(s, kernels.Alone("group_counts"), g.found, &g)
			}
		}))
	}
	values, counts, err = sc.ReturnBoth(values, counts)
	return backend.Groups{Rows: values, Counts: counts}, err
}

// sortRows brings equal rows together.
func (s *launchSequence) sortRows(kernel string, g *groups, d dtype.DType) {
	switch kernel {
	case "unique":
		g.apart = sortItemSize(d.Size())
		g.order = s.sortItems(sorting{in: g.in, lines: 1, n: g.n}, d) + uintptr(g.apart/2)
	case "unique_rows":
		r := rows{in: g.in, n: g.n, width: g.width, to: s.allocateTemporary(4 * g.n)}
		pieces := (g.n + sortedRun - 1) / sortedRun
		launchStep(s, kernels.Of("rows_runs", d), pieces, &r)
		other := s.allocateTemporary(4 * g.n)
		for r.run = sortedRun; r.run < r.n; r.run *= 2 {
			r.from, r.to, other = r.to, other, r.to
			launchStep(s, kernels.Of("rows_merge", d), pieces, &r)
		}
		g.order, g.apart = r.to, 4
	}
}

// numberGroups numbers the groups.
func (s *launchSequence) numberGroups(g *groups, d dtype.DType) {
	g.flags = s.allocateTemporary(8 * (g.n + 1))
	s.zeroBytes(g.flags+uintptr(8*g.n), 8)
	launchStep(s, kernels.Of("group_flags", d), g.n, g)
	s.computePrefixSums(g.flags, g.n+1)
	if g.found = s.readInt64(g.flags + uintptr(8*g.n)); s.err != nil {
		return
	}
	g.firsts, g.begins = s.allocateTemporary(8*g.found), s.allocateTemporary(8*g.found)
	launchStep(s, kernels.Alone("group_numbers"), g.n, g)
}
