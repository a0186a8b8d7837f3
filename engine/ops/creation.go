package ops

import (
	"cmp"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/view"
)

// resolveOptions resolves the dtype and device of a factory; d is used when no dtype is given.
func resolveOptions(op string, given, otherwise dtype.DType, layout tensor.Layout, dev device.Device) (dtype.DType, device.Device, error) {
	if given.IsQuantized() {
		return given, dev, status.Runtimef("%s: the dtype %v is quantized; use quantize_per_tensor() to create a quantized tensor", op, given)
	}
	if given == dtype.None {
		given = otherwise
	}
	if layout != tensor.NoLayout && layout != tensor.Strided {
		return given, dev, status.NotImplementedf("%s: only the strided layout is supported", op)
	}
	dev, err := device.Resolve(op, dev)
	return given, dev, err
}

// newFactoryOutput opens the output of a creation function: out must have the requested dtype and device, if any.
func newFactoryOutput(op string, out *tensor.Tensor, size []int64, given, otherwise dtype.DType, layout tensor.Layout,
	dev device.Device) (to tensoriter.Output, err error) {
	to = tensoriter.Output{Op: op, Out: out, Sizes: size, Exact: true, Fresh: true}
	if out != nil {
		otherwise = out.DType()
		if dev.IsNone() {
			dev = out.Device()
		}
	}
	to.DType, to.Device, err = resolveOptions(op, given, otherwise, layout, dev)
	if err == nil {
		err = to.Open()
	}
	return to, err
}

// newFilled is newFactoryOutput with a value everywhere.
func newFilled(op string, out *tensor.Tensor, size []int64, value dtype.Scalar, given, otherwise dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	target := given
	if target == dtype.None {
		if target = otherwise; out != nil {
			target = out.DType()
		}
	}
	if err := checkFits(op, value, target); err != nil {
		return nil, err
	}
	to, err := newFactoryOutput(op, out, size, given, otherwise, layout, dev)
	if err == nil {
		err = fillWith(to.To, value)
	}
	return to.Done(err)
}

// Zeros makes a tensor of zeros.
func Zeros(out *tensor.Tensor, size []int64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	if out != nil {
		return newFilled("zeros", out, size, dtype.IntScalar(0), d, d, layout, dev)
	}
	d, dev, err := resolveOptions("zeros", d, dtype.Default(), layout, dev)
	if err != nil {
		return nil, err
	}
	return tensor.Zeros("zeros", size, d, dev)
}

// Ones makes a tensor of ones.
func Ones(out *tensor.Tensor, size []int64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	return newFilled("ones", out, size, dtype.IntScalar(1), d, dtype.Default(), layout, dev)
}

// Full returns a tensor filled with value, with the default dtype for a scalar of its category. Complex results have parts of 32 bits or
// more.
func Full(out *tensor.Tensor, size []int64, value dtype.Scalar, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	otherwise := value.DType()
	if otherwise.IsComplex() {
		otherwise = otherwise.Compute()
	}
	return newFilled("full", out, size, value, d, otherwise, layout, dev)
}

// Empty makes a tensor of arbitrary values.
func Empty(out *tensor.Tensor, size []int64, d dtype.DType, layout tensor.Layout, dev device.Device,
	f shape.MemoryFormat) (*tensor.Tensor, error) {
	if f == shape.Preserve {
		return nil, status.Runtimef("empty: unsupported memory format %v", f)
	}
	if f == shape.NoFormat || f == shape.Contiguous || out != nil {
		to, err := newFactoryOutput("empty", out, size, d, dtype.Default(), layout, dev)
		return to.Done(err)
	}
	strides, err := shape.FormatStrides("empty", size, f)
	if err != nil {
		return nil, err
	}
	return EmptyStrided(size, strides, d, layout, dev)
}

// EmptyStrided makes a tensor of arbitrary values with given strides.
func EmptyStrided(size, stride []int64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	d, dev, err := resolveOptions("empty_strided", d, dtype.Default(), layout, dev)
	if err != nil {
		return nil, err
	}
	if stride == nil {
		stride = []int64{}
	}
	return tensor.EmptyStrided("empty_strided", size, stride, d, dev)
}

// EmptyPermuted returns a dense tensor with the dimensions stored in the order of physical, outermost first.
func EmptyPermuted(size, physical []int64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	if len(size) != len(physical) {
		return nil, status.Runtimef("empty_permuted: number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = %d is not equal to len(physical_layout) = %d",
			len(size), len(physical))
	}
	order := make([]int, len(physical))
	seen := make([]bool, len(physical))
	for i, p := range physical {
		if p < 0 || p >= int64(len(size)) {
			return nil, status.Runtimef("empty_permuted: dimension out of range (expected to be between 0 and %d, but got %d at index %d)",
				len(size)-1, p, i)
		}
		if seen[p] {
			return nil, status.Runtimef("empty_permuted: duplicate dim %d is not allowed in physical_layout %v", p, physical)
		}
		seen[p], order[i] = true, int(p)
	}
	if _, err := shape.Numel("empty_permuted", size); err != nil {
		return nil, err
	}
	return EmptyStrided(size, shape.PermutedStrides(size, order), d, layout, dev)
}

// ScalarTensor creates a zero-dim tensor of one value.
func ScalarTensor(value dtype.Scalar, d dtype.DType, layout tensor.Layout, dev device.Device) (_ *tensor.Tensor, err error) {
	const op = "scalar_tensor"
	d, dev, err = resolveOptions(op, d, dtype.Default(), layout, dev)
	if err = cmp.Or(err, checkConvertedFits(op, value, d)); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	t := s.Track(tensor.Empty(op, nil, d, dev))
	s.Check(fillWith(t, value))
	return s.Return(t)
}

// likeOptions resolves the options of the _like and new_ functions, which follow self.
func likeOptions(op string, self *tensor.Tensor, d dtype.DType, layout tensor.Layout,
	dev device.Device) (dtype.DType, device.Device, error) {
	if dev.IsNone() {
		dev = self.Device()
	}
	return resolveOptions(op, d, self.DType(), layout, dev)
}

// newLike creates a tensor of self's shape, filled with value unless it is none.
func newLike(op string, self *tensor.Tensor, value dtype.Scalar, d dtype.DType, layout tensor.Layout, dev device.Device,
	f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	d, dev, err = likeOptions(op, self, d, layout, dev)
	if err != nil {
		return nil, err
	}
	if !value.IsNone() {
		if err := checkFits(op, value, d); err != nil {
			return nil, err
		}
	}
	s := newScope(op)
	defer s.Close(&err)
	t := s.Track(emptyLike(op, self, d, dev, f))
	if !value.IsNone() {
		s.Check(fillWith(t, value))
	}
	return s.Return(t)
}

// EmptyLike makes a tensor of self's shape and arbitrary values.
func EmptyLike(self *tensor.Tensor, d dtype.DType, layout tensor.Layout, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
	return newLike("empty_like", self, dtype.Scalar{}, d, layout, dev, f)
}

// ZerosLike makes a tensor of self's shape and zeros.
func ZerosLike(self *tensor.Tensor, d dtype.DType, layout tensor.Layout, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
	return newLike("zeros_like", self, dtype.IntScalar(0), d, layout, dev, f)
}

// OnesLike makes a tensor of self's shape and ones.
func OnesLike(self *tensor.Tensor, d dtype.DType, layout tensor.Layout, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
	return newLike("ones_like", self, dtype.IntScalar(1), d, layout, dev, f)
}

// FullLike makes a tensor of self's shape and one value.
func FullLike(self *tensor.Tensor, value dtype.Scalar, d dtype.DType, layout tensor.Layout, dev device.Device,
	f shape.MemoryFormat) (*tensor.Tensor, error) {
	return newLike("full_like", self, value, d, layout, dev, f)
}

// NewEmpty makes a tensor of self's dtype and device and arbitrary values.
func NewEmpty(self *tensor.Tensor, size []int64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	d, dev, err := likeOptions("new_empty", self, d, layout, dev)
	if err != nil {
		return nil, err
	}
	return tensor.Empty("new_empty", size, d, dev)
}

// NewEmptyStrided is NewEmpty with strides.
func NewEmptyStrided(self *tensor.Tensor, size, stride []int64, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	d, dev, err := likeOptions("new_empty_strided", self, d, layout, dev)
	if err != nil {
		return nil, err
	}
	return EmptyStrided(size, stride, d, layout, dev)
}

// NewFull makes a tensor of self's dtype and device and one value.
func NewFull(self *tensor.Tensor, size []int64, value dtype.Scalar, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	d, dev, err := likeOptions("new_full", self, d, layout, dev)
	if err != nil {
		return nil, err
	}
	return newFilled("new_full", nil, size, value, d, d, layout, dev)
}

// NewZeros makes a tensor of self's dtype and device and zeros.
func NewZeros(self *tensor.Tensor, size []int64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	return NewFull(self, size, dtype.IntScalar(0), d, layout, dev)
}

// NewOnes makes a tensor of self's dtype and device and ones.
func NewOnes(self *tensor.Tensor, size []int64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	return NewFull(self, size, dtype.IntScalar(1), d, layout, dev)
}

// Eye creates a square identity matrix.
func Eye(out *tensor.Tensor, n int64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	return EyeM(out, n, n, d, layout, dev)
}

// EyeM creates a matrix with ones on its diagonal.
func EyeM(out *tensor.Tensor, n, m int64, d dtype.DType, layout tensor.Layout, dev device.Device) (_ *tensor.Tensor, err error) {
	if n < 0 || m < 0 {
		return nil, status.Runtimef("eye: n and m must be greater or equal to 0, got %d and %d", n, m)
	}
	to, err := newFactoryOutput("eye", out, []int64{n, m}, d, dtype.Default(), layout, dev)
	if err != nil {
		return to.Done(err)
	}
	s := newScope("eye")
	defer s.Close(&err)
	return to.Done(s.Try(func() {
		ones := s.Track(view.Diagonal("eye", to.To, 0, 0, 1))
		s.Check(cmp.Or(fillWith(to.To, dtype.IntScalar(0)), fillWith(ones, dtype.IntScalar(1))))
	}))
}
