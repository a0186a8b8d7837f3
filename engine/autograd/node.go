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

// Edge refers to an output of a node. The zero value refers to none.
type Edge struct {
	Node   *Node
	Output int
}

// Node is a node of the autograd graph: one differentiable operation. Its outputs, and the nodes of operations that use them, hold
// references to it.
type Node struct {
	refs       atomic.Int32
	mu         sync.Mutex // guards users, spent, retainGrad and the attached hooks
	name       string
	number     uint64 // nodes are numbered in the order of creation, from 1: edges refer to smaller numbers
	edges      []Edge // one for each operand
	outputs    []like
	saved      []saved
	formula    func(s *steps, i int) *tensor.Tensor // the gradient of operand i, nil for none
	leaf       *tensor.Tensor                       // for an AccumulateGrad node: the leaf
	users      int                                  // the number of backward passes that are using the saved tensors
	spent      bool                                 // the saved tensors are freed, or will be when users is 0
	retainGrad []*AutogradMeta                      // outputs for which RetainGrad was called
	inner      *Node                                // for CopySlices: the node of the operator that wrote to a view
	cut        cutting                              // for an elementwise operator

	attached atomic.Pointer[attached]
	known    atomic.Bool // the address may still be used after the last reference is gone, so that the Node is not reused

	firstEdges   [3]Edge
	firstOutputs [1]like
	firstSaved   [2]saved
}

var numbers atomic.Uint64

// spare is a pool of nodes, since programs create and release them at a high rate.
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

// Name implements tensor.Node.
func (n *Node) Name() string { return n.name }

func (n *Node) retain() { n.refs.Add(1) }

// retainIfAlive adds a reference, unless the last one is already released; it returns whether it did.
func (n *Node) retainIfAlive() bool {
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

// Release releases a reference. The last one frees the node, and the nodes to which only it referred. Release is iterative,
// because long chains of nodes would overflow the stack.
func (n *Node) Release() {
	for waiting := []*Node(nil); ; {
		if n.refs.Add(-1) == 0 {
			waiting = n.releaseContents(waiting)
		}
		if len(waiting) == 0 {
			return
		}
		n = waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
	}
}

// releaseContents releases the contents of the node, appends the nodes that it referred to, and returns the Node to the pool.
func (n *Node) releaseContents(nodes []*Node) []*Node {
	if n.leaf != nil {
		v := autogradMetaOf(n.leaf)
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
	nodes = n.freeSaved(nodes)
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

// beginUse starts a use of the saved tensors, which end ends. It returns an error if they are freed.
func (n *Node) beginUse() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.checkNotFreed(); err != nil {
		return err
	}
	n.users++
	return nil
}

// endUse ends a use. If spend is true, the last use frees the saved tensors. The lock is not held while callbacks and deleters
// are called.
func (n *Node) endUse(spend bool) {
	n.mu.Lock()
	n.users--
	n.spent = n.spent || spend
	free := n.spent && n.users == 0
	n.mu.Unlock()
	if !free {
		return
	}
	for _, e := range n.freeSaved(nil) {
		e.Release()
	}
}

// freeSaved releases the saved tensors except scalars, and appends the nodes to which they referred.
func (n *Node) freeSaved(nodes []*Node) []*Node {
	for i := range n.saved {
		if s := &n.saved[i]; !s.number {
			nodes = s.releaseSaved(nodes)
		}
	}
	if n.inner != nil {
		n.inner.spent = true
		return n.inner.freeSaved(nodes)
	}
	return nodes
}

// retainedOutputs returns the outputs for which RetainGrad was called.
func (n *Node) retainedOutputs() []*AutogradMeta {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.retainGrad)
}

// removeRetained and remember remove and add an output for which RetainGrad was called.
func (n *Node) removeRetained(v *AutogradMeta) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.Index(n.retainGrad, v); i >= 0 {
		n.retainGrad = slices.Delete(n.retainGrad, i, i+1)
	}
}

func (n *Node) addRetained(v *AutogradMeta) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.retainGrad = append(n.retainGrad, v)
}

// like has the properties that a gradient must share with its tensor.
type like struct {
	dtype  dtype.DType
	device device.Device
	stream device.Stream // the current stream of the device, if it has streams
	dims   int
	few    [4]int64
	many   []int64 // the sizes, if there are more than four
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

// recordOutputs records the properties of the node's outputs.
func (n *Node) recordOutputs(made ...*tensor.Tensor) {
	n.outputs = n.firstOutputs[:0]
	for _, t := range made {
		if t == nil {
			n.outputs = append(n.outputs, like{})
			continue
		}
		n.outputs = append(n.outputs, likeOf(t))
	}
}

// checkNotFreed returns an error if the saved tensors are freed.
func (n *Node) checkNotFreed() error {
	if n.inner != nil {
		return n.inner.checkNotFreed()
	}
	if n.spent && slices.ContainsFunc(n.saved, func(s saved) bool { return !s.absent && !s.number }) {
		return status.Runtimef("Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed): what %s saved "+
			"is freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time",
			n.name)
	}
	return nil
}

// operatorName returns the name of the operator: Add for AddBackward0.
func (n *Node) operatorName() string {
	if i := strings.LastIndex(n.name, "Backward"); i >= 0 {
		return n.name[:i]
	}
	return n.name
}

func outputName(n *Node, output int) string {
	return ", which is output " + strconv.Itoa(output) + " of " + n.operatorName()
}

// typeName returns PyTorch's legacy name of the tensor type, such as torch.FloatTensor.
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
