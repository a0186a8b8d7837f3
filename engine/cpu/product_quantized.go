package cpu

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// bytesKernel multiplies 8-bit integers on CPUs that support that, and quantizedKernel as 16-bit integers. Each has a second function that
// packs the second operand.
var (
	bytesKernel, packBytesKernel         = kernel.Of(kernelapi.GemmBytes), kernel.Of(kernelapi.GemmBytesPack)
	quantizedKernel, packQuantizedKernel = kernel.Of(kernelapi.GemmQuantized), kernel.Of(kernelapi.GemmQuantizedPack)
)

// quantizedKernels returns the kernels for products with a first operand of dtype d, and the dtype that they take it in. Which pack returns
// does not depend on d.
func quantizedKernels(d dtype.DType) (multiply, pack uintptr, left dtype.DType) {
	if pack := kernel.OfTiles(kernelapi.GemmQuantizedAmxPack).Row(0); pack != 0 {
		if d != dtype.Int8 {
			d = dtype.Uint8
		}
		return kernel.OfTiles(kernelapi.GemmQuantizedAmx).Row(d), pack, d
	}
	if run := bytesKernel.Row(0); run != 0 {
		return run, packBytesKernel.Row(0), dtype.Uint8
	}
	return quantizedKernel.Row(0), packQuantizedKernel.Row(0), dtype.Int16
}

// newPacking returns a matrix that is to be packed, and how many bytes that takes.
func newPacking(b *tensor.Tensor) kernel.GemmPacking {
	m := matricesOf(b)
	p := kernel.GemmPacking{B: m.data, N: m.cols, K: m.rows, BRow: m.row, BCol: m.column}
	_, pack, _ := quantizedKernels(b.DType())
	kernel.Call(pack, unsafe.Pointer(&p))
	return p
}

// packQuantized packs the second operand of products.
func packQuantized(op string, b *tensor.Tensor) (*tensor.Tensor, error) {
	p := newPacking(b)
	packed, err := tensor.Empty(op, []int64{p.Bytes}, dtype.Uint8, device.Host)
	if err != nil || p.Bytes == 0 {
		return packed, err
	}
	p.Packed = uintptr(packed.Data())
	_, pack, _ := quantizedKernels(b.DType())
	kernel.Call(pack, unsafe.Pointer(&p))
	return packed, nil
}

// pastColumns is how far the kernels may read per-column arrays beyond the last column.
const pastColumns = 64

// quantizedProduct multiplies matrices of integers that represent numbers.
func quantizedProduct(op string, w backend.QuantizedProduct) (err error) {
	if w.To.Numel() == 0 {
		return nil
	}
	s := products{owner.Scope{Op: op}}
	defer s.Close(&err)
	run, _, left := quantizedKernels(w.A.DType())
	mb, mc := matricesOf(w.B), matricesOf(w.To)
	a, zero := s.leftOf(w.A, left, w.AZero)
	q := kernel.GemmQuantized{AZero: zero, Zero: w.Zero, Low: float32(w.Low - w.Zero), High: float32(w.High - w.Zero),
		DType: int32(w.To.DType())}
	if w.Packed != nil {
		if n := newPacking(w.B).Bytes; w.Packed.DType() != dtype.Uint8 || !w.Packed.IsContiguous() || w.Packed.Numel() != n {
			return status.Runtimef("%s: packed must be the result of quantized.linear_pack for this weight on this machine, a contiguous tensor of %d bytes, but got %v of sizes %v",
				op, n, w.Packed.DType(), w.Packed.Sizes())
		}
		q.Packed = at(w.Packed, 0)
	}
	offsets := eachColumn[int32](&s, mc.cols, dtype.Int32, &q.Offsets)
	bias, scales := eachColumn[float32](&s, mc.cols, dtype.Float32, &q.Bias), eachColumn[float32](&s, mc.cols, dtype.Float32, &q.Scales)
	for j := range mc.cols {
		offsets[j] = int32(mb.rows) * w.AZero * itemOf(w.BZeros, j)
		scales[j] = itemOf(w.Scales, j)
	}
	switch {
	case w.Bias == nil:
	case w.Bias.DType() == dtype.Int32:
		for j, v := range elementsOf[int32](w.Bias) {
			offsets[j] += v
		}
	default:
		copy(bias, elementsOf[float32](w.Bias))
	}
	if slices.ContainsFunc(w.BZeros, func(zero int32) bool { return zero != 0 }) {
		zeros, sums := eachColumn[int32](&s, mc.cols, dtype.Int32, &q.Zeros), s.rowSums(w.A)
		for j := range mc.cols {
			zeros[j] = itemOf(w.BZeros, j)
		}
		q.RowSums = at(sums, 0)
	}
	ma := matricesOf(a)
	q.Gemm = kernel.Gemm{A: ma.data, B: mb.data, C: mc.data, Batch: 1, M: mc.rows, N: mc.cols, K: mb.rows,
		ARow: ma.row, ACol: ma.column, BRow: mb.row, BCol: mb.column, CRow: mc.row, CCol: mc.column}
	blocks := productBlocks{Gemm: q.Gemm, left: left, right: dtype.Int8, result: w.To.DType(), leastRows: leastBlockRows,
		leastColumns: leastBlockColumns}
	blocks.share(func(p kernel.Gemm, i, j int64) {
		q := q
		q.Gemm, q.Column = p, j
		for _, column := range []*uintptr{&q.Offsets, &q.Zeros, &q.Bias, &q.Scales} {
			*column += uintptr(4 * j)
		}
		if q.RowSums != 0 {
			q.RowSums += uintptr(4 * i)
		}
		kernel.Call(run, unsafe.Pointer(&q))
	})
	return nil
}

// leftOf returns the first operand as a kernel takes it, and its zero point: signed bytes are raised by 128 where it takes bytes.
func (s *products) leftOf(a *tensor.Tensor, d dtype.DType, zero int32) (*tensor.Tensor, int32) {
	if a.DType() == d && (a.Strides()[1] == 1 || a.Sizes()[1] == 1) {
		return a, zero
	}
	raised := d == dtype.Uint8 && a.DType() == dtype.Int8
	if !raised {
		return backend.RowMajorCopy(&s.Scope, a, d), zero
	}
	a = backend.RowMajorCopy(&s.Scope, a, dtype.Int8)
	for i := range elementsOf[uint8](a) {
		elementsOf[uint8](a)[i] ^= 0x80
	}
	return a, zero + 0x80
}

// rowSums returns the sums of rows, which wrap.
func (s *products) rowSums(a *tensor.Tensor) *tensor.Tensor {
	sums := s.Track(tensor.Empty(s.Op, a.Sizes()[:1], dtype.Int64, device.Host))
	s.Check(runReduction(s.Op, backend.Reduction{Kernel: sumKernel, Compute: dtype.Int64, Out: [2]*tensor.Tensor{sums}, In: a,
		Mask: []bool{false, true}}))
	return backend.RowMajorCopy(&s.Scope, sums, dtype.Int32)
}

// eachColumn allocates an item for each of n columns, zeros, and stores the address at at.
func eachColumn[T any](s *products, n int64, d dtype.DType, at *uintptr) []T {
	items := s.Track(tensor.Empty(s.Op, []int64{n + pastColumns}, d, device.Host))
	*at = uintptr(items.Data())
	clear(elementsOf[T](items))
	return elementsOf[T](items)
}

// itemOf returns the item for column j from one for all columns or one for each; it is 0 without items.
func itemOf[T int32 | float32](items []T, j int64) T {
	switch len(items) {
	case 0:
		return 0
	case 1:
		return items[0]
	}
	return items[j]
}
