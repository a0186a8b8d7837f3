package autograd

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// footprint lists the memory that a backward pass uses, each part once, as tensors without autograd metadata.
type footprint struct {
	made []*tensor.Tensor
	seen map[part]bool
}

// part is a range of bytes of a storage.
type part struct {
	of       *storage.Storage
	from, to int64
}

func (f *footprint) add(t *tensor.Tensor) {
	t = valuesOf(t)
	if t == nil || t.Numel() == 0 {
		return
	}
	p := part{t.Storage(), t.Offset() * t.DType().Size(), t.Reach()}
	if f.seen[p] {
		return
	}
	f.seen[p] = true
	f.made = append(f.made, t.Plain())
}

// GraphReads returns the saved tensors that a backward pass would read.
func GraphReads(c dispatch.Context, outputs, inputs []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return walkNodes(c, outputs, inputs, false, func(r *backwardPass, n *Node, f *footprint) {
		if !r.continuesAfter(n) || n.beginUse() != nil { // the backward pass reports freed nodes itself
			return
		}
		defer n.endUse(false)
		for ; n != nil; n = n.inner {
			for i := range n.saved {
				f.add(n.saved[i].t)
			}
		}
	})
}

// GraphWrites returns the gradients to which a backward pass would add.
func GraphWrites(c dispatch.Context, outputs, inputs []*tensor.Tensor, capture bool) ([]*tensor.Tensor, error) {
	return walkNodes(c, outputs, inputs, capture, func(r *backwardPass, n *Node, f *footprint) {
		adding := n.retainedOutputs()
		if n.leaf != nil && r.continuesAfter(n) {
			adding = append(adding, autogradMetaOf(n.leaf))
		}
		for _, v := range adding {
			f.addGrad(v)
		}
	})
}

// addGrad adds the current gradient of a tensor to the list.
func (f *footprint) addGrad(v *AutogradMeta) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f.add(v.grad)
}

// walkNodes calls visit for the nodes of a backward pass.
func walkNodes(c dispatch.Context, outputs, inputs []*tensor.Tensor, capture bool,
	visit func(r *backwardPass, n *Node, f *footprint)) ([]*tensor.Tensor, error) {
	r := newBackwardPass(c, true, false)
	defer r.close()
	goals, err := r.setEdges(outputs, inputs, capture)
	defer releaseAll(goals)
	if err != nil {
		return nil, err
	}
	f := footprint{seen: map[part]bool{}}
	for n := range r.reachableNodes() {
		if n, ok := n.(*Node); ok {
			visit(r, n, &f)
		}
	}
	return f.made, nil
}
