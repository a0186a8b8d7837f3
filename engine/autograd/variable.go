package autograd

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Variable is the history of a tensor, which the tensor shares with its aliases.
type Variable struct {
	refs         atomic.Int32
	mu           sync.Mutex     // over grad and accumulator, which runs of several threads use, and node, which one in place changes meanwhile
	requires     bool           // a leaf whose gradient is wanted
	hidden       bool           // of such a leaf: programs do not see it in a graph
	retainsGrad  bool           // not a leaf, and its gradient is kept all the same
	node         *Node          // what made the tensor; nil for leaves
	output       int            // which of the node's results the tensor is
	grad         *tensor.Tensor // nil as long as there is none
	set          int            // how often grad was set
	adding       sync.Mutex     // of what adds to grad in place
	accumulator  *Node          // of a leaf, not counted: it holds the leaf
	view         *viewed        // of a view
	watched      atomic.Bool    // views of the tensor were made
	changes      int            // how often an operator in place has given the tensor another node
	elsewhere    bool           // of a leaf: an operator has given the tensor another storage since it was first used
	functionView functionView   // of a result of a custom function that is a view of another tensor, or of a view of such a result
	listeners    *listeners     // of a leaf
	inferred     bool           // of a tensor that was made in inference mode
	creationMeta creationMeta   // of a view that was made while calls were not recorded
	since        int64          // of a functionView, and of a view with a creationMeta: the version of the storage when it was made
	cut          atomic.Uint64  // the number of the node that detach_() has cut the tensor off
}

// Retain is part of tensor.History.
func (v *Variable) Retain() { v.refs.Add(1) }

// Release is part of tensor.History.
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

// abandon takes the node off: what saved the tensor still asks for it.
func (v *Variable) abandon() (n *Node) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n, v.node = v.node, nil
	return n
}

// Describe is part of tensor.History.
func (v *Variable) Describe() (call string, needed bool) {
	n, _ := v.made()
	if n == nil {
		return "", v.wanted()
	}
	defer n.Release()
	return n.name, true
}

// variableOf is the history of a tensor, nil for a plain one.
func variableOf(t *tensor.Tensor) *Variable {
	if t == nil {
		return nil
	}
	v, _ := t.History().(*Variable)
	return v
}

// track gives a tensor without one a history.
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

// wanted tells whether a tensor's gradient is wanted, by a leaf or by what it was made of.
func wanted(t *tensor.Tensor) bool {
	v := variableOf(t)
	return v != nil && v.wanted()
}

func (v *Variable) wanted() bool {
	return v.requires || v.node != nil || v.view != nil && v.view.root.wanted()
}

// differentiable tells whether tensors of t's dtype have gradients.
func differentiable(t *tensor.Tensor) bool {
	return t.DType().IsFloatingPoint() || t.DType().IsComplex()
}

// recording tells whether a call on the tensors is to be recorded.
func recording(c aten.Ctx, tensors ...*tensor.Tensor) bool {
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

// normal tells whether a tensor was not made in inference mode: calls on tensors of which all were are not recorded.
func normal(t *tensor.Tensor) bool { return t != nil && !t.IsWrappedNumber() && !inferred(t) }

// edgeTo is where the gradient of t goes: to what made it, or to what adds it up; nowhere when it is not wanted. The
// reference to the node is the caller's.
func edgeTo(t *tensor.Tensor) Edge {
	t = valuesOf(t)
	v := variableOf(t)
	if v == nil {
		return Edge{}
	}
	_ = v.regenerateGradFn(t) // who uses the tensor in a call hears of it from begin
	return v.edge(t)
}

// checkedEdge is edgeTo for who is to hear that t is one of several views whose base has changed.
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

// edge is edgeTo for the tensor t with history v, whose node is that of what it views now.
func (v *Variable) edge(t *tensor.Tensor) Edge {
	if n, output := v.made(); n != nil {
		return Edge{n, output}
	}
	if v.requires {
		return Edge{v.accumulates(t), 0}
	}
	return Edge{}
}

// made is the node that made the tensor, with a reference, and which of its results the tensor is; nil for leaves.
func (v *Variable) made() (*Node, int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.node != nil {
		v.node.retain()
	}
	return v.node, v.output
}

// accumulates is the node that adds gradients to the leaf t's.
func (v *Variable) accumulates(t *tensor.Tensor) *Node {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := v.accumulator; n != nil && n.revive() {
		return n
	}
	n := newNode("AccumulateGrad", 0)
	n.leaf = t.Alias()
	n.number = numbers.Add(1) // before that of the first call that uses the leaf: its turn comes as soon as all of them had theirs
	n.results(t)
	v.accumulator = n
	return n
}

// Moved is part of tensor.History. What adds up the gradient of a leaf, which recorded calls lead to, has the new data as well. Where that
// has another dtype, shape or device, it refuses what comes from them, and new calls lead to another one.
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

// become makes the tensor result output of node n, whose reference it takes over.
func (v *Variable) become(n *Node, output int) {
	v.mu.Lock()
	old := v.swap(n, output)
	v.changes++
	v.mu.Unlock()
	v.leave(old)
}

// swap is become under the lock. It returns the node that made the tensor before.
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

// leave gives up the node that made the tensor before.
func (v *Variable) leave(old *Node) {
	if old == nil {
		return
	}
	if v.retainsGrad {
		old.forget(v)
	}
	old.Release()
}
