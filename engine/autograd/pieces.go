package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// A derivative formula of an elementwise operator, or its elementwise part, is evaluated in blocks, so that
// its temporaries fit in the processor's caches and take little memory in addition to the gradient. The gradient of a
// broadcast operand is summed for each block, so that the broadcast gradient is never allocated.

// cutting determines whether the formulas of an operator are evaluated in blocks.
type cutting int

const (
	never     cutting = iota
	broadcast         // where the operand is smaller than the result: a formula of one step
	always            // a formula of several steps
)

// slab is the maximum number of elements of a block, for results with more than large elements.
const (
	slab  = 1 << 17
	large = 1 << 20
)

// box is a block of the result of a call.
type box struct {
	sizes, starts, lengths []int64
	uncut                  []bool // dimensions that stay whole; nil for none
}

func boxOf(sizes []int64, uncut []bool) *box {
	return &box{sizes, make([]int64, len(sizes)), slices.Clone(sizes), uncut}
}

// blockOf returns the block of a tensor that is broadcast to the result.
func (b *box) blockOf(s *steps, t *tensor.Tensor) *tensor.Tensor {
	sizes, offset := slices.Clone(t.Sizes()), t.Offset()
	for d := range sizes {
		at := len(b.sizes) - len(sizes) + d
		if sizes[d] == b.sizes[at] && b.lengths[at] < sizes[d] {
			offset += b.starts[at] * t.Strides()[d]
			sizes[d] = b.lengths[at]
		}
	}
	return s.Track(t.View("backward", sizes, t.Strides(), offset))
}

// splitBox returns the halves of a box along the dimension with the largest stride; none if the box is not divided.
func (b *box) splitBox(tensors []*tensor.Tensor) []*box {
	if shape.Product(b.lengths) <= slab {
		return nil
	}
	best, furthest := -1, int64(-1)
	for d, length := range b.lengths {
		if length < 2 || b.uncut != nil && b.uncut[d] {
			continue
		}
		var apart int64
		for _, t := range tensors {
			if t != nil && t.Dim() == len(b.sizes) && t.Sizes()[d] == b.sizes[d] {
				apart += t.Strides()[d]
			}
		}
		if apart > furthest {
			best, furthest = d, apart
		}
	}
	if best < 0 {
		return nil
	}
	half := b.lengths[best] / 2
	first := &box{b.sizes, b.starts, slices.Clone(b.lengths), b.uncut}
	second := &box{b.sizes, slices.Clone(b.starts), slices.Clone(b.lengths), b.uncut}
	first.lengths[best], second.lengths[best] = half, b.lengths[best]-half
	second.starts[best] += half
	return []*box{first, second}
}

// filling describes the evaluation of a tensor in blocks.
type filling struct {
	made   *tensor.Tensor
	beside []*tensor.Tensor // operands that the blocks read
	add    bool             // the blocks are added to the present values
	piece  func(s *steps, b *box, to *tensor.Tensor) *tensor.Tensor
}

func (s *steps) fillBlocks(f *filling, b *box) {
	if halves := b.splitBox(append([]*tensor.Tensor{f.made}, f.beside...)); halves != nil {
		for _, half := range halves {
			s.fillBlocks(f, half)
		}
		return
	}
	inner := &steps{Builder: build.Builder{C: s.C}, node: s.node, outer: s, box: b}
	defer inner.Close()
	to := b.blockOf(inner, f.made)
	part, err := inner.Evaluate(func() *tensor.Tensor { return f.piece(inner, b, to) })
	s.Check(err)
	defer part.Release()
	if f.add {
		_, err = s.C.Add(to, to, part, one)
	} else {
		err = s.C.Copy(to, part, false)
	}
	s.Check(err)
}

// inPieces evaluates f, which is elementwise along the dimensions that may be divided, for blocks of self and of the tensors that are
// broadcast to it.
func (s *steps) inPieces(self *tensor.Tensor, d dtype.DType, uncut []bool,
	f func(s *steps, part func(t *tensor.Tensor) *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	if s.record || self.Numel() <= large || !backend.Known(self) {
		return f(s, func(t *tensor.Tensor) *tensor.Tensor { return t })
	}
	made := s.EmptyLikeWith(self, d, tensor.NoLayout, self.Device(), shape.Preserve)
	made.SetAutogradMeta(nil)
	s.fillBlocks(&filling{made: made, beside: []*tensor.Tensor{self}, piece: func(s *steps, b *box, _ *tensor.Tensor) *tensor.Tensor {
		s.box = nil
		return f(s, func(t *tensor.Tensor) *tensor.Tensor { return b.blockOf(s, t) })
	}}, boxOf(self.Sizes(), uncut))
	return made
}

// uncutAlong returns the dimensions of t that must not be divided: those along which elements depend on each other (dim), and those in
// which other tensors have other sizes.
func (s *steps) uncutAlong(t *tensor.Tensor, dim int64, others ...*tensor.Tensor) []bool {
	d, err := shape.WrapDim("backward", dim, t.Dim())
	s.Check(err)
	uncut := make([]bool, t.Dim())
	for k, size := range t.Sizes() {
		uncut[k] = k == d || slices.ContainsFunc(others, func(o *tensor.Tensor) bool { return o.Dim() != t.Dim() || o.Sizes()[k] != size })
	}
	return uncut
}

// savedPart returns the block of a saved tensor for the block that is being evaluated.
func (s *steps) savedPart(at int) *tensor.Tensor {
	t := s.outer.saved(at)
	if t == nil || t.Dim() == 0 {
		return t
	}
	return s.box.blockOf(s, t)
}

// needsBlocks returns whether the gradient of operand i is evaluated in blocks.
func (s *steps) needsBlocks(i int) bool {
	n := s.node
	result := &n.outputs[0]
	if n.cut == never || s.record || shape.Product(result.sizes()) <= large {
		return false
	}
	for _, t := range s.given {
		if t != nil && (!backend.Known(t) || t.Components() != nil || !slices.Equal(t.Sizes(), result.sizes())) {
			return false
		}
	}
	for k := range n.saved {
		if v := &n.saved[k]; v.t != nil && (v.t.Components() != nil || !shape.ExpandsTo(v.t.Sizes(), result.sizes())) {
			return false
		}
	}
	want := &n.edges[i].Node.outputs[n.edges[i].Output]
	return n.cut == always || result.dtype.IsComplex() || !slices.Equal(want.sizes(), result.sizes())
}

// evaluateInBlocks returns the gradient of operand i, evaluated in blocks. It overwrites the gradient of the output if that is not used
// elsewhere.
func (s *steps) evaluateInBlocks(i int) *tensor.Tensor {
	n := s.node
	want, sizes := &n.edges[i].Node.outputs[n.edges[i].Output], n.outputs[0].sizes()
	grad := s.given[0]
	same := slices.Equal(want.sizes(), sizes)
	var made *tensor.Tensor
	switch {
	case same && s.final && len(s.given) == 1 && grad.DType() == want.dtype && canOverwrite(grad):
		made = s.take(0)
		grad = made
	case same:
		made = s.EmptyLikeWith(s.emptyLikeGrad(sizes), want.dtype, tensor.NoLayout, want.device, shape.Preserve)
	default:
		sum := want.dtype
		if sum.Size() < dtype.Float32.Size() {
			sum = dtype.Float32
		}
		made = s.fullOf(0, sum, want.device, want.sizes()...)
	}
	made.SetAutogradMeta(nil)
	given := slices.Clone(s.given)
	given[0] = grad
	s.fillBlocks(&filling{made, given, !same, func(s *steps, b *box, to *tensor.Tensor) *tensor.Tensor {
		for _, t := range given {
			if t != nil {
				t = b.blockOf(s, t)
			}
			s.given = append(s.given, t)
		}
		part, err := s.Return(n.formula(s, i))
		s.Check(err)
		return s.Track(n.fitGradTo(s.C, i, part, to.DType(), to.Sizes()))
	}}, boxOf(sizes, nil))
	return s.castTo(made, want.dtype)
}

// emptyLikeGrad returns a tensor with the strides that the gradient should have.
func (s *steps) emptyLikeGrad(sizes []int64) *tensor.Tensor {
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
	return s.Track(tensor.EmptyStrided("backward", sizes, shape.ContiguousStrides(sizes), s.node.outputs[0].dtype, s.node.outputs[0].device))
}
