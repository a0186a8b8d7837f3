package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// valuesOf returns the tensor that carries the autograd metadata of t: the values of a sparse tensor, the batched tensor or the primal of a
// wrapper of a transform, otherwise t.
func valuesOf(t *tensor.Tensor) *tensor.Tensor {
	if t == nil {
		return nil
	}
	return t.Behind()
}

// allValuesOf returns valuesOf of each tensor, or the list itself if it is unchanged.
func allValuesOf(list []*tensor.Tensor) []*tensor.Tensor {
	if !slices.ContainsFunc(list, func(t *tensor.Tensor) bool { return valuesOf(t) != t }) {
		return list
	}
	values := make([]*tensor.Tensor, len(list))
	for i, t := range list {
		values[i] = valuesOf(t)
	}
	return values
}

// placesOf returns aliases of the sparse tensors without autograd metadata, which keep their indices, and nil for strided tensors. It
// returns nil if all tensors are strided.
func placesOf(list ...*tensor.Tensor) []*tensor.Tensor {
	if !slices.ContainsFunc(list, func(t *tensor.Tensor) bool { return componentsOf(t) != nil }) {
		return nil
	}
	places := make([]*tensor.Tensor, len(list))
	for i, t := range list {
		if componentsOf(t) != nil {
			places[i] = t.Plain()
		}
	}
	return places
}

func componentsOf(t *tensor.Tensor) *tensor.SparseComponents {
	if t == nil {
		return nil
	}
	return t.Components()
}

// gradientOf converts the gradient of the values of t to the gradient that the caller gets: for a sparse t a sparse tensor with the indices
// of t. Duplicate entries have the same gradient, which occurs once.
func gradientOf(c dispatch.Context, t, grad *tensor.Tensor) (*tensor.Tensor, error) {
	if w := t.Wrapped(); w != nil {
		inner, err := gradientOf(c, w.Value, grad)
		if err != nil || w.Level.Forward {
			return inner, err
		}
		defer inner.Release()
		return dispatch.Return("grad", c, inner, w.Level)
	}
	p := componentsOf(t)
	if p == nil {
		return grad.Peer(), nil
	}
	if p.Coalesced || t.Layout() != tensor.COO {
		return withValues(t, grad)
	}
	s := &steps{Builder: build.Builder{C: c}}
	defer s.Close()
	return s.Evaluate(func() *tensor.Tensor {
		sum := s.Track(c.Coalesce(s.Track(withValues(t, grad))))
		ones := s.Track(c.OnesLike(grad, grad.DType(), tensor.NoLayout, grad.Device(), shape.Preserve))
		count := s.Track(c.Coalesce(s.Track(withValues(t, ones))))
		once := s.Track(c.Div(nil, sum.Components().Values, count.Components().Values, ""))
		return s.Track(tensor.Assemble("grad", t.Layout(), t.Sizes(),
			tensor.SparseComponents{Indices: sum.Components().Indices, Values: once, Coalesced: true}))
	})
}

// withValues returns a sparse tensor with the indices of t and other values.
func withValues(t, values *tensor.Tensor) (*tensor.Tensor, error) {
	p := t.Components()
	return tensor.Assemble("grad", t.Layout(), t.Sizes(), tensor.SparseComponents{Indices: p.Indices, Values: values, Coalesced: p.Coalesced})
}

// toValues converts a gradient that the caller passes for t to the gradient of valuesOf(t): for a sparse t the elements at its indices. A
// strided t accepts a COO gradient unchanged; a gradient of another layout is converted to a dense one.
func toValues(c dispatch.Context, t, grad *tensor.Tensor) (*tensor.Tensor, error) {
	if w := t.Wrapped(); w != nil {
		if w.Level.Forward {
			return toValues(c, w.Value, grad)
		}
		all, err := dispatch.Take(c, grad, w.Level)
		if err != nil {
			return nil, err
		}
		defer all.Release()
		return toValues(c, w.Value, all)
	}
	switch {
	case grad.Wrapped() == nil:
	case grad.Dual() == nil && componentsOf(t) == nil: // of a backward pass for all batch elements
		return grad.Alias(), nil
	default:
		return nil, status.NotImplementedf("a batched gradient, or one with a tangent, cannot be assigned to a tensor that is not batched, or has no tangent")
	}
	p := componentsOf(t)
	if p == nil && grad.Layout() == tensor.COO {
		return grad.Peer(), nil
	}
	if p == nil && grad.Components() == nil || haveSameIndices(p, grad.Components()) && (t.Layout() != tensor.COO || p.Coalesced) {
		return valuesOf(grad).Alias(), nil
	}
	var fitted *tensor.Tensor
	var err error
	if p != nil { // each entry by itself, also where others are at its place
		mask, failed := tensor.Assemble("grad", t.Layout(), t.Sizes(),
			tensor.SparseComponents{Indices: p.Indices, Values: p.Values, Coalesced: true})
		if failed != nil {
			return nil, failed
		}
		defer mask.Release()
		fitted, err = c.SparseMask(grad, mask)
	} else {
		fitted, err = c.ToDense(grad, dtype.None, ops.NoBool)
	}
	if err != nil {
		return nil, err
	}
	defer fitted.Release()
	return valuesOf(fitted).Alias(), nil
}

// haveSameIndices returns whether two sparse tensors share the memory of their indices.
func haveSameIndices(a, b *tensor.SparseComponents) bool {
	return a != nil && b != nil && slices.EqualFunc(a.Indices, b.Indices, func(x, y *tensor.Tensor) bool {
		return x.Storage() == y.Storage() && x.Offset() == y.Offset() && slices.Equal(x.Sizes(), y.Sizes()) &&
			slices.Equal(x.Strides(), y.Strides())
	})
}
