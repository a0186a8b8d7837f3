package autograd

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// weak is a handle that is no reference to its node.
type weak struct{ *Node }

// Release implements tensor.Node.
func (weak) Release() {}

// withNode calls f with the node of a handle, and holds a reference until f returns.
func withNode(self tensor.Node, f func(n *Node) error) error {
	var n *Node
	switch h := self.(type) {
	case *Node:
		n = h
		n.retain()
	case weak:
		if n = h.Node; !n.retainIfAlive() {
			return status.Runtimef("the node %s was freed: no tensor, node or owning handle refers to it any more", n.name)
		}
	}
	defer n.Release()
	return f(n)
}

// GradFn returns the grad_fn of self, nil for a leaf.
func GradFn(_ dispatch.Context, self *tensor.Tensor) (tensor.Node, error) {
	v := autogradMetaOf(self)
	if v == nil {
		return nil, nil
	}
	if err := v.regenerateGradFn(valuesOf(self)); err != nil {
		return nil, err
	}
	if n, _ := v.gradFn(); n != nil {
		return n, nil
	}
	return nil, nil
}

// GradientEdge returns the node and the output number that receive the gradient of self.
func GradientEdge(_ dispatch.Context, self *tensor.Tensor) (tensor.Node, int64, error) {
	e, err := checkedEdge(self)
	if err != nil {
		return nil, 0, err
	}
	if e.Node == nil {
		return nil, 0, status.Runtimef("It is not possible to get the gradient edge for a Tensor that does not require gradients")
	}
	return e.Node, int64(e.Output), nil
}

// NodeName returns the name of a node, such as AddBackward0.
func NodeName(_ dispatch.Context, self tensor.Node) (name string, err error) {
	err = withNode(self, func(n *Node) error {
		name = n.name
		return nil
	})
	return name, err
}

// NodeId returns a number that identifies a node.
func NodeId(_ dispatch.Context, self tensor.Node) (id int64, err error) {
	err = withNode(self, func(n *Node) error {
		id = int64(uintptr(unsafe.Pointer(n)))
		return nil
	})
	return id, err
}

// NodeWeak returns a handle with a weak reference to the node.
func NodeWeak(_ dispatch.Context, self tensor.Node) (made tensor.Node, err error) {
	err = withNode(self, func(n *Node) error {
		n.known.Store(true)
		made = weak{n}
		return nil
	})
	return made, err
}

// NodeEdges returns the number of operands.
func NodeEdges(_ dispatch.Context, self tensor.Node) (count int64, err error) {
	err = withNode(self, func(n *Node) error {
		count = int64(len(n.edges))
		return nil
	})
	return count, err
}

// NodeEdge returns the node and the output number that receive the gradient of operand i.
func NodeEdge(_ dispatch.Context, self tensor.Node, i int64) (to tensor.Node, output int64, err error) {
	err = withNode(self, func(n *Node) error {
		if i < 0 || i >= int64(len(n.edges)) {
			return status.Indexf("node_edge: operand %d of %s is out of range: it has %d", i, n.name, len(n.edges))
		}
		if e := n.edges[i]; e.Node != nil && (e.Node.leaf == nil || !autogradMetaOf(e.Node.leaf).hidden) {
			e.Node.retain()
			to, output = e.Node, int64(e.Output)
		}
		return nil
	})
	return to, output, err
}

// NodeCall computes the gradients of a node's operands from those of its outputs. It does not free the saved tensors.
func NodeCall(c dispatch.Context, self tensor.Node, grads []*tensor.Tensor) (made []*tensor.Tensor, err error) {
	err = withNode(self, func(n *Node) error {
		if len(grads) != len(n.outputs) {
			return status.Typef("%s expects %d gradients, one for each result, but got %d", n.name, len(n.outputs), len(grads))
		}
		if !slices.ContainsFunc(grads, func(grad *tensor.Tensor) bool { return grad != nil }) {
			made = make([]*tensor.Tensor, len(n.edges))
			return nil
		}
		r := newBackwardPass(c, true, c.Recording())
		defer r.close()
		p := &pending{n, make([]*tensor.Tensor, len(grads))}
		n.retain()
		defer p.release()
		for i, grad := range grads {
			if grad == nil {
				continue
			}
			var err error
			if p.grads[i], err = n.outputs[i].fitGradOf(r.c, n, i, grad); err != nil {
				return err
			}
		}
		if n.leaf != nil {
			return autogradMetaOf(n.leaf).accumulateGrad(r.c, n.leaf, p.grads[0], r.create)
		}
		var err error
		if made, err = n.computeGrads(r, p.grads); err == nil {
			err = n.fitGrads(r.c, made)
		}
		if err != nil {
			for _, t := range made {
				t.Release()
			}
			made = nil
		}
		return err
	})
	return made, err
}

// fitGradOf converts a gradient that the caller passes for output i of a node to the output's sizes.
func (l *like) fitGradOf(c dispatch.Context, n *Node, i int, grad *tensor.Tensor) (*tensor.Tensor, error) {
	switch sizes := l.sizes(); {
	case grad.DType() != l.dtype:
		return nil, status.Runtimef("the gradient of result %d of %s must have its dtype, %v, but has %v", i, n.name, l.dtype, grad.DType())
	case grad.Device() != l.device:
		return nil, status.Runtimef("the gradient of result %d of %s must be on its device, %v, but is on %v", i, n.name, l.device, grad.Device())
	case slices.Equal(grad.Sizes(), sizes):
		return grad.Alias(), nil
	case !shape.ExpandsTo(grad.Sizes(), sizes):
		return nil, status.Runtimef("the gradient of result %d of %s must have its sizes, %v, but has %v", i, n.name, sizes, grad.Sizes())
	default:
		return c.Expand(grad, slices.Clone(sizes), false)
	}
}

// NodeVariable returns the leaf of an AccumulateGrad node.
func NodeVariable(_ dispatch.Context, self tensor.Node) (leaf *tensor.Tensor, err error) {
	err = withNode(self, func(n *Node) error {
		if n.leaf != nil {
			leaf = n.leaf.Alias()
		}
		return nil
	})
	return leaf, err
}

// NodeResult returns a tensor that represents an output of a node as an input of AutogradGrad.
func NodeResult(_ dispatch.Context, self tensor.Node, output int64) (made *tensor.Tensor, err error) {
	const op = "node_result"
	err = withNode(self, func(n *Node) error {
		if output < 0 || output >= int64(len(n.outputs)) || n.outputs[output].dtype.Category() < dtype.Floating {
			return status.Indexf("%s: output %[3]d of %[2]s has no gradient: the node has %[4]d outputs", op, n.name, output, len(n.outputs))
		}
		if n.leaf != nil {
			made = n.leaf.Alias()
			return nil
		}
		like := &n.outputs[output]
		zero, err := tensor.Zeros(op, nil, like.dtype, like.device)
		if err != nil {
			return err
		}
		defer zero.Release()
		if made, err = zero.View(op, slices.Clone(like.sizes()), make([]int64, like.dims), 0); err != nil {
			return err
		}
		n.retain()
		h := ensureMeta(made)
		h.node, h.output = n, int(output)
		return nil
	})
	return made, err
}

// NodeSetContext attaches a user-defined context to a node.
func NodeSetContext(_ dispatch.Context, self tensor.Node, data, deleter uintptr) error {
	return withNode(self, func(n *Node) error {
		a, made := n.attachedHooks(), newContext(data, deleter)
		n.mu.Lock()
		old := a.context
		a.context = made
		n.mu.Unlock()
		old.release()
		return nil
	})
}

// NodeContext returns the attached context.
func NodeContext(_ dispatch.Context, self tensor.Node) (data uintptr, err error) {
	err = withNode(self, func(n *Node) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		if a := n.attached.Load(); a != nil && a.context != nil {
			data = a.context.data
		}
		return nil
	})
	return data, err
}

// GetVersion returns the version counter of self: the number of in-place writes to its storage.
func GetVersion(_ dispatch.Context, self *tensor.Tensor) (int64, error) {
	if isInference(self) {
		return 0, status.Runtimef("Inference tensors do not track version counter.")
	}
	return self.Version(), nil
}

// IncrementVersion increments the version counter of self.
func IncrementVersion(_ dispatch.Context, self *tensor.Tensor) error {
	self.BumpVersion()
	return nil
}

// Untracked returns self without autograd metadata and tangents (Tensor.data); writes to it do not increment the version of self.
func Untracked(_ dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	t := self.Alias()
	for l := t.Dual(); l != nil; l = t.Dual() {
		primal, err := dispatch.Primal(t, l)
		t.Release()
		if err != nil {
			return nil, err
		}
		t = primal
	}
	detachForUser(t)
	t.SetDetached()
	t.CountApart()
	return t, nil
}

// NewHandle returns an alias of self for another handle.
func NewHandle(_ dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	return self.Alias(), nil
}
