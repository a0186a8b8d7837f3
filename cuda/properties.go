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

func (work) Name(op string, d device.Device) (name string, err error) {
	err = on(op, d, func(m *machine) error {
		name, err = m.at.Name()
		return failed(op, "cuDeviceGetName", err)
	})
	return name, err
}

func (work) UUID(op string, d device.Device) (id string, err error) {
	err = on(op, d, func(m *machine) error {
		found, err := m.at.UUID()
		id = found.String()
		return failed(op, "cuDeviceGetUuid", err)
	})
	return id, err
}

func (work) Attribute(op string, d device.Device, name string) (n int64, err error) {
	which, ok := attributes[name]
	if !ok && name != totalMemory {
		known := append(slices.Sorted(maps.Keys(attributes)), totalMemory)
		return 0, status.Valuef("%s: a device has no '%s'; it has %s", op, name, strings.Join(known, ", "))
	}
	err = on(op, d, func(m *machine) error {
		if !ok {
			n, err = m.at.TotalMem()
			return failed(op, "cuDeviceTotalMem", err)
		}
		value, err := m.at.Attribute(which)
		n = int64(value)
		return failed(op, "cuDeviceGetAttribute", err)
	})
	return n, err
}

func (work) DeviceOf(op string, address uintptr) (d device.Device, err error) {
	err = current(op, func() error {
		index, err := driver.DeviceOf(address)
		d = device.Device{Type: device.CUDA, Index: int16(index)}
		if err != nil {
			err = status.Runtimef("%v; the address is %#x", failed(op, "cuPointerGetAttribute", err), address)
		}
		return err
	})
	return d, err
}

func (work) CanAccessPeer(op string, d, peer device.Device) (can bool, err error) {
	other, err := open(op, peer)
	if err != nil {
		return false, err
	}
	err = on(op, d, func(m *machine) error {
		if m.card == other {
			return status.Runtimef("%s: a device is not a peer of itself (%v)", op, d)
		}
		n, err := m.at.CanAccessPeer(other.at)
		can = n != 0
		return failed(op, "cuDeviceCanAccessPeer", err)
	})
	return can, err
}

// reach enables peer access to the memory of another device, if the driver supports it: copies then do not pass through the host. The
// context is the card's.
func (c *card) reach(op string, other *card) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, asked := c.peers[other.index]; asked {
		return nil
	}
	can, err := c.at.CanAccessPeer(other.at)
	if err != nil {
		return failed(op, "cuDeviceCanAccessPeer", err)
	}
	if can != 0 {
		if err := other.context.EnablePeerAccess(0); err != nil && !driver.IsEnabled(err) {
			return failed(op, "cuCtxEnablePeerAccess", err)
		}
	}
	c.peers[other.index] = can != 0
	return nil
}
