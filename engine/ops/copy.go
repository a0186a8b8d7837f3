package ops

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// fillable refuses in-place writes to read-only memory. Elements may share memory where all are given the same value.
func fillable(op string, self *tensor.Tensor) error {
	if self.Storage().ReadOnly() {
		return status.Runtimef("%s: self is read-only memory of another owner; clone() it first", op)
	}
	return nil
}

// writable refuses in-place writes to read-only memory and to tensors in which elements share memory.
func writable(op string, self *tensor.Tensor) error {
	if err := fillable(op, self); err != nil {
		return err
	}
	return iter.CheckOverlap(op, self)
}

// assign writes src, broadcast and converted, to dst, whatever memory they share.
func assign(op string, dst, src *tensor.Tensor) error {
	if err := writable(op, dst); err != nil {
		return err
	}
	from, err := view.Expand(op, src, dst.Sizes())
	if err != nil {
		return err
	}
	defer from.Release()
	switch {
	case dst.IsMeta():
		return nil
	case src.IsMeta():
		return status.NotImplementedf("%s: cannot copy out of meta tensor; no data!", op)
	case src.Storage() == dst.Storage() && dst.Numel() > 0:
		if iter.SameView(dst, from) && dst.DType() == src.DType() {
			return nil
		}
		if iter.Overlaps(dst, from) {
			held, err := cloned(op, src, src.DType(), src.Device(), shape.Preserve)
			if err != nil {
				return err
			}
			defer held.Release()
			return assign(op, dst, held)
		}
	}
	iter.Copy(dst, from)
	return nil
}

// Copy writes src to self.
func Copy(self, src *tensor.Tensor, _ bool) error { return assign("copy_", self, src) }

// checkFits refuses a number that dtype d cannot hold.
func checkFits(op string, value dtype.Scalar, d dtype.DType) error {
	if !value.Fits(d) {
		return overflow(op, value, d)
	}
	return nil
}

// checkOne is checkFits for a number that becomes an element of a tensor first: 16-bit floats overflow to infinity.
func checkOne(op string, value dtype.Scalar, d dtype.DType) error {
	if d.Compute() != d && value.Im == 0 {
		return nil
	}
	return checkFits(op, value, d)
}

func overflow(op string, value dtype.Scalar, d dtype.DType) error {
	return status.Runtimef("%s: value %v cannot be converted to type %v without overflow", op, value, d)
}

// fillWith writes one value everywhere.
func fillWith(self *tensor.Tensor, value dtype.Scalar) error {
	if self.IsMeta() || self.Numel() == 0 {
		return nil
	}
	if self.Numel() <= kernel.TinyLimit && self.IsContiguous() {
		for i := range self.Numel() {
			tensor.Put(unsafe.Add(self.Data(), i*self.DType().Size()), self.DType(), value)
		}
		return nil
	}
	one, err := single("fill_", value, self.DType())
	if err != nil {
		return err
	}
	defer one.Release()
	// What an expanded tensor repeats is written once.
	sizes := slices.Clone(self.Sizes())
	for d, stride := range self.Strides() {
		if stride == 0 {
			sizes[d] = 1
		}
	}
	once, err := self.View("fill_", sizes, self.Strides(), self.Offset())
	if err != nil {
		return err
	}
	defer once.Release()
	iter.Copy(once, one)
	return nil
}

// Fill gives every element one value; out is self in place, or nil for a new tensor of self's geometry.
func Fill(out, self, value *tensor.Tensor) (*tensor.Tensor, error) {
	if value.Dim() != 0 {
		return nil, status.Runtimef("fill_: only supports 0-dimension value tensor but got tensor with %d dimensions", value.Dim())
	}
	if value.IsMeta() && !self.IsMeta() {
		return nil, status.NotImplementedf("fill_: cannot copy out of meta tensor; no data!")
	}
	if out != nil {
		check := writable
		if value.IsNumber() {
			check = fillable
		}
		if err := check("fill_", out); err != nil {
			return nil, err
		}
	}
	if !value.IsMeta() && value.IsNumber() {
		if err := checkFits("fill_", value.Item(), self.DType()); err != nil {
			return nil, err
		}
	}
	to := out
	if out == nil {
		var err error
		if to, err = emptyLike("fill", self, self.DType(), self.Device(), shape.Preserve); err != nil {
			return nil, err
		}
	}
	if to.IsMeta() {
		return to, nil
	}
	return made(to, out, fillWith(to, value.Item()))
}

// Zero writes zeros.
func Zero(self *tensor.Tensor) error {
	if err := fillable("zero_", self); err != nil {
		return err
	}
	return fillWith(self, dtype.IntScalar(0))
}

// Item is the value of a tensor with one element.
func Item(self *tensor.Tensor) (dtype.Scalar, error) {
	if self.Numel() != 1 {
		return dtype.Scalar{}, status.Runtimef("item: a Tensor with %d elements cannot be converted to Scalar", self.Numel())
	}
	if self.IsMeta() {
		return dtype.Scalar{}, status.Runtimef("item: cannot be called on meta tensors")
	}
	return self.Item(), nil
}

// IsContiguous tells whether the elements lie in memory format f without gaps.
func IsContiguous(self *tensor.Tensor, f shape.MemoryFormat) (bool, error) {
	if f == shape.Preserve {
		return false, status.Runtimef("is_contiguous: preserve memory format is not a format that memory can have")
	}
	return self.IsFormat(f), nil
}

// IsSetTo tells whether both tensors are the same view of the same storage.
func IsSetTo(self, other *tensor.Tensor) (bool, error) {
	return self.Storage() == other.Storage() && iter.SameView(self, other) && self.DType() == other.DType(), nil
}
