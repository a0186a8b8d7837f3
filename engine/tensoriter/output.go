package tensoriter

import (
	"cmp"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/warning"
)

// Sharing is the memory that an output may share with the inputs.
type Sharing uint8

// The memory that may be shared.
const (
	Apart           Sharing = iota // nothing
	InPlace                        // all of an input, element for element
	Beside                         // anything: the result is then written to a temporary and copied to the output
	InPlaceOrBeside                // anything, where all of an input element for element needs no copy
)

// Output is an operator's output: the caller's tensor or a new one. Open checks it before anything changes and sets To, the tensor to
// write. Done returns the result, or releases a new tensor after an error.
type Output struct {
	Op          string
	Name        string         // of the argument; empty for out
	Out         *tensor.Tensor // the caller's; nil for a fresh one
	Sizes       []int64
	Strides     []int64     // of a fresh or resized one; nil are row-major
	DType       dtype.DType // of the result
	Device      device.Device
	Exact       bool // Out has that dtype; otherwise one that results can be cast to
	Sharing     Sharing
	Fresh       bool        // Out is given any shape without a warning: nothing is computed of elements
	RowMajor    bool        // To is written from its first to its last byte, by a kernel that converts nothing:
	Writes      dtype.DType // then, the dtype that it writes
	To          *tensor.Tensor
	resizes     bool // Out has another shape than the result
	isTemporary bool // To is not the result yet
}

// Open checks Out, which may overlap inputs, and allocates or resizes To.
func (o *Output) Open(inputs ...*tensor.Tensor) error {
	if err := o.Check(inputs...); err != nil {
		return err
	}
	if err := o.warnResized(); err != nil {
		return err
	}
	return o.openTo(inputs)
}

// Broadcast opens the output of an elementwise operator on inputs: of their broadcast shape, on their device, with strides as PyTorch's
// TensorIterator computes them. Out may be one of the inputs, unless Sharing says otherwise.
func (o *Output) Broadcast(inputs ...*tensor.Tensor) (err error) {
	if err = o.broadcastInputs(inputs); err != nil {
		return err
	}
	if o.Out != nil {
		if err = o.warnResized(); err != nil {
			return err
		}
		return o.openTo(inputs)
	}
	// The result of open for its defaults, which speeds up small calls.
	o.To, err = tensor.EmptyStrided(o.Op, o.Sizes, o.Strides, o.DType, o.Device)
	return err
}

// BroadcastBoth is Broadcast for two results, which share no memory with each other.
func BroadcastBoth(first, second *Output, inputs ...*tensor.Tensor) error {
	if err := cmp.Or(first.broadcastInputs(inputs), second.broadcastInputs(inputs)); err != nil {
		return err
	}
	return openAll([]*Output{first, second}, inputs)
}

// broadcastInputs determines shape, device and layout of the result, and checks Out.
func (o *Output) broadcastInputs(inputs []*tensor.Tensor) (err error) {
	if o.Sizes, err = Shape(o.Op, inputs...); err != nil {
		return err
	}
	if o.Device, err = Device(o.Op, inputs...); err != nil {
		return err
	}
	if o.Sharing == Apart {
		o.Sharing = InPlace
	}
	if err = o.Check(inputs...); err != nil || o.Out != nil && !o.resizes {
		return err
	}
	o.Strides = outputStrides(o.Sizes, inputs)
	return nil
}

// OpenBoth opens the outputs of an operator with two results, which share no memory with each other.
func OpenBoth(first, second *Output, inputs ...*tensor.Tensor) error {
	return OpenAll([]*Output{first, second}, inputs...)
}

// OpenAll opens the outputs of an operator, which share no memory with each other.
func OpenAll(outputs []*Output, inputs ...*tensor.Tensor) error {
	for _, o := range outputs {
		if err := o.Check(inputs...); err != nil {
			return err
		}
	}
	return openAll(outputs, inputs)
}

func openAll(outputs []*Output, inputs []*tensor.Tensor) error {
	for i, o := range outputs {
		for _, other := range outputs[i+1:] {
			if err := o.checkDisjoint(other); err != nil {
				return err
			}
		}
	}
	for _, o := range outputs {
		if err := o.warnResized(); err != nil {
			return err
		}
	}
	for i, o := range outputs {
		if err := o.openTo(inputs); err != nil {
			for _, opened := range outputs[:i] {
				opened.releaseTo()
			}
			return err
		}
	}
	return nil
}

// CopyFrom writes t, which has the result's shape, to the opened output.
func (o *Output) CopyFrom(t *tensor.Tensor) error { return backend.Copy(o.Op, o.To, t) }

// Done returns the result, unless err is not nil.
func (o *Output) Done(err error) (*tensor.Tensor, error) {
	if err != nil || o.isTemporary {
		err = o.finishResult(err)
	}
	return o.To, err
}

// finishResult is Done without its common case, which is inlined. On an error it clears To.
func (o *Output) finishResult(err error) error {
	if err == nil {
		err = o.moveResult()
	}
	if err != nil {
		o.releaseTo()
	}
	return err
}

// DoneBoth is Done for two results.
func DoneBoth(first, second *Output, err error) (*tensor.Tensor, *tensor.Tensor, error) {
	err = DoneAll([]*Output{first, second}, err)
	return first.To, second.To, err
}

// DoneAll is Done for several results, which are then the To of each, or none.
func DoneAll(outputs []*Output, err error) error {
	for _, o := range outputs {
		if err == nil {
			err = o.moveResult()
		}
	}
	if err != nil {
		for _, o := range outputs {
			o.releaseTo()
		}
	}
	return err
}

// Check returns an error for an Out that cannot take the result. It changes nothing.
func (o *Output) Check(inputs ...*tensor.Tensor) error {
	out := o.Out
	if out == nil {
		return nil
	}
	if o.Name == "" && len(inputs) > 0 && inputs[0] == out {
		o.Name = "self"
	}
	if err := o.checkDType(); err != nil {
		return err
	}
	if out.Components() != nil {
		return status.NotImplementedf("%s: %s has layout %v and cannot be written to; use a strided tensor", o.Op, o.argumentName(), out.Layout())
	}
	if out.Device() != o.Device {
		return status.Runtimef("%s: expected %s to be on device %v, as the result is, but it is on %v", o.Op, o.argumentName(), o.Device,
			out.Device())
	}
	if err := o.checkShape(inputs); err != nil || o.Sharing >= Beside {
		return err
	}
	for _, in := range inputs {
		switch {
		case in.Storage() != out.Storage() || in == out && o.Sharing == InPlace:
		case o.overwritesInput(in):
			return overlapError(o.Op)
		}
	}
	return nil
}

// checkDType returns an error for an Out whose dtype cannot hold the result.
func (o *Output) checkDType() error {
	d := o.Out.DType()
	if o.Exact && d != o.DType {
		return status.Runtimef("%s: expected %s to have dtype %v, the result's, but got %v", o.Op, o.argumentName(), o.DType, d)
	}
	if !dtype.CanCast(o.DType, d) {
		return status.Runtimef("%s: result type %v can't be cast to the desired output type %v of %s; use a tensor of dtype %v", o.Op, o.DType, d,
			o.argumentName(), o.DType)
	}
	return nil
}

// argumentName returns the name of the argument for errors.
func (o *Output) argumentName() string { return cmp.Or(o.Name, "out") }

// checkShape returns an error for an Out that cannot be written in the result's shape.
func (o *Output) checkShape(inputs []*tensor.Tensor) error {
	if o.resizes = !slices.Equal(o.Out.Sizes(), o.Sizes); !o.resizes {
		return Writable(o.Op, o.Out)
	}
	if o.Sharing == InPlace && slices.Contains(inputs, o.Out) {
		return Fits(o.Op, o.Out, o.Sizes)
	}
	if err := Fillable(o.Op, o.Out); err != nil {
		return err
	}
	return o.Out.CheckResize(o.Op, o.Sizes)
}

// warnResized warns if Out has elements and will be resized.
func (o *Output) warnResized() error {
	if !o.resizes || o.Fresh || o.Out.Numel() == 0 {
		return nil
	}
	return warning.OutResized.Of(o.Op, "%s with shape %v, which has elements, is resized to the result's shape %v; give one of that shape, or resize_(0) it first",
		o.argumentName(), o.Out.Sizes(), o.Sizes)
}

// overwritesInput reports whether writing to Out changes elements of an input that are still to be read.
func (o *Output) overwritesInput(in *tensor.Tensor) bool {
	out := o.Out
	if in.Storage() != out.Storage() {
		return false
	}
	if in == out && o.resizes {
		return true // it is read in its present shape
	}
	to := regionOf(out)
	if o.resizes {
		to.Sizes, to.Strides = o.Sizes, shape.ContiguousStrides(o.Sizes)
	}
	switch from := regionOf(in); {
	case (o.Sharing == InPlace || o.Sharing == InPlaceOrBeside) && isSameRegion(from, to):
		return false
	case in == out && o.Sharing == Apart:
		return true
	default:
		return regionsOverlap(from, to)
	}
}

// checkDisjoint returns an error for two outputs that share elements.
func (o *Output) checkDisjoint(other *Output) error {
	if o.Out == nil || other.Out == nil {
		return nil
	}
	beside := *other
	beside.Sharing = Apart
	if o.Out == other.Out || o.Out.Storage() == other.Out.Storage() && (o.resizes || beside.overwritesInput(o.Out)) {
		return status.Runtimef("%s: unsupported operation: the outputs share memory; use outputs in separate memory", o.Op)
	}
	return nil
}

// openTo sets To: Out, or a new tensor.
func (o *Output) openTo(inputs []*tensor.Tensor) (err error) {
	switch {
	case o.Out == nil && !o.RowMajor:
		o.To, err = tensor.EmptyStrided(o.Op, o.Sizes, o.Strides, o.DType, o.Device)
	case o.Out == nil || !o.canWriteOut(inputs):
		o.isTemporary = o.Out != nil || o.Writes != o.DType
		o.To, err = tensor.Empty(o.Op, o.Sizes, o.temporaryDType(), o.Device)
	default:
		o.To = o.Out
		if o.resizes {
			err = o.resizeOut()
		}
	}
	return err
}

// resizeOut resizes Out to the result's shape, with the layout that a new result would have.
func (o *Output) resizeOut() error {
	err := o.Out.Resize(o.Op, o.Sizes)
	if err == nil && o.Strides != nil {
		err = o.Out.SetGeometry(o.Op, o.Sizes, o.Strides, o.Out.Offset())
	}
	return err
}

// temporaryDType returns the dtype of a To that is not Out.
func (o *Output) temporaryDType() dtype.DType {
	if o.RowMajor {
		return o.Writes
	}
	return o.DType
}

// canWriteOut reports whether Out itself can be written while the inputs are read. A device may report an error after a launch, and an Out
// of another shape must then be unchanged: it is resized once there is a result.
func (o *Output) canWriteOut(inputs []*tensor.Tensor) bool {
	if o.resizes && o.Device.Type != device.CPU && backend.Known(o.Out) {
		return false
	}
	if o.RowMajor && (o.Out.DType() != o.Writes || !o.resizes && !o.Out.IsContiguous()) {
		return false
	}
	return o.Sharing < Beside || !slices.ContainsFunc(inputs, o.overwritesInput)
}

// moveResult moves a result in a temporary to Out, or to a new tensor of the result's dtype.
func (o *Output) moveResult() error {
	to := o.Out
	switch {
	case !o.isTemporary:
		return nil
	case to == nil:
		var err error
		if to, err = tensor.Empty(o.Op, o.Sizes, o.DType, o.Device); err != nil {
			return err
		}
	case o.resizes:
		if err := o.castTemporary(); err != nil {
			return err
		}
		if err := o.resizeOut(); err != nil {
			return err
		}
	}
	return o.moveTo(to)
}

// moveTo copies the elements of To to a tensor, which becomes To.
func (o *Output) moveTo(to *tensor.Tensor) error {
	if err := backend.Copy(o.Op, to, o.To); err != nil {
		if to != o.Out {
			to.Release()
		}
		return err
	}
	o.releaseTo()
	o.To = to
	return nil
}

// castTemporary converts To to the dtype of Out on the device, before Out is resized: the device may not support the cast, and Out must
// then be unchanged.
func (o *Output) castTemporary() error {
	if o.Device.Type == device.CPU || o.To.DType() == o.Out.DType() {
		return nil
	}
	to, err := tensor.Empty(o.Op, o.Sizes, o.Out.DType(), o.Device)
	if err != nil {
		return err
	}
	return o.moveTo(to)
}

// releaseTo releases To unless it is Out, and clears it.
func (o *Output) releaseTo() {
	if o.To != nil && o.To != o.Out {
		o.To.Release()
	}
	o.To = nil
}

// SameDType returns an error for an out of another dtype than the result's.
func SameDType(op string, out *tensor.Tensor, d dtype.DType) error {
	if out == nil {
		return nil
	}
	o := Output{Op: op, Out: out, DType: d, Exact: true}
	return o.checkDType()
}

// Fits returns an error for a tensor that is an input too and would have to change its shape to take the result.
func Fits(op string, out *tensor.Tensor, sizes []int64) error {
	if !slices.Equal(out.Sizes(), sizes) {
		return status.Runtimef("%s: output with shape %v doesn't match the broadcast shape %v; an output that is also an input cannot be resized, use another output",
			op, out.Sizes(), sizes)
	}
	return nil
}

// Fillable returns an error for read-only memory. Elements may overlap if all are assigned the same value.
func Fillable(op string, t *tensor.Tensor) error {
	if t.Storage().ReadOnly() {
		return status.Runtimef("%s: the written-to tensor is over read-only memory; clone() it first", op)
	}
	return nil
}

// Writable returns an error for read-only memory, and tensors in which elements share memory.
func Writable(op string, t *tensor.Tensor) error {
	if err := Fillable(op, t); err != nil {
		return err
	}
	if SelfOverlaps(t) {
		return status.Runtimef("%s: unsupported operation: more than one element of the written-to tensor refers to a single memory location (sizes %v, strides %v); clone() it before the operation",
			op, t.Sizes(), t.Strides())
	}
	return nil
}
