package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/warning"
)

// assignTensor writes src, broadcast and converted, to dst, even if they share memory.
func assignTensor(op string, dst, src *tensor.Tensor) error { return assignTo(op, dst, src, false) }

func assignTo(op string, dst, src *tensor.Tensor, async bool) (err error) {
	if err := tensoriter.Writable(op, dst); err != nil {
		return err
	}
	s := newScope(op)
	defer s.Close(&err)
	from := src
	if !slices.Equal(src.Sizes(), dst.Sizes()) {
		from = s.expandTo(src, dst.Sizes())
	}
	switch {
	case src.Storage() == dst.Storage() && dst.Numel() > 0:
		if tensoriter.SameView(dst, from) && dst.DType() == src.DType() {
			return nil
		}
		if tensoriter.Overlaps(dst, from) {
			from = s.Track(cloneTensor(op, src, src.DType(), src.Device(), shape.Preserve))
		}
	}
	s.Check(backend.On(dst, from).Copy(op, backend.Copying{To: dst, From: from, Async: async}))
	return nil
}

// Copy writes src to self. With async, the caller does not wait for copies between a device and pinned memory.
func Copy(self, src *tensor.Tensor, async bool) error {
	if err := tensoriter.Writable("copy_", self); err != nil {
		return err
	}
	if err := warnDiscardImaginary("copy_", src.DType(), self.DType()); err != nil {
		return err
	}
	return assignTo("copy_", self, src, async)
}

// warnDiscardImaginary warns if a conversion discards imaginary parts. A conversion to bool does not.
func warnDiscardImaginary(op string, from, to dtype.DType) error {
	if !from.IsComplex() || to.IsComplex() || to == dtype.Bool {
		return nil
	}
	return warning.ComplexToReal.Of(op, "converting %v to %v discards the imaginary part; use real() if this is intended", from, to)
}

// Fill fills self with one value; out is self in place, or nil for a new tensor of self's geometry.
func Fill(out, self, value *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if value.Dim() != 0 {
		return nil, status.Runtimef("fill_: only supports 0-dimension value tensor but got tensor with %d dimensions", value.Dim())
	}
	if out != nil {
		check := tensoriter.Writable
		if value.IsWrappedNumber() {
			check = tensoriter.Fillable
		}
		if err := check("fill_", out); err != nil {
			return nil, err
		}
	}
	if value.IsWrappedNumber() {
		if err := checkFits("fill_", value.Item(), self.DType()); err != nil {
			return nil, err
		}
	}
	s := newScope("fill")
	defer s.Close(&err)
	to := out
	if out == nil {
		to = s.Track(emptyLike(s.Op, self, self.DType(), self.Device(), shape.Preserve))
	}
	s.Check(backend.On(to).Fill("fill_", backend.Filling{To: to, From: value}))
	if out != nil {
		return out, nil
	}
	return s.Return(to)
}

// Zero writes zeros.
func Zero(self *tensor.Tensor) error {
	if err := tensoriter.Fillable("zero_", self); err != nil {
		return err
	}
	return fillWith(self, dtype.IntScalar(0))
}

// Item returns the value of a tensor with one element.
func Item(self *tensor.Tensor) (dtype.Scalar, error) {
	if self.Numel() != 1 {
		return dtype.Scalar{}, status.Runtimef("item: a Tensor with %d elements cannot be converted to Scalar", self.Numel())
	}
	return backend.Item("item", self)
}

// IsContiguous reports whether the elements are contiguous in memory format f.
func IsContiguous(self *tensor.Tensor, f shape.MemoryFormat) (bool, error) {
	if f == shape.Preserve {
		f = shape.Contiguous
	}
	return self.IsFormat(f), nil
}

// IsSetTo reports whether both tensors are the same view of the same storage.
func IsSetTo(self, other *tensor.Tensor) (bool, error) {
	return self.Storage() == other.Storage() && tensoriter.SameView(self, other) && self.DType() == other.DType(), nil
}
