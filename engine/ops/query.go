package ops

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/format"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/warning"
)

// PrintOptions are how tensors are printed.
func PrintOptions(precision, threshold, edgeItems, lineWidth int64, sci Bool) (o format.Options, err error) {
	if precision < 0 || threshold < 0 || edgeItems < 0 || lineWidth < 1 {
		return o, status.Valuef("to_string: precision %d, threshold %d and edgeitems %d must not be negative, linewidth %d must be positive",
			precision, threshold, edgeItems, lineWidth)
	}
	o = format.Options{Precision: int(min(precision, 64)), Threshold: threshold, EdgeItems: edgeItems, LineWidth: int(min(lineWidth, 1<<30))}
	if sci != NoBool {
		mode := sci == True
		o.SciMode = &mode
	}
	return o, nil
}

// ToString prints a tensor.
func ToString(self *tensor.Tensor, precision, threshold, edgeItems, lineWidth int64, sci Bool) (_ string, err error) {
	o, err := PrintOptions(precision, threshold, edgeItems, lineWidth, sci)
	if err != nil {
		return "", err
	}
	s := newScope("to_string")
	defer s.Close(&err)
	shown := Shown(&s.Scope, self)
	return format.Tensor(shown, Attributes(self), o), nil
}

// Attributes returns the attributes that are printed after a tensor's elements.
func Attributes(self *tensor.Tensor) (a format.Attributes) {
	if dev := self.Device(); dev.Type != device.CPU {
		a.Meta, a.Device = !backend.Known(self), dev.String()
	}
	if h := self.AutogradMeta(); h != nil {
		a.GradFn, a.RequiresGrad = h.Describe()
	}
	a.Names = self.Names()
	return a
}

// Shown returns a form of t to print, with its elements, if it has data, on the CPU.
func Shown(s *owner.Scope, t *tensor.Tensor) *tensor.Tensor {
	if t.Device().Type == device.CPU || !backend.Known(t) {
		return t
	}
	return s.Track(cloneTensor(s.Op, t, t.DType(), device.Host, shape.Preserve))
}

// ScalarOperand creates a zero-dim tensor that counts as a number.
func ScalarOperand(value dtype.Scalar) (*tensor.Tensor, error) {
	return tensor.WrappedNumber(value)
}

// ResultType promotes two operands.
func ResultType(a, b *tensor.Tensor) (dtype.DType, error) {
	d := resultType(a, b)
	if d == dtype.Unpromoted {
		return dtype.None, newPromotionError("result_type", a, b)
	}
	return d, nil
}

// PromoteTypes joins two dtypes.
func PromoteTypes(a, b dtype.DType) (dtype.DType, error) {
	if a == dtype.None || b == dtype.None {
		return dtype.None, status.Typef("promote_types: two dtypes are required")
	}
	d := dtype.Promote(a, b)
	if d == dtype.Unpromoted {
		return dtype.None, errUnpromoted("promote_types", a, b)
	}
	return d, nil
}

// CanCast reports whether a result of one dtype may be written to another.
func CanCast(from, to dtype.DType) (bool, error) {
	if from == dtype.None || to == dtype.None {
		return false, status.Typef("can_cast: two dtypes are required")
	}
	return dtype.CanCast(from, to), nil
}

// SetDefaultDtype sets the dtype of float numbers and factories.
func SetDefaultDtype(d dtype.DType) error {
	if !dtype.SetDefault(d) {
		return status.Typef("set_default_dtype: only floating-point types are supported as the default type, but got %v", d)
	}
	return nil
}

// GetDefaultDtype returns the dtype of float numbers and factories.
func GetDefaultDtype() (dtype.DType, error) { return dtype.Default(), nil }

// ParseDevice reads a device's name.
func ParseDevice(text string) (device.Device, error) { return device.Parse(text) }

// SetNumThreads bounds the threads of one operator.
func SetNumThreads(n int64) error {
	if n < 1 {
		return status.Runtimef("set_num_threads: expected a positive number of threads, but got %d", n)
	}
	parallel.SetThreads(int(min(n, 1<<16)))
	return nil
}

// GetNumThreads returns the bound on the threads of one operator.
func GetNumThreads() (int64, error) { return int64(parallel.Threads()), nil }

// SetWarnAlways sets whether repeated warnings are reported each time.
func SetWarnAlways(b bool) error {
	warning.SetAlways(b)
	return nil
}

// IsWarnAlwaysEnabled reports whether they do.
func IsWarnAlwaysEnabled() (bool, error) { return warning.Always(), nil }

// CpuTier names the instructions that kernels use.
func CpuTier() (string, error) { return kernelapi.CPU.Instructions(), nil }
