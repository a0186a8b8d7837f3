package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// reshape is t with other sizes, a view where that is possible.
func (s *scope) reshape(t *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	if s.Err != nil || slices.Equal(t.Sizes(), sizes) {
		return t
	}
	return s.Keep(s.c.Reshape(t, sizes))
}

// permute views t with its dimensions in the given order.
func (s *scope) permute(t *tensor.Tensor, order ...int64) *tensor.Tensor {
	if s.Err != nil || slices.IsSorted(order) {
		return t
	}
	return s.Keep(s.c.Permute(t, order))
}

// wide views t with a new dimension of size 1 at dim.
func (s *scope) wide(t *tensor.Tensor, dim int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.c.Unsqueeze(nil, t, dim) })
}

// part views length elements of t along dim from start on.
func (s *scope) part(t *tensor.Tensor, dim int, start, length int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.c.Narrow(t, int64(dim), start, length) })
}

// at views position i of t along dim, which disappears.
func (s *scope) at(t *tensor.Tensor, dim int, i int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.c.Select(t, int64(dim), i) })
}

// apart views every position of t along dim, which disappears.
func (s *scope) apart(t *tensor.Tensor, dim int) []*tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	list, err := s.c.Unbind(t, int64(dim))
	s.Fail(err)
	for _, x := range list {
		s.Keep(x, nil)
	}
	return list
}

// expand views t broadcast to sizes.
func (s *scope) expand(t *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.c.Expand(t, sizes, false) })
}

// rowMajor is t with its elements in row-major order: itself where they are.
func (s *scope) rowMajor(t *tensor.Tensor) *tensor.Tensor {
	if s.Err != nil || t.IsContiguous() {
		return t
	}
	return s.Keep(s.c.Contiguous(t, shape.Contiguous))
}

// join puts tensors behind one another along dim.
func (s *scope) join(dim int, tensors ...*tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.c.Cat(nil, tensors, int64(dim)) })
}

// zeros, ones and empty make tensors beside t, empty of any values.
func (s *scope) zeros(t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.c.NewZeros(t, sizes, d, tensor.NoLayout, device.None) })
}

func (s *scope) ones(t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.c.NewOnes(t, sizes, d, tensor.NoLayout, device.None) })
}

func (s *scope) empty(t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return s.c.NewEmpty(t, sizes, d, tensor.NoLayout, device.None) })
}

// copy writes src, broadcast and converted, to dst.
func (s *scope) copy(dst, src *tensor.Tensor) {
	if s.Err == nil {
		s.Fail(s.c.Copy(dst, src, false))
	}
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
