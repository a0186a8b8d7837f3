package composite

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// View operators with tensor arguments use only the metadata of these, so that the view of a gradient can be replayed after they are
// released.

// ViewAs is View of the shape of other.
func ViewAs(c dispatch.Context, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	result, err := c.View(self, other.Sizes())
	return wrapError("view_as", result, err)
}

// ExpandAs is Expand to the shape of other.
func ExpandAs(c dispatch.Context, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	result, err := c.Expand(self, other.Sizes(), false)
	return wrapError("expand_as", result, err)
}

// NarrowTensor is Narrow from a start that a tensor holds.
func NarrowTensor(c dispatch.Context, self *tensor.Tensor, dim int64, start *tensor.Tensor, length int64) (*tensor.Tensor, error) {
	if start.Dim() != 0 || !start.DType().IsIntegral() {
		return nil, status.Runtimef("narrow: start must be a 0-dim integral tensor, but got shape %v of %v", start.Sizes(), start.DType())
	}
	from, err := backend.Item("narrow", start)
	if err != nil {
		return nil, err
	}
	return c.Narrow(self, dim, from.Position(), length)
}

// TensorSplitTensor is TensorSplit or TensorSplitIndices by a CPU int64 tensor of 0 or 1 dimensions.
func TensorSplitTensor(c dispatch.Context, self, indicesOrSections *tensor.Tensor, dim int64) (_ []*tensor.Tensor, err error) {
	by := indicesOrSections
	if by.DType() != dtype.Int64 || by.Dim() > 1 {
		return nil,
			status.Runtimef("tensor_split: expected tensor_indices_or_sections to be an int64 tensor of 0 or 1 dimensions, but got %v of shape %v",
				by.DType(), by.Sizes())
	}
	b := build.New(c, "tensor_split")
	defer b.Close(&err)
	list := b.RowMajor(by, dtype.Int64)
	indices, err := backend.Ints(b.Op, list)
	if err != nil {
		return nil, err
	}
	if by.Dim() == 0 {
		return c.TensorSplit(self, indices[0], dim)
	}
	return c.TensorSplitIndices(self, indices, dim)
}
