package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// list is a call for each item of lists of tensors.
type list struct {
	*build.Builder
	lists  [][]*tensor.Tensor
	shared *tensor.Tensor // an operand that all items share, or nil
	// allocates is set if the call for an item allocates even for tensors of equal layout.
	allocates bool
}

// item is the call for item i, whose tensors are t. It writes to out, which is nil or t[0].
type item func(out *tensor.Tensor, t []*tensor.Tensor, i int) (*tensor.Tensor, error)

func newList(c dispatch.Context, op string, lists ...[]*tensor.Tensor) *list {
	return &list{Builder: build.New(c, op), lists: lists}
}

// checkLengths rejects lists with different numbers of items.
func (l *list) checkLengths() {
	if len(l.lists[0]) == 0 {
		l.Failf("Tensor list must have at least one tensor.")
	}
	for _, other := range l.lists[1:] {
		if len(other) != len(l.lists[0]) {
			l.Failf("Tensor lists must have the same number of tensors, got %d and %d", len(l.lists[0]), len(other))
		}
	}
}

// checkScalars checks the number of scalars.
func (l *list) checkScalars(scalars int) {
	if scalars != len(l.lists[0]) {
		l.Failf("Tensor list must have same number of elements as scalar list, got %d and %d", len(l.lists[0]), scalars)
	}
}

// setZeroDim checks and stores a 0-dim tensor that applies to all items.
func (l *list) setZeroDim(t *tensor.Tensor) {
	l.shared = t
	if t.Dim() != 0 || t.Numel() != 1 {
		l.Failf("scalar tensor expected to be 0 dim but it has %d dimensions and %d elements", t.Dim(), t.Numel())
	}
}

// wrapScalars returns a 0-dim tensor for each scalar.
func (l *list) wrapScalars(scalars []dtype.Scalar) []*tensor.Tensor {
	result := make([]*tensor.Tensor, len(scalars))
	for i, n := range scalars {
		result[i] = l.Number(n)
	}
	return result
}

// readFactors reads a vector with a factor for each item. Factors that have a derivative are multiplied to the tensors of the second list,
// and are 1 in the result.
func (l *list) readFactors(t *tensor.Tensor) []dtype.Scalar {
	read := make([]dtype.Scalar, len(l.lists[0]))
	if t.Dim() != 1 || t.Numel() != int64(len(read)) {
		l.Failf("Expected packed scalar Tensor to be of dimension 1 with %d elements, but it has sizes %v", len(read), t.Sizes())
	}
	if t.Keys()&tensor.Transformed != 0 || t.Keys()&tensor.Gradient != 0 && l.C.Recording() {
		products := make([]*tensor.Tensor, len(read))
		for i := range read {
			products[i], read[i] = l.Mul(l.lists[1][i], l.Select(t, 0, int64(i))), dtype.IntScalar(1)
		}
		l.lists[1] = products
		return read
	}
	for i := range read {
		if !backend.Known(t) {
			read[i] = dtype.IntScalar(1)
			continue
		}
		at := l.Select(t, 0, int64(i))
		v, err := l.C.Item(at)
		l.Check(err)
		read[i] = v
	}
	return read
}

// itemTensors returns the tensors of item i.
func (l *list) itemTensors(i int) []*tensor.Tensor {
	t := make([]*tensor.Tensor, len(l.lists))
	for k, of := range l.lists {
		t[k] = of[i]
	}
	return t
}

// collectResults returns the results of all items.
func (l *list) collectResults(f item) ([]*tensor.Tensor, error) {
	all := make([]*tensor.Tensor, len(l.lists[0]))
	for i := range all {
		all[i] = l.Track(f(nil, l.itemTensors(i), i))
	}
	return l.ReturnAll(all)
}

// writeInPlace writes the results of items to the tensors of the first list, after checking that all of them can be written. Items that can
// fail by their dtypes, shapes, devices or for lack of memory are computed before the first one is written.
func (l *list) writeInPlace(f item) error { return l.writeItems(f, l.hasDisjointItems()) }

// overwriteItems is writeInPlace for operators that only write: they have no result that could be computed before.
func (l *list) overwriteItems(f item) error { return l.writeItems(f, false) }

// writeItems checks items on meta tensors, and computes all of them before the first one is written unless apart is set.
func (l *list) writeItems(f item, apart bool) error {
	result := make([]*tensor.Tensor, len(l.lists[0]))
	for i, to := range l.lists[0] {
		l.Check(l.checkWritable(to))
		t := l.itemTensors(i)
		if l.cannotFail(t) || hasKeysBeyond(t, tensor.Gradient|tensor.Transformed) {
			continue
		}
		l.tryOnMeta(f, t, i)
		if apart && !hasOtherKeys(t) {
			result[i] = l.computeItem(f, t, i)
		}
	}
	for i, to := range l.lists[0] {
		if result[i] != nil {
			l.Copy(to, result[i], false)
			continue
		}
		l.CheckWritten(f(to, l.itemTensors(i), i))
	}
	return nil
}

// hasOtherKeys reports whether a tensor of an item has a dispatch key other than Gradient.
func hasOtherKeys(t []*tensor.Tensor) bool { return hasKeysBeyond(t, tensor.Gradient) }

// hasKeysBeyond reports whether a tensor of an item has a dispatch key that is not among keys.
func hasKeysBeyond(t []*tensor.Tensor, keys tensor.DispatchKeys) bool {
	return slices.ContainsFunc(t, func(o *tensor.Tensor) bool { return o.Keys()&^keys != 0 })
}

// hasDisjointItems reports whether no item reads or writes the memory that another one writes to.
func (l *list) hasDisjointItems() bool {
	writes := map[*storage.Storage]int{}
	for i, to := range l.lists[0] {
		if _, twice := writes[to.Storage()]; twice {
			return false
		}
		writes[to.Storage()] = i
	}
	for _, of := range l.lists[1:] {
		for i, t := range of {
			if k, written := writes[t.Storage()]; written && k != i {
				return false
			}
		}
	}
	return l.shared == nil || !slices.ContainsFunc(l.lists[0], func(t *tensor.Tensor) bool { return t.Storage() == l.shared.Storage() })
}

// computeItem returns the result of an item, cast to the dtype of its first tensor.
func (l *list) computeItem(f item, t []*tensor.Tensor, i int) *tensor.Tensor {
	to := t[0]
	result := l.Track(f(nil, t, i))
	switch {
	case !slices.Equal(result.Sizes(), to.Sizes()):
		l.Failf("output with shape %v doesn't match the broadcast shape %v", to.Sizes(), result.Sizes())
	case !dtype.CanCast(result.DType(), to.DType()):
		l.Failf("result type %v can't be cast to the desired output type %v", result.DType(), to.DType())
	case result.Device() != to.Device():
		l.Failf("expected out to be on device %v, as the result is, but it is on %v", result.Device(), to.Device())
	}
	return l.CastTo(result, to.DType())
}

// checkWritable returns an error for read-only memory and for leaves that require grad.
func (l *list) checkWritable(to *tensor.Tensor) error {
	if err := tensoriter.Fillable(l.Op, to); err != nil {
		return err
	}
	if to.Keys()&tensor.Gradient == 0 || !l.C.Recording() {
		return nil
	}
	wanted, err := dispatch.Autograd.RequiresGrad(l.C, to)
	if err != nil || !wanted {
		return err
	}
	if leaf, err := dispatch.Autograd.IsLeaf(l.C, to); err != nil || !leaf {
		return err
	}
	return status.Runtimef("%s: a leaf Variable that requires grad is being used in an in-place operation; do so under no_grad()", l.Op)
}

// cannotFail reports whether the call of an item cannot return an error: its tensors are dense floating-point tensors of one dtype, shape
// and device.
func (l *list) cannotFail(t []*tensor.Tensor) bool {
	to := t[0]
	if !to.DType().IsFloatingPoint() || to.Device().Type == device.CUDA || l.shared != nil || l.allocates || hasOtherKeys(t) {
		return false
	}
	return !slices.ContainsFunc(t, func(o *tensor.Tensor) bool {
		return o.DType() != to.DType() || o.Device() != to.Device() || !o.IsContiguous() || !slices.Equal(o.Sizes(), to.Sizes()) ||
			o != to && o.Offset() != to.Offset() && o.Storage() == to.Storage()
	})
}

// tryOnMeta returns an error for overlapping memory, and calls an item on one device with meta tensors.
func (l *list) tryOnMeta(f item, t []*tensor.Tensor, i int) {
	l.checkOverlap(t)
	probed := l.shared != nil && l.shared.Device() == t[0].Device() && !hasOtherKeys([]*tensor.Tensor{l.shared}) &&
		!l.shared.IsWrappedNumber()
	if slices.ContainsFunc(t, func(o *tensor.Tensor) bool { return o.Device() != t[0].Device() }) || l.shared != nil && !probed &&
		l.shared.Device() != device.Host {
		return
	}
	inner := build.New(l.C.Recorded(false), l.Op)
	defer inner.ReleaseAll()
	probe := func(o *tensor.Tensor) *tensor.Tensor {
		return inner.Track(tensor.EmptyStrided(l.Op, o.Sizes(), o.Strides(), o.DType(), device.Device{Type: device.Meta, Index: -1}))
	}
	probes := make([]*tensor.Tensor, len(t))
	for k, o := range t {
		probes[k] = probe(o)
	}
	if of := l.shared; probed {
		l.shared = probe(of)
		defer func() { l.shared = of }()
	}
	l.CheckWritten(f(probes[0], probes, i))
}

// checkOverlap returns an error for memory that the first tensor of an item overlaps with itself, or in part with another.
func (l *list) checkOverlap(t []*tensor.Tensor) {
	l.Check(tensoriter.Writable(l.Op, t[0]))
	for _, o := range t[1:] {
		same := o == t[0] || o.Offset() == t[0].Offset() && slices.Equal(o.Sizes(), t[0].Sizes()) && slices.Equal(o.Strides(),
			t[0].Strides())
		if !same {
			l.Check(tensoriter.Disjoint(l.Op, t[0], o))
		}
	}
}
