// Package sparse is the backend of the sparse layouts COO, CSR, CSC, BSR and BSC. A sparse tensor consists of dense tensors of indices and values
// (tensor.Parts), and its operators call dense operators on these through the dispatcher, so that they support the same
// autograd, devices and dtypes. Operators on indices use coordinates, to which every layout is converted.
package sparse

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// scope calls the dispatcher for one composite operator: it owns the intermediate results, and after the first error its methods do nothing.
type scope struct{ *build.Builder }

func newScope(c dispatch.Context, op string) *scope { return &scope{build.New(c, op)} }

// isSparse reports whether a tensor has parts.
func isSparse(t *tensor.Tensor) bool { return t != nil && t.Parts() != nil }

// result returns t, or replaces the entries of out by those of t if out is not nil.
func (s *scope) result(out, t *tensor.Tensor) (*tensor.Tensor, error) {
	switch {
	case out == nil:
		return s.Return(t)
	case !isSparse(out) && !isSparse(t):
		t = s.MatchLazyBits(t, out)
		r, err := ops.Deliver(s.Op, out, t)
		dispatch.BumpVersion(err, out)
		return r, err
	case isSparse(out) && isSparse(t):
		if out.DType() != t.DType() && dtype.CanCast(t.DType(), out.DType()) {
			t = s.CastTo(t, out.DType())
		}
		if out.Layout() != t.Layout() {
			t = s.as(t, formOf(out))
		}
		s.Check(out.Replace(s.Op, t.Sizes(), *t.Parts()))
		return out, nil
	}
	s.Failf("the result has layout %v and cannot be written to a tensor of layout %v", t.Layout(), out.Layout())
	return nil, nil
}

// The steps.

// times returns a times a number, itself for 1.
func (s *scope) times(a *tensor.Tensor, v int64) *tensor.Tensor {
	if v == 1 {
		return a
	}
	return s.Mul(a, s.IntNumber(v))
}

func (s *scope) zeros(like *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	return s.ZerosWith(sizes, like.DType(), tensor.NoLayout, like.Device())
}

func (s *scope) arange(n int64, dev device.Device) *tensor.Tensor {
	return s.ArangeWith(dtype.IntScalar(n), dtype.Int64, tensor.NoLayout, dev)
}

// take returns the entries of t along dim at the positions in a vector.
func (s *scope) take(t *tensor.Tensor, dim int64, index *tensor.Tensor) *tensor.Tensor {
	return s.IndexSelect(t, dim, index)
}

// gather sums the entries of source at n positions, selected by index, with 16-bit floats accumulated in a wider dtype.
func (s *scope) gather(n int64, index, source *tensor.Tensor) *tensor.Tensor {
	d := source.DType()
	source = s.CastTo(source, d.Compute())
	to := s.zeros(source, append([]int64{n}, source.Sizes()[1:]...)...)
	return s.CastTo(s.IndexAdd(to, 0, index, source), d)
}

// quotient and remainder are of integers that are not negative.
func (s *scope) quotient(t *tensor.Tensor, by int64) *tensor.Tensor {
	if by == 1 {
		return t
	}
	return s.FloorDivide(t, s.IntNumber(by))
}

func (s *scope) remainder(t *tensor.Tensor, by int64) *tensor.Tensor {
	return s.Remainder(t, s.IntNumber(by))
}

// sorted returns a vector in ascending order and the former position of each element. The sort is stable.
func (s *scope) sorted(t *tensor.Tensor) (inOrder, places *tensor.Tensor) {
	inOrder, places, err := s.C.SortStable(nil, nil, t, ops.True, 0, false)
	s.Track(inOrder, err)
	s.Track(places, nil)
	return inOrder, places
}

// integer returns the only element of t; unknown on meta, and after an error.
func (s *scope) integer(t *tensor.Tensor) (v int64, known bool) {
	if !backend.Known(t) {
		return 0, false
	}
	x, err := s.C.Item(t)
	s.Check(err)
	return x.Position(), true
}

// all reports whether a tensor of bools has no false; it returns true without data.
func (s *scope) all(t *tensor.Tensor) bool {
	v, known := s.integer(s.CastTo(s.All(t, nil, false), dtype.Int64))
	return !known || v != 0
}
