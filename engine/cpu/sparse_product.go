package cpu

import (
	"math/bits"
	"slices"
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
)

var (
	spmmKernel   = kernel.Of(kernelapi.Spmm)
	spmmMaxima   = kernel.Of(kernelapi.SpmmMaxima)
	spaddKernel  = kernel.Of(kernelapi.Spadd)
	spaddCounts  = kernel.Of(kernelapi.SpaddCounts).Row(0)
	sddmmKernel  = kernel.Of(kernelapi.Sddmm)
	spgemmKernel = kernel.Of(kernelapi.Spgemm)
	spgemmBounds = kernel.Of(kernelapi.SpgemmBounds).Row(0)
)

// The errors in indices.
const (
	wrongCompressed = 1
	wrongPlain      = 2
)

func csrOf(m backend.CSR) csrMatrix {
	c := csrMatrix{compressed: at(m.Compressed, 0), plain: at(m.Plain, 0), values: atOr0(m.Values), entries: m.Plain.Numel(), size: m.Columns}
	if m.Compressed.DType() == dtype.Int64 {
		c.wide = 1
	}
	return c
}

// newIndexError returns the error of an invalid index.
func newIndexError(op string, failed, bad int64) error {
	switch failed {
	case 0:
		return nil
	case wrongCompressed:
		return backend.BadCompressed(op, bad)
	case wrongPlain:
		return backend.BadPlain(op, bad)
	}
	return status.Runtimef("%s: another thread wrote to the indices during the call", op)
}

// rowRange refers to the rows that a kernel processes, and to the invalid index that it found.
type rowRange struct{ begin, end, failed, bad *int64 }

func (a *spmmArgs) rowRange() rowRange   { return rowRange{&a.begin, &a.end, &a.failed, &a.bad} }
func (a *sddmmArgs) rowRange() rowRange  { return rowRange{&a.begin, &a.end, &a.failed, &a.bad} }
func (a *spaddArgs) rowRange() rowRange  { return rowRange{&a.begin, &a.end, &a.failed, &a.bad} }
func (a *spgemmArgs) rowRange() rowRange { return rowRange{&a.begin, &a.end, &a.failed, &a.bad} }

// callForRows calls a kernel for ranges of rows, which end at `ends`, on the threads of the library. It returns an error if the kernel
// found an invalid index.
func callForRows[A any](op string, fn uintptr, ends []int64, args A, rows func(*A) rowRange) error {
	failed := atomic.Pointer[A]{}
	parallel.For(int64(len(ends)-1), 1, func(begin, end int64) {
		a := args
		r := rows(&a)
		*r.begin, *r.end = ends[begin], ends[end]
		kernel.Call(fn, unsafe.Pointer(&a))
		if *r.failed != 0 {
			failed.Store(&a)
		}
	})
	if a := failed.Load(); a != nil {
		r := rows(a)
		return newIndexError(op, *r.failed, *r.bad)
	}
	return nil
}

// shareRows splits rows into runs of about as many entries each: where they end, from 0 on.
func shareRows(compressed *tensor.Tensor, rows, entries, grain int64) []int64 {
	line := func(r int64) int64 { return elementsOf[int64](compressed)[r] }
	if compressed.DType() == dtype.Int32 {
		line = func(r int64) int64 { return int64(elementsOf[int32](compressed)[r]) }
	}
	ends := []int64{0}
	for n := min((entries+rows)/grain, rows); n > 1; n-- {
		each := (entries + rows) / n // a row costs as much as an entry
		low, high := ends[len(ends)-1]+1, rows
		for start := low - 1 + line(low-1) + each; low < high; {
			if r := (low + high) / 2; r+line(r) >= start {
				high = r
			} else {
				low = r + 1
			}
		}
		if low >= rows {
			break
		}
		entries -= min(entries, max(0, line(low)-line(ends[len(ends)-1])))
		ends = append(ends, low)
	}
	return append(ends, rows)
}

// sparseDense multiplies a sparse matrix and a dense one.
func sparseDense(op string, w backend.SparseDense) error {
	k := spmmKernel
	if w.Maxima {
		k = spmmMaxima
	}
	fn, err := k.For(op, w.B.DType())
	rows := w.A.Compressed.Numel() - 1
	if err != nil || w.To.Numel() == 0 {
		return err
	}
	args := spmmArgs{a: csrOf(w.A), b: uintptr(w.B.Data()), out: at(w.To, 0), columns: w.To.Numel() / rows}
	if w.B.Sizes()[0] > 0 {
		args.step = w.B.Strides()[0]
	}
	ends := shareRows(w.A.Compressed, rows, args.a.entries, max(Grain/4/args.columns, 64))
	return callForRows(op, fn, ends, args, (*spmmArgs).rowRange)
}

// runSampledProduct multiplies two dense matrices where a sparse one has entries.
func runSampledProduct(op string, w backend.Sampled) error {
	fn, err := sddmmKernel.For(op, w.At.Values.DType())
	if err != nil || w.At.Values.Numel() == 0 {
		return err
	}
	clear(bytesOf(w.At.Values)) // indices that another thread writes to may leave entries out
	args := sddmmArgs{at: csrOf(w.At), a: uintptr(w.A.Data()), b: uintptr(w.B.Data()), inner: w.A.Sizes()[1],
		rows: w.At.Compressed.Numel() - 1}
	args.aStep, args.bStep = w.A.Strides()[0], w.B.Strides()[0]
	ends := shareRows(w.At.Compressed, args.rows, args.at.entries, max(Grain/4/max(args.inner, 1), 64))
	return callForRows(op, fn, ends, args, (*sddmmArgs).rowRange)
}

// sparseSum adds two sparse matrices: it first counts the entries of each row.
func sparseSum(op string, w backend.SparseSum) (_ backend.CSR, err error) {
	d := w.A.Values.DType()
	fn, err := spaddKernel.For(op, d)
	if err != nil {
		return backend.CSR{}, err
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	empty := func(d dtype.DType, n int64) *tensor.Tensor {
		return s.Track(tensor.Empty(op, []int64{n}, d, device.Host))
	}
	rows := w.A.Compressed.Numel() - 1
	made := backend.CSR{Compressed: empty(dtype.Int64, rows+1), Columns: w.A.Columns}
	args := spaddArgs{a: csrOf(w.A), b: csrOf(w.B), starts: at(made.Compressed, 0)}
	ends := shareRows(w.A.Compressed, rows, args.a.entries, Grain/4)
	each := func(fn uintptr) {
		s.Check(callForRows(op, fn, ends, args, (*spaddArgs).rowRange))
	}
	each(spaddCounts)
	starts := elementsOf[int64](made.Compressed)
	starts[0] = 0
	for r := range rows {
		starts[r+1] += starts[r]
	}
	made.Plain, made.Values = empty(dtype.Int64, starts[rows]), empty(d, starts[rows])
	args.columns, args.values = at(made.Plain, 0), at(made.Values, 0)
	each(fn)
	made.Compressed, _ = s.Return(made.Compressed)
	made.Plain, made.Values, _ = s.ReturnBoth(made.Plain, made.Values)
	return made, nil
}

// mostProducts is the approximate number of results per block of a sparse product.
const mostProducts = 1 << 17

// allColumns is the number of columns up to which rows are added up in a table of all of them.
const allColumns = 1 << 20

// sparseSparse multiplies two sparse matrices, some rows at a time.
func sparseSparse(op string, w backend.SparseSparse) (_ backend.CSR, err error) {
	fn, err := spgemmKernel.For(op, w.A.Values.DType())
	if err != nil {
		return backend.CSR{}, err
	}
	s := &sparseProduct{Scope: owner.Scope{Op: op}, SparseSparse: w, fn: fn, rows: w.A.Compressed.Numel() - 1}
	defer s.Close(&err)
	made := s.computeProduct()
	made.Compressed, _ = s.Return(made.Compressed)
	made.Plain, made.Values, _ = s.ReturnBoth(made.Plain, made.Values)
	return made, nil
}

type sparseProduct struct {
	owner.Scope
	backend.SparseSparse
	fn   uintptr
	rows int64
}

func (s *sparseProduct) newVector(d dtype.DType, n int64) *tensor.Tensor {
	return s.Track(tensor.Empty(s.Op, []int64{n}, d, device.Host))
}

// part is the result of some rows, in separate tensors.
type part struct {
	begin, end      int64
	most            int64 // results that there can be
	found           int64
	columns, values *tensor.Tensor
	err             error
}

func (s *sparseProduct) computeProduct() (made backend.CSR) {
	d := s.A.Values.DType()
	args := spgemmArgs{a: csrOf(s.A), b: csrOf(s.B)}
	bounds, compressed := s.newVector(dtype.Int64, s.rows), s.newVector(dtype.Int64, s.rows+1)
	args.bounds, args.counts = at(bounds, 0), at(compressed, 1)
	ends := shareRows(s.A.Compressed, s.rows, args.a.entries, Grain/8)
	s.Check(callForRows(s.Op, spgemmBounds, ends, args, (*spgemmArgs).rowRange))
	most := elementsOf[int64](bounds)
	parts := []*part{}
	for r, p := int64(0), (*part)(nil); r < s.rows; r++ {
		if p == nil || p.most+most[r] > mostProducts {
			p = &part{begin: r}
			parts = append(parts, p)
		}
		p.end, p.most = r+1, p.most+most[r]
	}
	if longest := slices.Max(append(most, 0)); longest > 1<<30 {
		s.Check(status.Runtimef("%s: a row of the product has up to %d entries, more than the supported maximum of 1073741824", s.Op, longest))
	}
	parallel.For(int64(len(parts)), 1, func(begin, end int64) {
		for _, p := range parts[begin:end] {
			p.err = s.multiplyRows(p, args, most)
		}
	})
	all := int64(0)
	for _, p := range parts {
		s.Track(p.columns, nil)
		s.Track(p.values, nil)
		all += p.found
	}
	for _, p := range parts {
		s.Check(p.err)
	}
	made = backend.CSR{Compressed: compressed, Plain: s.newVector(dtype.Int64, all), Values: s.newVector(d, all), Columns: s.B.Columns}
	starts := elementsOf[int64](compressed)
	starts[0] = 0
	for r := range s.rows {
		starts[r+1] += starts[r]
	}
	parallel.For(int64(len(parts)), 1, func(begin, end int64) {
		for _, p := range parts[begin:end] {
			copy(elementsOf[int64](made.Plain)[starts[p.begin]:], elementsOf[int64](p.columns)[:p.found])
			copy(bytesOf(made.Values)[starts[p.begin]*d.Size():], bytesOf(p.values)[:p.found*d.Size()])
		}
	})
	return made
}

// multiplyRows finds the rows of a part.
func (s *sparseProduct) multiplyRows(p *part, args spgemmArgs, most []int64) (err error) {
	inner := owner.Scope{Op: s.Op}
	defer inner.Close(&err)
	empty := func(d dtype.DType, n int64) *tensor.Tensor {
		return inner.Track(tensor.Empty(s.Op, []int64{n}, d, device.Host))
	}
	d := s.A.Values.DType()
	columns, values := empty(dtype.Int64, p.most), empty(d, p.most)
	var sums, set, sets, keys, sorted *tensor.Tensor
	if longest := slices.Max(most[p.begin:p.end]); s.B.Columns <= max(allColumns, 64*longest) {
		sums, set, sets = empty(d.Compute(), s.B.Columns), empty(dtype.Int64, s.B.Columns/64+1), empty(dtype.Int64, s.B.Columns/4096+1)
	} else {
		args.log = int64(bits.Len64(uint64(2*max(longest, 1) - 1)))
		sums, keys = empty(d.Compute(), 1<<args.log), empty(dtype.Int64, 1<<args.log)
		sorted = empty(dtype.Uint8, 2*longest*kernelapi.SortEntry(8))
	}
	if keys == nil {
		clear(bytesOf(set))
		clear(bytesOf(sets))
	} else {
		for i := range elementsOf[int64](keys) {
			elementsOf[int64](keys)[i] = -1
		}
	}
	args.begin, args.end = p.begin, p.end
	args.columns, args.values, args.sums = at(columns, 0), at(values, 0), at(sums, 0)
	args.set, args.sets, args.keys, args.sorted = atOr0(set), atOr0(sets), atOr0(keys), atOr0(sorted)
	kernel.Call(s.fn, unsafe.Pointer(&args))
	if args.failed != 0 {
		return newIndexError(s.Op, args.failed, args.bad)
	}
	p.found = args.found
	if p.found < p.most/2 { // shrinks the saved tensors to the entries found
		columns, values = backend.RowMajorCopy(&inner, viewHead(&inner, columns, p.found), dtype.Int64),
			backend.RowMajorCopy(&inner, viewHead(&inner, values, p.found), d)
	}
	p.columns, p.values, err = inner.ReturnBoth(columns, values)
	return err
}

// viewHead views the first n elements of a vector.
func viewHead(s *owner.Scope, t *tensor.Tensor, n int64) *tensor.Tensor {
	return s.Track(t.View(s.Op, []int64{n}, []int64{1}, t.Offset()))
}
