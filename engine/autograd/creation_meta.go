package autograd

import (
	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// creationMeta is the history of tensors that have none, and may get none: a word about how they were made.
type creationMeta int

const (
	inferenceTensor   creationMeta = iota + 1 // in inference mode
	noGradView                                // as a view, while calls were not recorded, of a tensor whose gradient is wanted
	inferenceView                             // as such a view, in inference mode
	detachedInference                         // by detach() or as data, of one that was made in inference mode: it may be written to everywhere
)

// Retain, Release, Describe and Moved are part of tensor.History.
func (creationMeta) Retain()                              {}
func (creationMeta) Release()                             {}
func (creationMeta) Describe() (call string, wanted bool) { return "", false }
func (creationMeta) Moved(*tensor.Tensor, bool)           {}

// Infer notes that a tensor was made in inference mode, if it was: views of others were not.
func Infer(t *tensor.Tensor) {
	if t.History() == nil && t.Storage().Refs() == 1 {
		t.SetHistory(inferenceTensor)
	}
}

func creationMetaOf(t *tensor.Tensor) creationMeta {
	if t == nil {
		return 0
	}
	switch h := t.History().(type) {
	case creationMeta:
		return h
	case *Variable:
		return h.creationMeta
	}
	return 0
}

// give marks a view. One that hides from a history is a leaf of its own, whose gradient is wanted as that of what it views is.
func (m creationMeta) give(t *tensor.Tensor) {
	if m == inferenceTensor || !differentiable(t) {
		t.SetHistory(m)
		return
	}
	v := &Variable{creationMeta: m, requires: true, since: t.Version()}
	v.refs.Store(1)
	t.SetHistory(v)
}

// ofViews is the creationMeta of the views that are made of t now.
func ofViews(c aten.Ctx, t *tensor.Tensor) creationMeta {
	switch m := creationMetaOf(t); {
	case inferred(t):
		return inferenceTensor
	case m != 0 || c.Recording() || !wanted(t):
		return m
	case c.Inferring():
		return inferenceView
	}
	return noGradView
}

func inferred(t *tensor.Tensor) bool {
	if v := variableOf(t); v != nil && v.inferred {
		return true
	}
	m := creationMetaOf(t)
	return m == inferenceTensor || m == detachedInference
}

// forgetHistory leaves a tensor without the history that it has from another one.
func forgetHistory(t *tensor.Tensor) {
	if inferred(t) {
		t.SetHistory(inferenceTensor)
		return
	}
	t.SetHistory(nil)
}

// lend is forgetHistory for what detach() and data give.
func lend(t *tensor.Tensor) {
	forgetHistory(t)
	if creationMetaOf(t) == inferenceTensor {
		t.SetHistory(detachedInference)
	}
}

// IsInference tells whether a tensor was made in inference mode.
func IsInference(_ aten.Ctx, self *tensor.Tensor) (bool, error) { return inferred(self), nil }

// writable refuses to write to what was made in inference mode, outside of it, and to record a write to a view that hides from a history.
func writable(c aten.Ctx, op string, out *tensor.Tensor) error {
	switch {
	case out == nil || out.History() == nil:
		return nil
	case inferred(out) && !c.Inferring() && creationMetaOf(out) != detachedInference:
		return status.Runtimef("%s: Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor before doing inplace update", op)
	case creationMetaOf(out) == noGradView && c.Recording():
		return ambiguous(op+": ", "no_grad mode", writing+" with grad mode enabled", "with torch.no_grad()")
	case creationMetaOf(out) == inferenceView && c.Recording():
		return ambiguous(op+": ", "inference mode", writing+" in normal mode", "with torch.inference_mode()")
	}
	return nil
}

// stale refuses a view that hides from a history, where its memory was written to since: nobody knows what its gradient would be.
func (m creationMeta) stale() error {
	switch m {
	case noGradView:
		return ambiguous("", "no_grad mode", stale+" with grad mode enabled", "with torch.no_grad()")
	case inferenceView:
		return ambiguous("", "inference mode", stale+" in normal mode", "with torch.inference_mode()")
	}
	return nil
}

const (
	writing = "is being modified inplace"
	stale   = "its base or another view of its base has been modified inplace"
)

func ambiguous(before, mode, now, with string) error {
	return status.Runtimef("%sA view was created in %s and %s. Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "+
		"your code by moving both the view and the inplace either both inside the %s block (if you don't want the inplace to be tracked) or both outside (if you want the inplace "+
		"to be tracked).", before, mode, now, with)
}

// savable refuses to save what was made in inference mode.
func savable(t *tensor.Tensor) error {
	if t.History() == nil || !inferred(t) {
		return nil
	}
	return status.Runtimef("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation tracked by autograd. " +
		"To work around this, you can make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.")
}
