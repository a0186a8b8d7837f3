package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// RecordFunction adds a node for a custom function to the graph, with outputs as its results, and returns it; nil if no input requires
// grad. constant are the indices of non-differentiable outputs, kept the tensors to save. function is the backward callback, data its
// context.
func RecordFunction(c dispatch.Context, name string, inputs, outputs []*tensor.Tensor, constant []int64, kept []*tensor.Tensor,
	materialize bool, function, data, deleter uintptr) (tensor.Node, error) {
	const op = "record_function"
	if err := checkCallback(op, "backward", function); err != nil {
		return nil, err
	}
	if hasWrapper(inputs) || hasWrapper(outputs) {
		return nil, status.NotImplementedf("%s: custom functions are not implemented inside vmap, because they would receive batched tensors; write %s with operators",
			name, name)
	}
	for i, k := range constant {
		if k < 0 || k >= int64(len(outputs)) {
			return nil, status.Indexf("%s: constant[%d] is %d, which is out of range for %d outputs", op, i, k, len(outputs))
		}
	}
	if !isRecording(c, inputs...) {
		newContext(data, deleter).release()
		return nil, nil
	}
	return recordCall(c, name, inputs, outputs, constant, kept, materialize, newContext(data, deleter),
		func(s *steps, at *context) ([]*tensor.Tensor, error) {
			return program.Call(s.C, function, data, s.gradsForCallback(at, len(inputs)), len(inputs))
		})
}

// recordCall adds a node for a call with the given inputs and outputs, of which gradients computes the derivatives. at is the context of
// the node, which the caller keeps after an error.
func recordCall(c dispatch.Context, name string, inputs, outputs []*tensor.Tensor, constant []int64, kept []*tensor.Tensor,
	materialize bool, at *context,
	gradients func(s *steps, at *context) ([]*tensor.Tensor, error)) (tensor.Node, error) {
	n := newNode(name, len(inputs))
	defer n.Release()
	given, results := allValuesOf(inputs), allValuesOf(outputs)
	for i, t := range results {
		if err := n.resultOf(t, given, i, len(results)); err != nil {
			return nil, err
		}
	}
	for i, t := range inputs {
		var err error
		if n.edges[i], err = checkedEdge(t); err != nil {
			return nil, err
		}
	}
	n.number = numbers.Add(1)
	n.recordOutputs(results...)
	var few [4]int
	graded := few[:0] // the differentiable results
	for i, t := range results {
		if t != nil && isDifferentiable(t) && !slices.Contains(constant, int64(i)) {
			graded = append(graded, i)
		}
	}
	n.setCustomFormula(name, materialize, presentTensors(results), gradients)
	for _, t := range kept {
		if err := n.saveForCallback(c, t, outputs, graded); err != nil {
			return nil, err
		}
	}
	for _, k := range constant {
		if t := results[k]; t != nil && creationMetaOf(t) == noGradView {
			dropAutogradMeta(t)
		}
	}
	for _, i := range graded {
		n.setGradFnOf(results[i], i, given, len(graded))
	}
	if sparse := func(t *tensor.Tensor) bool {
		return componentsOf(t) != nil
	}; slices.ContainsFunc(inputs, sparse) || slices.ContainsFunc(outputs, sparse) {
		at.places = placesOf(slices.Concat(inputs, outputs)...)
	}
	n.attachedHooks().context = at
	n.callWatcherForNew()
	n.retain()
	return n, nil
}

// presentTensors returns which tensors are not nil, or nil if all are.
func presentTensors(tensors []*tensor.Tensor) []bool {
	if !slices.Contains(tensors, nil) {
		return nil
	}
	present := make([]bool, len(tensors))
	for i, t := range tensors {
		present[i] = t != nil
	}
	return present
}

// setCustomFormula has n compute its gradients by a function. If materialize is set, missing gradients of the results that are present, all
// by default, are zeros.
func (n *Node) setCustomFormula(name string, materialize bool, present []bool,
	gradients func(s *steps, at *context) ([]*tensor.Tensor, error)) {
	n.formula = func(s *steps, i int) *tensor.Tensor {
		return s.evaluateOnce(func() []*tensor.Tensor {
			for k := range s.given {
				if materialize && (present == nil || present[k]) {
					s.grad(k)
				}
			}
			at := n.attached.Load().context
			made := s.TrackAll(gradients(s, at))
			for k, e := range s.node.edges {
				if made[k] != nil && e.Node != nil {
					made[k] = s.placeCustomGrad(k, at.placesAt(k), made[k])
				}
				if t := made[k]; t != nil && e.Node != nil {
					s.Check(e.Node.outputs[e.Output].checkCustomGrad(name, k, t))
				}
			}
			return made
		})[i]
	}
}

// RecordFunctionWeak is RecordFunction that returns a weak reference to the node.
func RecordFunctionWeak(c dispatch.Context, name string, inputs, outputs []*tensor.Tensor, constant []int64, kept []*tensor.Tensor,
	materialize bool, function, data, deleter uintptr) (tensor.Node, error) {
	n, err := RecordFunction(c, name, inputs, outputs, constant, kept, materialize, function, data, deleter)
	if n == nil || err != nil {
		return nil, err
	}
	defer n.Release()
	return NodeWeak(c, n)
}

// IsUntrackedView returns whether t is a view that was made under no_grad from a tensor that requires grad.
func IsUntrackedView(t *tensor.Tensor) bool {
	return creationMetaOf(t) == noGradView && requiresGrad(t)
}

// IsStale returns whether t is a view that can no longer be differentiated, because its memory was written to.
func IsStale(t *tensor.Tensor) bool {
	v := autogradMetaOf(t)
	return v != nil && v.regenerateGradFn(valuesOf(t)) != nil
}

// Wanted returns whether t requires grad.
func Wanted(t *tensor.Tensor) bool { return requiresGrad(t) }

// SoleContext returns the context of the custom function that created t, if its deleter is the given one and t holds the only reference to
// the node: no other tensor, node or handle does. Otherwise it returns 0.
func SoleContext(t *tensor.Tensor, deleter uintptr) uintptr {
	v := autogradMetaOf(t)
	if v == nil || v.refs.Load() != 1 {
		return 0
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	n := v.node
	if n == nil || n.refs.Load() != 1 {
		return 0
	}
	a := n.attached.Load()
	if a == nil || a.context == nil || a.context.refs.Load() != 1 || a.context.deleter != deleter {
		return 0
	}
	return a.context.data
}

// isCustom returns whether the node is one of a custom function.
func (n *Node) isCustom() bool {
	a := n.attached.Load()
	return a != nil && a.context != nil
}

// checkCustomGrad returns an error if grad, which a custom function returned for operand k, has an incompatible dtype or device.
// Zero-dimensional tensors may be on another device.
func (l *like) checkCustomGrad(function string, k int, grad *tensor.Tensor) error {
	switch {
	case grad.DType().IsComplex() && !l.dtype.IsComplex():
		return status.Runtimef("Function %s returned an invalid gradient at index %d - got %v but expected a real dtype, as that of the input, %v",
			function, k, grad.DType(), l.dtype)
	case grad.Device() != l.device && grad.Dim() > 0:
		return status.Runtimef("Function %s returned an invalid gradient at index %d - expected device %v but got %v", function, k, l.device,
			grad.Device())
	}
	return nil
}

// gradsForCallback returns the gradients of the outputs as the callback receives them: with the indices of the outputs if these are sparse.
// at has the indices of the operands first, then those of the outputs.
func (s *steps) gradsForCallback(at *context, operands int) []*tensor.Tensor {
	shown := slices.Clone(s.given)
	for k, grad := range shown {
		if places := at.placesAt(operands + k); grad != nil && places != nil {
			shown[k] = s.Track(gradientOf(s.C, places, grad))
		}
	}
	return shown
}

// placeCustomGrad converts grad, which a custom function returned for operand k, to the layout of the tensor that carries the operand's
// autograd metadata.
func (s *steps) placeCustomGrad(k int, places, grad *tensor.Tensor) *tensor.Tensor {
	if places != nil && !slices.Equal(places.Sizes(), grad.Sizes()) {
		s.Check(status.Runtimef("Function %s returned an invalid gradient at index %d - got %v but expected shape compatible with %v",
			s.node.name, k, grad.Sizes(), places.Sizes()))
	}
	if places == nil && grad.Components() == nil {
		return grad
	}
	return s.Track(toValues(s.C, places, grad))
}

// resultOf returns an error for a result that was written to in place although it may not, and for a result that already requires grad,
// unless it is a view that the function made under no_grad.
func (n *Node) resultOf(t *tensor.Tensor, inputs []*tensor.Tensor, i, results int) error {
	v := autogradMetaOf(t)
	switch {
	case isWritten(t, inputs):
		if err := checkOut(n.operatorName(), t); err != nil {
			return err
		}
		if isView := v != nil && v.view != nil || t.Viewing() && t.Storage().Refs() > 1; isView && results > 1 {
			return status.Runtimef("%s: If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one Tensor. This is not supported by the "+
				"current autograd engine. You should either make sure the input is not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it into "+
				"two Functions: one doing the inplace that returns a single Tensor and a second one that does the other operations).", n.operatorName())
		}
	case v != nil && v.requiresGrad() && v.creationMeta != noGradView:
		return status.Runtimef("%s: output %d requires grad, but is not one of the inputs; compute outputs under no_grad", n.operatorName(), i)
	}
	return nil
}

// isWritten returns whether a result is one of the inputs, or another handle of one, which the function has then written to.
func isWritten(t *tensor.Tensor, inputs []*tensor.Tensor) bool {
	v := autogradMetaOf(t)
	return t != nil && slices.ContainsFunc(inputs, func(in *tensor.Tensor) bool { return in == t || v != nil && autogradMetaOf(in) == v })
}

// setGradFnOf sets the grad_fn of t to the node, as output i of several differentiable ones.
func (n *Node) setGradFnOf(t *tensor.Tensor, i int, inputs []*tensor.Tensor, results int) {
	n.retain()
	if isWritten(t, inputs) {
		r := recordedOp{node: n, out: t, at: i}
		r.setInplaceGradFn()
		return
	}
	v := ensureMeta(t)
	v.setBase(nil)
	v.creationMeta, v.functionView, v.since = 0, functionViewOf(t, results), t.Version()
	v.setGradFn(n, i)
}

// saveForCallback saves a tensor for the backward callback. graded are the indices of the differentiable outputs.
func (n *Node) saveForCallback(c dispatch.Context, t *tensor.Tensor, outputs []*tensor.Tensor, graded []int) error {
	if t == nil {
		n.saved = append(n.saved, saved{name: "tensors" + listed})
		return nil
	}
	s := saved{name: "tensors" + listed, t: t.Plain()}
	switch i := slices.Index(outputs, t); {
	case i < 0:
		s.from, s.of = edgeTo(t), autogradMetaOf(t)
	case slices.Contains(graded, i):
		s.from, s.result = Edge{nil, i}, true
	}
	_, err := n.addSaved(c, s, t)
	return err
}
