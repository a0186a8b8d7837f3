package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// chooseValue returns then if test is true, and otherwise the last argument.
func chooseValue[T any](test bool, then, otherwise T) T {
	if test {
		return then
	}
	return otherwise
}

// scaleByConj returns t times the conjugate of a scalar, or t itself for 1.
func (s *steps) scaleByConj(t *tensor.Tensor, by dtype.Scalar) *tensor.Tensor {
	if by.Kind == dtype.KindComplex {
		by.Im = -by.Im
	} else if by.Float() == 1 {
		return t
	}
	return s.mul(t, s.number(by))
}

// expandReduced expands the result of a reduction over dims (all if there are none) to the sizes of its operand.
func (s *steps) expandReduced(t *tensor.Tensor, sizes, dims []int64, keepdim bool) *tensor.Tensor {
	return s.Expand(s.restoreDims(t, sizes, dims, keepdim), sizes...)
}

// restoreDims inserts the reduced dimensions, with size 1.
func (s *steps) restoreDims(t *tensor.Tensor, sizes, dims []int64, keepdim bool) *tensor.Tensor {
	if keepdim || len(sizes) == 0 {
		return t
	}
	reduced := slices.Clone(sizes)
	mask, err := shape.WrapDims("backward", dims, len(sizes), true)
	s.Check(err)
	for d := range reduced {
		if mask[d] {
			reduced[d] = 1
		}
	}
	return s.Reshape(t, reduced...)
}
