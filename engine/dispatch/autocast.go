package dispatch

import (
	"slices"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Policy is the treatment by autocast of an operator's floating-point tensor arguments, except those of float64.
type Policy uint8

// The policies, which engine/schema/autocast.yaml assigns to operators.
const (
	AsGiven        Policy = iota // none: they keep their dtypes
	LowerPrecision               // converts them to the dtype of the mode
	Float32                      // converts them to float32
	Promote                      // converts them to float32 if one of them has it, otherwise to the dtype of the mode
	AsFirst                      // converts them to the dtype of the first tensor
	Unsafe                       // returns an error
)

// AutocastDevices are the types of devices that have policies.
var AutocastDevices = [...]device.Type{device.CPU, device.CUDA}

// Autocast is the part of a thread's modes that is about autocast.
type Autocast struct {
	Enabled  [len(AutocastDevices)]bool
	DTypes   [len(AutocastDevices)]dtype.DType // dtype.Bool: the default of the device
	Uncached bool
	Nesting  int32 // contexts that the thread is in
}

var autocastDefaults = [len(AutocastDevices)]dtype.DType{dtype.BFloat16, dtype.Float16}

// dtypeOf returns the dtype to which autocast converts on the device type of a row.
func (a *Autocast) dtypeOf(row int) dtype.DType {
	if d := a.DTypes[row]; d != dtype.Bool {
		return d
	}
	return autocastDefaults[row]
}

// casting returns the key of autocast where the thread has it enabled for one of the rows, a bit each.
func (c Context) casting(rows int) tensor.DispatchKeys {
	if c.modes == nil || c.modes.Autocast.Enabled == [len(AutocastDevices)]bool{} {
		return 0
	}
	for row, enabled := range c.modes.Autocast.Enabled {
		if enabled && rows&(1<<row) != 0 {
			return tensor.Autocast
		}
	}
	return 0
}

// withAutocastRow returns c with autocast enabled only for the device type of one row.
func (c Context) withAutocastRow(row int) Context {
	m := c.currentModes()
	for other := range m.Autocast.Enabled {
		m.Autocast.Enabled[other] = m.Autocast.Enabled[other] && other == row
	}
	c.modes = &m
	return c
}

func init() {
	Register(tensor.Autocast, &TensorKind{Name: "autocast", Serve: func() Backend {
		return BoxedBackend(castOperands, func(o *Operator) bool { _, listed := policies[o.method]; return listed })
	}})
}

// castOperands makes a call past autocast, with its floating-point arguments converted by the operator's policy. Calls that write to one of
// their arguments keep the dtypes of all.
func castOperands(c Context, call *Call) (err error) {
	past := c.Excluding(tensor.Autocast)
	row, policy := policyOf(c, call)
	if policy == AsGiven { // the intermediate ops of a composite operator have policies themselves
		return call.Run(c.withAutocastRow(row))
	}
	if len(call.Written()) > 0 || isUncastPadding(call) {
		return call.Run(past)
	}
	to, err := targetDType(c, call, row, policy)
	if err != nil {
		return err
	}
	s := owner.Scope{Op: call.Name}
	defer s.Close(&err)
	back := call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor {
		if !isEligible(t, row) || t.DType() == to {
			return t
		}
		return s.Track(castCached(past, t, to, row))
	})
	defer back.Restore()
	s.Check(call.Run(past))
	return nil
}

// policyOf returns the policy of a call, with its row: that of the first type of device, CUDA first, which has an operand and autocast
// enabled; row -1 for none.
func policyOf(c Context, call *Call) (row int, p Policy) {
	of, operands := policies[call.method], call.Operands()
	for row := len(AutocastDevices) - 1; row >= 0; row-- {
		if c.modes.Autocast.Enabled[row] && slices.ContainsFunc(operands, func(t *tensor.Tensor) bool {
			return t.Device().Type == AutocastDevices[row]
		}) {
			return row, of[row]
		}
	}
	return -1, AsGiven
}

// isUncastPadding reports whether the call is a padding to which the policy of its operator does not apply: PyTorch lists the kernels of
// reflection in one and two dimensions, and those of replication.
func isUncastPadding(call *Call) bool {
	if call.method != "NnPadInside" {
		return false
	}
	mode, pad := Given(call, "mode", ""), Given[[]int64](call, "pad", nil)
	return mode == "circular" || mode == "reflect" && len(pad) > 4
}

func isEligible(t *tensor.Tensor, row int) bool {
	return t.Device().Type == AutocastDevices[row] && t.DType().IsFloatingPoint() && t.DType() != dtype.Float64
}

// targetDType returns the dtype that a call's arguments are converted to.
func targetDType(c Context, call *Call, row int, policy Policy) (dtype.DType, error) {
	lower := c.modes.Autocast.dtypeOf(row)
	switch policy {
	case LowerPrecision:
		return lower, nil
	case Unsafe:
		return dtype.None, status.Runtimef("%s: binary cross entropy of probabilities is unsafe to autocast, since their gradients overflow float16; "+
			"binary_cross_entropy_with_logits (BCEWithLogitsLoss) is safe to autocast", call.Name)
	case Promote:
		to := lower
		for _, t := range call.Operands() {
			switch d := t.DType(); {
			case !isEligible(t, row) || d == lower || to == dtype.Float32:
			case d == dtype.Float32:
				to = d
			default:
				return dtype.None, status.Runtimef("%s: Unexpected floating ScalarType in at::autocast::prioritize (%v, where autocast has %v); convert it to one of float32 and %v",
					call.Name, d, lower, lower)
			}
		}
		return to, nil
	case AsFirst:
		for _, t := range call.Operands() {
			if isEligible(t, row) {
				return t.DType(), nil
			}
		}
	}
	return dtype.Float32, nil
}

func castTo(c Context, t *tensor.Tensor, to dtype.DType) (*tensor.Tensor, error) {
	return c.ToOptions(t, to, tensor.NoLayout, device.None, false, false, shape.Preserve)
}

// autocastRow returns the row of a type of device by its name.
func autocastRow(op, name string) (int, error) {
	row := slices.IndexFunc(AutocastDevices[:], func(t device.Type) bool { return t.String() == name })
	if row < 0 {
		return 0, status.Runtimef("%s: autocast is not supported for device type '%s'; use cpu or cuda", op, name)
	}
	return row, nil
}

// SetAutocastEnabled implements the operator set_autocast_enabled.
func (c Context) SetAutocastEnabled(deviceType string, enabled bool) error {
	const op = "set_autocast_enabled"
	row, err := autocastRow(op, deviceType)
	if err != nil {
		return err
	}
	return c.setModes(op, func(m *Modes) { m.Autocast.Enabled[row] = enabled })
}

// IsAutocastEnabled implements the operator is_autocast_enabled.
func (c Context) IsAutocastEnabled(deviceType string) (bool, error) {
	row, err := autocastRow("is_autocast_enabled", deviceType)
	if err != nil {
		return false, err
	}
	return c.currentModes().Autocast.Enabled[row], nil
}

// SetAutocastDtype implements the operator set_autocast_dtype.
func (c Context) SetAutocastDtype(deviceType string, d dtype.DType) error {
	const op = "set_autocast_dtype"
	row, err := autocastRow(op, deviceType)
	if err != nil {
		return err
	}
	if d == dtype.None || !d.IsFloatingPoint() {
		return status.Runtimef("%s: dtype must be a floating-point dtype, but is %v", op, d)
	}
	return c.setModes(op, func(m *Modes) { m.Autocast.DTypes[row] = d })
}

// GetAutocastDtype implements the operator get_autocast_dtype.
func (c Context) GetAutocastDtype(deviceType string) (dtype.DType, error) {
	row, err := autocastRow("get_autocast_dtype", deviceType)
	if err != nil {
		return dtype.None, err
	}
	m := c.currentModes()
	return m.Autocast.dtypeOf(row), nil
}

// SetAutocastCacheEnabled implements the operator set_autocast_cache_enabled.
func (c Context) SetAutocastCacheEnabled(enabled bool) error {
	return c.setModes("set_autocast_cache_enabled", func(m *Modes) { m.Autocast.Uncached = !enabled })
}

// IsAutocastCacheEnabled implements the operator is_autocast_cache_enabled.
func (c Context) IsAutocastCacheEnabled() (bool, error) {
	return !c.currentModes().Autocast.Uncached, nil
}

// AutocastIncrementNesting implements the operator autocast_increment_nesting.
func (c Context) AutocastIncrementNesting() (depth int64, err error) {
	err = c.setModes("autocast_increment_nesting", func(m *Modes) { m.Autocast.Nesting++; depth = int64(m.Autocast.Nesting) })
	return depth, err
}

// AutocastDecrementNesting implements the operator autocast_decrement_nesting.
func (c Context) AutocastDecrementNesting() (depth int64, err error) {
	err = c.setModes("autocast_decrement_nesting", func(m *Modes) { m.Autocast.Nesting--; depth = int64(m.Autocast.Nesting) })
	return depth, err
}

// ClearAutocastCache implements the operator clear_autocast_cache.
func (c Context) ClearAutocastCache() error {
	casts.clear()
	return nil
}
