package backend_test

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// toy is a device with a list of blocks as memory. It supports the launches of this file's tests.
var toy = device.Device{Type: device.XPU, Index: 0}

type blocks struct {
	pins map[unsafe.Pointer]*runtime.Pinner
}

func (b blocks) Allocate(_ string, _ device.Device, nbytes int64, _ bool) (storage.Block, error) {
	data := unsafe.Pointer(unsafe.SliceData(make([]float64, nbytes/8+1)))
	b.pins[data] = new(runtime.Pinner)
	b.pins[data].Pin(data)
	return storage.Block{Data: data, Size: nbytes}, nil
}

func (b blocks) Free(_ device.Device, block storage.Block) {
	b.pins[block.Data].Unpin()
	delete(b.pins, block.Data)
}

func (blocks) Copy(_ device.Device, to, from unsafe.Pointer, nbytes int64) {
	copy(unsafe.Slice((*byte)(to), nbytes), unsafe.Slice((*byte)(from), nbytes))
}

func floats(t *tensor.Tensor) []float32 { return unsafe.Slice((*float32)(t.Data()), t.Numel()) }

var launched []string

func init() {
	storage.Register(device.XPU, blocks{map[unsafe.Pointer]*runtime.Pinner{}})
	backend.Register(device.XPU, backend.Device{
		Elementwise: func(op string, w backend.Elementwise) error {
			launched = append(launched, op+" "+w.Kernel.Name())
			for i := range floats(w.Operands[0]) {
				floats(w.Operands[0])[i] = floats(w.Operands[1])[i] + floats(w.Operands[2])[i]
			}
			return nil
		},
		Copy: func(op string, w backend.Copying) error {
			launched = append(launched, op)
			copy(floats(w.To), floats(w.From))
			return nil
		},
	})
}

func made(t *testing.T, x *tensor.Tensor, err error) *tensor.Tensor {
	t.Helper()
	require.NoError(t, err)
	t.Cleanup(x.Release)
	return x
}

func moved(t *testing.T, x *tensor.Tensor, to device.Device) *tensor.Tensor {
	t.Helper()
	y, err := tensor.Empty("to", x.Sizes(), x.DType(), to)
	require.NoError(t, err)
	require.NoError(t, backend.Copy("to", y, x))
	return made(t, y, nil)
}

// A device that is registered gets the work on its tensors, with outputs that are its own.
func TestWorkGoesToTheDeviceOfTheTensors(t *testing.T) {
	x, err := ops.FromData(uintptr(unsafe.Pointer(&[]float32{1, 2, 3}[0])), []int64{3}, dtype.Float32)
	x = made(t, x, err)
	there := moved(t, x, toy)
	launched = nil
	sum, err := ops.Add(nil, there, there, dtype.IntScalar(1))
	sum = made(t, sum, err)
	assert.Equal(t, toy, sum.Device())
	back := moved(t, sum, device.Host)
	assert.Equal(t, []float32{2, 4, 6}, floats(back))
	assert.Equal(t, []string{"add add", "to"}, launched)
}

// A launch that a device does not support returns an error with the names of the operator, the device and the launch.
func TestUnsupportedLaunchesAreRejected(t *testing.T) {
	x, err := tensor.Empty("test", []int64{3}, dtype.Float32, toy)
	x = made(t, x, err)
	held := storage.MemoryStats().InUse
	_, err = ops.Sum(nil, x, nil, false, dtype.None)
	assert.EqualError(t, err, "sum is not implemented on xpu, which has no Reduce; move the tensors to the cpu")
	assert.Equal(t, held, storage.MemoryStats().InUse)
	_, err = ops.Item(made(t, sliced(t, x), nil))
	assert.EqualError(t, err, "item is not implemented on xpu, which has no Read; move the tensors to the cpu")
}

func sliced(t *testing.T, x *tensor.Tensor) *tensor.Tensor {
	t.Helper()
	v, err := x.View("test", []int64{1}, []int64{1}, 1)
	require.NoError(t, err)
	return v
}

// Meta computes nothing, and returns an error with the operator's name for results that depend on values.
func TestMetaRejectsResultsThatDependOnValues(t *testing.T) {
	x, err := tensor.Empty("test", []int64{1}, dtype.Float32, device.Device{Type: device.Meta, Index: -1})
	x = made(t, x, err)
	y, err := ops.Exp(nil, x)
	made(t, y, err)
	const why = ": the result depends on the values of elements, which tensors on the meta device do not have"
	_, err = ops.Item(x)
	assert.EqualError(t, err, "item"+why)
	_, err = ops.Nonzero(nil, x)
	assert.EqualError(t, err, "nonzero"+why)
	_, err = ops.Equal(x, x)
	assert.EqualError(t, err, "equal"+why)
	_, _, _, err = ops.Unique(x, true, false, false, ops.NoInt)
	assert.EqualError(t, err, "unique"+why)
	host, err := tensor.Empty("test", []int64{1}, dtype.Float32, device.Host)
	host = made(t, host, err)
	assert.EqualError(t, ops.Copy(host, x, false), "copy_: cannot copy out of meta tensor; no data!")
}
