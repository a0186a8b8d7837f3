package jvp

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// prepareWrites prepares the tensors that the call writes to for a tangent: the function that it returns makes them, and all tensors that
// share their memory, pairs with zero tangents if they have none. Errors are returned before anything changes. from are the tensors that
// the written tangents are computed from.
func (p *jvpCall) prepareWrites(from []*tensor.Tensor) (commit func()) {
	var commits []func()
	for _, t := range p.Written() {
		switch w := t.Wrapped(); {
		case !isDifferentiable(t):
		case w != nil && w.Level == p.level:
			commits = append(commits, p.expandTangent(t, from), w.ZeroTangent.MarkWritten)
		case t.Alone():
			zeros := p.newZeroTangent(t)
			commits = append(commits, func() { p.Check(t.BecomePair(p.Name, zeros, p.level)) })
		default:
			commits = append(commits, p.prepareAliases(t))
		}
	}
	return func() {
		for _, commit := range commits {
			commit()
		}
	}
}

// expandTangent returns a function that expands the tangent to separate elements for each batch element of the outer vmap levels, if only
// tangents are mapped over. The memory of the tangent may not be shared.
func (p *jvpCall) expandTangent(t *tensor.Tensor, from []*tensor.Tensor) (commit func()) {
	w := t.Wrapped()
	alone := w.Tangent.Alone()
	each := p.Track(dispatch.Spread(p.C.Around(p.level), w.Tangent, func(l *tensor.Level) bool {
		return slices.ContainsFunc(from, func(t *tensor.Tensor) bool { return t != nil && slices.Contains(levelsOf(t), l) })
	}))
	switch {
	case len(levelsOf(each)) == len(levelsOf(w.Tangent)):
		return func() {}
	case !alone:
		p.Check(status.NotImplementedf("%s: inside jvp: the written-to tensor has a tangent that is not batched, and views share its memory; pass jvp a batched tangent",
			p.Name))
	}
	made := p.CloneWith(each, shape.Preserve)
	return func() { p.Check(t.SetTangent(p.Name, made)) }
}

// isMapped reports whether a vmap level maps over an operand or its tangent.
func (p *jvpCall) isMapped(l *tensor.Level) bool {
	return p.AnyOperand(func(t *tensor.Tensor) bool { return t.MappedBy(int64(l.Number)) })
}

// prepareAliases is prepareWrites for all tensors that the program holds over the memory of t: their tangents share memory as they do.
func (p *jvpCall) prepareAliases(t *tensor.Tensor) (commit func()) {
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
		if part.Behind().DType() != t.Behind().DType() || part.Wrapped() != nil && part.Wrapped().Level == p.level ||
			!slices.Equal(levelsOf(part), levelsOf(t)) {
			p.Check(status.Runtimef("%s: inside jvp: the function attempted to call in-place operation (%s) that would mutate a tensor of sizes %v without a tangent, whose memory is shared with tensors of "+
				"another dtype or outside of the transform; create it from a tensor that has a tangent, for example with zeros_like, or call %s out of place",
				p.Name, p.Name, t.Sizes(), p.Name))
		}
	}
	length := memory.Nbytes() / t.DType().Size()
	zeros := p.ZerosWith([]int64{length}, t.DType(), tensor.NoLayout, t.Device())
	if t.Wrapped() == nil {
		zeros = p.newZeroTangent(zeros)
	}
	tangents := make([]*tensor.Tensor, len(together))
	for i, part := range together {
		tangents[i] = p.viewLike(part, zeros)
	}
	return func() {
		for i, part := range together {
			p.Check(part.BecomePair(p.Name, tangents[i], p.level))
		}
	}
}

// levelsOf returns the transform levels of t, innermost first.
func levelsOf(t *tensor.Tensor) (levels []*tensor.Level) {
	for w := t.Wrapped(); w != nil; w = w.Value.Wrapped() {
		levels = append(levels, w.Level)
	}
	return levels
}

// viewLike returns a tangent in the memory of zeros, with the sizes, strides and offset that t has in its memory.
func (p *jvpCall) viewLike(t, zeros *tensor.Tensor) *tensor.Tensor {
	w := t.Wrapped()
	switch {
	case w == nil:
		return p.viewStrided(zeros, t.Sizes(), t.Strides(), t.Offset())
	case w.Level.Forward:
		return p.viewLike(w.Value, zeros)
	}
	return p.Track(tensor.Wrap(p.Name, p.viewLike(w.Value, zeros), w.Level))
}

// viewStrided returns a view of zeros with these sizes, strides and offset, for each batch element.
func (p *jvpCall) viewStrided(zeros *tensor.Tensor, sizes, strides []int64, offset int64) *tensor.Tensor {
	w := zeros.Wrapped()
	if w == nil {
		return p.AsStrided(zeros, slices.Clone(sizes), slices.Clone(strides), ops.Int(offset))
	}
	all := p.viewStrided(w.Value, append([]int64{w.Level.Size}, sizes...), append([]int64{w.Value.Strides()[0]}, strides...), offset)
	return p.Track(tensor.Wrap(p.Name, all, w.Level))
}

// newZeroTangent returns the zeros of a tangent that is to be written. In outer transforms each batch element has separate ones, since the
// written values may differ, even with the same primal.
func (p *jvpCall) newZeroTangent(primal *tensor.Tensor) *tensor.Tensor {
	each := p.Track(p.C.Around(p.level).VmapSpread(primal))
	return p.ZerosLikeWith(each, each.DType(), tensor.NoLayout, each.Device(), shape.Preserve)
}

// copyReadOperands makes a recorded operation read copies of the operands that it writes to, since the autograd graph needs the former
// values. It returns a function that drops the copies.
func (p *jvpCall) copyReadOperands(outs []*tensor.Tensor) (end func()) {
	operands := p.Operands()
	if !p.C.Recording() || !slices.ContainsFunc(operands, (*tensor.Tensor).SlopeWanted) {
		return func() {}
	}
	p.readCopies = map[*tensor.Tensor]*tensor.Tensor{}
	for _, t := range operands {
		if !slices.Contains(outs, t) || p.readCopies[t] != nil {
			continue
		}
		copied := func(t *tensor.Tensor) *tensor.Tensor { return p.CloneWith(t, shape.Preserve) }
		primal, tangent := copied(p.primalOf(t)), p.tangentOf(t)
		if tangent == nil {
			p.readCopies[t] = primal
			continue
		}
		pair, err := tensor.Pair(p.Name, primal, copied(tangent), nil, p.level)
		p.readCopies[t] = p.Track(pair, err)
	}
	return func() { p.readCopies = nil }
}

// callWithZeroTangents runs a call whose tangents are all zero. Results that share the memory of the operand share its tangent, which may
// be written to.
func (p *jvpCall) callWithZeroTangents() {
	if rule := rules[p.Name]; rule != nil && rule(p) {
		return
	}
	made := p.computePrimals()
	w := p.self.Wrapped()
	if w == nil || w.Level != p.level || len(p.Written()) > 0 || !p.Is(dispatch.Linear) && !p.Is(dispatch.View) {
		p.setResults(made, nil)
		return
	}
	p.zeroState = w.ZeroTangent
	slopes := p.runReplaced(p.C, func(_ int, t *tensor.Tensor) *tensor.Tensor {
		if t == p.self {
			return w.Tangent
		}
		return p.primalOf(t)
	})
	for k, t := range made {
		if t == nil || !isDifferentiable(t) || t.Behind().Storage() != w.Value.Behind().Storage() {
			slopes[k] = nil
		}
	}
	p.setResults(made, slopes)
}
