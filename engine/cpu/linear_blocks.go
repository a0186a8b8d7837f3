package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/blas"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

const (
	// blockWidth is the least number of columns, or of a shared product's rows, that one thread works on at a time.
	blockWidth = 64
	// sharedWork is the number of multiplications from which threads share the rows of a product.
	sharedWork = 1 << 19
	// sharedRows is the number of rows from which threads share one matrix, if there are fewer matrices than threads.
	sharedRows = 128
)

var panelKernel, triangleKernel, exchangeKernel = kernel.Of(kernelapi.LuPanel), kernel.Of(kernelapi.LuTriangle),
	kernel.Of(kernelapi.LuExchange)

// block is a part of a matrix in memory; strides count elements.
type block struct {
	at                      unsafe.Pointer
	rows, cols, row, column int64
}

// swapDims returns the transpose.
func (b block) swapDims() block { return block{b.at, b.cols, b.rows, b.column, b.row} }

// blocks computes with submatrices of one dtype. It halves a task until kernels can process it, so that most of the time is spent in matrix
// products.
type blocks struct {
	d                                  dtype.DType
	size                               int64
	panel, triangle, exchange, product uintptr
	threads                            int64
	// share calls body for each of n, on several threads or on one.
	share func(n int64, body func(i int64))
}

// blocksOf computes in dtype d, on several threads where shared is set.
func blocksOf(d dtype.DType, shared bool) blocks {
	threads := int64(1)
	share := func(n int64, body func(i int64)) {
		for i := range n {
			body(i)
		}
	}
	if shared {
		threads = int64(parallel.Threads())
		share = func(n int64, body func(i int64)) {
			parallel.For(n, 1, func(begin, end int64) {
				for i := begin; i < end; i++ {
					body(i)
				}
			})
		}
	}
	return blocks{d, d.Size(), panelKernel.Row(d), triangleKernel.Row(d), exchangeKernel.Row(d), gemmKernel.Row(d), threads, share}
}

// subBlock returns the given number of rows and columns of b, from row i and column j on.
func (k *blocks) subBlock(b block, i, j, rows, cols int64) block {
	return block{unsafe.Add(b.at, (i*b.row+j*b.column)*k.size), rows, cols, b.row, b.column}
}

// columnsPerThread returns how many of n columns one thread processes at a time: with more columns, the other operand is packed less often.
// The kernels' results do not depend on it; those of OpenBLAS, used for complex products, may.
func (k *blocks) columnsPerThread(n, threads int64) int64 {
	if k.d.IsComplex() {
		return blockWidth
	}
	parts := threads
	if threads > 1 {
		parts *= 2 // late threads leave more to the others
	}
	each := (n + parts - 1) / parts
	return (each + blockWidth - 1) / blockWidth * blockWidth
}

// byColumns shares the columns of b out.
func (k *blocks) byColumns(b block, do func(part block)) {
	width := k.columnsPerThread(b.cols, k.threads)
	k.share((b.cols+width-1)/width, func(i int64) {
		first := i * width
		do(k.subBlock(b, 0, first, b.rows, min(width, b.cols-first)))
	})
}

// subtractShared is subtractProduct, with the rows of c shared out.
func (k *blocks) subtractShared(c, a, b block) {
	height := c.rows
	if c.rows*c.cols*a.cols >= sharedWork {
		height = blockWidth
	}
	k.share((c.rows+height-1)/height, func(i int64) {
		first := i * height
		rows := min(height, c.rows-first)
		k.subtractProduct(k.subBlock(c, first, 0, rows, c.cols), k.subBlock(a, first, 0, rows, a.cols), b)
	})
}

// splitPoint returns where n rows or columns, more than a kernel takes, are cut.
func splitPoint(n int64) int64 {
	const least = kernel.LULimit
	return (n/2 + least - 1) / least * least
}

// subtractProduct takes a b from c.
func (k *blocks) subtractProduct(c, a, b block) {
	if c.row == 1 {
		// Kernels and BLAS are given matrices with adjacent columns.
		c, a, b = c.swapDims(), b.swapDims(), a.swapDims()
	}
	if k.d.IsComplex() {
		p := blas.Product{A: uintptr(a.at), B: uintptr(b.at), C: uintptr(c.at), M: c.rows, N: c.cols, K: a.cols, Alpha: [2]float64{-1},
			Beta: [2]float64{1}}
		p.Lda, p.ATransposed = a.leadingDim()
		p.Ldb, p.BTransposed = b.leadingDim()
		p.Ldc, _ = c.leadingDim()
		blas.Gemm(k.d, &p)
		return
	}
	g := kernel.Gemm{A: uintptr(a.at), B: uintptr(b.at), C: uintptr(c.at), D: uintptr(c.at), Batch: 1, M: c.rows, N: c.cols, K: a.cols,
		ARow: a.row, ACol: a.column, BRow: b.row, BCol: b.column, CRow: c.row, CCol: c.column, DRow: c.row, DCol: c.column}
	tensor.Put(unsafe.Pointer(&g.Alpha), k.d, dtype.IntScalar(-1))
	tensor.Put(unsafe.Pointer(&g.Beta), k.d, dtype.IntScalar(1))
	kernel.Call(k.product, unsafe.Pointer(&g))
}

// leadingDim returns the distance between stored rows, which are columns where turned is set.
func (b block) leadingDim() (ld int64, turned bool) {
	if b.column == 1 {
		return max(b.row, b.cols), false
	}
	return max(b.column, b.rows), true
}

// swapRows exchanges row i with row pivots[i]-1, one after the other; rows are adjacent.
func (k *blocks) swapRows(b block, pivots []int32) {
	p := kernel.LU{B: uintptr(b.at), Pivots: uintptr(unsafe.Pointer(&pivots[0])), M: int64(len(pivots)), N: b.cols, BCol: b.column}
	kernel.Call(k.exchange, unsafe.Pointer(&p))
}

// solveTriangular solves a x = b, and writes x to b, for the upper or the lower triangle of a, on one thread.
func (k *blocks) solveTriangular(a, b block, upper, unit bool) {
	n := a.rows
	if n <= kernel.LULimit {
		k.solveEach(1, a, b, 0, 0, upper, unit)
		return
	}
	h := splitPoint(n)
	first, second := k.subBlock(b, 0, 0, h, b.cols), k.subBlock(b, h, 0, n-h, b.cols)
	before, behind := k.subBlock(a, 0, 0, h, h), k.subBlock(a, h, h, n-h, n-h)
	if upper {
		k.solveTriangular(behind, second, upper, unit)
		k.subtractProduct(first, k.subBlock(a, 0, h, h, n-h), second)
		k.solveTriangular(before, first, upper, unit)
		return
	}
	k.solveTriangular(before, first, upper, unit)
	k.subtractProduct(second, k.subBlock(a, h, 0, n-h, h), first)
	k.solveTriangular(behind, second, upper, unit)
}

// solveEach is solveTriangular for a batch of small matrices and right-hand sides with the given strides.
func (k *blocks) solveEach(batch int64, a, b block, aStep, bStep int64, upper, unit bool) {
	p := kernel.LU{A: uintptr(a.at), B: uintptr(b.at), M: a.rows, N: b.cols, ARow: a.row, ACol: a.column, BRow: b.row, BCol: b.column,
		Batch: batch, AStep: aStep, BStep: bStep}
	if upper {
		p.Upper = 1
	}
	if unit {
		p.Unit = 1
	}
	kernel.Call(k.triangle, unsafe.Pointer(&p))
}

// factorLU is LAPACK's getrf for a, whose rows are adjacent. It writes a pivot for each column up to the last row, and returns which of
// them is the first that is zero, or 0.
func (k *blocks) factorLU(a block, pivots []int32) int64 {
	if a.cols <= kernel.LULimit {
		p := kernel.LU{A: uintptr(a.at), Pivots: uintptr(unsafe.Pointer(&pivots[0])), M: a.rows, N: a.cols, ARow: a.row, ACol: a.column}
		kernel.Call(k.panel, unsafe.Pointer(&p))
		return p.Info
	}
	short := int64(len(pivots))
	h := short
	if short > kernel.LULimit {
		h = splitPoint(short)
	}
	info := k.factorLU(k.subBlock(a, 0, 0, a.rows, h), pivots[:h])
	top, left := k.subBlock(a, 0, 0, h, h), k.subBlock(a, h, 0, a.rows-h, h)
	k.byColumns(k.subBlock(a, 0, h, a.rows, a.cols-h), func(part block) {
		k.swapRows(part, pivots[:h])
		above := k.subBlock(part, 0, 0, h, part.cols)
		k.solveTriangular(top, above, false, true)
		if left.rows == 0 {
			return
		}
		below := k.subBlock(part, h, 0, left.rows, part.cols)
		if part.cols == a.cols-h { // the only part
			k.subtractShared(below, left, above)
		} else {
			k.subtractProduct(below, left, above)
		}
	})
	if h == short {
		return info
	}
	rest := pivots[h:]
	if more := k.factorLU(k.subBlock(a, h, h, a.rows-h, a.cols-h), rest); info == 0 && more != 0 {
		info = h + more
	}
	k.byColumns(left, func(part block) { k.swapRows(part, rest) })
	for i := range rest {
		rest[i] += int32(h)
	}
	return info
}

// solveFactored solves with the factors that factorLU made.
func (k *blocks) solveFactored(lu, b block, pivots []int32) {
	k.swapRows(b, pivots)
	k.solveTriangular(lu, b, false, true)
	k.solveTriangular(lu, b, true, false)
}

// invertFactored overwrites a, the result of factorLU, with the inverse. It uses memory of the same size.
func (k *blocks) invertFactored(a, memory block, pivots []int32) {
	n := a.rows
	clear(unsafe.Slice((*byte)(memory.at), n*n*k.size))
	one := dtype.IntScalar(1)
	k.share((n+blockWidth-1)/blockWidth, func(i int64) {
		// Above its ones a part of the identity has zeros, of which solving with L makes zeros again.
		first := i * blockWidth
		part := k.subBlock(memory, 0, first, n, min(blockWidth, n-first))
		for j := range part.cols {
			tensor.Put(k.subBlock(part, first+j, j, 1, 1).at, k.d, one)
		}
		k.solveTriangular(k.subBlock(a, first, first, n-first, n-first), k.subBlock(part, first, 0, n-first, part.cols), false, true)
		k.solveTriangular(a, part, true, false)
	})
	// The columns are those of the matrix with its rows in the order of the pivots.
	order := make([]int64, n)
	for i := range order {
		order[i] = int64(i)
	}
	for i, p := range pivots {
		order[i], order[p-1] = order[p-1], order[i]
	}
	bytes := n * k.size
	for i, to := range order {
		copy(unsafe.Slice((*byte)(k.subBlock(a, 0, to, n, 1).at), bytes), unsafe.Slice((*byte)(k.subBlock(memory, 0, int64(i), n, 1).at), bytes))
	}
}
