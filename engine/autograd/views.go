package autograd

import (
	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// replay makes the views that an operator made of a tensor again.
type replay func(c aten.Ctx, base *tensor.Tensor) ([]*tensor.Tensor, error)

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

// viewed is what a view knows of the tensor that it views, which is no view itself.
type viewed struct {
	base    *tensor.Tensor
	again   replay
	at      int // which of the views that again makes it is
	name    string
	several bool // one of several views that an operator made at once
	changes int  // of the base when the view got its node
}

// views is finish for views, which have no history but their own, or for the tensor itself, viewed in place.
func (r *call) views(err error, results ...*tensor.Tensor) bool {
	r.view = r.out != nil
	if r.mark != 0 && err == nil && !r.view {
		for _, t := range results {
			t.SetHistory(r.mark)
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

// watch tells the results of a call that they are views of self, and the node how gradients go back.
func (r *call) watch(self *tensor.Tensor, again replay, results ...*tensor.Tensor) {
	if r.view {
		variableOf(self).turn(again)
		return
	}
	origin := likeOf(self)
	for i, t := range results {
		if differentiable(t) {
			variableOf(t).watch(self, again, i, r.node.name, len(results) > 1)
		}
	}
	r.node.formula = func(s *steps, _ int) *tensor.Tensor { return s.unview(origin, s.given, again) }
}

// watch notes that the tensor with history v is view number i of those that are made of t.
func (v *Variable) watch(t *tensor.Tensor, again replay, i int, name string, several bool) {
	w := &viewed{again: again, at: i, name: name, several: several}
	if from := variableOf(t).view; from != nil {
		w.several = several || from.several
		w.base = from.base.Alias()
		w.again, w.at = from.again.then(from.at, again, i), 0
	} else {
		w.base = t.Alias()
	}
	w.changes = variableOf(w.base).changes
	v.view = w
}

// turn notes that the tensor with history v has got another geometry in place: where it is a view, it is another one of its base.
func (v *Variable) turn(next replay) {
	if w := v.view; w != nil {
		w.again, w.at = w.again.then(w.at, next, 0), 0
	}
}

// unview is the gradient of what was viewed: what comes from the views in their places, and zeros elsewhere.
func (s *steps) unview(origin like, grads []*tensor.Tensor, again replay) *tensor.Tensor {
	r, err := begin(s.c, "backward", "ViewBackwardBackward0", nil, grads...)
	s.check(err)
	defer r.abandon()
	made := s.keep(r.c.Zeros(nil, origin.sizes(), origin.dtype, tensor.NoLayout, origin.device))
	for i, part := range s.keepAll(again(r.c, made)) {
		if grads[i] == nil {
			continue
		}
		s.check(r.c.Copy(part, grads[i], false))
	}
	if r.finish(nil, made) {
		r.node.formula = func(s *steps, i int) *tensor.Tensor {
			return s.keepAll(again(s.c, s.keep(s.c.Contiguous(s.grad(0), shape.Contiguous))))[i]
		}
	}
	return made
}

// renew gives a view the node that follows from its base, where that has changed.
func (w *viewed) renew(v *Variable, t *tensor.Tensor) {
	base := variableOf(w.base)
	if w.changes == base.changes {
		return
	}
	w.changes = base.changes
	if !wanted(w.base) {
		return
	}
	origin, again := likeOf(w.base), w.again
	if at := w.at; at > 0 {
		again = func(c aten.Ctx, base *tensor.Tensor) ([]*tensor.Tensor, error) {
			return single(w.again.only(c, base, at))
		}
	}
	name := "AsStridedBackward0"
	if t.DType() != w.base.DType() {
		name = w.name
	}
	n := newNode(name, 1)
	n.recorded()
	n.edges[0], n.number = edgeTo(w.base), numbers.Add(1)
	n.results(t)
	n.formula = func(s *steps, _ int) *tensor.Tensor {
		return s.unview(origin, s.given, again)
	}
	v.become(n, 0)
}

// rebase makes the tensor that the view t views the result of a node: one that puts into the place of the view what n, which
// wrote to it, made of it. v is the view's history.
func (w *viewed) rebase(c aten.Ctx, v *Variable, t *tensor.Tensor, n *Node) {
	base := variableOf(w.base)
	whole := newNode("CopySlices", len(n.edges))
	whole.recorded()
	whole.number = numbers.Add(1)
	whole.results(w.base)
	whole.edges[0] = edgeTo(w.base)
	for i := 1; i < len(n.edges); i++ {
		if e := n.edges[i]; e.Node != nil {
			e.Node.retain()
			whole.edges[i] = e
		}
	}
	again, at := w.again, w.at
	whole.formula = func(s *steps, i int) *tensor.Tensor { return s.slices(n, again, at, i) }
	whole.inner = n
	base.become(whole, 0)
	w.renew(v, t)
}

// slices is the gradient of operand i of CopySlices, whose inner node is n.
func (s *steps) slices(n *Node, again replay, at, i int) *tensor.Tensor {
	grad := s.keep(s.c.Contiguous(s.grad(0), shape.Contiguous))
	part := s.keep(again.only(s.c, grad, at))
	if s.inner == nil {
		s.inner = &steps{c: s.c, node: n, given: []*tensor.Tensor{s.keep(s.c.Clone(part, shape.Contiguous))}, record: s.record}
	}
	inner := s.inner
	if i > 0 {
		return s.keep(inner.try(func() *tensor.Tensor { return n.formula(inner, i) }))
	}
	var of *tensor.Tensor
	if n.edges[0].Node != nil {
		of = s.keep(inner.try(func() *tensor.Tensor { return n.formula(inner, 0) }))
	}
	if of == nil {
		of = s.keep(s.c.ZerosLike(part, part.DType(), tensor.NoLayout, device.None, shape.Preserve))
	}
	return s.spliced(grad, of, again, at)
}

// spliced is a copy of t in which view number at is what is given.
func (s *steps) spliced(t, given *tensor.Tensor, again replay, at int) *tensor.Tensor {
	r, err := begin(s.c, "backward", "CopySlicesBackward0", nil, t, given)
	s.check(err)
	defer r.abandon()
	made := s.keep(r.c.Clone(t, shape.Contiguous))
	s.check(r.c.Copy(s.keep(again.only(r.c, made, at)), given, false))
	if r.finish(nil, made) {
		r.node.formula = func(s *steps, i int) *tensor.Tensor {
			grad := s.keep(s.c.Contiguous(s.grad(0), shape.Contiguous))
			part := s.keep(again.only(s.c, grad, at))
			if i == 1 {
				return part
			}
			return s.spliced(grad, s.zerosLike(part), again, at)
		}
	}
	return made
}

// recordDetach gives a tensor without a history.
func recordDetach(c aten.Ctx, self *tensor.Tensor) (*tensor.Tensor, error) {
	t, err := c.Past(tensor.Gradient).Detach(self)
	if err == nil {
		forgetHistory(t)
	}
	return t, err
}
