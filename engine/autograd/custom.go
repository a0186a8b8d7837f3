package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// RecordFunction records outputs as the results of a function of the program's.
func RecordFunction(c aten.Ctx, name string, inputs, outputs []*tensor.Tensor, constant []int64, kept []*tensor.Tensor, materialize bool, function, data, deleter uintptr) (tensor.Node, error) {
	const op = "record_function"
	if err := given(op, "backward", function); err != nil {
		return nil, err
	}
	if transformed(inputs) || transformed(outputs) {
		return nil, status.NotImplementedf("%s: functions of the program's, which see all examples at once, are not implemented inside vmap; write %s with operators", name, name)
	}
	for i, k := range constant {
		if k < 0 || k >= int64(len(outputs)) {
			return nil, status.Indexf("%s: constant[%d] is %d, which is no position of one of %d outputs", op, i, k, len(outputs))
		}
	}
	if !recording(c, inputs...) {
		newContext(data, deleter).release()
		return nil, nil
	}
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
	n.results(results...)
	var few [4]int
	graded, partial := few[:0], false // the results that have gradients, and whether some are no tensors
	for i, t := range results {
		partial = partial || t == nil
		if t != nil && differentiable(t) && !slices.Contains(constant, int64(i)) {
			graded = append(graded, i)
		}
	}
	var present []bool // which results are tensors, where some are none
	if partial {
		for _, t := range results {
			present = append(present, t != nil)
		}
	}
	count := len(inputs)
	n.formula = func(s *steps, i int) *tensor.Tensor {
		return s.once(func() []*tensor.Tensor {
			for k := range s.given {
				if materialize && (present == nil || present[k]) {
					s.grad(k)
				}
			}
			at := n.attached.Load().context
			made := s.KeepAll(program.Call(s.c, function, data, s.shown(at, count), count))
			for k, e := range s.node.edges {
				if made[k] != nil && e.Node != nil {
					made[k] = s.placed(k, at.placesAt(k), made[k])
				}
				if t := made[k]; t != nil && e.Node != nil {
					s.Check(e.Node.outputs[e.Output].admits(name, k, t))
				}
			}
			return made
		})[i]
	}
	for _, t := range kept {
		if err := n.keep(c, t, outputs, graded); err != nil {
			return nil, err
		}
	}
	for _, k := range constant {
		if t := results[k]; t != nil && creationMetaOf(t) == noGradView {
			forgetHistory(t)
		}
	}
	for _, i := range graded {
		n.adopt(results[i], i, given, len(graded))
	}
	at := newContext(data, deleter)
	if sparse := func(t *tensor.Tensor) bool { return partsOf(t) != nil }; slices.ContainsFunc(inputs, sparse) || slices.ContainsFunc(outputs, sparse) {
		at.places = placesOf(slices.Concat(inputs, outputs)...)
	}
	n.attach().context = at
	n.recorded()
	n.retain()
	return n, nil
}

// RecordFunctionWeak is RecordFunction whose result does not keep the node.
func RecordFunctionWeak(c aten.Ctx, name string, inputs, outputs []*tensor.Tensor, constant []int64, kept []*tensor.Tensor, materialize bool, function, data, deleter uintptr) (tensor.Node, error) {
	n, err := RecordFunction(c, name, inputs, outputs, constant, kept, materialize, function, data, deleter)
	if n == nil || err != nil {
		return nil, err
	}
	defer n.Release()
	return NodeWeak(c, n)
}

// IsUntrackedView tells whether a tensor is a view that was made, while calls were not recorded, of one whose gradient is wanted.
func IsUntrackedView(t *tensor.Tensor) bool { return creationMetaOf(t) == noGradView && wanted(t) }

// IsStale tells whether a tensor is a view that has no history any more, since what it shares memory with was written to.
func IsStale(t *tensor.Tensor) bool {
	v := variableOf(t)
	return v != nil && v.regenerateGradFn(valuesOf(t)) != nil
}

// Wanted tells whether the gradient of a tensor is wanted.
func Wanted(t *tensor.Tensor) bool { return wanted(t) }

// SoleContext returns what the custom function that made t was recorded with, along with a deleter, where nothing but t keeps the call: no
// other tensor has its history, no later call leads to it, and no handle. Otherwise 0.
func SoleContext(t *tensor.Tensor, deleter uintptr) uintptr {
	v := variableOf(t)
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

// custom tells whether the node's formula is a function of the program's.
func (n *Node) custom() bool {
	a := n.attached.Load()
	return a != nil && a.context != nil
}

// admits refuses a gradient that the program has made of operand k, where its dtype or its device is none for the operand. Numbers of other
// devices are moved.
func (l *like) admits(function string, k int, grad *tensor.Tensor) error {
	switch {
	case grad.DType().IsComplex() && !l.dtype.IsComplex():
		return status.Runtimef("Function %s returned an invalid gradient at index %d - got %v but expected a real dtype, as that of the input, %v", function, k, grad.DType(), l.dtype)
	case grad.Device() != l.device && grad.Dim() > 0:
		return status.Runtimef("Function %s returned an invalid gradient at index %d - expected device %v but got %v", function, k, l.device, grad.Device())
	}
	return nil
}

// shown are the given gradients as the program gets them: those of sparse results at their places, which come behind those of the operands.
func (s *steps) shown(at *context, operands int) []*tensor.Tensor {
	shown := slices.Clone(s.given)
	for k, grad := range shown {
		if places := at.placesAt(operands + k); grad != nil && places != nil {
			shown[k] = s.Keep(gradientOf(s.c, places, grad))
		}
	}
	return shown
}

// placed is the gradient of operand k that the program has made, as what has the history of the operand needs it.
func (s *steps) placed(k int, places, grad *tensor.Tensor) *tensor.Tensor {
	if places != nil && !slices.Equal(places.Sizes(), grad.Sizes()) {
		s.Check(status.Runtimef("Function %s returned an invalid gradient at index %d - got %v but expected shape compatible with %v", s.node.name, k, grad.Sizes(), places.Sizes()))
	}
	if places == nil && grad.Parts() == nil {
		return grad
	}
	return s.Keep(placed(s.c, places, grad))
}

// resultOf refuses a result that may not be written to, and one that has a history of its own, but for views that the function made of what has one.
func (n *Node) resultOf(t *tensor.Tensor, inputs []*tensor.Tensor, i, results int) error {
	v := variableOf(t)
	switch {
	case isWritten(t, inputs):
		if err := checkOut(n.call(), t); err != nil {
			return err
		}
		if isView := v != nil && v.view != nil || t.Viewing() && t.Storage().Refs() > 1; isView && results > 1 {
			return status.Runtimef("%s: If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one Tensor. This is not supported by the "+
				"current autograd engine. You should either make sure the input is not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it into "+
				"two Functions: one doing the inplace that returns a single Tensor and a second one that does the other operations).", n.call())
		}
	case v != nil && v.wanted() && v.creationMeta != noGradView:
		return status.Runtimef("%s: output %d requires grad, and is none of the inputs, which can be written to in place; compute outputs under no_grad", n.call(), i)
	}
	return nil
}

// isWritten tells whether a result is one of the inputs, also under another handle: the function has written to it.
func isWritten(t *tensor.Tensor, inputs []*tensor.Tensor) bool {
	v := variableOf(t)
	return t != nil && slices.ContainsFunc(inputs, func(in *tensor.Tensor) bool { return in == t || v != nil && variableOf(in) == v })
}

// adopt makes t result i of the node, one of several that have gradients.
func (n *Node) adopt(t *tensor.Tensor, i int, inputs []*tensor.Tensor, results int) {
	n.retain()
	if isWritten(t, inputs) {
		r := call{node: n, out: t, at: i}
		r.publish()
		return
	}
	v := track(t)
	v.views(nil)
	v.creationMeta, v.functionView, v.since = 0, functionViewOf(t, results), t.Version()
	v.become(n, i)
}

// keep saves a tensor for the function. graded are the positions of the outputs that have gradients.
func (n *Node) keep(c aten.Ctx, t *tensor.Tensor, outputs []*tensor.Tensor, graded []int) error {
	if t == nil {
		n.saved = append(n.saved, saved{name: "tensors" + listed})
		return nil
	}
	s := saved{name: "tensors" + listed, t: t.Plain()}
	switch i := slices.Index(outputs, t); {
	case i < 0:
		s.from, s.of = edgeTo(t), variableOf(t)
	case slices.Contains(graded, i):
		s.from, s.result = Edge{nil, i}, true
	}
	_, err := n.save(c, s, t)
	return err
}
