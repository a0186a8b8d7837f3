package autograd

import (
	"container/heap"
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// backwardPass is one backward pass. It visits nodes in descending order of number: all nodes that used a node's outputs are visited before
// the node, so that its gradients are complete.
type backwardPass struct {
	c        dispatch.Context // in grad mode if create is set
	retain   bool             // retain_graph: saved tensors are not freed
	create   bool             // create_graph: the backward pass adds nodes to the graph
	waiting  queue
	pending  map[*Node]*pending
	wanted   map[Edge]*tensor.Tensor // gradients to return; nil if they are accumulated in the leaves
	needed   map[*Node]bool          // the nodes on a path to the inputs; nil for all
	roots    []Edge
	reached  map[any]bool // the result of reaches, computed on demand
	gathered map[*group]*gathered
	streams  streams
}

// pending has the sums of the gradients of a node's outputs so far.
type pending struct {
	node  *Node
	grads []*tensor.Tensor
}

// queue is a heap of nodes, the largest number first.
type queue []*pending

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].node.number > q[j].node.number }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*pending)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return x
}

// newBackwardPass creates a backward pass, which the caller closes. Gradients have no dimension names; those of saved tensors are ignored.
func newBackwardPass(c dispatch.Context, retain, create bool) *backwardPass {
	return &backwardPass{c: c.Recorded(create).Excluding(tensor.Named), retain: retain, create: create, pending: map[*Node]*pending{}}
}

func (r *backwardPass) close() {
	for _, p := range r.waiting {
		p.release()
	}
	for _, t := range r.wanted {
		t.Release()
	}
	for _, have := range r.gathered {
		have.release()
	}
	releaseAll(r.roots)
}

func (p *pending) release() {
	for _, t := range p.grads {
		t.Release()
	}
	p.node.Release()
}

// queueNode queues a node, even if none of its outputs gets a gradient: its hooks and custom functions are then called with undefined
// gradients.
func (r *backwardPass) queueNode(n *Node) *pending {
	p := r.pending[n]
	if p == nil {
		n.retain()
		p = &pending{n, make([]*tensor.Tensor, len(n.outputs))}
		r.pending[n] = p
		heap.Push(&r.waiting, p)
	}
	return p
}

// addGrad adds grad, whose reference it takes, to the gradient of a node's output.
func (r *backwardPass) addGrad(e Edge, grad *tensor.Tensor) error {
	p := r.queueNode(e.Node)
	have := p.grads[e.Output]
	if have == nil {
		p.grads[e.Output] = grad
		return nil
	}
	defer grad.Release()
	out := have
	if r.create || !canOverwrite(have) || have.DType() != grad.DType() || !slices.Equal(have.Sizes(), grad.Sizes()) {
		out = nil
	}
	sum, err := r.c.Add(out, have, grad, one)
	if err != nil || out != nil {
		return err
	}
	have.Release()
	p.grads[e.Output] = sum
	return nil
}

// canOverwrite returns whether t can be overwritten: it is strided, its memory is not shared or overlapping, and it has no autograd
// metadata.
func canOverwrite(t *tensor.Tensor) bool {
	return t.Components() == nil && t.AutogradMeta() == nil && isOnlyUser(t)
}

// isOnlyUser returns whether t is dense and the only user of its storage.
func isOnlyUser(t *tensor.Tensor) bool {
	return !isTransformed(t) && (t.IsContiguous() || shape.IsDense(t.Sizes(), t.Strides())) && t.Storage().Refs() == 1 &&
		!t.Storage().ReadOnly() && t.Numel()*t.DType().Size() == t.Storage().Nbytes()
}

// limitTo limits the backward pass to the nodes on paths from roots to goals. With capture the gradients of goals are returned, not
// accumulated.
func (r *backwardPass) limitTo(roots []Edge, goals []Edge, capture bool) {
	r.needed = map[*Node]bool{}
	if capture {
		r.wanted = map[Edge]*tensor.Tensor{}
	}
	for _, g := range goals {
		if g.Node == nil {
			continue
		}
		r.needed[g.Node] = true
		if capture {
			r.wanted[g] = nil
		}
	}
	seen := map[*Node]bool{}
	var all, next []*Node
	visit := func(e Edge) {
		if e.Node != nil && !seen[e.Node] {
			seen[e.Node] = true
			next = append(next, e.Node)
		}
	}
	for _, e := range roots {
		visit(e)
	}
	for len(next) > 0 {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		all = append(all, n)
		for _, e := range n.edges {
			visit(e)
		}
	}
	slices.SortFunc(all, func(a, b *Node) int { return int(int64(a.number - b.number)) })
	for _, n := range all {
		for _, e := range n.edges {
			if r.needed[e.Node] {
				r.needed[n] = true
			}
		}
	}
}

// visitAll visits nodes until the queue is empty.
func (r *backwardPass) visitAll() (err error) {
	defer func() {
		if back := r.streams.switchBack(); err == nil {
			err = back
		}
	}()
	for len(r.waiting) > 0 {
		if parallel.Interruptible.Load() != 0 && parallel.Poll() {
			return status.Cancelledf("backward: the call was cancelled")
		}
		p := heap.Pop(&r.waiting).(*pending)
		delete(r.pending, p.node)
		err := r.visitNode(p)
		p.release()
		if err != nil {
			return err
		}
	}
	return r.callIncompleteGroups()
}

// visitNode calls the hooks of a node, computes the gradients of its operands, and adds them to the nodes of these.
func (r *backwardPass) visitNode(p *pending) error {
	n := p.node
	if err := r.streams.switchToNode(n); err != nil {
		return err
	}
	passes := r.continuesAfter(n)
	if passes {
		r.captureGrads(p)
	}
	if err := r.callTensorHooks(p); err != nil {
		return err
	}
	if !passes {
		r.captureGrads(p)
	}
	if err := r.accumulateRetained(p); err != nil || !passes && r.wanted != nil {
		return err
	}
	if err := r.callPreHooks(p); err != nil {
		return err
	}
	if !passes { // its gradient is requested, but not those of its operands
		return r.callPostHooks(p, make([]*tensor.Tensor, len(n.edges)))
	}
	if n.leaf != nil {
		return r.visitLeaf(p)
	}
	grads, err := n.computeGrads(r, p.grads)
	if err == nil && n.attached.Load() != nil {
		if err = n.fitGrads(r.c, grads); err == nil {
			err = r.callPostHooks(p, grads)
		}
	}
	if err == nil {
		err = n.checkNan(r.c, grads)
	}
	return n.addFailedName(r.passGrads(n, grads, err))
}

// visitLeaf adds the gradient of a leaf to its grad, and calls its hooks.
func (r *backwardPass) visitLeaf(p *pending) error {
	leaf, grad := p.node.leaf, p.grads[0]
	if grad != nil {
		v := autogradMetaOf(leaf)
		if v.node != nil || v.view != nil {
			return status.Runtimef("backward: a leaf variable of sizes %v has been moved into the graph interior: its base was written to after it was used",
				leaf.Sizes())
		}
		if v.requires {
			if err := v.accumulateGrad(r.c, leaf, grad, r.create); err != nil {
				return err
			}
		}
	}
	if err := r.callAccumulateHooks(leaf); err != nil {
		return err
	}
	return r.callPostHooks(p, nil)
}

// passGrads adds the gradients of a node's operands to the nodes of these. After an error, such as err, it releases them.
func (r *backwardPass) passGrads(n *Node, grads []*tensor.Tensor, err error) error {
	for i, grad := range grads {
		switch {
		case grad == nil:
			if err == nil && r.needsGrad(n.edges[i]) {
				r.queueNode(n.edges[i].Node)
			}
		case err != nil:
			grad.Release()
		default:
			if grad, err = n.fitGrad(r.c, i, grad); err == nil {
				err = r.addGrad(n.edges[i], grad)
			}
		}
	}
	return err
}

// needsGrad returns whether the backward pass needs the gradient along an edge.
func (r *backwardPass) needsGrad(e Edge) bool {
	return e.Node != nil && (r.needed == nil || r.needed[e.Node])
}

// continuesAfter returns whether the backward pass continues after a node: to the nodes of its operands, or to the gradient of a leaf.
func (r *backwardPass) continuesAfter(n *Node) bool {
	switch {
	case r.needed == nil:
		return true
	case n.leaf != nil:
		return r.wanted == nil && r.needed[n]
	}
	return slices.ContainsFunc(n.edges, func(e Edge) bool { return r.needed[e.Node] })
}

// captureGrads stores requested gradients. For nodes at which the backward pass continues it is called before the hooks of tensors change
// them.
func (r *backwardPass) captureGrads(p *pending) {
	for i, grad := range p.grads {
		if _, ok := r.wanted[Edge{p.node, i}]; ok && grad != nil {
			r.wanted[Edge{p.node, i}] = grad.Alias()
		}
	}
}

// accumulateRetained accumulates the gradients of outputs for which RetainGrad was called.
func (r *backwardPass) accumulateRetained(p *pending) error {
	for _, v := range p.node.retainedOutputs() {
		if grad := p.grads[v.output]; grad != nil {
			if err := v.accumulateGrad(r.c, nil, grad, r.create); err != nil {
				return err
			}
		}
	}
	return nil
}

// computeGrads returns the gradients of the node's operands, and frees the saved tensors unless the graph is retained.
func (n *Node) computeGrads(r *backwardPass, grads []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if err := n.beginUse(); err != nil {
		return nil, err
	}
	made, err := n.differentiateAny(r, grads)
	n.endUse(!r.retain && err == nil)
	return made, err
}

// fitGrads is fitGrad for all operands, before hooks receive them.
func (n *Node) fitGrads(c dispatch.Context, grads []*tensor.Tensor) (err error) {
	for i, grad := range grads {
		if grad == nil {
			continue
		}
		if grads[i], err = n.fitGrad(c, i, grad); err != nil {
			return err
		}
	}
	return nil
}

// fitGrad converts the gradient of operand i to the operand's dtype, sizes and device: it takes the real part for a real operand, and sums
// over broadcast dimensions. It takes the reference to grad.
func (n *Node) fitGrad(c dispatch.Context, i int, grad *tensor.Tensor) (*tensor.Tensor, error) {
	e := n.edges[i]
	want := &e.Node.outputs[e.Output]
	grad, err := n.fitGradTo(c, i, grad, want.dtype, want.sizes())
	if err != nil || grad.Device() == want.device {
		return grad, err
	}
	defer grad.Release()
	return c.ToOptions(grad, dtype.None, tensor.NoLayout, want.device, false, false, shape.NoFormat)
}

func (n *Node) fitGradTo(c dispatch.Context, i int, grad *tensor.Tensor, d dtype.DType, sizes []int64) (*tensor.Tensor, error) {
	if grad.DType() == d && slices.Equal(grad.Sizes(), sizes) {
		return grad, nil
	}
	s := &steps{Builder: build.Builder{C: c}}
	defer s.Close()
	fitted, err := s.Evaluate(func() *tensor.Tensor {
		s.Track(grad, nil)
		fitted := grad
		if grad.DType().IsComplex() && !d.IsComplex() {
			fitted = s.real(fitted)
		}
		if !slices.Equal(fitted.Sizes(), sizes) {
			if !shape.ExpandsTo(sizes, fitted.Sizes()) {
				s.Check(status.Runtimef("Function %s returned an invalid gradient at index %d - got %v but expected shape compatible with %v", n.name,
					i, fitted.Sizes(), sizes))
			}
			fitted = s.Track(c.SumToSize(fitted, slices.Clone(sizes)))
		}
		return s.castTo(fitted, d)
	})
	return fitted, err
}

// accumulateGrad adds grad to the gradient of the leaf t: in place, unless create is set. For a non-leaf tensor t is nil, and the sum is
// not in place, because the backward pass still uses grad. The lock is not held while operators execute, because they may call accumulate.
func (v *AutogradMeta) accumulateGrad(c dispatch.Context, t, grad *tensor.Tensor, create bool) error {
	if t != nil && !slices.Equal(t.Sizes(), grad.Sizes()) {
		return status.Runtimef("a gradient of sizes %v does not match the leaf: its data was replaced after it was used, and now has sizes %v",
			grad.Sizes(), t.Sizes())
	}
	for {
		before, set := v.gradAndCount()
		done, err := v.replaceGrad(c, t, before, set, grad, create)
		before.Release()
		if done || err != nil {
			return err
		}
	}
}

// gradAndCount returns a new handle of the gradient, or nil, and the number of times that it was set.
func (v *AutogradMeta) gradAndCount() (*tensor.Tensor, int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.grad == nil {
		return nil, v.set
	}
	return v.grad.Alias(), v.set
}

// swapGrad sets the gradient to made if it has been set `set` times, and returns the previous one and true. Otherwise it returns made and
// false.
func (v *AutogradMeta) swapGrad(made *tensor.Tensor, set int) (other *tensor.Tensor, done bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.set != set {
		return made, false
	}
	other, v.grad = v.grad, made
	v.set++
	return other, true
}

// replaceGrad adds grad to before, the current gradient. It returns false if another thread has set the gradient meanwhile.
func (v *AutogradMeta) replaceGrad(c dispatch.Context, t, before *tensor.Tensor, set int, grad *tensor.Tensor,
	create bool) (done bool, err error) {
	var sum *tensor.Tensor
	if before == nil {
		sum, err = firstGrad(c, t, grad, create)
	} else {
		s := &steps{Builder: build.Builder{C: c}}
		defer s.Close()
		if err := s.pinStorage(before, "backward"); err != nil {
			return false, err
		}
		inPlace := !create && t != nil
		if inPlace { // two backward passes must not add at once; Add creates no node, so that it does not call accumulate
			v.adding.Lock()
			defer v.adding.Unlock()
		}
		if inPlace && before.Components() == nil {
			_, err := c.Add(before, before, grad, one)
			return true, err
		}
		if sum, err = c.Add(nil, before, grad, one); err == nil && inPlace && sum.Layout() == tensor.COO && v.replaceEntries(sum, set) {
			sum.Release()
			return true, nil
		}
	}
	if err != nil {
		return false, err
	}
	other, done := v.swapGrad(sum, set)
	other.Release()
	return done, nil
}

// replaceEntries stores the entries of sum in the sparse gradient, which all its handles share. It returns false if the gradient has been
// set more than `set` times, or cannot be changed because another thread reads it.
func (v *AutogradMeta) replaceEntries(sum *tensor.Tensor, set int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.set != set || v.grad.Replace("backward", sum.Sizes(), *sum.Components()) != nil {
		return false
	}
	v.set++ // other threads have read the entries before
	return true
}

// firstSparseGrad returns a copy of a sparse gradient, whose indices and values may be shared with tensors of the caller.
func firstSparseGrad(c dispatch.Context, grad *tensor.Tensor, create bool) (*tensor.Tensor, error) {
	if create {
		return c.Clone(grad, shape.Preserve)
	}
	detached, err := c.Detach(grad)
	if err != nil {
		return nil, err
	}
	defer detached.Release()
	return c.Clone(detached, shape.Preserve)
}

// firstGrad returns the tensor to store as the gradient of t: grad itself if it has t's strides and its memory is not shared, because later
// gradients are added in place; otherwise a copy.
func firstGrad(c dispatch.Context, t, grad *tensor.Tensor, create bool) (*tensor.Tensor, error) {
	if t == nil {
		return c.Clone(grad, shape.Preserve)
	}
	if grad.Components() != nil && t.Components() == nil {
		return firstSparseGrad(c, grad, create)
	}
	if slices.Equal(t.Strides(), grad.Strides()) && isOnlyUser(grad) && (create || grad.AutogradMeta() == nil) {
		return grad.Alias(), nil
	}
	if create {
		return c.Clone(grad, shape.Contiguous)
	}
	made, err := c.EmptyLike(t, grad.DType(), tensor.NoLayout, grad.Device(), shape.Preserve)
	if err != nil {
		return nil, err
	}
	made.SetAutogradMeta(nil)
	if err := c.Copy(made, grad, false); err != nil {
		made.Release()
		return nil, err
	}
	return made, nil
}
