package ops

import "github.com/libtensor/libtensor/engine/device"

// DeviceCount returns the number of devices of a type.
func DeviceCount(name string) (int64, error) {
	d, err := device.Parse(name)
	if err != nil {
		return 0, err
	}
	return int64(device.Count(d.Type)), nil
}

// DeviceAbsence returns the reason why no device of a type is available.
func DeviceAbsence(name string) (string, error) {
	d, err := device.Parse(name)
	if err != nil {
		return "", err
	}
	return device.Absence(d.Type), nil
}

// DeviceSynchronize waits for all work of a device.
func DeviceSynchronize(d device.Device) error { return device.Synchronize("device_synchronize", d) }

// DeviceMemory returns the account of a device's memory.
func DeviceMemory(d device.Device) (inUse, peak, reserved, reservedPeak, limit, free, total int64, err error) {
	m, err := device.MemoryOf("device_memory", d)
	return m.InUse, m.Peak, m.Reserved, m.ReservedPeak, m.Limit, m.Free, m.Total, err
}

// DeviceAllocations counts allocations of a device's memory.
func DeviceAllocations(d device.Device) (blocks, retries, failures int64, err error) {
	m, err := device.MemoryOf("device_allocations", d)
	return m.Blocks, m.Retries, m.Failures, err
}

// withDeviceResult calls ask with the asynchronous interface of a device, and returns its result.
func withDeviceResult[R any](op string, d device.Device, ask func(w device.Asynchronous, d device.Device) (R, error)) (r R, err error) {
	w, d, err := device.WorkOf(op, d)
	if err != nil {
		return r, err
	}
	return ask(w, d)
}

// withDevice is withDeviceResult without a result.
func withDevice(op string, d device.Device, ask func(w device.Asynchronous, d device.Device) error) error {
	_, err := withDeviceResult(op, d, func(w device.Asynchronous, d device.Device) (struct{}, error) { return struct{}{}, ask(w, d) })
	return err
}

// DeviceResetPeakMemory sets the peak statistics of a device's memory to the current usage.
func DeviceResetPeakMemory(d device.Device) error {
	const op = "device_reset_peak_memory"
	return withDevice(op, d, func(w device.Asynchronous, d device.Device) error { return w.ResetPeak(op, d) })
}

// DeviceSetMemoryLimit limits the memory that is requested from the driver.
func DeviceSetMemoryLimit(d device.Device, nbytes int64) error {
	const op = "device_set_memory_limit"
	return withDevice(op, d, func(w device.Asynchronous, d device.Device) error { return w.SetLimit(op, d, nbytes) })
}

// DeviceCurrent returns the index of the current device of a type.
func DeviceCurrent(name string) (int64, error) {
	d, err := device.Parse(name)
	if err != nil {
		return 0, err
	}
	return int64(device.Current(d.Type)), nil
}

// DeviceSetCurrent changes the current device of a type.
func DeviceSetCurrent(d device.Device) error {
	const op = "device_set_current"
	return withDevice(op, d, func(w device.Asynchronous, d device.Device) error { return w.SetCurrent(op, d) })
}

// DeviceName returns the driver's name for a device.
func DeviceName(d device.Device) (string, error) {
	const op = "device_name"
	return withDeviceResult(op, d, func(w device.Asynchronous, d device.Device) (string, error) { return w.Name(op, d) })
}

// DeviceUuid identifies a device.
func DeviceUuid(d device.Device) (string, error) {
	const op = "device_uuid"
	return withDeviceResult(op, d, func(w device.Asynchronous, d device.Device) (string, error) { return w.UUID(op, d) })
}

// DeviceAttribute returns a number that the driver has of a device.
func DeviceAttribute(d device.Device, name string) (int64, error) {
	const op = "device_attribute"
	return withDeviceResult(op, d, func(w device.Asynchronous, d device.Device) (int64, error) { return w.Attribute(op, d, name) })
}

// DeviceOfPointer returns the device that owns the memory at an address.
func DeviceOfPointer(name string, data uintptr) (device.Device, error) {
	const op = "device_of_pointer"
	d, err := device.Parse(name)
	if err != nil {
		return d, err
	}
	return withDeviceResult(op, d, func(w device.Asynchronous, d device.Device) (device.Device, error) {
		if data == 0 {
			return d, nil
		}
		return w.DeviceOf(op, data)
	})
}

// DeviceCanAccessPeer reports whether a device can use another one's memory.
func DeviceCanAccessPeer(d, peer device.Device) (bool, error) {
	const op = "device_can_access_peer"
	peer, err := device.Resolve(op, peer)
	if err != nil {
		return false, err
	}
	return withDeviceResult(op, d, func(w device.Asynchronous, d device.Device) (bool, error) {
		if d.Type != peer.Type {
			return false, nil
		}
		return w.CanAccessPeer(op, d, peer)
	})
}
