package conjugate

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// setRules sets the operators that have a rule.
func setRules(b *dispatch.Backend) {
	b.Real, b.Imag, b.ViewAsReal, b.ViewDtype = viewReal, viewImag, viewAsReal, viewDtype
	b.ResolveConj, b.ResolveNeg = resolveConj, resolveNeg
	b.Clone, b.Copy, b.Fill, b.Zero = cloneTensor, copyTensor, fillTensor, zeroTensor
	b.IndexSet, b.IndexSetScalar = indexSet, indexSetScalar
	b.ToString = toString
	b.Add, b.Sub, b.Mul = addTensors, subTensors, mulTensors
	b.Mm, b.Bmm, b.Addmm, b.Baddbmm, b.Mv = mm, bmm, addmm, baddbmm, mv
	b.Dot, b.Vdot, b.Matmul = dot, vdot, matmul
}

// viewReal is Real: the conjugate bit does not change the real part.
func viewReal(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	return viewPart(c, self, dispatch.Context.Real, self.Lazy()&^keyRemovedByReal(self))
}

// viewImag is Imag: the imaginary part of a conjugated tensor is a negated view.
func viewImag(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	lazy := self.Lazy() & tensor.Negative
	if self.Lazy()&tensor.Conjugate != 0 {
		lazy ^= tensor.Negative
	}
	return viewPart(c, self, dispatch.Context.Imag, lazy)
}

// keyRemovedByReal returns the key that Real removes from self.
func keyRemovedByReal(self *tensor.Tensor) tensor.DispatchKeys {
	if self.DType().IsComplex() {
		return tensor.Conjugate
	}
	return 0
}

func viewPart(c dispatch.Context, self *tensor.Tensor, view func(dispatch.Context, *tensor.Tensor) (*tensor.Tensor, error),
	lazy tensor.DispatchKeys) (*tensor.Tensor, error) {
	plain := self.WithLazy(0)
	defer plain.Release()
	made, err := view(c.Excluding(tensor.Lazy), plain)
	if err == nil {
		made.SetLazy(lazy)
	}
	return made, err
}

// viewAsReal is ViewAsReal, which returns an error for conjugated tensors.
func viewAsReal(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Lazy()&tensor.Conjugate != 0 {
		return nil, status.Runtimef("view_as_real: view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it as real, use self.resolve_conj(); " +
			"however, be warned that the resulting tensor will NOT alias the original.")
	}
	return viewPart(c, self, dispatch.Context.ViewAsReal, self.Lazy())
}

// viewDtype is ViewDtype, which returns an error, because it would reinterpret the unresolved bytes.
func viewDtype(c dispatch.Context, self *tensor.Tensor, d dtype.DType) (*tensor.Tensor, error) {
	if self.Lazy()&tensor.Conjugate != 0 {
		return nil, status.Runtimef("view: torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype.")
	}
	return nil, status.Runtimef("view: torch.Tensor.view is not supported for tensors with negative bit set when converting to a different dtype.")
}

// resolveConj is ResolveConj.
func resolveConj(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	return resolveKey(c, "resolve_conj", self, tensor.Conjugate)
}

// resolveNeg is ResolveNeg.
func resolveNeg(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	return resolveKey(c, "resolve_neg", self, tensor.Negative)
}

// resolveKey returns a resolved copy of a tensor with the key, and an alias of self otherwise.
func resolveKey(c dispatch.Context, op string, self *tensor.Tensor, key tensor.DispatchKeys) (_ *tensor.Tensor, err error) {
	if self.Lazy()&key == 0 {
		return self.Alias(), nil
	}
	s := newScope(c, op)
	defer s.Close(&err)
	return s.Return(s.resolveOperand(self))
}

// cloneTensor implements Clone: the copy keeps the keys of self.
func cloneTensor(c dispatch.Context, self *tensor.Tensor, f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	s := newScope(c, "clone")
	defer s.Close(&err)
	plain := s.Track(self.WithLazy(0), nil)
	made := s.CloneWith(plain, f)
	s.applyKeys(made, self.Lazy())
	return s.Return(made)
}

// copyTensor implements Copy. It copies the resolved source, and then conjugates or negates the destination in memory. If both have the
// same keys and dtype, it copies memory.
func copyTensor(c dispatch.Context, self, src *tensor.Tensor, async bool) (err error) {
	s := newScope(c, "copy_")
	defer s.Close(&err)
	lazy := self.Lazy()
	plain := s.Track(self.WithLazy(0), nil)
	if lazy == src.Lazy() && self.DType() == src.DType() {
		src, lazy = s.Track(src.WithLazy(0), nil), 0
	}
	src = s.resolveOperand(src)
	s.Copy(plain, src, async && lazy == 0)
	s.applyKeys(plain, lazy)
	return nil
}

// fillTensor implements Fill: the value is conjugated or negated before it is written to memory.
func fillTensor(c dispatch.Context, out, self, value *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "fill_")
	defer s.Close(&err)
	value = s.resolveOperand(value)
	if out == nil || out.Lazy() == 0 {
		self = s.resolveOperand(self)
		return s.ReturnNew(s.C.Fill(out, self, value))
	}
	plain := s.Track(out.WithLazy(0), nil)
	value = s.valueToWrite(value, out)
	s.CheckWritten(s.C.Fill(plain, plain, value))
	return out, nil
}

// zeroTensor implements Zero.
func zeroTensor(c dispatch.Context, self *tensor.Tensor) (err error) {
	s := newScope(c, "zero_")
	defer s.Close(&err)
	plain := s.Track(self.WithLazy(0), nil)
	value := s.valueToWrite(s.Number(dtype.IntScalar(0)), self)
	s.CheckWritten(s.C.Fill(plain, plain, value))
	return nil
}

// valueToWrite returns the zero-dimensional tensor to write to the memory of t so that its elements are value. Wrapped numbers stay
// wrapped numbers, which may be written to tensors with overlapping elements.
func (s *scope) valueToWrite(value, t *tensor.Tensor) *tensor.Tensor {
	if value.IsWrappedNumber() {
		if v, ok := scalarToWrite(value.Item(), t); ok {
			return s.Number(v)
		}
	}
	made := s.Track(tensor.Empty(s.Op, nil, t.DType(), t.Device()))
	s.CheckWritten(s.C.Fill(made, made, value))
	s.applyKeys(made, t.Lazy())
	return made
}

// scalarToWrite returns the scalar to write to the memory of t so that its elements are v. It returns false for integer tensors, and for a
// complex v and a real t.
func scalarToWrite(v dtype.Scalar, t *tensor.Tensor) (dtype.Scalar, bool) {
	lazy := t.Lazy()
	switch d := t.DType(); {
	case d.IsComplex():
		z := v.Complex()
		if lazy&tensor.Conjugate != 0 {
			z = complex(real(z), -imag(z))
		}
		if lazy&tensor.Negative != 0 {
			z = complex(-real(z), -imag(z))
		}
		return dtype.ComplexScalar(z), true
	case d.IsFloatingPoint() && v.Kind != dtype.KindComplex:
		return dtype.FloatScalar(-v.Float()), true
	}
	return v, false
}

// runPointwise executes an elementwise operator of two tensors without a boxed call, for speed: derivatives multiply by conjugates.
func runPointwise(c dispatch.Context, op string, out, self, other *tensor.Tensor,
	run func(c dispatch.Context, out, self, other *tensor.Tensor) (*tensor.Tensor, error)) (_ *tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	return s.runWithOut(out, func(to *tensor.Tensor) (*tensor.Tensor, error) {
		read := func(t *tensor.Tensor) *tensor.Tensor {
			if t == out {
				return to
			}
			return s.resolveOperand(t)
		}
		a, b := read(self), read(other)
		return run(c.Excluding(tensor.Lazy), to, a, b)
	})
}

func mulTensors(c dispatch.Context, out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return runPointwise(c, "mul", out, self, other, dispatch.Context.Mul)
}

func addTensors(c dispatch.Context, out, self, other *tensor.Tensor, alpha dtype.Scalar) (*tensor.Tensor, error) {
	return runPointwise(c, "add", out, self, other, func(c dispatch.Context, out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
		return c.Add(out, self, other, alpha)
	})
}

func subTensors(c dispatch.Context, out, self, other *tensor.Tensor, alpha dtype.Scalar) (*tensor.Tensor, error) {
	return runPointwise(c, "sub", out, self, other, func(c dispatch.Context, out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
		return c.Sub(out, self, other, alpha)
	})
}

// indexSet is IndexSet: the value is conjugated or negated, in the dtype of self, before it is written to memory.
func indexSet(c dispatch.Context, self *tensor.Tensor, items []ops.IndexItem, value *tensor.Tensor) (err error) {
	if value.IsWrappedNumber() {
		return indexSetScalar(c, self, items, value.Item())
	}
	s := newScope(c, "index_put_")
	defer s.Close(&err)
	items, value = s.resolveItems(items), s.resolveOperand(value)
	lazy := self.Lazy()
	if lazy != 0 && value.DType() != self.DType() {
		made := s.resolveOperand(self)
		s.IndexSet(made, items, value)
		s.writeBack(self, made)
		return nil
	}
	if lazy != 0 {
		value = s.resolveOperand(s.Track(value.WithLazy(lazy), nil))
	}
	plain := s.Track(self.WithLazy(0), nil)
	s.IndexSet(plain, items, value)
	return nil
}

// indexSetScalar is IndexSetScalar.
func indexSetScalar(c dispatch.Context, self *tensor.Tensor, items []ops.IndexItem, value dtype.Scalar) (err error) {
	s := newScope(c, "index_put_")
	defer s.Close(&err)
	items = s.resolveItems(items)
	plain := s.Track(self.WithLazy(0), nil)
	if self.Lazy() != 0 {
		made := s.valueToWrite(s.Number(value), self)
		switch {
		case !made.IsWrappedNumber():
			return s.C.IndexSet(plain, items, made)
		}
		value = made.Item()
	}
	return s.C.IndexSetScalar(plain, items, value)
}

// resolveItems returns an index with resolved tensors.
func (s *scope) resolveItems(items []ops.IndexItem) []ops.IndexItem {
	made := make([]ops.IndexItem, len(items))
	for i, item := range items {
		if item.Tensor != nil {
			item.Tensor = s.resolveOperand(item.Tensor)
		}
		made[i] = item
	}
	return made
}

// toString implements ToString for the resolved tensor, with the autograd metadata and names of self.
func toString(c dispatch.Context, self *tensor.Tensor, precision, threshold, edgeItems, lineWidth int64,
	sci ops.Bool) (_ string, err error) {
	s := newScope(c, "to_string")
	defer s.Close(&err)
	made := s.resolveOperand(self)
	if h := self.AutogradMeta(); h != nil {
		h.Retain()
		made.SetAutogradMeta(h)
	}
	made.SetNames(self.Names())
	return s.C.ToString(made, precision, threshold, edgeItems, lineWidth, sci)
}
