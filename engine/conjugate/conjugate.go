// Package conjugate is the layer of the keys Conjugate and Negative: views whose elements are the conjugates, or the negatives, of what their
// memory has. An operator without a rule runs on computed copies of such operands; what it writes to them is copied back through the view. Views of
// them have the same keys, and products read conjugated matrices where they are (products.go).
package conjugate

import (
	"slices"

	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/tensor"
)

func init() {
	kind := func(name, instead string) *aten.Kind {
		return &aten.Kind{Name: name, Instead: instead, Serve: backend}
	}
	aten.Register(tensor.Conjugate, kind("conjugated", "resolve_conj() computes the elements"))
	aten.Register(tensor.Negative, kind("negated", "resolve_neg() computes the elements"))
}

// backend has all operators but compositions, whose steps know such views, and those that look at no element.
func backend() aten.Backend {
	b := aten.Serving(serve, func(o *aten.Operator) bool { return !o.Composed() })
	withRules(&b)
	return b
}

// untouched are operators that read no elements of the tensor, or that read its keys themselves.
var untouched = map[string]bool{
	"is_contiguous": true, "is_set_to": true, "is_conj": true, "is_neg": true, "is_read_only": true, "is_shared": true, "is_pinned": true,
	"resize_": true, "resize_as_": true, "set_": true, "data_ptr": true, "untyped_storage": true, "lend": true, "share_memory_": true, "record_stream": true,
	"empty_like": true, "zeros_like": true, "ones_like": true, "full_like": true,
	"new_empty": true, "new_empty_strided": true, "new_full": true, "new_zeros": true, "new_ones": true,
	"rename_": true, "save": true, "save_bytes": true, "save_dict": true,
}

// scope owns what a call of the layer makes.
type scope struct {
	owner.Scope
	c aten.Ctx // past the layer
}

func within(c aten.Ctx, op string) *scope {
	return &scope{owner.Scope{Op: op}, c.Past(tensor.Lazy | tensor.Gradient | tensor.Named)}
}

// serve makes the call of an operator without a rule.
func serve(c aten.Ctx, call *aten.Call) error {
	past := c.Past(tensor.Lazy)
	switch {
	case untouched[call.Name]:
		return call.Run(past)
	case call.Is(aten.View):
		return follow(past, call)
	}
	s := within(c, call.Name)
	defer s.Close()
	if call.Is(aten.MaybeView) && len(call.Written()) == 0 {
		if done, err := s.share(past, call); done || err != nil {
			return err
		}
	}
	return s.compute(past, call)
}

// follow makes a view: its elements are conjugated, or negated, where either the view or the tensor has them so. In place it changes the geometry alone.
func follow(past aten.Ctx, call *aten.Call) error {
	if len(call.Written()) > 0 {
		return call.Run(past)
	}
	at := call.First()
	self := aten.Value[*tensor.Tensor](call, at)
	s := within(past, call.Name)
	defer s.Close()
	back := call.Put(func(i int, t *tensor.Tensor) *tensor.Tensor {
		if i == at {
			return s.Keep(t.WithLazy(0), nil)
		}
		return s.resolved(t)
	})
	defer back()
	if s.Err != nil {
		return s.Err
	}
	if err := call.Run(past); err != nil {
		return err
	}
	for _, t := range call.Made() {
		t.SetLazy(t.Lazy() ^ self.Lazy())
	}
	return nil
}

// share makes the call of an operator whose result shares the memory of the first tensor where it can, and is of its elements otherwise. It reports
// false where the result is of another dtype.
func (s *scope) share(past aten.Ctx, call *aten.Call) (done bool, err error) {
	at := call.First()
	self := aten.Value[*tensor.Tensor](call, at)
	if self.Lazy() == 0 {
		return false, nil
	}
	back := call.Put(func(i int, t *tensor.Tensor) *tensor.Tensor {
		if i == at {
			return s.Keep(t.WithLazy(0), nil)
		}
		return s.resolved(t)
	})
	defer back()
	if s.Err != nil {
		return false, s.Err
	}
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
		s.applyTo(made, self.Lazy())
	}
	return true, s.Err
}

// compute makes the call on computed elements. What is written to goes back through the view.
func (s *scope) compute(past aten.Ctx, call *aten.Call) error {
	written := map[*tensor.Tensor]*tensor.Tensor{}
	for _, t := range call.Written() {
		if t.Lazy() != 0 && written[t] == nil {
			s.Do(func() error { return iter.Fillable(s.Op, t) })
			written[t] = s.resolved(t)
		}
	}
	back := call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor {
		if made := written[t]; made != nil {
			return made
		}
		return s.resolved(t)
	})
	defer back()
	if s.Err != nil {
		return s.Err
	}
	if err := call.Run(past); err != nil {
		return err
	}
	for t, made := range written {
		call.Replace(made, t)
		s.through(t, made)
	}
	return s.Err
}

// through writes what a copy has become to the view that it is of.
func (s *scope) through(t, made *tensor.Tensor) {
	if s.Err == nil && !slices.Equal(t.Sizes(), made.Sizes()) {
		s.Do(func() error { return t.ResizeStrided(s.Op, made.Sizes(), made.Strides()) })
	}
	s.applyTo(made, t.Lazy())
	plain := s.Keep(t.WithLazy(0), nil)
	s.Do(func() error { return s.c.Copy(plain, made, false) })
}

// resolved is t with its elements computed: t itself where they are.
func (s *scope) resolved(t *tensor.Tensor) *tensor.Tensor {
	lazy := t.Lazy()
	if lazy == 0 || s.Err != nil {
		return t
	}
	plain := t.Plain()
	plain.SetLazy(0)
	made := s.Keep(plain, nil)
	if lazy&tensor.Conjugate != 0 {
		made = s.Step(func() (*tensor.Tensor, error) { return s.c.ConjPhysical(nil, made) })
	}
	if lazy&tensor.Negative != 0 {
		made = s.Step(func() (*tensor.Tensor, error) { return s.c.Neg(nil, made) })
	}
	if s.Err == nil {
		made.CountLike(t)
	}
	return made
}

// applyTo conjugates or negates the elements of t, whose keys stay, in place. The write is counted for the alias alone.
func (s *scope) applyTo(t *tensor.Tensor, lazy tensor.Keys) {
	if s.Err != nil {
		return
	}
	plain := s.Keep(t.WithLazy(0), nil)
	plain.CountApart()
	if lazy&tensor.Conjugate != 0 {
		s.Do(func() error {
			_, err := s.c.ConjPhysical(plain, plain)
			return err
		})
	}
	if lazy&tensor.Negative != 0 {
		s.Do(func() error {
			_, err := s.c.Neg(plain, plain)
			return err
		})
	}
}
