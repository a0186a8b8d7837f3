package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/blas"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
)

// vectorsLetter returns the letter for vectors that are computed or not.
func vectorsLetter(vectors bool) blas.Argument {
	if vectors {
		return blas.Letter('V')
	}
	return blas.Letter('N')
}

// setWorkspaces passes memory to a LAPACK call: buffer k at the k-th argument position, followed by the number of its elements.
func setWorkspaces(c *blas.LapackCall, places []int, memory []unsafe.Pointer, rooms []int64, dtypes ...dtype.DType) {
	for k, i := range places {
		c.Set(i, blas.At(memory[k]))
		c.Set(i+1, blas.Int(rooms[k]/dtypes[k].Size()))
	}
}

func (w *matrixWork) eigenHermitian() {
	n := blas.Int(w.n)
	name := w.realOr("syevd", "heevd")
	arguments := []blas.Argument{vectorsLetter(w.V != nil), uploLetter(w.Upper), n, blas.At(nil), n, blas.At(nil)}
	dtypes := []dtype.DType{w.d, blas.Integer()}
	places := []int{6, 8}
	if w.d.IsComplex() {
		dtypes = []dtype.DType{w.d, w.d.ToReal(), blas.Integer()}
		places = []int{6, 8, 10}
	}
	for range places {
		arguments = append(arguments, blas.At(nil), blas.Int(0))
	}
	arguments = append(arguments, blas.Int(0))
	rooms := w.queryWorkspaces(name, arguments, places, dtypes...)
	w.runEach(9*w.n*w.n*w.n, rooms, func(memory []unsafe.Pointer) worker {
		solve := w.newCall(name, arguments...)
		setWorkspaces(solve, places, memory, rooms, dtypes...)
		return w.ofFinite(func(i int64) {
			solve.Set(3, w.matrixArgument(w.A, i))
			solve.Set(5, w.matrixArgument(w.Values, i))
			solve.Run()
			w.setInfo(i, solve.Info())
		}, w.isTriangleFinite)
	})
}

// eigenGeneral computes eigenvalues. For complex matrices LAPACK returns complex eigenvalues. For real ones it returns the real and
// imaginary parts as two vectors, and packs the eigenvectors of a conjugate pair into two columns, of real and imaginary parts.
func (w *matrixWork) eigenGeneral() {
	n := blas.Int(w.n)
	size := w.d.Size()
	complexes := w.d.IsComplex()
	arguments := []blas.Argument{blas.Letter('N'), vectorsLetter(w.V != nil), n, blas.At(nil), n, blas.At(nil)}
	if !complexes {
		arguments = append(arguments, blas.At(nil))
	}
	vectors := len(arguments) + 2
	work := vectors + 2
	arguments = append(arguments, blas.At(nil), n, blas.At(nil), n, blas.At(nil), blas.Int(0))
	if complexes {
		arguments = append(arguments, blas.At(nil))
	}
	arguments = append(arguments, blas.Int(0))
	room := w.queryWorkspace("geev", arguments, work)
	rooms := []int64{room, 2 * w.n * w.d.ToReal().Size()}
	if !complexes && w.V != nil {
		rooms = append(rooms, w.n*w.n*size)
	}
	w.runEach(25*w.n*w.n*w.n, rooms, func(memory []unsafe.Pointer) worker {
		solve := w.newCall("geev", arguments...)
		solve.Set(work, blas.At(memory[0]))
		solve.Set(work+1, blas.Int(room/size))
		if complexes {
			solve.Set(work+2, blas.At(memory[1]))
		} else {
			solve.Set(5, blas.At(memory[1]))
			solve.Set(6, blas.At(unsafe.Add(memory[1], w.n*size)))
			if w.V != nil {
				solve.Set(vectors, blas.At(memory[2]))
			}
		}
		return w.ofFinite(func(i int64) {
			solve.Set(3, w.matrixArgument(w.A, i))
			if complexes {
				solve.Set(5, w.matrixArgument(w.Values, i))
				if w.V != nil {
					solve.Set(vectors, w.matrixArgument(w.V, i))
				}
			}
			solve.Run()
			w.setInfo(i, solve.Info())
			switch {
			case complexes:
			case w.d == dtype.Float32:
				unpackEigen[float32](w, i, memory)
			default:
				unpackEigen[float64](w, i, memory)
			}
		}, w.isMatrixFinite)
	})
}

// unpackEigen converts LAPACK's packed eigenvalues and eigenvectors of real matrices to complex ones.
func unpackEigen[T float32 | float64](w *matrixWork, i int64, memory []unsafe.Pointer) {
	n := int(w.n)
	at := func(address unsafe.Pointer, count int) []T { return unsafe.Slice((*T)(address), count) }
	parts := at(memory[1], 2*n)
	values := at(w.matrixAddress(w.Values, i), 2*n)
	for k := range n {
		values[2*k], values[2*k+1] = parts[k], parts[n+k]
	}
	if w.V == nil {
		return
	}
	from, to := at(memory[2], n*n), at(w.matrixAddress(w.V, i), 2*n*n)
	for k := 0; k < n; k++ {
		column, first := from[k*n:][:n], to[2*k*n:][:2*n]
		if parts[n+k] == 0 || k == n-1 {
			for r := range n {
				first[2*r], first[2*r+1] = column[r], 0
			}
			continue
		}
		imaginary, second := from[(k+1)*n:][:n], to[2*(k+1)*n:][:2*n]
		for r := range n {
			first[2*r], first[2*r+1] = column[r], imaginary[r]
			second[2*r], second[2*r+1] = column[r], -imaginary[r]
		}
		k++
	}
}

// singularValues computes singular values, and all vectors or as many as there are values. It returns the adjoint of V, as LAPACK does.
func (w *matrixWork) singularValues() {
	short, long := min(w.m, w.n), max(w.m, w.n)
	job, left, right := blas.Letter('N'), int64(1), int64(1)
	values := 7 * short
	if w.U != nil {
		_, columns := shape.Matrix(w.U.Sizes())
		job, left = blas.Letter('S'), w.m
		right, _ = shape.Matrix(w.V.Sizes())
		if columns > short || right > short {
			job = blas.Letter('A')
		}
		values = max(5*short*short+5*short, 2*long*short+2*short*short+short)
	}
	arguments := []blas.Argument{job, blas.Int(w.m), blas.Int(w.n), blas.At(nil), blas.Int(w.m), blas.At(nil), blas.At(nil), blas.Int(left),
		blas.At(nil), blas.Int(right), blas.At(nil), blas.Int(0)}
	if w.d.IsComplex() {
		arguments = append(arguments, blas.At(nil))
	}
	arguments = append(arguments, blas.At(nil), blas.Int(0))
	room := w.queryWorkspace("gesdd", arguments, 10)
	rooms := []int64{room, 64 * short, values * w.d.ToReal().Size()}
	w.runEach(12*w.m*w.n*short, rooms, func(memory []unsafe.Pointer) worker {
		solve := w.newCall("gesdd", arguments...)
		solve.Set(10, blas.At(memory[0]))
		solve.Set(11, blas.Int(room/w.d.Size()))
		solve.Set(len(arguments)-2, blas.At(memory[1]))
		if w.d.IsComplex() {
			solve.Set(12, blas.At(memory[2]))
		}
		return w.ofFinite(func(i int64) {
			solve.Set(3, w.matrixArgument(w.A, i))
			solve.Set(5, w.matrixArgument(w.Values, i))
			if w.U != nil {
				solve.Set(6, w.matrixArgument(w.U, i))
				solve.Set(8, w.matrixArgument(w.V, i))
			}
			solve.Run()
			w.setInfo(i, solve.Info())
		}, w.isMatrixFinite)
	})
}
