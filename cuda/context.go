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

// deviceContext is the state of a device in use: its primary context, streams, memory pool, loaded kernels and library handles.
type deviceContext struct {
	index   int
	at      cu.Device
	major   int // of its compute capability
	context cu.CUContext
	pool    memoryPool
	streams streamTable
	blas    libraryHandle[*cublas.Handle]
	faults  indexFaults
	solver  libraryHandle[*cusolver.Handle]
	plans   planCache

	mu        sync.Mutex
	functions map[kernels.Entry]cu.Function
	peers     map[int]bool // those whose memory it may use
}

// deviceStream is a stream (CUstream) of a device, with the free blocks that it used last.
type deviceStream struct {
	*deviceContext
	number int // among the device's streams
	stream cu.Stream
	free   freeList // of blocks whose last user was this stream
}

var deviceContexts struct {
	sync.Mutex
	byIndex map[int]*deviceContext
}

// makeDriverError returns the error of a call of the driver that op made.
func makeDriverError(op, call string, err error) error {
	switch {
	case err == nil:
		return nil
	case driver.OutOfMemory(err):
		return status.Memoryf("%s: CUDA out of memory: error in %s: %s", op, call, driver.Text(err))
	}
	return status.Runtimef("%s: CUDA error in %s: %s", op, call, driver.Text(err))
}

// openContext returns the context of a device. The first call for a device retains its primary context, whose legacy default stream is the
// stream of number 0.
func openContext(op string, d device.Device) (*deviceContext, error) {
	deviceContexts.Lock()
	defer deviceContexts.Unlock()
	if c := deviceContexts.byIndex[int(d.Index)]; c != nil {
		return c, nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := &deviceContext{index: int(d.Index), functions: map[kernels.Entry]cu.Function{}, peers: map[int]bool{}}
	var err error
	if c.at, err = cu.GetDevice(c.index); err != nil {
		return nil, makeDriverError(op, "cuDeviceGet", err)
	}
	if c.major, err = c.at.Attribute(cu.ComputeCapabilityMajor); err != nil {
		return nil, makeDriverError(op, "cuDeviceGetAttribute", err)
	}
	if c.context, err = c.at.RetainPrimaryCtx(); err != nil {
		return nil, makeDriverError(op, "cuDevicePrimaryCtxRetain", err)
	}
	entered, err := driver.Enter(c.context, c.index)
	defer entered.Restore()
	if err != nil {
		err = makeDriverError(op, entered.Call(), err)
	} else if err = c.faults.allocate(op); err == nil {
		c.registerStream(driver.StreamOf(defaultHandle))
	}
	if err != nil {
		_ = c.at.ReleasePrimaryCtx()
		return nil, err
	}
	if deviceContexts.byIndex == nil {
		deviceContexts.byIndex = map[int]*deviceContext{}
	}
	deviceContexts.byIndex[c.index] = c
	return c, nil
}

// withCurrentStream calls f with the context of a device and the current stream of the calling thread there, locked to its OS thread.
func withCurrentStream(op string, d device.Device, f func(m *deviceStream) error) error {
	c, err := openContext(op, d)
	if err != nil {
		return err
	}
	return c.runInStream(op, f)
}

// runInStream calls f with the context, which is current on the calling thread meanwhile, and the thread's current stream.
func (c *deviceContext) runInStream(op string, f func(m *deviceStream) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	entered, err := driver.Enter(c.context, c.index)
	if err != nil {
		return makeDriverError(op, entered.Call(), err)
	}
	defer entered.Restore()
	return f(c.findStream(entered.Stream()))
}

// loadFunction returns the kernel of an entry. The first use loads it, as a separate module.
func (c *deviceContext) loadFunction(op string, entry kernels.Entry) (cu.Function, error) {
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
	module, err := c.loadModule(op, text)
	if err != nil {
		return cu.Function{}, err
	}
	f, err := module.Function(entry.String())
	if err != nil {
		_ = module.Unload()
		return f, makeDriverError(op, "cuModuleGetFunction", err)
	}
	c.functions[entry] = f
	return f, nil
}

// loadModule loads PTX.
func (c *deviceContext) loadModule(op, ptx string) (module cu.Module, err error) {
	var log string
	err = c.retryWithoutCache(op, func() (err error) {
		module, log, err = driver.Load(ptx)
		return err
	})
	if err = makeDriverError(op, "cuModuleLoadDataEx", err); err != nil && log != "" {
		err = status.Runtimef("%v\n%s", err, log)
	}
	return module, err
}

// retryWithoutCache returns the driver's error of call. If the device has no memory left for it, the pool's free blocks are released, and
// it is called once more.
func (c *deviceContext) retryWithoutCache(op string, call func() error) error {
	err := call()
	if !driver.OutOfMemory(err) || c.emptyPool(op) != nil {
		return err
	}
	return call()
}

// synchronizeStream waits for all work of the stream. It returns the error of an index out of range that a kernel has found before.
func (m *deviceStream) synchronizeStream(op string) error {
	return m.finishWait(op, "cuStreamSynchronize", m.stream.Synchronize())
}
