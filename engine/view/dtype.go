package view

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// DType views the same bytes as elements of another dtype. The last dimension is counted in the new elements.
func DType(op string, t *tensor.Tensor, d dtype.DType) (*tensor.Tensor, error) {
	if d == dtype.None {
		return nil, status.Typef("%s: a dtype is required", op)
	}
	g, from, to := Of(t), t.DType().Size(), d.Size()
	last := t.Dim() - 1
	if from != to {
		switch {
		case last < 0:
			return nil, status.Runtimef("%s: self.dim() cannot be 0 to view %v as %v (different element sizes)", op, t.DType(), d)
		case g.Strides[last] != 1 && g.Sizes[last] != 1:
			return nil, status.Runtimef("%s: self.stride(-1) must be 1 to view %v as %v (different element sizes), but got %d", op, t.DType(), d,
				g.Strides[last])
		}
	}
	if from > to {
		g = g.Finer(from / to)
		g.Sizes[last], g.Strides[last] = shape.Times(g.Sizes[last], from/to), 1
	} else if from < to {
		ratio := to / from
		if g.Sizes[last]%ratio != 0 {
			return nil, status.Runtimef("%s: self.size(-1) must be divisible by %d to view %v as %v (different element sizes), but got %d", op,
				ratio, t.DType(), d, g.Sizes[last])
		}
		if g.Offset%ratio != 0 {
			return nil, status.Runtimef("%s: self.storage_offset() must be divisible by %d to view %v as %v (different element sizes), but got %d",
				op, ratio, t.DType(), d, g.Offset)
		}
		for i := range last {
			if g.Strides[i]%ratio != 0 && g.Sizes[i] != 1 {
				return nil, status.Runtimef("%s: self.stride(%d) must be divisible by %d to view %v as %v (different element sizes), but got %d", op, i,
					ratio, t.DType(), d, g.Strides[i])
			}
			g.Strides[i] /= ratio // rounded down where a dimension of size 1 has a stride that means nothing
		}
		g.Sizes[last] /= ratio
		g.Offset /= ratio
	}
	if data := uintptr(t.Storage().Data()); data%uintptr(d.Alignment()) != 0 {
		return nil, status.Runtimef("%s: the storage is not aligned to the %d bytes that elements of %v need; clone() it first", op,
			d.Alignment(), d)
	}
	return applyGeometry(op, t, d, g)
}

// Raw views t's elements as integers of the same width, with the given sizes and strides.
func Raw(op string, t *tensor.Tensor, sizes, strides []int64) (*tensor.Tensor, error) {
	return t.ViewAs(op, t.DType().Raw(), sizes, strides, t.Offset())
}

// Parts views one part of the complex numbers of t: the real one, or the imaginary one that follows it in memory.
func Parts(op string, t *tensor.Tensor, imaginary bool) (*tensor.Tensor, error) {
	g := Of(t).Finer(2)
	if imaginary {
		g.Offset++
	}
	return applyGeometry(op, t, t.DType().ToReal(), g)
}

// Pairs views complex numbers as pairs of a real and an imaginary part along a new last dimension.
func Pairs(op string, t *tensor.Tensor) (*tensor.Tensor, error) {
	g := Of(t).Finer(2)
	g.Sizes, g.Strides = append(g.Sizes, 2), append(g.Strides, 1)
	return applyGeometry(op, t, t.DType().ToReal(), g)
}

// Complex views the pairs of the last dimension as complex numbers.
func Complex(op string, t *tensor.Tensor) (*tensor.Tensor, error) {
	n := t.Dim() - 1
	switch {
	case n < 0:
		return nil, status.Runtimef("%s: self must have one or more dimensions", op)
	case t.Sizes()[n] != 2:
		return nil, status.Runtimef("%s: self must have a last dimension of size 2, but its sizes are %v", op, t.Sizes())
	case t.Strides()[n] != 1:
		return nil, status.Runtimef("%s: self must have a last dimension with stride 1, but its strides are %v; call contiguous() first", op,
			t.Strides())
	case t.Offset()%2 != 0:
		return nil, status.Runtimef("%s: self must have a storage offset divisible by 2, but it is %d", op, t.Offset())
	}
	g := Of(t)
	g.Select(n, 0)
	for i := range g.Strides {
		if g.Strides[i]%2 != 0 && g.Sizes[i] != 1 {
			return nil, status.Runtimef("%s: self must have a stride divisible by 2 for every dimension but the last, but its strides are %v", op,
				t.Strides())
		}
		g.Strides[i] /= 2 // as in DType
	}
	g.Offset /= 2
	return applyGeometry(op, t, t.DType().ToComplex(), g)
}

// applyGeometry is As with elements of dtype d.
func applyGeometry(op string, t *tensor.Tensor, d dtype.DType, g shape.Geometry) (*tensor.Tensor, error) {
	return t.ViewAs(op, d, g.Sizes, g.Strides, g.Offset)
}
