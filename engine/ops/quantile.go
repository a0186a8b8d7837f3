package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var interpolations = []string{"linear", "lower", "higher", "midpoint", "nearest"}

// Quantile gives the values below which the fractions q of the elements along dim, or of all, lie; NaN where there is one.
func Quantile(out, self, q *tensor.Tensor, dim Int, keepdim bool, interpolation string) (*tensor.Tensor, error) {
	return quantile("quantile", out, self, q, dim, keepdim, interpolation, false)
}

// Nanquantile is Quantile of what is not NaN.
func Nanquantile(out, self, q *tensor.Tensor, dim Int, keepdim bool, interpolation string) (*tensor.Tensor, error) {
	return quantile("nanquantile", out, self, q, dim, keepdim, interpolation, true)
}

func quantile(op string, out, self, q *tensor.Tensor, dim Int, keepdim bool, interpolation string, skipNaN bool) (*tensor.Tensor, error) {
	d := self.DType()
	switch {
	case d != dtype.Float32 && d != dtype.Float64:
		return nil, status.Runtimef("%s: input tensor must be either float32 or float64, got %v", op, d)
	case self.Numel() == 0:
		return nil, status.Runtimef("%s: input tensor must be non-empty, got shape %v", op, self.Sizes())
	case q.Dim() > 1:
		return nil, status.Runtimef("%s: q must be a scalar or 1D tensor, got shape %v", op, q.Sizes())
	case !q.IsNumber() && q.DType() != d:
		return nil, status.Runtimef("%s: q tensor must be same dtype as the input tensor, %v, but got %v", op, d, q.DType())
	case !slices.Contains(interpolations, interpolation):
		return nil, status.Runtimef("%s: interpolation must be one of %v, but got %q", op, interpolations, interpolation)
	}
	if err := sameDType(op, out, d); err != nil {
		return nil, err
	}
	if err := oneDevice(op, self, q); err != nil {
		return nil, err
	}
	mask, err := oneDim(op, self, dim)
	if err != nil {
		return nil, err
	}
	s := within(op)
	defer s.Close()
	fractions := s.cast(s.reshape(q, q.Numel()), dtype.Float64)
	if s.Err != nil {
		return nil, s.Err
	}
	if !q.IsMeta() {
		for _, f := range elements[float64](fractions) {
			if !(f >= 0 && f <= 1) {
				return nil, status.Runtimef("%s: q must be in the range [0, 1] but got %v", op, f)
			}
		}
	}
	kept := reducedSizes(self.Sizes(), mask, false)
	n := self.Numel() / shape.Product(kept)
	rows := s.reshape(self, n)
	if !dim.IsNone() {
		at, err := shape.WrapDim(op, int64(dim), self.Dim())
		if err != nil {
			return nil, err
		}
		if rows = s.Keep(permuted(op, self, lastOrder(self.Dim(), at)...)); s.Err == nil {
			rows = s.reshape(rows, append(slices.Clone(kept), n)...)
		}
	}
	if s.Err != nil {
		return nil, s.Err
	}
	values := s.ranked(rows, fractions, interpolation, skipNaN)
	result := reducedSizes(self.Sizes(), mask, keepdim)
	values = s.reshape(values, append(result, q.Numel())...)
	if s.Err != nil {
		return nil, s.Err
	}
	last := values.Dim() - 1
	if q.Dim() == 0 {
		return s.result(out, s.at(values, last, 0))
	}
	return s.result(out, s.Keep(Movedim(values, int64(last), 0)))
}

// ranked gives the quantiles of the last dimension of rows, in its place.
func (s *scope) ranked(rows, fractions *tensor.Tensor, interpolation string, skipNaN bool) *tensor.Tensor {
	last := rows.Dim() - 1
	n, d := rows.Sizes()[last], rows.DType()
	sorted, indices, err := Sort(nil, nil, rows, int64(last), false)
	s.Keep(sorted, err)
	s.Keep(indices, nil)
	missing := s.Keep(Isnan(rows))
	if s.Err != nil {
		return nil
	}
	// The rank of a fraction among the elements that count: all of them, or those that are not NaN. NaN come last, so that in
	// a row with NaN that all count every rank is the last.
	nans := s.Keep(Sum(nil, missing, []int64{int64(last)}, true, dtype.Int64))
	top := s.sub(s.number(dtype.IntScalar(n-1)), nans)
	top = s.binary(ClampMin, top, s.number(dtype.IntScalar(0)))
	if !skipNaN && s.Err == nil {
		top = s.number(dtype.IntScalar(n - 1))
	}
	fractions = s.cast(fractions, d)
	ranks := s.mul(fractions, top)
	if !skipNaN && s.Err == nil {
		any := s.binary(Ne, nans, s.number(dtype.IntScalar(0)))
		ranks = s.where(any, s.number(dtype.FloatScalar(float64(n-1))), ranks)
	}
	switch {
	case s.Err != nil:
		return nil
	case interpolation == "lower":
		ranks = s.unary(Floor, ranks)
	case interpolation == "higher":
		ranks = s.unary(Ceil, ranks)
	case interpolation == "nearest":
		ranks = s.Keep(Round(nil, ranks, 0))
	}
	if s.Err != nil {
		return nil
	}
	sizes := append(slices.Clone(rows.Sizes()[:last]), fractions.Numel())
	at := func(ranks *tensor.Tensor) *tensor.Tensor {
		index := s.cast(ranks, dtype.Int64)
		if s.Err != nil {
			return nil
		}
		index = s.Keep(expand(s.Op, index, sizes))
		if s.Err != nil {
			return nil
		}
		return s.Keep(Gather(nil, sorted, int64(last), index, false))
	}
	if interpolation != "linear" && interpolation != "midpoint" {
		return at(ranks)
	}
	below := s.unary(Floor, ranks)
	weight := s.float(0.5)
	if interpolation == "linear" {
		if weight = s.sub(ranks, below); s.Err == nil {
			weight = s.Keep(expand(s.Op, s.cast(weight, d), sizes))
		}
	}
	above := s.unary(Ceil, ranks)
	low, high := at(below), at(above)
	if s.Err != nil {
		return nil
	}
	return s.Keep(Lerp(nil, low, high, weight))
}
