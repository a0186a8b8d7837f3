package jvp

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// recorded is a call with a separate autograd graph, for reverse-mode differentiation of it.
type recorded struct {
	c        dispatch.Context // with grad mode on, whatever the thread's mode is
	create   bool             // the autograd graph continues before the call, and the derivatives are recorded, too
	values   bool             // that of the results does, not of tangents alone
	inputs   []*tensor.Tensor
	tangents []*tensor.Tensor // of each of the inputs
	results  []*tensor.Tensor
	spread   bool // some inputs, and with them the results, are each example's own, which they are not in the call
}

// record runs the call on separate inputs, which are passed to change first: nothing else depends on them.
func (p *pushed) record(change func(t *tensor.Tensor) *tensor.Tensor) *recorded {
	r := &recorded{}
	for _, t := range p.Operands() {
		r.create = r.create || p.C.Recording() && t.SlopeWanted()
		r.values = r.values || p.C.Recording() && p.primal(t).SlopeWanted()
	}
	r.c = p.C.Apart(r.create)
	r.results = p.run(r.c, func(_ int, t *tensor.Tensor) *tensor.Tensor {
		slope := p.tangent(t)
		if slope == nil {
			return change(p.primal(t))
		}
		input := p.input(r, change(p.primal(t)))
		r.inputs, r.tangents = append(r.inputs, input), append(r.tangents, change(slope))
		return input
	})
	return r
}

// input returns a tensor as a leaf, or as a view if the autograd graph continues before it. In outer vmap levels that map over an operand, each batch
// element has a separate one.
func (p *pushed) input(r *recorded, t *tensor.Tensor) *tensor.Tensor {
	each := p.Track(dispatch.Spread(p.C.Around(p.level), t, p.mapped))
	r.spread = r.spread || len(around(each)) != len(around(t))
	t = each
	inferred, err := dispatch.Autograd.IsInference(p.C, t)
	p.Check(err)
	if inferred {
		t = p.Track(r.c.Clone(t, shape.Preserve))
	}
	goes := t.Behind().GradientWanted()
	made := p.Track(r.c.JvpInput(t, r.create))
	if !goes {
		tensor.HideLeaf(made.Behind())
	}
	return made
}

// made returns the results for the caller, without the autograd graph of the record.
func (p *pushed) made(r *recorded) []*tensor.Tensor {
	switch {
	case r.spread && !p.Is(dispatch.Random): // another call would draw other numbers
		return p.primals()
	case r.values:
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

// diagonal reports whether each element of the only result depends on one element of each operand, all of one real dtype.
func (p *pushed) diagonal() bool {
	if len(p.Results) != 1 {
		return false
	}
	operands := p.Operands()
	first := slices.IndexFunc(operands, func(t *tensor.Tensor) bool { return p.tangent(t) != nil })
	return first >= 0 && !slices.ContainsFunc(operands, func(t *tensor.Tensor) bool {
		return t.DType() != operands[first].DType() && !t.IsWrappedNumber() && differentiable(t) || t.DType().IsComplex()
	})
}

// pointwise is the rule of elementwise operators. Their Jacobian is diagonal and equals its transpose: the tangent of the result is the gradient
// formula applied to the tangents.
func (p *pushed) pointwise() (made, slopes []*tensor.Tensor) {
	var sizes []int64
	for _, t := range p.Operands() {
		var err error
		sizes, err = shape.Broadcast(p.Name, sizes, t.Sizes())
		p.Check(err)
	}
	r := p.record(func(t *tensor.Tensor) *tensor.Tensor {
		if t.IsWrappedNumber() || slices.Equal(t.Sizes(), sizes) {
			return t
		}
		return p.Expand(t, slices.Clone(sizes)...)
	})
	result := r.results[0]
	if result.DType() != r.inputs[0].DType() {
		return p.products(r)
	}
	if !result.SlopeWanted() {
		return p.made(r), nil
	}
	slopes = []*tensor.Tensor{nil}
	for i, input := range r.inputs {
		slopes = p.sum(slopes, p.TrackAll(dispatch.Autograd.Grad(r.c, []*tensor.Tensor{result}, []*tensor.Tensor{input}, []*tensor.Tensor{r.tangents[i]}, ops.True, r.create, true, false)))
	}
	return p.made(r), slopes
}

// product is the rule of all other operators: the product of a vector with the transposed Jacobian is linear in the vector, and its own
// derivative the product of the Jacobian with another.
func (p *pushed) product() (made, slopes []*tensor.Tensor) {
	return p.products(p.record(func(t *tensor.Tensor) *tensor.Tensor { return t }))
}

// products returns the results of a record with their tangents, by two runs.
func (p *pushed) products(r *recorded) (made, slopes []*tensor.Tensor) {
	slopes = make([]*tensor.Tensor, len(r.results))
	var at []int
	var results, vectors []*tensor.Tensor
	for k, t := range r.results {
		if t == nil || !differentiable(t) || !t.SlopeWanted() {
			continue
		}
		vector := p.Track(r.c.ZerosLike(t, t.DType(), tensor.NoLayout, t.Device(), shape.Preserve))
		p.Check(dispatch.Autograd.SetRequiresGrad(r.c, vector, true))
		tensor.HideLeaf(vector.Behind())
		at, results, vectors = append(at, k), append(results, t), append(vectors, vector)
	}
	if len(results) == 0 {
		return p.made(r), slopes
	}
	rows := p.TrackAll(dispatch.Autograd.Grad(r.c, results, r.inputs, vectors, ops.True, true, true, false))
	var live, tangents []*tensor.Tensor
	for i, row := range rows {
		if row != nil && row.SlopeWanted() {
			live, tangents = append(live, row), append(tangents, r.tangents[i])
		}
	}
	if len(live) == 0 {
		return p.made(r), slopes
	}
	for i, slope := range p.TrackAll(dispatch.Autograd.Grad(r.c, live, vectors, tangents, ops.True, r.create, true, false)) {
		slopes[at[i]] = slope
	}
	return p.made(r), slopes
}
