package autograd

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// creationMeta states how a tensor was created, for tensors that cannot be part of an autograd graph.
type creationMeta int

const (
	inferenceTensor creationMeta = iota + 1 // in inference mode
	noGradView                              // as a view, in no-grad mode, of a tensor that requires grad
	inferenceView                           // as such a view, in inference mode
	// by detach() or as data, of one that was made in inference mode: it may be written to everywhere
	detachedInference
)

// Retain, Release, Describe and Moved implement the autograd metadata of package tensor.
func (creationMeta) Retain()                              {}
func (creationMeta) Release()                             {}
func (creationMeta) Describe() (call string, wanted bool) { return "", false }
func (creationMeta) Moved(*tensor.Tensor, bool)           {}

// Infer marks t as an inference tensor, unless it is a view of a normal tensor.
func Infer(t *tensor.Tensor) {
	if t.AutogradMeta() == nil && t.Storage().Refs() == 1 {
		t.SetAutogradMeta(inferenceTensor)
	}
}

func creationMetaOf(t *tensor.Tensor) creationMeta {
	if t == nil {
		return 0
	}
	switch h := t.AutogradMeta().(type) {
	case creationMeta:
		return h
	case *AutogradMeta:
		return h.creationMeta
	}
	return 0
}

// markView marks a view. A view that was made under no_grad becomes a leaf that requires grad, as its base does.
func (m creationMeta) markView(t *tensor.Tensor) {
	if m == inferenceTensor || !isDifferentiable(t) {
		t.SetAutogradMeta(m)
		return
	}
	v := &AutogradMeta{creationMeta: m, requires: true, since: t.Version()}
	v.refs.Store(1)
	t.SetAutogradMeta(v)
}

// ofViews returns the creationMeta of a view of t that is created now.
func ofViews(c dispatch.Context, t *tensor.Tensor) creationMeta {
	switch m := creationMetaOf(t); {
	case isInference(t):
		return inferenceTensor
	case m != 0 || c.Recording() || !requiresGrad(t):
		return m
	case c.Inferring():
		return inferenceView
	}
	return noGradView
}

func isInference(t *tensor.Tensor) bool {
	if v := autogradMetaOf(t); v != nil && v.inferred {
		return true
	}
	m := creationMetaOf(t)
	return m == inferenceTensor || m == detachedInference
}

// dropAutogradMeta removes the autograd metadata that a tensor shares with another one.
func dropAutogradMeta(t *tensor.Tensor) {
	if isInference(t) {
		t.SetAutogradMeta(inferenceTensor)
		return
	}
	t.SetAutogradMeta(nil)
}

// detachForUser is dropAutogradMeta for the results of detach() and of the attribute data.
func detachForUser(t *tensor.Tensor) {
	dropAutogradMeta(t)
	if creationMetaOf(t) == inferenceTensor {
		t.SetAutogradMeta(detachedInference)
	}
}

// IsInference returns whether self was created in inference mode.
func IsInference(_ dispatch.Context, self *tensor.Tensor) (bool, error) {
	return isInference(self), nil
}

// checkWritable returns an error for a write to an inference tensor outside of inference mode, and for a write in grad mode to a view that
// was made under no_grad.
func checkWritable(c dispatch.Context, op string, out *tensor.Tensor) error {
	switch {
	case out == nil || out.AutogradMeta() == nil:
		return nil
	case isInference(out) && !c.Inferring() && creationMetaOf(out) != detachedInference:
		return status.Runtimef("%s: Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor before doing inplace update",
			op)
	case creationMetaOf(out) == noGradView && c.Recording():
		return isAmbiguous(op+": ", "no_grad mode", writing+" with grad mode enabled", "with torch.no_grad()")
	case creationMetaOf(out) == inferenceView && c.Recording():
		return isAmbiguous(op+": ", "inference mode", writing+" in normal mode", "with torch.inference_mode()")
	}
	return nil
}

// staleViewError returns the error of a view that was made under no_grad and whose memory was written to since: its gradient would be
// ambiguous.
func (m creationMeta) staleViewError() error {
	switch m {
	case noGradView:
		return isAmbiguous("", "no_grad mode", stale+" with grad mode enabled", "with torch.no_grad()")
	case inferenceView:
		return isAmbiguous("", "inference mode", stale+" in normal mode", "with torch.inference_mode()")
	}
	return nil
}

const (
	writing = "is being modified inplace"
	stale   = "its base or another view of its base has been modified inplace"
)

func isAmbiguous(before, mode, now, with string) error {
	return status.Runtimef("%sA view was created in %s and %s. Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "+
		"your code by moving both the view and the inplace either both inside the %s block (if you don't want the inplace to be tracked) or both outside (if you want the inplace "+
		"to be tracked).", before, mode, now, with)
}

// checkSavable returns an error for an inference tensor, which cannot be saved for backward.
func checkSavable(t *tensor.Tensor) error {
	if t.AutogradMeta() == nil || !isInference(t) {
		return nil
	}
	return status.Runtimef("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation tracked by autograd. " +
		"To work around this, you can make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.")
}
