package autograd

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// weak is a handle that is no reference to its node.
type weak struct{ *Node }

// Release is part of tensor.Node.
func (weak) Release() {}

// with calls f with the node of a handle, which lives until f returns.
func with(self tensor.Node, f func(n *Node) error) error {
	var n *Node
	switch h := self.(type) {
	case *Node:
		n = h
		n.retain()
	case weak:
		if n = h.Node; !n.revive() {
			return status.Runtimef("the node %s is gone: no tensor, later call or handle that keeps it refers to it any more", n.name)
		}
	}
	defer n.Release()
	return f(n)
}

// GradFn is the recorded call that made self, nil for a leaf.
func GradFn(_ aten.Ctx, self *tensor.Tensor) (tensor.Node, error) {
	v := variableOf(self)
	if v == nil {
		return nil, nil
	}
	if err := v.settle(self); err != nil {
		return nil, err
	}
	if n, _ := v.made(); n != nil {
		return n, nil
	}
	return nil, nil
}

// GradientEdge is where the gradient of self goes.
func GradientEdge(_ aten.Ctx, self *tensor.Tensor) (tensor.Node, int64, error) {
	e, err := settled(self)
	if err != nil {
		return nil, 0, err
	}
	if e.Node == nil {
		return nil, 0, status.Runtimef("It is not possible to get the gradient edge for a Tensor that does not require gradients")
	}
	return e.Node, int64(e.Output), nil
}

// NodeName is the name of a recorded call.
func NodeName(_ aten.Ctx, self tensor.Node) (name string, err error) {
	err = with(self, func(n *Node) error {
		name = n.name
		return nil
	})
	return name, err
}

// NodeId tells nodes apart.
func NodeId(_ aten.Ctx, self tensor.Node) (id int64, err error) {
	err = with(self, func(n *Node) error {
		id = int64(uintptr(unsafe.Pointer(n)))
		return nil
	})
	return id, err
}

// NodeWeak is a handle that does not keep the node.
func NodeWeak(_ aten.Ctx, self tensor.Node) (made tensor.Node, err error) {
	err = with(self, func(n *Node) error {
		made = weak{n}
		return nil
	})
	return made, err
}

// NodeEdges is the number of operands.
func NodeEdges(_ aten.Ctx, self tensor.Node) (count int64, err error) {
	err = with(self, func(n *Node) error {
		count = int64(len(n.edges))
		return nil
	})
	return count, err
}

// NodeEdge is where the gradient of operand i goes.
func NodeEdge(_ aten.Ctx, self tensor.Node, i int64) (to tensor.Node, output int64, err error) {
	err = with(self, func(n *Node) error {
		if i < 0 || i >= int64(len(n.edges)) {
			return status.Indexf("node_edge: operand %d of %s is out of range: it has %d", i, n.name, len(n.edges))
		}
		if e := n.edges[i]; e.Node != nil {
			e.Node.retain()
			to, output = e.Node, int64(e.Output)
		}
		return nil
	})
	return to, output, err
}

// NodeVariable is the leaf of a node that accumulates.
func NodeVariable(_ aten.Ctx, self tensor.Node) (leaf *tensor.Tensor, err error) {
	err = with(self, func(n *Node) error {
		if n.leaf != nil {
			leaf = n.leaf.Alias()
		}
		return nil
	})
	return leaf, err
}

// NodeResult stands for a result of a recorded call where gradients are asked for.
func NodeResult(_ aten.Ctx, self tensor.Node, output int64) (made *tensor.Tensor, err error) {
	const op = "node_result"
	err = with(self, func(n *Node) error {
		if output < 0 || output >= int64(len(n.outputs)) || n.outputs[output].dtype.Category() < dtype.Floating {
			return status.Indexf("%s: %s has no result %d with a gradient: it has %d results", op, n.name, output, len(n.outputs))
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
		h := track(made)
		h.node, h.output = n, int(output)
		return nil
	})
	return made, err
}

// NodeSaved is what a recorded call saved, with its history.
func NodeSaved(c aten.Ctx, self tensor.Node) (list []*tensor.Tensor, err error) {
	err = with(self, func(n *Node) error {
		if err := n.begin(); err != nil {
			return err
		}
		defer n.end(false)
		s := &steps{c: c, node: n, record: true}
		defer s.Close()
		for i := range n.saved {
			t, err := s.try(func() *tensor.Tensor { return s.saved(i) })
			if err != nil {
				for _, t := range list {
					t.Release()
				}
				list = nil
				return err
			}
			list = append(list, t)
		}
		return nil
	})
	return list, err
}

// NodeSetContext attaches something of the program's to a node.
func NodeSetContext(_ aten.Ctx, self tensor.Node, data, deleter uintptr) error {
	return with(self, func(n *Node) error {
		a, made := n.attach(), newContext(data, deleter)
		n.mu.Lock()
		old := a.context
		a.context = made
		n.mu.Unlock()
		old.release()
		return nil
	})
}

// NodeContext is what was attached.
func NodeContext(_ aten.Ctx, self tensor.Node) (data uintptr, err error) {
	err = with(self, func(n *Node) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		if a := n.attached.Load(); a != nil && a.context != nil {
			data = a.context.data
		}
		return nil
	})
	return data, err
}

// GetVersion is how often operators have written to the storage of self.
func GetVersion(_ aten.Ctx, self *tensor.Tensor) (int64, error) {
	if inferred(self) {
		return 0, status.Runtimef("Inference tensors do not track version counter.")
	}
	return self.Storage().Version(), nil
}

// IncrementVersion counts a write.
func IncrementVersion(_ aten.Ctx, self *tensor.Tensor) error {
	self.Storage().Wrote()
	return nil
}

// Untracked is self without its history; writes to it are not counted.
func Untracked(_ aten.Ctx, self *tensor.Tensor) (*tensor.Tensor, error) {
	t := self.Alias()
	forgetHistory(t)
	t.SetApart()
	t.Silence()
	return t, nil
}

// NewHandle is self for another handle.
func NewHandle(_ aten.Ctx, self *tensor.Tensor) (*tensor.Tensor, error) { return self.Alias(), nil }
