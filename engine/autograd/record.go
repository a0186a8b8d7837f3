package autograd

import (
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// call is an operator's call while it is recorded.
type call struct {
	c            aten.Ctx // past this layer
	node         *Node    // nil where nothing is recorded
	out          *tensor.Tensor
	at           int          // which of the results out is
	view         bool         // out gets another geometry, and its elements stay as they are
	multiOutput  bool         // the results are views that an operator makes at once
	was          *geometry    // of out, where it is viewed
	creationMeta creationMeta // of the views of the first operand, where they have no history
	err          error        // of what was to be saved
}

// begin decides whether a call is recorded, and refuses one that cannot be. The node has an edge for each of the operands.
func begin(c aten.Ctx, op, name string, out *tensor.Tensor, operands ...*tensor.Tensor) (call, error) {
	r := call{c: c.Past(tensor.Gradient), out: out}
	if inPlace := out != nil && len(operands) > 0 && out == operands[0]; inPlace {
		op = nameInPlace(op)
	}
	if err := writable(c, op, out); err != nil {
		return r, err
	}
	if !recording(c, operands...) {
		if len(operands) > 0 {
			r.creationMeta = ofViews(c, operands[0])
		}
		if out != nil && (len(operands) == 0 || out != operands[0]) && recording(c, out) {
			return r, writes(op, "the tensor given as out")
		}
		return r, nil
	}
	if out != nil {
		if out != operands[0] {
			return r, writes(op, "one of the arguments")
		}
		if err := checkOut(op, operands[0]); err != nil {
			return r, err
		}
	}
	return r, r.record(name, operands)
}

// beginView is begin for an operator that gives out another geometry. What has a history hears of that in every mode, since its
// elements, and with them its gradient's, lie elsewhere then.
func beginView(c aten.Ctx, op, name string, out *tensor.Tensor, operands ...*tensor.Tensor) (call, error) {
	if c.Recording() || out == nil || !variableOf(out).notesGeometry() {
		return begin(c, op, name, out, operands...)
	}
	r := call{c: c.Past(tensor.Gradient), out: out}
	if err := writable(c, nameInPlace(op), out); err != nil {
		return r, err
	}
	return r, r.record(name, operands)
}

// record makes the call's node, with an edge for each of the operands.
func (r *call) record(name string, operands []*tensor.Tensor) error {
	if transformed(operands) {
		return status.NotImplementedf("%s inside vmap is not recorded for tensors that stand for one of many examples", name)
	}
	if r.out != nil {
		r.was = variableOf(r.out).lying(r.out)
	}
	r.node = newNode(name, len(operands))
	for i, t := range operands {
		if !wanted(t) {
			continue
		}
		var err error
		if r.node.edges[i], err = checkedEdge(t); err != nil {
			r.drop()
			return err
		}
	}
	r.node.recorded()
	r.node.number = numbers.Add(1) // after nodes that the edges led to the making of
	return nil
}

func writes(op, which string) error {
	return status.Runtimef("%s(): functions with out=... arguments don't support automatic differentiation, but %s requires grad; use the function without out", op, which)
}

// plain refuses outputs of which one is given, where it or an operand has a gradient.
func plain(c aten.Ctx, op string, outs []*tensor.Tensor, operands ...*tensor.Tensor) error {
	switch given := slices.ContainsFunc(outs, func(t *tensor.Tensor) bool { return t != nil }); {
	case given && recording(c, outs...):
		return writes(op, "a tensor given as out")
	case given && recording(c, operands...):
		return writes(op, "one of the arguments")
	}
	return nil
}

// nameInPlace is what an operator is called where it writes to its first argument.
func nameInPlace(op string) string { return strings.TrimSuffix(op, "_") + "_" }

// checkOut refuses to write to what a graph, or a leaf, needs as it is. name is what writes.
func checkOut(name string, self *tensor.Tensor) error {
	v := variableOf(self)
	switch {
	case v == nil || !v.wanted():
		return nil
	case v.functionView != 0:
		return v.functionView.written(name, v)
	case v.view == nil && v.requires && v.node == nil:
		return status.Runtimef("%s: a leaf Variable that requires grad is being used in an in-place operation; do so under no_grad(), or on a clone()", name)
	case v.view == nil:
		return nil
	case v.view.multiOutput:
		return severalView.written(name, v)
	}
	if _, root := v.view.origin(); root.node == nil && (root.requires || v.node != nil) {
		return status.Runtimef("%s: a view of a leaf Variable that requires grad is being used in an in-place operation; do so under no_grad(), or on a clone()", name)
	}
	return nil
}

// wants tells whether the gradient of operand i is wanted.
func (r *call) wants(i int) bool { return r.node != nil && r.node.edges[i].Node != nil }

// save keeps an operand, under the name of its argument, for the derivatives and gives the place where they find it, where any of the
// operands whose derivatives need it are wanted. What the call writes over is kept as a copy.
func (r *call) save(name string, t *tensor.Tensor, needed bool) int {
	if r.node == nil || r.err != nil {
		return -1
	}
	if !needed || t == nil {
		r.node.miss(name)
		return -1
	}
	if r.err = savable(t); r.err != nil {
		return -1
	}
	s := saved{name: name, from: edgeTo(t), of: variableOf(t), number: t.IsFixedNumber()}
	if t != r.out {
		s.t = t.Plain()
		at, err := r.node.save(r.c, s, t)
		r.err = err
		return at
	}
	if s.t, r.err = r.c.Clone(t, shape.Preserve); r.err != nil {
		release([]Edge{s.from})
		return -1
	}
	shown := s.from.holding(s.t)
	defer shown.Release()
	at, err := r.node.save(r.c, s, shown)
	r.err = err
	return at
}

// holding is t with the history that the edge leads to, as hooks are shown what is about to be written over: t has the elements.
func (e Edge) holding(t *tensor.Tensor) *tensor.Tensor {
	made := t.Alias()
	if e.Node != nil {
		v := new(Variable)
		v.refs.Store(1)
		e.Node.retain()
		v.node, v.output = e.Node, e.Output
		made.SetHistory(v)
	}
	return made
}

// saveScalar is save for an operand that PyTorch's operator takes as a plain number where it is one.
func (r *call) saveScalar(name string, t *tensor.Tensor, needed bool) int {
	at := r.save(name, t, needed)
	if at >= 0 && t.IsWrappedNumber() {
		r.node.saved[at].number = true
	}
	return at
}

// listed ends the name of what is one of several.
const listed = "[]"

// saveAll is save for a list.
func (r *call) saveAll(name string, list []*tensor.Tensor, needed bool) []int {
	if !needed {
		return nil
	}
	at := make([]int, len(list))
	for i, t := range list {
		at[i] = r.save(name+listed, t, true)
	}
	return at
}

// indexed is an index whose tensors a node saved.
type indexed struct {
	items []ops.IndexItem
	at    []int
}

// saveIndex is save for an index.
func (r *call) saveIndex(name string, items []ops.IndexItem, needed bool) (x indexed) {
	if !needed {
		return x
	}
	for _, item := range items {
		x.at = append(x.at, r.save(name+listed, item.Tensor, true))
		item.Tensor = nil
		x.items = append(x.items, item)
	}
	return x
}

// saveResult is save for result number output. Hooks are shown it without its history: what they keep would keep the node.
func (r *call) saveResult(name string, t *tensor.Tensor, output int, needed bool) int {
	if r.err != nil {
		return -1
	}
	if !needed {
		r.node.miss(name)
		return -1
	}
	plain := t.Plain()
	at, err := r.node.save(r.c, saved{name: name, t: plain, from: Edge{nil, output}, result: true}, plain)
	r.err = err
	return at
}

// undo is the error of a call whose results could not be saved, if it is one: then it releases those.
func (r *call) undo(results ...*tensor.Tensor) error {
	if r.err == nil {
		return nil
	}
	for _, t := range results {
		if r.out == nil {
			t.Release()
		}
	}
	err := r.err
	r.node.formula = func(s *steps, _ int) *tensor.Tensor { // of what was written in place
		s.Check(err)
		return nil
	}
	r.publish()
	return err
}

// drop gives the node up: the call has failed, or made nothing that has a gradient.
func (r *call) drop() {
	if r.node != nil {
		r.node.Release()
		r.node = nil
	}
}

// abandon drops the node of a call that did not come to its end.
func (r *call) abandon() {
	if r.node != nil && r.node.outputs == nil {
		r.drop()
	}
}

// finish gives the results of a call their history, and tells whether there is one: then the node wants its formula.
func (r *call) finish(err error, results ...*tensor.Tensor) bool {
	if err != nil || r.node == nil {
		r.drop()
		return false
	}
	n := r.node
	counted := len(results) // without those at the end that have no gradients
	for counted > 0 && results[counted-1] == nil {
		counted--
	}
	n.results(results[:counted]...)
	any := false
	for i, t := range results {
		if t == nil || !differentiable(t) {
			continue
		}
		any = true
		n.retain()
		if r.out == nil {
			v := new(Variable)
			v.refs.Store(1)
			v.node, v.output = n, i
			t.SetHistory(v)
			continue
		}
		r.at = i // publish gives it its history
	}
	n.Release() // the results hold it
	if !any {
		r.node = nil
	}
	return any
}

// publish gives what was written in place its history, once its node is complete: from then on other threads may come upon it.
func (r *call) publish() {
	if r.out == nil {
		return
	}
	if !wanted(r.out) {
		join(r.out)
	}
	v := track(r.out)
	switch {
	case v.view == nil:
		v.become(r.node, r.at)
	case v.view.mirrors(r.out):
		v.become(r.node, r.at)
		v.view.mirror(v, r.out)
	case r.view:
		v.become(r.node, r.at)
		v.seen()
	default:
		v.view.rebase(v, r.out, r.node, r.at)
	}
}

// mayView is finish for a call whose result is a view of self, or self itself under another handle, where that is possible.
// A view of it is self in another shape.
func (r *call) mayView(err error, self, result *tensor.Tensor) bool {
	switch {
	case err != nil || r.out != nil:
	case result.History() != nil:
		r.drop()
		return false
	case result.Storage() == self.Storage():
		if !r.views(nil, result) {
			return false
		}
		sizes := slices.Clone(result.Sizes())
		r.watch(self, func(c aten.Ctx, base *tensor.Tensor) ([]*tensor.Tensor, error) { return single(c.View(base, sizes)) }, result)
		return true
	}
	return r.finish(err, result)
}

// before is a copy of what a call in place is to write to. That of a view is a part of the base's: hooks of the view are not asked, as they are not where one
// node writes to it.
func before(c aten.Ctx, self *tensor.Tensor) (*tensor.Tensor, error) {
	v := variableOf(self)
	if v == nil || v.view == nil || v.view.inPlaceView || !recording(c, self) {
		return c.Clone(self, shape.Preserve)
	}
	base, _ := v.view.origin()
	part, err := v.view.viewFunc.only(c, base, v.view.index)
	if err != nil {
		return nil, err
	}
	defer part.Release()
	return c.Clone(part, shape.Preserve)
}

// into records a composition that writes to out: as a copy of its result. Where it writes to self, its steps have a copy of that.
func into(c aten.Ctx, op string, out, self *tensor.Tensor, run func(out, self *tensor.Tensor) (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	inPlace := out != nil && out == self
	if inPlace {
		op = nameInPlace(op)
	}
	if err := writable(c, op, out); err != nil {
		return nil, err
	}
	if out == nil || !c.Recording() {
		return run(out, self)
	}
	if !inPlace && recording(c, out) {
		return nil, writes(op, "the tensor given as out")
	}
	if inPlace {
		if recording(c, self) {
			if err := checkOut(op, self); err != nil {
				return nil, err
			}
		}
		copied, err := before(c, self)
		if err != nil {
			return nil, err
		}
		defer copied.Release()
		self = copied
	}
	made, err := run(nil, self)
	if err != nil {
		return nil, err
	}
	defer made.Release()
	if wanted(made) && !inPlace {
		return nil, writes(op, "one of the arguments")
	}
	since := numbers.Load()
	if err := c.Copy(out, made, false); err != nil {
		return nil, err
	}
	if v := variableOf(made); v != nil && v.node != nil && variableOf(out).view == nil {
		named(since, v.node.name, out)
	}
	return out, nil
}

// named names the calls that made the results of a composition, those recorded since a number was given out, as the whole.
func named(since uint64, name string, results ...*tensor.Tensor) {
	for _, t := range results {
		if v := variableOf(t); name != "" && v != nil && v.node != nil && v.node.number > since {
			v.node.name = name
		}
	}
}

// compose records the operators that op is composed of.
func compose(c aten.Ctx, op string, out, self *tensor.Tensor, formula func(s *steps, self *tensor.Tensor) *tensor.Tensor) (*tensor.Tensor, error) {
	return into(c, op, out, self, func(_, self *tensor.Tensor) (*tensor.Tensor, error) {
		s := &steps{c: c}
		defer s.Close()
		made, err := s.Try(func() *tensor.Tensor { return formula(s, self) })
		if err != nil {
			return nil, status.In(op, err)
		}
		return made, nil
	})
}

// refused is the error of an operator where it refuses what it is given, for its composition, whose parts may take it: it is tried
// on tensors without elements in the places of the given ones, of which the first is the output, or nil.
func refused(plain func(m *metas) (*tensor.Tensor, error), given ...*tensor.Tensor) error {
	m := &metas{given: given}
	defer m.Close()
	for i, t := range given {
		at := slices.Index(given, t)
		switch {
		case t == nil || t.IsWrappedNumber() && at > 0 || t.Keys()&tensor.Quantized != 0: // whose layer decides by itself
			m.made = append(m.made, t)
		case at < i:
			m.made = append(m.made, m.made[at])
		default:
			m.made = append(m.made, m.Keep(tensor.EmptyStrided("meta", t.Sizes(), t.Strides(), t.DType(), device.Device{Type: device.Meta, Index: -1})))
		}
	}
	if m.Err != nil {
		return m.Err
	}
	made, err := plain(m)
	if made != nil && !slices.Contains(m.made, made) {
		made.Release()
	}
	return err
}

// metas are meta tensors in the places of others.
type metas struct {
	owner.Scope
	given, made []*tensor.Tensor
}

func (m *metas) of(t *tensor.Tensor) *tensor.Tensor { return m.made[slices.Index(m.given, t)] }

// refuse is the error of an operator that has no derivatives, where they would be needed.
func refuse(c aten.Ctx, op string, tensors ...*tensor.Tensor) error {
	if !recording(c, tensors...) {
		return nil
	}
	return status.NotImplementedf("%s is not differentiable; give it tensors that do not require grad: detach(), or call it under no_grad()", op)
}
