package ops

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// dims copies sizes or strides, to the caller's stack when they are few.
func dims(list []int64) []int64 { return append(make([]int64, 0, 6), list...) }

// sliced views positions start:stop:step of dimension d, with Python's rules for negative and absent bounds.
func sliced(op string, self *tensor.Tensor, d int, start, stop Int, step int64) (*tensor.Tensor, error) {
	begin, n, err := sliceRange(op, self.Sizes()[d], start, stop, step)
	if err != nil {
		return nil, err
	}
	sizes, strides := dims(self.Sizes()), dims(self.Strides())
	offset := self.Offset() + begin*strides[d]
	sizes[d] = n
	strides[d] *= step
	if n < 2 && strides[d] < 0 {
		return nil, status.Valuef("%s: step %d is too large", op, step)
	}
	return self.View(op, sizes, strides, offset)
}

// sliceRange resolves start:stop:step in a dimension of the given size to a first position and a count.
func sliceRange(op string, size int64, start, stop Int, step int64) (begin, n int64, err error) {
	if step <= 0 {
		return 0, 0, status.Valuef("%s: slice step must be positive, but got %d", op, step)
	}
	clamp := func(i int64) int64 {
		if i < 0 {
			i += size
		}
		return min(max(i, 0), size)
	}
	begin = clamp(start.Or(0))
	end := max(clamp(stop.Or(math.MaxInt64)), begin)
	n = (end - begin) / step
	if (end-begin)%step != 0 {
		n++
	}
	return begin, n, nil
}

// Slice views part of a dimension.
func Slice(self *tensor.Tensor, dim int64, start, end Int, step int64) (*tensor.Tensor, error) {
	if self.Dim() == 0 {
		return nil, status.Runtimef("slice: cannot be applied to a 0-dim tensor")
	}
	d, err := shape.WrapDim("slice", dim, self.Dim())
	if err != nil {
		return nil, err
	}
	return sliced("slice", self, d, start, end, step)
}

// dropped views one position of dimension d, which goes away. index is in range.
func dropped(op string, self *tensor.Tensor, d int, index int64) (*tensor.Tensor, error) {
	sizes, strides := slices.Delete(dims(self.Sizes()), d, d+1), slices.Delete(dims(self.Strides()), d, d+1)
	return self.View(op, sizes, strides, self.Offset()+index*self.Strides()[d])
}

// Select views one position of a dimension.
func Select(self *tensor.Tensor, dim, index int64) (*tensor.Tensor, error) {
	if self.Dim() == 0 {
		return nil, status.Indexf("select: cannot be applied to a 0-dim tensor")
	}
	d, err := shape.WrapDim("select", dim, self.Dim())
	if err != nil {
		return nil, err
	}
	n := self.Sizes()[d]
	if index < -n || index >= n {
		return nil, status.Indexf("select: index %d is out of bounds for dimension %d with size %d", index, d, n)
	}
	if index < 0 {
		index += n
	}
	return dropped("select", self, d, index)
}

// Narrow views length positions of a dimension from start.
func Narrow(self *tensor.Tensor, dim, start, length int64) (*tensor.Tensor, error) {
	if self.Dim() == 0 {
		return nil, status.Runtimef("narrow: cannot be applied to a 0-dim tensor")
	}
	d, err := shape.WrapDim("narrow", dim, self.Dim())
	if err != nil {
		return nil, err
	}
	n := self.Sizes()[d]
	if length < 0 {
		return nil, status.Runtimef("narrow: length must be non-negative, but got %d", length)
	}
	if start < -n || start > n {
		return nil, status.Indexf("narrow: start out of range (expected to be in range of [%d, %d], but got %d)", -n, n, start)
	}
	if start < 0 {
		start += n
	}
	if start > n-length {
		return nil, status.Runtimef("narrow: start (%d) + length (%d) exceeds dimension size (%d)", start, length, n)
	}
	return narrowed("narrow", self, d, start, length)
}

// NarrowCopy is a copy of Narrow's view.
func NarrowCopy(out, self *tensor.Tensor, dim, start, length int64) (*tensor.Tensor, error) {
	part, err := Narrow(self, dim, start, length)
	if err != nil {
		return nil, err
	}
	defer part.Release()
	return copyOf("narrow_copy", out, part)
}

// narrowed is Narrow of arguments known to be right.
func narrowed(op string, self *tensor.Tensor, d int, start, length int64) (*tensor.Tensor, error) {
	sizes := dims(self.Sizes())
	sizes[d] = length
	return self.View(op, sizes, self.Strides(), self.Offset()+start*self.Strides()[d])
}

// NarrowTensor is Narrow from a start that a tensor holds.
func NarrowTensor(self *tensor.Tensor, dim int64, start *tensor.Tensor, length int64) (*tensor.Tensor, error) {
	if start.Dim() != 0 || !start.DType().IsIntegral() {
		return nil, status.Runtimef("narrow: start must be a 0-dim integral tensor, but got shape %v of %v", start.Sizes(), start.DType())
	}
	if start.IsMeta() {
		return nil, status.Runtimef("narrow: start has no value on the meta device")
	}
	return Narrow(self, dim, start.Item().I, length)
}

// Unfold views all windows of a dimension; the positions in a window become the last dimension.
func Unfold(self *tensor.Tensor, dim, size, step int64) (*tensor.Tensor, error) {
	d, err := shape.WrapDim("unfold", dim, self.Dim())
	if err != nil {
		return nil, err
	}
	n, stride := int64(1), int64(1)
	if self.Dim() > 0 {
		n, stride = self.Sizes()[d], self.Strides()[d]
	}
	switch {
	case size < 0:
		return nil, status.Runtimef("unfold: size is %d but must be >= 0", size)
	case size > n:
		return nil, status.Runtimef("unfold: maximum size for tensor at dimension %d is %d but size is %d", dim, n, size)
	case step <= 0:
		return nil, status.Runtimef("unfold: step is %d but must be > 0", step)
	}
	sizes, strides := append(slices.Clone(self.Sizes()), size), append(slices.Clone(self.Strides()), stride)
	if self.Dim() > 0 {
		sizes[d] = (n-size)/step + 1
		strides[d] = step * stride
	}
	return self.View("unfold", sizes, strides, self.Offset())
}

// diagonal is Diagonal for other operators.
func diagonal(op string, self *tensor.Tensor, offset, dim1, dim2 int64) (*tensor.Tensor, error) {
	if self.Dim() < 2 {
		return nil, status.Indexf("%s: needs a tensor of at least 2 dimensions, but got %d", op, self.Dim())
	}
	a, err := shape.WrapDim(op, dim1, self.Dim())
	if err != nil {
		return nil, err
	}
	b, err := shape.WrapDim(op, dim2, self.Dim())
	if err != nil {
		return nil, err
	}
	if a == b {
		return nil, status.Runtimef("%s: diagonal dimensions cannot be identical %d, %d", op, dim1, dim2)
	}
	rows, columns := self.Sizes()[a], self.Sizes()[b]
	n, at := int64(0), self.Offset()
	if offset >= 0 {
		n = max(min(rows, columns-offset), 0)
		if n > 0 {
			at += offset * self.Strides()[b]
		}
	} else {
		n = max(min(rows+offset, columns), 0)
		if n > 0 {
			at -= offset * self.Strides()[a]
		}
	}
	var sizes, strides []int64
	for i, s := range self.Sizes() {
		if i != a && i != b {
			sizes, strides = append(sizes, s), append(strides, self.Strides()[i])
		}
	}
	return self.View(op, append(sizes, n), append(strides, self.Strides()[a]+self.Strides()[b]), at)
}

// Diagonal views a diagonal of dimensions dim1 and dim2; it becomes the last dimension.
func Diagonal(self *tensor.Tensor, offset, dim1, dim2 int64) (*tensor.Tensor, error) {
	return diagonal("diagonal", self, offset, dim1, dim2)
}
