package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/blas"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// solveSystem factors, unless that is done, and solves with the factors for some columns at a time, which threads share.
func (w *matrixWork) solveSystem() {
	if !w.Factored {
		w.factorLU()
	}
	_, right := shape.Matrix(w.B.Sizes())
	k := blocksOf(w.d, false)
	width := k.columnsPerThread(right, w.threadsPerMatrix())
	parts := (right + width - 1) / width
	w.inParts(parts, w.n*w.n*2*min(right, width), nil, func([]unsafe.Pointer) worker {
		return func(at int64) {
			i, first := at/parts, at%parts*width
			if !w.hasFailed(i) {
				k.solveFactored(w.blockOf(w.A, i), k.subBlock(w.blockOf(w.B, i), 0, first, w.n, min(right-first, width)), w.rowPivots(i))
			}
		}
	})
}

func (w *matrixWork) invertMatrices() {
	w.eachInBlocks(2*w.n*w.n*w.n, []int64{w.n * w.n * w.d.Size(), 4 * w.n}, func(k *blocks, memory []unsafe.Pointer) worker {
		pivots := unsafe.Slice((*int32)(memory[1]), w.n)
		return func(i int64) {
			a := w.blockOf(w.A, i)
			info := k.factorLU(a, pivots)
			if w.setInfo(i, info); info == 0 {
				k.invertFactored(a, block{memory[0], w.n, w.n, 1, w.n}, pivots)
			}
		}
	})
}

// solveTriangular solves for some columns at a time, or for some rows where A is on the right: X A = B is A^T X^T = B^T.
func (w *matrixWork) solveTriangular() {
	k := blocksOf(w.d, false)
	rows, columns := shape.Matrix(w.B.Sizes())
	right := columns
	if w.Right {
		right = rows
	}
	// The right-hand sides of large batches of small matrices are not cut: kernels take several matrices.
	if w.n <= kernel.LULimit && w.batch >= int64(parallel.Threads()) {
		parallel.For(w.batch, max(Grain/(w.n*w.n*right), 1), func(begin, end int64) {
			a, b := w.blockOf(w.A, begin), w.blockOf(w.B, begin)
			if w.Right {
				a, b = a.swapDims(), b.swapDims()
			}
			k.solveEach(end-begin, a, b, w.n*w.n, w.n*right, w.Upper != w.Right, w.Unit)
		})
		return
	}
	width := k.columnsPerThread(right, w.threadsPerMatrix())
	parts := (right + width - 1) / width
	w.inParts(parts, w.n*w.n*min(right, width), nil, func([]unsafe.Pointer) worker {
		return func(at int64) {
			i, first := at/parts, at%parts*width
			a, b := w.blockOf(w.A, i), w.blockOf(w.B, i)
			if w.Right {
				a, b = a.swapDims(), b.swapDims()
			}
			k.solveTriangular(a, k.subBlock(b, 0, first, w.n, min(right-first, width)), w.Upper != w.Right, w.Unit)
		}
	})
}

func (w *matrixWork) solveLDL() {
	_, right := shape.Matrix(w.B.Sizes())
	n := blas.Int(w.n)
	w.runEach(2*w.n*w.n*right, []int64{8 * w.n}, func(memory []unsafe.Pointer) worker {
		solve := w.newCall(w.symmetricName("trs"), uploLetter(w.Upper), n, blas.Int(right), blas.At(nil), n,
			blas.At(memory[0]), blas.At(nil), n, blas.Int(0))
		return func(i int64) {
			w.takePivots(i, memory[0])
			solve.Set(3, w.matrixArgument(w.A, i))
			solve.Set(6, w.matrixArgument(w.B, i))
			solve.Run()
		}
	})
}

// leastSquares solves by one of four LAPACK routines. Their arguments differ between B and info.
func (w *matrixWork) leastSquares() {
	rows, right := shape.Matrix(w.B.Sizes())
	short, long := min(w.m, w.n), max(w.m, w.n)
	arguments := []blas.Argument{blas.Int(w.m), blas.Int(w.n), blas.Int(right), blas.At(nil), blas.Int(w.m), blas.At(nil), blas.Int(rows)}
	a, work := 3, 7 // the argument positions of A and of the workspace
	name := map[backend.Driver]string{backend.GELS: "gels", backend.GELSY: "gelsy", backend.GELSD: "gelsd", backend.GELSS: "gelss"}[w.Driver]
	if w.Driver == backend.GELS {
		arguments = append([]blas.Argument{blas.Letter('N')}, arguments...)
		a, work = 4, 8
	} else {
		arguments = append(arguments, blas.At(nil), blas.Real(w.d, w.Cutoff), blas.Int(0)) // columns' order or singular values, cutoff, rank
		work = 10
	}
	arguments = append(arguments, blas.At(nil), blas.Int(0))
	// In addition to the workspace: the column order, real numbers, and integers.
	more := []int64{8 * w.n}
	real := w.d.ToReal()
	if w.d.IsComplex() && w.Driver != backend.GELS {
		arguments = append(arguments, blas.At(nil))
		more = append(more, 5*long*real.Size())
	}
	if w.Driver == backend.GELSD {
		arguments = append(arguments, blas.At(nil))
	}
	arguments = append(arguments, blas.Int(0))
	var rooms []int64
	if w.Driver == backend.GELSD {
		rooms, more = w.roomsByDivision(name, arguments)
	} else {
		rooms = []int64{w.queryWorkspace(name, arguments, work)}
	}
	w.runEach(2*w.m*w.n*short, append(more, rooms...), func(memory []unsafe.Pointer) worker {
		solve := w.newCall(name, arguments...)
		last := len(memory) - 1
		solve.Set(work, blas.At(memory[last]))
		solve.Set(work+1, blas.Int(rooms[0]/w.d.Size()))
		for k := 1; k < last; k++ {
			solve.Set(work+1+k, blas.At(memory[k]))
		}
		return w.ofFinite(func(i int64) {
			solve.Set(a, w.matrixArgument(w.A, i))
			solve.Set(a+2, w.matrixArgument(w.B, i))
			switch w.Driver {
			case backend.GELSY:
				clear(unsafe.Slice((*byte)(memory[0]), 8*w.n))
				solve.Set(7, blas.At(memory[0]))
			case backend.GELSD, backend.GELSS:
				solve.Set(7, w.matrixArgument(w.Values, i))
			}
			solve.Run()
			w.setInfo(i, solve.Info())
			if w.Rank != nil {
				*(*int64)(w.matrixAddress(w.Rank, i)) = solve.Result(9)
			}
		}, func(i int64) bool { return w.isFinite(w.A, i) && w.isFinite(w.B, i) })
	})
}

// roomsByDivision queries gelsd for the sizes of its workspace, and of those of real numbers and of integers, whose lengths are not
// arguments.
func (w *matrixWork) roomsByDivision(name string, arguments []blas.Argument) (rooms, more []int64) {
	const answer = 16
	memory := w.newBytes(3 * answer)
	at := func(k int) unsafe.Pointer { return unsafe.Add(memory.Data(), answer*k) }
	ask := w.newCall(name, arguments...)
	ask.Set(10, blas.At(at(0)))
	ask.Set(11, blas.Int(-1))
	for k := range len(arguments) - 13 {
		ask.Set(12+k, blas.At(at(k+1)))
	}
	ask.Run()
	count := func(k int, d dtype.DType) int64 {
		return max(int64(tensor.Get(at(k), d).Float()), 1) * d.Size()
	}
	more = []int64{8 * w.n}
	if w.d.IsComplex() {
		more = append(more, count(1, w.d.ToReal()), count(2, blas.Integer()))
	} else {
		more = append(more, count(1, blas.Integer()))
	}
	return []int64{count(0, w.d)}, more
}
