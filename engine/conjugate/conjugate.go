// Package conjugate is the dispatch layer of the keys Conjugate and Negative, PyTorch's conjugate and negative bits: views whose elements
// are the conjugates, or the negatives, of the elements in memory. An operator without a rule runs on resolved copies of such operands;
// results that it writes to a copy are copied back to the view. View operators keep the keys. Matrix products pass conjugated operands to
// BLAS without a copy (products.go).
package conjugate

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

func init() {
	kind := func(name, instead string) *dispatch.TensorKind {
		return &dispatch.TensorKind{Name: name, Instead: instead, Serve: newBackend}
	}
	dispatch.Register(tensor.Conjugate, kind("conjugated", "call resolve_conj() first"))
	dispatch.Register(tensor.Negative, kind("negated", "call resolve_neg() first"))
}

// backend serves all operators except composite ones, whose intermediate ops are dispatched to this layer.
func newBackend() dispatch.Backend {
	b := dispatch.BoxedBackend(runBoxed, func(o *dispatch.Operator) bool { return !o.Composed() })
	setRules(&b)
	return b
}

// untouched lists operators that read no elements of the tensor, or that handle the keys themselves.
var untouched = map[string]bool{
	"is_contiguous": true, "is_set_to": true, "is_conj": true, "is_neg": true, "is_read_only": true, "is_shared": true, "is_pinned": true,
	"resize_": true, "resize_as_": true, "set_": true, "data_ptr": true, "untyped_storage": true, "lend": true, "share_memory_": true,
	"record_stream": true,
	"empty_like":    true, "zeros_like": true, "ones_like": true, "full_like": true,
	"new_empty": true, "new_empty_strided": true, "new_full": true, "new_zeros": true, "new_ones": true,
	"rename_": true, "save": true, "save_bytes": true, "save_dict": true,
}

// scope owns the tensors that a call of this layer creates.
type scope struct{ *build.Builder }

// newScope returns a scope whose context is after this layer and those of autograd and names.
func newScope(c dispatch.Context, op string) *scope {
	return &scope{build.New(c.Excluding(tensor.Lazy|tensor.Gradient|tensor.Named), op)}
}

// runBoxed executes an operator without a rule.
func runBoxed(c dispatch.Context, call *dispatch.Call) (err error) {
	past := c.Excluding(tensor.Lazy)
	switch {
	case untouched[call.Name]:
		return call.Run(past)
	case call.Is(dispatch.View):
		return runView(past, call)
	}
	s := newScope(c, call.Name)
	defer s.Close(&err)
	if call.Is(dispatch.MaybeView) && len(call.Written()) == 0 {
		if done, err := s.runMaybeView(past, call); done || err != nil {
			return err
		}
	}
	return s.runResolved(past, call)
}

// runView executes a view operator. The result gets the exclusive or of the keys of the operand and of the view. An in-place view operator
// changes only the geometry.
func runView(past dispatch.Context, call *dispatch.Call) (err error) {
	if len(call.Written()) > 0 {
		return call.Run(past)
	}
	at := call.First()
	self := dispatch.Value[*tensor.Tensor](call, at)
	s := newScope(past, call.Name)
	defer s.Close(&err)
	back := call.Put(func(i int, t *tensor.Tensor) *tensor.Tensor {
		if i == at {
			return s.Track(t.WithLazy(0), nil)
		}
		return s.resolveOperand(t)
	})
	defer back.Restore()
	if err := call.Run(past); err != nil {
		return err
	}
	for _, t := range call.Made() {
		t.SetLazy(t.Lazy() ^ self.Lazy())
	}
	return nil
}

// runMaybeView executes an operator, such as reshape, that returns a view of the first operand if possible and a copy otherwise. It
// returns false if the result has another dtype.
func (s *scope) runMaybeView(past dispatch.Context, call *dispatch.Call) (done bool, err error) {
	at := call.First()
	self := dispatch.Value[*tensor.Tensor](call, at)
	if self.Lazy() == 0 {
		return false, nil
	}
	back := call.Put(func(i int, t *tensor.Tensor) *tensor.Tensor {
		if i == at {
			return s.Track(t.WithLazy(0), nil)
		}
		return s.resolveOperand(t)
	})
	defer back.Restore()
	if err := call.Run(past); err != nil {
		return false, err
	}
	result := call.Results[0].(**tensor.Tensor)
	made := *result
	switch {
	case made.Storage() == self.Storage():
		made.SetLazy(self.Lazy())
	case made.DType() != self.DType():
		made.Release()
		*result = nil
		return false, nil
	default:
		s.applyKeys(made, self.Lazy())
	}
	return true, nil
}

// runResolved executes an operator on resolved copies, and copies results that were written to a copy back to the view.
func (s *scope) runResolved(past dispatch.Context, call *dispatch.Call) error {
	written := map[*tensor.Tensor]*tensor.Tensor{}
	for _, t := range call.Written() {
		if t.Lazy() != 0 && written[t] == nil {
			s.Check(tensoriter.Fillable(s.Op, t))
			written[t] = s.resolveOperand(t)
		}
	}
	back := call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor {
		if made := written[t]; made != nil {
			return made
		}
		return s.resolveOperand(t)
	})
	defer back.Restore()
	if err := call.Run(past); err != nil {
		return err
	}
	for t, made := range written {
		call.Replace(made, t)
		s.writeBack(t, made)
	}
	return nil
}

// writeBack copies made, a resolved copy of the view t that an operator has written to, back to t.
func (s *scope) writeBack(t, made *tensor.Tensor) {
	if !slices.Equal(t.Sizes(), made.Sizes()) {
		s.Check(t.ResizeStrided(s.Op, made.Sizes(), made.Strides()))
	}
	s.applyKeys(made, t.Lazy())
	plain := s.Track(t.WithLazy(0), nil)
	s.Copy(plain, made, false)
}

// resolveOperand returns a copy of t without the keys, or t if it has none.
func (s *scope) resolveOperand(t *tensor.Tensor) *tensor.Tensor {
	lazy := t.Lazy()
	if lazy == 0 {
		return t
	}
	plain := t.Plain()
	plain.SetLazy(0)
	made := s.Track(plain, nil)
	if lazy&tensor.Conjugate != 0 {
		made = s.ConjPhysical(made)
	}
	if lazy&tensor.Negative != 0 {
		made = s.Neg(made)
	}
	made.CountLike(t)
	return made
}

// applyKeys conjugates or negates the elements of t in memory, in place, and keeps the keys of t. The write does not increment the version
// of t.
func (s *scope) applyKeys(t *tensor.Tensor, lazy tensor.DispatchKeys) {
	plain := s.Track(t.WithLazy(0), nil)
	plain.CountApart()
	if lazy&tensor.Conjugate != 0 {
		s.CheckWritten(s.C.ConjPhysical(plain, plain))
	}
	if lazy&tensor.Negative != 0 {
		s.CheckWritten(s.C.Neg(plain, plain))
	}
}
