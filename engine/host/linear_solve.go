package host

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/blas"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// solve factors, unless that is done, and solves with the factors for some columns at a time, which threads share. How many these are
// does not depend on the threads, since results may.
func (w *matrixWork) solve() {
	if !w.Factored {
		w.factorLU()
	}
	const most = 128
	_, right := shape.Matrix(w.B.Sizes())
	parts := (right + most - 1) / most
	columnBytes := w.n * w.d.Size()
	w.inParts(parts, w.n*w.n*2*min(right, most), []int64{8 * w.n, 16}, func(memory []unsafe.Pointer) worker {
		back := w.substitution(memory)
		return func(k int64) {
			i, first := k/parts, k%parts*most
			if w.failed(i) {
				return
			}
			w.takePivots(i, memory[0])
			back(w.of(w.A, i), blas.At(unsafe.Add(w.address(w.B, i), first*columnBytes)), min(right-first, most))
		}
	})
}

// substitution solves with the factors in A, by products of triangles: LAPACK's routine for all of it takes several times as long.
// memory has room for pivots, which are to be there when it is called, and for a number.
func (w *matrixWork) substitution(memory []unsafe.Pointer) func(a, b blas.Argument, columns int64) {
	tensor.Put(memory[1], w.d, dtype.IntScalar(1))
	n := blas.Int(w.n)
	exchange := w.call("laswp", blas.Int(0), blas.At(nil), n, blas.Int(1), n, blas.At(memory[0]), blas.Int(1))
	triangle := func(upper bool, diagonal byte) *blas.Call {
		return w.call("trsm", blas.Letter('L'), uplo(upper), blas.Letter('N'), blas.Letter(diagonal), n, blas.Int(0), blas.At(memory[1]), blas.At(nil), n, blas.At(nil), n)
	}
	lower, upper := triangle(false, 'U'), triangle(true, 'N')
	return func(a, b blas.Argument, columns int64) {
		exchange.Set(0, blas.Int(columns))
		exchange.Set(1, b)
		exchange.Run()
		for _, c := range []*blas.Call{lower, upper} {
			c.Set(5, blas.Int(columns))
			c.Set(7, a)
			c.Set(9, b)
			c.Run()
		}
	}
}

// smallInverse is the number of rows up to which solving with the identity beats LAPACK's inversion.
const smallInverse = 32

func (w *matrixWork) invert() {
	if w.n <= smallInverse {
		w.invertSmall()
		return
	}
	n := blas.Int(w.n)
	arguments := []blas.Argument{n, blas.At(nil), n, blas.At(nil), blas.At(nil), blas.Int(0), blas.Int(0)}
	room := w.room("getri", arguments, 4)
	w.each(2*w.n*w.n*w.n, []int64{8 * w.n, room}, func(memory []unsafe.Pointer) worker {
		factor := w.lu(memory[0])
		invert := w.call("getri", arguments...)
		invert.Set(3, blas.At(memory[0]))
		invert.Set(4, blas.At(memory[1]))
		invert.Set(5, blas.Int(room/w.d.Size()))
		return func(i int64) {
			info := factor(i)
			if info == 0 {
				invert.Set(1, w.of(w.A, i))
				invert.Run()
				info = invert.Info()
			}
			w.say(i, info)
		}
	})
}

// invertSmall solves with the identity, beside the factors, and copies the solution over them.
func (w *matrixWork) invertSmall() {
	n, size := w.n, w.d.Size()
	bytes := n * n * size
	w.each(2*n*n*n, []int64{8 * n, 16, bytes}, func(memory []unsafe.Pointer) worker {
		factor := w.lu(memory[0])
		back := w.substitution(memory)
		return func(i int64) {
			info := factor(i)
			if w.say(i, info); info != 0 {
				return
			}
			a := w.address(w.A, i)
			solution := unsafe.Slice((*byte)(memory[2]), bytes)
			clear(solution)
			for k := range n {
				tensor.Put(unsafe.Add(memory[2], k*(n+1)*size), w.d, dtype.IntScalar(1))
			}
			back(blas.At(a), blas.At(memory[2]), n)
			copy(unsafe.Slice((*byte)(a), bytes), solution)
		}
	})
}

func (w *matrixWork) solveTriangular() {
	rows, columns := shape.Matrix(w.B.Sizes())
	unit := blas.Letter('N')
	if w.Unit {
		unit = blas.Letter('U')
	}
	w.each(rows*columns*w.n, []int64{16}, func(memory []unsafe.Pointer) worker {
		tensor.Put(memory[0], w.d, dtype.IntScalar(1))
		solve := w.call("trsm", w.side(), uplo(w.Upper), w.turned(), unit, blas.Int(rows), blas.Int(columns), blas.At(memory[0]), blas.At(nil), blas.Int(w.n), blas.At(nil), blas.Int(rows))
		return func(i int64) {
			solve.Set(7, w.of(w.A, i))
			solve.Set(9, w.of(w.B, i))
			solve.Run()
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

// leastSquares solves by one of four routines, of which the columns of A, those of B, and what lies between these and the info differ.
func (w *matrixWork) leastSquares() {
	rows, right := shape.Matrix(w.B.Sizes())
	short, long := min(w.m, w.n), max(w.m, w.n)
	arguments := []blas.Argument{blas.Int(w.m), blas.Int(w.n), blas.Int(right), blas.At(nil), blas.Int(w.m), blas.At(nil), blas.Int(rows)}
	a, work := 3, 7 // the places of A and of the memory
	name := map[launch.Driver]string{launch.GELS: "gels", launch.GELSY: "gelsy", launch.GELSD: "gelsd", launch.GELSS: "gelss"}[w.Driver]
	if w.Driver == launch.GELS {
		arguments = append([]blas.Argument{blas.Letter('N')}, arguments...)
		a, work = 4, 8
	} else {
		arguments = append(arguments, blas.At(nil), blas.Real(w.d, w.Cutoff), blas.Int(0)) // columns' order or singular values, cutoff, rank
		work = 10
	}
	arguments = append(arguments, blas.At(nil), blas.Int(0))
	// What else is needed beside the memory: for the order of columns, real numbers, and integers.
	more := []int64{8 * w.n}
	real := w.d.ToReal()
	if w.d.IsComplex() && w.Driver != launch.GELS {
		arguments = append(arguments, blas.At(nil))
		more = append(more, 5*long*real.Size())
	}
	if w.Driver == launch.GELSD {
		arguments = append(arguments, blas.At(nil))
	}
	arguments = append(arguments, blas.Int(0))
	var rooms []int64
	if w.Driver == launch.GELSD {
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
			case launch.GELSY:
				clear(unsafe.Slice((*int64)(memory[0]), w.n))
				solve.Set(7, blas.At(memory[0]))
			case launch.GELSD, launch.GELSS:
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

// roomsByDivision asks gelsd for its memory, and for that of its real numbers and of its integers, whose lengths it does not take.
func (w *matrixWork) roomsByDivision(name string, arguments []blas.Argument) (rooms, more []int64) {
	const answer = 16
	memory := w.bytes(3 * answer)
	if w.Err != nil {
		return []int64{0}, nil
	}
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
		more = append(more, count(1, w.d.ToReal()), count(2, dtype.Int64))
	} else {
		more = append(more, count(1, dtype.Int64))
	}
	return []int64{count(0, w.d)}, more
}
