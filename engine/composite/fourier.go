package composite

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// fourier holds the arguments of one call of the family.
type fourier struct {
	*build.Builder
	out, self *tensor.Tensor
	sizes     []int64 // for dims, -1 for self's size; nil if not given
	dims      []int64 // in order; nil if not given
	norm      string
	forward   bool // of whose normalization the operator is: that of a forward transform
}

// newFourier1D returns the checked arguments of a transform along one dimension.
func newFourier1D(c dispatch.Context, op string, out, self *tensor.Tensor, n ops.Int, dim int64, norm string,
	forward bool) (*fourier, error) {
	f := &fourier{Builder: build.New(c, op), out: out, self: self, dims: []int64{dim}, norm: norm, forward: forward}
	if self.Dim() == 0 {
		return nil, status.Indexf("%s: dimension specified as %d but tensor has no dimensions", op, dim)
	}
	if n != ops.NoInt {
		if n < 1 {
			return nil, status.Runtimef("%s: Invalid number of data points (%d) specified", op, n)
		}
		f.sizes = []int64{int64(n)}
	}
	return f, f.resolveArguments()
}

// newFourierND returns the checked arguments of a transform along several dimensions.
func newFourierND(c dispatch.Context, op string, out, self *tensor.Tensor, s, dim []int64, norm string, forward bool) (*fourier, error) {
	f := &fourier{Builder: build.New(c, op), out: out, self: self, sizes: slices.Clone(s), dims: slices.Clone(dim), norm: norm,
		forward: forward}
	return f, f.resolveArguments()
}

// resolveArguments resolves the dimensions and checks the arguments.
func (f *fourier) resolveArguments() error {
	n := int64(f.self.Dim())
	if err := ops.Transformable(f.Op, f.computeDType()); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]string{"", "backward", "ortho", "forward"}, f.norm):
		return status.Runtimef("%s: Invalid normalization mode: %q; use \"backward\", \"ortho\" or \"forward\"", f.Op, f.norm)
	case f.dims != nil && f.sizes != nil && len(f.dims) != len(f.sizes):
		return status.Runtimef("%s: When given, dim and shape arguments must have the same length, but got dim=%v and s=%v", f.Op, f.dims,
			f.sizes)
	case int64(len(f.sizes)) > n:
		return status.Runtimef("%s: Got shape with %d values but input tensor only has %d dimensions.", f.Op, len(f.sizes), n)
	case f.dims == nil:
		first := int64(0)
		if f.sizes != nil {
			first = n - int64(len(f.sizes))
		}
		f.dims = []int64{}
		for d := first; d < n; d++ {
			f.dims = append(f.dims, d)
		}
	}
	for i, d := range f.dims {
		at, err := shape.WrapDim(f.Op, d, f.self.Dim())
		if err != nil {
			return err
		}
		if f.self.Dim() == 0 {
			return status.Indexf("%s: dimension specified as %d but tensor has no dimensions", f.Op, d)
		}
		if slices.Contains(f.dims[:i], int64(at)) {
			return status.Runtimef("%s: FFT dims must be unique, but got dimension %d twice", f.Op, d)
		}
		f.dims[i] = int64(at)
	}
	if f.sizes == nil {
		f.sizes = slices.Repeat([]int64{-1}, len(f.dims))
	}
	for _, size := range f.sizes {
		if size < 1 && size != -1 {
			return status.Runtimef("%s: Invalid number of data points (%d) specified", f.Op, size)
		}
	}
	return nil
}

// signalSize returns the number of elements of dimension i of dims.
func (f *fourier) signalSize(i int) int64 {
	if f.sizes[i] != -1 {
		return f.sizes[i]
	}
	return f.self.Sizes()[f.dims[i]]
}

// checkLengths returns an error for transforms of length 0, and with some set also for those along no dimension.
func (f *fourier) checkLengths(some bool) error {
	if some && len(f.dims) == 0 {
		return status.Runtimef("%s: must transform at least one axis", f.Op)
	}
	for i := range f.dims {
		if f.signalSize(i) < 1 {
			return status.Runtimef("%s: Invalid number of data points (%d) specified", f.Op, f.signalSize(i))
		}
	}
	return nil
}

// normalizationFactor returns the normalization factor of a transform of `points` elements.
func (f *fourier) normalizationFactor(points float64) float64 {
	switch {
	case f.norm == "ortho":
		return 1 / math.Sqrt(points)
	case (f.norm == "forward") == f.forward:
		return 1 / points
	}
	return 1
}

// countPoints returns the number of points that a transform sums over.
func (f *fourier) countPoints() float64 {
	n := 1.0
	for i := range f.dims {
		n *= float64(f.signalSize(i))
	}
	return n
}

// computeDType returns the dtype of self, or the default dtype for integers and bool.
func (f *fourier) computeDType() dtype.DType {
	if d := f.self.DType(); d.Category() >= dtype.Floating {
		return d
	}
	return dtype.Default()
}

// castSelf returns self in the compute dtype.
func (f *fourier) castSelf() *tensor.Tensor { return f.CastTo(f.self, f.computeDType()) }

// resizeDims crops dims of t to sizes, or pads them with zeros.
func (f *fourier) resizeDims(t *tensor.Tensor, sizes []int64) *tensor.Tensor {
	for i, d := range f.dims {
		if t.Sizes()[d] > sizes[i] {
			t = f.Narrow(t, int64(int(d)), 0, sizes[i])
		}
	}
	pad := make([]int64, 2*t.Dim()) // a pair for each dimension, the last one first
	for i, d := range f.dims {
		pad[2*(int64(t.Dim())-d)-1] = sizes[i] - t.Sizes()[d]
	}
	if !slices.ContainsFunc(pad, func(n int64) bool { return n > 0 }) {
		return t
	}
	return f.ConstantPadNd(t, pad, dtype.IntScalar(0))
}

// listSizes returns the sizes of dims.
func (f *fourier) listSizes() []int64 {
	sizes := make([]int64, len(f.dims))
	for i := range sizes {
		sizes[i] = f.signalSize(i)
	}
	return sizes
}

// writeResult returns t, or writes it to out, which may be wider or narrower than the result.
func (f *fourier) writeResult(t *tensor.Tensor) (*tensor.Tensor, error) {
	if f.out != nil {
		d := f.out.DType()
		switch {
		case t.DType().IsComplex() && !d.IsComplex():
			return nil, status.Runtimef("%s: expects a complex output tensor, but got %v", f.Op, d)
		case !t.DType().IsComplex() && !d.IsFloatingPoint():
			return nil, status.Runtimef("%s: expects a floating point output tensor, but got %v", f.Op, d)
		}
		t = f.CastTo(t, d)
	}
	return build.WriteResult(f.Builder, f.out, t)
}

// transformComplex transforms complex numbers, and real ones along several dimensions.
func (f *fourier) transformComplex() (_ *tensor.Tensor, err error) {
	defer f.Close(&err)
	if err := f.checkLengths(false); err != nil {
		return nil, err
	}
	t := f.castSelf()
	t = f.CastTo(t, t.DType().ToComplex())
	t = f.resizeDims(t, f.listSizes())
	return f.writeResult(f.FftC2c(t, f.dims, f.forward, f.normalizationFactor(f.countPoints())))
}

// transformAny transforms along one dimension. The transform of a real signal takes half the time.
func (f *fourier) transformAny() (*tensor.Tensor, error) {
	if f.self.DType().IsComplex() {
		return f.transformComplex()
	}
	return f.transformReal(false)
}

// transformReal transforms real numbers; the transform back is the conjugate.
func (f *fourier) transformReal(onesided bool) (_ *tensor.Tensor, err error) {
	defer f.Close(&err)
	if f.self.DType().IsComplex() {
		return nil, status.Typef("%s: expects a real-valued input tensor, but got %v", f.Op, f.self.DType())
	}
	if err := f.checkLengths(true); err != nil {
		return nil, err
	}
	t := f.resizeDims(f.castSelf(), f.listSizes())
	scale := f.normalizationFactor(f.countPoints())
	if f.forward {
		return f.writeResult(f.FftR2c(t, f.dims, onesided, scale))
	}
	last := len(f.dims) - 1
	t = f.FftR2c(t, f.dims[last:], onesided, scale)
	t = f.ConjPhysical(t)
	if last > 0 {
		t = f.FftC2c(t, f.dims[:last], false, 1)
	}
	return f.writeResult(t)
}

// transformToReal computes the real signal of a Hermitian spectrum, of which one half is given.
func (f *fourier) transformToReal() (_ *tensor.Tensor, err error) {
	defer f.Close(&err)
	if len(f.dims) == 0 {
		return nil, status.Runtimef("%s: must transform at least one axis", f.Op)
	}
	last := len(f.dims) - 1
	n := f.sizes[last]
	if n == -1 {
		n = 2 * (f.self.Sizes()[f.dims[last]] - 1)
	}
	if n < 1 {
		return nil, status.Runtimef("%s: Invalid number of data points (%d) specified", f.Op, n)
	}
	f.sizes[last] = n
	if err := f.checkLengths(true); err != nil {
		return nil, err
	}
	scale := f.normalizationFactor(f.countPoints())
	t := f.castSelf()
	t = f.CastTo(t, t.DType().ToComplex())
	sizes := f.listSizes()
	sizes[last] = n/2 + 1
	t = f.resizeDims(t, sizes)
	if last > 0 {
		t = f.FftC2c(t, f.dims[:last], f.forward, 1)
	}
	if f.forward {
		t = f.Conj(t)
	}
	return f.writeResult(f.FftC2r(t, f.dims[last], n, scale))
}
