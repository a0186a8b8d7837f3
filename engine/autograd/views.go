package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// replay applies a view operator to another base, and returns the views that it returns.
type replay func(c dispatch.Context, base *tensor.Tensor) ([]*tensor.Tensor, error)

// shiftOffset translates a storage offset of as_strided to another base: it returns base.Offset() + offset - from, where from was the
// offset of the original base.
func shiftOffset(offset ops.Int, from int64, base *tensor.Tensor) ops.Int {
	return ops.Int(base.Offset() + offset.Or(from) - from)
}

// singleView returns a list of one view.
func singleView(t *tensor.Tensor, err error) ([]*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return []*tensor.Tensor{t}, nil
}

// viewAt returns view number i of the replayed views, and releases the others.
func (again replay) viewAt(c dispatch.Context, base *tensor.Tensor, i int) (*tensor.Tensor, error) {
	list, err := again(c, base)
	if err != nil {
		return nil, err
	}
	for k, t := range list {
		if k != i {
			t.Release()
		}
	}
	return list[i], nil
}

// composeReplays composes two replays: it returns view number i of next, applied to view number at of again.
func (again replay) composeReplays(at int, next replay, i int) replay {
	return func(c dispatch.Context, base *tensor.Tensor) ([]*tensor.Tensor, error) {
		between, err := again.viewAt(c, base, at)
		if err != nil {
			return nil, err
		}
		defer between.Release()
		return singleView(next.viewAt(c, between, i))
	}
}

// replayOfView returns the replay of t from base, where t is view number i of next, applied to the view w. If strides and offset determine
// the elements, the result is a single as_strided, so that chains of views do not grow.
func (w *viewed) replayOfView(t, base *tensor.Tensor, next replay, i int) replay {
	if t.DType() == base.DType() && t.Keys() == base.Keys() && tensoriter.Nested(t) && tensoriter.Nested(base) {
		return stridedReplay(t, base)
	}
	return w.viewFunc.composeReplays(w.index, next, i)
}

// viewed describes a view: its base, which is not a view itself, and the operators that make the view of the base.
type viewed struct {
	base        *tensor.Tensor
	root        *AutogradMeta // the autograd metadata of base
	viewFunc    replay
	index       int // the index of the view in the list that viewFunc returns
	name        string
	multiOutput bool  // one of several views that one operator returned
	inPlaceView bool  // the base itself, after an operator changed its geometry in place
	version     int64 // the version of the storage when the view's node was created
	changes     int   // root.changes at that time
}

// baseAndMeta returns the base and its metadata, in the geometry in which its graph was built: a base whose geometry was changed in place
// has become a view.
func (w *viewed) baseAndMeta() (*tensor.Tensor, *AutogradMeta) {
	w.root.mu.Lock()
	defer w.root.mu.Unlock()
	if before := w.root.view; before != nil && before.inPlaceView {
		return before.base, before.root
	}
	return w.base, w.root
}

// markCurrent marks the view's node as up to date with its base.
func (w *viewed) markCurrent() {
	base, root := w.baseAndMeta()
	w.version, w.changes = base.Version(), root.changes
}

// markViewCurrent calls markCurrent, under the lock.
func (v *AutogradMeta) markViewCurrent() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.view.markCurrent()
}

// finishViews is setGradFns for results that are views, or for a tensor whose geometry was changed in place.
func (r *recordedOp) finishViews(err error, results ...*tensor.Tensor) bool {
	r.view = r.out != nil
	if r.creationMeta != 0 && err == nil && !r.view {
		for _, t := range results {
			r.creationMeta.markView(t)
		}
		return false
	}
	for _, t := range results {
		if t != nil && t.AutogradMeta() != nil && !r.view {
			dropAutogradMeta(t)
		}
	}
	return r.setGradFns(err, results...)
}

// markViewList is markViews for an operator that returns several views. These cannot be written to in place, unless they are slices.
func (r *recordedOp) markViewList(self *tensor.Tensor, again replay, results ...*tensor.Tensor) {
	slices := r.node.name == "SliceBackward0"
	r.multiOutput = !slices
	r.markViews(self, again, results...)
	if slices {
		r.separateNodes(results)
	}
}

// separateNodes replaces the node of each result by a separate one, with its own hooks. The common node still assembles their gradients in
// one step.
func (r *recordedOp) separateNodes(results []*tensor.Tensor) {
	slice := r.node.name
	r.node.name = "SplitWithSizesBackward0"
	for i, t := range results {
		v := autogradMetaOf(t)
		n := newNode(slice, 1)
		n.callWatcherForNew()
		n.edges[0], n.number = Edge{v.node, i}, numbers.Add(1)
		n.recordOutputs(t)
		n.formula = func(s *steps, _ int) *tensor.Tensor { return s.grad(0) }
		v.node, v.output = n, 0
	}
}

// markViews marks the results of a call as views of self, and sets the derivative of the node.
func (r *recordedOp) markViews(self *tensor.Tensor, again replay, results ...*tensor.Tensor) {
	if r.view {
		autogradMetaOf(self).recordGeometry(self, again, r.was)
		return
	}
	origin := placeOf(self)
	for i, t := range results {
		if isDifferentiable(t) {
			autogradMetaOf(t).markAsView(t, self, again, i, r.node.name, r.multiOutput)
		}
	}
	r.node.formula = func(s *steps, _ int) *tensor.Tensor { return s.baseGradient(origin, s.given, again) }
}

// markAsView marks made, with metadata v, as view number i of t.
func (v *AutogradMeta) markAsView(made, t *tensor.Tensor, again replay, i int, name string, several bool) {
	w := &viewed{viewFunc: again, index: i, name: name, multiOutput: several}
	if from := autogradMetaOf(t).view; from != nil {
		w.multiOutput = several || from.multiOutput
		base, _ := from.baseAndMeta()
		w.base = base.Alias()
		w.viewFunc, w.index = from.replayOfView(made, base, again, i), 0
	} else {
		w.base = t.Alias()
	}
	w.setRoot(autogradMetaOf(w.base))
	v.view, v.functionView, v.creationMeta = w, autogradMetaOf(t).functionView, w.root.creationMeta
	if v.functionView != 0 {
		v.since = made.Version()
	}
}

// setRoot sets root, the metadata of the base.
func (w *viewed) setRoot(root *AutogradMeta) {
	w.root = root
	if !root.watched.Load() {
		root.watched.Store(true)
	}
	w.markCurrent()
}

// geometry has the sizes, strides and offset of a tensor at some earlier time.
type geometry struct {
	sizes, strides []int64
	offset         int64
}

// geometryBefore returns the geometry of the tensor t with metadata v before an operator changes it, if t has views; otherwise nil.
func (v *AutogradMeta) geometryBefore(t *tensor.Tensor) *geometry {
	if v == nil || v.view != nil || !v.watched.Load() {
		return nil
	}
	return &geometry{slices.Clone(t.Sizes()), slices.Clone(t.Strides()), t.Offset()}
}

// recordsGeometry returns whether an in-place change of geometry must be added to the graph. It need not for leaves, whose gradient gets
// the new geometry, nor for one of several views, whose later use is an error.
func (v *AutogradMeta) recordsGeometry() bool {
	return v != nil && v.requiresGrad() && (v.view != nil && !v.view.multiOutput || v.view == nil && v.node != nil)
}

// recordGeometry adds an in-place change of the geometry of t, with metadata v, to the graph. A view becomes another view of its base. A
// tensor with views becomes a view itself: a new base, with the previous geometry and grad_fn, takes its place for its views.
func (v *AutogradMeta) recordGeometry(t *tensor.Tensor, next replay, was *geometry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if w := v.view; w != nil {
		base, _ := w.baseAndMeta()
		w.viewFunc, w.index = w.replayOfView(t, base, next, 0), 0
		return
	}
	if was == nil {
		return
	}
	root := &AutogradMeta{node: v.node, output: v.output, changes: v.changes, inferred: v.inferred}
	root.refs.Store(1)
	if root.node != nil {
		root.node.retain()
	}
	base := t.Plain()
	base.SetAutogradMeta(root)
	_ = base.SetGeometry("backward", was.sizes, was.strides, was.offset) // within the bounds of the storage, as t was
	w := &viewed{base: base, viewFunc: next, name: "AsStridedBackward0", inPlaceView: true}
	w.setRoot(root)
	v.view = w
}

// place has the properties and strides of a tensor for which views are replayed. strides are nil for contiguous and for overlapping
// tensors.
type place struct {
	like
	strides []int64
}

func placeOf(t *tensor.Tensor) place {
	p := place{like: likeOf(t)}
	if !t.IsContiguous() && !tensoriter.SelfOverlaps(t) {
		p.strides = slices.Clone(t.Strides())
	}
	return p
}

// emptyAs returns an uninitialized tensor with the sizes and strides of p.
func (s *steps) emptyAs(c dispatch.Context, p *place) *tensor.Tensor {
	if p.strides == nil {
		return s.Track(c.Empty(nil, slices.Clone(p.sizes()), p.dtype, tensor.NoLayout, p.device, shape.Contiguous))
	}
	return s.Track(c.EmptyStrided(slices.Clone(p.sizes()), slices.Clone(p.strides), p.dtype, tensor.NoLayout, p.device))
}

// copyAs returns a copy of t with the sizes and strides of p.
func (s *steps) copyAs(c dispatch.Context, t *tensor.Tensor, p *place) *tensor.Tensor {
	made := s.emptyAs(c, p)
	s.Check(c.Copy(made, t, false))
	return made
}

// baseGradient returns the gradient of the base of views: the gradients of the views at their elements, summed where the views overlap, and
// zeros elsewhere.
func (s *steps) baseGradient(origin place, grads []*tensor.Tensor, again replay) *tensor.Tensor {
	grads = slices.Clone(grads)
	for i, grad := range grads {
		grads[i] = s.toStrided(grad)
	}
	r, err := beginCall(s.C, "backward", "ViewBackwardBackward0", nil, grads...)
	s.Check(err)
	defer r.dropUnfinished()
	made := s.emptyAs(r.c, &origin)
	s.Check(r.c.Zero(made))
	for i, part := range s.TrackAll(again(r.c, made)) {
		if grads[i] == nil {
			continue
		}
		if tensoriter.SelfOverlaps(part) {
			s.writeOverlapping(r.c, made, part, grads[i], nil, true)
			continue
		}
		if i == 0 {
			s.Check(r.c.Copy(part, grads[i], false))
			continue
		}
		_, err := r.c.Add(part, part, grads[i], one)
		s.Check(err)
	}
	if r.setGradFns(nil, made) {
		r.node.formula = func(s *steps, i int) *tensor.Tensor {
			return s.TrackAll(again(s.C, s.copyAs(s.C, s.grad(0), &origin)))[i]
		}
	}
	return made
}

// writeOverlapping writes given to part, a view of made with overlapping elements, element by element, or adds it.
func (s *steps) writeOverlapping(c dispatch.Context, made, part, given, only *tensor.Tensor, add bool) {
	inner := &steps{Builder: build.Builder{C: c}}
	defer inner.Close()
	if lazy := part.Lazy(); lazy != 0 { // the view is conjugated or negated
		given, part = inner.Track(dispatch.Toggled(c, given, lazy)), inner.Track(part.WithLazy(0), nil)
	}
	if made.DType() != part.DType() { // one is a real view of the other, which is complex
		for _, t := range []**tensor.Tensor{&made, &part, &given} {
			if (*t).DType().IsComplex() {
				*t = inner.Track(c.ViewAsReal(inner.Track(c.ResolveConj(*t))))
			}
		}
		if only != nil && only.Dim() < given.Dim() {
			only = inner.Track(c.Unsqueeze(nil, only, -1))
		}
	}
	length, at := inner.storageIndices(part)
	if only != nil {
		at, given = inner.Track(c.MaskedSelect(nil, at, only)), inner.Track(c.MaskedSelect(nil, given, only))
	}
	memory := inner.Track(c.AsStrided(nil, made, []int64{length}, []int64{1}, ops.Int(0)))
	_, err := c.Put(memory, memory, at, given, add)
	s.Check(err)
}

// storageIndices returns the number of elements of t's storage, and the index in the storage of each element of t.
func (s *steps) storageIndices(t *tensor.Tensor) (length int64, at *tensor.Tensor) {
	length = t.Storage().Nbytes() / t.DType().Size()
	return length, s.AsStrided(s.arangeLike(t.Device(), length), slices.Clone(t.Sizes()), slices.Clone(t.Strides()), ops.Int(t.Offset()))
}

// Hand is called when an operator returns t to the program. A view of a temporary that is not used elsewhere stops being a view, so that
// writes to it affect only t.
func Hand(t *tensor.Tensor) {
	v := autogradMetaOf(t)
	if v == nil || v.view == nil || v.refs.Load() > 1 || v.view.root.refs.Load() > 1 || v.regenerateGradFn(valuesOf(t)) != nil {
		return
	}
	base := v.view.base
	v.view = nil
	base.Release()
}

// regenerateGradFn sets a new grad_fn for a view whose base was written to in place. It returns an error for one of several views, and for
// a view that a custom function returned.
func (v *AutogradMeta) regenerateGradFn(t *tensor.Tensor) error {
	if v.functionView != 0 && v.since != t.Version() {
		if n, output := v.gradFn(); n != nil {
			defer n.Release()
			return v.functionView.staleError(output, n.operatorName())
		}
	}
	if v.view == nil {
		if v.creationMeta != 0 && v.node == nil && v.since != t.Version() {
			return v.creationMeta.staleViewError()
		}
		return nil
	}
	old, another, err := v.regenerateLocked(t)
	if another && v.view.isMirror(t) {
		v.view.mirrorBase(v, t)
	}
	v.releaseGradFn(old)
	return err
}

// regenerateLocked is the part of regenerateGradFn under the lock. It returns whether the view has a new node, and the previous one.
func (v *AutogradMeta) regenerateLocked(t *tensor.Tensor) (old *Node, another bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := v.view
	base, root := w.baseAndMeta()
	if w.version == base.Version() && w.changes == root.changes || v.node == nil && !root.requiresGrad() {
		return nil, false, nil
	}
	if w.multiOutput {
		name := w.name
		if v.node != nil {
			name = v.node.operatorName()
		}
		return nil, false, severalView.staleError(v.output, name)
	}
	w.markCurrent()
	name := "AsStridedBackward0"
	if t.DType() != base.DType() || t.Lazy() != base.Lazy() {
		name = w.name
	}
	return v.swapGradFn(partOf(name, root.gradientEdge(base), t, placeOf(base), w.viewFunc, w.index), 0), true, nil
}

// partOf returns the node of a view of the tensor to which the edge whole refers: number at of those that again returns, with the
// properties of t.
func partOf(name string, whole Edge, t *tensor.Tensor, origin place, again replay, at int) *Node {
	n := newNode(name, 1)
	n.callWatcherForNew()
	n.edges[0], n.number = whole, numbers.Add(1)
	n.recordOutputs(t)
	n.formula = func(s *steps, _ int) *tensor.Tensor {
		return s.baseGradient(origin, s.given, func(c dispatch.Context, base *tensor.Tensor) ([]*tensor.Tensor, error) {
			return singleView(again.viewAt(c, base, at))
		})
	}
	return n
}

// rebaseHistory sets the grad_fn of the base of the view t, after an in-place operator with node n wrote its output number output to t: a
// CopySlices node, which combines the base with the new elements of the view. v is the view's metadata.
func (w *viewed) rebaseHistory(v *AutogradMeta, t *tensor.Tensor, n *Node, output int) {
	base, root := w.baseAndMeta()
	whole := newNode("CopySlices", len(n.edges))
	whole.callWatcherForNew()
	whole.number = numbers.Add(1)
	whole.recordOutputs(base)
	whole.edges[0] = root.gradientEdge(base)
	for i := 1; i < len(n.edges); i++ {
		if e := n.edges[i]; e.Node != nil {
			e.Node.retain()
			whole.edges[i] = e
		}
	}
	again, at, origin := w.viewFunc, w.index, placeOf(base)
	whole.formula = func(s *steps, i int) *tensor.Tensor { return s.copySlicesGradient(n, output, again, at, &origin, i) }
	whole.inner = n
	root.setGradFn(whole, 0)
	_ = v.regenerateGradFn(t) // returns no error, because one of several views cannot be written to
}

// isMirror returns whether t is its base in another geometry, with all elements of the base.
func (w *viewed) isMirror(t *tensor.Tensor) bool {
	return w.inPlaceView && t.Numel() == w.base.Numel() && t.DType() == w.base.DType() && t.Offset() == w.base.Offset() &&
		shape.IsDense(t.Sizes(), t.Strides()) && shape.IsDense(w.base.Sizes(), w.base.Strides())
}

// mirrorBase makes the base, and so its other views, depend on the node of t, which is the base in another geometry, so that hooks of t are
// called with the gradients of these views.
func (w *viewed) mirrorBase(v *AutogradMeta, t *tensor.Tensor) {
	w.root.setGradFn(partOf("AsStridedBackward0", v.gradientEdge(t), w.base, placeOf(t), stridedReplay(w.base, t), 0), 0)
	v.markViewCurrent()
}

// copySlicesGradient returns the gradient of operand i of a CopySlices node with inner node n, whose output number output was written to
// the view.
func (s *steps) copySlicesGradient(n *Node, output int, again replay, at int, origin *place, i int) *tensor.Tensor {
	grad := s.copyAs(s.C, s.grad(0), origin)
	part := s.Track(again.viewAt(s.C, grad, at))
	if s.inner == nil {
		given := make([]*tensor.Tensor, len(n.outputs))
		given[output] = s.CloneWith(part, shape.Contiguous)
		s.inner = &steps{Builder: build.Builder{C: s.C}, node: n, given: given, record: s.record}
		s.inner.result = func(t *tensor.Tensor) *Node {
			s.node.retain()
			return partOf("AsStridedBackward0", Edge{s.node, 0}, t, *origin, again, at)
		}
	}
	inner := s.inner
	if i > 0 {
		if tensoriter.SelfOverlaps(part) {
			s.Check(status.NotImplementedf("%s: the gradient of values written to a view of sizes %v and strides %v, several elements of which refer to a single memory location, is not implemented; clone() the view",
				n.name, part.Sizes(), part.Strides()))
		}
		return s.Track(inner.Evaluate(func() *tensor.Tensor { return n.formula(inner, i) }))
	}
	var of *tensor.Tensor
	if n.edges[0].Node != nil {
		of = s.Track(inner.Evaluate(func() *tensor.Tensor { return n.formula(inner, 0) }))
	}
	if of == nil {
		of = s.ZerosLikeWith(part, part.DType(), tensor.NoLayout, device.None, shape.Preserve)
	}
	return s.replaceView(grad, of, nil, again, at, origin)
}

// replaceView returns a copy of t in which view number at is replaced by given. If the view's elements overlap, only written ones are
// replaced: those for which written is true, or without written those that differ from t.
func (s *steps) replaceView(t, given, written *tensor.Tensor, again replay, at int, origin *place) *tensor.Tensor {
	t, given = s.toStrided(t), s.toStrided(given)
	r, err := beginCall(s.C, "backward", "CopySlicesBackward0", nil, t, given)
	s.Check(err)
	defer r.dropUnfinished()
	made := s.copyAs(r.c, t, origin)
	part := s.Track(again.viewAt(r.c, made, at))
	if !tensoriter.SelfOverlaps(part) {
		written = nil
		s.Check(r.c.Copy(part, given, false))
	} else {
		if written == nil {
			written = s.isChanged(r.c, part, given)
		}
		s.writeOverlapping(r.c, made, part, given, written, false)
	}
	shared := written != nil
	kept := r.saveOperand("written", written, shared)
	s.Check(r.err)
	if r.setGradFns(nil, made) {
		r.node.formula = func(s *steps, i int) *tensor.Tensor {
			grad := s.copyAs(s.C, s.grad(0), origin)
			part := s.Track(again.viewAt(s.C, grad, at))
			var written *tensor.Tensor
			if shared {
				written = s.saved(kept)
			}
			switch {
			case i == 0:
				return s.replaceView(grad, s.zerosLike(part), written, again, at, origin)
			case shared:
				return s.mul(part, written)
			}
			return part
		}
	}
	return made
}

// isChanged returns where a != b, except where b is NaN.
func (s *steps) isChanged(c dispatch.Context, a, b *tensor.Tensor) *tensor.Tensor {
	return s.Track(c.LogicalAnd(nil, s.Track(c.Ne(nil, a, b)), s.Track(c.Eq(nil, b, b))))
}

// recordDetach returns a view of self without autograd metadata.
func recordDetach(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	t, err := c.Excluding(tensor.Gradient).Detach(self)
	if err == nil {
		detachForUser(t)
	}
	return t, err
}
