package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

var one = dtype.IntScalar(1)

// steps evaluates the derivative formulas of a node. It owns their temporaries.
type steps struct {
	build.Builder
	node  *Node
	given []*tensor.Tensor // the gradients of the node's results
	// record: saved tensors keep their autograd metadata, so that the backward pass itself can be differentiated.
	record bool
	opened map[int]*tensor.Tensor // unpacked by hooks; no step consumes these
	all    []*tensor.Tensor       // shared by the formulas of several operands
	starts []int64                // offsets of the tensors of a list in their concatenation
	inner  *steps                 // of CopySlices
	// for the inner steps: the node of a result of the operation that wrote to a view, inside of CopySlices
	result func(t *tensor.Tensor) *Node
	last   []*tensor.Tensor // consumed operands, for the steps that are still to come
	final  bool             // the given gradients are not needed after the formula
	outer  *steps           // for the steps of one block, box: the steps of the whole
	box    *box
	using  []*storage.Storage // whose bytes stay in their place until the steps are done
}

// Close releases the temporaries.
func (s *steps) Close() {
	if s.inner != nil {
		s.inner.Close()
	}
	for _, t := range s.opened {
		t.Release()
	}
	for _, used := range s.using {
		used.Done()
	}
	s.ReleaseAll()
}

// evaluateOnce evaluates a formula that computes the gradients of all operands, at its first call, and returns the results.
func (s *steps) evaluateOnce(formula func() []*tensor.Tensor) []*tensor.Tensor {
	if s.all == nil {
		s.all = formula()
	}
	return s.all
}

// evaluateSeparately evaluates a part of a formula, and releases its temporaries.
func (s *steps) evaluateSeparately(formula func(s *steps) *tensor.Tensor) *tensor.Tensor {
	inner := &steps{Builder: build.Builder{C: s.C}, record: s.record}
	defer inner.Close()
	return s.Track(inner.Evaluate(func() *tensor.Tensor { return formula(inner) }))
}

// differentiate evaluates the derivatives for the operands that require grad.
func (n *Node) differentiate(r *backwardPass, grads []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if !n.isCustom() && !slices.ContainsFunc(grads, func(t *tensor.Tensor) bool { return t != nil }) {
		return make([]*tensor.Tensor, len(n.edges)), nil
	}
	s := &steps{Builder: build.Builder{C: r.c}, node: n, given: grads, record: r.create}
	defer s.Close()
	made := make([]*tensor.Tensor, len(n.edges))
	for i, e := range n.edges {
		if !r.needsGrad(e) {
			continue
		}
		s.final = !r.create && n.attached.Load() == nil && !slices.ContainsFunc(n.edges[i+1:], r.needsGrad)
		var err error
		if made[i], err = s.Evaluate(func() *tensor.Tensor { return s.computeGrad(i) }); err != nil {
			return made, err
		}
	}
	return made, nil
}

// computeGrad returns the gradient of operand i.
func (s *steps) computeGrad(i int) *tensor.Tensor {
	if s.needsBlocks(i) {
		return s.evaluateInBlocks(i)
	}
	return s.node.formula(s, i)
}

// cond evaluates one of two expressions.
func (s *steps) cond(test bool, then, otherwise func() *tensor.Tensor) *tensor.Tensor {
	if test {
		return then()
	}
	return otherwise()
}

// grad returns the gradient of output i of the node, zeros if it is undefined.
func (s *steps) grad(i int) *tensor.Tensor {
	if s.given[i] == nil {
		like := &s.node.outputs[i]
		sizes := like.sizes()
		if s.box != nil {
			sizes = s.box.lengths
		}
		s.given[i] = s.fullOf(0, like.dtype, like.device, sizes...)
		s.given[i] = s.given[i].Alias()
	}
	return s.given[i]
}

// take is grad for a formula that reads the gradient once: an operation may overwrite it if it is not used elsewhere.
func (s *steps) take(i int) *tensor.Tensor {
	t := s.given[i]
	if !s.final || t == nil {
		return s.grad(i)
	}
	s.given[i] = nil
	return s.Track(t, nil)
}

// saved returns a saved tensor of the node, or nil for an absent operand.
func (s *steps) saved(at int) *tensor.Tensor {
	if at < 0 {
		return nil
	}
	if s.box != nil {
		return s.savedPart(at)
	}
	v := &s.node.saved[at]
	kept := s.opened[at]
	switch {
	case kept != nil:
	case v.packed != nil:
		var err error
		kept, err = v.packed.unpackTensor(s.C, s.node)
		s.Check(err)
		if s.opened == nil {
			s.opened = map[int]*tensor.Tensor{}
		}
		s.opened[at] = kept
	case v.t == nil:
		return nil
	default:
		kept = v.t
		s.Check(s.pinStorage(kept, s.node.name))
		s.Check(s.node.checkUnchanged(v))
		if n := v.from.Node; v.follows && n.leaf.Storage() != kept.Storage() { // it has other data since
			if autogradMetaOf(n.leaf).elsewhere {
				s.Check(s.node.modifiedError(v, n.leaf.Version()))
			}
			kept = n.leaf
			s.Check(s.pinStorage(kept, s.node.name))
		}
	}
	from := v.from
	if v.result {
		from.Node = s.node
	}
	if !s.record || from.Node == nil || !isDifferentiable(kept) {
		return kept
	}
	t := s.Track(kept.Alias(), nil)
	if v.result && s.result != nil {
		ensureMeta(t).node = s.result(kept)
		return t
	}
	if leaf := from.Node.leaf; leaf != nil {
		h := autogradMetaOf(leaf)
		h.Retain()
		t.SetAutogradMeta(h)
		return t
	}
	from.Node.retain()
	h := ensureMeta(t)
	h.node, h.output = from.Node, from.Output
	return t
}

// pinStorage prevents that the storage of a tensor is moved or resized while the formula uses it, as pins do for handles.
func (s *steps) pinStorage(t *tensor.Tensor, op string) error {
	if used := t.Storage(); !slices.Contains(s.using, used) {
		if !used.Use() {
			return t.Unready(op)
		}
		s.using = append(s.using, used)
	}
	if !t.Ready() {
		return t.Unready(op)
	}
	return nil
}

func (s *steps) savedAll(at []int) []*tensor.Tensor {
	list := make([]*tensor.Tensor, len(at))
	for i := range at {
		list[i] = s.saved(at[i])
	}
	return list
}

func (s *steps) savedIndex(x indexed) []ops.IndexItem {
	items := slices.Clone(x.items)
	for i := range items {
		items[i].Tensor = s.saved(x.at[i])
	}
	return items
}

// copyValues returns a copy of a list in the caller's memory.
func copyValues[T []int64 | *float64](v T) T {
	switch v := any(v).(type) {
	case []int64:
		if v != nil {
			return any(append([]int64{}, v...)).(T)
		}
	case *float64:
		if v != nil {
			f := *v
			return any(&f).(T)
		}
	}
	return v
}

// sizesOf returns the sizes of each tensor.
func sizesOf(tensors []*tensor.Tensor) [][]int64 {
	all := make([][]int64, len(tensors))
	for i, t := range tensors {
		all[i] = slices.Clone(t.Sizes())
	}
	return all
}

// computeScalars computes a binary operator of two scalars.
func computeScalars(op rune, a, b dtype.Scalar) dtype.Scalar {
	if a.Kind == dtype.KindComplex || b.Kind == dtype.KindComplex {
		x, y := complex(a.Float(), a.Im), complex(b.Float(), b.Im)
		switch op {
		case '+':
			return dtype.ComplexScalar(x + y)
		case '-':
			return dtype.ComplexScalar(x - y)
		case '*':
			return dtype.ComplexScalar(x * y)
		}
		return dtype.ComplexScalar(x / y)
	}
	x, y := a.Float(), b.Float()
	switch op {
	case '+':
		return scalarResult(a, b, x+y)
	case '-':
		return scalarResult(a, b, x-y)
	case '*':
		return scalarResult(a, b, x*y)
	}
	return dtype.FloatScalar(x / y)
}

// number returns the value of an operand that is a wrapped number.
func (s *steps) number(v dtype.Scalar) *tensor.Tensor { return s.Track(tensor.WrappedNumber(v)) }
func (s *steps) float(v float64) *tensor.Tensor       { return s.number(dtype.FloatScalar(v)) }
func (s *steps) int(v int64) *tensor.Tensor           { return s.number(dtype.IntScalar(v)) }

func (s *steps) add(a, b *tensor.Tensor) *tensor.Tensor { return s.binary('+', a, b, neither) }
func (s *steps) sub(a, b *tensor.Tensor) *tensor.Tensor { return s.binary('-', a, b, neither) }
func (s *steps) mul(a, b *tensor.Tensor) *tensor.Tensor { return s.binary('*', a, b, neither) }
func (s *steps) div(a, b *tensor.Tensor) *tensor.Tensor { return s.binary('/', a, b, neither) }

// binary computes a binary operator, and overwrites an owned operand with the result if possible.
func (s *steps) binary(op rune, a, b *tensor.Tensor, over handed) *tensor.Tensor {
	if areNumbers(a, b) {
		return s.number(computeScalars(op, a.Item(), b.Item()))
	}
	made := s.runInto(s.findOverwritable(a, b, over), func(out *tensor.Tensor) (*tensor.Tensor, error) {
		switch op {
		case '+':
			return s.C.Add(out, a, b, one)
		case '-':
			return s.C.Sub(out, a, b, one)
		case '*':
			return s.C.Mul(out, a, b)
		}
		return s.C.Div(out, a, b, "")
	})
	s.releaseOperand(made, a, over&left != 0)
	s.releaseOperand(made, b, over&right != 0)
	return made
}

// areNumbers returns whether two operands are wrapped numbers, whose result is computed as a scalar, without rounding to a dtype.
func areNumbers(a, b *tensor.Tensor) bool { return a.IsWrappedNumber() && b.IsWrappedNumber() }

func (s *steps) real(t *tensor.Tensor) *tensor.Tensor {
	if !t.DType().IsComplex() {
		return t
	}
	return s.Real(t)
}

// conj returns the complex conjugate of t, or t itself if it is real.
func (s *steps) conj(t *tensor.Tensor) *tensor.Tensor {
	if !t.DType().IsComplex() {
		return t
	}
	return s.Conj(t)
}

func (s *steps) castTo(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if t.DType() == d {
		return t
	}
	return s.ToOptionsWith(t, d, tensor.NoLayout, device.None, false, false, shape.Preserve)
}

// fullOf returns a tensor filled with one value.
func (s *steps) fullOf(v float64, d dtype.DType, dev device.Device, sizes ...int64) *tensor.Tensor {
	return s.FullWith(slices.Clone(sizes), dtype.FloatScalar(v), d, tensor.NoLayout, dev)
}

// scalarResult returns the result of two scalars, an integer if both are integers.
func scalarResult(a, b dtype.Scalar, v float64) dtype.Scalar {
	if a.Kind == dtype.KindInt && b.Kind == dtype.KindInt {
		return dtype.IntScalar(int64(v))
	}
	return dtype.FloatScalar(v)
}
