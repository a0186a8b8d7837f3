// Package tensoriter infers the shape, device and strides of the results of elementwise operators, checks outputs, and manages
// writing to them.
package tensoriter

import (
	"slices"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Shape broadcasts the sizes of all operands.
func Shape(op string, operands ...*tensor.Tensor) ([]int64, error) {
	sizes := operands[0].Sizes()
	for _, t := range operands[1:] {
		if t.Dim() == 0 || slices.Equal(sizes, t.Sizes()) {
			continue
		}
		if len(sizes) == 0 {
			sizes = t.Sizes()
			continue
		}
		var err error
		if sizes, err = shape.Broadcast(op, sizes, t.Sizes()); err != nil {
			return nil, err
		}
	}
	return sizes, nil
}

// Device returns where an operation on the operands runs: all on one device, save zero-dim CPU tensors, which join any.
func Device(op string, operands ...*tensor.Tensor) (device.Device, error) {
	at := operands[0]
	for _, t := range operands[1:] {
		if t.Device() == at.Device() {
			continue
		}
		switch {
		case at.Dim() == 0 && at.Device().Type == device.CPU:
			at = t
		case t.Dim() == 0 && t.Device().Type == device.CPU:
		default:
			return at.Device(), TwoDevices(op, at.Device(), t.Device())
		}
	}
	return at.Device(), nil
}

// TwoDevices returns the error of operands on two devices.
func TwoDevices(op string, a, b device.Device) error {
	return status.Runtimef("%s: expected all tensors to be on the same device, but found at least two devices, %v and %v", op, a, b)
}

// Allocate creates a fresh output whose strides follow the inputs', by the rules of PyTorch's TensorIterator.
func Allocate(op string, sizes []int64, d dtype.DType, dev device.Device, inputs ...*tensor.Tensor) (*tensor.Tensor, error) {
	return tensor.EmptyStrided(op, sizes, outputStrides(sizes, inputs), d, dev)
}

// outputStrides returns the strides of a new output, or nil for a contiguous one.
func outputStrides(sizes []int64, inputs []*tensor.Tensor) []int64 {
	if len(inputs) == 0 || len(sizes) < 2 {
		return nil
	}
	same, contiguous, dense := true, true, true
	for _, t := range inputs {
		same = same && slices.Equal(t.Sizes(), sizes)
		contiguous = contiguous && t.IsContiguous()
		dense = dense && slices.Equal(t.Strides(), inputs[0].Strides())
	}
	if contiguous && same {
		return nil
	}
	if same {
		if allHaveFormat(inputs, shape.ChannelsLast) {
			strides, _ := shape.FormatStrides("", sizes, shape.ChannelsLast)
			return strides
		}
		if dense && shape.IsDense(sizes, inputs[0].Strides()) {
			return inputs[0].Strides()
		}
	}
	rows := make([][]int64, 0, len(inputs))
	for _, t := range inputs {
		row := make([]int64, len(sizes))
		shape.BroadcastStrides(row, t.Sizes(), t.Strides(), sizes, t.DType().Size())
		rows = append(rows, row)
	}
	order := shape.Permutation(sizes, rows...)
	if slices.IsSorted(order) {
		return nil
	}
	return shape.PermutedStrides(sizes, order)
}

// allHaveFormat reports whether all inputs have a memory format.
func allHaveFormat(inputs []*tensor.Tensor, f shape.MemoryFormat) bool {
	for _, t := range inputs {
		if !t.IsFormat(f) {
			return false
		}
	}
	return true
}
