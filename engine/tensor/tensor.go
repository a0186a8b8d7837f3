// Package tensor defines tensors: a storage with a dtype, sizes, strides and an offset. This package checks these whenever they
// are set, by a caller, a file or another library, so that no tensor accesses memory outside of its storage.
package tensor

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
)

// Layout is how a tensor's elements are kept. The numbers are those of tensor_layout in tensor.h.
type Layout int8

// The layouts.
const (
	NoLayout Layout = -1
	Strided  Layout = 0
	COO      Layout = 1
	CSR      Layout = 2
	CSC      Layout = 3
	BSR      Layout = 4
	BSC      Layout = 5
)

// inlineDims is the number of dimensions for which sizes and strides are stored inside of the tensor.
const inlineDims = 5

// Tensor is a view of a storage. It holds one reference to the storage, which Release gives up.
type Tensor struct {
	storage    *storage.Storage
	sizes      []int64
	strides    []int64
	offset     int64
	numel      int64
	reach      int64 // bytes of the storage up to the end of the last element; 0 without elements
	device     device.Device
	dtype      dtype.DType
	kind       metadata
	contiguous bool
	changing   atomic.Int32 // started changes of the geometry, at most one of which succeeds: no call may begin to use it
	allocation *allocation  // the allocation that the tensor is part of, if any
	external   *external    // or this one
	inline     [2 * inlineDims]int64
}

// allocation is a tensor allocated together with its storage.
type allocation struct {
	Tensor
	own   storage.Storage
	wraps *wrappedAllocation // that the allocation is part of, if any
}

// setGeometry sets the sizes and strides of t, in its own memory when they fit. Strides that are nil are row-major.
func (t *Tensor) setGeometry(sizes, strides []int64) {
	n := len(sizes)
	if n <= inlineDims {
		t.sizes, t.strides = t.inline[:n:n], t.inline[inlineDims:inlineDims+n:inlineDims+n]
	} else {
		both := make([]int64, 2*n)
		t.sizes, t.strides = both[:n:n], both[n:]
	}
	//lint:ignore S1001 a call of copy takes longer than few dimensions
	for i, size := range sizes {
		t.sizes[i] = size
	}
	if t.contiguous = strides == nil; t.contiguous {
		shape.Strides(t.strides, sizes)
		return
	}
	//lint:ignore S1001 as above
	for i, stride := range strides {
		t.strides[i] = stride
	}
	t.contiguous = shape.IsContiguous(t.sizes, t.strides)
}

// Empty creates a contiguous tensor of arbitrary values.
func Empty(op string, sizes []int64, d dtype.DType, dev device.Device) (*Tensor, error) {
	return createStrided(op, sizes, nil, d, dev, false)
}

// Zeros creates a contiguous tensor of zeros.
func Zeros(op string, sizes []int64, d dtype.DType, dev device.Device) (*Tensor, error) {
	return createStrided(op, sizes, nil, d, dev, true)
}

// EmptyStrided creates a tensor with the given strides, which must not be negative, over a storage just large enough; nil are those of a
// contiguous one.
func EmptyStrided(op string, sizes, strides []int64, d dtype.DType, dev device.Device) (*Tensor, error) {
	return createStrided(op, sizes, strides, d, dev, false)
}

// createStrided creates a tensor with the given strides; nil are those of a contiguous one.
func createStrided(op string, sizes, strides []int64, d dtype.DType, dev device.Device, zero bool) (*Tensor, error) {
	numel, err := shape.Numel(op, sizes)
	if err != nil {
		return nil, err
	}
	if len(sizes) > shape.MaxDims {
		return nil, status.Runtimef("%s: %d dimensions exceed the maximum of %d", op, len(sizes), shape.MaxDims)
	}
	if d == dtype.Unpromoted {
		return nil, status.Unpromoted(op)
	}
	if numel > d.Elements(1<<62) {
		return nil, status.Runtimef("%s: shape %v of %v needs more bytes than a 64-bit integer can represent", op, sizes, d)
	}
	reach := numel
	if strides != nil {
		if reach, err = countElements(op, sizes, strides, d); err != nil {
			return nil, err
		}
	}
	f := takeParked(numel*d.Size(), dev, strides)
	parked := f != nil
	if !parked {
		f = new(allocation)
	}
	t := &f.Tensor
	t.allocation = f
	t.setGeometry(sizes, strides)
	t.dtype, t.numel, t.device = d, numel, dev
	if parked {
		err = f.own.Unpark(op, reach*d.Size(), zero)
	} else {
		err = f.own.Init(op, reach*d.Size(), dev, zero)
	}
	if err != nil {
		if parked {
			f.own.Discard()
		}
		return nil, err
	}
	t.storage, t.reach = &f.own, f.own.Nbytes()
	return t, nil
}

// countElements returns how many elements a storage needs for a geometry that begins at its first one.
func countElements(op string, sizes, strides []int64, d dtype.DType) (int64, error) {
	if len(strides) != len(sizes) {
		return 0, status.Runtimef("%s: sizes %v and strides %v must have the same length", op, sizes, strides)
	}
	for i, s := range strides {
		if s < 0 {
			return 0, status.Runtimef("%s: stride %d of dimension %d is negative in %v", op, s, i, strides)
		}
	}
	_, hi, err := shape.Span(op, sizes, strides, 0)
	if err != nil {
		return 0, err
	}
	if hi >= d.Elements(1<<62) {
		return 0, status.Runtimef("%s: shape %v of %v needs more bytes than a 64-bit integer can represent", op, sizes, d)
	}
	return hi + 1, nil
}

// New views s, taking one more reference to it. The geometry is proved to stay inside the storage.
func New(op string, s *storage.Storage, d dtype.DType, sizes, strides []int64, offset int64) (*Tensor, error) {
	numel, reach, err := checkGeometry(op, s, d, sizes, strides, offset)
	if err != nil {
		return nil, err
	}
	if err := storage.CheckView(op); err != nil {
		return nil, err
	}
	t := takeView()
	t.storage, t.dtype, t.offset, t.numel, t.reach, t.device = s.Retain(), d, offset, numel, reach, s.Device()
	t.setGeometry(sizes, strides)
	return t, nil
}

// Wrapper returns a tensor on dev with sizes and without elements, for tensor kinds that keep their elements in the state of their dispatch
// key. Its strides are 0, over a storage of zero bytes.
func Wrapper(op string, sizes []int64, d dtype.DType, dev device.Device, l Layout) (*Tensor, error) {
	t, err := Empty(op, nil, d, device.Device{Type: device.Meta, Index: -1})
	if err != nil {
		return nil, err
	}
	t.device, t.kind.layout = dev, l
	if err := t.setWrapperSizes(op, sizes); err != nil {
		t.Release()
		return nil, err
	}
	return t, nil
}

// setWrapperSizes sets the sizes of a tensor without elements, with strides of 0.
func (t *Tensor) setWrapperSizes(op string, sizes []int64) error {
	strides := make([]int64, len(sizes))
	numel, reach, err := checkGeometry(op, t.storage, t.dtype, sizes, strides, 0)
	if err != nil {
		return err
	}
	t.numel, t.reach = numel, reach
	t.setGeometry(slices.Clone(sizes), strides)
	t.contiguous = false
	return nil
}

// external is a tensor over memory of another owner, allocated together with its storage.
type external struct {
	Tensor
	own   storage.Storage
	owner storage.External
}

// FromExternal views nbytes at data on the CPU, which owner keeps alive. On an error, its deleter is not called.
func FromExternal(op string, data unsafe.Pointer, nbytes int64, d dtype.DType, sizes, strides []int64, owner storage.External,
	readOnly bool, dev device.Device) (*Tensor, error) {
	g := takeExternal()
	g.own.InitExternal(data, nbytes, dev, &g.owner, readOnly)
	numel, reach, err := checkGeometry(op, &g.own, d, sizes, strides, 0)
	if err != nil {
		g.own.Release()
		return nil, err
	}
	g.owner = owner
	t := &g.Tensor
	t.storage, t.dtype, t.numel, t.reach, t.device, t.external = &g.own, d, numel, reach, dev, g
	t.setGeometry(sizes, strides)
	return t, nil
}

// checkGeometry checks that a geometry stays inside a storage, and returns its number of elements and the number of bytes of the storage
// up to its end. The lists in its messages are copies, so that a caller's lists may be on the stack.
func checkGeometry(op string, s *storage.Storage, d dtype.DType, sizes, strides []int64, offset int64) (numel, reach int64, err error) {
	if len(sizes) != len(strides) {
		return 0, 0, status.Runtimef("%s: sizes %v and strides %v must have the same length", op, slices.Clone(sizes), slices.Clone(strides))
	}
	if len(sizes) > shape.MaxDims {
		return 0, 0, status.Runtimef("%s: %d dimensions exceed the maximum of %d", op, len(sizes), shape.MaxDims)
	}
	if numel, err = shape.Numel(op, sizes); err != nil {
		return 0, 0, err
	}
	if offset < 0 || offset > 1<<62 {
		return 0, 0, status.Runtimef("%s: storage offset %d is out of range; it must not be negative", op, offset)
	}
	for i, stride := range strides {
		if stride < 0 {
			return 0, 0, status.Runtimef("%s: stride %d of dimension %d is negative in %v; negative strides are not supported", op, stride, i,
				slices.Clone(strides))
		}
	}
	lo, hi, err := shape.Span(op, sizes, strides, offset)
	if err != nil {
		return 0, 0, err
	}
	if have := d.Elements(s.Nbytes()); numel > 0 && (lo < 0 || hi >= have) {
		return 0, 0, status.Runtimef("%s: sizes %v, strides %v and storage offset %d of %v need a storage of %d bytes, but it has %d",
			op, slices.Clone(sizes), slices.Clone(strides), offset, d, (hi+1)*d.Size(), s.Nbytes())
	}
	if numel > 0 {
		reach = (hi + 1) * d.Size()
	}
	return numel, reach, nil
}

// View returns a tensor of the same storage and dtype with another geometry.
func (t *Tensor) View(op string, sizes, strides []int64, offset int64) (*Tensor, error) {
	return t.ViewAs(op, t.dtype, sizes, strides, offset)
}

// ViewAs is View with another dtype.
func (t *Tensor) ViewAs(op string, d dtype.DType, sizes, strides []int64, offset int64) (*Tensor, error) {
	v, err := New(op, t.storage, d, sizes, strides, offset)
	if err == nil {
		v.device, v.kind.detached, v.kind.viewing, v.kind.writes = t.device, t.kind.detached, true, t.kind.writes
	}
	return v, err
}

// UsedElsewhere reports whether a call on another thread uses a tensor. The layer that accepts calls sets it.
var UsedElsewhere = func(*Tensor) bool { return false }

// UsedByOthers reports whether another running call uses a tensor that contains t: a call on another thread, or one that runs the present
// call in a hook. The layer that accepts calls sets it.
var UsedByOthers = func(*Tensor) bool { return false }

// checkUnused returns an error if another running call uses t, whose parts, values or tangent the present call is about to release.
func (t *Tensor) checkUnused(op, change string) error {
	if UsedByOthers(t) {
		return status.Runtimef("%s: the tensor of sizes %v is in use by a call on another thread, or by the call that invoked this hook, and cannot %s; wait until that call returns",
			op, t.sizes, change)
	}
	return nil
}

// Busy reports whether the tensor's geometry is being changed, or the bytes of its storage moved.
func (t *Tensor) Busy() bool { return t.changing.Load() != 0 || t.storage.Moving() }

// Ready reports whether a call can begin to use the tensor: it is not busy, and its storage, which can be made smaller under its tensors,
// still has all bytes that it reaches.
func (t *Tensor) Ready() bool { return !t.Busy() && t.reach <= t.storage.Nbytes() }

// Unready returns the error of op, which needs the tensor and finds it not ready.
func (t *Tensor) Unready(op string) error {
	if l, ok := t.kind.state.(lostState); ok {
		return status.Forkedf("%s: the tensor of sizes %v was made before fork() and %s", op, t.Sizes(), string(l))
	}
	if have := t.storage.Nbytes(); t.reach <= have {
		return status.Runtimef("%s: the tensor, or another one over its storage, is being resized by another thread", op)
	}
	return status.Runtimef("%s: a tensor of sizes %v and dtype %v needs a storage of %d bytes, but its storage was resized to %d; resize the storage or the tensor",
		op, t.Sizes(), t.DType(), t.reach, t.storage.Nbytes())
}

// Reach returns the number of bytes that the storage must have.
func (t *Tensor) Reach() int64 { return t.reach }

// Set makes t a view of s with a new geometry, giving up the old storage. Nothing changes on an error.
func (t *Tensor) Set(op string, s *storage.Storage, d dtype.DType, sizes, strides []int64, offset int64) error {
	return t.setView(op, s, d, sizes, strides, offset, true)
}

// setView is Set. It notifies the autograd metadata, of a write if written is set.
func (t *Tensor) setView(op string, s *storage.Storage, d dtype.DType, sizes, strides []int64, offset int64, written bool) error {
	numel, reach, err := checkGeometry(op, s, d, sizes, strides, offset)
	if err != nil {
		return err
	}
	t.changing.Add(1)
	defer t.changing.Add(-1)
	if UsedElsewhere(t) {
		return status.Runtimef("%s: the tensor of sizes %v is in use by a call on another thread and cannot change its shape; wait until that call returns",
			op, t.sizes)
	}
	t.moveTo(s, d, sizes, strides, offset, numel, reach)
	t.kind.wrapped, t.kind.fixed = false, false // a scalar stays one as long as its shape and storage are not replaced
	if names := t.Names(); len(names) != len(sizes) {
		t.SetNames(nil)
	}
	t.notifyMoved(written)
	return nil
}

// moveTo makes t a view of s with a checked geometry, and releases its former storage.
func (t *Tensor) moveTo(s *storage.Storage, d dtype.DType, sizes, strides []int64, offset, numel, reach int64) {
	sizes, strides = slices.Clone(sizes), slices.Clone(strides)
	if s != t.storage {
		t.device = s.Device()
	}
	s.Retain()
	t.storage.Release()
	t.storage, t.dtype, t.offset, t.numel, t.reach = s, d, offset, numel, reach
	t.setGeometry(sizes, strides)
}

// notifyMoved notifies the autograd metadata of a new storage or geometry.
func (t *Tensor) notifyMoved(written bool) {
	if h := t.kind.autograd; h != nil {
		h.Moved(t, written)
	}
}

// Follow updates an alias of t, which autograd keeps, to the new storage and geometry of t.
func (t *Tensor) Follow(now *Tensor) {
	t.moveTo(now.storage, now.dtype, now.sizes, now.strides, now.offset, now.numel, now.reach)
}

// Become replaces t by other, which must be of the same kind. t keeps its autograd metadata, and its names if they fit. On an error,
// nothing changes.
func (t *Tensor) Become(op string, other *Tensor) error {
	if a, b := t.kindName(), other.kindName(); a != b || (t.kind.keys^other.kind.keys)&(Extension1|Extension2) != 0 {
		return status.Runtimef("%s: a %s tensor cannot be set to a %s one; convert that first", op, a, b)
	}
	if (t.kind.keys|other.kind.keys)&Transformed != 0 {
		return status.NotImplementedf("%s: tensors inside a transform, such as vmap and jvp, cannot be replaced; use copy_()", op)
	}
	t.changing.Add(1)
	defer t.changing.Add(-1)
	if other.Components() != nil {
		return t.replaceComponents(op, other)
	}
	if err := t.setView(op, other.storage, other.dtype, other.sizes, other.strides, other.offset, false); err != nil {
		return err
	}
	t.kind.state = other.kind.state
	t.kind.keys = t.kind.keys&^Lazy | other.Lazy()
	return nil
}

// kindName returns the name of t's kind for errors.
func (t *Tensor) kindName() string {
	if t.kind.keys&Quantized != 0 {
		return "quantized"
	}
	return t.kind.layout.String()
}

// SetGeometry changes sizes, strides and offset over the same storage.
func (t *Tensor) SetGeometry(op string, sizes, strides []int64, offset int64) error {
	return t.Set(op, t.storage, t.dtype, sizes, strides, offset)
}

// Resize returns t contiguous strides for sizes, growing its storage where they reach further.
func (t *Tensor) Resize(op string, sizes []int64) error {
	return t.ResizeStrided(op, sizes, shape.ContiguousStrides(sizes))
}

// ResizeStrided is Resize to given strides.
func (t *Tensor) ResizeStrided(op string, sizes, strides []int64) error {
	need, err := t.neededBytes(op, sizes, strides)
	if err != nil {
		return err
	}
	if need > t.storage.Nbytes() {
		if err := t.storage.Resize(op, need); err != nil {
			return err
		}
	}
	return t.SetGeometry(op, sizes, strides, t.offset)
}

// CheckResize returns an error for sizes to which Resize cannot resize t.
func (t *Tensor) CheckResize(op string, sizes []int64) error {
	need, err := t.neededBytes(op, sizes, shape.ContiguousStrides(sizes))
	if err != nil || need <= t.storage.Nbytes() {
		return err
	}
	return t.storage.CheckResize(op, need)
}

// neededBytes returns the number of bytes that the storage must have for a geometry.
func (t *Tensor) neededBytes(op string, sizes, strides []int64) (int64, error) {
	if _, err := shape.Numel(op, sizes); err != nil {
		return 0, err
	}
	_, hi, err := shape.Span(op, sizes, strides, t.offset)
	if err != nil {
		return 0, err
	}
	if hi >= (1<<62)/t.dtype.Size() {
		return 0, status.Runtimef("%s: shape %v of %v needs more bytes than a 64-bit integer can represent", op, sizes, t.dtype)
	}
	return (hi + 1) * t.dtype.Size(), nil
}

// Alias returns another tensor with the same storage and geometry.
func (t *Tensor) Alias() *Tensor {
	a := takeView()
	a.storage, a.dtype, a.offset, a.numel, a.reach = t.storage.Retain(), t.dtype, t.offset, t.numel, t.reach
	a.kind, a.device = t.kind, t.device
	if a.kind.keys != 0 {
		a.kind.retainAll()
	}
	a.setGeometry(t.sizes, t.strides)
	return a
}

// WrappedNumber creates a zero-dim CPU tensor that counts as a plain number in promotion. It keeps all of the scalar's bits.
func WrappedNumber(s dtype.Scalar) (*Tensor, error) {
	d := dtype.Float64
	switch s.Kind {
	case dtype.KindBool:
		d = dtype.Bool
	case dtype.KindInt:
		d = dtype.Int64
	case dtype.KindUint:
		d = dtype.Uint64
	case dtype.KindComplex:
		d = dtype.Complex128
	}
	t, err := Empty("scalar", nil, d, device.Host)
	if err != nil {
		return nil, err
	}
	Put(t.Data(), d, s)
	t.kind.wrapped = true
	return t, nil
}

// FixedNumber returns a WrappedNumber that an operator creates: a constant that autograd saves without a copy.
func FixedNumber(s dtype.Scalar) (*Tensor, error) {
	t, err := WrappedNumber(s)
	if err != nil {
		return nil, err
	}
	t.kind.fixed = true
	return t, nil
}

// Release releases the tensor's reference to its storage. The tensor must not be used afterwards.
func (t *Tensor) Release() { t.release() }

// release is Release, and reports whether the reference was the last.
func (t *Tensor) release() bool {
	if t == nil || t.storage == nil {
		return false
	}
	s := t.storage
	t.storage = nil
	if t.kind.keys != 0 {
		t.releaseMetadata()
	}
	return s.Release()
}

// Storage that the tensor views; the reference stays the tensor's.
func (t *Tensor) Storage() *storage.Storage { return t.storage }

// DType of the elements.
func (t *Tensor) DType() dtype.DType { return t.dtype }

// Device returns where the tensor is: its storage's, or that of a wrapper's parts.
func (t *Tensor) Device() device.Device { return t.device }

// IsMeta reports whether the tensor has no bytes.
func (t *Tensor) IsMeta() bool { return t.device.Type == device.Meta }

// Layout of the tensor.
func (t *Tensor) Layout() Layout { return t.kind.layout }

// Sizes of the dimensions; not to be changed.
func (t *Tensor) Sizes() []int64 { return t.sizes }

// Strides in elements; not to be changed.
func (t *Tensor) Strides() []int64 { return t.strides }

// Dim returns the number of dimensions.
func (t *Tensor) Dim() int { return len(t.sizes) }

// Offset of the first element in its storage, in elements.
func (t *Tensor) Offset() int64 { return t.offset }

// Numel returns the number of elements.
func (t *Tensor) Numel() int64 { return t.numel }

// IsWrappedNumber reports whether the tensor represents a plain number.
func (t *Tensor) IsWrappedNumber() bool { return t.kind.wrapped }

// IsFixedNumber reports whether the tensor is a FixedNumber.
func (t *Tensor) IsFixedNumber() bool { return t.kind.fixed }

// Rank returns the tensor's weight in promotion.
func (t *Tensor) Rank() dtype.Rank {
	switch {
	case t.kind.wrapped:
		return dtype.Number
	case len(t.sizes) == 0, t.kind.zeroDim:
		return dtype.ZeroDim
	}
	return dtype.Dimensioned
}

// IsContiguous reports whether the elements are contiguous in row-major order.
func (t *Tensor) IsContiguous() bool { return t.contiguous }

// IsFormat reports whether the elements are contiguous in memory format f.
func (t *Tensor) IsFormat(f shape.MemoryFormat) bool { return shape.IsFormat(t.sizes, t.strides, f) }

// Data returns the address of the first element; nil when there are no bytes.
func (t *Tensor) Data() unsafe.Pointer {
	p := t.storage.Data()
	if p == nil {
		return nil
	}
	return unsafe.Add(p, t.offset*t.dtype.Size())
}
