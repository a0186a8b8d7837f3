package composite

import (
	"math/bits"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Tile is Repeat in which missing leading repeats are 1.
func Tile(c dispatch.Context, self *tensor.Tensor, dims []int64) (*tensor.Tensor, error) {
	for len(dims) < self.Dim() {
		dims = slices.Insert(slices.Clone(dims), 0, 1)
	}
	repeated, err := c.Repeat(self, dims)
	return wrapError("tile", repeated, err)
}

// RepeatInterleaveSelf repeats every element of a dimension, or of the flattened tensor. The result is a copy of the tensor with one
// dimension more, in which it is expanded; sparse tensors have no such views.
func RepeatInterleaveSelf(c dispatch.Context, self *tensor.Tensor, repeats int64, dim ops.Int,
	outputSize ops.Int) (_ *tensor.Tensor, err error) {
	b := build.New(c, "repeat_interleave")
	defer b.Close(&err)
	if repeats < 0 {
		return nil, status.Runtimef("%s: repeats must be non-negative, got %d", b.Op, repeats)
	}
	if self.Layout() != tensor.Strided {
		on := device.Host // an index of known values serves meta tensors too
		if backend.Known(self) {
			on = self.Device()
		}
		times := b.FullWith([]int64{1}, dtype.IntScalar(repeats), dtype.Int64, tensor.NoLayout, on)
		return b.ReturnNew(c.RepeatInterleaveTensor(self, times, dim, outputSize))
	}
	self, at, err := resolveRepeatDim(b, self, dim)
	if err != nil {
		return nil, err
	}
	sizes := slices.Clone(self.Sizes())
	high, total := bits.Mul64(uint64(sizes[at]), uint64(repeats))
	switch {
	case high > 0 || int64(total) < 0:
		return nil, status.Runtimef("%s: the sum of repeats overflows a 64-bit integer", b.Op)
	case !outputSize.IsNone() && int64(outputSize) != int64(total):
		return nil, status.Runtimef("%s: allocated size %d does not match required size %d", b.Op, int64(outputSize), int64(total))
	}
	wide := b.Unsqueeze(self, int64(at+1))
	wide = b.Expand(wide, slices.Insert(sizes, at+1, repeats)...)
	copied := b.CloneWith(wide, shape.Contiguous)
	sizes = slices.Clone(self.Sizes())
	sizes[at] = int64(total)
	return b.ReturnNew(c.View(copied, sizes))
}

// resolveRepeatDim returns a tensor and its dimension to repeat, by default that of the flattened tensor.
func resolveRepeatDim(b *build.Builder, self *tensor.Tensor, dim ops.Int) (*tensor.Tensor, int, error) {
	if dim.IsNone() {
		return b.AsShape(self, self.Numel()), 0, nil
	}
	at, err := shape.WrapDim(b.Op, int64(dim), self.Dim())
	if err == nil && self.Dim() == 0 {
		err = status.Indexf("%s: dimension %d was given, but the tensor has no dimensions", b.Op, int64(dim))
	}
	return self, at, err
}

// RepeatInterleaveTensor repeats every element of a dimension by the counts in the vector repeats.
func RepeatInterleaveTensor(c dispatch.Context, self, repeats *tensor.Tensor, dim ops.Int,
	outputSize ops.Int) (_ *tensor.Tensor, err error) {
	const op = "repeat_interleave"
	b := build.New(c, op)
	defer b.Close(&err)
	from, d, err := resolveRepeatDim(b, self, dim)
	if err != nil {
		return nil, err
	}
	n, times := from.Sizes()[d], repeats
	if repeats.Numel() == 1 && repeats.Dim() < 2 {
		times = b.Expand(b.AsShape(repeats, 1), n)
	}
	if times.Dim() != 1 || times.Sizes()[0] != n {
		return nil,
			status.Runtimef("%s: repeats must have the same size as input along dim, but got repeats of shape %v and size %d along dim %d",
				op, repeats.Sizes(), n, d)
	}
	index := b.RepeatInterleaveWith(times, outputSize)
	return b.ReturnNew(c.IndexSelect(nil, from, int64(d), index))
}

// flipDims returns self with the order of positions in dims reversed.
func flipDims(c dispatch.Context, op string, self *tensor.Tensor, dims ...int64) (*tensor.Tensor, error) {
	transposed, err := c.Flip(self, dims)
	return wrapError(op, transposed, err)
}

// Fliplr reverses the order of columns.
func Fliplr(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Dim() < 2 {
		return nil, status.Runtimef("fliplr: input must be >= 2-d, but got %d", self.Dim())
	}
	return flipDims(c, "fliplr", self, 1)
}

// Flipud reverses the order of rows.
func Flipud(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Dim() < 1 {
		return nil, status.Runtimef("flipud: input must be >= 1-d, but got %d", self.Dim())
	}
	return flipDims(c, "flipud", self, 0)
}

// Rot90 turns the plane of two dimensions by k quarters.
func Rot90(c dispatch.Context, self *tensor.Tensor, k int64, dims []int64) (_ *tensor.Tensor, err error) {
	const op = "rot90"
	switch {
	case len(dims) != 2:
		return nil, status.Runtimef("%s: expected total rotation dims == 2, but got dims = %v", op, dims)
	case self.Dim() < 2:
		return nil, status.Runtimef("%s: expected total dims >= 2, but got total dims = %d", op, self.Dim())
	}
	if _, err := shape.WrapDims(op, dims, self.Dim(), false); err != nil {
		return nil, err
	}
	switch ((k % 4) + 4) % 4 {
	case 1, 3:
		transposed := dims[1:]
		if ((k%4)+4)%4 == 3 {
			transposed = dims[:1]
		}
		b := build.New(c, op)
		defer b.Close(&err)
		flipped := b.Flip(self, transposed...)
		return b.ReturnNew(c.Transpose(nil, flipped, dims[0], dims[1]))
	case 2:
		return flipDims(c, op, self, dims...)
	}
	return c.Clone(self, shape.Contiguous)
}

// SumToSize adds up dimensions until self has a shape that broadcasts to its own.
func SumToSize(c dispatch.Context, self *tensor.Tensor, size []int64) (_ *tensor.Tensor, err error) {
	const op = "sum_to_size"
	if !shape.ExpandsTo(size, self.Sizes()) {
		return nil, status.Runtimef("%s: size %v is not expandable to size %v", op, size, self.Sizes())
	}
	lead := self.Dim() - len(size)
	var dims []int64
	for i, n := range self.Sizes() {
		if i < lead || size[i-lead] == 1 && n != 1 {
			dims = append(dims, int64(i))
		}
	}
	b := build.New(c, op)
	defer b.Close(&err)
	if len(size) == 0 {
		return build.WriteResult(b, nil, b.Sum(self, nil, false))
	}
	return build.WriteResult(b, nil, b.AsShape(sumDims(b, self, dims, dtype.None), size...))
}
