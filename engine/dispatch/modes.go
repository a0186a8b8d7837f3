package dispatch

import (
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Modes are the settings of a thread for its calls. The layer that accepts calls keeps one per thread.
type Modes struct {
	Device    device.Device // default device of factory functions
	Grad      bool          // whether operations are recorded
	Inference bool          // tensors that are made take no part in recorded operations
	Saving    uint32        // number of the hooks through which operations save what their gradients need; 0 for none
	Level     uint32        // number of the innermost transform that the thread is in; 0 for none
	Autocast  Autocast
}

// Initial returns the modes that a thread starts with.
func Initial() Modes { return Modes{Device: device.Host, Grad: true} }

// With returns the context for the calls of a thread, which read and write its modes.
func With(m *Modes) Context { return Context{modes: m} }

// currentModes returns the modes of the thread.
func (c Context) currentModes() Modes {
	if c.modes == nil {
		return Initial()
	}
	return *c.modes
}

// Recording reports whether calls are recorded for gradients: never in inference mode.
func (c Context) Recording() bool { return c.modes == nil || c.modes.Grad && !c.modes.Inference }

// Recorded returns a context of the same thread with grad mode on or off.
func (c Context) Recorded(on bool) Context {
	m := c.currentModes()
	m.Grad = on
	return With(&m)
}

// Apart returns a context of the same thread in which operations are recorded whatever the thread's modes are. Unless seen is set, the
// user's hooks are not called for the tensors that these save.
func (c Context) Apart(seen bool) Context {
	m := c.currentModes()
	m.Grad, m.Inference = true, false
	if !seen {
		m.Saving = 0
	}
	return With(&m)
}

// Saving returns the number of the saved-tensor hooks, or 0 for none.
func (c Context) Saving() uint32 {
	if c.modes == nil {
		return 0
	}
	return c.modes.Saving
}

// SaveBy sets the saved-tensor hooks of the thread.
func (c Context) SaveBy(op string, hooks uint32) error {
	return c.setModes(op, func(m *Modes) { m.Saving = hooks })
}

// Inferring reports whether the thread is in inference mode.
func (c Context) Inferring() bool { return c.modes != nil && c.modes.Inference }

// SetInferenceMode implements the operator set_inference_mode.
func (c Context) SetInferenceMode(enabled bool) error {
	return c.setModes("set_inference_mode", func(m *Modes) { m.Inference, m.Grad = enabled, !enabled })
}

// IsInferenceModeEnabled implements the operator is_inference_mode_enabled.
func (c Context) IsInferenceModeEnabled() (bool, error) { return c.Inferring(), nil }

// setModes changes the modes of the thread.
func (c Context) setModes(op string, change func(*Modes)) error {
	if c.modes == nil {
		return status.Runtimef("%s: modes belong to a thread, and this call has none; call it through With", op)
	}
	change(c.modes)
	return nil
}

// place returns the device of a factory that is given d; none where it writes to an out, whose device it follows.
func (c Context) place(d device.Device, out ...*tensor.Tensor) device.Device {
	if d.IsNone() && (len(out) == 0 || out[0] == nil) {
		return c.currentModes().Device
	}
	return d
}

// SetDefaultDevice implements the operator set_default_device.
func (c Context) SetDefaultDevice(d device.Device) error {
	if d.IsNone() {
		d = device.Host
	}
	return c.setModes("set_default_device", func(m *Modes) { m.Device = d })
}

// GetDefaultDevice implements the operator get_default_device.
func (c Context) GetDefaultDevice() (device.Device, error) { return c.currentModes().Device, nil }

// SetGradEnabled implements the operator set_grad_enabled.
func (c Context) SetGradEnabled(enabled bool) error {
	return c.setModes("set_grad_enabled", func(m *Modes) { m.Grad = enabled })
}

// IsGradEnabled implements the operator is_grad_enabled.
func (c Context) IsGradEnabled() (bool, error) { return c.currentModes().Grad, nil }
