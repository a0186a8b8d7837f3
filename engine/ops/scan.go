package ops

import (
	"cmp"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

var (
	cumsumKernel       = kernelapi.Cumsum
	cumprodKernel      = kernelapi.Cumprod
	logcumsumexpKernel = kernelapi.Logcumsumexp
	cummaxKernel       = kernelapi.Cummax
	cumminKernel       = kernelapi.Cummin
	softmaxKernel      = kernelapi.Softmax
	logSoftmaxKernel   = kernelapi.LogSoftmax
	logsumexpKernel    = kernelapi.Logsumexp

	softmaxGradientKernel    = kernelapi.SoftmaxGradient
	logSoftmaxGradientKernel = kernelapi.LogSoftmaxGradient
)

// splitAround splits sizes around dim: the product of the sizes before it, its size, and the product of those after it.
func splitAround(sizes []int64, dim int) (outer, n, inner int64) {
	if len(sizes) == 0 {
		return 1, 1, 1
	}
	return shape.Product(sizes[:dim]), sizes[dim], shape.Product(sizes[dim+1:])
}

// runScan runs a kernel along dim over contiguous tensors of the shape of in: in and values of the same dtype, indices,
// where given, of int64.
func runScan(op string, k kernelapi.Kernel, in, values, indices *tensor.Tensor, dim int) error {
	w := backend.Lanes{Kernel: k, In: in, Out: values, Indices: indices}
	w.Outer, w.N, w.Inner = splitAround(in.Sizes(), dim)
	return backend.On(in).Scan(op, w)
}

// runScanOutput fills out, of dtype d and self's shape, by a kernel along dim.
func runScanOutput(op string, k kernelapi.Kernel, out, self *tensor.Tensor, dim int64, d dtype.DType) (_ *tensor.Tensor, err error) {
	at, err := shape.WrapDim(op, dim, self.Dim())
	if err = cmp.Or(err, tensoriter.SameDType(op, out, d)); err != nil {
		return nil, err
	}
	if err := warnDiscardImaginary(op, self.DType(), d); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	if self.Numel() == 0 || d == dtype.Bool && self.Dim() == 0 {
		return s.writeResult(out, s.copyContiguous(self, d))
	}
	compute := k.Compute(d)
	if err := k.Check(op, compute); err != nil {
		return nil, err
	}
	from := self
	if self.DType() != compute && d != compute {
		// Elements are first rounded to the result's dtype, then accumulated in 32 bits.
		from = s.castRowMajor(self, d)
	}
	in := s.castRowMajor(from, compute)
	to := tensoriter.Output{Op: op, Out: out, Sizes: self.Sizes(), DType: d, Device: self.Device(), Sharing: tensoriter.InPlaceOrBeside,
		RowMajor: true, Writes: compute}
	err = to.Open(self)
	if err == nil {
		err = runScan(op, k, in, to.To, nil, at)
	}
	return to.Done(err)
}

// Cumsum returns the running sum along dim.
func Cumsum(out, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	return scanNumbers("cumsum", cumsumKernel, out, self, dim, d)
}

// Cumprod returns the running product along dim.
func Cumprod(out, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	return scanNumbers("cumprod", cumprodKernel, out, self, dim, d)
}

func scanNumbers(op string, k kernelapi.Kernel, out, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	if out == self && d != dtype.None && d != self.DType() {
		return nil, status.Runtimef("%s: dtype must be the dtype of self, %[3]v, in the in-place variant, but got %[2]v", op, d, self.DType())
	}
	d = sumDType(d, out, self)
	return runScanOutput(op, k, out, self, dim, d)
}

// Logcumsumexp returns the logarithm of the running sum of exponentials along dim.
func Logcumsumexp(out, self *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	d := self.DType()
	if d.Category() < dtype.Floating {
		return nil, status.NotImplementedf("logcumsumexp: not implemented for dtype %v; convert to a floating-point or complex dtype", d)
	}
	return runScanOutput("logcumsumexp", logcumsumexpKernel, out, self, dim, d)
}

// Cummax returns the running largest element along dim and the index of its last occurrence so far.
func Cummax(outValues, outIndices, self *tensor.Tensor, dim int64) (*tensor.Tensor, *tensor.Tensor, error) {
	return scanExtreme("cummax", cummaxKernel, outValues, outIndices, self, dim)
}

// Cummin returns the running smallest element along dim and the index of its last occurrence so far.
func Cummin(outValues, outIndices, self *tensor.Tensor, dim int64) (*tensor.Tensor, *tensor.Tensor, error) {
	return scanExtreme("cummin", cumminKernel, outValues, outIndices, self, dim)
}

func scanExtreme(op string, k kernelapi.Kernel, outValues, outIndices, self *tensor.Tensor,
	dim int64) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	if err := requireOrder(op, self); err != nil && self.Numel() > 0 {
		return nil, nil, err
	}
	at, err := shape.WrapDim(op, dim, self.Dim())
	if err != nil {
		return nil, nil, err
	}
	compute := self.DType().Compute()
	s := newScope(op)
	defer s.Close(&err)
	in := s.castRowMajor(self, compute)
	values := tensoriter.Output{Op: op, Name: "values", Out: outValues, Sizes: self.Sizes(), DType: self.DType(), Device: self.Device(),
		Exact: true, Sharing: tensoriter.InPlaceOrBeside, RowMajor: true, Writes: compute}
	indices := tensoriter.Output{Op: op, Name: "indices", Out: outIndices, Sizes: self.Sizes(), DType: dtype.Int64, Device: self.Device(),
		Exact: true, Sharing: tensoriter.Beside, RowMajor: true, Writes: dtype.Int64}
	err = tensoriter.OpenBoth(&values, &indices, self)
	if err == nil {
		err = runScan(op, k, in, values.To, indices.To, at)
	}
	return tensoriter.DoneBoth(&values, &indices, err)
}

// Softmax is e^x divided by its sum along dim.
func Softmax(out, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	return runSoftmax("softmax", softmaxKernel, out, self, dim, d)
}

// LogSoftmax returns the logarithm of Softmax.
func LogSoftmax(out, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	return runSoftmax("log_softmax", logSoftmaxKernel, out, self, dim, d)
}

func runSoftmax(op string, k kernelapi.Kernel, out, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	if d == dtype.None {
		d = self.DType()
	}
	if !d.IsFloatingPoint() && self.Numel() > 0 {
		return nil, status.NotImplementedf("%s: not implemented for dtype %v; convert to a floating-point dtype", op, d)
	}
	return runScanOutput(op, k, out, self, dim, d)
}

// NnSoftmaxGradient returns the gradient of softmax, or of its logarithm, by its result.
func NnSoftmaxGradient(given, output *tensor.Tensor, dim int64, logarithm bool) (_ *tensor.Tensor, err error) {
	const op = "nn_softmax_gradient"
	at, err := shape.WrapDim(op, dim, output.Dim())
	if err != nil {
		return nil, err
	}
	if given.Device() != output.Device() || !slices.Equal(given.Sizes(), output.Sizes()) {
		return nil, status.Runtimef("%s: the gradient must have the sizes and the device of the output, %v on %v, but has sizes %v on %v", op,
			output.Sizes(), output.Device(), given.Sizes(), given.Device())
	}
	k := softmaxGradientKernel
	if logarithm {
		k = logSoftmaxGradientKernel
	}
	s := newScope(op)
	defer s.Close(&err)
	d := output.DType()
	in, with := s.castRowMajor(output, d), s.castRowMajor(given, d)
	to := with // a copy, such as that of an expanded gradient, is not needed after the result is computed
	if with == given {
		to = s.newEmpty(output, d, output.Sizes()...)
	}
	w := backend.Lanes{Kernel: k, In: in, With: with, Out: to}
	w.Outer, w.N, w.Inner = splitAround(in.Sizes(), at)
	s.Check(backend.On(in).Scan(op, w))
	return s.writeResult(nil, to)
}

// Logsumexp returns the logarithm of the sum of exponentials over dim.
func Logsumexp(out, self *tensor.Tensor, dim []int64, keepdim bool) (_ *tensor.Tensor, err error) {
	const op = "logsumexp"
	d := self.DType()
	if d.Category() < dtype.Floating {
		d = dtype.Default()
	}
	if d.IsComplex() {
		return logsumexpComplex(out, self, dim, keepdim)
	}
	if out != nil && !out.DType().IsFloatingPoint() && !out.DType().IsComplex() {
		return nil, status.Runtimef("%s: expected floating point type for result tensor, but got %v", op, out.DType())
	}
	mask, err := shape.WrapDims(op, dim, self.Dim(), true)
	if err != nil {
		return nil, err
	}
	compute := logsumexpKernel.Compute(d)
	if err := logsumexpKernel.Check(op, compute); err != nil {
		return nil, err
	}
	kept, sizes := listFreeDims(self, mask)
	order := slices.Clone(kept)
	n := int64(1)
	for i, reduced := range mask {
		if reduced {
			order = append(order, i)
			n *= self.Sizes()[i]
		}
	}
	s := newScope(op)
	defer s.Close(&err)
	in := s.castRowMajor(s.permuteDims(self, order...), compute)
	to := tensoriter.Output{Op: op, Out: out, Sizes: reducedSizes(self.Sizes(), mask, keepdim), DType: d, Device: self.Device(),
		Sharing: tensoriter.Beside, RowMajor: true, Writes: compute}
	err = to.Open(self)
	if err == nil {
		err = backend.On(in).Scan(op, backend.Lanes{Kernel: logsumexpKernel, In: in, Out: to.To, Outer: shape.Product(sizes), N: n, Inner: 1})
	}
	return to.Done(err)
}

// logsumexpComplex takes out the largest real part before exponentiating.
func logsumexpComplex(out, self *tensor.Tensor, dim []int64, keepdim bool) (_ *tensor.Tensor, err error) {
	s := newScope("logsumexp")
	defer s.Close(&err)
	re := s.Track(Real(self))
	peak := Amax
	if self.Numel() == 0 { // which has none, but exponentials that add up to 0
		peak = func(out, x *tensor.Tensor, dim []int64, keepdim bool) (*tensor.Tensor, error) {
			return Sum(out, x, dim, keepdim, dtype.None)
		}
	}
	top := s.Track(peak(nil, re, dim, true))
	// An infinite peak is not taken out.
	none, infinite := s.Number(dtype.IntScalar(0)), s.Track(Isinf(top))
	top = s.Track(Where(nil, infinite, none, top))
	shifted := s.Track(subtractTensors(nil, self, top))
	powers := s.Track(Exp(nil, shifted))
	total := s.Track(Sum(nil, powers, dim, true, dtype.None))
	result := s.Track(addTensors(nil, s.Track(Log(nil, total)), top))
	mask, err := shape.WrapDims("logsumexp", dim, self.Dim(), true)
	if err != nil {
		return nil, err
	}
	return s.writeResultCast(out, s.reshapeTo(result, reducedSizes(self.Sizes(), mask, keepdim)...))
}
