// Package view creates views: tensors that share a storage with another tensor, with other sizes, strides and offset, or another
// dtype. No function reads elements, so that all devices are supported. The first parameter of a function is the name for error
// messages; dimensions may be negative, counted from the end. A returned view is a new reference, which the caller releases; with an
// error it is nil.
package view

import (
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// fewDims is the number of dimensions whose lists stay on the stack.
const fewDims = 6

// Of returns t's geometry, its lists free to be overwritten.
func Of(t *tensor.Tensor) shape.Geometry {
	return shape.Geometry{
		Sizes:   append(make([]int64, 0, fewDims), t.Sizes()...),
		Strides: append(make([]int64, 0, fewDims), t.Strides()...),
		Offset:  t.Offset(),
	}
}

// As views t's storage through any geometry that stays inside it.
func As(op string, t *tensor.Tensor, g shape.Geometry) (*tensor.Tensor, error) {
	return t.View(op, g.Sizes, g.Strides, g.Offset)
}

// In is As, or, with an out, which is t, the same change to t in place.
func In(op string, out, t *tensor.Tensor, g shape.Geometry) (*tensor.Tensor, error) {
	if out == nil {
		return As(op, t, g)
	}
	return out, out.SetGeometry(op, g.Sizes, g.Strides, g.Offset)
}

// wrapDim wraps a dimension of a tensor that must have at least one.
func wrapDim(op string, t *tensor.Tensor, dim int64) (int, error) {
	if t.Dim() == 0 {
		return 0, status.Runtimef("%s: cannot be applied to a 0-dim tensor", op)
	}
	return shape.WrapDim(op, dim, t.Dim())
}

// Select views one position of a dimension and removes the dimension.
func Select(op string, t *tensor.Tensor, dim, index int64) (*tensor.Tensor, error) {
	if t.Dim() == 0 {
		return nil, status.Indexf("%s: cannot be applied to a 0-dim tensor", op)
	}
	d, err := shape.WrapDim(op, dim, t.Dim())
	if err != nil {
		return nil, err
	}
	position, ok := shape.WrapIndex(index, t.Sizes()[d])
	if !ok {
		return nil, status.Indexf("%s: index %d is out of bounds for dimension %d with size %d", op, index, d, t.Sizes()[d])
	}
	g := Of(t)
	g.Select(d, position)
	return As(op, t, g)
}

// Slice views positions start:stop:step of a dimension, by Python's rules for bounds that are negative or too large.
func Slice(op string, t *tensor.Tensor, dim, start, stop, step int64) (*tensor.Tensor, error) {
	d, err := wrapDim(op, t, dim)
	if err != nil {
		return nil, err
	}
	g := Of(t)
	if err := g.Slice(op, d, start, stop, step); err != nil {
		return nil, err
	}
	return As(op, t, g)
}

// Narrow views length positions of a dimension from start on; a negative start counts from the end.
func Narrow(op string, t *tensor.Tensor, dim, start, length int64) (*tensor.Tensor, error) {
	d, err := wrapDim(op, t, dim)
	if err != nil {
		return nil, err
	}
	if start, err = Start(op, t.Sizes()[d], start, length); err != nil {
		return nil, err
	}
	g := Of(t)
	g.Narrow(d, start, length)
	return As(op, t, g)
}

// Start returns the start of a range of length positions in a dimension of size n; start may count from the end.
func Start(op string, n, start, length int64) (int64, error) {
	if length < 0 {
		return 0, status.Runtimef("%s: length must be non-negative, but got %d", op, length)
	}
	if start < -n || start > n {
		return 0, status.Indexf("%s: start out of range (expected to be in range of [%d, %d], but got %d)", op, -n, n, start)
	}
	if start < 0 {
		start += n
	}
	if start > n-length {
		return 0, status.Runtimef("%s: start (%d) + length (%d) exceeds dimension size (%d)", op, start, length, n)
	}
	return start, nil
}

// Unfold views the windows of size positions of a dimension, at a distance of step; the positions in a window become the last dimension.
func Unfold(op string, t *tensor.Tensor, dim, size, step int64) (*tensor.Tensor, error) {
	d, err := shape.WrapDim(op, dim, t.Dim())
	if err != nil {
		return nil, err
	}
	g := Of(t)
	if t.Dim() == 0 { // one position
		g = g.Insert(0)
	}
	switch n := g.Sizes[d]; {
	case size < 0:
		return nil, status.Runtimef("%s: size is %d but must be >= 0", op, size)
	case size > n:
		return nil, status.Runtimef("%s: maximum size for tensor at dimension %d is %d but size is %d", op, dim, n, size)
	case step <= 0:
		return nil, status.Runtimef("%s: step is %d but must be > 0", op, step)
	}
	g = g.Unfold(d, size, step)
	if t.Dim() == 0 {
		g.Select(0, 0)
	}
	return As(op, t, g)
}

// Diagonal views a diagonal of two dimensions, which becomes the last dimension in their stead.
func Diagonal(op string, t *tensor.Tensor, offset, dim1, dim2 int64) (*tensor.Tensor, error) {
	if t.Dim() < 2 {
		return nil, status.Indexf("%s: needs a tensor of at least 2 dimensions, but got %d", op, t.Dim())
	}
	a, err := shape.WrapDim(op, dim1, t.Dim())
	if err != nil {
		return nil, err
	}
	b, err := shape.WrapDim(op, dim2, t.Dim())
	if err != nil {
		return nil, err
	}
	if a == b {
		return nil, status.Runtimef("%s: diagonal dimensions cannot be identical %d, %d", op, dim1, dim2)
	}
	return As(op, t, Of(t).Diagonal(offset, a, b))
}

// Transpose views t with two dimensions exchanged; with out in place.
func Transpose(op string, out, t *tensor.Tensor, dim0, dim1 int64) (*tensor.Tensor, error) {
	a, err := shape.WrapDim(op, dim0, t.Dim())
	if err != nil {
		return nil, err
	}
	b, err := shape.WrapDim(op, dim1, t.Dim())
	if err != nil {
		return nil, err
	}
	g := Of(t)
	if t.Dim() > 0 {
		g = g.Swap(a, b)
	}
	return In(op, out, t, g)
}

// Permute views t with another order of dimensions, of which order lists each once: dimension i is t's dimension order[i].
func Permute(op string, t *tensor.Tensor, order ...int) (*tensor.Tensor, error) {
	g := Of(t)
	for i, d := range order {
		g.Sizes[i], g.Strides[i] = t.Sizes()[d], t.Strides()[d]
	}
	return As(op, t, g)
}

// Movedim views t with the dimensions of source at the positions of destination; the others keep their order.
func Movedim(op string, t *tensor.Tensor, source, destination []int64) (*tensor.Tensor, error) {
	order, err := shape.Moved(op, t.Dim(), source, destination)
	if err != nil {
		return nil, err
	}
	return Permute(op, t, order...)
}

// Unsqueeze views t with a new dimension of size 1 before dimension dim; with out in place.
func Unsqueeze(op string, out, t *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	d, err := shape.WrapDim(op, dim, t.Dim()+1)
	if err != nil {
		return nil, err
	}
	return In(op, out, t, Of(t).Insert(d))
}

// Squeeze views t without the dimensions of size 1 for which drop is true; with out in place.
func Squeeze(op string, out, t *tensor.Tensor, drop func(d int) bool) (*tensor.Tensor, error) {
	g := Of(t)
	for d := t.Dim() - 1; d >= 0; d-- {
		if g.Sizes[d] == 1 && drop(d) {
			g.Select(d, 0)
		}
	}
	return In(op, out, t, g)
}

// AtLeast1d views a zero-dim tensor as one of size 1, and returns others unchanged.
func AtLeast1d(op string, t *tensor.Tensor) (*tensor.Tensor, error) {
	if t.Dim() == 0 {
		return Unsqueeze(op, nil, t, 0)
	}
	return t.Alias(), nil
}

// Along views a tensor of no or one dimension in a shape in which its elements run along dimension d and repeat along the others.
func Along(op string, t *tensor.Tensor, sizes []int64, d int) (*tensor.Tensor, error) {
	strides := make([]int64, len(sizes))
	switch {
	case t.Dim() > 0 && len(sizes) > 0:
		strides[d] = t.Strides()[0]
	case len(sizes) > 0:
		strides[d] = 1
	}
	return t.View(op, sizes, strides, t.Offset())
}

// Expand views dimensions of size 1 repeated, and new leading ones. A size of -1 keeps that of a dimension.
func Expand(op string, t *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
	lead := len(size) - t.Dim()
	if lead < 0 {
		return nil, status.Runtimef("%s: the number of sizes provided (%d) must be greater or equal to the number of dimensions in the tensor (%d); sizes %v, tensor %v",
			op, len(size), t.Dim(), size, t.Sizes())
	}
	g := Of(t)
	for i := len(size) - 1; i >= 0; i-- {
		if i < lead {
			g = g.Insert(0)
		}
		d := max(i-lead, 0)
		have := g.Sizes[d]
		switch {
		case size[i] == -1 && i >= lead || size[i] == have:
		case size[i] < 0:
			return nil, status.Runtimef("%s: the expanded size %d isn't allowed in dimension %d of %v; only -1, in an existing dimension, may be negative",
				op, size[i], i, size)
		case have != 1:
			return nil, status.Runtimef("%s: the expanded size of the tensor (%d) must match the existing size (%d) at non-singleton dimension %d; target sizes %v, tensor sizes %v",
				op, size[i], have, i, size, t.Sizes())
		default:
			g.Sizes[d], g.Strides[d] = size[i], 0
		}
	}
	return As(op, t, g)
}

// Reshape views the elements in row-major order in another shape, in which one size may be -1. Where no strides do that, there is neither a
// view nor an error.
func Reshape(op string, t *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
	sizes, err := shape.InferSize(op, size, t.Numel())
	if err != nil {
		return nil, err
	}
	strides, ok := shape.ViewStrides(t.Sizes(), t.Strides(), sizes)
	if !ok {
		return nil, nil
	}
	return t.View(op, sizes, strides, t.Offset())
}
