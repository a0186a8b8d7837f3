package autograd

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Edge leads to a result of a node; its zero value leads nowhere.
type Edge struct {
	Node   *Node
	Output int
}

// Node is a recorded call. It is referred to by the tensors that it made and by the nodes of the calls that used them.
type Node struct {
	refs       atomic.Int32
	mu         sync.Mutex // over users, spent, retainGrad and what is attached
	name       string
	number     uint64 // nodes are numbered as they are made, from 1: edges lead to smaller numbers
	edges      []Edge // by operand
	outputs    []like
	saved      []saved
	formula    func(s *steps, i int) *tensor.Tensor // the gradient of operand i, nil for none
	leaf       *tensor.Tensor                       // of a node that accumulates: what it adds the gradients to
	users      int                                  // runs that are using what is saved
	spent      bool                                 // what was saved is freed, or will be when no run uses it
	retainGrad []*Variable                          // results whose gradients are kept
	inner      *Node                                // of CopySlices: the call that wrote to a view
	cut        cutting                              // of an elementwise operator

	attached atomic.Pointer[attached]
	known    atomic.Bool // others may have its address when it is gone

	firstEdges   [3]Edge
	firstOutputs [1]like
	firstSaved   [2]saved
}

var numbers atomic.Uint64

// spare are nodes to use again: programs make and drop them by turns.
var spare = sync.Pool{New: func() any { return new(Node) }}

func newNode(name string, operands int) *Node {
	n := spare.Get().(*Node)
	n.name = name
	n.refs.Store(1)
	if operands <= len(n.firstEdges) {
		n.edges = n.firstEdges[:operands]
	} else {
		n.edges = make([]Edge, operands)
	}
	return n
}

// Name is part of tensor.Node.
func (n *Node) Name() string { return n.name }

func (n *Node) retain() { n.refs.Add(1) }

// revive takes a reference to a node that may be on its way out.
func (n *Node) revive() bool {
	for {
		refs := n.refs.Load()
		if refs == 0 {
			return false
		}
		if n.refs.CompareAndSwap(refs, refs+1) {
			return true
		}
	}
}

// Release gives a reference up. What the node held goes with the last one, and so on to the beginning of the graph: by a list,
// since chains may be longer than any stack.
func (n *Node) Release() {
	for waiting := []*Node(nil); ; {
		if n.refs.Add(-1) == 0 {
			waiting = n.dissolve(waiting)
		}
		if len(waiting) == 0 {
			return
		}
		n = waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
	}
}

// dissolve releases what the node held, but for the nodes, which it adds to a list, and keeps the node for another call.
func (n *Node) dissolve(nodes []*Node) []*Node {
	if n.leaf != nil {
		v := variableOf(n.leaf)
		v.mu.Lock()
		if v.accumulator == n {
			v.accumulator = nil
		}
		v.mu.Unlock()
		n.leaf.Release()
	}
	for i := range n.saved {
		n.saved[i].number = false
	}
	nodes = n.spend(nodes)
	if a := n.attached.Load(); a != nil {
		a.before.clear()
		a.after.clear()
		a.context.release()
	}
	for _, e := range n.edges {
		if e.Node != nil {
			nodes = append(nodes, e.Node)
		}
	}
	if n.inner != nil {
		nodes = append(nodes, n.inner)
	}
	if n.attached.Load() != nil || n.known.Load() { // those that hooks were on are in groups
		n.formula = nil
		return nodes
	}
	*n = Node{}
	spare.Put(n)
	return nodes
}

// begin announces a use of what the node saved, which end ends.
func (n *Node) begin() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.unspent(); err != nil {
		return err
	}
	n.users++
	return nil
}

// end ends a use. What was saved is freed with the last one, where spend says so. The lock is not held while runs call the
// program, nor while what the program gave is dropped.
func (n *Node) end(spend bool) {
	n.mu.Lock()
	n.users--
	n.spent = n.spent || spend
	free := n.spent && n.users == 0
	n.mu.Unlock()
	if !free {
		return
	}
	for _, e := range n.spend(nil) {
		e.Release()
	}
}

// spend releases what the node saved, but for plain numbers, and for the nodes, which it adds to a list.
func (n *Node) spend(nodes []*Node) []*Node {
	for i := range n.saved {
		if s := &n.saved[i]; !s.number {
			nodes = s.drop(nodes)
		}
	}
	if n.inner != nil {
		n.inner.spent = true
		return n.inner.spend(nodes)
	}
	return nodes
}

// kept are the results whose gradients are kept.
func (n *Node) kept() []*Variable {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.retainGrad)
}

// forget and remember tell the node which of its results keep their gradients.
func (n *Node) forget(v *Variable) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.Index(n.retainGrad, v); i >= 0 {
		n.retainGrad = slices.Delete(n.retainGrad, i, i+1)
	}
}

func (n *Node) remember(v *Variable) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.retainGrad = append(n.retainGrad, v)
}

// like is what the gradient of a tensor has in common with it.
type like struct {
	dtype  dtype.DType
	device device.Device
	stream device.Stream // the device's current one, where it has streams
	dims   int
	few    [4]int64
	many   []int64 // where there are more
}

func likeOf(t *tensor.Tensor) like {
	l := like{dtype: t.DType(), device: t.Device(), stream: device.CurrentStream(t.Device()), dims: t.Dim()}
	if l.dims > len(l.few) {
		l.many = slices.Clone(t.Sizes())
	} else {
		copy(l.few[:], t.Sizes())
	}
	return l
}

func (l *like) sizes() []int64 {
	if l.many != nil {
		return l.many
	}
	return l.few[:l.dims]
}

// results notes what the tensors that the node makes are like.
func (n *Node) results(made ...*tensor.Tensor) {
	n.outputs = n.firstOutputs[:0]
	for _, t := range made {
		if t == nil {
			n.outputs = append(n.outputs, like{})
			continue
		}
		n.outputs = append(n.outputs, likeOf(t))
	}
}

// unspent refuses to use what has been freed.
func (n *Node) unspent() error {
	if n.inner != nil {
		return n.inner.unspent()
	}
	if n.spent && slices.ContainsFunc(n.saved, func(s saved) bool { return !s.absent && !s.number }) {
		return status.Runtimef("Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed): what %s saved "+
			"is freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time", n.name)
	}
	return nil
}

// call is the name of what was called: Add in AddBackward0.
func (n *Node) call() string {
	name, _, _ := strings.Cut(n.name, "Backward")
	return name
}

func which(n *Node, output int) string {
	return ", which is output " + strconv.Itoa(output) + " of " + n.call()
}

// typeName is what the dtype was called when tensors had types: torch.FloatTensor.
func typeName(t *tensor.Tensor) string {
	switch d := t.DType(); d {
	case dtype.Float16:
		return "torch.HalfTensor"
	case dtype.Float32:
		return "torch.FloatTensor"
	case dtype.Float64:
		return "torch.DoubleTensor"
	case dtype.BFloat16:
		return "torch.BFloat16Tensor"
	case dtype.Complex64:
		return "torch.ComplexFloatTensor"
	case dtype.Complex128:
		return "torch.ComplexDoubleTensor"
	case dtype.Int64:
		return "torch.LongTensor"
	default:
		return "torch." + d.String()
	}
}
