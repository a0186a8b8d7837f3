package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// sharing are the tensors that the program holds over the storage of t, and those that its tensors of transforms stand for.
func sharing(t *tensor.Tensor) (found []*tensor.Tensor) {
	for _, held := range tensor.Holding(t.Storage()) {
		for part := range held.Each(nil) {
			if part.Storage() == t.Storage() {
				found = append(found, part)
			}
		}
	}
	return found
}

// join makes a tensor that a call has written to, and that gets a history by that, one of the views of a base, with all others over its memory, but for those that a
// detach() set apart: plain tensors do not know of each other. The base is one that has all elements of the storage, in their order, or
// else a tensor of its own. A leaf whose gradient is wanted is a view as well, and no leaf any more.
func join(self *tensor.Tensor) {
	if self.Storage().Refs() == 1 {
		return
	}
	together := []*tensor.Tensor{self}
	for _, t := range sharing(self) {
		if t == self || t.Detached() != self.Detached() || creationMetaOf(t) != 0 || t.DType().ToReal() != self.DType().ToReal() {
			continue
		}
		if !wanted(t) || variableOf(t).leaf() {
			together = append(together, t)
		}
	}
	if len(together) == 1 {
		return
	}
	base := baseOf(together)
	defer base.Release()
	root := variableOf(base)
	for _, t := range together {
		if variableOf(t) != root {
			w := &viewed{base: base.Alias(), viewFunc: strided(t, base), name: "AsStridedBackward0"}
			w.look(root)
			track(t).views(w)
		}
	}
}

// lead makes the views that programs hold of a plain tensor those of the leaf that it becomes. What detach() gave is not looked through: it
// seldom has views when it becomes a leaf.
func lead(self *tensor.Tensor) {
	if self.Viewing() || self.Detached() != 0 || self.Storage().Refs() == 1 {
		return
	}
	for _, t := range sharing(self) {
		if !t.Viewing() || t.Detached() != 0 || t.History() != nil || t.DType().ToReal() != self.DType().ToReal() {
			continue
		}
		root := track(self) // which the base has as well
		w := &viewed{base: self.Alias(), viewFunc: strided(t, self), name: "AsStridedBackward0"}
		w.look(root)
		w.version-- // it has no node yet
		track(t).views(w)
	}
}

// leaf tells whether a tensor is wanted for itself, and views no other.
func (v *Variable) leaf() bool { return v.requires && v.node == nil && v.view == nil }

// views makes a tensor without a node a view of another base than before, or of none.
func (v *Variable) views(w *viewed) {
	if v.view != nil {
		v.view.base.Release()
	}
	v.view = w
}

// baseOf is an alias of the tensor that the others view.
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
		track(together[i]).views(nil)
		return together[i].Alias()
	}
	t := one.Plain()
	_ = t.SetGeometry("base", []int64{all}, []int64{1}, 0) // the elements of the storage, which it has
	track(t)
	return t
}

// strided makes the view t of base again by the place of its elements, by way of the parts of complex numbers where t has those of base,
// or the other way round: base begins where its storage does then. What either has conjugated or negated when it is read is so in the view.
func strided(t, base *tensor.Tensor) replay {
	from, to := base.Lazy(), t.Lazy()
	if from == to && base.DType() == t.DType() {
		from, to = 0, 0
	}
	placed := inMemory(t, base)
	if from|to == 0 {
		return placed
	}
	return func(c aten.Ctx, base *tensor.Tensor) ([]*tensor.Tensor, error) {
		memory, err := aten.Toggled(c, base, from)
		if err != nil {
			return nil, err
		}
		defer memory.Release()
		part, err := placed.only(c, memory, 0)
		if err != nil {
			return nil, err
		}
		defer part.Release()
		return single(aten.Toggled(c, part, to))
	}
}

// inMemory is strided for what the memory of both has.
func inMemory(t, base *tensor.Tensor) replay {
	sizes, strides, offset := slices.Clone(t.Sizes()), slices.Clone(t.Strides()), t.Offset()-base.Offset()
	at := func(c aten.Ctx, base *tensor.Tensor) (*tensor.Tensor, error) {
		return c.AsStrided(nil, base, sizes, strides, ops.Int(base.Offset()+offset))
	}
	by := func(first, second func(c aten.Ctx, t *tensor.Tensor) (*tensor.Tensor, error)) replay {
		return func(c aten.Ctx, base *tensor.Tensor) ([]*tensor.Tensor, error) {
			between, err := first(c, base)
			if err != nil {
				return nil, err
			}
			defer between.Release()
			return single(second(c, between))
		}
	}
	switch complex := base.DType().IsComplex(); {
	case complex == t.DType().IsComplex():
		return func(c aten.Ctx, base *tensor.Tensor) ([]*tensor.Tensor, error) { return single(at(c, base)) }
	case complex:
		return by(aten.Ctx.ViewAsReal, at)
	}
	for d := range strides {
		strides[d] *= 2
	}
	sizes, strides, offset = append(sizes, 2), append(strides, 1), 2*offset
	return by(at, aten.Ctx.ViewAsComplex)
}
