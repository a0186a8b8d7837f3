// Package vmap is the backend of vmap, whose tensors represent one batch element of a batched tensor: it calls operators once for the whole
// batch. It is dispatched before all others, so that other backends get batched tensors. It is a boxed fallback: operators with a batching
// rule (rules.go, views.go) are called with batched tensors, composite operators are executed by their intermediate ops, and others in a
// loop.
package vmap

import (
	"slices"
	"strings"
	"sync"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

func init() {
	dispatch.Batch(runBatched)
}

// batch is a call at the level of the innermost transform of its tensors.
type batch struct {
	build.Builder
	*dispatch.Call
	level             *tensor.Level
	self              *tensor.Tensor // the first operand
	replacements      []replacement
	replacementBuffer [4]replacement // initial memory of replacements
}

// replacement is a tensor of the call and the one that the operator is called with in its place.
type replacement struct{ given, passed *tensor.Tensor }

// batchPool holds the batches of finished calls for reuse.
var batchPool = sync.Pool{New: func() any { return new(batch) }}

// runBatched runs a call at level l on whole batches. Temporaries are released when it returns.
func runBatched(c dispatch.Context, call *dispatch.Call, l *tensor.Level) error {
	b := batchPool.Get().(*batch)
	b.Op, b.Call, b.C, b.level = call.Name, call, c, l
	b.replacements = b.replacementBuffer[:0]
	defer func() {
		b.ReleaseAll()
		*b = batch{}
		batchPool.Put(b)
	}()
	if b.level.Over() && call.Name != "to_string" {
		return status.Runtimef("%s: a tensor has escaped from inside a function being vmapped, which has returned; return the tensor from the function",
			call.Name)
	}
	if at := call.First(); at >= 0 {
		b.self = dispatch.Value[*tensor.Tensor](call, at)
	}
	return b.Try(b.applyRule)
}

// applyRule runs the call by the first rule that supports it, or in a loop over the batch elements.
func (b *batch) applyRule() {
	b.Check(b.checkSupported())
	switch rule := rules[b.Name]; {
	case b.Custom() != nil:
		b.callCustom()
	case b.Is(dispatch.Random):
		b.drawRandom()
	case b.Is(dispatch.View) && b.isInPlace():
		b.reshapeInPlace()
	case b.hasSparseOperand(), b.Category() == "quantized": // whose parts are no examples
		b.loopOverBatch(b.C)
	case rule != nil && rule(b):
	case b.Is(dispatch.Derived) && b.needsDerivative():
		b.callWithDerivative()
	case b.Composed():
		b.runDecomposition()
	case b.Is(dispatch.Elementwise) && b.callPointwise():
	case b.Call.Names() == "batch" && b.self.Dim() > 1:
		b.callOnBatch()
	case b.callAlongDim():
	case b.Is(dispatch.View):
		b.checkFirstElement()
		b.Check(b.notImplementedError())
	default:
		b.loopOverBatch(b.C)
	}
}

// hasSparseOperand reports whether an unbatched operand is sparse.
func (b *batch) hasSparseOperand() bool {
	return b.AnyOperand(func(t *tensor.Tensor) bool { return t.Components() != nil })
}

// runDecomposition runs the decomposition of a composite operator on all batch elements at once. If an intermediate op fails, because it
// depends on elements or writes to a tensor without a batch dimension, the operator is called for each batch element.
func (b *batch) runDecomposition() {
	if b.isInPlace() {
		b.runOnTemporary(b.runDecomposition)
		return
	}
	err := b.Steps(b.C)
	if err == nil {
		return
	}
	if len(b.writtenTensors()) > 0 || b.Is(dispatch.Random) {
		b.Check(err)
	}
	c := b.C
	if b.level.Randomness == "different" {
		c = c.Around(b.level)
	}
	b.loopOverBatch(c)
}

// needsDerivative reports whether autograd records the call, or an operand has a tangent.
func (b *batch) needsDerivative() bool {
	return b.AnyOperand(func(t *tensor.Tensor) bool { return b.C.Recording() && t.SlopeWanted() || t.Dual() != nil })
}

// callWithDerivative calls a composite operator with a derivative formula as one operator, for the whole batch or for each batch element.
// Its decomposition would lose the formula, since it writes to parts of its results or has other derivatives.
func (b *batch) callWithDerivative() {
	if b.Call.Names() == "batch" && b.self.Dim() > 1 {
		b.callOnBatch()
		return
	}
	b.loopOverBatch(b.C)
}

// writtenTensors returns the tensors that the call writes to: for normalizations the running statistics, unless these are only read.
func (b *batch) writtenTensors() []*tensor.Tensor {
	all := b.Written()
	if len(all) > 0 && (!dispatch.Given(b.Call, "training", true) || !dispatch.Given(b.Call, "use_input_stats", true)) {
		return nil
	}
	return all
}

// isInPlace reports whether the call writes to its only result.
func (b *batch) isInPlace() bool { return b.Outs == 1 && len(b.Written()) > 0 && len(b.Results) == 1 }

// writesSelf reports whether the call writes to its first operand, which then is its result.
func (b *batch) writesSelf() bool {
	at := b.First()
	return at >= 0 && b.Writes(at) || b.isInPlace()
}

// runOnTemporary runs the decomposition of an in-place operator out of place and copies the result to self: the last op might write to
// elements that self lacks.
func (b *batch) runOnTemporary(steps func()) {
	self, out := b.self, b.Args[0].(**tensor.Tensor)
	*out = nil
	var put dispatch.Replaced
	if b.needsDerivative() { // the backward pass may need the elements of self
		b.self = b.Track(b.C.Clone(self, shape.Preserve))
		put = b.Call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor {
			if t == self {
				return b.self
			}
			return t
		})
	}
	steps()
	put.Restore()
	b.self = self
	*out = self
	made := b.Track(*b.Results[0].(**tensor.Tensor), nil)
	to := tensoriter.Output{Op: b.Name, Out: b.self, Sizes: made.Sizes(), DType: made.DType(), Device: made.Device(),
		Sharing: tensoriter.InPlace}
	b.Check(to.Check(b.self))
	b.Check(b.C.Copy(b.self, made, false))
	b.setResult(b.self, nil)
}

// reshapeInPlace makes self the view that the operator returns.
func (b *batch) reshapeInPlace() {
	out := b.Args[0].(**tensor.Tensor)
	*out = nil
	b.applyRule()
	*out = b.self
	made := b.Track(*b.Results[0].(**tensor.Tensor), nil)
	b.Check(b.self.BecomeWrapped(b.Name, made))
	b.setResult(b.self, nil)
}

// isMapped reports whether the transform maps over t.
func (b *batch) isMapped(t *tensor.Tensor) bool {
	w := t.Wrapped()
	return w != nil && w.Level == b.level
}

// hasMappedTensor reports whether the transform maps over a tensor of the call.
func (b *batch) hasMappedTensor() bool { return b.AnyTensor(b.isMapped) }

// unwrapBatch returns the tensor of all batch elements, or t itself if it is not batched.
func (b *batch) unwrapBatch(t *tensor.Tensor) *tensor.Tensor {
	if b.isMapped(t) {
		return t.Wrapped().Value
	}
	return t
}

// expandToBatch returns the batch elements of a tensor; an unbatched one is expanded.
func (b *batch) expandToBatch(t *tensor.Tensor) *tensor.Tensor {
	return b.Track(dispatch.Take(b.C, t, b.level))
}

// notImplementedError returns the error of an operator that does not support batched tensors.
func (b *batch) notImplementedError() error {
	return status.NotImplementedf("%s is not implemented for batched tensors; call it outside of vmap", b.Name)
}

// checkSupported returns an error if vmap does not support the call.
func (b *batch) checkSupported() error {
	for i := range b.Outs {
		if out, ok := b.Args[i].(**tensor.Tensor); ok && *out != nil && *out != b.self {
			return status.Runtimef("%s: inside vmap: Batching rule not implemented for aten::%s.out; the fallback path doesn't work on out= or view ops, and random operations have no batching rules for calling out variants. Call it without out",
				b.Name, b.Name)
		}
	}
	for _, t := range b.writtenTensors() {
		switch {
		case !b.isMapped(t) && b.Is(dispatch.Random) && !b.hasMappedTensor():
			if b.level.Randomness == "different" {
				return status.Runtimef("%s: inside vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. The tensor, of sizes %v, is the same for "+
					"all batch elements; create it from a batched tensor, for example with zeros_like, or use an out-of-place operator such as rand_like",
					b.Name, t.Sizes())
			}
		case !b.isMapped(t) && b.Is(dispatch.Random) && b.level.Randomness != "different": // drawRandom returns the error
		case !b.isMapped(t):
			return status.Runtimef("%s: inside vmap inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements than `self`: vmap maps over it, "+
				"and self, of sizes %v, is not batched; use %s out of place, or create self from a batched tensor, for example with zeros_like", b.Name,
				t.Sizes(), strings.TrimSuffix(b.Name, "_"))
		case slices.Contains([]string{"resize_", "resize_as_", "set_"}, b.Name):
			return status.NotImplementedf("%s: inside vmap: tensors cannot be resized; use reshape() or expand()", b.Name)
		}
	}
	switch {
	case b.Name == "item":
		return status.Runtimef("%s: inside vmap: It looks like you're calling .item() on a Tensor, or using it in some data-dependent control flow, such as `if`. We don't support vmap over calling "+
			".item() on a Tensor: its value differs between batch elements; use where() to choose between tensors", b.Name)
	case b.Is(dispatch.Syncs) && rules[b.Name] == nil && b.Category() != "quantized":
		return status.Runtimef("%s: inside vmap: We do not support batching operators that can output dynamic shape, or depends on element values, as %s does: they differ between batch elements",
			b.Name, b.Name)
	case b.Category() == "storage" || b.Category() == "file":
		if rules[b.Name] == nil && len(b.Written()) == 0 {
			return status.Runtimef("%s: inside vmap: Cannot access data pointer of Tensor that doesn't have storage: it is a batched tensor", b.Name)
		}
	}
	return nil
}

// callReplaced calls the operator with each tensor t replaced by change(t), and wraps the results.
func (b *batch) callReplaced(change func(t *tensor.Tensor) *tensor.Tensor) {
	back := b.Call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor {
		if i := slices.IndexFunc(b.replacements, func(r replacement) bool { return r.given == t }); i >= 0 {
			return b.replacements[i].passed
		}
		p := change(t)
		b.replacements = append(b.replacements, replacement{t, p})
		return p
	})
	err := b.Run(b.C)
	back.Restore()
	b.Check(err)
	for _, v := range b.Results {
		switch v := v.(type) {
		case **tensor.Tensor:
			*v = b.wrapResult(*v)
		case *[]*tensor.Tensor:
			for i, t := range *v {
				(*v)[i] = b.wrapResult(t)
			}
		}
	}
}

// wrapResult returns a result wrapped for the batch, or the caller's tensor if the operator wrote to it in place.
func (b *batch) wrapResult(made *tensor.Tensor) *tensor.Tensor {
	if made == nil {
		return nil
	}
	for _, r := range b.replacements {
		if r.passed == made {
			return r.given
		}
	}
	t, err := tensor.WrapOwned(b.Name, made, b.level)
	b.Check(err)
	return t
}

// setResult makes t the result of the call. It returns true, as rules do.
func (b *batch) setResult(t *tensor.Tensor, err error) bool {
	b.Check(err)
	*b.Results[0].(**tensor.Tensor) = t
	return true
}

// setListResult makes a list of tensors the result of the call. It returns true, as rules do.
func (b *batch) setListResult(list []*tensor.Tensor, err error) bool {
	b.Check(err)
	*b.Results[0].(*[]*tensor.Tensor) = list
	return true
}

// callOnBatch calls the operator on whole batches with unchanged arguments.
func (b *batch) callOnBatch() bool {
	b.callReplaced(b.unwrapBatch)
	return true
}

// checkFirstElement calls the operator for one batch element, to raise its error.
func (b *batch) checkFirstElement() {
	if b.level.Size == 0 {
		return
	}
	back := b.Call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor { return b.selectElement(t, 0) })
	err := b.Run(b.C)
	back.Restore()
	b.Check(err)
	for _, t := range b.Made() {
		b.Track(t, nil)
	}
}

// selectElement returns batch element i of a tensor, or t itself if it is not batched.
func (b *batch) selectElement(t *tensor.Tensor, i int64) *tensor.Tensor {
	if !b.isMapped(t) {
		return t
	}
	return b.markZeroDim(b.Select(t.Wrapped().Value, 0, i), t.Rank() == dtype.ZeroDim)
}
