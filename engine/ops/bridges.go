package ops

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// The old names of view functions and of rowMajor, for the composed operators until these leave the package.

type at = indexed

// reshaped is reshape. Fewer elements than t has are a view, which quantile asks for and drops.
func reshaped(op string, t *tensor.Tensor, sizes ...int64) (*tensor.Tensor, error) {
	if shape.Product(sizes) < t.Numel() {
		return t.View(op, sizes, shape.ContiguousStrides(sizes), t.Offset())
	}
	return reshape(op, t, sizes)
}

func expanded(op string, t *tensor.Tensor, sizes []int64) (*tensor.Tensor, error) {
	return view.Expand(op, t, sizes)
}

func asContiguous(op string, t *tensor.Tensor, d dtype.DType) (*tensor.Tensor, error) {
	return rowMajor(op, t, d)
}

func expand(op string, t *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
	return view.Expand(op, t, size)
}

func permuted(op string, t *tensor.Tensor, order ...int) (*tensor.Tensor, error) {
	return view.Permute(op, t, order...)
}

func narrowed(op string, t *tensor.Tensor, d int, start, length int64) (*tensor.Tensor, error) {
	return view.Narrow(op, t, int64(d), start, length)
}

func atLeastVector(op string, t *tensor.Tensor) (*tensor.Tensor, error) { return view.AtLeast1d(op, t) }
