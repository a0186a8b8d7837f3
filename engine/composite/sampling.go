package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/warning"
)

// GridSampler samples images at the points of a grid.
func GridSampler(c dispatch.Context, self, grid *tensor.Tensor, mode, padding int64, alignCorners bool) (*tensor.Tensor, error) {
	return sampleGrid(c, "grid_sampler", 0, self, grid, mode, padding, alignCorners)
}

// GridSampler2d is GridSampler of images.
func GridSampler2d(c dispatch.Context, self, grid *tensor.Tensor, mode, padding int64, alignCorners bool) (*tensor.Tensor, error) {
	return sampleGrid(c, "grid_sampler_2d", 2, self, grid, mode, padding, alignCorners)
}

// GridSampler3d is GridSampler of volumes.
func GridSampler3d(c dispatch.Context, self, grid *tensor.Tensor, mode, padding int64, alignCorners bool) (*tensor.Tensor, error) {
	return sampleGrid(c, "grid_sampler_3d", 3, self, grid, mode, padding, alignCorners)
}

// NnGridSample is GridSampler with names for modes.
func NnGridSample(c dispatch.Context, self, grid *tensor.Tensor, mode, padding string, alignCorners ops.Bool) (*tensor.Tensor, error) {
	const op = "nn_grid_sample"
	m, p := slices.Index(backend.SampleModes, mode), slices.Index(backend.SamplePaddings, padding)
	switch {
	case m < 0:
		return nil, status.Valuef("%s: expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '%s'", op, mode)
	case p < 0:
		return nil, status.Valuef("%s: expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '%s'", op, padding)
	}
	if err := warnMissingAlignCorners(op, alignCorners); err != nil {
		return nil, err
	}
	return sampleGrid(c, op, 0, self, grid, int64(m), int64(p), alignCorners == ops.True)
}

// warnMissingAlignCorners warns if align_corners is not given.
func warnMissingAlignCorners(op string, alignCorners ops.Bool) error {
	if alignCorners != ops.NoBool {
		return nil
	}
	return warning.AlignCorners.Of(op, "align_corners defaults to False, unlike in PyTorch before 1.3; pass align_corners explicitly")
}

func sampleGrid(c dispatch.Context, op string, n int, self, grid *tensor.Tensor, mode, padding int64,
	alignCorners bool) (*tensor.Tensor, error) {
	if d := self.DType(); !d.IsFloatingPoint() {
		return nil, unsupportedDType(op, d, "convert to a floating-point dtype")
	}
	if n != 0 && self.Dim() != n+2 {
		return nil, status.Runtimef("%s: expected %dD input, but got input with sizes %v", op, n+2, self.Sizes())
	}
	result, err := c.NnSampled(self, grid, nil, mode, padding, alignCorners)
	return wrapError(op, result, err)
}

// NnAffineGrid has the points that images are sampled at to transform them by matrices.
func NnAffineGrid(c dispatch.Context, theta *tensor.Tensor, size []int64, alignCorners ops.Bool) (*tensor.Tensor, error) {
	const op = "nn_affine_grid"
	if err := warnMissingAlignCorners(op, alignCorners); err != nil {
		return nil, err
	}
	return makeAffineGrid(c, op, theta, size, alignCorners == ops.True, 1)
}

// AffineGridGenerator is NnAffineGrid by another name.
func AffineGridGenerator(c dispatch.Context, theta *tensor.Tensor, size []int64, alignCorners bool) (*tensor.Tensor, error) {
	return makeAffineGrid(c, "affine_grid_generator", theta, size, alignCorners, 0)
}

func makeAffineGrid(c dispatch.Context, op string, theta *tensor.Tensor, size []int64, alignCorners bool,
	least int64) (_ *tensor.Tensor, err error) {
	if !theta.DType().IsFloatingPoint() {
		return nil, status.Valuef("%s: Expected theta to have floating point type, but got %v", op, theta.DType())
	}
	n := int64(len(size)) - 2
	if n != 2 && n != 3 {
		return nil,
			status.NotImplementedf("%s: affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively, but got size %v",
				op, size)
	}
	if slices.Min(size) < least {
		return nil, status.Valuef("%s: Expected non-zero, positive output size, but got %v", op, size)
	}
	if wanted := []int64{size[0], n, n + 1}; !slices.Equal(theta.Sizes(), wanted) {
		fail := status.Valuef
		if theta.Dim() == 3 && slices.Equal(theta.Sizes()[1:], wanted[1:]) {
			fail = status.Runtimef // PyTorch multiplies the batches
		}
		return nil, fail("%s: Expected a batch of %dD affine matrices of shape Nx%dx%d for size %v, but got %v", op, n, n, n+1, size,
			theta.Sizes())
	}
	if least > 0 && alignCorners && slices.Contains(size[2:], 1) {
		err := warning.AlignCorners.Of(op,
			"dimensions of size 1 are sampled at their center with align_corners=True. See the documentation of affine_grid for details. Pass align_corners=False")
		if err != nil {
			return nil, err
		}
	}
	b := build.New(c, op)
	defer b.Close(&err)
	var rows []*tensor.Tensor
	for k := n - 1; k >= 0; k-- {
		steps := size[k+2]
		end := 1.0
		if !alignCorners {
			end = float64(steps-1) / float64(steps)
		}
		line := b.ZerosBeside(theta, theta.DType(), 1)
		if steps != 1 {
			line = b.LinspaceWith(dtype.FloatScalar(-end), dtype.FloatScalar(end), steps, theta.DType(), tensor.NoLayout, theta.Device())
		}
		around := slices.Repeat([]int64{1}, int(n))
		around[k] = steps
		rows = append(rows, b.Expand(b.AsShape(line, around...), size[2:]...))
	}
	rows = append(rows, b.Expand(b.OnesBeside(theta, theta.DType(), 1), size[2:]...))
	points := b.AsShape(b.Stack(rows, 0), n+1, shape.Product(size[2:]))
	result := b.Matmul(b.ReorderDims(points, 1, 0), b.ReorderDims(theta, 0, 2, 1))
	return build.WriteResult(b, nil, b.AsShape(result, slices.Concat(size[:1], size[2:], []int64{n})...))
}
