package cuda

import (
	"runtime"
	"sync"

	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/cuda/cublas"
	"github.com/libtensor/libtensor/cuda/cusolver"
	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

// card is the state of a device in use: its primary context, streams, memory pool, loaded kernels and library handles.
type card struct {
	index   int
	at      cu.Device
	major   int // of its compute capability
	context cu.CUContext
	pool    pool
	streams streams
	blas    handle[*cublas.Handle]
	solver  handle[*cusolver.Handle]
	plans   plans

	mu        sync.Mutex
	functions map[kernels.Entry]cu.Function
	peers     map[int]bool // those whose memory it may use
}

// machine is a stream (CUstream) of a device, with the free blocks that it used last.
type machine struct {
	*card
	number int // among the device's streams
	stream cu.Stream
	free   shelf // of blocks whose last user was this stream
}

var cards struct {
	sync.Mutex
	byIndex map[int]*card
}

// failed returns the error of a call of the driver that op made.
func failed(op, call string, err error) error {
	if err == nil {
		return nil
	}
	return status.Runtimef("%s: CUDA error in %s: %s", op, call, driver.Text(err))
}

// open returns the card of a device. The first call for a device retains its primary context and creates its default stream.
func open(op string, d device.Device) (*card, error) {
	cards.Lock()
	defer cards.Unlock()
	if c := cards.byIndex[int(d.Index)]; c != nil {
		return c, nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := &card{index: int(d.Index), functions: map[kernels.Entry]cu.Function{}, peers: map[int]bool{}}
	var err error
	if c.at, err = cu.GetDevice(c.index); err != nil {
		return nil, failed(op, "cuDeviceGet", err)
	}
	if c.major, err = c.at.Attribute(cu.ComputeCapabilityMajor); err != nil {
		return nil, failed(op, "cuDeviceGetAttribute", err)
	}
	if c.context, err = c.at.RetainPrimaryCtx(); err != nil {
		return nil, failed(op, "cuDevicePrimaryCtxRetain", err)
	}
	if _, err = driver.Enter(c.context, c.index); err != nil {
		err = failed(op, "cuCtxSetCurrent", err)
	} else {
		_, err = c.addStream(op, 0)
	}
	if err != nil {
		_ = c.at.ReleasePrimaryCtx()
		return nil, err
	}
	if cards.byIndex == nil {
		cards.byIndex = map[int]*card{}
	}
	cards.byIndex[c.index] = c
	return c, nil
}

// on calls f with the context of a device and the current stream of the calling thread there, locked to its OS thread.
func on(op string, d device.Device, f func(m *machine) error) error {
	c, err := open(op, d)
	if err != nil {
		return err
	}
	return c.run(op, f)
}

func (c *card) run(op string, f func(m *machine) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	number, err := driver.Enter(c.context, c.index)
	if err != nil {
		return failed(op, "cuCtxSetCurrent", err)
	}
	return f(c.stream(number))
}

// function returns the kernel of an entry. The first use loads it, as a separate module.
func (c *card) function(op string, entry kernels.Entry) (cu.Function, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.functions[entry]; ok {
		return f, nil
	}
	unit, ok := kernels.Unit(entry)
	if !ok {
		return cu.Function{}, status.NotImplementedf("%s is not implemented on cuda: kernel %v does not exist; move the tensors to the cpu", op,
			entry)
	}
	text, err := kernels.PTX(unit, entry)
	if err != nil {
		return cu.Function{}, status.Runtimef("%s: the kernels of %s cannot be read: %v", op, unit, err)
	}
	module, err := cu.LoadData(text)
	if err != nil {
		return cu.Function{}, failed(op, "cuModuleLoadData", err)
	}
	f, err := module.Function(entry.String())
	if err != nil {
		_ = module.Unload()
		return f, failed(op, "cuModuleGetFunction", err)
	}
	c.functions[entry] = f
	return f, nil
}

// synchronize waits for all work of the stream.
func (m *machine) synchronize(op string) error {
	return failed(op, "cuStreamSynchronize", m.stream.Synchronize())
}
