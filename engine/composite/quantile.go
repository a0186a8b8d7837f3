package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var interpolations = []string{"linear", "lower", "higher", "midpoint", "nearest"}

// Quantile returns the q-th quantiles of the elements along dim, or of all; NaN if any element is NaN.
func Quantile(c dispatch.Context, out, self, q *tensor.Tensor, dim ops.Int, keepdim bool, interpolation string) (*tensor.Tensor, error) {
	return quantile(c, "quantile", out, self, q, dim, keepdim, interpolation, false)
}

// Nanquantile is Quantile of the elements that are not NaN.
func Nanquantile(c dispatch.Context, out, self, q *tensor.Tensor, dim ops.Int, keepdim bool, interpolation string) (*tensor.Tensor, error) {
	return quantile(c, "nanquantile", out, self, q, dim, keepdim, interpolation, true)
}

func quantile(c dispatch.Context, op string, out, self, q *tensor.Tensor, dim ops.Int, keepdim bool, interpolation string, skipNaN bool) (_ *tensor.Tensor, err error) {
	d := self.DType()
	switch {
	case d != dtype.Float32 && d != dtype.Float64:
		return nil, status.Runtimef("%s: input tensor must be either float32 or float64, got %v", op, d)
	case self.Numel() == 0:
		return nil, status.Runtimef("%s: input tensor must be non-empty, got shape %v", op, self.Sizes())
	case q.Dim() > 1:
		return nil, status.Runtimef("%s: q must be a scalar or 1D tensor, got shape %v", op, q.Sizes())
	case !q.IsWrappedNumber() && q.DType() != d:
		return nil, status.Runtimef("%s: q tensor must be same dtype as the input tensor, %v, but got %v", op, d, q.DType())
	case !slices.Contains(interpolations, interpolation):
		return nil, status.Runtimef("%s: interpolation must be one of %v, but got %q", op, interpolations, interpolation)
	}
	mask, err := shape.WrapDims(op, reduced(dim), self.Dim(), true)
	if err != nil {
		return nil, err
	}
	s := newScope(c, op)
	defer s.Close(&err)
	fractions := s.CastTo(s.AsShape(q, q.Numel()), d)
	if err := s.checkFractions(fractions); err != nil {
		return nil, err
	}
	if q.IsWrappedNumber() {
		fractions = s.ToOptionsWith(fractions, d, tensor.NoLayout, self.Device(), false, false, shape.Preserve)
	}
	// The elements that are ranked together are the last dimension of rows.
	order, kept := outside(self, mask)
	n := self.Numel() / shape.Product(kept)
	rows := self
	if !dim.IsNone() && self.Dim() > 0 {
		rows = s.ReorderDims(self, append(order, int64(slices.Index(mask, true)))...)
	}
	rows = s.AsShape(rows, append(slices.Clone(kept), n)...)
	values := s.ranked(rows, fractions, interpolation, skipNaN)
	sizes := kept
	if keepdim {
		sizes = slices.Clone(self.Sizes())
		for i, reduced := range mask {
			if reduced {
				sizes[i] = 1
			}
		}
	}
	values = s.AsShape(values, append(slices.Clone(sizes), q.Numel())...)
	last := values.Dim() - 1
	if q.Dim() == 0 {
		return build.WriteResult(s.Builder, out, s.Select(values, int64(last), 0))
	}
	return build.WriteResult(s.Builder, out, s.Movedim(values, int64(last), 0))
}

// reduced lists dim, none for all.
func reduced(dim ops.Int) []int64 {
	if dim.IsNone() {
		return nil
	}
	return []int64{int64(dim)}
}

// checkFractions returns an error for fractions outside of [0, 1].
func (s *scope) checkFractions(q *tensor.Tensor) error {
	if q.Numel() == 0 {
		return nil
	}
	least, most := q, q
	if q.Numel() > 1 {
		least, most = s.Min(q), s.Max(q)
	}
	for _, bound := range []*tensor.Tensor{least, most} {
		if f, known := s.ReadElement(bound); known && !(f.F >= 0 && f.F <= 1) {
			return status.Runtimef("%s: q must be in the range [0, 1] but got %v", s.Op, f.F)
		}
	}
	return nil
}

// ranked returns the quantiles of the last dimension of rows, in its place.
func (s *scope) ranked(rows, fractions *tensor.Tensor, interpolation string, skipNaN bool) *tensor.Tensor {
	last := rows.Dim() - 1
	n, d := rows.Sizes()[last], rows.DType()
	sorted, indices, err := s.C.Sort(nil, nil, rows, int64(last), false)
	s.Track(sorted, err)
	s.Track(indices, nil)
	missing := s.Isnan(rows)
	// The rank of a fraction among the counted elements: all of them, or those that are not NaN. NaNs are sorted last, so that in a row with NaN
	// every rank is the last if all are counted.
	nans := s.SumWith(missing, []int64{int64(last)}, true, dtype.Int64)
	top := s.Number(dtype.IntScalar(n - 1))
	var ranks *tensor.Tensor
	if skipNaN {
		ranks = s.Mul(fractions, s.ClampMin(s.Sub(top, nans), s.Number(dtype.IntScalar(0))))
	} else {
		spoilt := s.Ne(nans, s.Number(dtype.IntScalar(0)))
		ranks = s.Where(spoilt, s.FloatNumber(float64(n-1)), s.Mul(fractions, top))
	}
	switch {
	case interpolation == "lower":
		ranks = s.Floor(ranks)
	case interpolation == "higher":
		ranks = s.Ceil(ranks)
	case interpolation == "nearest":
		ranks = s.Round(ranks)
	}
	sizes := append(slices.Clone(rows.Sizes()[:last]), fractions.Numel())
	at := func(ranks *tensor.Tensor) *tensor.Tensor {
		index := s.Expand(s.CastTo(ranks, dtype.Int64), sizes...)
		return s.Gather(sorted, int64(last), index)
	}
	if interpolation != "linear" && interpolation != "midpoint" {
		return at(ranks)
	}
	below := s.Floor(ranks)
	weight := s.FloatNumber(0.5)
	if interpolation == "linear" {
		weight = s.Expand(s.CastTo(s.Sub(ranks, below), d), sizes...)
	}
	above := s.Ceil(ranks)
	low, high := at(below), at(above)
	made := s.Lerp(low, high, weight)
	// Next to an infinite value the distance is infinite or NaN; the result is then that of a weighted mean.
	mean := s.Where(s.Eq(low, high), low, s.Add(low, high))
	return s.Where(s.Isnan(made), mean, made)
}
