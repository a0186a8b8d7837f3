package named

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Operators with separate rules.

// namedEqual is Equal: tensors whose names differ are not.
func namedEqual(c dispatch.Context, self, other *tensor.Tensor) (bool, error) {
	equal, err := c.Excluding(tensor.Named).Equal(self, other)
	return equal && slices.Equal(Of(self), Of(other)), err
}

// namedRot90 is Rot90, which changes two dimensions for each other where it turns by a right angle.
func namedRot90(c dispatch.Context, self *tensor.Tensor, k int64, dims []int64) (*tensor.Tensor, error) {
	r, err := c.Excluding(tensor.Named).Rot90(self, k, dims)
	names := slices.Clone(Of(self))
	if err == nil && k%2 != 0 {
		a, _ := shape.WrapDim("rot90", dims[0], len(names))
		b, _ := shape.WrapDim("rot90", dims[1], len(names))
		names[a], names[b] = names[b], names[a]
	}
	setNames(names, err, r)
	return r, err
}

// namedViewAsComplex is ViewAsComplex, which takes the last dimension away.
func namedViewAsComplex(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	r, err := c.Excluding(tensor.Named).ViewAsComplex(self)
	setNames(removeDims(Of(self), []int64{-1}), err, r)
	return r, err
}

// namedIndexSet is IndexSet: the value's names must match those of the indexed part.
func namedIndexSet(c dispatch.Context, self *tensor.Tensor, items []ops.IndexItem, value *tensor.Tensor) error {
	if value.Names() != nil {
		part, err := namedIndexGet(c, self, items)
		if err != nil {
			return err
		}
		defer part.Release()
		if _, err := matchNames("index_put_", part.Names(), value.Names()); err != nil {
			return err
		}
	}
	return c.Excluding(tensor.Named).IndexSet(self, items, value)
}

// namedIndexGet is IndexGet: integers remove a dimension, slices and ellipses keep its name. Dimensions selected by tensors and bools have
// no names.
func namedIndexGet(c dispatch.Context, self *tensor.Tensor, items []ops.IndexItem) (*tensor.Tensor, error) {
	r, err := c.Excluding(tensor.Named).IndexGet(self, items)
	if err == nil {
		setNames(indexNames(Of(self), items), err, r)
	}
	return r, err
}

// indexedDims returns the number of dimensions that an item of an index consumes.
func indexedDims(item ops.IndexItem) int {
	switch {
	case item.Kind == ops.IndexTensor && ops.IsMask(item.Tensor):
		return item.Tensor.Dim()
	case item.Kind == ops.IndexInt, item.Kind == ops.IndexSlice, item.Kind == ops.IndexTensor:
		return 1
	}
	return 0
}

// indexNames returns the names of the result of an index, which the operator has validated.
func indexNames(names []string, items []ops.IndexItem) (left []string) {
	rest := len(names)
	for _, item := range items {
		rest -= indexedDims(item)
	}
	selected, at, separated := 0, 0, false // dimensions that tensors select, their position, and whether others are between those tensors
	for _, item := range items {
		n := indexedDims(item)
		switch item.Kind {
		case ops.IndexTensor, ops.IndexBool:
			dims := 1 // those of a mask
			if item.Kind == ops.IndexTensor && !ops.IsMask(item.Tensor) {
				dims = item.Tensor.Dim()
			}
			if dims == 0 {
				break // an integer
			}
			if selected == 0 {
				at = len(left)
			}
			selected, separated = max(selected, dims), separated || at != len(left)
		case ops.IndexNewAxis:
			left = append(left, "")
		case ops.IndexEllipsis:
			n = rest
			left, rest = append(left, names[:n]...), 0
		case ops.IndexSlice:
			left = append(left, names[0])
		}
		names = names[n:]
	}
	left = append(left, names...)
	if separated {
		at = 0
	}
	return slices.Insert(left, at, make([]string, selected)...)
}

// namedTensordotDims is TensordotDims: the result has the remaining dimensions of both operands.
func namedTensordotDims(c dispatch.Context, out, self, other *tensor.Tensor, dimsSelf, dimsOther []int64) (*tensor.Tensor, error) {
	const op = "tensordot"
	a, b := Of(self), Of(other)
	names, err := checkDistinct(op, slices.Concat(removeDims(a, dimsSelf), removeDims(b, dimsOther)), a, b)
	if err = checkOutputs(op, names, err, out); err != nil {
		return nil, err
	}
	r, err := c.Excluding(tensor.Named).TensordotDims(out, self, other, dimsSelf, dimsOther)
	setNames(names, err, r)
	return r, err
}

// namedCdist is Cdist: the rows of x1, then those of x2.
func namedCdist(c dispatch.Context, x1, x2 *tensor.Tensor, p float64, mode string) (*tensor.Tensor, error) {
	transposed := Of(x2)
	if n := len(transposed); n > 1 {
		transposed = slices.Concat(transposed[:n-2], []string{transposed[n-1], transposed[n-2]})
	}
	names, err := matrixProductNames("cdist", Of(x1), transposed)
	if err != nil {
		return nil, err
	}
	r, err := c.Excluding(tensor.Named).Cdist(x1, x2, p, mode)
	setNames(names, err, r)
	return r, err
}

// namedMeshgrid is Meshgrid: each dimension has the name of the vector whose coordinates it is.
func namedMeshgrid(c dispatch.Context, tensors []*tensor.Tensor, indexing string) ([]*tensor.Tensor, error) {
	var names []string
	for _, t := range tensors {
		names = append(names, append(Of(t), "")[0])
	}
	if name := tensor.RepeatedName(names); name != "" {
		return nil, status.Runtimef("meshgrid: two of the tensors have the name '%s'; rename() one of them", name)
	}
	if indexing == "xy" && len(names) > 1 {
		names[0], names[1] = names[1], names[0]
	}
	grids, err := c.Excluding(tensor.Named).Meshgrid(tensors, indexing)
	setNames(names, err, grids...)
	return grids, err
}
