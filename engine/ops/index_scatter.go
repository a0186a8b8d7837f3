package ops

import (
	"cmp"
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

var (
	scatterMax    = kernelapi.ScatterMax
	scatterMin    = kernelapi.ScatterMin
	divideByCount = kernelapi.DivideByCount
)

// scattering is a write of source to the positions that index names along dimension d of self.
type scattering struct {
	*scope
	d             int
	index, source *tensor.Tensor   // index: positions; source: of index's sizes
	check         *backend.Bounds  // bounds to check in index when it is used; nil if it was checked
	given         []*tensor.Tensor // the caller's tensors for both
}

// newScattering checks the arguments of the scatter family. index has as many dimensions as self.
func newScattering(s *scope, self *tensor.Tensor, dim int64, index, source *tensor.Tensor) *scattering {
	x := &scattering{scope: s, given: []*tensor.Tensor{index, source}}
	x.Check(x.prepareScatter(self, dim, index, source))
	return x
}

func (s *scattering) prepareScatter(self *tensor.Tensor, dim int64, index, source *tensor.Tensor) (err error) {
	op := s.Op
	if err := checkSameDevice(op, self, index, source); err != nil {
		return err
	}
	if s.d, err = shape.WrapDim(op, dim, self.Dim()); err != nil {
		return err
	}
	if source.DType() != self.DType() {
		return status.Runtimef("%s: expected self.dtype to be equal to src.dtype, but got %v and %v", op, self.DType(), source.DType())
	}
	if index.Numel() > 0 {
		if err := cmp.Or(requireIndex(op, index, true), checkIndexSizes(op, self, index, s.d)); err != nil {
			return err
		}
	}
	flat := s.viewVector(index)
	size := sizeAt(self, s.d)
	s.index, s.check = s.takePositions(self, flat, size, false, outOfDimRuntime{op, s.d, size})
	s.source = s.viewVector(source)
	if index.Numel() == 0 {
		return nil
	}
	if s.source.Dim() != flat.Dim() {
		return status.Runtimef("%s: index tensor must have the same number of dimensions as src tensor, got %d and %d", op, index.Dim(),
			source.Dim())
	}
	for i, n := range flat.Sizes() {
		if n > s.source.Sizes()[i] {
			return status.Runtimef("%s: expected index %v to be no larger than src %v in any dimension", op, index.Sizes(), source.Sizes())
		}
	}
	s.source = s.Track(s.source.View(op, flat.Sizes(), s.source.Strides(), s.source.Offset()))
	return nil
}

// newIndexing checks the arguments of the index_ family. index is a vector of positions along dimension dim.
func newIndexing(s *scope, self *tensor.Tensor, dim int64, index, source *tensor.Tensor, short bool) *scattering {
	x := &scattering{scope: s, given: []*tensor.Tensor{index, source}}
	x.Check(x.prepareVector(self, dim, index, source, short))
	return x
}

func (s *scattering) prepareVector(self *tensor.Tensor, dim int64, index, source *tensor.Tensor, short bool) (err error) {
	op := s.Op
	if err := checkSameDevice(op, self, index, source); err != nil {
		return err
	}
	if s.d, err = shape.WrapDim(op, dim, self.Dim()); err != nil {
		return err
	}
	if err := cmp.Or(checkVector(op, index), requireIndex(op, index, short)); err != nil {
		return err
	}
	if source.DType() != self.DType() {
		return status.Runtimef("%s: expected self and source to have the same dtype, but got %v and %v", op, self.DType(), source.DType())
	}
	if (self.Dim() == 0 || source.Dim() == 0) && index.Numel() != 1 {
		return status.Indexf("%s: index must have one element if self or source is 0-dimensional, but has %d", op, index.Numel())
	}
	if self.Dim() == 0 && source.Dim() != 0 && op != "index_copy" {
		return status.Runtimef("%s: self is 0-dimensional, so source must have one element, but source has shape %v", op, source.Sizes())
	}
	s.source = s.viewVector(source)
	want := slices.Clone(self.Sizes())
	if self.Dim() == 0 {
		want = []int64{1}
	}
	want[s.d] = index.Numel()
	if found := s.source.Sizes(); !slices.Equal(want, found) {
		if source.Dim() != 0 || index.Numel() != 1 || shape.Product(want) != 1 {
			fail := status.Runtimef
			if op == "index_copy" && (len(found) != len(want) || slices.Equal(want[:s.d], found[:s.d]) &&
				slices.Equal(want[s.d+1:], found[s.d+1:])) {
				fail = status.Indexf // the number of dimensions, or of indices
			}
			return fail("%s: source has shape %v, but for self of shape %v and index of %d elements shape %v is expected", op, source.Sizes(),
				self.Sizes(), index.Numel(), want)
		}
		s.source = s.expandTo(s.source, want)
	}
	size := sizeAt(self, s.d)
	at, check := s.takePositions(self, index, size, false, outOfDim{op, s.d, size})
	s.index, s.check = s.viewAlong(at, want, s.d), check
	return nil
}

// along returns the indexed elements of work.
func (s *scattering) along(work *tensor.Tensor) *indexed {
	a := newIndexedAlong(work, s.d, s.index)
	a.check = s.check
	return a
}

// checkOutput returns an error if out cannot be written in place or overlaps the index or the source.
func (s *scattering) checkOutput(op string, out *tensor.Tensor) error {
	return cmp.Or(tensoriter.Writable(op, out), tensoriter.Disjoint(op, out, s.given...))
}

// prepareTarget returns the tensor to write to, with at least one dimension, and makes source and index share no memory with it; nil when
// there is nothing to do.
func (s *scattering) prepareTarget(to *tensor.Tensor) *tensor.Tensor {
	if s.index.Numel() == 0 {
		return nil
	}
	s.source, s.index = s.copyIfShared(to, s.source), s.copyIfShared(to, s.index)
	return s.viewVector(to)
}

func (s *scattering) writeSource(to *tensor.Tensor) {
	if work := s.prepareTarget(to); work != nil {
		s.along(work).writeIndexed(s.scope, work, s.source)
	}
}

// reduceSource combines by a named operation: sum, prod, mean, amax, amin.
func (s *scattering) reduceSource(to *tensor.Tensor, name string, includeSelf bool) {
	k := map[string]kernelapi.Kernel{"sum": scatterAdd, "mean": scatterAdd, "prod": scatterMul, "amax": scatterMax, "amin": scatterMin}[name]
	if !k.Has(to.DType()) {
		s.Check(status.NotImplementedf("%s: %s is not implemented for dtype %v", s.Op, name, to.DType()))
	}
	work := s.prepareTarget(to)
	if work == nil {
		return
	}
	// Reductions of several steps use a temporary on devices, where any launch may fail.
	steps := (name == "mean" || !includeSelf) && work.Device().Type != device.CPU
	if d := s.accumulationDType(k, name, work); d != work.DType() || steps {
		wide := s.Track(cloneTensor(s.Op, work, d, work.Device(), shape.Preserve))
		s.source = s.Track(convertDType(s.Op, s.source, d))
		s.joinSource(k, wide, name, includeSelf)
		s.copyTensor(work, wide)
		return
	}
	s.joinSource(k, work, name, includeSelf)
}

// accumulationDType returns the dtype of the copy of work that a reduction is computed in, or the dtype of work if it needs no copy: the
// sum for a mean is rounded with it, and that of integers must not wrap. A copy of work for sums takes no more memory than its elements.
func (s *scattering) accumulationDType(k kernelapi.Kernel, name string, work *tensor.Tensor) dtype.DType {
	d := work.DType()
	if name == "mean" && d.IsIntegral() && d != dtype.Uint64 {
		return dtype.Int64
	}
	place := s.along(work)
	needsCopy := work.Device().Type == device.CPU && !shape.IsDense(work.Sizes(), work.Strides()) && !place.isSparse(work)
	if name == "mean" || needsCopy {
		return place.sumDType(k, d)
	}
	return d
}

// joinSource combines the source into work. Everything that can fail comes first: on an error, work is unchanged.
func (s *scattering) joinSource(k kernelapi.Kernel, work *tensor.Tensor, name string, includeSelf bool) {
	var counts *tensor.Tensor
	if name == "mean" {
		counts = s.countTerms(work, includeSelf)
	}
	place := s.along(work)
	join := place.prepareCombine(s.scope, k, work, s.source)
	if !includeSelf {
		d := work.DType()
		place.writeIndexed(s.scope, work, s.newScalarTensor(identityOf(name, d), d, work.Device()))
	}
	join()
	if counts != nil { // sums become means, rounded down for integers
		s.Check(runElementwise(s.Op, divideByCount, work.DType().Compute(), nil, work, work, counts))
	}
}

// countTerms returns the number of elements that are summed at each position of work.
func (s *scattering) countTerms(work *tensor.Tensor, includeSelf bool) *tensor.Tensor {
	counts := s.Track(newFilled(s.Op, nil, work.Sizes(), dtype.BoolScalar(includeSelf), dtype.Int64, dtype.Int64, tensor.NoLayout,
		work.Device()))
	one := s.newScalarTensor(dtype.IntScalar(1), dtype.Int64, work.Device())
	s.along(counts).combineSource(s.scope, scatterAdd, counts, one)
	return counts
}

// identityOf returns the initial value of a reduction.
func identityOf(name string, d dtype.DType) dtype.Scalar {
	lo, hi := d.IntegerRange()
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
	return dtype.UintScalar(hi)
}

// Scatter writes source to the positions that index names along dim.
func Scatter(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("scatter")
	defer s.Close(&err)
	x := newScattering(s, self, dim, index, source)
	return x.modifyOutput(out, self, x.checkOutput, shape.Contiguous, x.writeSource)
}

// scatterNumber runs scatter with a number as the source.
func scatterNumber(op string, self, index *tensor.Tensor, value dtype.Scalar,
	run func(source *tensor.Tensor) (*tensor.Tensor, error)) (_ *tensor.Tensor, err error) {
	if err := checkFits(op, value, self.DType()); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	source := s.expandTo(s.newScalarTensor(value, self.DType(), self.Device()), index.Sizes())
	return s.ReturnNew(run(source))
}

// ScatterValue writes one number to the positions that index names along dim.
func ScatterValue(out, self *tensor.Tensor, dim int64, index *tensor.Tensor, value dtype.Scalar) (*tensor.Tensor, error) {
	return scatterNumber("scatter", self, index, value, func(source *tensor.Tensor) (*tensor.Tensor, error) {
		return Scatter(out, self, dim, index, source)
	})
}

// checkReduction returns an error for names of reductions that an operator does not support.
func checkReduction(op, name string, names ...string) error {
	if !slices.Contains(names, name) {
		return status.Runtimef("%s: reduce argument must be one of %v, but got %q", op, names, name)
	}
	return nil
}

// ScatterReduceSource adds or multiplies source into the positions that index names.
func ScatterReduceSource(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor, reduce string) (*tensor.Tensor, error) {
	if err := checkReduction("scatter", reduce, "add", "multiply"); err != nil {
		return nil, err
	}
	return scatterReduce("scatter", out, self, dim, index, source, map[string]string{"add": "sum", "multiply": "prod"}[reduce], true)
}

// ScatterReduceValue adds or multiplies one number into the positions that index names.
func ScatterReduceValue(out, self *tensor.Tensor, dim int64, index *tensor.Tensor, value dtype.Scalar,
	reduce string) (*tensor.Tensor, error) {
	return scatterNumber("scatter", self, index, value, func(source *tensor.Tensor) (*tensor.Tensor, error) {
		return ScatterReduceSource(out, self, dim, index, source, reduce)
	})
}

// ScatterAdd adds source to the positions that index names along dim.
func ScatterAdd(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor) (*tensor.Tensor, error) {
	return scatterReduce("scatter_add", out, self, dim, index, source, "sum", true)
}

// ScatterReduce combines source with the positions that index names along dim.
func ScatterReduce(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor, reduce string,
	includeSelf bool) (*tensor.Tensor, error) {
	if err := checkReduction("scatter_reduce", reduce, "sum", "prod", "mean", "amax", "amin"); err != nil {
		return nil, err
	}
	return scatterReduce("scatter_reduce", out, self, dim, index, source, reduce, includeSelf)
}

func scatterReduce(op string, out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor, reduce string,
	includeSelf bool) (_ *tensor.Tensor, err error) {
	s := newScope(op)
	defer s.Close(&err)
	x := newScattering(s, self, dim, index, source)
	return x.reduceTo(out, self, reduce, includeSelf)
}

// reduceTo returns self, in place or in another tensor, with the source combined into it.
func (s *scattering) reduceTo(out, self *tensor.Tensor, name string, includeSelf bool) (*tensor.Tensor, error) {
	if name == "mean" && self.DType() == dtype.Bool {
		s.Check(status.NotImplementedf("%s: mean is not implemented for dtype bool", s.Op))
	}
	return s.modifyOutput(out, self, s.checkOutput, shape.Contiguous, func(to *tensor.Tensor) { s.reduceSource(to, name, includeSelf) })
}

// IndexAdd adds alpha*source to positions of a dimension.
func IndexAdd(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
	const op = "index_add"
	s := newScope(op)
	defer s.Close(&err)
	x := newIndexing(s, self, dim, index, source, true)
	if !alpha.Equal(1) {
		// The product is not rounded to 16 bits, as the sum is.
		d := self.DType().Compute()
		x.Check(checkFits(op, alpha, self.DType()))
		x.source = x.Track(Mul(nil, x.convertTo(x.source, d), x.newScalarTensor(alpha, d, self.Device())))
	}
	return x.reduceTo(out, self, "sum", true)
}

// IndexCopy writes source to positions of a dimension.
func IndexCopy(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("index_copy")
	defer s.Close(&err)
	x := newIndexing(s, self, dim, index, source, false)
	return x.modifyOutput(out, self, x.checkOutput, shape.Contiguous, x.writeSource)
}

// IndexReduce combines source with positions of a dimension.
func IndexReduce(out, self *tensor.Tensor, dim int64, index, source *tensor.Tensor, reduce string,
	includeSelf bool) (_ *tensor.Tensor, err error) {
	if err := checkReduction("index_reduce", reduce, "prod", "mean", "amax", "amin"); err != nil {
		return nil, err
	}
	s := newScope("index_reduce")
	defer s.Close(&err)
	x := newIndexing(s, self, dim, index, source, true)
	return x.reduceTo(out, self, reduce, includeSelf)
}

// IndexFill writes one value to positions of a dimension.
func IndexFill(out, self *tensor.Tensor, dim int64, index, value *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "index_fill"
	if err := checkSameDevice(op, self, index); err != nil {
		return nil, err
	}
	d, err := shape.WrapDim(op, dim, self.Dim())
	if err = cmp.Or(err, checkVector(op, index)); err != nil {
		return nil, err
	}
	switch {
	case index.DType() != dtype.Int64:
		return nil, status.Indexf("%s: expected dtype int64 for index, but got %v", op, index.DType())
	case value.Dim() != 0:
		return nil, status.Runtimef("%s: only supports a 0-dimensional value tensor, but got tensor with %d dimension(s)", op, value.Dim())
	case value.DType().IsComplex() && !self.DType().IsComplex():
		return nil, status.Runtimef("%s: converting a complex value to non-complex type %v is not supported", op, self.DType())
	}
	number, err := fillValue(op, self, value)
	if err != nil {
		return nil, err
	}
	if value.IsWrappedNumber() {
		if err := checkFits(op, number, self.DType()); err != nil {
			return nil, err
		}
	}
	size := sizeAt(self, d)
	s := newScope(op)
	defer s.Close(&err)
	at, check := s.takePositions(self, index, size, true, outOfDim{op, d, size})
	if out != nil && index.Numel() > 0 {
		s.Check(cmp.Or(tensoriter.Fillable(op, out), tensoriter.Disjoint(op, out, index)))
		s.Check(warnExpanded(op, out))
	}
	return s.modifyOutput(out, self, tensoriter.Fillable, shape.Preserve, func(to *tensor.Tensor) {
		if index.Numel() == 0 || to.Numel() == 0 {
			return
		}
		work, one := s.viewVector(to), s.newScalarTensor(number, self.DType(), self.Device())
		sizes := slices.Clone(work.Sizes())
		sizes[d] = index.Numel()
		full := s.viewAlong(s.copyIfShared(to, at), sizes, d)
		a := newIndexedAlong(work, d, full)
		a.check = check
		a.writeIndexed(s, work, one)
	})
}

// Put writes source to the elements that index names by their row-major numbers.
func Put(out, self, index, source *tensor.Tensor, accumulate bool) (_ *tensor.Tensor, err error) {
	const op = "put"
	if err := cmp.Or(checkSameDevice(op, self, index, source), requireIndex(op, index, false)); err != nil {
		return nil, err
	}
	switch {
	case self.DType() != source.DType():
		return nil, status.Runtimef("%s: self and source expected to have the same dtype, but got %v and %v", op, self.DType(), source.DType())
	case index.Numel() != source.Numel():
		return nil, status.Runtimef("%s: source and index must have the same number of elements, but got source.numel() = %d, index.numel() = %d",
			op, source.Numel(), index.Numel())
	case self.Numel() == 0 && index.Numel() > 0:
		return nil, status.Indexf("%s: cannot put elements into an empty tensor", op)
	}
	s := newScope(op)
	defer s.Close(&err)
	at, check := s.takePositions(self, s.castRowMajor(index, index.DType()), self.Numel(), true, outOfElements{op, self.Numel()})
	writable := func(op string, out *tensor.Tensor) error {
		return cmp.Or(tensoriter.Writable(op, out), tensoriter.Disjoint(op, out, index, source))
	}
	return s.modifyOutput(out, self, writable, shape.Preserve, func(to *tensor.Tensor) {
		if index.Numel() == 0 {
			return
		}
		// Of several writes to a place, the last in row-major order of the index stays.
		values := s.copyIfShared(to, s.reshapeTo(source, at.Sizes()...))
		place, work := s.copyIfShared(to, at), s.castRowMajor(to, to.DType())
		line := s.reshapeTo(work, work.Numel())
		a := newFlatIndexed(line, place, check)
		if accumulate {
			a.combineSource(s, scatterAdd, line, values)
		} else {
			a.writeIndexed(s, line, values)
		}
		if work.Storage() != to.Storage() {
			s.copyTensor(to, work)
		}
	})
}
