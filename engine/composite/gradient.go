package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Gradient estimates the derivatives of samples along each of dims (by default all) with one spacing, by default 1: central differences inside,
// one-sided differences of order edgeOrder, 1 or 2, at the edges. After B. Fornberg, Generation of Finite Difference Formulas on Arbitrarily Spaced
// Grids (1988).
func Gradient(c dispatch.Context, self *tensor.Tensor, spacing dtype.Scalar, dims []int64, edgeOrder int64) ([]*tensor.Tensor, error) {
	if spacing.IsNone() {
		spacing = dtype.IntScalar(1)
	}
	return gradient(c, self, dims, edgeOrder, -1, func(s *scope, _ int, t *tensor.Tensor, at int) *tensor.Tensor {
		return s.evenGradient(t, at, spacing, edgeOrder)
	})
}

// GradientScalars is Gradient with a distance for each dimension.
func GradientScalars(c dispatch.Context, self *tensor.Tensor, spacing []dtype.Scalar, dims []int64, edgeOrder int64) ([]*tensor.Tensor, error) {
	return gradient(c, self, dims, edgeOrder, len(spacing), func(s *scope, i int, t *tensor.Tensor, at int) *tensor.Tensor {
		return s.evenGradient(t, at, spacing[i], edgeOrder)
	})
}

// GradientTensors is Gradient with the coordinates of the samples given for each dimension.
func GradientTensors(c dispatch.Context, self *tensor.Tensor, spacing []*tensor.Tensor, dims []int64, edgeOrder int64) ([]*tensor.Tensor, error) {
	return gradient(c, self, dims, edgeOrder, len(spacing), func(s *scope, i int, t *tensor.Tensor, at int) *tensor.Tensor {
		x := spacing[i]
		if x.Dim() != 1 || x.Numel() != t.Sizes()[at] {
			s.Check(status.Runtimef("gradient: expected each element of spacing to be a vector of the %d coordinates of dimension %d, but got shape %v", t.Sizes()[at], at, x.Sizes()))
			return nil
		}
		return s.unevenGradient(t, at, x, edgeOrder)
	})
}

func gradient(c dispatch.Context, self *tensor.Tensor, dims []int64, edgeOrder int64, spacings int, along func(s *scope, i int, t *tensor.Tensor, at int) *tensor.Tensor) (_ []*tensor.Tensor, err error) {
	const op = "gradient"
	switch {
	case !self.DType().IsSigned():
		return nil, status.NotImplementedf("%s: does not support %v input; convert to a signed integer or floating-point dtype", op, self.DType())
	case edgeOrder != 1 && edgeOrder != 2:
		return nil, status.Runtimef("%s: only supports edge_order=1 and edge_order=2, got %d", op, edgeOrder)
	}
	if dims == nil {
		for d := range self.Dim() {
			dims = append(dims, int64(d))
		}
	}
	if spacings >= 0 && spacings != len(dims) {
		return nil, status.Runtimef("%s: expected spacing to be unspecified, a scalar, or a list of the length of dim, %d, but got a list of length %d", op, len(dims), spacings)
	}
	if _, err := shape.WrapDims(op, dims, self.Dim(), false); err != nil {
		return nil, err
	}
	s := newScope(c, op)
	defer s.Close(&err)
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
			return nil, status.Runtimef("%s: expected each dimension size to be at least edge_order+1, got size %d of dimension %d for edge_order %d", op, self.Sizes()[at], at, edgeOrder)
		}
		results = append(results, along(s, i, self, at))
	}
	return s.ReturnAll(results)
}

// weighted adds up positions of t along dim, or ranges as long as length, with weights.
func (s *scope) weighted(t *tensor.Tensor, at int, length int64, starts []int64, weights ...*tensor.Tensor) *tensor.Tensor {
	var total *tensor.Tensor
	for i, start := range starts {
		term := s.Mul(s.Narrow(t, int64(at), start, length), weights[i])
		if total == nil {
			total = term
		} else {
			total = s.Add(total, term)
		}
	}
	return total
}

func (s *scope) evenGradient(t *tensor.Tensor, at int, distance dtype.Scalar, edgeOrder int64) *tensor.Tensor {
	n := t.Sizes()[at]
	h := s.Number(distance)
	diff := func(a, b, length int64) *tensor.Tensor {
		return s.Sub(s.Narrow(t, int64(at), a, length), s.Narrow(t, int64(at), b, length))
	}
	inside := s.Mul(s.Div(diff(min(2, n), 0, max(n-2, 0)), h), s.FloatNumber(0.5))
	if edgeOrder == 1 {
		return s.Cat([]*tensor.Tensor{s.Div(diff(1, 0, 1), h), inside, s.Div(diff(n-1, n-2, 1), h)}, int64(at))
	}
	end := func(a, b, c int64, sign float64) *tensor.Tensor {
		return s.Div(s.weighted(t, at, 1, []int64{a, b, c}, s.FloatNumber(-1.5*sign), s.FloatNumber(2*sign), s.FloatNumber(-0.5*sign)), h)
	}
	return s.Cat([]*tensor.Tensor{end(0, 1, 2, 1), inside, end(n-1, n-2, n-3, -1)}, int64(at))
}

func (s *scope) unevenGradient(t *tensor.Tensor, at int, x *tensor.Tensor, edgeOrder int64) *tensor.Tensor {
	n := t.Sizes()[at]
	along := slices.Repeat([]int64{1}, t.Dim())
	along[at] = n - 1
	gaps := s.AsShape(s.Sub(s.Narrow(x, 0, 1, n-1), s.Narrow(x, 0, 0, n-1)), along...)
	gap := func(i int64) *tensor.Tensor { return s.Narrow(gaps, int64(at), i, 1) }
	// The weights of three adjacent samples with gaps p and q between them, for the derivative at the middle one.
	m := max(n-2, 0)
	p, q := s.Narrow(gaps, int64(at), 0, m), s.Narrow(gaps, int64(at), min(1, n-1), m)
	both := s.Add(p, q)
	inside := s.weighted(t, at, m, []int64{0, min(1, n), min(2, n)},
		s.negative(s.Div(q, s.Mul(p, both))), s.Div(s.Sub(q, p), s.Mul(p, q)), s.Div(p, s.Mul(q, both)))
	slope := func(i int64) *tensor.Tensor {
		return s.Div(s.Sub(s.Narrow(t, int64(at), i+1, 1), s.Narrow(t, int64(at), i, 1)), gap(i))
	}
	if edgeOrder == 1 {
		return s.Cat([]*tensor.Tensor{slope(0), inside, slope(n - 2)}, int64(at))
	}
	// At an end: p is the gap next to it, q the following one.
	end := func(p, q *tensor.Tensor, a, b, c int64, mirrored bool) *tensor.Tensor {
		both := s.Add(p, q)
		u, v, w := s.negative(s.Div(s.Add(both, p), s.Mul(p, both))), s.Div(both, s.Mul(p, q)), s.negative(s.Div(p, s.Mul(q, both)))
		if mirrored {
			u, v, w = s.negative(u), s.negative(v), s.negative(w)
		}
		return s.weighted(t, at, 1, []int64{a, b, c}, u, v, w)
	}
	return s.Cat([]*tensor.Tensor{end(gap(0), gap(1), 0, 1, 2, false), inside, end(gap(n-2), gap(n-3), n-1, n-2, n-3, true)}, int64(at))
}

func (s *scope) negative(t *tensor.Tensor) *tensor.Tensor { return s.Neg(t) }
