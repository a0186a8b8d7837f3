package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/blas"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// matrixWork is a task on a batch of matrices of m rows and n columns.
type matrixWork struct {
	backend.LinearAlgebra
	owner.Scope
	d           dtype.DType
	batch, m, n int64
}

// worker runs the task on matrix i, with the buffers of one thread.
type worker func(i int64)

// runEach runs the task on every matrix. It allocates buffers of the given sizes for each thread and creates a worker of them. Nothing is
// written before all are allocated. work is the number of operations per matrix.
func (w *matrixWork) runEach(work int64, bytes []int64, made func(memory []unsafe.Pointer) worker) {
	w.inParts(1, work, bytes, made)
}

// inParts is runEach for tasks with several parts per matrix.
func (w *matrixWork) inParts(parts, work int64, bytes []int64, made func(memory []unsafe.Pointer) worker) {
	workers := make(chan worker, min(int64(parallel.Threads()), w.batch*parts))
	for range cap(workers) {
		memory := w.newBuffers(bytes)
		workers <- made(memory)
	}
	parallel.For(w.batch*parts, max(Grain/max(work, 1), 1), func(begin, end int64) {
		do := <-workers
		defer func() { workers <- do }()
		for i := begin; i < end; i++ {
			do(i)
		}
	})
}

// eachInBlocks is runEach for tasks that several threads can share. They do so if there are fewer large matrices than threads.
func (w *matrixWork) eachInBlocks(work int64, bytes []int64, made func(k *blocks, memory []unsafe.Pointer) worker) {
	shared := w.batch < int64(parallel.Threads()) && min(w.m, w.n) >= sharedRows
	k := blocksOf(w.d, shared)
	if !shared {
		w.runEach(work, bytes, func(memory []unsafe.Pointer) worker { return made(&k, memory) })
		return
	}
	memory := w.newBuffers(bytes)
	do := made(&k, memory)
	for i := range w.batch {
		do(i)
	}
}

// threadsPerMatrix returns how many threads there are for each matrix.
func (w *matrixWork) threadsPerMatrix() int64 {
	return (int64(parallel.Threads()) + w.batch - 1) / w.batch
}

// newBuffers allocates buffers of the given sizes.
func (w *matrixWork) newBuffers(bytes []int64) []unsafe.Pointer {
	memory := make([]unsafe.Pointer, len(bytes))
	for i, n := range bytes {
		if t := w.newBytes(n); t != nil {
			memory[i] = t.Data()
		}
	}
	return memory
}

// blockOf is matrix i of an operand.
func (w *matrixWork) blockOf(t *tensor.Tensor, i int64) block {
	rows, cols := shape.Matrix(t.Sizes())
	return block{w.matrixAddress(t, i), rows, cols, 1, rows}
}

// newBytes allocates n bytes, which w owns.
func (w *matrixWork) newBytes(n int64) *tensor.Tensor {
	return w.Track(tensor.Empty(w.Op, []int64{n}, dtype.Uint8, device.Host))
}

// newCall is a call of a routine for the task's dtype.
func (w *matrixWork) newCall(name string, arguments ...blas.Argument) *blas.LapackCall {
	return blas.NewCall(w.d, name, arguments...)
}

// matrixArgument returns the address of matrix, or vector, i of an operand.
func (w *matrixWork) matrixArgument(t *tensor.Tensor, i int64) blas.Argument {
	return blas.At(w.matrixAddress(t, i))
}

func (w *matrixWork) matrixAddress(t *tensor.Tensor, i int64) unsafe.Pointer {
	return unsafe.Add(t.Data(), t.Numel()/w.batch*i*t.DType().Size())
}

// setInfo stores the info that a call returned for matrix i.
func (w *matrixWork) setInfo(i, info int64) {
	if w.Info != nil {
		*(*int32)(unsafe.Add(w.Info.Data(), 4*i)) = int32(info)
	}
}

// hasFailed reports whether something was noted about matrix i.
func (w *matrixWork) hasFailed(i int64) bool {
	return w.Info != nil && *(*int32)(unsafe.Add(w.Info.Data(), 4*i)) != 0
}

// queryWorkspaces queries the workspace sizes of a routine: it calls it with lengths of -1 after the arrays at the given argument
// positions, which have the given dtypes.
func (w *matrixWork) queryWorkspaces(name string, arguments []blas.Argument, places []int, dtypes ...dtype.DType) []int64 {
	const answer = 16
	memory := w.newBytes(answer * int64(len(places)+1))
	ask := w.newCall(name, arguments...)
	for i, a := range arguments {
		if a == blas.At(nil) { // some routines write to other arrays too
			ask.Set(i, blas.At(unsafe.Add(memory.Data(), answer*len(places))))
		}
	}
	for k, i := range places {
		ask.Set(i, blas.At(unsafe.Add(memory.Data(), answer*k)))
		ask.Set(i+1, blas.Int(-1))
	}
	ask.Run()
	var rooms []int64
	for k, d := range dtypes {
		n := int64(tensor.Get(unsafe.Add(memory.Data(), answer*k), d).Float())
		rooms = append(rooms, max(n, 1)*d.Size())
	}
	return rooms
}

// queryWorkspace is queryWorkspaces for one array of the task's dtype.
func (w *matrixWork) queryWorkspace(name string, arguments []blas.Argument, place int) int64 {
	return w.queryWorkspaces(name, arguments, []int{place}, w.d)[0]
}

// isFinite reports whether all of n elements from an address on are finite; matrices that are not make iterations go on for ever, or end
// without a meaning.
func (w *matrixWork) isFinite(t *tensor.Tensor, i int64) bool {
	return w.isRangeFinite(w.matrixAddress(t, i), t.Numel()/w.batch)
}

func (w *matrixWork) isMatrixFinite(i int64) bool { return w.isFinite(w.A, i) }

// isTriangleFinite is isFinite for the triangle of A that is read.
func (w *matrixWork) isTriangleFinite(i int64) bool {
	for column := range w.n {
		from, to := column, w.n
		if w.Upper {
			from, to = 0, column+1
		}
		if !w.isRangeFinite(unsafe.Add(w.matrixAddress(w.A, i), (column*w.n+from)*w.d.Size()), to-from) {
			return false
		}
	}
	return true
}

func (w *matrixWork) isRangeFinite(first unsafe.Pointer, n int64) bool {
	real := w.d.ToReal()
	n *= w.d.Size() / real.Size()
	if real == dtype.Float32 {
		return allFinite(unsafe.Slice((*float32)(first), n))
	}
	return allFinite(unsafe.Slice((*float64)(first), n))
}

// ofFinite returns a worker that runs do for finite matrices only. Iterative routines may not converge for others.
func (w *matrixWork) ofFinite(do worker, finite func(i int64) bool) worker {
	return func(i int64) {
		if finite(i) {
			do(i)
		} else {
			w.setInfo(i, backend.NotFinite)
		}
	}
}

func allFinite[T float32 | float64](list []T) bool {
	var a, b, c, d T // sums of 0, or NaN, that do not wait for one another
	for ; len(list) >= 4; list = list[4:] {
		a += list[0] - list[0]
		b += list[1] - list[1]
		c += list[2] - list[2]
		d += list[3] - list[3]
	}
	for _, v := range list {
		a += v - v
	}
	return a+b+c+d == 0
}

// uploLetter returns the letter of a triangle.
func uploLetter(upper bool) blas.Argument {
	if upper {
		return blas.Letter('U')
	}
	return blas.Letter('L')
}

// transposeLetter returns LAPACK's letter for a matrix, its transpose or its adjoint.
func (w *matrixWork) transposeLetter() blas.Argument {
	switch {
	case !w.Adjoint:
		return blas.Letter('N')
	case w.d.IsComplex():
		return blas.Letter('C')
	}
	return blas.Letter('T')
}

// sideLetter returns the letter of the side of A.
func (w *matrixWork) sideLetter() blas.Argument {
	if w.Right {
		return blas.Letter('R')
	}
	return blas.Letter('L')
}
