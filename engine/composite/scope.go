// Package composite contains the composite operators, which call other operators through the dispatcher, and so support
// the same autograd, tensor kinds and devices as these. They do not access elements.
package composite

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// scope calls the dispatcher for one composite operator: it owns the intermediate results, and after the first error its methods do nothing.
type scope struct{ *build.Builder }

func newScope(c dispatch.Context, op string) *scope { return &scope{build.New(c, op)} }

// only returns the result of the only step of op.
func only(op string, t *tensor.Tensor, err error) (*tensor.Tensor, error) {
	if err != nil {
		return nil, status.In(op, err)
	}
	return t, nil
}

// mean returns the mean over dim, which stays with size 1, in dtype d.
func (s *scope) mean(t *tensor.Tensor, dim int64, d dtype.DType) *tensor.Tensor {
	return s.MeanWith(t, []int64{dim}, true, d)
}

// sumOut adds up over dims, which stay with size 1, in dtype d or in the dtype that sums have.
func (s *scope) sumOut(t *tensor.Tensor, dims []int64, d dtype.DType) *tensor.Tensor {
	if len(dims) == 0 {
		return t
	}
	return s.SumWith(t, dims, true, d)
}

// outside lists the dimensions of t that are not in mask, and their sizes.
func outside(t *tensor.Tensor, mask []bool) (dims, sizes []int64) {
	for d, size := range t.Sizes() {
		if !mask[d] {
			dims, sizes = append(dims, int64(d)), append(sizes, size)
		}
	}
	return dims, sizes
}
