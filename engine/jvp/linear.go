package jvp

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// zeroScalar returns the number 0 of a dtype's category.
func zeroScalar(d dtype.DType) dtype.Scalar {
	switch {
	case d.IsComplex():
		return dtype.ComplexScalar(0)
	case d.IsFloatingPoint():
		return dtype.FloatScalar(0)
	}
	return dtype.IntScalar(0)
}

// callLinear is the rule of operators that are linear in all tensors jointly: the derivative is the operator applied to the tangents.
func (p *jvpCall) callLinear() {
	switch {
	case p.Is(dispatch.View) && p.tangentOf(p.self) == nil: // of memory without tangents
		p.callConstant()
	case slices.ContainsFunc(p.Written(), func(t *tensor.Tensor) bool { return t != p.self }): // out, which could get other sizes
		p.callWithRule(p.applyToTangents)
	default:
		p.setResults(p.applyToTangents())
	}
}

// applyToTangents returns the results and their tangents, and writes to both if the call is in place. It checks everything before it
// writes.
func (p *jvpCall) applyToTangents() (made, slopes []*tensor.Tensor) {
	commit := func() {}
	if len(p.Written()) > 0 {
		var from []*tensor.Tensor
		for _, t := range p.Operands() {
			from = append(from, p.primalOf(t), p.tangentOf(t))
		}
		commit = p.prepareWrites(from)
	}
	made = p.computePrimals()
	commit()
	if !slices.ContainsFunc(append(p.Written(), made...), func(t *tensor.Tensor) bool { return t != nil && isDifferentiable(t) }) {
		return made, nil
	}
	undo := p.zeroScalars()
	slopes = p.runReplaced(p.C, func(i int, t *tensor.Tensor) *tensor.Tensor {
		switch slope := p.tangentOf(t); {
		case slope != nil:
			return slope
		case p.isSelector(i):
			return t
		}
		return p.zeroTangent(t)
	})
	undo()
	for i, t := range made {
		switch {
		case t == nil:
		case !isDifferentiable(t):
			slopes[i] = nil
		case p.sharesOperandMemory(t):
			p.Check(p.checkSharedMemory(slopes[i]))
		default:
			slopes[i] = p.matchLayout(slopes[i], t)
		}
	}
	return made, slopes
}

// isSelector reports whether argument i only selects elements of the others, as an index does.
func (p *jvpCall) isSelector(i int) bool {
	_, index := p.Args[i].(*[]ops.IndexItem)
	return index || slices.ContainsFunc([]string{"index", "indices", "mask", "condition"}, func(name string) bool {
		return p.Place(name) == i
	})
}

// zeroScalars replaces scalar arguments that become elements by zero. It returns a function that restores them.
func (p *jvpCall) zeroScalars() (back func()) {
	var undo []func()
	for _, name := range []string{"value", "fill_value"} {
		if at := p.Place(name); at >= 0 {
			if v, ok := p.Args[at].(*dtype.Scalar); ok {
				was := *v
				*v = dtype.IntScalar(0)
				undo = append(undo, func() { *v = was })
			}
		}
	}
	if len(undo) == 0 {
		return func() {}
	}
	all := undo
	return func() {
		for _, f := range all {
			f()
		}
	}
}

// callWithRule has a rule compute the results, out of place, and their tangents, and writes both to the out arguments of the call.
func (p *jvpCall) callWithRule(rule func() (made, slopes []*tensor.Tensor)) {
	outs := make([]*tensor.Tensor, p.Outs)
	for i := range outs {
		out := p.Args[i].(**tensor.Tensor)
		outs[i], *out = *out, nil
	}
	if len(p.Written()) > 0 {
		p.Check(dispatch.Unsupported(p.Name, tensor.Transformed))
	}
	if !p.AnyOperand(func(t *tensor.Tensor) bool { return p.tangentOf(t) != nil }) { // of out alone
		rule = func() (made, slopes []*tensor.Tensor) { return p.computePrimals(), nil }
	}
	made, slopes := func() (made, slopes []*tensor.Tensor) {
		defer func() {
			for i, t := range outs {
				*p.Args[i].(**tensor.Tensor) = t
			}
		}()
		defer p.copyReadOperands(outs)()
		return rule()
	}()
	for k, t := range made {
		if k < len(slopes) && slopes[k] != nil {
			slopes[k] = p.matchLayout(slopes[k], t)
		}
	}
	if !slices.ContainsFunc(outs, func(t *tensor.Tensor) bool { return t != nil }) {
		p.setResults(made, slopes)
		return
	}
	for k, out := range outs {
		if out != nil && out != p.self && !slices.Equal(out.Sizes(), made[k].Sizes()) {
			p.Check(status.NotImplementedf("%s: inside jvp: out has sizes %v, but the result has sizes %v; use an out of these sizes", p.Name,
				out.Sizes(), made[k].Sizes()))
		}
	}
	commit := p.prepareWrites(slopes)
	written := p.writeOutputs(outs, made)
	commit()
	for k, out := range outs {
		switch into := p.tangentOf(out); {
		case into == nil:
		case k < len(slopes) && slopes[k] != nil:
			p.Check(p.C.Copy(into, slopes[k], false))
		default:
			p.Check(p.C.Zero(into))
		}
	}
	p.setResults(written, nil)
}

// writeOutputs writes the results to the outputs, without tangents: in a second call, except for random operators, which draw once.
func (p *jvpCall) writeOutputs(outs, made []*tensor.Tensor) []*tensor.Tensor {
	if !p.Is(dispatch.Random) {
		return p.computePrimals()
	}
	for k, out := range outs {
		if out != nil {
			p.Check(p.C.Copy(p.primalOf(out), made[k], false))
		}
	}
	return make([]*tensor.Tensor, len(made))
}

// callMultilinear is the rule of operators that are linear in each tensor: the derivative is the sum of the results with each tangent in
// place of its primal.
func (p *jvpCall) callMultilinear() (made, slopes []*tensor.Tensor) {
	made = p.computePrimals()
	for i := p.Outs; i < len(p.Args); i++ {
		t, ok := p.Args[i].(**tensor.Tensor)
		if !ok || *t == nil || p.tangentOf(*t) == nil {
			continue
		}
		slopes = p.addTangents(slopes, p.runReplaced(p.C, func(k int, t *tensor.Tensor) *tensor.Tensor {
			if k == i {
				return p.tangentOf(t)
			}
			return p.primalOf(t)
		}))
	}
	return made, slopes
}

// addTangents adds two lists of tangents, in which nil is a zero tangent. It writes to a.
func (p *jvpCall) addTangents(a, b []*tensor.Tensor) []*tensor.Tensor {
	if a == nil {
		return b
	}
	for k, t := range b {
		switch {
		case t == nil:
		case a[k] == nil:
			a[k] = t
		default:
			a[k] = p.Add(a[k], t)
		}
	}
	return a
}
