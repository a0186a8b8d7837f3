package jvp

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// nothing returns the number 0 of a dtype's category.
func nothing(d dtype.DType) dtype.Scalar {
	switch {
	case d.IsComplex():
		return dtype.ComplexScalar(0)
	case d.IsFloatingPoint():
		return dtype.FloatScalar(0)
	}
	return dtype.IntScalar(0)
}

// linear is the rule of operators that are linear in all tensors jointly: the derivative is the operator applied to the tangents.
func (p *pushed) linear() {
	switch {
	case p.Is(dispatch.View) && p.tangent(p.self) == nil: // of memory without tangents
		p.constant()
	case slices.ContainsFunc(p.Written(), func(t *tensor.Tensor) bool { return t != p.self }): // out, which could get other sizes
		p.tangents(p.linearly)
	default:
		p.give(p.linearly())
	}
}

// linearly returns the results and their tangents, and writes to both if the call is in place. It checks everything before it writes.
func (p *pushed) linearly() (made, slopes []*tensor.Tensor) {
	commit := func() {}
	if len(p.Written()) > 0 {
		var from []*tensor.Tensor
		for _, t := range p.Operands() {
			from = append(from, p.primal(t), p.tangent(t))
		}
		commit = p.receive(from)
	}
	made = p.primals()
	commit()
	if !slices.ContainsFunc(append(p.Written(), made...), func(t *tensor.Tensor) bool { return t != nil && differentiable(t) }) {
		return made, nil
	}
	undo := p.withoutNumbers()
	slopes = p.run(p.C, func(i int, t *tensor.Tensor) *tensor.Tensor {
		switch slope := p.tangent(t); {
		case slope != nil:
			return slope
		case p.chooses(i):
			return t
		}
		return p.zeros(t)
	})
	undo()
	for i, t := range made {
		switch {
		case t == nil:
		case !differentiable(t):
			slopes[i] = nil
		case p.shared(t):
			p.Check(p.sharing(slopes[i]))
		default:
			slopes[i] = p.laid(slopes[i], t)
		}
	}
	return made, slopes
}

// chooses reports whether an argument only selects elements of the others, as an index does.
func (p *pushed) chooses(i int) bool {
	_, index := p.Args[i].(*[]ops.IndexItem)
	return index || slices.ContainsFunc([]string{"index", "indices", "mask", "condition"}, func(name string) bool { return p.Place(name) == i })
}

// withoutNumbers replaces scalars that become elements by zero. It returns a function that restores them.
func (p *pushed) withoutNumbers() (back func()) {
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

// tangents has a rule make the results, out of place, and their tangents, and writes both to the outputs that the call is given.
func (p *pushed) tangents(rule func() (made, slopes []*tensor.Tensor)) {
	outs := make([]*tensor.Tensor, p.Outs)
	for i := range outs {
		out := p.Args[i].(**tensor.Tensor)
		outs[i], *out = *out, nil
	}
	if len(p.Written()) > 0 {
		p.Check(dispatch.Unsupported(p.Name, tensor.Transformed))
	}
	if !p.AnyOperand(func(t *tensor.Tensor) bool { return p.tangent(t) != nil }) { // of out alone
		rule = func() (made, slopes []*tensor.Tensor) { return p.primals(), nil }
	}
	made, slopes := func() (made, slopes []*tensor.Tensor) {
		defer func() {
			for i, t := range outs {
				*p.Args[i].(**tensor.Tensor) = t
			}
		}()
		defer p.keepRead(outs)()
		return rule()
	}()
	for k, t := range made {
		if k < len(slopes) && slopes[k] != nil {
			slopes[k] = p.laid(slopes[k], t)
		}
	}
	if !slices.ContainsFunc(outs, func(t *tensor.Tensor) bool { return t != nil }) {
		p.give(made, slopes)
		return
	}
	for k, out := range outs {
		if out != nil && out != p.self && !slices.Equal(out.Sizes(), made[k].Sizes()) {
			p.Check(status.NotImplementedf("%s: inside jvp: out has sizes %v, but the result has sizes %v; use an out of these sizes", p.Name, out.Sizes(), made[k].Sizes()))
		}
	}
	commit := p.receive(slopes)
	written := p.rewritten(outs, made)
	commit()
	for k, out := range outs {
		switch into := p.tangent(out); {
		case into == nil:
		case k < len(slopes) && slopes[k] != nil:
			p.Check(p.C.Copy(into, slopes[k], false))
		default:
			p.Check(p.C.Zero(into))
		}
	}
	p.give(written, nil)
}

// rewritten writes the results to the outputs, without tangents: in a second call, except for random operators, which draw once.
func (p *pushed) rewritten(outs, made []*tensor.Tensor) []*tensor.Tensor {
	if !p.Is(dispatch.Random) {
		return p.primals()
	}
	for k, out := range outs {
		if out != nil {
			p.Check(p.C.Copy(p.primal(out), made[k], false))
		}
	}
	return make([]*tensor.Tensor, len(made))
}

// multilinear is the rule of operators that are linear in each tensor: the derivative is the sum of the results with each tangent in place of its
// primal.
func (p *pushed) multilinear() (made, slopes []*tensor.Tensor) {
	made = p.primals()
	for i := p.Outs; i < len(p.Args); i++ {
		t, ok := p.Args[i].(**tensor.Tensor)
		if !ok || *t == nil || p.tangent(*t) == nil {
			continue
		}
		slopes = p.sum(slopes, p.run(p.C, func(k int, t *tensor.Tensor) *tensor.Tensor {
			if k == i {
				return p.tangent(t)
			}
			return p.primal(t)
		}))
	}
	return made, slopes
}

// sum adds tangents up, of which nil is none.
func (p *pushed) sum(a, b []*tensor.Tensor) []*tensor.Tensor {
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
