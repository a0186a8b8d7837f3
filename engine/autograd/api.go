package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/warning"
)

// SetRequiresGrad sets requires_grad of a leaf.
func SetRequiresGrad(c dispatch.Context, self *tensor.Tensor, on bool) error {
	v := autogradMetaOf(self)
	switch {
	case on && !isDifferentiable(self):
		return status.Runtimef("Only Tensors of floating point and complex dtype can require gradients, not one of %v", self.DType())
	case on && isInference(self) && !c.Inferring():
		return status.Runtimef("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
	case v != nil && (v.node != nil || v.view != nil && v.view.root.requiresGrad()):
		if on {
			return nil
		}
		return status.Runtimef("you can only change requires_grad flags of leaf variables; this tensor was computed by %s. If you want to use a computed variable in a subgraph that doesn't "+
			"require differentiation use var_no_grad = var.detach()", nameOf(self))
	case on:
		if !requiresGrad(self) {
			leadViews(self)
		}
		ensureMeta(self).requires = true
	case v != nil:
		v.requires = false
	}
	return nil
}

// RequiresGrad returns whether self requires grad.
func RequiresGrad(_ dispatch.Context, self *tensor.Tensor) (bool, error) {
	return requiresGrad(self), nil
}

// IsLeaf returns whether self has no grad_fn.
func IsLeaf(_ dispatch.Context, self *tensor.Tensor) (bool, error) {
	n, _ := currentGradFn(self)
	if n == nil {
		return true, nil
	}
	n.Release()
	return false, nil
}

// OutputNr returns the index of self among the outputs of its node, 0 for a leaf.
func OutputNr(_ dispatch.Context, self *tensor.Tensor) (int64, error) {
	n, output := currentGradFn(self)
	if n == nil {
		return 0, nil
	}
	n.Release()
	return int64(output), nil
}

// GradFnName returns the name of self's grad_fn, such as AddBackward0; "" for a leaf.
func GradFnName(_ dispatch.Context, self *tensor.Tensor) (string, error) { return nameOf(self), nil }

// currentGradFn returns the grad_fn of t, with a new reference, and the index of t among its outputs. It is regenerated for a view whose
// base has changed, and nil for leaves.
func currentGradFn(t *tensor.Tensor) (*Node, int) {
	v := autogradMetaOf(t)
	if v == nil {
		return nil, 0
	}
	_ = v.regenerateGradFn(valuesOf(t)) // as in edgeTo
	return v.gradFn()
}

func nameOf(t *tensor.Tensor) string {
	v := autogradMetaOf(t)
	if v == nil {
		return ""
	}
	if v.regenerateGradFn(valuesOf(t)) != nil {
		return "Invalid"
	}
	n, _ := v.gradFn()
	if n == nil {
		return ""
	}
	defer n.Release()
	return n.name
}

// Grad returns the gradient of self, or nil. It warns for a non-leaf tensor without retain_grad.
func Grad(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	v := autogradMetaOf(self)
	if v == nil {
		return nil, nil
	}
	grad, err := v.newGradHandle(c, self)
	if grad != nil || err != nil || v.retainsGrad {
		return grad, err
	}
	if leaf, err := IsLeaf(c, self); leaf || err != nil {
		return nil, err
	}
	return nil, warning.GradOfNonLeaf.Of("grad",
		"the tensor is no leaf: backward() leaves it without a gradient; call retain_grad() before, or take the gradient of the leaf that it was computed of")
}

// newGradHandle returns a new handle of the stored gradient, or nil.
func (v *AutogradMeta) newGradHandle(c dispatch.Context, of *tensor.Tensor) (*tensor.Tensor, error) {
	grad := v.storedGrad()
	if grad == nil {
		return nil, nil
	}
	defer grad.Release()
	return gradientOf(c, of, grad)
}

// storedGrad returns a handle of the stored gradient, or nil.
func (v *AutogradMeta) storedGrad() *tensor.Tensor {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.grad == nil {
		return nil
	}
	return v.grad.Peer()
}

// IsGrad returns whether other is a handle of the gradient of self.
func IsGrad(_ dispatch.Context, self, other *tensor.Tensor) (bool, error) {
	v := autogradMetaOf(self)
	if v == nil {
		return false, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	g := v.grad
	if componentsOf(g) != nil {
		return g.IsPeer(other), nil
	}
	other = valuesOf(other)
	return g != nil && g.Storage() == other.Storage() && g.Offset() == other.Offset() && g.DType() == other.DType() &&
		slices.Equal(g.Sizes(), other.Sizes()) && slices.Equal(g.Strides(), other.Strides()), nil
}

// SetGrad sets the gradient of self, or removes it if grad is nil. It returns an error if dtype, device or sizes differ from self's.
func SetGrad(c dispatch.Context, self, grad *tensor.Tensor) error {
	if grad != nil {
		if grad == self {
			return status.Runtimef("can't assign Variable as its own grad")
		}
		if err := checkGradFits(self, grad); err != nil {
			return err
		}
		var err error
		if grad, err = toValues(c, self, grad); err != nil {
			return err
		}
	}
	v := autogradMetaOf(self)
	if v == nil {
		if grad == nil {
			return nil
		}
		v = ensureMeta(self)
	}
	v.mu.Lock()
	old := v.grad
	v.grad = grad
	v.set++
	v.mu.Unlock()
	old.Release()
	return nil
}

// SetData replaces the storage, geometry and dtype of self by those of data, and keeps self's autograd metadata (Tensor.data = data).
func SetData(_ dispatch.Context, self, data *tensor.Tensor) error {
	const op = "set_data_"
	if requiresGrad(self) && !isDifferentiable(data) {
		return status.Runtimef("%s: data set to a tensor that requires gradients must be floating point or complex dtype, not %v", op,
			data.DType())
	}
	before := self.Storage()
	if err := self.Become(op, data); err != nil {
		return err
	}
	if self.Storage() != before {
		self.SetDetached() // a write to data in place is no write to self, though they share memory
	}
	return nil
}

// checkGradFits returns an error if the dtype, device or sizes of grad differ from those of self.
func checkGradFits(self, grad *tensor.Tensor) error {
	switch want := likeOf(self); {
	case grad.DType() != want.dtype:
		return status.Runtimef("assigned grad has data of a different type: the tensor has dtype %v and the gradient %v", want.dtype,
			grad.DType())
	case grad.Device() != want.device:
		return status.Runtimef("assigned grad has data located on a different device: the tensor is on %v and the gradient on %v", want.device,
			grad.Device())
	case !slices.Equal(self.Sizes(), grad.Sizes()):
		return status.Runtimef("assigned grad has data of a different size: the tensor has shape %v and the gradient %v", self.Sizes(),
			grad.Sizes())
	}
	return nil
}

// RetainGrad makes backward passes store the gradient of the non-leaf tensor self. It has no effect on leaves.
func RetainGrad(_ dispatch.Context, self *tensor.Tensor) error {
	if !requiresGrad(self) {
		return status.Runtimef("can't retain_grad on Tensor that has requires_grad=False")
	}
	n, _ := currentGradFn(self)
	if n == nil {
		return nil
	}
	defer n.Release()
	if v := autogradMetaOf(self); !v.retainsGrad {
		v.retainsGrad = true
		n.addRetained(v)
	}
	return nil
}

// RetainsGrad returns whether self is a non-leaf tensor for which RetainGrad was called.
func RetainsGrad(_ dispatch.Context, self *tensor.Tensor) (bool, error) {
	v := autogradMetaOf(self)
	return v != nil && v.retainsGrad, nil
}

// DetachInplace removes self from the autograd graph and from forward-mode differentiation: it becomes a leaf without tangents.
func DetachInplace(c dispatch.Context, self *tensor.Tensor) error {
	if w := self.Wrapped(); w != nil {
		if err := DetachInplace(c, w.Value); err != nil || w.Tangent == nil || w.Level.Over() {
			return err
		}
		zeros, err := c.ZerosLike(w.Value, self.DType(), tensor.NoLayout, self.Device(), shape.Preserve)
		if err != nil {
			return err
		}
		defer zeros.Release()
		return self.Rest("detach_", zeros)
	}
	v := autogradMetaOf(self)
	if v == nil {
		return nil
	}
	w := v.view
	if w != nil && !w.inPlaceView || v.functionView != 0 {
		return status.Runtimef("Can't detach views in-place. Use detach() instead.")
	}
	v.mu.Lock()
	old := v.swapGradFn(nil, 0)
	v.view = nil
	v.mu.Unlock()
	v.releaseGradFn(old)
	if w != nil {
		w.base.Release()
	}
	return nil
}

// Backward accumulates the gradients of tensors in the leaves that they depend on, or only in inputs if there are any. grads are the
// gradients with respect to tensors; nil means 1, for a tensor of one element. The saved tensors of the graph are freed unless retain is
// true, which defaults to create. With create the backward pass is itself differentiable.
func Backward(c dispatch.Context, tensors, grads []*tensor.Tensor, retain ops.Bool, create bool, inputs []*tensor.Tensor) error {
	if hasWrapper(tensors) || hasWrapper(grads) {
		return status.Runtimef("backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp instead or call backward() outside of functorch transforms.")
	}
	r := newBackwardPass(c, keepsGraph(retain, create), create)
	defer r.close()
	goals, err := r.setInitialGrads(tensors, grads, inputs, false)
	defer releaseAll(goals)
	if err != nil {
		return err
	}
	if create {
		err := warning.CreateGraph.Of("backward", "with create_graph a leaf's gradient holds the graph, which holds the leaf: both stay until the gradient is taken off; use autograd.grad, or set grad to None afterwards")
		if err != nil {
			return err
		}
	}
	for _, t := range inputs {
		if err := RetainGrad(c, t); err != nil {
			return err
		}
	}
	return r.visitAll()
}

// AutogradGrad returns the gradients of outputs with respect to inputs. For an input on which outputs do not depend it returns an error,
// nil with unused, or zeros with zeros.
func AutogradGrad(c dispatch.Context, outputs, inputs, grads []*tensor.Tensor, retain ops.Bool, create, unused,
	zeros bool) ([]*tensor.Tensor, error) {
	if len(inputs) == 0 {
		return nil, status.Runtimef("`inputs` argument to `grad()` cannot be empty.")
	}
	if err := checkGradCount(outputs, grads); err != nil {
		return nil, err
	}
	if l := tangentLevel(outputs, inputs, grads); l != nil {
		return gradOfTangents(c, l, outputs, inputs, grads, retain, create, unused, zeros)
	}
	if l := seedLevel(outputs, grads); l != nil {
		if keepsGraph(retain, create) { // the graph is still there for the other way
			if made, err := computeGradients(c, outputs, inputs, grads, retain, create, unused, zeros); err == nil {
				return made, nil
			}
		}
		return forEach(c, l, outputs, inputs, grads, retain, create, unused, zeros)
	}
	if err := checkBatchedInputs(outputs, inputs); err != nil {
		return nil, err
	}
	return computeGradients(c, outputs, inputs, grads, retain, create, unused, zeros)
}

// computeGradients computes AutogradGrad in one backward pass, also if grads are batched by a vmap level.
func computeGradients(c dispatch.Context, outputs, inputs, grads []*tensor.Tensor, retain ops.Bool, create, unused,
	zeros bool) ([]*tensor.Tensor, error) {
	r := newBackwardPass(c, keepsGraph(retain, create), create)
	defer r.close()
	goals, err := r.setInitialGrads(outputs, grads, inputs, true)
	defer releaseAll(goals)
	if err == nil {
		err = r.visitAll()
	}
	made := make([]*tensor.Tensor, len(inputs))
	for i := range inputs {
		if err != nil {
			break
		}
		if grad := r.wanted[goals[i]]; grad != nil && goals[i].Node != nil {
			made[i], err = gradientOf(r.c, inputs[i], grad)
			continue
		}
		switch {
		case zeros:
			made[i], err = r.c.ZerosLike(inputs[i], inputs[i].DType(), tensor.NoLayout, inputs[i].Device(), shape.Preserve)
			if err == nil && create { // as other results that were computed from differentiable inputs
				err = SetRequiresGrad(c, made[i], true)
			}
		case !unused:
			err = unusedInput(i)
		}
	}
	if err != nil {
		for _, t := range made {
			t.Release()
		}
		return nil, err
	}
	return made, nil
}

func unusedInput(i int) error {
	return status.Runtimef("The differentiated Tensor at index %d appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.",
		i)
}

func keepsGraph(retain ops.Bool, create bool) bool {
	if retain == ops.NoBool {
		return create
	}
	return retain == ops.True
}

func releaseAll(edges []Edge) {
	for _, e := range edges {
		if e.Node != nil {
			e.Node.Release()
		}
	}
}

// checkGradCount returns an error unless there are no gradients or as many as tensors.
func checkGradCount(tensors, grads []*tensor.Tensor) error {
	if len(grads) != 0 && len(grads) != len(tensors) {
		return status.Runtimef("got %d tensors and %d gradients", len(tensors), len(grads))
	}
	return nil
}

// setInitialGrads sets the initial gradients of the backward pass and the inputs at which it stops, and returns the edges of the inputs.
func (r *backwardPass) setInitialGrads(tensors, grads, inputs []*tensor.Tensor, capture bool) (goals []Edge, err error) {
	if err := checkGradCount(tensors, grads); err != nil {
		return nil, err
	}
	if goals, err = r.setEdges(tensors, inputs, capture); err != nil {
		return goals, err
	}
	for i, t := range tensors {
		grad, err := r.initialGrad(t, tensorAt(grads, i), i)
		if err != nil {
			return goals, err
		}
		if err := r.addGrad(r.roots[i], grad); err != nil {
			return goals, err
		}
	}
	return goals, nil
}

// setEdges sets the edges at which the backward pass starts and the inputs at which it stops, and returns the edges of the inputs.
func (r *backwardPass) setEdges(tensors, inputs []*tensor.Tensor, capture bool) (goals []Edge, err error) {
	for i, t := range tensors {
		e, err := checkedEdge(t)
		if err != nil {
			return nil, err
		}
		if e.Node == nil {
			return nil, status.Runtimef("element %d of tensors does not require grad and does not have a grad_fn", i)
		}
		r.roots = append(r.roots, e)
	}
	for i, t := range inputs {
		e, err := checkedEdge(t)
		if err != nil {
			return goals, err
		}
		if e.Node == nil {
			return goals, status.Runtimef("One of the differentiated Tensors does not require grad: inputs[%d]", i)
		}
		goals = append(goals, e)
	}
	if len(inputs) > 0 {
		r.limitTo(r.roots, goals, capture)
	}
	return goals, nil
}

// tensorAt returns element i of a list, or nil behind its end.
func tensorAt(list []*tensor.Tensor, i int) *tensor.Tensor {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// initialGrad returns the initial gradient for t, number i of the outputs: grad after checks and conversions, or 1 if grad is nil.
func (r *backwardPass) initialGrad(t, grad *tensor.Tensor, i int) (*tensor.Tensor, error) {
	if grad == nil {
		if t.Numel() != 1 {
			return nil, status.Runtimef("grad can be implicitly created only for scalar outputs, but output %[2]d has shape %[1]v; pass a gradient",
				t.Sizes(), i)
		}
		if t.DType().IsComplex() {
			return nil, status.Runtimef("grad can be implicitly created only for real scalar outputs but got %v", t.DType())
		}
		t = valuesOf(t)
		return r.c.OnesLike(t, t.DType(), tensor.NoLayout, t.Device(), shape.Preserve)
	}
	switch {
	case !slices.Equal(t.Sizes(), grad.Sizes()):
		return nil, status.Runtimef("Mismatch in shape: grad_output[%d] has a shape of torch.Size(%v) and output[%d] has a shape of torch.Size(%v).",
			i, grad.Sizes(), i, t.Sizes())
	case t.DType().IsComplex() != grad.DType().IsComplex():
		return nil, status.Runtimef("For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: grad_output[%d] has a dtype of %v and output[%d] has a dtype of %v",
			i, grad.DType(), i, t.DType())
	case t.Device() != grad.Device() && grad.Dim() > 0:
		return nil, status.Runtimef("Mismatch in device: grad_output[%d] is on %v and output[%d] is on %v", i, grad.Device(), i, t.Device())
	}
	given, err := toValues(r.c, t, grad)
	if err == nil && (given.Device() != t.Device() || given.DType() != t.DType()) {
		other := given
		given, err = r.c.ToOptions(other, t.DType(), tensor.NoLayout, t.Device(), false, false, shape.NoFormat)
		other.Release()
	}
	if err != nil {
		return nil, err
	}
	if r.create {
		given.SetNames(nil)
		return given, nil
	}
	defer given.Release()
	if isTransformed(given) {
		return r.c.JvpDetach(given)
	}
	return given.Plain(), nil
}
