package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// A formula of an elementwise operator may be evaluated piece by piece, so that its temporaries are as small as a piece: they stay in
// the processor's caches, and a gradient takes little memory beside its own. Nor is what an operand was spread over made: each
// piece is added up at once.

// cutting says when formulas are evaluated piece by piece.
type cutting int

const (
	never   cutting = iota
	smaller         // where the operand is smaller than the result: a formula of one step
	always          // a formula of several steps
)

// slab is how many elements a piece has at most, of results that have more than large.
const (
	slab  = 1 << 17
	large = 1 << 20
)

// box is a part of the result of a call.
type box struct{ sizes, starts, lengths []int64 }

// of is the part of a tensor that is spread over the result.
func (b *box) of(s *steps, t *tensor.Tensor) *tensor.Tensor {
	sizes, offset := slices.Clone(t.Sizes()), t.Offset()
	for d := range sizes {
		at := len(b.sizes) - len(sizes) + d
		if sizes[d] == b.sizes[at] && b.lengths[at] < sizes[d] {
			offset += b.starts[at] * t.Strides()[d]
			sizes[d] = b.lengths[at]
		}
	}
	return s.keep(t.View("backward", sizes, t.Strides(), offset))
}

// savedPart is the part of a saved tensor that the steps are for.
func (s *steps) savedPart(at int) *tensor.Tensor {
	t := s.outer.saved(at)
	if t == nil || t.Dim() == 0 {
		return t
	}
	return s.box.of(s, t)
}

// halves are the halves of a box along a dimension.
func (b *box) halves(d int) [2]*box {
	half := b.lengths[d] / 2
	first, second := &box{b.sizes, b.starts, slices.Clone(b.lengths)}, &box{b.sizes, slices.Clone(b.starts), slices.Clone(b.lengths)}
	first.lengths[d], second.lengths[d], second.starts[d] = half, b.lengths[d]-half, b.starts[d]+half
	return [2]*box{first, second}
}

// cuts tells whether the gradient of operand i is to be evaluated piece by piece.
func (s *steps) cuts(i int) bool {
	n := s.node
	result := &n.outputs[0]
	if n.cut == never || s.record || shape.Product(result.sizes()) <= large {
		return false
	}
	for _, t := range s.given {
		if t != nil && (!launch.Known(t) || t.Parts() != nil || !slices.Equal(t.Sizes(), result.sizes())) {
			return false
		}
	}
	for k := range n.saved {
		if v := &n.saved[k]; v.t != nil && (v.t.Parts() != nil || !shape.ExpandsTo(v.t.Sizes(), result.sizes())) {
			return false
		}
	}
	want := &n.edges[i].Node.outputs[n.edges[i].Output]
	return n.cut == always || result.dtype.IsComplex() || !slices.Equal(want.sizes(), result.sizes())
}

// cut is the gradient of operand i, evaluated piece by piece. It takes the place of the result's, where nobody needs that any more.
func (s *steps) cut(i int) *tensor.Tensor {
	n := s.node
	want, sizes := &n.edges[i].Node.outputs[n.edges[i].Output], n.outputs[0].sizes()
	all := &box{sizes, make([]int64, len(sizes)), slices.Clone(sizes)}
	grad := s.given[0]
	same := slices.Equal(want.sizes(), sizes)
	var made *tensor.Tensor
	switch {
	case same && s.final && len(s.given) == 1 && grad.DType() == want.dtype && own(grad):
		made = s.take(0)
		grad = made
	case same:
		made = s.keep(s.c.EmptyLike(s.pattern(sizes), want.dtype, tensor.NoLayout, want.device, shape.Preserve))
	default:
		sum := want.dtype
		if sum.Size() < dtype.Float32.Size() {
			sum = dtype.Float32
		}
		made = s.filled(0, sum, want.device, want.sizes()...)
	}
	made.SetHistory(nil)
	given := slices.Clone(s.given)
	given[0] = grad
	s.fill(i, given, made, all, !same)
	return s.cast(made, want.dtype)
}

// pattern is a tensor that lies as the gradient is to.
func (s *steps) pattern(sizes []int64) *tensor.Tensor {
	for _, t := range s.given {
		if t != nil && shape.IsDense(t.Sizes(), t.Strides()) {
			return t
		}
	}
	for k := range s.node.saved {
		if t := s.node.saved[k].t; t != nil && slices.Equal(t.Sizes(), sizes) && shape.IsDense(sizes, t.Strides()) {
			return t
		}
	}
	return s.keep(tensor.EmptyStrided("backward", sizes, shape.ContiguousStrides(sizes), s.node.outputs[0].dtype, s.node.outputs[0].device))
}

// fill writes the pieces of a box to the gradient of operand i, or adds them to it.
func (s *steps) fill(i int, given []*tensor.Tensor, made *tensor.Tensor, b *box, add bool) {
	if shape.Product(b.lengths) > slab {
		for _, half := range b.halves(b.outermost(made, given)) {
			s.fill(i, given, made, half, add)
		}
		return
	}
	inner := &steps{c: s.c, node: s.node, outer: s, box: b}
	defer inner.Close()
	for _, t := range given {
		if t != nil {
			t = b.of(inner, t)
		}
		inner.given = append(inner.given, t)
	}
	to := b.of(inner, made)
	part, err := inner.try(func() *tensor.Tensor { return s.node.formula(inner, i) })
	s.check(err)
	part, err = s.node.fitTo(s.c, i, part, to.DType(), to.Sizes())
	s.check(err)
	defer part.Release()
	if add {
		_, err = s.c.Add(to, to, part, one)
	} else {
		err = s.c.Copy(to, part, false)
	}
	s.check(err)
}

// outermost is the dimension of a box that lies furthest apart in memory, of those that have a length.
func (b *box) outermost(made *tensor.Tensor, given []*tensor.Tensor) int {
	best, furthest := 0, int64(-1)
	for d, length := range b.lengths {
		if length < 2 {
			continue
		}
		var apart int64
		for _, t := range append([]*tensor.Tensor{made}, given...) {
			if t != nil && t.Dim() == len(b.sizes) && t.Sizes()[d] == b.sizes[d] {
				apart += t.Strides()[d]
			}
		}
		if apart > furthest {
			best, furthest = d, apart
		}
	}
	return best
}
