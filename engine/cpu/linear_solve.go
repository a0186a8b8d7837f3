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

// solve factors, unless that is done, and solves with the factors for some columns at a time, which threads share.
func (w *matrixWork) solve() {
	if !w.Factored {
		w.factorLU()
	}
	_, right := shape.Matrix(w.B.Sizes())
	k := blocksOf(w.d, false)
	width := k.width(right, w.sharers())
	parts := (right + width - 1) / width
	w.inParts(parts, w.n*w.n*2*min(right, width), nil, func([]unsafe.Pointer) worker {
		return func(at int64) {
			i, first := at/parts, at%parts*width
			if !w.failed(i) {
				k.backward(w.block(w.A, i), k.part(w.block(w.B, i), 0, first, w.n, min(right-first, width)), w.rowPivots(i))
			}
		}
	})
}

func (w *matrixWork) invert() {
	w.eachInBlocks(2*w.n*w.n*w.n, []int64{w.n * w.n * w.d.Size(), 4 * w.n}, func(k *blocks, memory []unsafe.Pointer) worker {
		pivots := unsafe.Slice((*int32)(memory[1]), w.n)
		return func(i int64) {
			a := w.block(w.A, i)
			info := k.factor(a, pivots)
			if w.say(i, info); info == 0 {
				k.invert(a, block{memory[0], w.n, w.n, 1, w.n}, pivots)
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
			a, b := w.block(w.A, begin), w.block(w.B, begin)
			if w.Right {
				a, b = a.turned(), b.turned()
			}
			k.solveEach(end-begin, a, b, w.n*w.n, w.n*right, w.Upper != w.Right, w.Unit)
		})
		return
	}
	width := k.width(right, w.sharers())
	parts := (right + width - 1) / width
	w.inParts(parts, w.n*w.n*min(right, width), nil, func([]unsafe.Pointer) worker {
		return func(at int64) {
			i, first := at/parts, at%parts*width
			a, b := w.block(w.A, i), w.block(w.B, i)
			if w.Right {
				a, b = a.turned(), b.turned()
			}
			k.solve(a, k.part(b, 0, first, w.n, min(right-first, width)), w.Upper != w.Right, w.Unit)
		}
	})
}

func (w *matrixWork) solveLDL() {
	_, right := shape.Matrix(w.B.Sizes())
	n := blas.Int(w.n)
	w.each(2*w.n*w.n*right, []int64{8 * w.n}, func(memory []unsafe.Pointer) worker {
		solve := w.call(w.symmetric("trs"), uplo(w.Upper), n, blas.Int(right), blas.At(nil), n, blas.At(memory[0]), blas.At(nil), n, blas.Int(0))
		return func(i int64) {
			w.takePivots(i, memory[0])
			solve.Set(3, w.of(w.A, i))
			solve.Set(6, w.of(w.B, i))
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
		rooms = []int64{w.room(name, arguments, work)}
	}
	w.each(2*w.m*w.n*short, append(more, rooms...), func(memory []unsafe.Pointer) worker {
		solve := w.call(name, arguments...)
		last := len(memory) - 1
		solve.Set(work, blas.At(memory[last]))
		solve.Set(work+1, blas.Int(rooms[0]/w.d.Size()))
		for k := 1; k < last; k++ {
			solve.Set(work+1+k, blas.At(memory[k]))
		}
		return w.ofFinite(func(i int64) {
			solve.Set(a, w.of(w.A, i))
			solve.Set(a+2, w.of(w.B, i))
			switch w.Driver {
			case backend.GELSY:
				clear(unsafe.Slice((*byte)(memory[0]), 8*w.n))
				solve.Set(7, blas.At(memory[0]))
			case backend.GELSD, backend.GELSS:
				solve.Set(7, w.of(w.Values, i))
			}
			solve.Run()
			w.say(i, solve.Info())
			if w.Rank != nil {
				*(*int64)(w.address(w.Rank, i)) = solve.Result(9)
			}
		}, func(i int64) bool { return w.finite(w.A, i) && w.finite(w.B, i) })
	})
}

// roomsByDivision queries gelsd for the sizes of its workspace, and of those of real numbers and of integers, whose lengths are not
// arguments.
func (w *matrixWork) roomsByDivision(name string, arguments []blas.Argument) (rooms, more []int64) {
	const answer = 16
	memory := w.bytes(3 * answer)
	at := func(k int) unsafe.Pointer { return unsafe.Add(memory.Data(), answer*k) }
	ask := w.call(name, arguments...)
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
