package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// tensorsSharing returns the tensors with handles that use the storage of t, also those inside wrappers of transforms.
func tensorsSharing(t *tensor.Tensor) (found []*tensor.Tensor) {
	for _, held := range tensor.Holding(t.Storage()) {
		for part := range held.Each(nil) {
			if part.Storage() == t.Storage() {
				found = append(found, part)
			}
		}
	}
	return found
}

// joinGraph is called when an in-place operator makes self require grad. It makes self and all other tensors over its storage views of a
// common base, because tensors without autograd metadata do not record which tensors share their memory. Tensors that detach() separated
// are excluded. The base is a tensor with all elements of the storage in order, or a new one. A leaf that requires grad becomes a view too,
// and is no longer a leaf.
func joinGraph(self *tensor.Tensor) {
	if self.Storage().Refs() == 1 {
		return
	}
	together := []*tensor.Tensor{self}
	for _, t := range tensorsSharing(self) {
		if t == self || t.Detached() != self.Detached() || creationMetaOf(t) != 0 || t.DType().ToReal() != self.DType().ToReal() {
			continue
		}
		if !requiresGrad(t) || autogradMetaOf(t).isLeaf() {
			together = append(together, t)
		}
	}
	if len(together) == 1 {
		return
	}
	base := baseOf(together)
	defer base.Release()
	root := autogradMetaOf(base)
	for _, t := range together {
		if autogradMetaOf(t) != root {
			w := &viewed{base: base.Alias(), viewFunc: stridedReplay(t, base), name: "AsStridedBackward0"}
			w.setRoot(root)
			ensureMeta(t).setBase(w)
		}
	}
}

// leadViews is called when self becomes a leaf that requires grad. It makes existing views of self differentiable views of the leaf.
// Tensors that detach() returned are skipped: they rarely have views when they become leaves.
func leadViews(self *tensor.Tensor) {
	if self.Viewing() || self.Detached() != 0 || self.Storage().Refs() == 1 {
		return
	}
	for _, t := range tensorsSharing(self) {
		if !t.Viewing() || t.Detached() != 0 || t.AutogradMeta() != nil || t.DType().ToReal() != self.DType().ToReal() {
			continue
		}
		root := ensureMeta(self) // which the base has as well
		w := &viewed{base: self.Alias(), viewFunc: stridedReplay(t, self), name: "AsStridedBackward0"}
		w.setRoot(root)
		w.version-- // it has no node yet
		ensureMeta(t).setBase(w)
	}
}

// isLeaf returns whether the tensor is a leaf that requires grad and is not a view.
func (v *AutogradMeta) isLeaf() bool { return v.requires && v.node == nil && v.view == nil }

// setBase replaces the base of a tensor without a grad_fn; nil makes it no view.
func (v *AutogradMeta) setBase(w *viewed) {
	if v.view != nil {
		v.view.base.Release()
	}
	v.view = w
}

// baseOf returns an alias of the tensor in together that has all elements of the storage, or a new tensor over the storage.
func baseOf(together []*tensor.Tensor) *tensor.Tensor {
	one := together[0]
	all := one.Storage().Nbytes() / one.DType().Size()
	whole := func(t *tensor.Tensor) bool {
		return t.Offset() == 0 && t.Numel()*t.DType().Size() == all*one.DType().Size() && t.IsContiguous()
	}
	i := slices.IndexFunc(together, func(t *tensor.Tensor) bool { return whole(t) && !t.Viewing() })
	if i < 0 {
		i = slices.IndexFunc(together, whole)
	}
	if i >= 0 {
		ensureMeta(together[i]).setBase(nil)
		return together[i].Alias()
	}
	t := one.Plain()
	_ = t.SetGeometry("base", []int64{all}, []int64{1}, 0) // the elements of the storage, which it has
	ensureMeta(t)
	return t
}

// stridedReplay returns the replay of the view t of base by as_strided, with view_as_real or view_as_complex if only one of them is
// complex; base has offset 0 then. The conjugate and negative bits of t and base are kept.
func stridedReplay(t, base *tensor.Tensor) replay {
	from, to := base.Lazy(), t.Lazy()
	if from == to && base.DType() == t.DType() {
		from, to = 0, 0
	}
	placed := inMemory(t, base)
	if from|to == 0 {
		return placed
	}
	return func(c dispatch.Context, base *tensor.Tensor) ([]*tensor.Tensor, error) {
		memory, err := dispatch.Toggled(c, base, from)
		if err != nil {
			return nil, err
		}
		defer memory.Release()
		part, err := placed.viewAt(c, memory, 0)
		if err != nil {
			return nil, err
		}
		defer part.Release()
		return singleView(dispatch.Toggled(c, part, to))
	}
}

// inMemory is strided without conjugate and negative bits.
func inMemory(t, base *tensor.Tensor) replay {
	sizes, strides, offset := slices.Clone(t.Sizes()), slices.Clone(t.Strides()), t.Offset()-base.Offset()
	at := func(c dispatch.Context, base *tensor.Tensor) (*tensor.Tensor, error) {
		return c.AsStrided(nil, base, sizes, strides, ops.Int(base.Offset()+offset))
	}
	by := func(first, second func(c dispatch.Context, t *tensor.Tensor) (*tensor.Tensor, error)) replay {
		return func(c dispatch.Context, base *tensor.Tensor) ([]*tensor.Tensor, error) {
			between, err := first(c, base)
			if err != nil {
				return nil, err
			}
			defer between.Release()
			return singleView(second(c, between))
		}
	}
	switch complex := base.DType().IsComplex(); {
	case complex == t.DType().IsComplex():
		return func(c dispatch.Context, base *tensor.Tensor) ([]*tensor.Tensor, error) {
			return singleView(at(c, base))
		}
	case complex:
		return by(dispatch.Context.ViewAsReal, at)
	}
	for d := range strides {
		strides[d] *= 2
	}
	sizes, strides, offset = append(sizes, 2), append(strides, 1), 2*offset
	return by(at, dispatch.Context.ViewAsComplex)
}
