package jvp

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// receive prepares the tensors that the call writes to for a tangent: the function that it returns makes them, and all tensors that share their
// memory, pairs with zero tangents if they have none. Errors are returned before anything changes. from are the tensors that the written tangents are
// computed from.
func (p *pushed) receive(from []*tensor.Tensor) (commit func()) {
	var commits []func()
	for _, t := range p.Written() {
		switch w := t.Wrapped(); {
		case !differentiable(t):
		case w != nil && w.Level == p.level:
			commits = append(commits, p.spread(t, from), w.Still.Move)
		case t.Alone():
			zeros := p.unwritten(t)
			commits = append(commits, func() { p.Check(t.BecomePair(p.Name, zeros, p.level)) })
		default:
			commits = append(commits, p.receiveTogether(t))
		}
	}
	return func() {
		for _, commit := range commits {
			commit()
		}
	}
}

// spread returns a function that expands the tangent to separate elements for each batch element of the outer vmap levels, if only tangents are
// mapped over. The memory of the tangent may not be shared.
func (p *pushed) spread(t *tensor.Tensor, from []*tensor.Tensor) (commit func()) {
	w := t.Wrapped()
	alone := w.Tangent.Alone()
	each := p.Track(dispatch.Spread(p.C.Around(p.level), w.Tangent, func(l *tensor.Level) bool {
		return slices.ContainsFunc(from, func(t *tensor.Tensor) bool { return t != nil && slices.Contains(around(t), l) })
	}))
	switch {
	case len(around(each)) == len(around(w.Tangent)):
		return func() {}
	case !alone:
		p.Check(status.NotImplementedf("%s: inside jvp: the written-to tensor has a tangent that is not batched, and views share its memory; pass jvp a batched tangent", p.Name))
	}
	made := p.CloneWith(each, shape.Preserve)
	return func() { p.Check(t.SetTangent(p.Name, made)) }
}

// mapped reports whether a vmap level maps over an operand or its tangent.
func (p *pushed) mapped(l *tensor.Level) bool {
	return p.AnyOperand(func(t *tensor.Tensor) bool { return t.MappedBy(int64(l.Number)) })
}

// receiveTogether is receive for all tensors that the program holds over the memory of t: their tangents share memory as they do.
func (p *pushed) receiveTogether(t *tensor.Tensor) (commit func()) {
	memory := t.Behind().Storage()
	together := []*tensor.Tensor{t}
	for _, held := range tensor.Holding(memory) {
		for part := range held.Each(p.level) {
			if part != t && part.Behind().Storage() == memory {
				together = append(together, part)
			}
		}
	}
	for _, part := range together {
		if part.Behind().DType() != t.Behind().DType() || part.Wrapped() != nil && part.Wrapped().Level == p.level || !slices.Equal(around(part), around(t)) {
			p.Check(status.Runtimef("%s: inside jvp: the function attempted to call in-place operation (%s) that would mutate a tensor of sizes %v without a tangent, whose memory is shared with tensors of "+
				"another dtype or outside of the transform; create it from a tensor that has a tangent, for example with zeros_like, or call %s out of place", p.Name, p.Name, t.Sizes(), p.Name))
		}
	}
	length := memory.Nbytes() / t.DType().Size()
	zeros := p.ZerosWith([]int64{length}, t.DType(), tensor.NoLayout, t.Device())
	if t.Wrapped() == nil {
		zeros = p.unwritten(zeros)
	}
	tangents := make([]*tensor.Tensor, len(together))
	for i, part := range together {
		tangents[i] = p.lying(part, zeros)
	}
	return func() {
		for i, part := range together {
			p.Check(part.BecomePair(p.Name, tangents[i], p.level))
		}
	}
}

// around returns the transforms that t is a tensor of.
func around(t *tensor.Tensor) (levels []*tensor.Level) {
	for w := t.Wrapped(); w != nil; w = w.Value.Wrapped() {
		levels = append(levels, w.Level)
	}
	return levels
}

// lying returns a tangent in the memory of zeros, with the geometry that t has in its memory.
func (p *pushed) lying(t, zeros *tensor.Tensor) *tensor.Tensor {
	w := t.Wrapped()
	switch {
	case w == nil:
		return p.placed(zeros, t.Sizes(), t.Strides(), t.Offset())
	case w.Level.Forward:
		return p.lying(w.Value, zeros)
	}
	return p.Track(tensor.Wrap(p.Name, p.lying(w.Value, zeros), w.Level))
}

// placed returns a view of zeros at a place of each example's memory.
func (p *pushed) placed(zeros *tensor.Tensor, sizes, strides []int64, offset int64) *tensor.Tensor {
	w := zeros.Wrapped()
	if w == nil {
		return p.AsStrided(zeros, slices.Clone(sizes), slices.Clone(strides), ops.Int(offset))
	}
	all := p.placed(w.Value, append([]int64{w.Level.Size}, sizes...), append([]int64{w.Value.Strides()[0]}, strides...), offset)
	return p.Track(tensor.Wrap(p.Name, all, w.Level))
}

// unwritten returns the zeros of a tangent that is to be written. In outer transforms each batch element has separate ones, since the written values
// may differ, even with the same primal.
func (p *pushed) unwritten(primal *tensor.Tensor) *tensor.Tensor {
	each := p.Track(p.C.Around(p.level).VmapSpread(primal))
	return p.ZerosLikeWith(each, each.DType(), tensor.NoLayout, each.Device(), shape.Preserve)
}

// keepRead makes a recorded operation read copies of the operands that it writes to, since the autograd graph needs the former values. The function
// that it returns ends that.
func (p *pushed) keepRead(outs []*tensor.Tensor) (end func()) {
	operands := p.Operands()
	if !p.C.Recording() || !slices.ContainsFunc(operands, (*tensor.Tensor).SlopeWanted) {
		return func() {}
	}
	p.read = map[*tensor.Tensor]*tensor.Tensor{}
	for _, t := range operands {
		if !slices.Contains(outs, t) || p.read[t] != nil {
			continue
		}
		copied := func(t *tensor.Tensor) *tensor.Tensor { return p.CloneWith(t, shape.Preserve) }
		primal, tangent := copied(p.primal(t)), p.tangent(t)
		if tangent == nil {
			p.read[t] = primal
			continue
		}
		pair, err := tensor.Pair(p.Name, primal, copied(tangent), nil, p.level)
		p.read[t] = p.Track(pair, err)
	}
	return func() { p.read = nil }
}

// rest makes a call on tangents that are zeros. Results that share the memory of the operand share its tangent, which may be written to.
func (p *pushed) rest() {
	if rule := rules[p.Name]; rule != nil && rule(p) {
		return
	}
	made := p.primals()
	w := p.self.Wrapped()
	if w == nil || w.Level != p.level || len(p.Written()) > 0 || !p.Is(dispatch.Linear) && !p.Is(dispatch.View) {
		p.give(made, nil)
		return
	}
	p.still = w.Still
	slopes := p.run(p.C, func(_ int, t *tensor.Tensor) *tensor.Tensor {
		if t == p.self {
			return w.Tangent
		}
		return p.primal(t)
	})
	for k, t := range made {
		if t == nil || !differentiable(t) || t.Behind().Storage() != w.Value.Behind().Storage() {
			slopes[k] = nil
		}
	}
	p.give(made, slopes)
}
