package tensor

import (
	"iter"
	"slices"
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
)

// Level is an active functorch transform: a function that is called for all batch elements at once (vmap), or with tangents (jvp).
type Level struct {
	Number     uint32 // larger than those of the levels around it
	Outer      *Level // the one that this began in; nil for none
	Forward    bool   // of jvp; the fields below are for vmap
	Size       int64  // how many examples there are
	Randomness string // treatment of random operators: error, same or different
	over       atomic.Bool
}

// Depth returns the number of transforms from the outermost one to l.
func (l *Level) Depth() (n int) {
	for ; l != nil; l = l.Outer {
		n++
	}
	return n
}

// End marks the transform as finished.
func (l *Level) End() { l.over.Store(true) }

// Over reports whether it has.
func (l *Level) Over() bool { return l.over.Load() }

// Wrapped is the state of a tensor wrapped at a transform level: in vmap all batch elements, in jvp the primal and the tangent. These can
// be wrapped at an outer level.
type Wrapped struct {
	Value       *Tensor      // the examples, along its first dimension, or the primal
	Tangent     *Tensor      // nil of a tensor that represents an example
	ZeroTangent *ZeroTangent // of a tangent of zeros; nil for others
	Level       *Level
	Fixed       bool // elements of the primal share memory, which those of the tangent do not: neither is written to
}

// ZeroTangent is the state of a tangent of zeros: whether it was written to. Aliases of a tangent share it.
type ZeroTangent struct{ written atomic.Bool }

// MarkWritten marks the tangent as no longer zero. Call it before a write.
func (z *ZeroTangent) MarkWritten() {
	if z != nil {
		z.written.Store(true)
	}
}

// MayBeNonzero reports whether the tangent can contain other values than zeros.
func (z *ZeroTangent) MayBeNonzero() bool { return z == nil || z.written.Load() }

// Wrapped returns the state of a tensor wrapped at a transform level, or nil.
func (t *Tensor) Wrapped() *Wrapped {
	if t == nil || t.kind.state == nil {
		return nil
	}
	w, _ := t.kind.state.(*Wrapped)
	return w
}

// MappedBy reports whether the transform of a number maps over t, at whatever level of the stack.
func (t *Tensor) MappedBy(number int64) bool {
	w := t.Wrapped()
	return w != nil && (int64(w.Level.Number) == number || w.Value.MappedBy(number) || w.Tangent.MappedBy(number))
}

// SpreadOver reports whether each batch element of a transform has a separate primal and tangent.
func (t *Tensor) SpreadOver(l *Level) bool {
	w := t.Wrapped()
	return w != nil && (w.Level == l || w.Value.SpreadOver(l) && (w.Tangent == nil || w.Tangent.SpreadOver(l)))
}

// Dual returns the innermost level of forward differentiation in which t has a tangent, nil for none.
func (t *Tensor) Dual() *Level {
	for w := t.Wrapped(); w != nil; w = w.Value.Wrapped() {
		if w.Level.Forward {
			return w.Level
		}
	}
	return nil
}

// Behind returns the tensor with the elements and the autograd metadata of t: the values of a sparse tensor, and all batch elements or the
// primal of a wrapped one.
func (t *Tensor) Behind() *Tensor {
	switch s := t.kind.state.(type) {
	case *SparseComponents:
		return s.Values
	case *Wrapped:
		return s.Value.Behind()
	}
	return t
}

// Holding returns the tensors over a storage that the application holds, and the wrapped tensors that contain such ones, and keeps them
// until the call ends. The layer that accepts calls sets it.
var Holding = func(*storage.Storage) []*Tensor { return nil }

// Each yields the tensors that t wraps by levels inside of one (by all levels for nil): itself, or all batch elements, or the primal and
// the tangent.
func (t *Tensor) Each(around *Level) iter.Seq[*Tensor] {
	return func(yield func(*Tensor) bool) { t.yieldParts(around, yield) }
}

// yieldParts implements Each.
func (t *Tensor) yieldParts(around *Level, yield func(*Tensor) bool) bool {
	w := t.Wrapped()
	switch {
	case t == nil:
		return true
	case w == nil || around != nil && w.Level.Number <= around.Number:
		return yield(t)
	}
	return w.Value.yieldParts(around, yield) && w.Tangent.yieldParts(around, yield)
}

// Wrap creates a tensor that represents one of the examples along the first dimension of value, of which it has an alias.
func Wrap(op string, value *Tensor, l *Level) (*Tensor, error) {
	if value.Dim() == 0 || value.sizes[0] != l.Size {
		return nil, status.Runtimef("%s: expected a first dimension of size %[3]d, the batch size, but got sizes %[2]v", op, value.sizes, l.Size)
	}
	if err := value.checkWrappable(op, "vmap"); err != nil {
		return nil, err
	}
	return value.newWrapper(op, value.sizes[1:], value.strides[1:], Wrapped{Value: value.Alias(), Level: l})
}

// WrapOwned is Wrap, but takes the caller's reference to value, also on an error.
func WrapOwned(op string, value *Tensor, l *Level) (*Tensor, error) {
	if value.Dim() == 0 || value.sizes[0] != l.Size || value.checkWrappable(op, "vmap") != nil {
		defer value.Release()
		return Wrap(op, value, l)
	}
	return value.newWrapper(op, value.sizes[1:], value.strides[1:], Wrapped{Value: value, Level: l})
}

// Pair creates a tensor with a primal and a tangent, which are of the same sizes and dtype, of which it has aliases. Those that share the
// memory of another one share its ZeroTangent; it is nil for a tangent that is not known to be zeros.
func Pair(op string, primal, tangent *Tensor, zero *ZeroTangent, l *Level) (*Tensor, error) {
	if err := checkPair(op, primal, tangent); err != nil {
		return nil, err
	}
	return primal.newWrapper(op, primal.sizes, primal.strides,
		Wrapped{Value: primal.Alias(), Tangent: tangent.Alias(), ZeroTangent: zero, Level: l})
}

// checkPair returns an error for a primal and a tangent that cannot be paired.
func checkPair(op string, primal, tangent *Tensor) error {
	for _, t := range [...]*Tensor{primal, tangent} {
		if err := t.checkWrappable(op, "forward differentiation"); err != nil {
			return err
		}
	}
	switch {
	case !slices.Equal(primal.sizes, tangent.sizes):
		return status.Runtimef("%s: a tangent must have the sizes of its primal, %v, but has %v", op, primal.sizes, tangent.sizes)
	case primal.dtype != tangent.dtype:
		return status.Runtimef("%s: a tangent must have the dtype of its primal, %v, but has %v", op, primal.dtype, tangent.dtype)
	case primal.device != tangent.device:
		return status.Runtimef("%s: a tangent must be on the device of its primal, %v, but is on %v", op, primal.device, tangent.device)
	}
	return nil
}

// PairOwned is Pair, but takes the caller's references to primal and tangent, also on an error.
func PairOwned(op string, primal, tangent *Tensor, zero *ZeroTangent, l *Level) (*Tensor, error) {
	if err := checkPair(op, primal, tangent); err != nil {
		primal.Release()
		tangent.Release()
		return nil, err
	}
	return primal.newWrapper(op, primal.sizes, primal.strides, Wrapped{Value: primal, Tangent: tangent, ZeroTangent: zero, Level: l})
}

// BecomePair makes t itself a pair of its present value and a tangent. No other tensor may share its memory, since it would lack the
// tangent.
func (t *Tensor) BecomePair(op string, tangent *Tensor, l *Level) error {
	primal := t.Alias()
	defer primal.Release()
	pair, err := Pair(op, primal, tangent, nil, l)
	if err != nil {
		return err
	}
	t.changing.Add(1)
	defer t.changing.Add(-1)
	if err := t.checkUnused(op, "get a tangent"); err != nil {
		pair.Release()
		return err
	}
	t.releaseMetadata()
	t.moveTo(pair.storage, t.dtype, t.sizes, t.strides, 0, pair.numel, pair.reach)
	t.kind, pair.kind = pair.kind, metadata{}
	t.device = primal.device
	pair.Release()
	return nil
}

// BecomeWrapped makes t, a tensor of a transform, the tensor other of the same transform.
func (t *Tensor) BecomeWrapped(op string, other *Tensor) error {
	t.changing.Add(1)
	defer t.changing.Add(-1)
	if err := t.checkUnused(op, "get another geometry"); err != nil {
		return err
	}
	w := t.Wrapped()
	t.kind.state = other.Wrapped().alias()
	t.moveTo(other.storage, other.dtype, other.sizes, other.strides, 0, other.numel, other.reach)
	t.device = other.device
	w.Value.Release()
	w.Tangent.Release()
	return nil
}

// Rest replaces the tangent of the pair t by zeros. Others that share the memory of the tangent keep it.
func (t *Tensor) Rest(op string, zeros *Tensor) error {
	return t.replaceTangent(op, zeros, new(ZeroTangent))
}

// SetTangent replaces the tangent of the pair t.
func (t *Tensor) SetTangent(op string, tangent *Tensor) error {
	return t.replaceTangent(op, tangent, t.Wrapped().ZeroTangent)
}

func (t *Tensor) replaceTangent(op string, tangent *Tensor, zero *ZeroTangent) error {
	t.changing.Add(1)
	defer t.changing.Add(-1)
	if err := t.checkUnused(op, "get another tangent"); err != nil {
		return err
	}
	w := t.Wrapped()
	t.kind.state = (&Wrapped{Value: w.Value, Tangent: tangent, ZeroTangent: zero, Level: w.Level, Fixed: w.Fixed}).alias()
	w.Value.Release()
	w.Tangent.Release()
	return nil
}

// Contains reports whether part is t, or a tensor that t wraps.
func (t *Tensor) Contains(part *Tensor) bool {
	if t == nil || t == part {
		return t != nil
	}
	w := t.Wrapped()
	return w != nil && (w.Value.Contains(part) || w.Tangent.Contains(part))
}

// Alone reports whether no other tensor shares the memory of t.
func (t *Tensor) Alone() bool {
	w := t.Wrapped()
	return t.storage.Refs() == 1 && (w == nil || w.Value.Alone() && (w.Tangent == nil || w.Tangent.Alone()))
}

// AsZeroDim returns an alias that counts in promotion as a tensor without dimensions, which each of the examples in it is, at every level.
func (t *Tensor) AsZeroDim() *Tensor {
	a := t.Alias()
	a.markZeroDim()
	return a
}

// markZeroDim makes a tensor, and those that it wraps, count in promotion as zero-dimensional.
func (t *Tensor) markZeroDim() {
	if t == nil {
		return
	}
	t.kind.zeroDim = true
	if w := t.Wrapped(); w != nil {
		w.Value.markZeroDim()
		w.Tangent.markZeroDim()
	}
}

// checkWrappable returns an error for kinds of tensors that transforms do not support.
func (t *Tensor) checkWrappable(op, transform string) error {
	switch {
	case t.Components() != nil, t.Quantizer() != nil:
		return status.NotImplementedf("%s: %s is not implemented for %s tensors; convert with to_dense() or dequantize()", op, transform,
			t.kindName())
	case t.Names() != nil:
		return status.NotImplementedf("%s: %s is not implemented for named tensors; use rename(None) to drop the names", op, transform)
	}
	return nil
}

// wrappedAllocation is a wrapped tensor allocated together with its state.
type wrappedAllocation struct {
	allocation
	state Wrapped
}

// newWrapper returns a tensor without elements that is on the device of t. It takes the references of w, also on an error.
func (t *Tensor) newWrapper(op string, sizes, strides []int64, w Wrapped) (*Tensor, error) {
	numel, err := shape.Numel(op, sizes)
	reach := int64(0)
	if err == nil {
		reach, err = countElements(op, sizes, strides, t.dtype)
	}
	f := parkedWrappings.take()
	if f == nil {
		f = new(wrappedAllocation)
		f.allocation.wraps, f.Tensor.allocation = f, &f.allocation
	}
	if err == nil {
		err = f.own.Init(op, reach*t.dtype.Size(), device.Device{Type: device.Meta, Index: -1}, false)
	}
	if err != nil {
		w.Value.Release()
		w.Tangent.Release()
		return nil, err
	}
	made := &f.Tensor
	made.setGeometry(sizes, strides)
	made.storage, made.reach, made.offset = &f.own, f.own.Nbytes(), 0
	made.dtype, made.numel, made.device = t.dtype, numel, t.device
	f.state = w
	made.SetKeys(Transformed, &f.state)
	return made, nil
}

// park keeps a released wrapped tensor for reuse.
func (f *wrappedAllocation) park() {
	f.state, f.kind = Wrapped{}, metadata{}
	parkedWrappings.put(f)
}

// alias returns w with new references.
func (w *Wrapped) alias() *Wrapped {
	shared := &Wrapped{Value: w.Value.Alias(), ZeroTangent: w.ZeroTangent, Level: w.Level, Fixed: w.Fixed}
	if w.Tangent != nil {
		shared.Tangent = w.Tangent.Alias()
	}
	return shared
}
