// Package composite contains the composite operators, which call other operators through the dispatcher, and so support
// the same autograd, tensor kinds and devices as these. They do not access elements.
package composite

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// wrapError returns t, or err under the name of the operator.
func wrapError(op string, t *tensor.Tensor, err error) (*tensor.Tensor, error) {
	if err != nil {
		return nil, status.In(op, err)
	}
	return t, nil
}

// sumDims returns the sum over dims with keepdim, in dtype d or in the default dtype of sums.
func sumDims(b *build.Builder, t *tensor.Tensor, dims []int64, d dtype.DType) *tensor.Tensor {
	if len(dims) == 0 {
		return t
	}
	return b.SumWith(t, dims, true, d)
}

// unmaskedDims lists the dimensions of t that are not in mask, and their sizes.
func unmaskedDims(t *tensor.Tensor, mask []bool) (dims, sizes []int64) {
	for d, size := range t.Sizes() {
		if !mask[d] {
			dims, sizes = append(dims, int64(d)), append(sizes, size)
		}
	}
	return dims, sizes
}
