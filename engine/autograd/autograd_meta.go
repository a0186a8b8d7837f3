package autograd

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/tensor"
)

// AutogradMeta is the autograd metadata of a tensor (requires_grad, grad_fn, grad, hooks). All handles of a tensor share it.
type AutogradMeta struct {
	refs atomic.Int32
	// protects grad and accumulator, which backward passes of several threads use, and node, which in-place operators replace
	mu           sync.Mutex
	requires     bool           // a leaf that requires grad
	hidden       bool           // for such a leaf: not visible to programs as a node of a graph
	retainsGrad  bool           // a non-leaf tensor whose gradient is stored
	node         *Node          // the grad_fn; nil for leaves
	output       int            // the index of the tensor among the node's outputs
	grad         *tensor.Tensor // the gradient, or nil
	set          int            // the number of times that grad, or the entries of a sparse grad, were set
	adding       sync.Mutex     // held while a gradient is added to grad in place
	accumulator  *Node          // for a leaf: its AccumulateGrad node, a weak reference, because the node holds the leaf
	view         *viewed        // for a view
	watched      atomic.Bool    // whether views of the tensor exist
	changes      int            // the number of times that an in-place operator replaced node
	elsewhere    bool           // for a leaf: an operator replaced its storage after its first use
	functionView functionView   // for a result of a custom function that is a view of another tensor, and for views of such a result
	listeners    *listeners     // for a leaf: its hooks
	inferred     bool           // whether the tensor was created in inference mode
	creationMeta creationMeta   // for a view that was created without grad mode
	since        int64          // for a functionView, or a view with a creationMeta: the version of the storage when it was created
	cut          atomic.Uint64  // the number of the node that detach_() removed
}

// Retain implements the autograd metadata of package tensor.
func (v *AutogradMeta) Retain() { v.refs.Add(1) }

// Release implements the autograd metadata of package tensor.
func (v *AutogradMeta) Release() {
	if v.refs.Add(-1) != 0 {
		return
	}
	if v.grad != nil {
		v.grad.Release()
		v.grad = nil
	}
	if v.view != nil {
		v.view.base.Release()
	}
	if l := v.listeners; l != nil {
		l.before.clear()
		l.after.clear()
	}
	if n := v.takeGradFn(); n != nil {
		if v.retainsGrad {
			n.removeRetained(v)
		}
		n.Release()
	}
}

// takeGradFn clears and returns the grad_fn, under the lock: nodes that saved the tensor may still read it.
func (v *AutogradMeta) takeGradFn() (n *Node) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n, v.node = v.node, nil
	return n
}

// Describe implements the autograd metadata of package tensor.
func (v *AutogradMeta) Describe() (call string, needed bool) {
	n, _ := v.gradFn()
	if n == nil {
		return "", v.requiresGrad()
	}
	defer n.Release()
	return n.name, true
}

// autogradMetaOf returns the autograd metadata of a tensor, nil for a tensor without.
func autogradMetaOf(t *tensor.Tensor) *AutogradMeta {
	if t == nil {
		return nil
	}
	v, _ := t.AutogradMeta().(*AutogradMeta)
	return v
}

// ensureMeta returns the autograd metadata of a tensor, which it creates if necessary.
func ensureMeta(t *tensor.Tensor) *AutogradMeta {
	v := autogradMetaOf(t)
	if v == nil {
		v = new(AutogradMeta)
		v.refs.Store(1)
		v.inferred = isInference(t)
		t.SetAutogradMeta(v)
	}
	return v
}

// requiresGrad returns whether a tensor requires grad.
func requiresGrad(t *tensor.Tensor) bool {
	v := autogradMetaOf(t)
	return v != nil && v.requiresGrad()
}

func (v *AutogradMeta) requiresGrad() bool {
	return v.requires || v.node != nil || v.view != nil && v.view.root.requiresGrad()
}

// isDifferentiable returns whether the dtype of t is floating-point or complex.
func isDifferentiable(t *tensor.Tensor) bool {
	return t.DType().IsFloatingPoint() || t.DType().IsComplex()
}

// isRecording returns whether a call on the tensors adds a node to the graph: grad mode is on, one requires grad, and not all are inference
// tensors.
func isRecording(c dispatch.Context, tensors ...*tensor.Tensor) bool {
	if !c.Recording() {
		return false
	}
	for i, t := range tensors {
		if requiresGrad(t) {
			return !isInference(t) || slices.ContainsFunc(tensors[i+1:], isRecordable) || slices.ContainsFunc(tensors[:i], isRecordable)
		}
	}
	return false
}

// isRecordable returns whether t is neither nil, nor a wrapped number, nor an inference tensor.
func isRecordable(t *tensor.Tensor) bool { return t != nil && !t.IsWrappedNumber() && !isInference(t) }

// edgeTo returns the edge for the gradient of t: to its grad_fn, or to the AccumulateGrad node of a leaf; the zero Edge if t does not
// require grad. The caller owns the reference to the node.
func edgeTo(t *tensor.Tensor) Edge {
	t = valuesOf(t)
	v := autogradMetaOf(t)
	if v == nil {
		return Edge{}
	}
	_ = v.regenerateGradFn(t) // begin returns this error
	return v.gradientEdge(t)
}

// checkedEdge is edgeTo that returns an error if t is one of several views whose base has changed.
func checkedEdge(t *tensor.Tensor) (Edge, error) {
	t = valuesOf(t)
	v := autogradMetaOf(t)
	if v == nil {
		return Edge{}, nil
	}
	if err := v.regenerateGradFn(t); err != nil {
		return Edge{}, err
	}
	return v.gradientEdge(t), nil
}

// gradientEdge is edgeTo for the tensor t with metadata v, after regenerateGradFn.
func (v *AutogradMeta) gradientEdge(t *tensor.Tensor) Edge {
	if n, output := v.gradFn(); n != nil {
		return Edge{n, output}
	}
	if v.requires {
		return Edge{v.accumulateNode(t), 0}
	}
	return Edge{}
}

// gradFn returns the grad_fn, with a new reference, and the index of the tensor among its outputs; nil for leaves.
func (v *AutogradMeta) gradFn() (*Node, int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.node != nil {
		v.node.retain()
	}
	return v.node, v.output
}

// accumulateNode returns the AccumulateGrad node of the leaf t, with a new reference.
func (v *AutogradMeta) accumulateNode(t *tensor.Tensor) *Node {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := v.accumulator; n != nil && n.retainIfAlive() {
		return n
	}
	n := newNode("AccumulateGrad", 0)
	n.leaf = t.Alias()
	n.number = numbers.Add(1) // smaller than the numbers of all nodes that use the leaf, so that it is visited after them
	n.recordOutputs(t)
	v.accumulator = n
	return n
}

// Moved implements the autograd metadata of package tensor. The AccumulateGrad node of a leaf, which existing graphs refer to, gets the new
// data too. If the new data have another dtype, shape or device, gradients of existing graphs return an error there, and new graphs use a
// new AccumulateGrad node.
func (v *AutogradMeta) Moved(t *tensor.Tensor, written bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := v.accumulator
	if n == nil || n.leaf == t {
		return
	}
	if checkGradFits(n.leaf, t) != nil {
		v.accumulator = nil
	}
	v.elsewhere = v.elsewhere || written && n.leaf.Storage() != t.Storage()
	n.leaf.Follow(t)
}

// setGradFn sets the grad_fn to n, whose reference it takes, with the tensor as output number output.
func (v *AutogradMeta) setGradFn(n *Node, output int) {
	v.mu.Lock()
	old := v.swapGradFn(n, output)
	v.changes++
	v.mu.Unlock()
	v.releaseGradFn(old)
}

// swapGradFn is setGradFn with the lock held. It returns the previous grad_fn.
func (v *AutogradMeta) swapGradFn(n *Node, output int) (old *Node) {
	old = v.node
	v.node, v.output, v.requires = n, output, false
	if n == nil && old != nil {
		v.cut.Store(old.number)
	} else {
		v.cut.Store(0)
	}
	if v.retainsGrad && n != nil {
		n.addRetained(v)
	}
	return old
}

// releaseGradFn releases the previous grad_fn.
func (v *AutogradMeta) releaseGradFn(old *Node) {
	if old == nil {
		return
	}
	if v.retainsGrad {
		old.removeRetained(v)
	}
	old.Release()
}
