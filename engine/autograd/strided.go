package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// differentiateAny is differentiate, and again with strided gradients if the derivative does not support the sparse gradients of strided
// outputs. Custom functions are called once.
func (n *Node) differentiateAny(r *backwardPass, grads []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if n.isCustom() || !slices.ContainsFunc(grads, func(t *tensor.Tensor) bool { return componentsOf(t) != nil }) {
		return n.differentiate(r, grads)
	}
	s := &steps{Builder: build.Builder{C: r.c}}
	defer s.Close()
	kept := slices.Clone(grads) // differentiate may take gradients out of grads and release them
	for i, t := range kept {
		if t != nil {
			kept[i] = s.Track(t.Alias(), nil)
		}
	}
	made, err := n.differentiate(r, grads)
	if !isUnsupported(err) {
		return made, err
	}
	for _, t := range made {
		t.Release()
	}
	_, failed := s.Evaluate(func() *tensor.Tensor {
		for i, t := range kept {
			kept[i] = s.toStrided(t)
		}
		return nil
	})
	if failed != nil {
		return make([]*tensor.Tensor, len(n.edges)), failed
	}
	for i, t := range kept {
		grads[i].Release()
		if grads[i] = nil; t != nil {
			grads[i] = t.Alias()
		}
	}
	if made, failed = n.differentiate(r, grads); failed != nil {
		return made, err
	}
	return made, nil
}

// isUnsupported returns whether err may be the error of an operator that does not support a layout.
func isUnsupported(err error) bool {
	e, ok := err.(*status.Error)
	return ok && (e.Code == status.NotImplemented || e.Code == status.Runtime)
}

// toStrided returns t, or the strided tensor of a sparse t.
func (s *steps) toStrided(t *tensor.Tensor) *tensor.Tensor {
	if componentsOf(t) == nil {
		return t
	}
	return s.ToDense(t, dtype.None)
}
