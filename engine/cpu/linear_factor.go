package cpu

import (
	"math"
	"math/cmplx"
	"unsafe"

	"github.com/libtensor/libtensor/engine/blas"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// givePivots and takePivots copy pivots between LAPACK's memory, with its integer type, and the operand.
func (w *matrixWork) givePivots(i int64, memory unsafe.Pointer) {
	for k := range w.rowPivots(i) {
		w.rowPivots(i)[k] = int32(tensor.Get(pivot(memory, k), blas.Integer()).Int())
	}
}

func (w *matrixWork) takePivots(i int64, memory unsafe.Pointer) {
	for k, p := range w.rowPivots(i) {
		tensor.Put(pivot(memory, k), blas.Integer(), dtype.IntScalar(int64(p)))
	}
}

// pivot returns where LAPACK has pivot k.
func pivot(memory unsafe.Pointer, k int) unsafe.Pointer {
	return unsafe.Add(memory, int64(k)*blas.Integer().Size())
}

// rowPivots returns those of matrix i.
func (w *matrixWork) rowPivots(i int64) []int32 {
	return unsafe.Slice((*int32)(w.address(w.Pivots, i)), w.Pivots.Numel()/w.batch)
}

func (w *matrixWork) factorLU() {
	w.eachInBlocks(w.m*w.n*min(w.m, w.n), nil, func(k *blocks, _ []unsafe.Pointer) worker {
		return func(i int64) { w.say(i, k.factor(w.block(w.A, i), w.rowPivots(i))) }
	})
}

func (w *matrixWork) factorCholesky() {
	n := blas.Int(w.n)
	w.each(w.n*w.n*w.n/3, nil, func([]unsafe.Pointer) worker {
		factor := w.call("potrf", uplo(w.Upper), n, blas.At(nil), n, blas.Int(0))
		return func(i int64) {
			factor.Set(2, w.of(w.A, i))
			factor.Run()
			w.say(i, w.notPositive(i, factor.Info()))
		}
	})
}

// notPositive returns the order of the first leading minor of a matrix that is not positive. OpenBLAS returned info, which ignores NaN.
func (w *matrixWork) notPositive(i, info int64) int64 {
	at, step := w.address(w.A, i), (w.n+1)*w.d.Size()
	for k := range w.n {
		if k+1 == info || cmplx.IsNaN(tensor.Get(unsafe.Add(at, k*step), w.d).Complex()) {
			return k + 1
		}
	}
	return 0
}

// householder calls a routine that has A, Values and then memory from a place of its arguments on.
func (w *matrixWork) householder(work int64, name string, a, values, memory int, arguments ...blas.Argument) {
	room := w.room(name, arguments, memory)
	w.each(work, []int64{room}, func(scratch []unsafe.Pointer) worker {
		call := w.call(name, arguments...)
		call.Set(memory, blas.At(scratch[0]))
		call.Set(memory+1, blas.Int(room/w.d.Size()))
		return func(i int64) {
			call.Set(a, w.of(w.A, i))
			call.Set(values, w.of(w.Values, i))
			if w.B != nil {
				call.Set(values+1, w.of(w.B, i))
			}
			call.Run()
		}
	})
}

func (w *matrixWork) factorQR() {
	w.householder(2*w.m*w.n*min(w.m, w.n), "geqrf", 2, 4, 5, blas.Int(w.m), blas.Int(w.n), blas.At(nil), blas.Int(w.m), blas.At(nil),
		blas.At(nil), blas.Int(0), blas.Int(0))
}

// reflections returns the number of reflections in Q.
func (w *matrixWork) reflections() blas.Argument { return blas.Int(w.Values.Numel() / w.batch) }

// realOr returns the first name for real numbers, the second for complex ones.
func (w *matrixWork) realOr(name, complexName string) string {
	if w.d.IsComplex() {
		return complexName
	}
	return name
}

func (w *matrixWork) formQ() {
	w.householder(2*w.m*w.n*w.n, w.realOr("orgqr", "ungqr"), 3, 5, 6, blas.Int(w.m), blas.Int(w.n), w.reflections(), blas.At(nil),
		blas.Int(w.m), blas.At(nil), blas.At(nil), blas.Int(0), blas.Int(0))
}

func (w *matrixWork) applyQ() {
	rows, columns := shape.Matrix(w.B.Sizes())
	w.householder(2*rows*columns*w.n, w.realOr("ormqr", "unmqr"), 5, 7, 10, w.side(), w.turned(), blas.Int(rows), blas.Int(columns),
		w.reflections(),
		blas.At(nil), blas.Int(w.m), blas.At(nil), blas.At(nil), blas.Int(rows), blas.At(nil), blas.Int(0), blas.Int(0))
}

// symmetric returns the name of a routine for matrices that equal their transpose or their adjoint.
func (w *matrixWork) symmetric(name string) string {
	if w.Hermitian && w.d.IsComplex() {
		return "he" + name
	}
	return "sy" + name
}

func (w *matrixWork) factorLDL() {
	n := blas.Int(w.n)
	name := w.symmetric("trf")
	arguments := []blas.Argument{uplo(w.Upper), n, blas.At(nil), n, blas.At(nil), blas.At(nil), blas.Int(0), blas.Int(0)}
	room := w.room(name, arguments, 5)
	w.each(w.n*w.n*w.n/3, []int64{8 * w.n, room}, func(memory []unsafe.Pointer) worker {
		factor := w.call(name, arguments...)
		factor.Set(4, blas.At(memory[0]))
		factor.Set(5, blas.At(memory[1]))
		factor.Set(6, blas.Int(room/w.d.Size()))
		return func(i int64) {
			if !w.finite(w.A, i) {
				w.withoutNumbers(i)
				return
			}
			factor.Set(2, w.of(w.A, i))
			factor.Run()
			w.say(i, factor.Info())
			w.givePivots(i, memory[0])
		}
	})
}

// withoutNumbers fills the factors of a non-finite matrix with NaN. LAPACK leaves the elements after the first NaN unfactored.
func (w *matrixWork) withoutNumbers(i int64) {
	nan := dtype.FloatScalar(math.NaN())
	for column := range w.n {
		first, last := column, w.n
		if w.Upper {
			first, last = 0, column+1
		}
		for row := first; row < last; row++ {
			tensor.Put(unsafe.Add(w.address(w.A, i), (column*w.n+row)*w.d.Size()), w.d, nan)
		}
	}
	for k, pivots := int64(0), w.rowPivots(i); k < w.n; k++ {
		pivots[k] = int32(k + 1)
	}
	w.say(i, 0)
}
