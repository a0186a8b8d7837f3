package autograd

import (
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// recordedOp is the state of an operator call while its node is built.
type recordedOp struct {
	c            dispatch.Context // past this layer
	node         *Node            // nil if the call adds no node to the graph
	out          *tensor.Tensor
	at           int          // the index of out among the results
	view         bool         // only the geometry of out changes
	multiOutput  bool         // the operator returns several views
	was          *geometry    // the geometry of out before the call, if it has views
	creationMeta creationMeta // for views of the first operand without autograd metadata
	err          error        // the first error of saving a tensor
}

// beginCall creates the node of a call, with an edge for each operand, unless no operand requires grad. It returns an error for calls that
// do not support autograd, such as writes to a leaf that requires grad.
func beginCall(c dispatch.Context, op, name string, out *tensor.Tensor, operands ...*tensor.Tensor) (recordedOp, error) {
	r := recordedOp{c: c.Excluding(tensor.Gradient), out: out}
	if inPlace := out != nil && len(operands) > 0 && out == operands[0]; inPlace {
		op = nameInPlace(op)
	}
	if err := checkWritable(c, op, out); err != nil {
		return r, err
	}
	if !isRecording(c, operands...) {
		if len(operands) > 0 {
			r.creationMeta = ofViews(c, operands[0])
		}
		if out != nil && (len(operands) == 0 || out != operands[0]) && isRecording(c, out) {
			return r, writesTo(op, "the tensor given as out")
		}
		return r, nil
	}
	if out != nil {
		if out != operands[0] {
			return r, writesTo(op, "one of the arguments")
		}
		if err := checkOut(op, operands[0]); err != nil {
			return r, err
		}
	}
	return r, r.createNode(name, operands)
}

// beginView is beginCall for an operator that changes the geometry of out. Tensors with autograd metadata get a node in every grad mode,
// because the layout of their gradient changes too.
func beginView(c dispatch.Context, op, name string, out *tensor.Tensor, operands ...*tensor.Tensor) (recordedOp, error) {
	if c.Recording() || out == nil || !autogradMetaOf(out).recordsGeometry() {
		return beginCall(c, op, name, out, operands...)
	}
	r := recordedOp{c: c.Excluding(tensor.Gradient), out: out}
	if err := checkWritable(c, nameInPlace(op), out); err != nil {
		return r, err
	}
	return r, r.createNode(name, operands)
}

// createNode creates the node of the call, with an edge for each operand.
func (r *recordedOp) createNode(name string, operands []*tensor.Tensor) error {
	if hasWrapper(operands) {
		return status.NotImplementedf("%s inside vmap is not differentiable for batched tensors", name)
	}
	if r.out != nil {
		r.was = autogradMetaOf(r.out).geometryBefore(r.out)
	}
	r.node = newNode(name, len(operands))
	for i, t := range operands {
		if !requiresGrad(t) {
			continue
		}
		var err error
		if r.node.edges[i], err = checkedEdge(t); err != nil {
			r.releaseNode()
			return err
		}
	}
	r.node.callWatcherForNew()
	r.node.number = numbers.Add(1) // after nodes that the edges led to the making of
	return nil
}

func writesTo(op, which string) error {
	return status.Runtimef("%s(): functions with out=... arguments don't support automatic differentiation, but %s requires grad; use the function without out",
		op, which)
}

// checkOutPlain returns an error if a given `out` tensor, or an operand of a call with one, requires grad.
func checkOutPlain(c dispatch.Context, op string, outs []*tensor.Tensor, operands ...*tensor.Tensor) error {
	switch given := slices.ContainsFunc(outs, func(t *tensor.Tensor) bool { return t != nil }); {
	case given && isRecording(c, outs...):
		return writesTo(op, "a tensor given as out")
	case given && isRecording(c, operands...):
		return writesTo(op, "one of the arguments")
	}
	return nil
}

// nameInPlace returns the name of the in-place variant of an operator.
func nameInPlace(op string) string { return strings.TrimSuffix(op, "_") + "_" }

// checkOut returns an error if operator name may not write to self in place: a leaf that requires grad, a view of one, or one of several
// views.
func checkOut(name string, self *tensor.Tensor) error {
	v := autogradMetaOf(self)
	switch {
	case v == nil || !v.requiresGrad():
		return nil
	case v.functionView != 0:
		return v.functionView.writtenError(name, v)
	case v.view == nil && v.requires && v.node == nil:
		return status.Runtimef("%s: a leaf Variable that requires grad is being used in an in-place operation; do so under no_grad(), or on a clone()",
			name)
	case v.view == nil:
		return nil
	case v.view.multiOutput:
		return severalView.writtenError(name, v)
	}
	if _, root := v.view.baseAndMeta(); root.node == nil && (root.requires || v.node != nil) {
		return status.Runtimef("%s: a view of a leaf Variable that requires grad is being used in an in-place operation; do so under no_grad(), or on a clone()",
			name)
	}
	return nil
}

// needsGrad returns whether operand i requires grad.
func (r *recordedOp) needsGrad(i int) bool { return r.node != nil && r.node.edges[i].Node != nil }

// saveOperand saves an operand, under the name of its parameter, for the derivatives and returns its index among the saved tensors. If
// needed is false, no derivative will use it, and saveOperand returns -1. An operand that the call overwrites is copied.
func (r *recordedOp) saveOperand(name string, t *tensor.Tensor, needed bool) int {
	if r.node == nil || r.err != nil {
		return -1
	}
	if !needed || t == nil {
		r.node.addUnsavedName(name)
		return -1
	}
	if r.err = checkSavable(t); r.err != nil {
		return -1
	}
	s := saved{name: name, from: edgeTo(t), of: autogradMetaOf(t), number: t.IsFixedNumber()}
	if t != r.out {
		s.t = t.Plain()
		at, err := r.node.addSaved(r.c, s, t)
		r.err = err
		return at
	}
	if s.t, r.err = r.c.Clone(t, shape.Preserve); r.err != nil {
		releaseAll([]Edge{s.from})
		return -1
	}
	shown := s.from.aliasWithEdge(s.t)
	defer shown.Release()
	at, err := r.node.addSaved(r.c, s, shown)
	r.err = err
	return at
}

// aliasWithEdge returns an alias of t with the edge as its grad_fn. It is what saved-tensor hooks receive for an operand that is about to
// be overwritten.
func (e Edge) aliasWithEdge(t *tensor.Tensor) *tensor.Tensor {
	made := t.Alias()
	if e.Node != nil {
		v := new(AutogradMeta)
		v.refs.Store(1)
		e.Node.retain()
		v.node, v.output = e.Node, e.Output
		made.SetAutogradMeta(v)
	}
	return made
}

// saveScalar is saveOperand for an operand that is a scalar parameter in PyTorch's operator.
func (r *recordedOp) saveScalar(name string, t *tensor.Tensor, needed bool) int {
	at := r.saveOperand(name, t, needed)
	if at >= 0 && t.IsWrappedNumber() {
		r.node.saved[at].number = true
	}
	return at
}

// listed is the suffix of the names of saved tensors that are items of a list.
const listed = "[]"

// saveOperands is saveOperand for a list of operands.
func (r *recordedOp) saveOperands(name string, list []*tensor.Tensor, needed bool) []int {
	if !needed {
		return nil
	}
	at := make([]int, len(list))
	for i, t := range list {
		at[i] = r.saveOperand(name+listed, t, true)
	}
	return at
}

// indexed is an index whose tensors are saved by a node.
type indexed struct {
	items []ops.IndexItem
	at    []int
}

// saveIndex is saveOperand for the tensors of an index.
func (r *recordedOp) saveIndex(name string, items []ops.IndexItem, needed bool) (x indexed) {
	if !needed {
		return x
	}
	for _, item := range items {
		x.at = append(x.at, r.saveOperand(name+listed, item.Tensor, true))
		item.Tensor = nil
		x.items = append(x.items, item)
	}
	return x
}

// saveResult is saveOperand for result number output. Hooks receive it without autograd metadata, so that a tensor that they keep does not
// keep the node.
func (r *recordedOp) saveResult(name string, t *tensor.Tensor, output int, needed bool) int {
	if r.err != nil {
		return -1
	}
	if !needed {
		r.node.addUnsavedName(name)
		return -1
	}
	plain := t.Plain()
	plain.SetDetached() // a hook may keep it, and a write in place would make it a view whose graph contains the node
	at, err := r.node.addSaved(r.c, saved{name: name, t: plain, from: Edge{nil, output}, result: true}, plain)
	r.err = err
	return at
}

// releaseResults returns the error of saving a tensor, if there was one, after releasing the results.
func (r *recordedOp) releaseResults(results ...*tensor.Tensor) error {
	if r.err == nil {
		return nil
	}
	for _, t := range results {
		if r.out == nil {
			t.Release()
		}
	}
	err := r.err
	r.node.formula = func(s *steps, _ int) *tensor.Tensor { // of the tensor that was written in place
		s.Check(err)
		return nil
	}
	r.setInplaceGradFn()
	return err
}

// releaseNode releases the node after a failed call, or if no result is differentiable.
func (r *recordedOp) releaseNode() {
	if r.node != nil {
		r.node.Release()
		r.node = nil
	}
}

// dropUnfinished drops the node of a call that did not finish.
func (r *recordedOp) dropUnfinished() {
	if r.node != nil && r.node.outputs == nil {
		r.releaseNode()
	}
}

// setGradFns sets the grad_fn of the results, and returns whether any result has one; the caller then sets the node's formula.
func (r *recordedOp) setGradFns(err error, results ...*tensor.Tensor) bool {
	if err != nil || r.node == nil {
		r.releaseNode()
		return false
	}
	n := r.node
	counted := len(results) // without those at the end that have no gradients
	for counted > 0 && results[counted-1] == nil {
		counted--
	}
	n.recordOutputs(results[:counted]...)
	any := false
	for i, t := range results {
		if t == nil || !isDifferentiable(t) {
			continue
		}
		any = true
		n.retain()
		if r.out == nil {
			v := new(AutogradMeta)
			v.refs.Store(1)
			v.node, v.output = n, i
			t.SetAutogradMeta(v)
			continue
		}
		r.at = i // publish restores its autograd metadata
	}
	n.Release() // the results hold it
	if !any {
		r.node = nil
	}
	return any
}

// setInplaceGradFn sets the grad_fn of the tensor that was written in place. It is called after the node is complete, because other threads
// can reach the node from then on.
func (r *recordedOp) setInplaceGradFn() {
	if r.out == nil {
		return
	}
	if !requiresGrad(r.out) {
		joinGraph(r.out)
	}
	v := ensureMeta(r.out)
	switch {
	case v.view == nil:
		v.setGradFn(r.node, r.at)
	case v.view.isMirror(r.out):
		v.setGradFn(r.node, r.at)
		v.view.mirrorBase(v, r.out)
	case r.view:
		v.setGradFn(r.node, r.at)
		v.markViewCurrent()
	default:
		v.view.rebaseHistory(v, r.out, r.node, r.at)
	}
}

// mayView is setGradFns for a call such as reshape, whose result is self, a view of self in another shape, or a copy.
func (r *recordedOp) mayView(err error, self, result *tensor.Tensor) bool {
	switch {
	case err != nil || r.out != nil:
	case result.AutogradMeta() != nil:
		r.releaseNode()
		return false
	case result.Storage() == self.Storage():
		if !r.finishViews(nil, result) {
			return false
		}
		sizes := slices.Clone(result.Sizes())
		r.markViews(self, func(c dispatch.Context, base *tensor.Tensor) ([]*tensor.Tensor, error) {
			return singleView(c.View(base, sizes))
		}, result)
		return true
	}
	return r.setGradFns(err, result)
}

// copyBefore returns a copy of self, which an in-place call is about to overwrite. For a view it copies the part of the base, so that the
// view's hooks are not called, as for an in-place operator with a single node.
func copyBefore(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	v := autogradMetaOf(self)
	if v == nil || v.view == nil || v.view.inPlaceView || !isRecording(c, self) {
		return c.Clone(self, shape.Preserve)
	}
	base, _ := v.view.baseAndMeta()
	part, err := v.view.viewFunc.viewAt(c, base, v.view.index)
	if err != nil {
		return nil, err
	}
	defer part.Release()
	return c.Clone(part, shape.Preserve)
}

// decomposeInto calls run, a decomposition of operator op into other operators, and copies its result to out. If out is self, run gets a
// copy of self.
func decomposeInto(c dispatch.Context, op string, out, self *tensor.Tensor,
	run func(out, self *tensor.Tensor) (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	inPlace := out != nil && out == self
	if inPlace {
		op = nameInPlace(op)
	}
	if err := checkWritable(c, op, out); err != nil {
		return nil, err
	}
	if out == nil || !c.Recording() {
		return run(out, self)
	}
	if !inPlace && isRecording(c, out) {
		return nil, writesTo(op, "the tensor given as out")
	}
	if inPlace {
		if isRecording(c, self) {
			if err := checkOut(op, self); err != nil {
				return nil, err
			}
		}
		copied, err := copyBefore(c, self)
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
	if requiresGrad(made) && !inPlace {
		return nil, writesTo(op, "one of the arguments")
	}
	since := numbers.Load()
	if err := c.Copy(out, made, false); err != nil {
		return nil, err
	}
	if v := autogradMetaOf(made); v != nil && v.node != nil && autogradMetaOf(out).view == nil {
		renameNodes(since, v.node.name, out)
	}
	return out, nil
}

// renameNodes renames the nodes of results that were created after node number since to name, the name of the composite operator.
func renameNodes(since uint64, name string, results ...*tensor.Tensor) {
	for _, t := range results {
		if v := autogradMetaOf(t); name != "" && v != nil && v.node != nil && v.node.number > since {
			v.node.name = name
		}
	}
}

// composeFormula computes op by a formula of differentiable operators.
func composeFormula(c dispatch.Context, op string, out, self *tensor.Tensor,
	formula func(s *steps, self *tensor.Tensor) *tensor.Tensor) (*tensor.Tensor, error) {
	return decomposeInto(c, op, out, self, func(_, self *tensor.Tensor) (*tensor.Tensor, error) {
		s := &steps{Builder: build.Builder{C: c}}
		defer s.Close()
		made, err := s.Evaluate(func() *tensor.Tensor { return formula(s, self) })
		if err != nil {
			return nil, status.In(op, err)
		}
		return made, nil
	})
}

// checkPlainCall returns the error that an operator itself returns for the given arguments, for operators that are differentiated through a
// decomposition whose operators may accept more. It calls plain with meta tensors in place of the given ones; the first of these is the
// output, or nil.
func checkPlainCall(plain func(m *metas) (*tensor.Tensor, error), given ...*tensor.Tensor) (err error) {
	m := &metas{Scope: owner.Scope{}, given: given}
	defer m.Close(&err)
	for i, t := range given {
		at := slices.Index(given, t)
		switch {
		case t == nil || t.IsWrappedNumber() && at > 0 || t.Keys()&tensor.Quantized != 0: // whose layer decides by itself
			m.made = append(m.made, t)
		case at < i:
			m.made = append(m.made, m.made[at])
		default:
			m.made = append(m.made, m.Track(tensor.EmptyStrided("meta", t.Sizes(), t.Strides(), t.DType(),
				device.Device{Type: device.Meta, Index: -1})))
		}
	}
	made, err := plain(m)
	if made != nil && !slices.Contains(m.made, made) {
		made.Release()
	}
	return err
}

// metas maps tensors to meta tensors.
type metas struct {
	owner.Scope
	given, made []*tensor.Tensor
}

func (m *metas) metaOf(t *tensor.Tensor) *tensor.Tensor { return m.made[slices.Index(m.given, t)] }

// checkNoGrad returns an error if a tensor requires grad, for an operator without derivatives.
func checkNoGrad(c dispatch.Context, op string, tensors ...*tensor.Tensor) error {
	if !isRecording(c, tensors...) {
		return nil
	}
	return status.NotImplementedf("%s is not differentiable; call detach() on its arguments, or call it under no_grad()", op)
}
