package autograd

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Variable is the autograd metadata of a tensor (requires_grad, grad_fn, grad, hooks). All handles of a tensor share it.
type Variable struct {
	refs         atomic.Int32
	mu           sync.Mutex     // protects grad and accumulator, which backward passes of several threads use, and node, which in-place operators replace
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
func (v *Variable) Retain() { v.refs.Add(1) }

// Release implements the autograd metadata of package tensor.
func (v *Variable) Release() {
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
	if n := v.abandon(); n != nil {
		if v.retainsGrad {
			n.forget(v)
		}
		n.Release()
	}
}

// abandon clears and returns the grad_fn, under the lock: nodes that saved the tensor may still read it.
func (v *Variable) abandon() (n *Node) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n, v.node = v.node, nil
	return n
}

// Describe implements the autograd metadata of package tensor.
func (v *Variable) Describe() (call string, needed bool) {
	n, _ := v.made()
	if n == nil {
		return "", v.wanted()
	}
	defer n.Release()
	return n.name, true
}

// variableOf returns the autograd metadata of a tensor, nil for a tensor without.
func variableOf(t *tensor.Tensor) *Variable {
	if t == nil {
		return nil
	}
	v, _ := t.History().(*Variable)
	return v
}

// track returns the autograd metadata of a tensor, which it creates if necessary.
func track(t *tensor.Tensor) *Variable {
	v := variableOf(t)
	if v == nil {
		v = new(Variable)
		v.refs.Store(1)
		v.inferred = inferred(t)
		t.SetHistory(v)
	}
	return v
}

// wanted returns whether a tensor requires grad.
func wanted(t *tensor.Tensor) bool {
	v := variableOf(t)
	return v != nil && v.wanted()
}

func (v *Variable) wanted() bool {
	return v.requires || v.node != nil || v.view != nil && v.view.root.wanted()
}

// differentiable returns whether the dtype of t is floating-point or complex.
func differentiable(t *tensor.Tensor) bool {
	return t.DType().IsFloatingPoint() || t.DType().IsComplex()
}

// recording returns whether a call on the tensors adds a node to the graph: grad mode is on, one requires grad, and not all are inference tensors.
func recording(c dispatch.Context, tensors ...*tensor.Tensor) bool {
	if !c.Recording() {
		return false
	}
	for i, t := range tensors {
		if wanted(t) {
			return !inferred(t) || slices.ContainsFunc(tensors[i+1:], normal) || slices.ContainsFunc(tensors[:i], normal)
		}
	}
	return false
}

// normal returns whether t is neither nil, nor a wrapped number, nor an inference tensor.
func normal(t *tensor.Tensor) bool { return t != nil && !t.IsWrappedNumber() && !inferred(t) }

// edgeTo returns the edge for the gradient of t: to its grad_fn, or to the AccumulateGrad node of a leaf; the zero Edge if t does not require grad. The
// caller owns the reference to the node.
func edgeTo(t *tensor.Tensor) Edge {
	t = valuesOf(t)
	v := variableOf(t)
	if v == nil {
		return Edge{}
	}
	_ = v.regenerateGradFn(t) // begin returns this error
	return v.edge(t)
}

// checkedEdge is edgeTo that returns an error if t is one of several views whose base has changed.
func checkedEdge(t *tensor.Tensor) (Edge, error) {
	t = valuesOf(t)
	v := variableOf(t)
	if v == nil {
		return Edge{}, nil
	}
	if err := v.regenerateGradFn(t); err != nil {
		return Edge{}, err
	}
	return v.edge(t), nil
}

// edge is edgeTo for the tensor t with metadata v, after regenerateGradFn.
func (v *Variable) edge(t *tensor.Tensor) Edge {
	if n, output := v.made(); n != nil {
		return Edge{n, output}
	}
	if v.requires {
		return Edge{v.accumulates(t), 0}
	}
	return Edge{}
}

// made returns the grad_fn, with a new reference, and the index of the tensor among its outputs; nil for leaves.
func (v *Variable) made() (*Node, int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.node != nil {
		v.node.retain()
	}
	return v.node, v.output
}

// accumulates returns the AccumulateGrad node of the leaf t, with a new reference.
func (v *Variable) accumulates(t *tensor.Tensor) *Node {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := v.accumulator; n != nil && n.revive() {
		return n
	}
	n := newNode("AccumulateGrad", 0)
	n.leaf = t.Alias()
	n.number = numbers.Add(1) // smaller than the numbers of all nodes that use the leaf, so that it is visited after them
	n.results(t)
	v.accumulator = n
	return n
}

// Moved implements the autograd metadata of package tensor. The AccumulateGrad node of a leaf, which existing graphs refer to, gets the new data too.
// If the new data have another dtype, shape or device, gradients of existing graphs return an error there, and new graphs use a new AccumulateGrad
// node.
func (v *Variable) Moved(t *tensor.Tensor, written bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := v.accumulator
	if n == nil || n.leaf == t {
		return
	}
	if fits(n.leaf, t) != nil {
		v.accumulator = nil
	}
	v.elsewhere = v.elsewhere || written && n.leaf.Storage() != t.Storage()
	n.leaf.Follow(t)
}

// become sets the grad_fn to n, whose reference it takes, with the tensor as output number output.
func (v *Variable) become(n *Node, output int) {
	v.mu.Lock()
	old := v.swap(n, output)
	v.changes++
	v.mu.Unlock()
	v.leave(old)
}

// swap is become with the lock held. It returns the previous grad_fn.
func (v *Variable) swap(n *Node, output int) (old *Node) {
	old = v.node
	v.node, v.output, v.requires = n, output, false
	if n == nil && old != nil {
		v.cut.Store(old.number)
	} else {
		v.cut.Store(0)
	}
	if v.retainsGrad && n != nil {
		n.remember(v)
	}
	return old
}

// leave releases the previous grad_fn.
func (v *Variable) leave(old *Node) {
	if old == nil {
		return
	}
	if v.retainsGrad {
		old.forget(v)
	}
	old.Release()
}
