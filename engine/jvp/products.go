package jvp

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// recordedCall is a call with a separate autograd graph, for reverse-mode differentiation of it.
type recordedCall struct {
	c                 dispatch.Context // with grad mode on, whatever the thread's mode is
	createGraph       bool             // the autograd graph continues before the call, and the derivatives are recorded, too
	valuesRequireGrad bool             // that of the results does, not of tangents alone
	inputs            []*tensor.Tensor
	tangents          []*tensor.Tensor // of each of the inputs
	results           []*tensor.Tensor
	isSpread          bool // some inputs, and with them the results, are each example's own, which they are not in the call
}

// recordCall runs the call on separate inputs, which are passed to change first: nothing else depends on them.
func (p *jvpCall) recordCall(change func(t *tensor.Tensor) *tensor.Tensor) *recordedCall {
	r := &recordedCall{}
	for _, t := range p.Operands() {
		r.createGraph = r.createGraph || p.C.Recording() && t.SlopeWanted()
		r.valuesRequireGrad = r.valuesRequireGrad || p.C.Recording() && p.primalOf(t).SlopeWanted()
	}
	r.c = p.C.Apart(r.createGraph)
	r.results = p.runReplaced(r.c, func(_ int, t *tensor.Tensor) *tensor.Tensor {
		slope := p.tangentOf(t)
		if slope == nil {
			return change(p.primalOf(t))
		}
		input := p.newInput(r, change(p.primalOf(t)))
		r.inputs, r.tangents = append(r.inputs, input), append(r.tangents, change(slope))
		return input
	})
	return r
}

// newInput returns a tensor as a leaf, or as a view if the autograd graph continues before it. In outer vmap levels that map over an
// operand, each batch element has a separate one.
func (p *jvpCall) newInput(r *recordedCall, t *tensor.Tensor) *tensor.Tensor {
	each := p.Track(dispatch.Spread(p.C.Around(p.level), t, p.isMapped))
	r.isSpread = r.isSpread || len(levelsOf(each)) != len(levelsOf(t))
	t = each
	inferred, err := dispatch.Autograd.IsInference(p.C, t)
	p.Check(err)
	if inferred {
		t = p.Track(r.c.Clone(t, shape.Preserve))
	}
	goes := t.Behind().GradientWanted()
	made := p.Track(r.c.JvpInput(t, r.createGraph))
	if !goes {
		tensor.HideLeaf(made.Behind())
	}
	return made
}

// primalResults returns the results for the caller, without their autograd graph.
func (p *jvpCall) primalResults(r *recordedCall) []*tensor.Tensor {
	switch {
	case r.isSpread && !p.Is(dispatch.Random): // another call would draw other numbers
		return p.computePrimals()
	case r.valuesRequireGrad:
		return r.results
	}
	made := make([]*tensor.Tensor, len(r.results))
	for k, t := range r.results {
		if made[k] = t; t != nil && t.SlopeWanted() {
			made[k] = p.Track(p.C.JvpDetach(t))
		}
	}
	return made
}

// hasDiagonalJacobian reports whether each element of the only result depends on one element of each operand, all of one real dtype.
func (p *jvpCall) hasDiagonalJacobian() bool {
	if len(p.Results) != 1 {
		return false
	}
	operands := p.Operands()
	first := slices.IndexFunc(operands, func(t *tensor.Tensor) bool { return p.tangentOf(t) != nil })
	return first >= 0 && !slices.ContainsFunc(operands, func(t *tensor.Tensor) bool {
		return t.DType() != operands[first].DType() && !t.IsWrappedNumber() && isDifferentiable(t) || t.DType().IsComplex()
	})
}

// callPointwise is the rule of elementwise operators. Their Jacobian is diagonal and equals its transpose: the tangent of the result is
// the gradient formula applied to the tangents.
func (p *jvpCall) callPointwise() (made, slopes []*tensor.Tensor) {
	var sizes []int64
	for _, t := range p.Operands() {
		var err error
		sizes, err = shape.Broadcast(p.Name, sizes, t.Sizes())
		p.Check(err)
	}
	r := p.recordCall(func(t *tensor.Tensor) *tensor.Tensor {
		if t.IsWrappedNumber() || slices.Equal(t.Sizes(), sizes) {
			return t
		}
		return p.Expand(t, slices.Clone(sizes)...)
	})
	result := r.results[0]
	if result.DType() != r.inputs[0].DType() {
		return p.jvpByDoubleBackward(r)
	}
	if !result.SlopeWanted() {
		return p.primalResults(r), nil
	}
	slopes = []*tensor.Tensor{nil}
	for i, input := range r.inputs {
		slopes = p.addTangents(slopes, p.TrackAll(dispatch.Autograd.Grad(r.c, []*tensor.Tensor{result}, []*tensor.Tensor{input},
			[]*tensor.Tensor{r.tangents[i]}, ops.True, r.createGraph, true, false)))
	}
	return p.primalResults(r), slopes
}

// callDoubleBackward is the rule of all other operators: the vector-Jacobian product is linear in the vector, and its derivative with
// respect to the vector is a Jacobian-vector product.
func (p *jvpCall) callDoubleBackward() (made, slopes []*tensor.Tensor) {
	return p.jvpByDoubleBackward(p.recordCall(func(t *tensor.Tensor) *tensor.Tensor { return t }))
}

// jvpByDoubleBackward returns results with their tangents, by two backward passes through the graph.
func (p *jvpCall) jvpByDoubleBackward(r *recordedCall) (made, slopes []*tensor.Tensor) {
	slopes = make([]*tensor.Tensor, len(r.results))
	var at []int
	var results, vectors []*tensor.Tensor
	for k, t := range r.results {
		if t == nil || !isDifferentiable(t) || !t.SlopeWanted() {
			continue
		}
		vector := p.Track(r.c.ZerosLike(t, t.DType(), tensor.NoLayout, t.Device(), shape.Preserve))
		p.Check(dispatch.Autograd.SetRequiresGrad(r.c, vector, true))
		tensor.HideLeaf(vector.Behind())
		at, results, vectors = append(at, k), append(results, t), append(vectors, vector)
	}
	if len(results) == 0 {
		return p.primalResults(r), slopes
	}
	rows := p.TrackAll(dispatch.Autograd.Grad(r.c, results, r.inputs, vectors, ops.True, true, true, false))
	var live, tangents []*tensor.Tensor
	for i, row := range rows {
		if row != nil && row.SlopeWanted() {
			live, tangents = append(live, row), append(tangents, r.tangents[i])
		}
	}
	if len(live) == 0 {
		return p.primalResults(r), slopes
	}
	for i, slope := range p.TrackAll(dispatch.Autograd.Grad(r.c, live, vectors, tangents, ops.True, r.createGraph, true, false)) {
		slopes[at[i]] = slope
	}
	return p.primalResults(r), slopes
}
