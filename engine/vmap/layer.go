// Package vmap is the backend of vmap, whose tensors represent one batch element of a batched tensor: it calls operators once for the whole batch. It is
// dispatched before all others, so that other backends get batched tensors. It is a boxed fallback: operators
// with a batching rule (rules.go, views.go) are called with batched tensors, composite operators are executed by their intermediate ops, and others in a loop.
package vmap

import (
	"slices"
	"strings"
	"sync"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

func init() {
	dispatch.Batch(serve)
}

// batch is a call at the level of the innermost transform of its tensors.
type batch struct {
	build.Builder
	*dispatch.Call
	level *tensor.Level
	self  *tensor.Tensor // the first operand
	put   []replacement
	room  [4]replacement // of put
}

// replacement is a tensor of the call and the one that the operator is called with in its place.
type replacement struct{ given, passed *tensor.Tensor }

// batches are those of finished calls, for reuse.
var batches = sync.Pool{New: func() any { return new(batch) }}

func serve(c dispatch.Context, call *dispatch.Call, l *tensor.Level) error {
	b := batches.Get().(*batch)
	b.Op, b.Call, b.C, b.level = call.Name, call, c, l
	b.put = b.room[:0]
	defer func() {
		b.ReleaseAll()
		*b = batch{}
		batches.Put(b)
	}()
	if b.level.Over() && call.Name != "to_string" {
		return status.Runtimef("%s: a tensor has escaped from inside a function being vmapped, which has returned; return the tensor from the function", call.Name)
	}
	if at := call.First(); at >= 0 {
		b.self = dispatch.Value[*tensor.Tensor](call, at)
	}
	return b.Try(b.serve)
}

func (b *batch) serve() {
	b.Check(b.refused())
	switch rule := rules[b.Name]; {
	case b.Custom() != nil:
		b.custom()
	case b.Is(dispatch.Random):
		b.draw()
	case b.Is(dispatch.View) && b.inPlace():
		b.reshapeInPlace()
	case b.sparse(), b.Category() == "quantized": // whose parts are no examples
		b.loop(b.C)
	case rule != nil && rule(b):
	case b.Is(dispatch.Derived) && b.differentiated():
		b.derived()
	case b.Composed():
		b.steps()
	case b.Is(dispatch.Elementwise) && b.pointwise():
	case b.Call.Names() == "batch" && b.self.Dim() > 1:
		b.direct()
	case b.along():
	case b.Is(dispatch.View):
		b.example()
		b.Check(b.missing())
	default:
		b.loop(b.C)
	}
}

// sparse reports whether an operand that is the same for all examples is sparse.
func (b *batch) sparse() bool {
	return b.AnyOperand(func(t *tensor.Tensor) bool { return t.Parts() != nil })
}

// steps runs the decomposition of a composite operator on all batch elements at once. If an intermediate op fails, because it depends on elements or
// writes to a tensor without a batch dimension, the operator is called for each batch element.
func (b *batch) steps() {
	if b.inPlace() {
		b.beside(b.steps)
		return
	}
	err := b.Steps(b.C)
	if err == nil {
		return
	}
	if len(b.written()) > 0 || b.Is(dispatch.Random) {
		b.Check(err)
	}
	c := b.C
	if b.level.Randomness == "different" {
		c = c.Around(b.level)
	}
	b.loop(c)
}

// differentiated reports whether the call is recorded, or has operands with tangents.
func (b *batch) differentiated() bool {
	return b.AnyOperand(func(t *tensor.Tensor) bool { return b.C.Recording() && t.SlopeWanted() || t.Dual() != nil })
}

// derived calls a composite operator with a derivative formula as a whole, for all batch elements or for each. Its decomposition would lose the
// formula, since it writes to parts of its results or has other derivatives.
func (b *batch) derived() {
	if b.Call.Names() == "batch" && b.self.Dim() > 1 {
		b.direct()
		return
	}
	b.loop(b.C)
}

// written returns the tensors that the call writes to: of normalizations running statistics, unless they are read alone.
func (b *batch) written() []*tensor.Tensor {
	all := b.Written()
	if len(all) > 0 && (!dispatch.Given(b.Call, "training", true) || !dispatch.Given(b.Call, "use_input_stats", true)) {
		return nil
	}
	return all
}

// inPlace reports whether the call writes to its only result.
func (b *batch) inPlace() bool { return b.Outs == 1 && len(b.Written()) > 0 && len(b.Results) == 1 }

// beside runs the decomposition of an in-place operator on a temporary, which is then copied: the last op might write to elements that self lacks.
func (b *batch) beside(steps func()) {
	out := b.Args[0].(**tensor.Tensor)
	*out = nil
	steps()
	*out = b.self
	made := b.Track(*b.Results[0].(**tensor.Tensor), nil)
	to := tensoriter.Output{Op: b.Name, Out: b.self, Sizes: made.Sizes(), DType: made.DType(), Device: made.Device(), Sharing: tensoriter.InPlace}
	b.Check(to.Check(b.self))
	b.Check(b.C.Copy(b.self, made, false))
	b.set(b.self, nil)
}

// reshapeInPlace makes self the view that the operator returns.
func (b *batch) reshapeInPlace() {
	out := b.Args[0].(**tensor.Tensor)
	*out = nil
	b.serve()
	*out = b.self
	made := b.Track(*b.Results[0].(**tensor.Tensor), nil)
	b.Check(b.self.BecomeWrapped(b.Name, made))
	b.set(b.self, nil)
}

// maps reports whether the transform maps over t.
func (b *batch) maps(t *tensor.Tensor) bool {
	w := t.Wrapped()
	return w != nil && w.Level == b.level
}

// mapped reports whether the transform maps over one of the tensors of the call.
func (b *batch) mapped() bool { return b.AnyTensor(b.maps) }

// all returns the examples of a tensor; one that is the same for all is itself.
func (b *batch) all(t *tensor.Tensor) *tensor.Tensor {
	if b.maps(t) {
		return t.Wrapped().Value
	}
	return t
}

// every returns the batch elements of a tensor; an unbatched one is expanded.
func (b *batch) every(t *tensor.Tensor) *tensor.Tensor {
	return b.Track(dispatch.Take(b.C, t, b.level))
}

// missing returns the error of an operator that has no answer for examples.
func (b *batch) missing() error {
	return status.NotImplementedf("%s is not implemented for batched tensors; call it outside of vmap", b.Name)
}

// rejected is the error of a call that no rule is for.
func (b *batch) refused() error {
	for i := range b.Outs {
		if out, ok := b.Args[i].(**tensor.Tensor); ok && *out != nil && *out != b.self {
			return status.Runtimef("%s: inside vmap: Batching rule not implemented for aten::%s.out; the fallback path doesn't work on out= or view ops, and random operations have no batching rules for calling out variants. Call it without out", b.Name, b.Name)
		}
	}
	for _, t := range b.written() {
		switch {
		case !b.maps(t) && b.Is(dispatch.Random) && !b.mapped():
			if b.level.Randomness == "different" {
				return status.Runtimef("%s: inside vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. The tensor, of sizes %v, is the same for "+
					"all batch elements; create it from a batched tensor, for example with zeros_like, or use an out-of-place operator such as rand_like", b.Name, t.Sizes())
			}
		case !b.maps(t) && b.Is(dispatch.Random) && b.level.Randomness != "different": // draw returns the error
		case !b.maps(t):
			return status.Runtimef("%s: inside vmap inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements than `self`: vmap maps over it, "+
				"and self, of sizes %v, is not batched; use %s out of place, or create self from a batched tensor, for example with zeros_like", b.Name, t.Sizes(), strings.TrimSuffix(b.Name, "_"))
		case slices.Contains([]string{"resize_", "resize_as_", "set_"}, b.Name):
			return status.NotImplementedf("%s: inside vmap: tensors cannot be resized; use reshape() or expand()", b.Name)
		}
	}
	switch {
	case b.Name == "item":
		return status.Runtimef("%s: inside vmap: It looks like you're calling .item() on a Tensor, or using it in some data-dependent control flow, such as `if`. We don't support vmap over calling "+
			".item() on a Tensor: its value differs between batch elements; use where() to choose between tensors", b.Name)
	case b.Is(dispatch.Syncs) && rules[b.Name] == nil && b.Category() != "quantized":
		return status.Runtimef("%s: inside vmap: We do not support batching operators that can output dynamic shape, or depends on element values, as %s does: they differ between batch elements", b.Name, b.Name)
	case b.Category() == "storage" || b.Category() == "file":
		if rules[b.Name] == nil && len(b.Written()) == 0 {
			return status.Runtimef("%s: inside vmap: Cannot access data pointer of Tensor that doesn't have storage: it is a batched tensor", b.Name)
		}
	}
	return nil
}

// call runs the operator with the tensors replaced, and wraps the results.
func (b *batch) call(change func(t *tensor.Tensor) *tensor.Tensor) {
	back := b.Call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor {
		if i := slices.IndexFunc(b.put, func(r replacement) bool { return r.given == t }); i >= 0 {
			return b.put[i].passed
		}
		p := change(t)
		b.put = append(b.put, replacement{t, p})
		return p
	})
	err := b.Run(b.C)
	back.Restore()
	b.Check(err)
	for _, v := range b.Results {
		switch v := v.(type) {
		case **tensor.Tensor:
			*v = b.wrapped(*v)
		case *[]*tensor.Tensor:
			for i, t := range *v {
				(*v)[i] = b.wrapped(t)
			}
		}
	}
}

// wrapped returns a result wrapped for the batch. A tensor that was written in place is the caller's.
func (b *batch) wrapped(made *tensor.Tensor) *tensor.Tensor {
	if made == nil {
		return nil
	}
	for _, r := range b.put {
		if r.passed == made {
			return r.given
		}
	}
	t, err := tensor.WrapOwned(b.Name, made, b.level)
	b.Check(err)
	return t
}

// set makes t the result of the call.
func (b *batch) set(t *tensor.Tensor, err error) bool {
	b.Check(err)
	*b.Results[0].(**tensor.Tensor) = t
	return true
}

// setAll is set for a list.
func (b *batch) setAll(list []*tensor.Tensor, err error) bool {
	b.Check(err)
	*b.Results[0].(*[]*tensor.Tensor) = list
	return true
}

// direct calls the operator for all batch elements without changes.
func (b *batch) direct() bool {
	b.call(b.all)
	return true
}

// example calls the operator for one batch element, for its error.
func (b *batch) example() {
	if b.level.Size == 0 {
		return
	}
	back := b.Call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor { return b.one(t, 0) })
	err := b.Run(b.C)
	back.Restore()
	b.Check(err)
	for _, t := range b.Made() {
		b.Track(t, nil)
	}
}

// one is example i of a tensor.
func (b *batch) one(t *tensor.Tensor, i int64) *tensor.Tensor {
	if !b.maps(t) {
		return t
	}
	return b.ranked(b.Select(t.Wrapped().Value, 0, i), t.Rank() == dtype.ZeroDim)
}
