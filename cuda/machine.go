package cuda

import (
	"runtime"
	"sync"

	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

// machine is a device in use: its primary context, the stream in which all of its work is done, and what has been loaded of the kernels.
type machine struct {
	index   int
	context cu.CUContext
	stream  cu.Stream
	pool    pool

	mu        sync.Mutex
	functions map[string]cu.Function
	modules   map[string]cu.Module
}

var machines struct {
	sync.Mutex
	byIndex map[int]*machine
}

// failed is the error of a call of the driver that op made.
func failed(op, call string, err error) error {
	if err == nil {
		return nil
	}
	return status.Runtimef("%s: CUDA error in %s: %s", op, call, driver.Text(err))
}

// open finds the machine of a device, whose context it makes the first time.
func open(op string, d device.Device) (*machine, error) {
	machines.Lock()
	defer machines.Unlock()
	if m := machines.byIndex[int(d.Index)]; m != nil {
		return m, nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m := &machine{index: int(d.Index), functions: map[string]cu.Function{}, modules: map[string]cu.Module{}}
	at, err := cu.GetDevice(m.index)
	if err != nil {
		return nil, failed(op, "cuDeviceGet", err)
	}
	if m.context, err = at.RetainPrimaryCtx(); err != nil {
		return nil, failed(op, "cuDevicePrimaryCtxRetain", err)
	}
	err = cu.SetCurrentContext(m.context)
	if err == nil {
		m.stream, err = cu.MakeStream(cu.NonBlocking)
	}
	if err != nil {
		_ = at.ReleasePrimaryCtx()
		return nil, failed(op, "cuStreamCreate", err)
	}
	if machines.byIndex == nil {
		machines.byIndex = map[int]*machine{}
	}
	machines.byIndex[m.index] = m
	return m, nil
}

// on runs f with the context of a device, on one thread.
func on(op string, d device.Device, f func(m *machine) error) error {
	m, err := open(op, d)
	if err != nil {
		return err
	}
	return m.run(op, f)
}

func (m *machine) run(op string, f func(m *machine) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(m.context); err != nil {
		return failed(op, "cuCtxSetCurrent", err)
	}
	return f(m)
}

// function finds a kernel, whose unit it loads the first time.
func (m *machine) function(op, entry string) (cu.Function, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f, ok := m.functions[entry]; ok {
		return f, nil
	}
	unit, ok := kernels.Unit(entry)
	if !ok {
		return cu.Function{}, status.NotImplementedf("%s is not implemented on cuda: there is no kernel %s; move the tensors to the cpu", op, entry)
	}
	module, ok := m.modules[unit]
	if !ok {
		text, err := kernels.PTX(unit)
		if err != nil {
			return cu.Function{}, status.Runtimef("%s: the kernels of %s cannot be read: %v", op, unit, err)
		}
		if module, err = cu.LoadData(text); err != nil {
			return cu.Function{}, failed(op, "cuModuleLoadData", err)
		}
		m.modules[unit] = module
	}
	f, err := module.Function(entry)
	if err != nil {
		return f, failed(op, "cuModuleGetFunction", err)
	}
	m.functions[entry] = f
	return f, nil
}

// synchronize waits for all work of the device.
func (m *machine) synchronize(op string) error {
	return failed(op, "cuStreamSynchronize", m.stream.Synchronize())
}
