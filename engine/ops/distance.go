package ops

import (
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
	"github.com/libtensor/libtensor/engine/view"
)

var (
	distanceKernel  = kernelapi.Distance
	euclideanKernel = kernelapi.Euclidean
)

// manyRows is the number of rows from which on the Euclidean distance is taken from products by default, as in PyTorch.
const manyRows = 26

// ByProducts reports whether Euclidean distances of this number of rows are computed from matrix products.
func ByProducts(op, mode string, rows, columns int64) (bool, error) {
	switch mode {
	case "", "use_mm_for_euclid_dist_if_necessary":
		return max(rows, columns) >= manyRows, nil
	case "use_mm_for_euclid_dist":
		return true, nil
	case "donot_use_mm_for_euclid_dist":
		return false, nil
	}
	return false, status.Valuef("%s: %q is not a valid value for compute_mode; use 'use_mm_for_euclid_dist_if_necessary', 'use_mm_for_euclid_dist' or 'donot_use_mm_for_euclid_dist'",
		op, mode)
}

// Cdist returns the p-norm of the difference of every row of x1 and every row of x2, matrix by matrix. If mode requires it, or permits it
// and there are many rows, Euclidean distances are the roots of |a|^2 - 2ab + |b|^2.
func Cdist(x1, x2 *tensor.Tensor, p float64, mode string) (_ *tensor.Tensor, err error) {
	const op = "cdist"
	d := resultType(x1, x2)
	switch {
	case !d.IsFloatingPoint() || d.IsReducedFloat() || !x1.DType().IsFloatingPoint() || !x2.DType().IsFloatingPoint():
		return nil, status.Runtimef("%s: only supports float32 and float64, got %v and %v", op, x1.DType(), x2.DType())
	case x1.Dim() < 2 || x2.Dim() < 2:
		return nil, status.Runtimef("%s: needs at least 2D tensors, got shapes %v and %v", op, x1.Sizes(), x2.Sizes())
	case x1.Sizes()[x1.Dim()-1] != x2.Sizes()[x2.Dim()-1]:
		return nil, status.Runtimef("%s: x1 and x2 must have the same number of columns, got %d and %d", op, x1.Sizes()[x1.Dim()-1],
			x2.Sizes()[x2.Dim()-1])
	case !(p >= 0):
		return nil, status.Runtimef("%s: only supports non-negative p values, got %v", op, p)
	}
	if _, err := tensoriter.Device(op, x1, x2); err != nil {
		return nil, err
	}
	split := func(t *tensor.Tensor) (batch []int64, rows int64) {
		return t.Sizes()[:t.Dim()-2], t.Sizes()[t.Dim()-2]
	}
	batch1, rows := split(x1)
	batch2, columns := split(x2)
	width := x1.Sizes()[x1.Dim()-1]
	batch, err := shape.Broadcast(op, batch1, batch2)
	if err != nil {
		return nil, err
	}
	products, err := ByProducts(op, mode, rows, columns)
	if err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	compute := d.Compute()
	whole := func(t *tensor.Tensor, n int64) *tensor.Tensor {
		t = s.Track(view.Expand(op, t, append(slices.Clone(batch), n, width)))
		return s.castRowMajor(t, compute)
	}
	a, b := whole(x1, rows), whole(x2, columns)
	out := s.newEmpty(a, compute, append(slices.Clone(batch), rows, columns)...)
	k := distanceKernel
	if products && p == 2 && out.Numel() > 0 {
		ofA, ofB := s.multiplyRows(out, a, b)
		if !s.hasInexactSquares(a, ofA) && !s.hasInexactSquares(b, ofB) {
			k, a, b = euclideanKernel, ofA, ofB
		}
	}
	s.Check(backend.On(out).Distance(op, backend.Distance{Kernel: k, To: out, A: a, B: b, P: p}))
	return s.writeResult(nil, s.castRowMajor(out, d))
}

// Pdist returns the p-norm of the difference of every two rows of a matrix, those of a row to the later ones after each other.
func Pdist(self *tensor.Tensor, p float64) (_ *tensor.Tensor, err error) {
	const op = "pdist"
	d := self.DType()
	switch {
	case d != dtype.Float32 && d != dtype.Float64:
		return nil, status.Runtimef("%s: only supports float32 and float64, got %v", op, d)
	case self.Dim() != 2:
		return nil, status.Runtimef("%s: only supports 2D tensors, got shape %v", op, self.Sizes())
	case !(p >= 0):
		return nil, status.Runtimef("%s: only supports non-negative p values, got %v", op, p)
	}
	n := self.Sizes()[0]
	s := newScope(op)
	defer s.Close(&err)
	rows := s.castRowMajor(self, d)
	out := s.newEmpty(rows, d, n*max(n-1, 0)/2)
	s.Check(backend.On(out).Distance(op, backend.Distance{Kernel: distanceKernel, To: out, A: rows, P: p}))
	return s.writeResult(nil, out)
}

// sumRowSquares returns the sum of the squares in every row of t.
func (s *scope) sumRowSquares(t *tensor.Tensor) *tensor.Tensor {
	squares := s.Track(Mul(nil, t, t))
	return s.Track(Sum(nil, squares, []int64{-1}, false, dtype.None))
}

// hasInexactSquares reports whether squared norms of the rows of t, which are finite, overflow, or all underflow.
func (s *scope) hasInexactSquares(t, squares *tensor.Tensor) bool {
	if t.Device().Type != device.CPU {
		return false
	}
	low := scaledNorm(normTwoOf, t.DType(), 2).low
	largest := 0.0
	fails := s.hasElement(squares, func(v float64) bool {
		largest = max(largest, v)
		return math.IsInf(v, 1)
	})
	return fails || largest < low*low && s.hasElement(t, func(v float64) bool { return v != 0 })
}

// multiplyRows sets out to -2 times the products of the rows of a and b, matrix by matrix, and returns the rows' squared norms.
func (s *scope) multiplyRows(out, a, b *tensor.Tensor) (ofA, ofB *tensor.Tensor) {
	n := out.Dim()
	rows, columns, width := out.Sizes()[n-2], out.Sizes()[n-1], a.Sizes()[n-1]
	batch := shape.Product(out.Sizes()[:n-2])
	whole, left := s.reshapeTo(out, batch, rows, columns), s.reshapeTo(a, batch, rows, width)
	right := s.reshapeTo(b, batch, columns, width)
	right = s.Track(view.Transpose(s.Op, nil, right, 1, 2))
	s.multiplyMatrices(whole, nil, left, right, dtype.IntScalar(-2), zero)
	return s.sumRowSquares(a), s.sumRowSquares(b)
}
