// Package jvp is the backend of forward-mode differentiation, whose tensors have tangents: it calls operators on the primals, and computes
// the tangents of the results. Both use the dispatcher, so that outer transform levels apply to them. It is a boxed fallback: linear
// operators are called with tangents (linear.go), composite operators are executed by their intermediate ops, and for others the tangent is
// derived from the reverse-mode derivative (products.go), so that all operators with a derivative are supported.
package jvp

import (
	"slices"
	"strings"
	"sync"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

func init() { dispatch.Differentiate(runWithTangents) }

// jvpCall is a call at a level of forward differentiation.
type jvpCall struct {
	build.Builder
	*dispatch.Call
	level      *tensor.Level
	self       *tensor.Tensor                    // the first operand
	zeroState  *tensor.ZeroTangent               // of the tangents of results
	readCopies map[*tensor.Tensor]*tensor.Tensor // copies to read instead of operands that the call writes to
}

// callPool holds finished calls for reuse.
var callPool = sync.Pool{New: func() any { return new(jvpCall) }}

// runWithTangents runs a call at level l of forward differentiation. Temporaries are released when it returns.
func runWithTangents(c dispatch.Context, call *dispatch.Call, l *tensor.Level) error {
	p := callPool.Get().(*jvpCall)
	p.Op, p.Call, p.C, p.level = call.Name, call, c, l
	defer func() {
		p.ReleaseAll()
		*p = jvpCall{}
		callPool.Put(p)
	}()
	if at := call.First(); at >= 0 {
		p.self = dispatch.Value[*tensor.Tensor](call, at)
	}
	return p.Try(p.applyRule)
}

// applyRule runs the call by the rule that its tangents and the operator's properties determine.
func (p *jvpCall) applyRule() {
	p.Check(p.checkSupported())
	switch rule := rules[p.Name]; {
	case p.Is(dispatch.View) && p.Outs == 1 && len(p.Written()) > 0:
		p.reshapeInPlace()
	case p.level.Over(): // a tensor that has escaped is its primal
		p.callConstant()
	case !p.hasTangent() && !p.Composed():
		p.callWithZeroTangents()
	case rule != nil && rule(p):
	case len(p.Written()) == 0 && (p.Name == "bernoulli" || p.Name == "normal" || p.Name == "poisson"):
		p.drawRandom()
	// random results do not depend on tangents
	case p.Is(dispatch.Constant) || p.hasNoTensorResult() || p.Is(dispatch.Random) && (!p.Composed() || p.Is(dispatch.Derived)):
		p.callConstant()
	case p.Is(dispatch.Linear) || p.Is(dispatch.View) && !p.Composed():
		p.callLinear()
	case p.Is(dispatch.Multilinear):
		p.callWithRule(p.callMultilinear)
	case p.Composed() && !p.Is(dispatch.Derived):
		p.runDecomposition()
	case p.Is(dispatch.Elementwise) && p.hasDiagonalJacobian():
		p.callWithRule(p.callPointwise)
	default:
		p.callWithRule(p.callDoubleBackward)
	}
}

// primalOf returns a tensor without its tangent.
func (p *jvpCall) primalOf(t *tensor.Tensor) *tensor.Tensor {
	t = p.operandToRead(t)
	if w := t.Wrapped(); w != nil && w.Level == p.level {
		return w.Value
	}
	return t
}

// tangentOf returns the tangent of a tensor, or nil if it has none or a zero tangent.
func (p *jvpCall) tangentOf(t *tensor.Tensor) *tensor.Tensor {
	t = p.operandToRead(t)
	if w := t.Wrapped(); w != nil && w.Level == p.level && w.ZeroTangent.MayBeNonzero() {
		return w.Tangent
	}
	return nil
}

// operandToRead returns the copy to read instead of t if copyReadOperands made one, and t otherwise.
func (p *jvpCall) operandToRead(t *tensor.Tensor) *tensor.Tensor {
	if kept := p.readCopies[t]; kept != nil {
		return kept
	}
	return t
}

// hasTangent reports whether an operand or an output has a nonzero tangent.
func (p *jvpCall) hasTangent() bool {
	return p.AnyTensor(func(t *tensor.Tensor) bool { return p.tangentOf(t) != nil })
}

// hasNoTensorResult reports whether the call neither returns tensors nor writes to any.
func (p *jvpCall) hasNoTensorResult() bool {
	return len(p.Written()) == 0 && !slices.ContainsFunc(p.Results, func(v any) bool {
		switch v.(type) {
		case **tensor.Tensor, *[]*tensor.Tensor:
			return true
		}
		return false
	})
}

// checkSupported returns an error if forward differentiation does not support the call.
func (p *jvpCall) checkSupported() error {
	written := p.Written()
	switch {
	case p.level.Over():
		return nil
	case slices.ContainsFunc(written, p.hasFixedTangent):
		return status.Runtimef("%s: inside jvp: unsupported operation: more than one element of the written-to tensor refers to a single memory location, but each has a separate tangent; "+
			"clone() the tensor first", p.Name)
	case (p.Category() == "storage" || p.Category() == "file") && p.Name != "data_ptr":
		return status.Runtimef("%s: Cannot access data pointer of Tensor that doesn't have storage: it has a tangent (of func.jvp or forward_ad), which writes to the memory would not change; use detach()",
			p.Name)
	case len(written) > 0 && (strings.HasPrefix(p.Name, "rename") || strings.HasPrefix(p.Name, "resize")):
		return status.NotImplementedf("%s: inside jvp: changing sizes in place is not implemented; call %s out of place", p.Name, p.Name)
	}
	return nil
}

// isDifferentiable reports whether tensors of t's dtype have tangents.
func isDifferentiable(t *tensor.Tensor) bool {
	return t.DType().IsFloatingPoint() || t.DType().IsComplex()
}

// runReplaced runs the call with the tensors replaced, and returns the new tensors, with nil for results that were written in place.
func (p *jvpCall) runReplaced(c dispatch.Context, change func(i int, t *tensor.Tensor) *tensor.Tensor) (made []*tensor.Tensor) {
	given := make([]*tensor.Tensor, 0, 4)
	back := p.Call.Put(func(i int, t *tensor.Tensor) *tensor.Tensor {
		other := change(i, t)
		given = append(given, other)
		return other
	})
	err := p.Run(c)
	back.Restore()
	add := func(t *tensor.Tensor) {
		if slices.Contains(given, t) {
			t = nil
		}
		p.Track(t, nil)
		made = append(made, t)
	}
	for _, v := range p.Results {
		switch v := v.(type) {
		case **tensor.Tensor:
			add(*v)
			*v = nil
		case *[]*tensor.Tensor:
			for _, t := range *v {
				add(t)
			}
			clear(*v)
		}
	}
	p.Check(err)
	return made
}

// computePrimals runs the call without tangents.
func (p *jvpCall) computePrimals() []*tensor.Tensor {
	return p.runReplaced(p.C, func(_ int, t *tensor.Tensor) *tensor.Tensor { return p.primalOf(t) })
}

// hasFixedTangent reports whether elements of a tensor share memory that those of its tangent do not share.
func (p *jvpCall) hasFixedTangent(t *tensor.Tensor) bool {
	w := t.Wrapped()
	return w != nil && w.Level == p.level && w.Fixed
}

// setResults makes pairs of primals and tangents the results of the call. A tangent is nil if a result has none. Results that were written
// in place stay the caller's tensors.
func (p *jvpCall) setResults(primals, tangents []*tensor.Tensor) {
	// All are created before one is a result: otherwise an error would leak those before it.
	all := make([]*tensor.Tensor, len(primals))
	for k, primal := range primals {
		if primal == nil || k >= len(tangents) || tangents[k] == nil {
			all[k] = primal
			continue
		}
		value, _ := p.Return(primal)
		slope, _ := p.Return(tangents[k])
		t, err := tensor.PairOwned(p.Name, value, slope, p.zeroState, p.level)
		p.Check(err)
		p.Track(t, nil)
		t.Wrapped().Fixed = p.Is(dispatch.View) && p.hasFixedTangent(p.self)
		all[k] = t
	}
	k := -1
	next := func() *tensor.Tensor {
		k++
		if all[k] == nil {
			return p.writtenOutput(k)
		}
		t, _ := p.Return(all[k])
		return t
	}
	for _, v := range p.Results {
		switch v := v.(type) {
		case **tensor.Tensor:
			*v = next()
		case *[]*tensor.Tensor:
			for i := range *v {
				(*v)[i] = next()
			}
		}
	}
}

// writtenOutput returns the tensor that result k was written to, or nil if the call has none.
func (p *jvpCall) writtenOutput(k int) *tensor.Tensor {
	if k < p.Outs {
		return dispatch.Value[*tensor.Tensor](p.Call, k)
	}
	if written := p.Written(); len(written) > 0 && p.Outs == 0 {
		return written[0]
	}
	return nil
}

// callConstant runs the call without tangents, and zeros the tangents of the tensors that it writes to.
func (p *jvpCall) callConstant() {
	made := p.computePrimals()
	if !p.level.Over() {
		for _, t := range p.Written() {
			if slope := p.tangentOf(t); slope != nil {
				p.Check(p.C.Zero(slope))
			}
		}
	}
	p.setResults(made, nil)
}

// reshapeInPlace makes self, with its tangent, the view that the operator returns.
func (p *jvpCall) reshapeInPlace() {
	out, result := p.Args[0].(**tensor.Tensor), p.Results[0].(**tensor.Tensor)
	self := *out
	*out = nil
	p.applyRule()
	*out = self
	made := p.Track(*result, nil)
	*result = nil
	if made.Wrapped() == nil || self.Wrapped() == nil || self.Wrapped().Level != p.level || made.Wrapped().Level != p.level {
		p.Check(status.NotImplementedf("%s: inside jvp: changes of the geometry of a tensor without a tangent are not implemented; call %s out of place",
			p.Name, p.Name))
	}
	p.Check(self.BecomeWrapped(p.Name, made))
	*result = self
}

// drawRandom draws from distributions whose parameters have tangents: the tangents of the samples are zero, as in PyTorch.
func (p *jvpCall) drawRandom() {
	made := p.computePrimals()
	zeros := make([]*tensor.Tensor, len(made))
	for i, t := range made {
		zeros[i] = p.ZerosLikeWith(t, t.DType(), tensor.NoLayout, t.Device(), shape.Preserve)
	}
	p.setResults(made, zeros)
}

// runDecomposition runs the decomposition of a composite operator with tangents. If an intermediate op fails, because it depends on
// elements that differ in inner transforms or writes to out, the operator is called as a whole.
func (p *jvpCall) runDecomposition() {
	if p.hasOut() {
		p.callWithRule(p.callDoubleBackward)
		return
	}
	err := p.Steps(p.C)
	for _, t := range p.Made() {
		switch {
		case err != nil || t == nil:
		case t.Components() != nil && t.Behind().Dual() != nil:
			err = status.NotImplementedf("forward differentiation is not implemented for %v tensors", t.Layout())
		case t.Names() != nil:
			err = status.NotImplementedf("forward differentiation is not implemented for named tensors; set names outside of jvp")
		}
	}
	if err == nil {
		return
	}
	p.discardResults()
	if len(p.Written()) > 0 {
		p.Check(err)
	}
	p.callWithRule(p.callDoubleBackward)
}

// hasOut reports whether an out argument is passed. Intermediate ops write to it without the dispatcher, which handles tangents.
func (p *jvpCall) hasOut() bool {
	return slices.ContainsFunc(p.Args[:p.Outs], func(v any) bool {
		t, ok := v.(**tensor.Tensor)
		return ok && *t != nil
	})
}

// discardResults releases the results that the call has produced so far.
func (p *jvpCall) discardResults() {
	for _, t := range p.Made() {
		if !slices.Contains(p.Written(), t) {
			t.Release()
		}
	}
	for _, v := range p.Results {
		switch v := v.(type) {
		case **tensor.Tensor:
			*v = nil
		case *[]*tensor.Tensor:
			*v = nil
		}
	}
}

// zeroTangent returns a zero tangent for a tensor without one.
func (p *jvpCall) zeroTangent(t *tensor.Tensor) *tensor.Tensor {
	if t.IsWrappedNumber() {
		return p.Track(tensor.WrappedNumber(zeroScalar(t.DType())))
	}
	zero := p.Track(tensor.Zeros(p.Name, nil, t.DType(), t.Device()))
	return p.Track(zero.View(p.Name, t.Sizes(), make([]int64, t.Dim()), 0))
}

// matchLayout returns a tangent with the layout of its primal, so that views of both have corresponding elements, and with separate
// memory.
func (p *jvpCall) matchLayout(tangent, primal *tensor.Tensor) *tensor.Tensor {
	if p.sharesOperandMemory(tangent) && !p.sharesOperandMemory(primal) {
		tangent = p.CloneWith(tangent, shape.Preserve)
	}
	if primal.Keys()|tangent.Keys() == 0 && slices.Equal(tangent.Sizes(), primal.Sizes()) &&
		slices.Equal(tangent.Strides(), primal.Strides()) {
		return tangent
	}
	return p.Track(dispatch.Laid(p.C, tangent, primal))
}

// checkSharedMemory returns an error if the tangent of a view is not a view of a tangent: a write to one of them would not be one to the
// other.
func (p *jvpCall) checkSharedMemory(tangent *tensor.Tensor) error {
	if tangent == nil || p.sharesOperandMemory(tangent) {
		return nil
	}
	return status.NotImplementedf("%s: inside jvp: the tangent has another memory layout, which does not support this view; clone() the tensor first",
		p.Name)
}

// sharesOperandMemory reports whether a result shares the memory of an operand or its tangent.
func (p *jvpCall) sharesOperandMemory(made *tensor.Tensor) bool {
	memory := made.Behind().Storage()
	return p.AnyOperand(func(t *tensor.Tensor) bool {
		slope := p.tangentOf(t)
		return p.primalOf(t).Behind().Storage() == memory || slope != nil && slope.Behind().Storage() == memory
	})
}
