package host

import (
	"math"
	"unsafe"

	"github.com/libtensor/libtensor/engine/blas"
	"github.com/libtensor/libtensor/engine/dtype"
)

// lu is a worker's function that factors matrix i, writes pivots to memory, and says what LAPACK says.
func (w *matrixWork) lu(memory unsafe.Pointer) func(i int64) int64 {
	factor := w.call("getrf", blas.Int(w.m), blas.Int(w.n), blas.At(nil), blas.Int(w.m), blas.At(memory), blas.Int(0))
	return func(i int64) int64 {
		if !w.finite(w.A, i) {
			return w.eliminate(i, unsafe.Slice((*int64)(memory), min(w.m, w.n)))
		}
		factor.Set(2, w.of(w.A, i))
		factor.Run()
		return factor.Info()
	}
}

// eliminate does what getrf does for a matrix that is not finite, where OpenBLAS does not divide by NaN.
func (w *matrixWork) eliminate(i int64, pivots []int64) int64 {
	at := w.address(w.A, i)
	switch w.d {
	case dtype.Float32:
		return eliminate(unsafe.Slice((*float32)(at), w.m*w.n), w.m, pivots, func(v float32) float64 { return math.Abs(float64(v)) })
	case dtype.Float64:
		return eliminate(unsafe.Slice((*float64)(at), w.m*w.n), w.m, pivots, math.Abs)
	case dtype.Complex64:
		return eliminate(unsafe.Slice((*complex64)(at), w.m*w.n), w.m, pivots, func(v complex64) float64 { return taxicab(complex128(v)) })
	}
	return eliminate(unsafe.Slice((*complex128)(at), w.m*w.n), w.m, pivots, taxicab)
}

// taxicab is the size by which LAPACK chooses among complex numbers.
func taxicab(v complex128) float64 { return math.Abs(real(v)) + math.Abs(imag(v)) }

// eliminate factors a matrix of m rows with the largest pivots first, NaN only where all others are zeros, as the kernel for small ones
// does, and returns the first pivot that is zero, counted from 1.
func eliminate[T float32 | float64 | complex64 | complex128](a []T, m int64, pivots []int64, size func(T) float64) (info int64) {
	n := int64(len(a)) / m
	for k := range int64(len(pivots)) {
		column := a[k*m : (k+1)*m]
		row, best := k, size(column[k])
		for i := k + 1; i < m; i++ {
			if s := size(column[i]); s > best || best == 0 && s != 0 {
				row, best = i, s
			}
		}
		pivots[k] = row + 1
		for j := range n {
			a[j*m+k], a[j*m+row] = a[j*m+row], a[j*m+k]
		}
		if best == 0 {
			if info == 0 {
				info = k + 1
			}
		} else {
			for i := k + 1; i < m; i++ {
				column[i] /= column[k]
			}
		}
		for j := k + 1; j < n; j++ {
			other := a[j*m : (j+1)*m]
			by := other[k]
			for i := k + 1; i < m; i++ {
				other[i] -= column[i] * by
			}
		}
	}
	return info
}
