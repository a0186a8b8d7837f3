package autograd

import (
	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// inference is the history of tensors that were made in inference mode: they have none, and take part in none.
type inference struct{}

// Retain, Release and Describe are part of tensor.History.
func (inference) Retain()                              {}
func (inference) Release()                             {}
func (inference) Describe() (call string, wanted bool) { return "", false }

// Infer notes that a tensor was made in inference mode, if it was: views of others were not.
func Infer(t *tensor.Tensor) {
	if t.History() == nil && t.Storage().Refs() == 1 {
		t.SetHistory(inference{})
	}
}

func inferred(t *tensor.Tensor) bool {
	if t == nil || t.History() == nil {
		return false
	}
	if v, ok := t.History().(*Variable); ok {
		return v.inferred
	}
	return true
}

// forgetHistory leaves a tensor without the history that it has from another one.
func forgetHistory(t *tensor.Tensor) {
	if inferred(t) {
		t.SetHistory(inference{})
		return
	}
	t.SetHistory(nil)
}

// IsInference tells whether a tensor was made in inference mode.
func IsInference(_ aten.Ctx, self *tensor.Tensor) (bool, error) { return inferred(self), nil }

// writable refuses to write to what was made in inference mode, outside of it.
func writable(c aten.Ctx, op string, out *tensor.Tensor) error {
	if !inferred(out) || c.Inferring() {
		return nil
	}
	return status.Runtimef("%s: Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor before doing inplace update", op)
}

// savable refuses to save what was made in inference mode.
func savable(t *tensor.Tensor) error {
	if !inferred(t) {
		return nil
	}
	return status.Runtimef("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation tracked by autograd. " +
		"To work around this, you can make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.")
}
