package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// catGradient returns the part of a gradient for tensor i of a list.
func (s *steps) catGradient(grad *tensor.Tensor, sizes [][]int64, dim, i int64) *tensor.Tensor {
	d, err := shape.WrapDim("backward", dim, grad.Dim())
	s.Check(err)
	length := func(sizes []int64) int64 {
		if len(sizes) != grad.Dim() { // empty vectors are compatible with every shape
			return 0
		}
		return sizes[d]
	}
	if s.starts == nil {
		s.starts = make([]int64, len(sizes)+1)
		for k, size := range sizes {
			s.starts[k+1] = s.starts[k] + length(size)
		}
	}
	if len(sizes[i]) != grad.Dim() {
		return s.fullOf(0, grad.DType(), grad.Device(), sizes[i]...)
	}
	return s.Narrow(grad, dim, s.starts[i], sizes[i][d])
}

func (s *steps) repeatGradient(grad *tensor.Tensor, repeats, sizes []int64) *tensor.Tensor {
	padded := slices.Concat(slices.Repeat([]int64{1}, len(repeats)-len(sizes)), sizes)
	var apart, over []int64
	for d, n := range repeats {
		over = append(over, int64(2*d))
		apart = append(apart, n, padded[d])
	}
	if len(over) == 0 {
		return grad
	}
	return s.Reshape(s.Sum(s.Reshape(grad, apart...), over, false), sizes...)
}

// combinationsOf is combinations.
func (s *steps) combinationsOf(self *tensor.Tensor, r int64, replacement bool) *tensor.Tensor {
	at := s.Combinations(s.arangeLike(self.Device(), self.Numel()), r, replacement)
	return s.Reshape(s.IndexSelect(self, 0, s.Reshape(at, -1)), slices.Clone(at.Sizes())...)
}

// flatSizes returns the sizes of a vector of all elements.
func (s *steps) flatSizes() []int64 { return []int64{-1} }

func (s *steps) negateList(list []int64) []int64 {
	out := make([]int64, len(list))
	for i, v := range list {
		out[i] = -v
	}
	return out
}

// inversePermutation returns the permutation that undoes one.
func (s *steps) inversePermutation(dims []int64) []int64 {
	out := make([]int64, len(dims))
	for i, d := range dims {
		at, err := shape.WrapDim("backward", d, len(dims))
		s.Check(err)
		out[at] = int64(i)
	}
	return out
}

// reversedDims are n dimensions from the last to the first.
func (s *steps) reversedDims(n int64) []int64 {
	var out []int64
	for d := n - 1; d >= 0; d-- {
		out = append(out, d)
	}
	return out
}

// laying makes a view of a vector of memory.
type laying func(c dispatch.Context, memory *tensor.Tensor) (*tensor.Tensor, error)

// asStridedGradient returns a vector over the memory that self and a strided view of it cover, and the geometry of both in it.
func (s *steps) asStridedGradient(l like, strides []int64, offset int64, size, stride []int64,
	start ops.Int) (memory like, mine, other laying) {
	from := start.Or(offset)
	lowest := min(offset, from)
	length := int64(0)
	lay := func(sizes, strides []int64, offset int64) laying {
		_, high, err := shape.Span("backward", sizes, strides, offset-lowest)
		s.Check(err)
		length = max(length, high+1)
		return func(c dispatch.Context, t *tensor.Tensor) (*tensor.Tensor, error) {
			return c.AsStrided(nil, t, slices.Clone(sizes), slices.Clone(strides), ops.Int(offset-lowest))
		}
	}
	mine, other = lay(l.sizes(), strides, offset), lay(size, stride, from)
	return like{dtype: l.dtype, device: l.device, dims: 1, few: [4]int64{length}}, mine, other
}

// stridedTaken returns the gradient of the source of as_strided_scatter.
func (s *steps) stridedTaken(grad *tensor.Tensor, l like, strides []int64, offset int64, size, stride []int64,
	start ops.Int) *tensor.Tensor {
	memory, mine, other := s.asStridedGradient(l, strides, offset, size, stride, start)
	return s.Track(other(s.C, s.laidOut(memory, grad, strides, mine)))
}

// laidOut returns the memory with a gradient in the place of self.
func (s *steps) laidOut(memory like, grad *tensor.Tensor, strides []int64, mine laying) *tensor.Tensor {
	if memory.few[0] == grad.Numel() && slices.Equal(strides, shape.ContiguousStrides(grad.Sizes())) {
		if dense := s.Contiguous(grad); dense.Offset() == 0 {
			return s.Reshape(dense, s.flatSizes()...)
		}
	}
	return s.accumulateInView(memory, grad, mine)
}

// stridedKept returns the gradient of self: zeros where the source was written.
func (s *steps) stridedKept(grad *tensor.Tensor, l like, strides []int64, offset int64, src like, size, stride []int64,
	start ops.Int) *tensor.Tensor {
	memory, mine, _ := s.asStridedGradient(l, strides, offset, size, stride, start)
	whole := s.laidOut(memory, grad, strides, mine)
	from := start.Or(offset)
	put := s.AsStridedScatter(whole, s.zerosOf(src), slices.Clone(size), slices.Clone(stride), ops.Int(from-min(offset, from)))
	return s.Track(mine(s.C, put))
}

// stridedGradient computes the gradient of as_strided in the memory that strided returns.
func (s *steps) stridedGradient(grad *tensor.Tensor, l like, strides []int64, offset int64, size, stride []int64,
	start ops.Int) *tensor.Tensor {
	memory, mine, other := s.asStridedGradient(l, strides, offset, size, stride, start)
	sums := s.accumulateInView(memory, grad, other)
	made := s.Track(mine(s.C, sums))
	if tensoriter.SelfOverlaps(made) { // elements that share a cell share its gradient
		counted := memory
		counted.dtype = l.dtype.ToReal()
		counts := s.accumulateInView(counted, s.fullOf(1, counted.dtype, l.device, l.sizes()...), mine)
		made = s.Track(mine(s.C, s.div(sums, s.ClampMin(counts, s.int(1)))))
	}
	return made
}

func (s *steps) unfoldGradient(grad *tensor.Tensor, l like, dim, size, step int64) *tensor.Tensor {
	return s.accumulateInView(l, grad, func(c dispatch.Context, t *tensor.Tensor) (*tensor.Tensor, error) {
		return c.Unfold(t, dim, size, step)
	})
}

// selectAt is position i of t along dim, which disappears.
func (s *steps) selectAt(t *tensor.Tensor, dim, i int64) *tensor.Tensor {
	return s.Select(t, dim, i)
}

// blockGradient returns the part of a gradient for tensor i of a block diagonal.
func (s *steps) blockGradient(grad *tensor.Tensor, sizes [][]int64, i int64) *tensor.Tensor {
	matrix := func(sizes []int64) (rows, columns int64) {
		rows, columns = 1, 1
		if n := len(sizes); n > 0 {
			columns = sizes[n-1]
			if n > 1 {
				rows = sizes[0]
			}
		}
		return rows, columns
	}
	row, column := int64(0), int64(0)
	for _, before := range sizes[:i] {
		rows, columns := matrix(before)
		row, column = row+rows, column+columns
	}
	rows, columns := matrix(sizes[i])
	return s.Reshape(s.Narrow(s.Narrow(grad, 0, row, rows), 1, column, columns), slices.Clone(sizes[i])...)
}

// rolledBack returns the gradient of roll.
func (s *steps) rolledBack(grad *tensor.Tensor, shifts, dims []int64) *tensor.Tensor {
	back := slices.Clone(shifts)
	for i := range back {
		back[i] = -back[i]
	}
	return s.Roll(grad, back, dims...)
}
