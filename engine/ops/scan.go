package ops

import (
	"math"
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	cumsumKernel       = kernel.Get("cumsum")
	cumprodKernel      = kernel.Get("cumprod")
	logcumsumexpKernel = kernel.Get("logcumsumexp")
	cummaxKernel       = kernel.Get("cummax")
	cumminKernel       = kernel.Get("cummin")
	softmaxKernel      = kernel.Get("softmax")
	logSoftmaxKernel   = kernel.Get("log_softmax")
	logsumexpKernel    = kernel.Get("logsumexp")
)

// lanes splits sizes around dim: positions before it, its size, positions after it.
func lanes(sizes []int64, dim int) (outer, n, inner int64) {
	if len(sizes) == 0 {
		return 1, 1, 1
	}
	return shape.Product(sizes[:dim]), sizes[dim], shape.Product(sizes[dim+1:])
}

// runScan runs a kernel along dim over contiguous tensors of the shape of in: in and values of the same dtype, indices,
// where given, of int64.
func runScan(op string, k *kernel.Kernel, in, values, indices *tensor.Tensor, dim int) error {
	fn := k.Row(in.DType())
	if fn == 0 {
		return status.NotImplementedf("%s: not implemented for dtype %v", op, in.DType())
	}
	if in.Numel() == 0 {
		return nil
	}
	outer, n, inner := lanes(in.Sizes(), dim)
	size := in.DType().Size()
	run := func(firstOuter, outers, firstInner, width int64) {
		at := firstOuter*n*inner + firstInner
		s := kernel.Scan{In: uintptr(in.Data()) + uintptr(at*size), Outer: outers, N: n, Inner: inner, Width: width}
		s.Out[0] = uintptr(values.Data()) + uintptr(at*values.DType().Size())
		if indices != nil {
			s.Out[1] = uintptr(indices.Data()) + uintptr(at*8)
		}
		kernel.Call(fn, unsafe.Pointer(&s))
	}
	if outer >= inner {
		parallel.For(outer, max(iter.Grain/(n*inner), 1), func(begin, end int64) { run(begin, end-begin, 0, inner) })
	} else {
		parallel.For(inner, max(iter.Grain/(n*outer), 64), func(begin, end int64) { run(0, outer, begin, end-begin) })
	}
	return nil
}

// asContiguous is t itself, aliased, when it is row-major and of dtype d, and a row-major copy in d otherwise.
func asContiguous(op string, t *tensor.Tensor, d dtype.DType) (*tensor.Tensor, error) {
	if t.DType() == d && t.IsContiguous() {
		return t.Alias(), nil
	}
	return castTo(op, t, d)
}

// scan fills out, of dtype d and self's shape, by a kernel along dim.
func scan(op string, k *kernel.Kernel, out, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	at, err := shape.WrapDim(op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	to, direct, err := scanOutput(op, out, self.Sizes(), d, self)
	if err != nil || to.IsMeta() {
		return to, err
	}
	compute := d
	if !k.Has(d) {
		compute = d.Compute()
	}
	from := self
	if self.DType() != compute && d != compute {
		// Elements are first rounded to the result's dtype, then accumulated in 32 bits.
		if from, err = castTo(op, self, d); err != nil {
			return nil, err
		}
		defer from.Release()
	}
	in, err := asContiguous(op, from, compute)
	if err != nil {
		return nil, err
	}
	defer in.Release()
	if direct && compute == d && to.IsContiguous() {
		return to, runScan(op, k, in, to, nil, at)
	}
	values, err := tensor.Empty(op, self.Sizes(), compute, self.Device())
	if err != nil {
		return nil, err
	}
	defer values.Release()
	if err := runScan(op, k, in, values, nil, at); err != nil {
		return nil, err
	}
	iter.Copy(to, values)
	return to, nil
}

// scanOutput is out, resized, or a fresh contiguous tensor. direct is false where out shares memory with self otherwise
// than element for element.
func scanOutput(op string, out *tensor.Tensor, sizes []int64, d dtype.DType, self *tensor.Tensor) (to *tensor.Tensor, direct bool, err error) {
	if out == nil {
		to, err = tensor.Empty(op, sizes, d, self.Device())
		return to, true, err
	}
	if err := sameDType(op, out, d); err != nil {
		return nil, false, err
	}
	if err := iter.CheckOutput(op, out, d, self.Device()); err != nil {
		return nil, false, err
	}
	if !slices.Equal(out.Sizes(), sizes) {
		if err := out.Resize(op, sizes); err != nil {
			return nil, false, err
		}
	}
	return out, out.Storage() != self.Storage() || iter.SameView(out, self), iter.CheckOverlap(op, out)
}

// Cumsum is the running sum along dim.
func Cumsum(out, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	return scanNumbers("cumsum", cumsumKernel, out, self, dim, d)
}

// Cumprod is the running product along dim.
func Cumprod(out, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	return scanNumbers("cumprod", cumprodKernel, out, self, dim, d)
}

func scanNumbers(op string, k *kernel.Kernel, out, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	if out == self && d != dtype.None && d != self.DType() {
		return nil, status.Runtimef("%s: the dtype %v of the in-place form must be that of self, %v", op, d, self.DType())
	}
	d = sumDType(d, out, self)
	if d != dtype.Bool {
		return scan(op, k, out, self, dim, d)
	}
	wide, err := scan(op, k, nil, self, dim, dtype.Int64)
	if err != nil {
		return nil, err
	}
	defer wide.Release()
	to, _, err := scanOutput(op, out, self.Sizes(), d, self)
	if err == nil && !to.IsMeta() {
		iter.Copy(to, wide)
	}
	return to, err
}

// Logcumsumexp is the logarithm of the running sum of exponentials along dim.
func Logcumsumexp(out, self *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	d := self.DType()
	if d.Category() < dtype.Floating {
		d = dtype.Default()
	}
	return scan("logcumsumexp", logcumsumexpKernel, out, self, dim, d)
}

// Cummax gives the running largest element along dim and the index of its last occurrence so far.
func Cummax(outValues, outIndices, self *tensor.Tensor, dim int64) (*tensor.Tensor, *tensor.Tensor, error) {
	return scanExtreme("cummax", cummaxKernel, outValues, outIndices, self, dim)
}

// Cummin gives the running smallest element along dim and the index of its last occurrence so far.
func Cummin(outValues, outIndices, self *tensor.Tensor, dim int64) (*tensor.Tensor, *tensor.Tensor, error) {
	return scanExtreme("cummin", cumminKernel, outValues, outIndices, self, dim)
}

func scanExtreme(op string, k *kernel.Kernel, outValues, outIndices, self *tensor.Tensor, dim int64) (values, indices *tensor.Tensor, err error) {
	if err := wantOrder(op, self); err != nil {
		return nil, nil, err
	}
	at, err := shape.WrapDim(op, dim, self.Dim())
	if err != nil {
		return nil, nil, err
	}
	values, indices, err = pairOutput(op, outValues, outIndices, self, self.Sizes(), dtype.Int64)
	if err != nil || values.IsMeta() {
		return values, indices, err
	}
	compute := self.DType().Compute()
	in, err := asContiguous(op, self, compute)
	if err != nil {
		return nil, nil, err
	}
	defer in.Release()
	v, i := values, indices
	if compute != self.DType() || !values.IsContiguous() {
		if v, err = tensor.Empty(op, self.Sizes(), compute, self.Device()); err != nil {
			return nil, nil, err
		}
		defer v.Release()
	}
	if !indices.IsContiguous() {
		if i, err = tensor.Empty(op, self.Sizes(), dtype.Int64, self.Device()); err != nil {
			return nil, nil, err
		}
		defer i.Release()
	}
	if err := runScan(op, k, in, v, i, at); err != nil {
		return nil, nil, err
	}
	if v != values {
		iter.Copy(values, v)
	}
	if i != indices {
		iter.Copy(indices, i)
	}
	return values, indices, nil
}

// Softmax is e^x divided by its sum along dim.
func Softmax(out, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	return soft("softmax", softmaxKernel, out, self, dim, d)
}

// LogSoftmax is the logarithm of Softmax.
func LogSoftmax(out, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	return soft("log_softmax", logSoftmaxKernel, out, self, dim, d)
}

func soft(op string, k *kernel.Kernel, out, self *tensor.Tensor, dim int64, d dtype.DType) (*tensor.Tensor, error) {
	if d == dtype.None {
		d = self.DType()
	}
	if !d.IsFloatingPoint() {
		return nil, status.NotImplementedf("%s: not implemented for dtype %v; give a floating dtype", op, d)
	}
	return scan(op, k, out, self, dim, d)
}

// Logsumexp is the logarithm of the sum of exponentials over dim.
func Logsumexp(out, self *tensor.Tensor, dim []int64, keepdim bool) (*tensor.Tensor, error) {
	const op = "logsumexp"
	d := self.DType()
	if d.Category() < dtype.Floating {
		d = dtype.Default()
	}
	if d.IsComplex() {
		return logsumexpComplex(out, self, dim, keepdim)
	}
	if out != nil && !out.DType().IsFloatingPoint() {
		return nil, status.Runtimef("%s: expected floating point type for result tensor, but got %v", op, out.DType())
	}
	mask, err := shape.WrapDims(op, dim, self.Dim(), true)
	if err != nil {
		return nil, err
	}
	to, err := reductionOutput(op, out, reducedSizes(self.Sizes(), mask, keepdim), d, self)
	if err != nil || to.IsMeta() {
		return to, err
	}
	kept, sizes := freeDims(self, mask)
	order := slices.Clone(kept)
	n := int64(1)
	for i, reduced := range mask {
		if reduced {
			order = append(order, i)
			n *= self.Sizes()[i]
		}
	}
	view, err := permuted(op, self, order...)
	if err != nil {
		return nil, err
	}
	defer view.Release()
	in, err := asContiguous(op, view, d.Compute())
	if err != nil {
		return nil, err
	}
	defer in.Release()
	rows := shape.Product(sizes)
	values, err := tensor.Empty(op, to.Sizes(), d.Compute(), self.Device())
	if err != nil {
		return nil, err
	}
	defer values.Release()
	fn, size := logsumexpKernel.Row(d.Compute()), d.Compute().Size()
	parallel.For(rows, max(iter.Grain/max(n, 1), 1), func(begin, end int64) {
		s := kernel.Scan{In: uintptr(in.Data()) + uintptr(begin*n*size), Outer: end - begin, N: n, Inner: 1, Width: 1}
		s.Out[0] = uintptr(values.Data()) + uintptr(begin*size)
		kernel.Call(fn, unsafe.Pointer(&s))
	})
	iter.Copy(to, values)
	return to, nil
}

// logsumexpComplex takes out the largest real part before exponentiating.
func logsumexpComplex(out, self *tensor.Tensor, dim []int64, keepdim bool) (*tensor.Tensor, error) {
	s := &scope{op: "logsumexp"}
	defer s.close()
	re := s.keep(Real(self))
	if s.err != nil {
		return nil, s.err
	}
	top := s.keep(Amax(nil, re, dim, true))
	if s.err != nil {
		return nil, s.err
	}
	if !top.IsMeta() {
		for i := range top.Numel() {
			if p := elementAt(top, i); math.IsInf(tensor.Get(p, top.DType()).F, 0) {
				tensor.Put(p, top.DType(), dtype.IntScalar(0))
			}
		}
	}
	shifted := s.sub(self, top)
	if s.err != nil {
		return nil, s.err
	}
	powers := s.keep(Exp(nil, shifted))
	if s.err != nil {
		return nil, s.err
	}
	total := s.keep(Sum(nil, powers, dim, true, dtype.None))
	if s.err != nil {
		return nil, s.err
	}
	result := s.add(s.keep(Log(nil, total)), top)
	if s.err != nil {
		return nil, s.err
	}
	mask, err := shape.WrapDims("logsumexp", dim, self.Dim(), true)
	if err != nil {
		return nil, err
	}
	return s.result(out, s.reshape(result, reducedSizes(self.Sizes(), mask, keepdim)...))
}
