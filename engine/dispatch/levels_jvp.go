package dispatch

import (
	"cmp"
	"slices"

	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// JvpBegin implements the operator jvp_begin.
func (c Context) JvpBegin() (int64, error) {
	return c.enterTransform("jvp_begin", &tensor.Level{Forward: true})
}

// JvpEnd implements the operator jvp_end.
func (c Context) JvpEnd(level int64) error { return c.leaveTransform("jvp", level) }

// JvpWrap implements the operator jvp_wrap.
func (c Context) JvpWrap(primal, tangent *tensor.Tensor, level int64) (*tensor.Tensor, error) {
	const op = "jvp"
	l, err := findTransform(op, "jvp", level)
	if err != nil {
		return nil, err
	}
	if d := primal.DType(); !d.IsFloatingPoint() && !d.IsComplex() {
		return nil, status.Runtimef("%s: a tensor with a tangent must have a floating-point or complex dtype, but the primal has %v", op, d)
	}
	if !slices.Equal(primal.Sizes(), tangent.Sizes()) { // rejected
		return tensor.Pair(op, primal, tangent, nil, l)
	}
	as := tangent.DType()
	if as.Category() == primal.DType().Category() {
		as = primal.DType()
	}
	own, err := c.ToOptions(tangent, as, tensor.NoLayout, tangent.Device(), false, true, shape.Preserve)
	if err != nil {
		return nil, err
	}
	defer own.Release()
	laid, err := Laid(c, own, primal)
	if err != nil {
		return nil, err
	}
	defer laid.Release()
	pair, err := Pair(op, c, primal, laid, l)
	if w := pair.Wrapped(); err == nil && w.Level == l {
		w.Fixed = tensoriter.SelfOverlaps(primal)
	}
	return pair, err
}

// Laid returns a tangent with a memory layout that takes the same views as that of its primal: an alias of tangent if it has the strides of
// the primal, or is dense with its dimensions in the same order, and a dense copy in that order otherwise. In outer vmap levels that map
// over the primal, or over tangents of it, each batch element gets a separate tangent, since writes to the primal may differ.
func Laid(c Context, tangent, primal *tensor.Tensor) (*tensor.Tensor, error) {
	each, err := Spread(c, tangent, func(l *tensor.Level) bool { return primal.MappedBy(int64(l.Number)) })
	if err != nil {
		return nil, err
	}
	defer each.Release()
	if !haveSameLevels(each, tangent) {
		if each, err = c.Clone(each, shape.Preserve); err != nil {
			return nil, err
		}
		defer each.Release()
	}
	return matchLazyBits(c, each, primal)
}

// matchLazyBits returns matchStrides of a tangent, with the conjugate and negative bits of the primal.
func matchLazyBits(c Context, tangent, primal *tensor.Tensor) (*tensor.Tensor, error) {
	lazy := primal.Behind().Lazy()
	if tangent.Behind().Lazy() == lazy {
		return matchStrides(c, tangent, primal)
	}
	read, err := Toggled(c, tangent, lazy)
	if err != nil {
		return nil, err
	}
	defer read.Release()
	memory, err := c.Clone(read, shape.Preserve)
	if err != nil {
		return nil, err
	}
	defer memory.Release()
	placed, err := matchStrides(c, memory, primal)
	if err != nil {
		return nil, err
	}
	defer placed.Release()
	return Toggled(c, placed, lazy)
}

// Toggled returns a view of t whose elements are conjugated, or negated, once more when they are read.
func Toggled(c Context, t *tensor.Tensor, lazy tensor.DispatchKeys) (made *tensor.Tensor, err error) {
	made = t.Alias()
	for _, view := range []struct {
		key tensor.DispatchKeys
		of  func(Context, *tensor.Tensor) (*tensor.Tensor, error)
	}{{tensor.Conjugate, Context.Conj}, {tensor.Negative, Context.NegView}} {
		if lazy&view.key == 0 {
			continue
		}
		before := made
		made, err = view.of(c, before)
		before.Release()
		if err != nil {
			return nil, err
		}
	}
	return made, nil
}

// haveSameLevels reports whether two tensors are wrapped at the same levels.
func haveSameLevels(a, b *tensor.Tensor) bool {
	v, w := a.Wrapped(), b.Wrapped()
	if v == nil || w == nil {
		return v == w
	}
	return v.Level == w.Level && haveSameLevels(v.Value, w.Value)
}

// matchStrides is Laid for a tangent that is batched where its primal is.
func matchStrides(c Context, tangent, primal *tensor.Tensor) (*tensor.Tensor, error) {
	sizes := primal.Sizes()
	if !slices.Equal(tangent.Sizes(), sizes) {
		return nil, status.Runtimef("a tangent must have the sizes of its primal, %v, but has %v; another thread changed an operand during the call",
			sizes, tangent.Sizes())
	}
	if primal.Numel() == 0 || equalStrides(sizes, tangent.Strides(), primal.Strides()) {
		return tangent.Alias(), nil
	}
	order := strideOrder(primal)
	if equalStrides(sizes, tangent.Strides(), shape.PermutedStrides(sizes, order)) {
		return tangent.Alias(), nil
	}
	forth, back := make([]int64, len(order)), make([]int64, len(order))
	for at, d := range order {
		forth[at], back[d] = int64(d), int64(at)
	}
	transposed, err := c.Permute(tangent, forth)
	if err != nil {
		return nil, err
	}
	defer transposed.Release()
	copied, err := c.Clone(transposed, shape.Contiguous)
	if err != nil {
		return nil, err
	}
	defer copied.Release()
	return c.Permute(copied, back)
}

// strideOrder returns the dimensions of t from the largest stride to the smallest, or in their own order where a stride is 0.
func strideOrder(t *tensor.Tensor) []int {
	order := make([]int, t.Dim())
	for d := range order {
		order[d] = d
	}
	if !slices.Contains(t.Strides(), 0) {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.Strides()[b], t.Strides()[a]) })
	}
	return order
}

// equalStrides reports whether two lists of strides address the same elements. Strides of dimensions of size 1 are ignored.
func equalStrides(sizes, a, b []int64) bool {
	for d, n := range sizes {
		if n > 1 && a[d] != b[d] {
			return false
		}
	}
	return true
}

// JvpPrimal implements the operator jvp_primal.
func (c Context) JvpPrimal(self *tensor.Tensor, level int64) (*tensor.Tensor, error) {
	l, err := findTransform("jvp", "jvp", level)
	if err != nil {
		return nil, err
	}
	return Primal(self, l)
}

// JvpTangent implements the operator jvp_tangent.
func (c Context) JvpTangent(self *tensor.Tensor, level int64) (*tensor.Tensor, error) {
	l, err := findTransform("jvp", "jvp", level)
	if err != nil {
		return nil, err
	}
	return Tangent(self, l)
}

// JvpLevel implements the operator jvp_level.
func (c Context) JvpLevel(self *tensor.Tensor) (int64, error) {
	if l := self.Dual(); l != nil {
		return int64(l.Number), nil
	}
	return 0, nil
}

// JvpDetach implements the operator jvp_detach.
func (c Context) JvpDetach(self *tensor.Tensor) (*tensor.Tensor, error) {
	w := self.Wrapped()
	switch {
	case w == nil:
		return c.Detach(self)
	case w.Level.Forward:
		return mapPair(w, "detach", c.JvpDetach)
	}
	value, err := c.JvpDetach(w.Value)
	if err != nil {
		return nil, err
	}
	defer value.Release()
	return tensor.Wrap("detach", value, w.Level)
}

// JvpInput implements the operator jvp_input.
func (c Context) JvpInput(self *tensor.Tensor, keep bool) (*tensor.Tensor, error) {
	w := self.Wrapped()
	if w == nil {
		if keep && self.GradientWanted() {
			return c.View(self, slices.Clone(self.Sizes()))
		}
		t, err := c.Detach(self)
		if err != nil {
			return nil, err
		}
		if err := Autograd.SetRequiresGrad(c, t, true); err != nil {
			t.Release()
			return nil, err
		}
		return t, nil
	}
	value, err := c.JvpInput(w.Value, keep)
	if err != nil {
		return nil, err
	}
	defer value.Release()
	if !w.Level.Forward {
		return tensor.Wrap("jvp", value, w.Level)
	}
	tangent := w.Tangent
	if !keep {
		if tangent, err = c.JvpDetach(tangent); err != nil {
			return nil, err
		}
		defer tangent.Release()
	}
	return tensor.Pair("jvp", value, tangent, w.ZeroTangent, w.Level)
}

// Primal returns a tensor without its tangent in a level of forward differentiation.
func Primal(t *tensor.Tensor, l *tensor.Level) (*tensor.Tensor, error) {
	return unwrapPart(t, l, func(w *tensor.Wrapped) *tensor.Tensor { return w.Value })
}

// Tangent returns the tangent of a tensor in a level of forward mode, or nil.
func Tangent(t *tensor.Tensor, l *tensor.Level) (*tensor.Tensor, error) {
	if !hasTangentAt(t, l) {
		return nil, nil
	}
	return unwrapPart(t, l, func(w *tensor.Wrapped) *tensor.Tensor { return w.Tangent })
}

// hasTangentAt reports whether a tensor has a tangent in a level.
func hasTangentAt(t *tensor.Tensor, l *tensor.Level) bool {
	w := t.Wrapped()
	return w != nil && (w.Level == l || hasTangentAt(w.Value, l) || hasTangentAt(w.Tangent, l))
}

// unwrapPart returns the primal or the tangent of t in the level l, in the wrappers of the levels inside of that.
func unwrapPart(t *tensor.Tensor, l *tensor.Level, part func(w *tensor.Wrapped) *tensor.Tensor) (*tensor.Tensor, error) {
	w := t.Wrapped()
	switch {
	case w == nil || w.Level.Number < l.Number:
		return t.Alias(), nil
	case w.Level == l:
		return part(w).Alias(), nil
	case w.Level.Forward:
		return mapPair(w, "jvp", func(t *tensor.Tensor) (*tensor.Tensor, error) { return unwrapPart(t, l, part) })
	}
	value, err := unwrapPart(w.Value, l, part)
	if err != nil {
		return nil, err
	}
	defer value.Release()
	return tensor.Wrap("jvp", value, w.Level)
}

// mapPair applies a function to the primal and to the tangent and returns the pair of the results.
func mapPair(w *tensor.Wrapped, op string, change func(t *tensor.Tensor) (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	primal, err := change(w.Value)
	if err != nil {
		return nil, err
	}
	defer primal.Release()
	tangent, err := change(w.Tangent)
	if err != nil {
		return nil, err
	}
	defer tangent.Release()
	return tensor.Pair(op, primal, tangent, w.ZeroTangent, w.Level)
}

// Pair returns a tensor with a primal and a tangent in a level, which can be tensors of levels inside of that.
func Pair(op string, c Context, primal, tangent *tensor.Tensor, l *tensor.Level) (*tensor.Tensor, error) {
	inner := innermostLevel(primal, tangent)
	if inner == nil || inner.Number < l.Number {
		return tensor.Pair(op, primal, tangent, nil, l)
	}
	if inner.Forward { // of which neither is a result here: calls are made at innermost levels first
		return nil, status.Runtimef("%s: a primal or tangent belongs to a nested transform", op)
	}
	all, err := Take(c, primal, inner)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	slopes, err := Take(c, tangent, inner)
	if err != nil {
		return nil, err
	}
	defer slopes.Release()
	pair, err := Pair(op, c, all, slopes, l)
	if err != nil {
		return nil, err
	}
	defer pair.Release()
	return tensor.Wrap(op, pair, inner)
}
