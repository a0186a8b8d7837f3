package autograd

import (
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// functionView marks a result of a custom function that is a view of another tensor, and the views of such a result. The custom backward
// computes its gradient and cannot take writes to the shared memory into account. So neither it nor the tensors that it shares memory with
// may be written to while it is used.
type functionView int

const (
	onlyView    functionView = iota + 1 // the function has one differentiable result
	severalView                         // it has several
)

// functionViewOf returns the mark of result t of a custom function with a number of differentiable results. A view of a temporary of the
// function, whose memory is not visible outside, is a tensor like any other.
func functionViewOf(t *tensor.Tensor, results int) functionView {
	switch {
	case !t.Viewing() || t.Storage().Refs() == 1:
		return 0
	case results > 1:
		return severalView
	}
	return onlyView
}

// writtenError returns the error of an operator that writes to a view with metadata v.
func (f functionView) writtenError(op string, v *AutogradMeta) error {
	return status.Runtimef("%s: Output %d of %s is a view and is being modified inplace. %s", op, v.output, v.node.operatorName(),
		f.explainFunction())
}

// staleError returns the error of using a view, output number output of the function, whose memory was written to.
func (f functionView) staleError(output int, call string) error {
	return status.Runtimef("Output %d of %s is a view and its base or another view of its base has been modified inplace. %s", output, call,
		f.explainFunction())
}

func (f functionView) explainFunction() string {
	if f == severalView {
		return severalViews
	}
	return "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle view+inplace would override the custom " +
		"backward associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
}

const severalViews = "This view is the output of a function that returns multiple views. Such functions do not allow the output views to be modified inplace. " +
	"You should replace the inplace operation by an out-of-place one."
