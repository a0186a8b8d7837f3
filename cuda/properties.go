package cuda

import (
	"maps"
	"slices"
	"strings"

	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

// attributes maps the names of PyTorch's device properties to the driver's device attributes.
var attributes = map[string]cu.DeviceAttribute{
	"major":                              cu.ComputeCapabilityMajor,
	"minor":                              cu.ComputeCapabilityMinor,
	"multi_processor_count":              cu.MultiprocessorCount,
	"warp_size":                          cu.WarpSize,
	"max_threads_per_block":              cu.MaxThreadsPerBlock,
	"max_threads_per_multi_processor":    cu.MaxThreadsPerMultiprocessor,
	"shared_memory_per_block":            cu.MaxSharedMemoryPerBlock,
	"shared_memory_per_block_optin":      driver.SharedMemoryOptin,
	"shared_memory_per_multiprocessor":   cu.MaxSharedMemoryPerMultiprocessor,
	"regs_per_multiprocessor":            cu.MaxRegistersPerMultiprocessor,
	"L2_cache_size":                      cu.L2CacheSize,
	"clock_rate":                         cu.ClockRate,
	"memory_clock_rate":                  cu.MemoryClockRate,
	"memory_bus_width":                   cu.GlobalMemoryBusWidth,
	"is_integrated":                      cu.Integrated,
	"is_multi_gpu_board":                 cu.MultiGpuBoard,
	"pci_bus_id":                         cu.PciBusID,
	"pci_device_id":                      cu.PciDeviceID,
	"pci_domain_id":                      cu.PciDomainID,
	"ecc_enabled":                        cu.EccEnabled,
	"async_engine_count":                 cu.AsyncEngineCount,
	"concurrent_kernels":                 cu.ConcurrentKernels,
	"unified_addressing":                 cu.UnifiedAddressing,
	"max_blocks_per_dimension":           cu.MaxGridDimX,
	"max_registers_per_block":            cu.MaxRegistersPerBlock,
	"single_to_double_performance_ratio": cu.SingleToDoublePrecisionPerfRatio,
}

const totalMemory = "total_memory" // read by a separate driver function

func (asyncBackend) Name(op string, d device.Device) (name string, err error) {
	err = withCurrentStream(op, d, func(m *deviceStream) error {
		name, err = m.at.Name()
		return makeDriverError(op, "cuDeviceGetName", err)
	})
	return name, err
}

func (asyncBackend) UUID(op string, d device.Device) (id string, err error) {
	err = withCurrentStream(op, d, func(m *deviceStream) error {
		found, err := m.at.UUID()
		id = found.String()
		return makeDriverError(op, "cuDeviceGetUuid", err)
	})
	return id, err
}

func (asyncBackend) Attribute(op string, d device.Device, name string) (n int64, err error) {
	which, ok := attributes[name]
	if !ok && name != totalMemory {
		known := append(slices.Sorted(maps.Keys(attributes)), totalMemory)
		return 0, status.Valuef("%s: a device has no '%s'; it has %s", op, name, strings.Join(known, ", "))
	}
	err = withCurrentStream(op, d, func(m *deviceStream) error {
		if !ok {
			n, err = m.at.TotalMem()
			return makeDriverError(op, "cuDeviceTotalMem", err)
		}
		value, err := m.at.Attribute(which)
		n = int64(value)
		return makeDriverError(op, "cuDeviceGetAttribute", err)
	})
	return n, err
}

func (asyncBackend) DeviceOf(op string, address uintptr) (d device.Device, err error) {
	err = withDeviceContext(op, func() error {
		index, err := driver.DeviceOf(address)
		d = device.Device{Type: device.CUDA, Index: int16(index)}
		if err != nil {
			err = status.Runtimef("%v; the address is %#x", makeDriverError(op, "cuPointerGetAttribute", err), address)
		}
		return err
	})
	return d, err
}

func (asyncBackend) CanAccessPeer(op string, d, peer device.Device) (can bool, err error) {
	other, err := openContext(op, peer)
	if err != nil {
		return false, err
	}
	err = withCurrentStream(op, d, func(m *deviceStream) error {
		if m.deviceContext == other {
			return status.Runtimef("%s: a device is not a peer of itself (%v)", op, d)
		}
		n, err := m.at.CanAccessPeer(other.at)
		can = n != 0
		return makeDriverError(op, "cuDeviceCanAccessPeer", err)
	})
	return can, err
}

// enablePeerAccess enables peer access to the memory of another device, if the driver supports it: copies then do not pass through the
// host. The current context is this device's.
func (c *deviceContext) enablePeerAccess(op string, other *deviceContext) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, asked := c.peers[other.index]; asked {
		return nil
	}
	can, err := c.at.CanAccessPeer(other.at)
	if err != nil {
		return makeDriverError(op, "cuDeviceCanAccessPeer", err)
	}
	if can != 0 {
		if err := other.context.EnablePeerAccess(0); err != nil && !driver.IsEnabled(err) {
			return makeDriverError(op, "cuCtxEnablePeerAccess", err)
		}
	}
	c.peers[other.index] = can != 0
	return nil
}
