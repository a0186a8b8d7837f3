package ops

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

var angle = newPointwise("angle", kernelapi.Angle, realOf)

// ComplexParts makes complex numbers of their parts.
func ComplexParts(out, re, im *tensor.Tensor) (*tensor.Tensor, error) {
	return complexParts.joinPair(out, re, im)
}

// Polar makes complex numbers of absolute values and angles.
func Polar(out, abs, angle *tensor.Tensor) (*tensor.Tensor, error) {
	return polar.joinPair(out, abs, angle)
}

// joinPair runs p on two tensors of one floating dtype.
func (p *pointwise) joinPair(out, a, b *tensor.Tensor) (*tensor.Tensor, error) {
	d := a.DType()
	if !d.IsFloatingPoint() || !b.DType().IsFloatingPoint() {
		return nil, status.NotImplementedf("%s: expected both inputs to be of a floating dtype, but got %v and %v", p.name, d, b.DType())
	}
	if d != b.DType() {
		return nil, status.Runtimef("%s: expected dtype %v for the second argument, but got %v", p.name, d, b.DType())
	}
	if out != nil && out.DType() != d.ToComplex() {
		return nil, status.Runtimef("%s: expected dtype %v for out, but got %v", p.name, d.ToComplex(), out.DType())
	}
	return p.runKernel(out, nil, a, b)
}

// Real views the real parts.
func Real(self *tensor.Tensor) (*tensor.Tensor, error) {
	if !self.DType().IsComplex() {
		return self.Alias(), nil
	}
	return view.Parts("real", self, false)
}

// Imag views the imaginary parts.
func Imag(self *tensor.Tensor) (*tensor.Tensor, error) {
	if !self.DType().IsComplex() {
		return nil, status.Typef("imag: is only implemented for tensors with complex dtypes, but self has dtype %v", self.DType())
	}
	return view.Parts("imag", self, true)
}

// ViewAsReal views complex numbers as pairs.
func ViewAsReal(self *tensor.Tensor) (*tensor.Tensor, error) {
	if !self.DType().IsComplex() {
		return nil, status.Typef("view_as_real: is only supported for complex tensors, but self has dtype %v", self.DType())
	}
	return view.Pairs("view_as_real", self)
}

// ViewAsComplex views pairs as complex numbers.
func ViewAsComplex(self *tensor.Tensor) (*tensor.Tensor, error) {
	const op = "view_as_complex"
	switch d := self.DType(); {
	case d.IsComplex():
		return nil, status.Typef("%s: is only supported for floating dtypes, but self has dtype %v", op, d)
	case d.ToComplex().ToReal() != d || d == dtype.BFloat16:
		return nil, status.NotImplementedf("%s: is only supported for float16, float32 and float64, but self has dtype %v", op, d)
	}
	return view.Complex(op, self)
}

// Conj views the conjugates of complex numbers; a real tensor is its own.
func Conj(self *tensor.Tensor) (*tensor.Tensor, error) {
	if !self.DType().IsComplex() {
		return self.Alias(), nil
	}
	if self.IsWrappedNumber() { // which is read without a layer
		return conjPhysical.runKernel(nil, nil, self)
	}
	return viewLazily("conj", self, tensor.Conjugate)
}

// NegView views the negatives of numbers.
func NegView(self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.DType() == dtype.Bool {
		return nil, status.NotImplementedf("neg_view: negation, the `-` operator, on a bool tensor is not supported; to invert a mask, use `~` or logical_not()")
	}
	return viewLazily("neg_view", self, tensor.Negative)
}

// viewLazily returns a view with dispatch key `key`: its elements are computed when they are read.
func viewLazily(op string, self *tensor.Tensor, key tensor.DispatchKeys) (*tensor.Tensor, error) {
	made, err := self.View(op, self.Sizes(), self.Strides(), self.Offset())
	if err == nil {
		made.SetLazy(key)
	}
	return made, err
}

// ConjPhysical computes conjugates.
func ConjPhysical(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.DType().IsComplex() {
		return conjPhysical.runKernel(out, nil, self)
	}
	if out == nil {
		return self.Alias(), nil
	}
	return copyOf("conj_physical", out, self)
}

// ResolveConj returns self itself; the layer of conjugated tensors computes their elements.
func ResolveConj(self *tensor.Tensor) (*tensor.Tensor, error) { return self.Alias(), nil }

// ResolveNeg returns self itself; the layer of negated tensors computes their elements.
func ResolveNeg(self *tensor.Tensor) (*tensor.Tensor, error) { return self.Alias(), nil }

// Angle returns the angle of complex numbers; of reals, 0 or pi.
func Angle(out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	d := self.DType()
	if d.Category() < dtype.Floating {
		d = dtype.Default()
	}
	if out == nil && d.IsComplex() {
		s := newScope("angle")
		defer s.Close(&err)
		// PyTorch's result is contiguous here, whatever self's strides are.
		to := s.Track(tensor.Empty(s.Op, self.Sizes(), d.ToReal(), self.Device()))
		s.CheckWritten(angle.runIn(d, to, nil, self))
		return s.Return(to)
	}
	return angle.runIn(d, out, nil, self)
}
