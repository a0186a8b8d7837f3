package ops

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

var (
	scatterAdd    = kernel.Get("scatter_add")
	scatterMul    = kernel.Get("scatter_mul")
	scatterMax    = kernel.Get("scatter_max")
	scatterMin    = kernel.Get("scatter_min")
	divideByCount = kernel.Get("divide_by_count")
)

// scattering is a write of source to the positions that index names along dimension d of self. Close releases it.
type scattering struct {
	op            string
	d             int
	index, source *tensor.Tensor // index: positions; source: of index's sizes
	wide          bool           // sums and products of 16 bits are kept in 32 until they are whole, as means always are
	held          []*tensor.Tensor
}

func (s *scattering) hold(t *tensor.Tensor, err error) (*tensor.Tensor, error) {
	if err == nil {
		s.held = append(s.held, t)
	}
	return t, err
}

func (s *scattering) close() { releaseAll(s.held) }

// newScattering checks the arguments of the scatter family, whose index has as many dimensions as self.
func newScattering(op string, self *tensor.Tensor, dim int64, index, source *tensor.Tensor) (s *scattering, err error) {
	if err := oneDevice(op, self, index, source); err != nil {
		return nil, err
	}
	s = &scattering{op: op, wide: true}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.d, err = shape.WrapDim(op, dim, self.Dim()); err != nil {
		return s, err
	}
	if source.DType() != self.DType() {
		return s, status.Runtimef("%s: expected self.dtype to be equal to src.dtype, but got %v and %v", op, self.DType(), source.DType())
	}
	if index.Numel() > 0 {
		if err := wantIndex(op, index, true); err != nil {
			return s, err
		}
		if err := fitsBeside(op, self, index, s.d); err != nil {
			return s, err
		}
	}
	flat, err := s.hold(view.AtLeast1d(op, index))
	if err != nil {
		return s, err
	}
	if s.index, err = s.hold(positions(op, flat, sizeAt(self, s.d), false, runtimeError(op, s.d, sizeAt(self, s.d)))); err != nil {
		return s, err
	}
	from, err := s.hold(view.AtLeast1d(op, source))
	if err != nil {
		return s, err
	}
	if from.Dim() != flat.Dim() && index.Numel() > 0 {
		return s, status.Runtimef("%s: index tensor must have the same number of dimensions as src tensor, got %d and %d", op, index.Dim(), source.Dim())
	}
	if index.Numel() == 0 {
		s.source = from
		return s, nil
	}
	for i, n := range flat.Sizes() {
		if n > from.Sizes()[i] {
			return s, status.Runtimef("%s: expected index %v to be no larger than src %v in any dimension", op, index.Sizes(), source.Sizes())
		}
	}
	s.source, err = s.hold(from.View(op, flat.Sizes(), from.Strides(), from.Offset()))
	return s, err
}

// newIndexing checks the arguments of the index_ family, whose index is a vector of positions of dimension dim.
func newIndexing(op string, self *tensor.Tensor, dim int64, index, source *tensor.Tensor, short bool) (s *scattering, err error) {
	if err := oneDevice(op, self, index, source); err != nil {
		return nil, err
	}
	s = &scattering{op: op}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.d, err = shape.WrapDim(op, dim, self.Dim()); err != nil {
		return s, err
	}
	if err := vector(op, index); err != nil {
		return s, err
	}
	if err := wantIndex(op, index, short); err != nil {
		return s, err
	}
	if source.DType() != self.DType() {
		return s, status.Runtimef("%s: expected self and source to have the same dtype, but got %v and %v", op, self.DType(), source.DType())
	}
	if (self.Dim() == 0 || source.Dim() == 0) && index.Numel() != 1 {
		return s, status.Indexf("%s: self or source has no dimensions, so that index should have one element, but it has %d", op, index.Numel())
	}
	if self.Dim() == 0 && source.Dim() != 0 && op != "index_copy" {
		return s, status.Runtimef("%s: source of shape %v does not fit: self has no dimensions", op, source.Sizes())
	}
	if s.source, err = s.hold(view.AtLeast1d(op, source)); err != nil {
		return s, err
	}
	want := slices.Clone(self.Sizes())
	if self.Dim() == 0 {
		want = []int64{1}
	}
	want[s.d] = index.Numel()
	if !slices.Equal(want, s.source.Sizes()) {
		if source.Dim() != 0 || index.Numel() != 1 || shape.Product(want) != 1 {
			fail := status.Runtimef
			if found := s.source.Sizes(); op == "index_copy" && (len(found) != len(want) || slices.Equal(want[:s.d], found[:s.d]) && slices.Equal(want[s.d+1:], found[s.d+1:])) {
				fail = status.Indexf // the number of dimensions, or of indices
			}
			return s, fail("%s: source of shape %v does not fit: self has shape %v and index has %d elements, so shape %v is expected", op, source.Sizes(), self.Sizes(), index.Numel(), want)
		}
		if s.source, err = s.hold(view.Expand(op, s.source, want)); err != nil {
			return s, err
		}
	}
	at, err := s.hold(positions(op, index, sizeAt(self, s.d), false, indexError(op, s.d, sizeAt(self, s.d))))
	if err != nil {
		return s, err
	}
	s.index, err = s.hold(view.Along(op, at, want, s.d))
	return s, err
}

// apartFrom is t itself, or a copy of it where it shares a storage with what is written to.
func apartFrom(op string, written, t *tensor.Tensor) (*tensor.Tensor, error) {
	if t.Storage() == written.Storage() {
		return cloned(op, t, t.DType(), t.Device(), shape.Preserve)
	}
	return t.Alias(), nil
}

// into gives the tensor to write to, with at least one dimension, and a source that shares no memory with it; ok is false
// when there is nothing to do.
func (s *scattering) into(to *tensor.Tensor) (work *tensor.Tensor, ok bool, err error) {
	if to.IsMeta() || s.index.Numel() == 0 {
		return nil, false, nil
	}
	if s.source, err = s.hold(apartFrom(s.op, to, s.source)); err != nil {
		return nil, false, err
	}
	if s.index, err = s.hold(apartFrom(s.op, to, s.index)); err != nil {
		return nil, false, err
	}
	work, err = s.hold(view.AtLeast1d(s.op, to))
	return work, err == nil, err
}

func (s *scattering) write(to *tensor.Tensor) error {
	work, ok, err := s.into(to)
	if !ok {
		return err
	}
	return placeAlong(work, s.d, s.index).write(s.op, work, s.source)
}

// reduce combines by a named operation: sum, prod, mean, amax, amin.
func (s *scattering) reduce(to *tensor.Tensor, name string, includeSelf bool) error {
	k := map[string]*kernel.Kernel{"sum": scatterAdd, "mean": scatterAdd, "prod": scatterMul, "amax": scatterMax, "amin": scatterMin}[name]
	if !k.Has(to.DType()) {
		return status.NotImplementedf("%s: %s is not implemented for dtype %v", s.op, name, to.DType())
	}
	if to.IsMeta() {
		return nil
	}
	work, ok, err := s.into(to)
	if !ok {
		return err
	}
	if work.DType().IsReducedFloat() && (k == scatterAdd || k == scatterMul) && (s.wide || name == "mean") {
		wide, err := s.hold(cloned(s.op, work, dtype.Float32, work.Device(), shape.Preserve))
		if err != nil {
			return err
		}
		if s.source, err = s.hold(cloned(s.op, s.source, dtype.Float32, work.Device(), shape.Preserve)); err != nil {
			return err
		}
		if err := s.join(k, wide, name, includeSelf); err != nil {
			return err
		}
		iter.Copy(work, wide)
		return nil
	}
	return s.join(k, work, name, includeSelf)
}

// join combines the source into work. What may fail comes first: a refusal leaves it as it was.
func (s *scattering) join(k *kernel.Kernel, work *tensor.Tensor, name string, includeSelf bool) (err error) {
	var counts *tensor.Tensor
	if name == "mean" {
		if counts, err = s.counts(work.Sizes(), includeSelf); err != nil {
			return err
		}
	}
	place := placeAlong(work, s.d, s.index)
	join, err := place.joining(s.op, k, work, s.source)
	if err != nil {
		return err
	}
	defer join.close()
	if !includeSelf {
		d := work.DType()
		start, err := s.hold(single(s.op, identity(name, d), d))
		if err != nil {
			return err
		}
		if err := place.write(s.op, work, start); err != nil {
			return err
		}
	}
	if err := join.run(); err != nil || counts == nil {
		return err
	}
	// Sums become means, rounded down for integers.
	return iter.Run(s.op, divideByCount, work.DType().Compute(), 1, []*tensor.Tensor{work, work, counts}, nil)
}

// counts is how many elements are summed at each place.
func (s *scattering) counts(sizes []int64, includeSelf bool) (*tensor.Tensor, error) {
	counts, err := s.hold(filled(s.op, nil, sizes, dtype.BoolScalar(includeSelf), dtype.Int64, dtype.Int64, tensor.NoLayout, device.Host))
	if err != nil {
		return nil, err
	}
	one, err := s.hold(single(s.op, dtype.IntScalar(1), dtype.Int64))
	if err != nil {
		return nil, err
	}
	return counts, placeAlong(counts, s.d, s.index).combine(s.op, scatterAdd, counts, one)
}

// single makes a zero-dim tensor of one value.
func single(op string, value dtype.Scalar, d dtype.DType) (*tensor.Tensor, error) {
	t, err := tensor.Empty(op, nil, d, device.Host)
	if err == nil {
		tensor.Put(t.Data(), d, value)
	}
	return t, err
}

// identity is the value that a reduction starts from.
func identity(name string, d dtype.DType) dtype.Scalar {
	lo, hi := dtype.IntRange(d)
	switch {
	case name == "prod":
		return dtype.IntScalar(1)
	case name == "sum" || name == "mean":
		return dtype.IntScalar(0)
	case d.IsFloatingPoint() && name == "amax":
		return dtype.FloatScalar(math.Inf(-1))
	case d.IsFloatingPoint():
		return dtype.FloatScalar(math.Inf(1))
	case name == "amax":
		return dtype.IntScalar(lo)
	}
	return dtype.IntScalar(hi)
}

// Scatter writes source to the positions that index names along dim.
func Scatter(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor) (*tensor.Tensor, error) {
	s, err := newScattering("scatter", self, dim, index, source)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return modified(s.op, out, self, writable, shape.Contiguous, s.write)
}

// numberLike makes a number of self's dtype, in the form of an operand.
func numberLike(op string, self *tensor.Tensor, value dtype.Scalar) (*tensor.Tensor, error) {
	if err := checkFits(op, value, self.DType()); err != nil {
		return nil, err
	}
	return single(op, value, self.DType())
}

// withNumber runs scatter with a number for a source.
func withNumber(op string, self, index *tensor.Tensor, value dtype.Scalar, run func(source *tensor.Tensor) (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	one, err := numberLike(op, self, value)
	if err != nil {
		return nil, err
	}
	defer one.Release()
	source, err := view.Expand(op, one, index.Sizes())
	if err != nil {
		return nil, err
	}
	defer source.Release()
	return run(source)
}

// ScatterValue writes one number to the positions that index names along dim.
func ScatterValue(out, self *tensor.Tensor, dim int64, index *tensor.Tensor, value dtype.Scalar) (*tensor.Tensor, error) {
	return withNumber("scatter", self, index, value, func(source *tensor.Tensor) (*tensor.Tensor, error) {
		return Scatter(out, self, dim, index, source)
	})
}

// oneOf refuses names of reductions that an operator does not have.
func oneOf(op, name string, names ...string) error {
	if !slices.Contains(names, name) {
		return status.Runtimef("%s: reduce argument must be one of %v, but got %q", op, names, name)
	}
	return nil
}

// ScatterReduceSource adds or multiplies source into the positions that index names.
func ScatterReduceSource(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor, reduce string) (*tensor.Tensor, error) {
	if err := oneOf("scatter", reduce, "add", "multiply"); err != nil {
		return nil, err
	}
	return scatterReduce("scatter", out, self, dim, index, source, map[string]string{"add": "sum", "multiply": "prod"}[reduce], true)
}

// ScatterReduceValue adds or multiplies one number into the positions that index names.
func ScatterReduceValue(out, self *tensor.Tensor, dim int64, index *tensor.Tensor, value dtype.Scalar, reduce string) (*tensor.Tensor, error) {
	return withNumber("scatter", self, index, value, func(source *tensor.Tensor) (*tensor.Tensor, error) {
		return ScatterReduceSource(out, self, dim, index, source, reduce)
	})
}

// ScatterAdd adds source to the positions that index names along dim.
func ScatterAdd(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor) (*tensor.Tensor, error) {
	return scatterReduce("scatter_add", out, self, dim, index, source, "sum", true)
}

// ScatterReduce combines source with the positions that index names along dim.
func ScatterReduce(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor, reduce string, includeSelf bool) (*tensor.Tensor, error) {
	if err := oneOf("scatter_reduce", reduce, "sum", "prod", "mean", "amax", "amin"); err != nil {
		return nil, err
	}
	return scatterReduce("scatter_reduce", out, self, dim, index, source, reduce, includeSelf)
}

func scatterReduce(op string, out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor, reduce string, includeSelf bool) (*tensor.Tensor, error) {
	s, err := newScattering(op, self, dim, index, source)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return modified(op, out, self, writable, shape.Contiguous, func(to *tensor.Tensor) error { return s.reduce(to, reduce, includeSelf) })
}

// IndexAdd adds alpha*source to positions of a dimension.
func IndexAdd(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor, alpha dtype.Scalar) (*tensor.Tensor, error) {
	if !alpha.Equal(1) {
		if err := checkFits("index_add", alpha, self.DType()); err != nil {
			return nil, err
		}
		factor, err := single("index_add", alpha, self.DType())
		if err != nil {
			return nil, err
		}
		defer factor.Release()
		scaled, err := Mul(nil, source, factor)
		if err != nil {
			return nil, err
		}
		defer scaled.Release()
		source = scaled
	}
	s, err := newIndexing("index_add", self, dim, index, source, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return modified(s.op, out, self, writable, shape.Contiguous, func(to *tensor.Tensor) error { return s.reduce(to, "sum", true) })
}

// IndexCopy writes source to positions of a dimension.
func IndexCopy(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor) (*tensor.Tensor, error) {
	s, err := newIndexing("index_copy", self, dim, index, source, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return modified(s.op, out, self, writable, shape.Contiguous, s.write)
}

// IndexReduce combines source with positions of a dimension.
func IndexReduce(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor, reduce string, includeSelf bool) (*tensor.Tensor, error) {
	if err := oneOf("index_reduce", reduce, "prod", "mean", "amax", "amin"); err != nil {
		return nil, err
	}
	if self.DType() == dtype.Bool && reduce == "mean" {
		return nil, status.NotImplementedf("index_reduce: mean is not implemented for dtype bool")
	}
	s, err := newIndexing("index_reduce", self, dim, index, source, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return modified(s.op, out, self, writable, shape.Contiguous, func(to *tensor.Tensor) error { return s.reduce(to, reduce, includeSelf) })
}

// IndexFill writes one value to positions of a dimension.
func IndexFill(out, self *tensor.Tensor, dim int64, index, value *tensor.Tensor) (*tensor.Tensor, error) {
	const op = "index_fill"
	if err := oneDevice(op, self, index); err != nil {
		return nil, err
	}
	d, err := shape.WrapDim(op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	if err := vector(op, index); err != nil {
		return nil, err
	}
	switch {
	case index.DType() != dtype.Int64:
		return nil, status.Indexf("%s: expected dtype int64 for index, but got %v", op, index.DType())
	case value.Dim() != 0:
		return nil, status.Runtimef("%s: only supports a 0-dimensional value tensor, but got tensor with %d dimension(s)", op, value.Dim())
	case value.DType().IsComplex() && !self.DType().IsComplex():
		return nil, status.Runtimef("%s: converting a complex value to non-complex type %v is not supported", op, self.DType())
	case value.IsMeta():
		return nil, status.NotImplementedf("%s: cannot copy out of meta tensor; no data!", op)
	}
	if value.IsNumber() {
		if err := checkFits(op, value.Item(), self.DType()); err != nil {
			return nil, err
		}
	}
	size := sizeAt(self, d)
	at, err := positions(op, index, size, true, indexError(op, d, size))
	if err != nil {
		return nil, err
	}
	defer at.Release()
	return modified(op, out, self, fillable, shape.Preserve, func(to *tensor.Tensor) error {
		if to.IsMeta() || index.Numel() == 0 || to.Numel() == 0 {
			return nil
		}
		work, err := view.AtLeast1d(op, to)
		if err != nil {
			return err
		}
		defer work.Release()
		one, err := single(op, value.Item(), self.DType())
		if err != nil {
			return err
		}
		defer one.Release()
		sizes := slices.Clone(work.Sizes())
		sizes[d] = index.Numel()
		index, err := apartFrom(op, to, at)
		if err != nil {
			return err
		}
		defer index.Release()
		full, err := view.Along(op, index, sizes, d)
		if err != nil {
			return err
		}
		defer full.Release()
		return placeAlong(work, d, full).write(op, work, one)
	})
}

// Put writes source to the elements that index names by their row-major numbers.
func Put(out, self, index, source *tensor.Tensor, accumulate bool) (*tensor.Tensor, error) {
	const op = "put"
	if err := oneDevice(op, self, index, source); err != nil {
		return nil, err
	}
	if err := wantIndex(op, index, false); err != nil {
		return nil, err
	}
	switch {
	case self.DType() != source.DType():
		return nil, status.Runtimef("%s: self and source expected to have the same dtype, but got %v and %v", op, self.DType(), source.DType())
	case index.Numel() != source.Numel():
		return nil, status.Runtimef("%s: source and index must have the same number of elements, but got source.numel() = %d, index.numel() = %d", op, source.Numel(), index.Numel())
	case self.Numel() == 0 && index.Numel() > 0:
		return nil, status.Indexf("%s: cannot put elements into an empty tensor", op)
	}
	ordered, err := rowMajor(op, index, index.DType())
	if err != nil {
		return nil, err
	}
	defer ordered.Release()
	at, err := positions(op, ordered, self.Numel(), true, func(i int64) error {
		return status.Indexf("%s: out of range: tried to access index %d on a tensor of %d elements", op, i, self.Numel())
	})
	if err != nil {
		return nil, err
	}
	defer at.Release()
	return modified(op, out, self, writable, shape.Preserve, func(to *tensor.Tensor) error {
		if to.IsMeta() || index.Numel() == 0 {
			return nil
		}
		// Of several writes to a place, the last in row-major order of the index stays.
		values, err := rowMajorCopy(op, source, source.DType())
		if err != nil {
			return err
		}
		defer values.Release()
		if err := values.SetGeometry(op, at.Sizes(), shape.ContiguousStrides(at.Sizes()), 0); err != nil {
			return err
		}
		index, err := apartFrom(op, to, at)
		if err != nil {
			return err
		}
		defer index.Release()
		work, err := rowMajor(op, to, to.DType())
		if err != nil {
			return err
		}
		defer work.Release()
		line, err := reshape(op, work, []int64{work.Numel()})
		if err != nil {
			return err
		}
		defer line.Release()
		if accumulate {
			err = flattened(line, index).combine(op, scatterAdd, line, values)
		} else {
			err = flattened(line, index).write(op, line, values)
		}
		if err == nil && work.Storage() != to.Storage() {
			iter.Copy(to, work)
		}
		return err
	})
}
