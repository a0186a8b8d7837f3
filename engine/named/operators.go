package named

import (
	"slices"

	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Operators with a rule of their own: the generator takes a function of a name like theirs in the place of one that it would write.

// namedEqual is Equal: tensors whose names differ are not.
func namedEqual(c aten.Ctx, self, other *tensor.Tensor) (bool, error) {
	equal, err := c.Past(tensor.Named).Equal(self, other)
	return equal && slices.Equal(Of(self), Of(other)), err
}

// namedRot90 is Rot90, which changes two dimensions for each other where it turns by a right angle.
func namedRot90(c aten.Ctx, self *tensor.Tensor, k int64, dims []int64) (*tensor.Tensor, error) {
	r, err := c.Past(tensor.Named).Rot90(self, k, dims)
	names := slices.Clone(Of(self))
	if err == nil && k%2 != 0 {
		a, _ := shape.WrapDim("rot90", dims[0], len(names))
		b, _ := shape.WrapDim("rot90", dims[1], len(names))
		names[a], names[b] = names[b], names[a]
	}
	give(names, err, r)
	return r, err
}

// namedViewAsComplex is ViewAsComplex, which takes the last dimension away.
func namedViewAsComplex(c aten.Ctx, self *tensor.Tensor) (*tensor.Tensor, error) {
	r, err := c.Past(tensor.Named).ViewAsComplex(self)
	give(without(Of(self), []int64{-1}), err, r)
	return r, err
}

// namedIndexGet is IndexGet: integers take a dimension away, slices and ellipses keep theirs. What tensors and bools select has no names.
func namedIndexGet(c aten.Ctx, self *tensor.Tensor, items []ops.IndexItem) (*tensor.Tensor, error) {
	r, err := c.Past(tensor.Named).IndexGet(self, items)
	give(indexed(Of(self), items), err, r)
	return r, err
}

func indexed(names []string, items []ops.IndexItem) (left []string) {
	takes := 0 // how many dimensions the items have
	for _, item := range items {
		if item.Kind == ops.IndexInt || item.Kind == ops.IndexSlice {
			takes++
		}
	}
	rest := max(len(names)-takes, 0)
	for _, item := range items {
		switch item.Kind {
		case ops.IndexTensor, ops.IndexBool:
			return nil
		case ops.IndexNewAxis:
			left = append(left, "")
			continue
		case ops.IndexEllipsis:
			left, names, rest = append(left, names[:rest]...), names[rest:], 0
			continue
		}
		if len(names) == 0 {
			return nil // more than there are, which the operator has refused
		}
		if item.Kind == ops.IndexSlice {
			left = append(left, names[0])
		}
		names = names[1:]
	}
	return append(left, names...)
}
