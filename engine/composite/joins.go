package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/warning"
)

// Atleast1d returns a zero-dim tensor one dimension.
func Atleast1d(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	return returnAtLeast(c, "atleast_1d", self, 1)
}

// Atleast2d returns tensors of fewer dimensions leading ones.
func Atleast2d(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	return returnAtLeast(c, "atleast_2d", self, 2)
}

// Atleast3d returns a vector a leading and a trailing dimension, a matrix a trailing one.
func Atleast3d(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	return returnAtLeast(c, "atleast_3d", self, 3)
}

func returnAtLeast(c dispatch.Context, op string, self *tensor.Tensor, dims int) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	return build.WriteResult(b, nil, viewAtLeast(b, self, dims))
}

// viewAtLeast views t with at least 1, 2 or 3 dimensions.
func viewAtLeast(b *build.Builder, t *tensor.Tensor, dims int) *tensor.Tensor {
	switch missing := dims - t.Dim(); {
	case missing <= 0:
		return t
	case t.Dim() == 0:
		return b.AsShape(t, slices.Repeat([]int64{1}, dims)...)
	case t.Dim() == 1 && missing == 1:
		return b.Unsqueeze(t, 0)
	case t.Dim() == 1:
		return b.Unsqueeze(b.Unsqueeze(t, 0), 2)
	}
	return b.Unsqueeze(t, 2)
}

// Atleast1dSequence is Atleast1d of every tensor.
func Atleast1dSequence(c dispatch.Context, tensors []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return returnEachAtLeast(c, "atleast_1d", tensors, 1)
}

// Atleast2dSequence is Atleast2d of every tensor.
func Atleast2dSequence(c dispatch.Context, tensors []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return returnEachAtLeast(c, "atleast_2d", tensors, 2)
}

// Atleast3dSequence is Atleast3d of every tensor.
func Atleast3dSequence(c dispatch.Context, tensors []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return returnEachAtLeast(c, "atleast_3d", tensors, 3)
}

func returnEachAtLeast(c dispatch.Context, op string, tensors []*tensor.Tensor, dims int) (_ []*tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	return b.ReturnAll(mapTensors(tensors, func(t *tensor.Tensor) *tensor.Tensor { return viewAtLeast(b, t, dims) }))
}

// mapTensors returns the result of view for each tensor.
func mapTensors(tensors []*tensor.Tensor, view func(*tensor.Tensor) *tensor.Tensor) []*tensor.Tensor {
	views := make([]*tensor.Tensor, len(tensors))
	for i, t := range tensors {
		views[i] = view(t)
	}
	return views
}

// concatViews concatenates the results of view along the dimension that the first of them determines, and writes them to out.
func concatViews(c dispatch.Context, op string, out *tensor.Tensor, tensors []*tensor.Tensor, view func(b *build.Builder,
	t *tensor.Tensor) *tensor.Tensor, dim func(first *tensor.Tensor) int64) (_ *tensor.Tensor, err error) {
	if len(tensors) == 0 {
		return nil, status.Valuef("%s: expected a non-empty list of Tensors", op)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	views := mapTensors(tensors, func(t *tensor.Tensor) *tensor.Tensor { return view(b, t) })
	return b.ReturnNew(c.Cat(out, views, dim(views[0])))
}

// Hstack concatenates tensors horizontally.
func Hstack(c dispatch.Context, out *tensor.Tensor, tensors []*tensor.Tensor) (*tensor.Tensor, error) {
	return concatViews(c, "hstack", out, tensors, func(b *build.Builder, t *tensor.Tensor) *tensor.Tensor { return viewAtLeast(b, t, 1) },
		func(first *tensor.Tensor) int64 {
			return int64(min(first.Dim()-1, 1))
		})
}

// Vstack joins tensors below each other.
func Vstack(c dispatch.Context, out *tensor.Tensor, tensors []*tensor.Tensor) (*tensor.Tensor, error) {
	return concatViews(c, "vstack", out, tensors, func(b *build.Builder, t *tensor.Tensor) *tensor.Tensor { return viewAtLeast(b, t, 2) },
		fixedDim(0))
}

// Dstack joins tensors along the third dimension.
func Dstack(c dispatch.Context, out *tensor.Tensor, tensors []*tensor.Tensor) (*tensor.Tensor, error) {
	return concatViews(c, "dstack", out, tensors, func(b *build.Builder, t *tensor.Tensor) *tensor.Tensor { return viewAtLeast(b, t, 3) },
		fixedDim(2))
}

// ColumnStack concatenates tensors along dimension 1; those of fewer than two dimensions are columns.
func ColumnStack(c dispatch.Context, out *tensor.Tensor, tensors []*tensor.Tensor) (*tensor.Tensor, error) {
	return concatViews(c, "column_stack", out, tensors, func(b *build.Builder, t *tensor.Tensor) *tensor.Tensor {
		if t.Dim() > 1 {
			return t
		}
		return b.Unsqueeze(viewAtLeast(b, t, 1), 1)
	}, fixedDim(1))
}

func fixedDim(dim int64) func(*tensor.Tensor) int64 {
	return func(*tensor.Tensor) int64 { return dim }
}

// BroadcastTensors expands all tensors to their common shape; those that have it stay themselves.
func BroadcastTensors(c dispatch.Context, tensors []*tensor.Tensor) (_ []*tensor.Tensor, err error) {
	b := build.New(c, "broadcast_tensors")
	defer b.Close(&err)
	var sizes []int64
	for _, t := range tensors {
		var err error
		if sizes, err = shape.Broadcast(b.Op, sizes, t.Sizes()); err != nil {
			return nil, err
		}
	}
	return b.ReturnAll(mapTensors(tensors, func(t *tensor.Tensor) *tensor.Tensor {
		if slices.Equal(t.Sizes(), sizes) {
			return t
		}
		return b.Expand(t, sizes...)
	}))
}

// Meshgrid expands vectors to the coordinates of a grid; indexing xy swaps the first two dimensions.
func Meshgrid(c dispatch.Context, tensors []*tensor.Tensor, indexing string) (_ []*tensor.Tensor, err error) {
	const op = "meshgrid"
	if len(tensors) == 0 {
		return nil, status.Runtimef("%s: expects a non-empty list of tensors", op)
	}
	if indexing != "" && indexing != "ij" && indexing != "xy" {
		return nil, status.Runtimef("%s: expects indexing to be one of \"xy\" or \"ij\", but received %q", op, indexing)
	}
	sizes := make([]int64, len(tensors))
	for i, t := range tensors {
		if t.Dim() > 1 {
			return nil, status.Runtimef("%s: expected 0D or 1D tensor in the tensor list but got: shape %v", op, t.Sizes())
		}
		if d, dev := tensors[0].DType(), tensors[0].Device(); t.DType() != d || t.Device() != dev {
			return nil, status.Runtimef("%s: expects all tensors to have the same dtype and device, but got %v on %v and %v on %v", op, d,
				dev, t.DType(), t.Device())
		}
		sizes[i] = t.Numel()
	}
	if indexing == "" {
		if err := warning.MeshgridIndexing.Of(op,
			"indexing defaults to \"ij\", while NumPy's default is \"xy\"; pass indexing explicitly"); err != nil {
			return nil, err
		}
	}
	swap := indexing == "xy" && len(tensors) > 1
	if swap {
		sizes[0], sizes[1] = sizes[1], sizes[0]
	}
	b := build.New(c, op)
	defer b.Close(&err)
	grids := make([]*tensor.Tensor, len(tensors))
	for i, t := range tensors {
		at := i
		if swap && i < 2 {
			at = 1 - i
		}
		line := slices.Repeat([]int64{1}, len(tensors)-at) // expand adds leading dimensions
		line[0] = t.Numel()
		grids[i] = b.Expand(b.AsShape(t, line...), sizes...)
	}
	return b.ReturnAll(grids)
}

// CartesianProd lists all combinations of one element of each vector.
func CartesianProd(c dispatch.Context, tensors []*tensor.Tensor) (_ *tensor.Tensor, err error) {
	for _, t := range tensors {
		if t.Dim() != 1 {
			return nil, status.Runtimef("cartesian_prod: expect a 1D vector, but got shape %v", t.Sizes())
		}
	}
	if len(tensors) == 1 {
		return tensors[0].Alias(), nil
	}
	b := build.New(c, "cartesian_prod")
	defer b.Close(&err)
	grids, err := c.Meshgrid(tensors, "ij")
	b.Check(err)
	for i, grid := range grids {
		grids[i] = b.AsShape(b.Track(grid, nil), grid.Numel())
	}
	return b.ReturnNew(c.Stack(nil, grids, 1))
}

// BlockDiag puts matrices on the diagonal of a matrix of zeros.
func BlockDiag(c dispatch.Context, tensors []*tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "block_diag"
	for i, t := range tensors {
		if t.Dim() > 2 {
			return nil, status.Runtimef("%s: input tensors must have 2 or fewer dimensions. Input %d has %d dimensions", op, i, t.Dim())
		}
	}
	if len(tensors) == 0 {
		return c.Zeros(nil, []int64{1, 0}, dtype.Default(), tensor.NoLayout, device.Host)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	var r dtype.Result
	rows, columns := int64(0), int64(0)
	views := mapTensors(tensors, func(t *tensor.Tensor) *tensor.Tensor { return viewAtLeast(b, t, 2) })
	dev, err := tensoriter.Device(op, views...)
	if err != nil {
		return nil, err
	}
	for i, t := range views {
		r.Add(t.DType(), tensors[i].Rank())
		var more error
		if rows, more = shape.Larger(op, rows, 1, t.Sizes()[0]); more == nil {
			columns, more = shape.Larger(op, columns, 1, t.Sizes()[1])
		}
		if more != nil {
			return nil, more
		}
	}
	whole := b.ZerosWith([]int64{rows, columns}, r.DType(), tensor.NoLayout, dev)
	row, column := int64(0), int64(0)
	for _, t := range views {
		b.Copy(b.Narrow(b.Narrow(whole, 0, row, t.Sizes()[0]), 1, column, t.Sizes()[1]), t, false)
		row, column = row+t.Sizes()[0], column+t.Sizes()[1]
	}
	return build.WriteResult(b, nil, whole)
}
