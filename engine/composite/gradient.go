package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Gradient estimates the derivatives of samples along each of dims (by default all) with one spacing, by default 1: central differences
// inside, one-sided differences of order edgeOrder, 1 or 2, at the edges. After B. Fornberg, Generation of Finite Difference Formulas on
// Arbitrarily Spaced Grids (1988).
func Gradient(c dispatch.Context, self *tensor.Tensor, spacing dtype.Scalar, dims []int64, edgeOrder int64) ([]*tensor.Tensor, error) {
	if spacing.IsNone() {
		spacing = dtype.IntScalar(1)
	}
	return computeGradient(c, self, dims, edgeOrder, -1, func(b *build.Builder, _ int, t *tensor.Tensor, at int) *tensor.Tensor {
		return computeEvenGradient(b, t, at, spacing, edgeOrder)
	})
}

// GradientScalars is Gradient with a distance for each dimension.
func GradientScalars(c dispatch.Context, self *tensor.Tensor, spacing []dtype.Scalar, dims []int64,
	edgeOrder int64) ([]*tensor.Tensor, error) {
	return computeGradient(c, self, dims, edgeOrder, len(spacing), func(b *build.Builder, i int, t *tensor.Tensor, at int) *tensor.Tensor {
		return computeEvenGradient(b, t, at, spacing[i], edgeOrder)
	})
}

// GradientTensors is Gradient with the coordinates of the samples given for each dimension.
func GradientTensors(c dispatch.Context, self *tensor.Tensor, spacing []*tensor.Tensor, dims []int64,
	edgeOrder int64) ([]*tensor.Tensor, error) {
	return computeGradient(c, self, dims, edgeOrder, len(spacing), func(b *build.Builder, i int, t *tensor.Tensor, at int) *tensor.Tensor {
		x := spacing[i]
		if x.Dim() != 1 || x.Numel() != t.Sizes()[at] {
			b.Check(status.Runtimef("gradient: expected each element of spacing to be a vector of the %d coordinates of dimension %d, but got shape %v",
				t.Sizes()[at], at, x.Sizes()))
			return nil
		}
		return computeUnevenGradient(b, t, at, x, edgeOrder)
	})
}

func computeGradient(c dispatch.Context, self *tensor.Tensor, dims []int64, edgeOrder int64, spacings int, along func(b *build.Builder,
	i int, t *tensor.Tensor, at int) *tensor.Tensor) (_ []*tensor.Tensor, err error) {
	const op = "gradient"
	switch {
	case !self.DType().IsSigned():
		return nil, status.NotImplementedf("%s: does not support %v input; convert to a signed integer or floating-point dtype", op,
			self.DType())
	case edgeOrder != 1 && edgeOrder != 2:
		return nil, status.Runtimef("%s: only supports edge_order=1 and edge_order=2, got %d", op, edgeOrder)
	}
	if dims == nil {
		for d := range self.Dim() {
			dims = append(dims, int64(d))
		}
	}
	if spacings >= 0 && spacings != len(dims) {
		return nil,
			status.Runtimef("%s: expected spacing to be unspecified, a scalar, or a list of the length of dim, %d, but got a list of length %d", op,
				len(dims), spacings)
	}
	if _, err := shape.WrapDims(op, dims, self.Dim(), false); err != nil {
		return nil, err
	}
	b := build.New(c, op)
	defer b.Close(&err)
	var results []*tensor.Tensor
	for i, dim := range dims {
		if self.Dim() == 0 {
			return nil, status.Indexf("%s: dimension specified as %d but self has no dimensions", op, dim)
		}
		at, err := shape.WrapDim(op, dim, self.Dim())
		if err != nil {
			return nil, err
		}
		if self.Sizes()[at] < edgeOrder+1 {
			return nil,
				status.Runtimef("%s: expected each dimension size to be at least edge_order+1, got size %d of dimension %d for edge_order %d", op,
					self.Sizes()[at], at, edgeOrder)
		}
		results = append(results, along(b, i, self, at))
	}
	return b.ReturnAll(results)
}

// sumWeighted returns the sum of slices of t along dimension `at`, each multiplied by its weight. A slice has `length` positions from its
// start.
func sumWeighted(b *build.Builder, t *tensor.Tensor, at int, length int64, starts []int64, weights ...*tensor.Tensor) *tensor.Tensor {
	var total *tensor.Tensor
	for i, start := range starts {
		term := b.Mul(b.Narrow(t, int64(at), start, length), weights[i])
		if total == nil {
			total = term
		} else {
			total = b.Add(total, term)
		}
	}
	return total
}

// computeEvenGradient returns the gradient of t along dimension `at` for points at equal distances.
func computeEvenGradient(b *build.Builder, t *tensor.Tensor, at int, distance dtype.Scalar, edgeOrder int64) *tensor.Tensor {
	n := t.Sizes()[at]
	h := b.Number(distance)
	diff := func(i, j, length int64) *tensor.Tensor {
		return b.Sub(b.Narrow(t, int64(at), i, length), b.Narrow(t, int64(at), j, length))
	}
	inside := b.Mul(b.Div(diff(min(2, n), 0, max(n-2, 0)), h), b.FloatNumber(0.5))
	if edgeOrder == 1 {
		return b.Cat([]*tensor.Tensor{b.Div(diff(1, 0, 1), h), inside, b.Div(diff(n-1, n-2, 1), h)}, int64(at))
	}
	end := func(i, j, k int64, sign float64) *tensor.Tensor {
		return b.Div(sumWeighted(b, t, at, 1, []int64{i, j, k}, b.FloatNumber(-1.5*sign), b.FloatNumber(2*sign), b.FloatNumber(-0.5*sign)),
			h)
	}
	return b.Cat([]*tensor.Tensor{end(0, 1, 2, 1), inside, end(n-1, n-2, n-3, -1)}, int64(at))
}

// computeUnevenGradient returns the gradient of t along dimension `at` for points at the coordinates x.
func computeUnevenGradient(b *build.Builder, t *tensor.Tensor, at int, x *tensor.Tensor, edgeOrder int64) *tensor.Tensor {
	n := t.Sizes()[at]
	along := slices.Repeat([]int64{1}, t.Dim())
	along[at] = n - 1
	gaps := b.AsShape(b.Sub(b.Narrow(x, 0, 1, n-1), b.Narrow(x, 0, 0, n-1)), along...)
	gap := func(i int64) *tensor.Tensor { return b.Narrow(gaps, int64(at), i, 1) }
	// The weights of three adjacent samples with gaps p and q between them, for the derivative at the middle one.
	m := max(n-2, 0)
	p, q := b.Narrow(gaps, int64(at), 0, m), b.Narrow(gaps, int64(at), min(1, n-1), m)
	both := b.Add(p, q)
	inside := sumWeighted(b, t, at, m, []int64{0, min(1, n), min(2, n)},
		b.Neg(b.Div(q, b.Mul(p, both))), b.Div(b.Sub(q, p), b.Mul(p, q)), b.Div(p, b.Mul(q, both)))
	slope := func(i int64) *tensor.Tensor {
		return b.Div(b.Sub(b.Narrow(t, int64(at), i+1, 1), b.Narrow(t, int64(at), i, 1)), gap(i))
	}
	if edgeOrder == 1 {
		return b.Cat([]*tensor.Tensor{slope(0), inside, slope(n - 2)}, int64(at))
	}
	// At an end: p is the gap next to it, q the following one.
	end := func(p, q *tensor.Tensor, i, j, k int64, mirrored bool) *tensor.Tensor {
		both := b.Add(p, q)
		u, v, w := b.Neg(b.Div(b.Add(both, p), b.Mul(p, both))), b.Div(both, b.Mul(p, q)), b.Neg(b.Div(p, b.Mul(q, both)))
		if mirrored {
			u, v, w = b.Neg(u), b.Neg(v), b.Neg(w)
		}
		return sumWeighted(b, t, at, 1, []int64{i, j, k}, u, v, w)
	}
	return b.Cat([]*tensor.Tensor{end(gap(0), gap(1), 0, 1, 2, false), inside, end(gap(n-2), gap(n-3), n-1, n-2, n-3, true)}, int64(at))
}
