// Package sparse is the backend of the sparse layouts COO, CSR, CSC, BSR and BSC. A sparse tensor consists of dense tensors of indices and values
// (tensor.Parts), and its operators call dense operators on these through the dispatcher, so that they support the same
// autograd, devices and dtypes. Operators on indices use coordinates, to which every layout is converted.
package sparse

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/steps"
	"github.com/libtensor/libtensor/engine/tensor"
)

// scope calls the dispatcher for one composite operator: it owns the intermediate results, and after the first error its methods do nothing.
type scope struct{ steps.Steps }

func newScope(c dispatch.Context, op string) *scope { return &scope{steps.Of(c, op)} }

// isSparse reports whether a tensor has parts.
func isSparse(t *tensor.Tensor) bool { return t != nil && t.Parts() != nil }

// result returns t, or replaces the entries of out by those of t if out is not nil.
func (s *scope) result(out, t *tensor.Tensor) (*tensor.Tensor, error) {
	switch {
	case s.Err != nil || out == nil:
		return s.Return(t)
	case !isSparse(out) && !isSparse(t):
		if t = s.ForOutput(t, out); s.Err != nil {
			return nil, s.Err
		}
		r, err := ops.Deliver(s.Op, out, t)
		dispatch.BumpVersion(err, out)
		return r, err
	case isSparse(out) && isSparse(t):
		if out.DType() != t.DType() && dtype.CanCast(t.DType(), out.DType()) {
			t = s.Cast(t, out.DType())
		}
		if s.Err == nil && out.Layout() != t.Layout() {
			t = s.as(t, formOf(out))
		}
		if s.Err == nil {
			s.Fail(out.Replace(s.Op, t.Sizes(), *t.Parts()))
		}
		if s.Err != nil {
			return nil, s.Err
		}
		return out, nil
	}
	s.Failf("the result has layout %v and cannot be written to a tensor of layout %v", t.Layout(), out.Layout())
	return nil, s.Err
}

// The steps.

// times returns a times a number, itself for 1.
func (s *scope) times(a *tensor.Tensor, v int64) *tensor.Tensor {
	if v == 1 {
		return a
	}
	return s.Mul(a, s.Int(v))
}

func (s *scope) zeros(like *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) {
		return s.C.Zeros(nil, sizes, like.DType(), tensor.NoLayout, like.Device())
	})
}

func (s *scope) arange(n int64, dev device.Device) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) {
		return s.C.Arange(nil, dtype.IntScalar(n), dtype.Int64, tensor.NoLayout, dev)
	})
}

// take returns the entries of t along dim at the positions in a vector.
func (s *scope) take(t *tensor.Tensor, dim int64, index *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.C.IndexSelect(nil, t, dim, index) })
}

// gather sums the entries of source at n positions, selected by index, with 16-bit floats accumulated in a wider dtype.
func (s *scope) gather(n int64, index, source *tensor.Tensor) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	d := source.DType()
	if source = s.Cast(source, d.Compute()); s.Err != nil {
		return nil
	}
	to := s.zeros(source, append([]int64{n}, source.Sizes()[1:]...)...)
	return s.Cast(s.Step(func() (*tensor.Tensor, error) { return s.C.IndexAdd(nil, to, 0, index, source, dtype.IntScalar(1)) }), d)
}

// quotient and remainder are of integers that are not negative.
func (s *scope) quotient(t *tensor.Tensor, by int64) *tensor.Tensor {
	if by == 1 {
		return t
	}
	return s.Binary(s.C.FloorDivide, t, s.Int(by))
}

func (s *scope) remainder(t *tensor.Tensor, by int64) *tensor.Tensor {
	return s.Binary(s.C.Remainder, t, s.Int(by))
}

// sorted returns a vector in ascending order and the former position of each element. The sort is stable.
func (s *scope) sorted(t *tensor.Tensor) (inOrder, places *tensor.Tensor) {
	if s.Err != nil {
		return nil, nil
	}
	inOrder, places, err := s.C.SortStable(nil, nil, t, ops.True, 0, false)
	s.Track(inOrder, err)
	s.Track(places, nil)
	return inOrder, places
}

// integer returns the only element of t; unknown on meta, and after an error.
func (s *scope) integer(t *tensor.Tensor) (v int64, known bool) {
	if s.Err != nil || !backend.Known(t) {
		return 0, false
	}
	x, err := s.C.Item(t)
	s.Fail(err)
	return x.Position(), s.Err == nil
}

// all reports whether a tensor of bools has no false; it returns true without data.
func (s *scope) all(t *tensor.Tensor) bool {
	v, known := s.integer(s.Cast(s.Step(func() (*tensor.Tensor, error) { return s.C.All(nil, t, nil, false) }), dtype.Int64))
	return !known || v != 0
}
