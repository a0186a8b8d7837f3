package autograd

import (
	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// mark is the history of tensors that have none, and may get none: a word about how they were made.
type mark int

const (
	made       mark = iota + 1 // in inference mode
	hidden                     // as a view, while calls were not recorded, of a tensor whose gradient is wanted
	hiddenMade                 // as such a view, in inference mode
)

// Retain, Release and Describe are part of tensor.History.
func (mark) Retain()                              {}
func (mark) Release()                             {}
func (mark) Describe() (call string, wanted bool) { return "", false }

// Infer notes that a tensor was made in inference mode, if it was: views of others were not.
func Infer(t *tensor.Tensor) {
	if t.History() == nil && t.Storage().Refs() == 1 {
		t.SetHistory(made)
	}
}

func markOf(t *tensor.Tensor) mark {
	if t == nil {
		return 0
	}
	switch h := t.History().(type) {
	case mark:
		return h
	case *Variable:
		return h.mark
	}
	return 0
}

// give marks a view. One that hides from a history is a leaf of its own, whose gradient is wanted as that of what it views is.
func (m mark) give(t *tensor.Tensor) {
	if m == made || !differentiable(t) {
		t.SetHistory(m)
		return
	}
	v := &Variable{mark: m, requires: true}
	v.refs.Store(1)
	t.SetHistory(v)
}

// ofViews is the mark of the views that are made of t now.
func ofViews(c aten.Ctx, t *tensor.Tensor) mark {
	switch m := markOf(t); {
	case m != 0 || c.Recording() || !wanted(t):
		return m
	case c.Inferring():
		return hiddenMade
	}
	return hidden
}

func inferred(t *tensor.Tensor) bool {
	v := variableOf(t)
	return v != nil && v.inferred || markOf(t) == made
}

// forgetHistory leaves a tensor without the history that it has from another one.
func forgetHistory(t *tensor.Tensor) {
	if inferred(t) {
		t.SetHistory(made)
		return
	}
	t.SetHistory(nil)
}

// IsInference tells whether a tensor was made in inference mode.
func IsInference(_ aten.Ctx, self *tensor.Tensor) (bool, error) { return inferred(self), nil }

// writable refuses to write to what was made in inference mode, outside of it, and to record a write to a hidden view.
func writable(c aten.Ctx, op string, out *tensor.Tensor) error {
	switch {
	case out == nil || out.History() == nil:
		return nil
	case inferred(out) && !c.Inferring():
		return status.Runtimef("%s: Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor before doing inplace update", op)
	case markOf(out) == hidden && c.Recording():
		return ambiguous(op, "no_grad mode", "with grad mode enabled", "with torch.no_grad()")
	case markOf(out) == hiddenMade && c.Recording():
		return ambiguous(op, "inference mode", "in normal mode", "with torch.inference_mode()")
	}
	return nil
}

func ambiguous(op, mode, now, with string) error {
	return status.Runtimef("%s: A view was created in %s and is being modified inplace %s. Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "+
		"your code by moving both the view and the inplace either both inside the %s block (if you don't want the inplace to be tracked) or both outside (if you want the inplace "+
		"to be tracked).", op, mode, now, with)
}

// savable refuses to save what was made in inference mode.
func savable(t *tensor.Tensor) error {
	if t.History() == nil || !inferred(t) {
		return nil
	}
	return status.Runtimef("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation tracked by autograd. " +
		"To work around this, you can make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.")
}
