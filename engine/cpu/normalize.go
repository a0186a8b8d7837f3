package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	normalizeKernel         = kernel.Of(kernelapi.Normalize)
	normalizeGradientKernel = kernel.Of(kernelapi.NormalizeGradient)
	columnMomentsKernel     = kernel.Of(kernelapi.ColumnMoments)
	columnStatisticsKernel  = kernel.Of(kernelapi.ColumnStatistics)
	columnNormalizeKernel   = kernel.Of(kernelapi.ColumnNormalize)
	columnSumsKernel        = kernel.Of(kernelapi.ColumnSums)
	columnTotalsKernel      = kernel.Of(kernelapi.ColumnTotals)
	columnGradientKernel    = kernel.Of(kernelapi.ColumnGradient)
)

// runNormalization normalizes units, which threads share, or takes their gradient.
func runNormalization(op string, w backend.Normalization) error {
	if w.In.Numel() == 0 {
		return nil
	}
	if w.Columns {
		return normalizeColumns(op, w)
	}
	args := normalizeArgs{
		in: dataAddress(w.In), out: dataAddress(w.Out), given: dataAddress(w.Given), weight: dataAddress(w.Weight), bias: dataAddress(w.Bias),
		mean: dataAddress(w.Mean), rstd: dataAddress(w.Rstd), variance: dataAddress(w.Variance),
		sums:  [2]uintptr{dataAddress(w.Sums[0]), dataAddress(w.Sums[1])},
		units: w.Units, strips: w.Strips, runs: w.Runs, span: w.Span, unitStep: w.Runs * w.Span, stripStep: w.Units * w.Span, groups: w.Groups,
		eps: w.Eps, centred: dtype.FromBool[int32](w.Centred), fixed: dtype.FromBool[int32](w.Fixed), rounded: dtype.FromBool[int32](w.Rounded),
	}
	k := normalizeKernel
	if w.Given != nil {
		k = normalizeGradientKernel
	}
	fn, err := k.For(op, w.In.DType())
	if err != nil {
		return err
	}
	size := w.Strips * w.Runs * w.Span
	if w.Sums[0] != nil && w.Strips == 1 && w.Span == 1 {
		return normalizePieces(op, fn, args, w)
	}
	parallel.ForInterruptible(w.Units, max(Grain/size, 1), func(begin, end int64) {
		part := args
		part.first, part.units = begin, end-begin
		kernel.Call(fn, unsafe.Pointer(&part))
	})
	return nil
}

// divideEvenly divides n items of a size into blocks that depend only on these: their length and number.
func divideEvenly(n, size int64) (length, count int64) {
	length = max((n+maxPieces/4-1)/(maxPieces/4), pieceElements/max(size, 1), 1)
	count = (n + length - 1) / length
	return (n + count - 1) / count, count
}

// normalizePieces sums blocks of the units and adds their sums in order.
func normalizePieces(op string, fn uintptr, args normalizeArgs, w backend.Normalization) (err error) {
	length, count := divideEvenly(w.Units, w.Runs)
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	numbers := w.Groups * w.Runs
	parts := s.Track(tensor.Empty(op, []int64{2, count, numbers}, w.Mean.DType(), device.Host))
	s.Check(fillTensor(op, backend.Filling{To: parts, Value: dtype.IntScalar(0)}))
	parallel.ForInterruptible(count, 1, func(begin, end int64) {
		for i := begin; i < end; i++ {
			part := args
			part.first, part.units = i*length, min(length, w.Units-i*length)
			part.sums = [2]uintptr{at(parts, i*numbers), at(parts, (count+i)*numbers)}
			kernel.Call(fn, unsafe.Pointer(&part))
		}
	})
	for i, to := range w.Sums {
		of := s.Track(parts.View(op, []int64{count, numbers}, []int64{numbers, 1}, int64(i)*count*numbers))
		s.Check(runReduction(op, backend.Reduction{Kernel: sumKernel, Compute: to.DType(), Out: [2]*tensor.Tensor{to}, In: of,
			Mask: []bool{true, false}}))
	}
	return nil
}

// normalizeColumns is runNormalization for columns: threads share blocks of rows, and then units.
func normalizeColumns(op string, w backend.Normalization) (err error) {
	matrices, columns := w.Units/w.Groups, w.Groups*w.Runs
	length, count := divideEvenly(w.Strips, columns)
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	parts := s.Track(tensor.Empty(op, []int64{matrices * count, 2, columns}, dtype.Float64, device.Host))
	args := columnsArgs{
		in: dataAddress(w.In), out: dataAddress(w.Out), given: dataAddress(w.Given), weight: dataAddress(w.Weight), bias: dataAddress(w.Bias),
		mean: dataAddress(w.Mean), rstd: dataAddress(w.Rstd), variance: dataAddress(w.Variance),
		sums:   [2]uintptr{dataAddress(w.Sums[0]), dataAddress(w.Sums[1])},
		pieces: at(parts, 0), matrices: matrices, rows: w.Strips, columns: columns, runs: w.Runs, piece: length, count: count, eps: w.Eps,
		fixed: dtype.FromBool[int32](w.Fixed), rounded: dtype.FromBool[int32](w.Rounded),
	}
	share := func(k *kernel.Kernel, d dtype.DType, n, size int64) {
		fn, err := k.For(op, d)
		s.Check(err)
		parallel.ForInterruptible(n, max(Grain/size, 1), func(begin, end int64) {
			part := args
			part.first, part.last = begin, end
			kernel.Call(fn, unsafe.Pointer(&part))
		})
	}
	pieces := func(k *kernel.Kernel) { share(k, w.In.DType(), matrices*count, length*columns) }
	units := func(k *kernel.Kernel, d dtype.DType) { share(k, d, w.Groups, matrices*count*w.Runs) }
	switch {
	case w.Given != nil:
		if !w.Fixed || w.Sums[0] != nil {
			pieces(columnSumsKernel)
			units(columnTotalsKernel, w.Mean.DType())
		}
		if w.Out != nil {
			pieces(columnGradientKernel)
		}
	case w.Fixed:
		pieces(columnNormalizeKernel)
	default:
		pieces(columnMomentsKernel)
		units(columnStatisticsKernel, w.In.DType())
		pieces(columnNormalizeKernel)
	}
	return nil
}
