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
		w.rowPivots(i)[k] = int32(tensor.Get(pivotAt(memory, k), blas.Integer()).Int())
	}
}

func (w *matrixWork) takePivots(i int64, memory unsafe.Pointer) {
	for k, p := range w.rowPivots(i) {
		tensor.Put(pivotAt(memory, k), blas.Integer(), dtype.IntScalar(int64(p)))
	}
}

// pivotAt returns where LAPACK has pivot k.
func pivotAt(memory unsafe.Pointer, k int) unsafe.Pointer {
	return unsafe.Add(memory, int64(k)*blas.Integer().Size())
}

// rowPivots returns those of matrix i.
func (w *matrixWork) rowPivots(i int64) []int32 {
	return unsafe.Slice((*int32)(w.matrixAddress(w.Pivots, i)), w.Pivots.Numel()/w.batch)
}

func (w *matrixWork) factorLU() {
	w.eachInBlocks(w.m*w.n*min(w.m, w.n), nil, func(k *blocks, _ []unsafe.Pointer) worker {
		return func(i int64) { w.setInfo(i, k.factorLU(w.blockOf(w.A, i), w.rowPivots(i))) }
	})
}

func (w *matrixWork) factorCholesky() {
	n := blas.Int(w.n)
	w.runEach(w.n*w.n*w.n/3, nil, func([]unsafe.Pointer) worker {
		factor := w.newCall("potrf", uploLetter(w.Upper), n, blas.At(nil), n, blas.Int(0))
		return func(i int64) {
			factor.Set(2, w.matrixArgument(w.A, i))
			factor.Run()
			w.setInfo(i, w.notPositive(i, factor.Info()))
		}
	})
}

// notPositive returns the order of the first leading minor of a matrix that is not positive. OpenBLAS returned info, which ignores NaN.
func (w *matrixWork) notPositive(i, info int64) int64 {
	at, step := w.matrixAddress(w.A, i), (w.n+1)*w.d.Size()
	for k := range w.n {
		if k+1 == info || cmplx.IsNaN(tensor.Get(unsafe.Add(at, k*step), w.d).Complex()) {
			return k + 1
		}
	}
	return 0
}

// callHouseholder calls a routine that has A, Values and then memory from a place of its arguments on.
func (w *matrixWork) callHouseholder(work int64, name string, a, values, memory int, arguments ...blas.Argument) {
	room := w.queryWorkspace(name, arguments, memory)
	w.runEach(work, []int64{room}, func(scratch []unsafe.Pointer) worker {
		call := w.newCall(name, arguments...)
		call.Set(memory, blas.At(scratch[0]))
		call.Set(memory+1, blas.Int(room/w.d.Size()))
		return func(i int64) {
			call.Set(a, w.matrixArgument(w.A, i))
			call.Set(values, w.matrixArgument(w.Values, i))
			if w.B != nil {
				call.Set(values+1, w.matrixArgument(w.B, i))
			}
			call.Run()
		}
	})
}

func (w *matrixWork) factorQR() {
	w.callHouseholder(2*w.m*w.n*min(w.m, w.n), "geqrf", 2, 4, 5, blas.Int(w.m), blas.Int(w.n), blas.At(nil), blas.Int(w.m), blas.At(nil),
		blas.At(nil), blas.Int(0), blas.Int(0))
}

// countReflections returns the number of reflections in Q.
func (w *matrixWork) countReflections() blas.Argument { return blas.Int(w.Values.Numel() / w.batch) }

// realOr returns the first name for real numbers, the second for complex ones.
func (w *matrixWork) realOr(name, complexName string) string {
	if w.d.IsComplex() {
		return complexName
	}
	return name
}

func (w *matrixWork) formQ() {
	w.callHouseholder(2*w.m*w.n*w.n, w.realOr("orgqr", "ungqr"), 3, 5, 6, blas.Int(w.m), blas.Int(w.n), w.countReflections(), blas.At(nil),
		blas.Int(w.m), blas.At(nil), blas.At(nil), blas.Int(0), blas.Int(0))
}

func (w *matrixWork) applyQ() {
	rows, columns := shape.Matrix(w.B.Sizes())
	w.callHouseholder(2*rows*columns*w.n, w.realOr("ormqr", "unmqr"), 5, 7, 10, w.sideLetter(), w.transposeLetter(),
		blas.Int(rows), blas.Int(columns), w.countReflections(), blas.At(nil), blas.Int(w.m), blas.At(nil), blas.At(nil), blas.Int(rows),
		blas.At(nil), blas.Int(0), blas.Int(0))
}

// symmetricName returns the name of a routine for matrices that equal their transpose or their adjoint.
func (w *matrixWork) symmetricName(name string) string {
	if w.Hermitian && w.d.IsComplex() {
		return "he" + name
	}
	return "sy" + name
}

func (w *matrixWork) factorLDL() {
	n := blas.Int(w.n)
	name := w.symmetricName("trf")
	arguments := []blas.Argument{uploLetter(w.Upper), n, blas.At(nil), n, blas.At(nil), blas.At(nil), blas.Int(0), blas.Int(0)}
	room := w.queryWorkspace(name, arguments, 5)
	w.runEach(w.n*w.n*w.n/3, []int64{8 * w.n, room}, func(memory []unsafe.Pointer) worker {
		factor := w.newCall(name, arguments...)
		factor.Set(4, blas.At(memory[0]))
		factor.Set(5, blas.At(memory[1]))
		factor.Set(6, blas.Int(room/w.d.Size()))
		return func(i int64) {
			if !w.isFinite(w.A, i) {
				w.withoutNumbers(i)
				return
			}
			factor.Set(2, w.matrixArgument(w.A, i))
			factor.Run()
			w.setInfo(i, factor.Info())
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
			tensor.Put(unsafe.Add(w.matrixAddress(w.A, i), (column*w.n+row)*w.d.Size()), w.d, nan)
		}
	}
	for k, pivots := int64(0), w.rowPivots(i); k < w.n; k++ {
		pivots[k] = int32(k + 1)
	}
	w.setInfo(i, 0)
}
