package ops

import (
	"cmp"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// FftC2c transforms complex numbers along dims and multiplies by scale.
func FftC2c(self *tensor.Tensor, dim []int64, forward bool, scale float64) (*tensor.Tensor, error) {
	const op = "fft_c2c"
	if !self.DType().IsComplex() {
		return nil, status.Runtimef("%s: expects a complex input tensor, but got %v", op, self.DType())
	}
	dims, err := checkTransformDims(op, self, dim)
	if err != nil {
		return nil, err
	}
	if len(dims) == 0 {
		return cloneTensor(op, self, self.DType(), self.Device(), shape.Preserve)
	}
	return transformDims(op, self, byStride(self, dims), self.Sizes(), self.DType(), !forward, scale)
}

// FftR2c transforms real numbers along dims and multiplies by scale; along the last of dims, onesided leaves out the second half,
// which has the conjugates of the first.
func FftR2c(self *tensor.Tensor, dim []int64, onesided bool, scale float64) (*tensor.Tensor, error) {
	const op = "fft_r2c"
	if !self.DType().IsFloatingPoint() {
		return nil, status.Runtimef("%s: expects a real input tensor, but got %v", op, self.DType())
	}
	dims, err := checkTransformDims(op, self, dim)
	if err != nil {
		return nil, err
	}
	if len(dims) == 0 {
		return nil, status.Runtimef("%s: must transform at least one axis", op)
	}
	if len(dims) > 1 && !onesided {
		return nil, status.Runtimef("%s: two-sided transforms of real input support one dimension, but got dim=%v", op, dim)
	}
	last := len(dims) - 1
	sizes := slices.Clone(self.Sizes())
	if onesided {
		sizes[dims[last]] = sizes[dims[last]]/2 + 1
	}
	dims = append(byStride(self, dims[:last]), dims[last])
	return transformDims(op, self, dims, sizes, self.DType().ToComplex(), false, scale)
}

// FftC2r transforms the first half of Hermitian numbers back to size real ones along dim, and multiplies by scale.
func FftC2r(self *tensor.Tensor, dim, size int64, scale float64) (*tensor.Tensor, error) {
	const op = "fft_c2r"
	if !self.DType().IsComplex() {
		return nil, status.Runtimef("%s: expects a complex input tensor, but got %v", op, self.DType())
	}
	dims, err := checkTransformDims(op, self, []int64{dim})
	if err != nil {
		return nil, err
	}
	if size < 1 {
		return nil, status.Runtimef("%s: Invalid number of data points (%d) specified", op, size)
	}
	sizes := slices.Clone(self.Sizes())
	if have := sizes[dims[0]]; have != size/2+1 {
		return nil, status.Runtimef("%s: a real signal of length %d requires %d complex elements, but self has size %d in dim %d", op, size,
			size/2+1, have, dim)
	}
	sizes[dims[0]] = size
	return transformDims(op, self, dims, sizes, self.DType().ToReal(), true, scale)
}

// Transformable returns an error for floats of 8 and 16 bits.
func Transformable(op string, d dtype.DType) error {
	if d.IsFloat8() {
		return status.NotImplementedf("%s: not implemented for dtype %v; convert to float32 or float64", op, d)
	}
	if wide := d.Compute(); wide != d {
		return status.NotImplementedf("%s: Unsupported dtype %v; convert to %v", op, d, wide)
	}
	return nil
}

// checkTransformDims returns the wrapped dimensions dim, each once and with elements, of a tensor that can be transformed.
func checkTransformDims(op string, self *tensor.Tensor, dim []int64) ([]int, error) {
	if err := Transformable(op, self.DType()); err != nil {
		return nil, err
	}
	if len(dim) == 0 {
		return nil, nil
	}
	if self.Dim() == 0 {
		return nil, status.Indexf("%s: dimension specified as %d but tensor has no dimensions", op, dim[0])
	}
	if _, err := shape.WrapDims(op, dim, self.Dim(), false); err != nil {
		return nil, err
	}
	dims := make([]int, len(dim))
	for i, d := range dim {
		dims[i], _ = shape.WrapDim(op, d, self.Dim())
		if self.Sizes()[dims[i]] == 0 {
			return nil, status.Runtimef("%s: Invalid number of data points (0) specified: dimension %d has size 0", op, d)
		}
	}
	return dims, nil
}

// byStride has the dimensions with the largest strides first.
func byStride(t *tensor.Tensor, dims []int) []int {
	sorted := slices.Clone(dims)
	slices.SortStableFunc(sorted, func(a, b int) int { return cmp.Compare(t.Strides()[b], t.Strides()[a]) })
	return sorted
}

// transformDims computes a transform along dims, the fastest last. The result is laid out as in PyTorch: the transformed dimensions are
// innermost, in their order, and the others follow the order of self's strides.
func transformDims(op string, self *tensor.Tensor, dims []int, sizes []int64, d dtype.DType, inverse bool,
	scale float64) (_ *tensor.Tensor, err error) {
	s := newScope(op)
	defer s.Close(&err)
	var batch []int
	for i := range self.Dim() {
		if !slices.Contains(dims, i) {
			batch = append(batch, i)
		}
	}
	var strides []int64
	if self.Numel() > 0 {
		strides = make([]int64, len(sizes))
		step := int64(1)
		for _, i := range slices.Backward(append(byStride(self, batch), dims...)) {
			strides[i] = step
			step *= sizes[i]
		}
	}
	out := s.Track(tensor.EmptyStrided(op, sizes, strides, d, self.Device()))
	slices.Reverse(dims)
	s.Check(backend.On(out).Fourier(op, backend.Fourier{To: out, From: self, Dims: dims, Inverse: inverse, Scale: scale}))
	return s.Return(out)
}
