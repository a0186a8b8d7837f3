package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// replay makes the views that an operator made of a tensor again.
type replay func(c aten.Ctx, base *tensor.Tensor) ([]*tensor.Tensor, error)

// shifted is the place in the storage of base that is as far from its beginning as the one at offset is from that of what lay at from.
func shifted(offset ops.Int, from int64, base *tensor.Tensor) ops.Int {
	return ops.Int(base.Offset() + offset.Or(from) - from)
}

// single is the list of one view.
func single(t *tensor.Tensor, err error) ([]*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return []*tensor.Tensor{t}, nil
}

// only is view number i of those that are made again.
func (again replay) only(c aten.Ctx, base *tensor.Tensor, i int) (*tensor.Tensor, error) {
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

// then is the replay of view number at, and of view number i of that.
func (again replay) then(at int, next replay, i int) replay {
	return func(c aten.Ctx, base *tensor.Tensor) ([]*tensor.Tensor, error) {
		between, err := again.only(c, base, at)
		if err != nil {
			return nil, err
		}
		defer between.Release()
		return single(next.only(c, between, i))
	}
}

// further is the replay of t, view number i of those that next makes of the view, from base: in one step where the place of its elements
// tells all, so that long chains of views take no longer than short ones.
func (w *viewed) further(t, base *tensor.Tensor, next replay, i int) replay {
	if t.DType() == base.DType() && t.Keys() == base.Keys() && iter.Nested(t) && iter.Nested(base) {
		return strided(t, base)
	}
	return w.viewFunc.then(w.index, next, i)
}

// viewed is what a view knows of the tensor that it views, which is no view itself.
type viewed struct {
	base        *tensor.Tensor
	root        *Variable // the history of base
	viewFunc    replay
	index       int // which of the views that viewFunc makes it is
	name        string
	multiOutput bool  // one of several views that an operator made at once
	inPlaceView bool  // it is the base itself, in another geometry than its history has
	version     int64 // of the storage when the view got its node
	changes     int   // of the base at that time
}

// origin is the base with its history, in the geometry of that: a base that got another one in place is a view itself since.
func (w *viewed) origin() (*tensor.Tensor, *Variable) {
	w.root.mu.Lock()
	defer w.root.mu.Unlock()
	if before := w.root.view; before != nil && before.inPlaceView {
		return before.base, before.root
	}
	return w.base, w.root
}

// see notes that the view's node is that of its base as it is.
func (w *viewed) see() {
	base, root := w.origin()
	w.version, w.changes = base.Version(), root.changes
}

// seen is see for the view with history v.
func (v *Variable) seen() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.view.see()
}

// views is finish for views, which have no history but their own, or for the tensor itself, viewed in place.
func (r *call) views(err error, results ...*tensor.Tensor) bool {
	r.view = r.out != nil
	if r.creationMeta != 0 && err == nil && !r.view {
		for _, t := range results {
			r.creationMeta.give(t)
		}
		return false
	}
	for _, t := range results {
		if t != nil && t.History() != nil && !r.view {
			forgetHistory(t)
		}
	}
	return r.finish(err, results...)
}

// watchAll is watch for the list of views that an operator makes at once. They must not be written to, but where they are slices.
func (r *call) watchAll(self *tensor.Tensor, again replay, results ...*tensor.Tensor) {
	slices := r.node.name == "SliceBackward0"
	r.multiOutput = !slices
	r.watch(self, again, results...)
	if slices {
		r.apart(results)
	}
}

// apart gives each of the results a node of its own, with its own hooks. Their gradients are put together at once all the same, by the
// node that was theirs.
func (r *call) apart(results []*tensor.Tensor) {
	slice := r.node.name
	r.node.name = "SplitWithSizesBackward0"
	for i, t := range results {
		v := variableOf(t)
		n := newNode(slice, 1)
		n.recorded()
		n.edges[0], n.number = Edge{v.node, i}, numbers.Add(1)
		n.results(t)
		n.formula = func(s *steps, _ int) *tensor.Tensor { return s.grad(0) }
		v.node, v.output = n, 0
	}
}

// watch tells the results of a call that they are views of self, and the node how gradients go back.
func (r *call) watch(self *tensor.Tensor, again replay, results ...*tensor.Tensor) {
	if r.view {
		variableOf(self).regeometry(self, again, r.was)
		return
	}
	origin := placeOf(self)
	for i, t := range results {
		if differentiable(t) {
			variableOf(t).watch(t, self, again, i, r.node.name, r.multiOutput)
		}
	}
	r.node.formula = func(s *steps, _ int) *tensor.Tensor { return s.unview(origin, s.given, again) }
}

// watch notes that made, with history v, is view number i of those that are made of t.
func (v *Variable) watch(made, t *tensor.Tensor, again replay, i int, name string, several bool) {
	w := &viewed{viewFunc: again, index: i, name: name, multiOutput: several}
	if from := variableOf(t).view; from != nil {
		w.multiOutput = several || from.multiOutput
		base, _ := from.origin()
		w.base = base.Alias()
		w.viewFunc, w.index = from.further(made, base, again, i), 0
	} else {
		w.base = t.Alias()
	}
	w.look(variableOf(w.base))
	v.view, v.functionView, v.creationMeta = w, variableOf(t).functionView, w.root.creationMeta
	if v.functionView != 0 {
		v.since = made.Version()
	}
}

// look makes the tensor with history root the one that is viewed.
func (w *viewed) look(root *Variable) {
	w.root = root
	if !root.watched.Load() {
		root.watched.Store(true)
	}
	w.see()
}

// geometry is how a tensor lay in its storage.
type geometry struct {
	sizes, strides []int64
	offset         int64
}

// lying is the geometry of the tensor t with history v, which an operator is about to write to, where others view it in that: nil
// where none do.
func (v *Variable) lying(t *tensor.Tensor) *geometry {
	if v == nil || v.view != nil || !v.watched.Load() {
		return nil
	}
	return &geometry{slices.Clone(t.Sizes()), slices.Clone(t.Strides()), t.Offset()}
}

// notesGeometry tells whether a tensor with history v that gets another geometry has to note it: a leaf just lies in another way from then on,
// and one of several views is refused where it is used.
func (v *Variable) notesGeometry() bool {
	return v != nil && v.wanted() && (v.view != nil && !v.view.multiOutput || v.view == nil && v.node != nil)
}

// regeometry notes that the tensor t with history v has got another geometry in place: where it is a view, it is another one of its base.
// Where others view it, it becomes a view itself: its history so far stays theirs, with the geometry that it was recorded in.
func (v *Variable) regeometry(t *tensor.Tensor, next replay, was *geometry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if w := v.view; w != nil {
		base, _ := w.origin()
		w.viewFunc, w.index = w.further(t, base, next, 0), 0
		return
	}
	if was == nil {
		return
	}
	root := &Variable{node: v.node, output: v.output, changes: v.changes, inferred: v.inferred}
	root.refs.Store(1)
	if root.node != nil {
		root.node.retain()
	}
	base := t.Plain()
	base.SetHistory(root)
	_ = base.SetGeometry("backward", was.sizes, was.strides, was.offset) // which lies in the storage, as t did
	w := &viewed{base: base, viewFunc: next, name: "AsStridedBackward0", inPlaceView: true}
	w.look(root)
	v.view = w
}

// place is how a tensor lies in memory, for what stands in for it when its views are made again: strides are nil where they are
// those of a contiguous one, or elements share memory.
type place struct {
	like
	strides []int64
}

func placeOf(t *tensor.Tensor) place {
	p := place{like: likeOf(t)}
	if !t.IsContiguous() && !iter.SelfOverlaps(t) {
		p.strides = slices.Clone(t.Strides())
	}
	return p
}

// empty is a tensor that lies as p does.
func (s *steps) empty(c aten.Ctx, p *place) *tensor.Tensor {
	if p.strides == nil {
		return s.Keep(c.Empty(nil, slices.Clone(p.sizes()), p.dtype, tensor.NoLayout, p.device, shape.Contiguous))
	}
	return s.Keep(c.EmptyStrided(slices.Clone(p.sizes()), slices.Clone(p.strides), p.dtype, tensor.NoLayout, p.device))
}

// laid is a copy of t that lies as p does.
func (s *steps) laid(c aten.Ctx, t *tensor.Tensor, p *place) *tensor.Tensor {
	made := s.empty(c, p)
	s.Check(c.Copy(made, t, false))
	return made
}

// unview is the gradient of what was viewed: what comes from the views in their places, added up where they overlap, and zeros
// elsewhere.
func (s *steps) unview(origin place, grads []*tensor.Tensor, again replay) *tensor.Tensor {
	r, err := begin(s.c, "backward", "ViewBackwardBackward0", nil, grads...)
	s.Check(err)
	defer r.abandon()
	made := s.empty(r.c, &origin)
	s.Check(r.c.Zero(made))
	for i, part := range s.KeepAll(again(r.c, made)) {
		if grads[i] == nil {
			continue
		}
		if iter.SelfOverlaps(part) {
			s.put(r.c, made, part, grads[i], nil, true)
			continue
		}
		if i == 0 {
			s.Check(r.c.Copy(part, grads[i], false))
			continue
		}
		_, err := r.c.Add(part, part, grads[i], one)
		s.Check(err)
	}
	if r.finish(nil, made) {
		r.node.formula = func(s *steps, i int) *tensor.Tensor { return s.KeepAll(again(s.c, s.laid(s.c, s.grad(0), &origin)))[i] }
	}
	return made
}

// put writes to part, a view of made whose elements share memory, one by one, or adds to it.
func (s *steps) put(c aten.Ctx, made, part, given, only *tensor.Tensor, add bool) {
	inner := &steps{c: c}
	defer inner.Close()
	if lazy := part.Lazy(); lazy != 0 { // the memory has other numbers than the view
		given, part = inner.Keep(aten.Toggled(c, given, lazy)), inner.Keep(part.WithLazy(0), nil)
	}
	if made.DType() != part.DType() { // one has the parts of the other's complex numbers
		for _, t := range []**tensor.Tensor{&made, &part, &given} {
			if (*t).DType().IsComplex() {
				*t = inner.Keep(c.ViewAsReal(inner.Keep(c.ResolveConj(*t))))
			}
		}
		if only != nil && only.Dim() < given.Dim() {
			only = inner.Keep(c.Unsqueeze(nil, only, -1))
		}
	}
	length, at := inner.places(part)
	if only != nil {
		at, given = inner.Keep(c.MaskedSelect(nil, at, only)), inner.Keep(c.MaskedSelect(nil, given, only))
	}
	memory := inner.Keep(c.AsStrided(nil, made, []int64{length}, []int64{1}, ops.Int(0)))
	_, err := c.Put(memory, memory, at, given, add)
	s.Check(err)
}

// places are the positions of t's elements in its storage, which has room for length of them.
func (s *steps) places(t *tensor.Tensor) (length int64, at *tensor.Tensor) {
	length = t.Storage().Nbytes() / t.DType().Size()
	return length, s.Keep(s.c.AsStrided(nil, s.positions(t.Device(), length), slices.Clone(t.Sizes()), slices.Clone(t.Strides()), ops.Int(t.Offset())))
}

// Hand tells that t is about to become the program's. A view of a temporary of what made it, which nobody else has, is no view then: what is
// written to it is written to it alone.
func Hand(t *tensor.Tensor) {
	v := variableOf(t)
	if v == nil || v.view == nil || v.refs.Load() > 1 || v.view.root.refs.Load() > 1 || v.regenerateGradFn(valuesOf(t)) != nil {
		return
	}
	base := v.view.base
	v.view = nil
	base.Release()
}

// regenerateGradFn gives a view the node that follows from its base, where that has changed since. One of several views, and a view that a
// custom function returned, have none then.
func (v *Variable) regenerateGradFn(t *tensor.Tensor) error {
	if v.functionView != 0 && v.since != t.Version() {
		if n, output := v.made(); n != nil {
			defer n.Release()
			return v.functionView.stale(output, n.call())
		}
	}
	if v.view == nil {
		if v.creationMeta != 0 && v.node == nil && v.since != t.Version() {
			return v.creationMeta.stale()
		}
		return nil
	}
	old, another, err := v.regenerate(t)
	if another && v.view.mirrors(t) {
		v.view.mirror(v, t)
	}
	v.leave(old)
	return err
}

// regenerate is regenerateGradFn under the lock. It tells whether the view has another node, and which one it had before.
func (v *Variable) regenerate(t *tensor.Tensor) (old *Node, another bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := v.view
	base, root := w.origin()
	if w.version == base.Version() && w.changes == root.changes || v.node == nil && !root.wanted() {
		return nil, false, nil
	}
	if w.multiOutput {
		name := w.name
		if v.node != nil {
			name = v.node.call()
		}
		return nil, false, severalView.stale(v.output, name)
	}
	w.see()
	name := "AsStridedBackward0"
	if t.DType() != base.DType() || t.Lazy() != base.Lazy() {
		name = w.name
	}
	return v.swap(partOf(name, root.edge(base), t, placeOf(base), w.viewFunc, w.index), 0), true, nil
}

// partOf is a node of a view of what an edge leads to, number at of those that again makes, which t has the geometry of.
func partOf(name string, whole Edge, t *tensor.Tensor, origin place, again replay, at int) *Node {
	n := newNode(name, 1)
	n.recorded()
	n.edges[0], n.number = whole, numbers.Add(1)
	n.results(t)
	n.formula = func(s *steps, _ int) *tensor.Tensor {
		return s.unview(origin, s.given, func(c aten.Ctx, base *tensor.Tensor) ([]*tensor.Tensor, error) {
			return single(again.only(c, base, at))
		})
	}
	return n
}

// rebase makes the tensor that the view t views the result of a node: one that puts into the place of the view what n, which
// wrote to it, made of it, as its result number output. v is the view's history.
func (w *viewed) rebase(v *Variable, t *tensor.Tensor, n *Node, output int) {
	base, root := w.origin()
	whole := newNode("CopySlices", len(n.edges))
	whole.recorded()
	whole.number = numbers.Add(1)
	whole.results(base)
	whole.edges[0] = root.edge(base)
	for i := 1; i < len(n.edges); i++ {
		if e := n.edges[i]; e.Node != nil {
			e.Node.retain()
			whole.edges[i] = e
		}
	}
	again, at, origin := w.viewFunc, w.index, placeOf(base)
	whole.formula = func(s *steps, i int) *tensor.Tensor { return s.slices(n, output, again, at, &origin, i) }
	whole.inner = n
	root.become(whole, 0)
	_ = v.regenerateGradFn(t) // it is none of several, which must not be written to
}

// mirrors tells whether t, whose history has become another, is all of what others view, in another geometry.
func (w *viewed) mirrors(t *tensor.Tensor) bool {
	return w.inPlaceView && t.Numel() == w.base.Numel() && t.DType() == w.base.DType() && t.Offset() == w.base.Offset() &&
		shape.IsDense(t.Sizes(), t.Strides()) && shape.IsDense(w.base.Sizes(), w.base.Strides())
}

// mirror makes what others view follow from the tensor t with history v, which it is in another geometry, so that hooks of t hear of theirs.
func (w *viewed) mirror(v *Variable, t *tensor.Tensor) {
	w.root.become(partOf("AsStridedBackward0", v.edge(t), w.base, placeOf(t), strided(w.base, t), 0), 0)
	v.seen()
}

// slices is the gradient of operand i of CopySlices, whose inner node is n, which wrote its result number output to the view.
func (s *steps) slices(n *Node, output int, again replay, at int, origin *place, i int) *tensor.Tensor {
	grad := s.laid(s.c, s.grad(0), origin)
	part := s.Keep(again.only(s.c, grad, at))
	if s.inner == nil {
		given := make([]*tensor.Tensor, len(n.outputs))
		given[output] = s.Keep(s.c.Clone(part, shape.Contiguous))
		s.inner = &steps{c: s.c, node: n, given: given, record: s.record}
		s.inner.result = func(t *tensor.Tensor) *Node {
			s.node.retain()
			return partOf("AsStridedBackward0", Edge{s.node, 0}, t, *origin, again, at)
		}
	}
	inner := s.inner
	if i > 0 {
		if iter.SelfOverlaps(part) {
			s.Check(status.NotImplementedf("%s: the gradient of values that were written to a view of sizes %v and strides %v, of which several elements lie at one place; clone() the view", n.name, part.Sizes(), part.Strides()))
		}
		return s.Keep(inner.Try(func() *tensor.Tensor { return n.formula(inner, i) }))
	}
	var of *tensor.Tensor
	if n.edges[0].Node != nil {
		of = s.Keep(inner.Try(func() *tensor.Tensor { return n.formula(inner, 0) }))
	}
	if of == nil {
		of = s.Keep(s.c.ZerosLike(part, part.DType(), tensor.NoLayout, device.None, shape.Preserve))
	}
	return s.spliced(grad, of, nil, again, at, origin)
}

// spliced is a copy of t in which view number at is what is given. Of elements that share memory, which may be some that were written
// and some that were not, those count that were: where what is given is not what t has, unless written says it.
func (s *steps) spliced(t, given, written *tensor.Tensor, again replay, at int, origin *place) *tensor.Tensor {
	r, err := begin(s.c, "backward", "CopySlicesBackward0", nil, t, given)
	s.Check(err)
	defer r.abandon()
	made := s.laid(r.c, t, origin)
	part := s.Keep(again.only(r.c, made, at))
	if !iter.SelfOverlaps(part) {
		written = nil
		s.Check(r.c.Copy(part, given, false))
	} else {
		if written == nil {
			written = s.changed(r.c, part, given)
		}
		s.put(r.c, made, part, given, written, false)
	}
	shared := written != nil
	kept := r.save("written", written, shared)
	s.Check(r.err)
	if r.finish(nil, made) {
		r.node.formula = func(s *steps, i int) *tensor.Tensor {
			grad := s.laid(s.c, s.grad(0), origin)
			part := s.Keep(again.only(s.c, grad, at))
			var written *tensor.Tensor
			if shared {
				written = s.saved(kept)
			}
			switch {
			case i == 0:
				return s.spliced(grad, s.zerosLike(part), written, again, at, origin)
			case shared:
				return s.mul(part, written)
			}
			return part
		}
	}
	return made
}

// changed tells where b is another number than a.
func (s *steps) changed(c aten.Ctx, a, b *tensor.Tensor) *tensor.Tensor {
	return s.Keep(c.LogicalAnd(nil, s.Keep(c.Ne(nil, a, b)), s.Keep(c.Eq(nil, b, b))))
}

// recordDetach gives a tensor without a history.
func recordDetach(c aten.Ctx, self *tensor.Tensor) (*tensor.Tensor, error) {
	t, err := c.Past(tensor.Gradient).Detach(self)
	if err == nil {
		lend(t)
	}
	return t, err
}
