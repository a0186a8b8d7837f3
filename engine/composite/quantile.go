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
	return computeQuantile(c, "quantile", out, self, q, dim, keepdim, interpolation, false)
}

// Nanquantile is Quantile of the elements that are not NaN.
func Nanquantile(c dispatch.Context, out, self, q *tensor.Tensor, dim ops.Int, keepdim bool, interpolation string) (*tensor.Tensor, error) {
	return computeQuantile(c, "nanquantile", out, self, q, dim, keepdim, interpolation, true)
}

func computeQuantile(c dispatch.Context, op string, out, self, q *tensor.Tensor, dim ops.Int, keepdim bool, interpolation string,
	skipNaN bool) (_ *tensor.Tensor, err error) {
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
	mask, err := shape.WrapDims(op, dim.List(), self.Dim(), true)
	if err != nil {
		return nil, err
	}
	b := build.New(c, op)
	defer b.Close(&err)
	fractions := b.CastTo(b.AsShape(q, q.Numel()), d)
	if err := checkFractions(b, fractions); err != nil {
		return nil, err
	}
	if q.IsWrappedNumber() {
		fractions = b.ToOptionsWith(fractions, d, tensor.NoLayout, self.Device(), false, false, shape.Preserve)
	}
	// The elements that are ranked together are the last dimension of rows.
	order, kept := unmaskedDims(self, mask)
	n := self.Numel() / shape.Product(kept)
	rows := self
	if !dim.IsNone() && self.Dim() > 0 {
		rows = b.ReorderDims(self, append(order, int64(slices.Index(mask, true)))...)
	}
	rows = b.AsShape(rows, append(slices.Clone(kept), n)...)
	values := computeQuantiles(b, rows, fractions, interpolation, skipNaN)
	sizes := kept
	if keepdim {
		sizes = slices.Clone(self.Sizes())
		for i, reduced := range mask {
			if reduced {
				sizes[i] = 1
			}
		}
	}
	values = b.AsShape(values, append(slices.Clone(sizes), q.Numel())...)
	last := values.Dim() - 1
	if q.Dim() == 0 {
		return build.WriteResult(b, out, b.Select(values, int64(last), 0))
	}
	return build.WriteResult(b, out, b.Movedim(values, int64(last), 0))
}

// checkFractions returns an error for fractions outside of [0, 1].
func checkFractions(b *build.Builder, q *tensor.Tensor) error {
	if q.Numel() == 0 {
		return nil
	}
	least, most := q, q
	if q.Numel() > 1 {
		least, most = b.Min(q), b.Max(q)
	}
	for _, bound := range []*tensor.Tensor{least, most} {
		if f, known := b.ReadElement(bound); known && !(f.F >= 0 && f.F <= 1) {
			return status.Runtimef("%s: q must be in the range [0, 1] but got %v", b.Op, f.F)
		}
	}
	return nil
}

// computeQuantiles returns the quantiles of the last dimension of rows, which replace this dimension.
func computeQuantiles(b *build.Builder, rows, fractions *tensor.Tensor, interpolation string, skipNaN bool) *tensor.Tensor {
	last := rows.Dim() - 1
	n, d := rows.Sizes()[last], rows.DType()
	sorted, indices, err := b.C.Sort(nil, nil, rows, int64(last), false)
	b.Track(sorted, err)
	b.Track(indices, nil)
	missing := b.Isnan(rows)
	// The rank of a fraction among the counted elements: all of them, or those that are not NaN. NaNs are sorted last, so that in a row with
	// NaN every rank is the last if all are counted.
	nans := b.SumWith(missing, []int64{int64(last)}, true, dtype.Int64)
	top := b.Number(dtype.IntScalar(n - 1))
	var ranks *tensor.Tensor
	if skipNaN {
		ranks = b.Mul(fractions, b.ClampMin(b.Sub(top, nans), b.Number(dtype.IntScalar(0))))
	} else {
		spoilt := b.Ne(nans, b.Number(dtype.IntScalar(0)))
		ranks = b.Where(spoilt, b.FloatNumber(float64(n-1)), b.Mul(fractions, top))
	}
	switch {
	case interpolation == "lower":
		ranks = b.Floor(ranks)
	case interpolation == "higher":
		ranks = b.Ceil(ranks)
	case interpolation == "nearest":
		ranks = b.Round(ranks)
	}
	sizes := append(slices.Clone(rows.Sizes()[:last]), fractions.Numel())
	at := func(ranks *tensor.Tensor) *tensor.Tensor {
		index := b.Expand(b.CastTo(ranks, dtype.Int64), sizes...)
		return b.Gather(sorted, int64(last), index)
	}
	if interpolation != "linear" && interpolation != "midpoint" {
		return at(ranks)
	}
	below := b.Floor(ranks)
	weight := b.FloatNumber(0.5)
	if interpolation == "linear" {
		weight = b.Expand(b.CastTo(b.Sub(ranks, below), d), sizes...)
	}
	above := b.Ceil(ranks)
	low, high := at(below), at(above)
	result := b.Lerp(low, high, weight)
	// Next to an infinite value the distance is infinite or NaN; the result is then that of a weighted mean.
	mean := b.Where(b.Eq(low, high), low, b.Add(low, high))
	return b.Where(b.Isnan(result), mean, result)
}
