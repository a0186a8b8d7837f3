package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

const (
	// Products of matrices that are contiguous along the summed dimension, of leastAlong elements or more, are computed as dot products
	// without packing if the first operand has few rows. Below one row per alongSteps elements (pairSteps for pairs), a horizontal sum of
	// vectors costs less than packing the second operand. More than skinny rows must fit into the L2 cache with the other operand.
	leastAlong, alongSteps, pairSteps, alongBytes = 32, 8, 24, 1 << 19
	// A product of at most skinny columns, and more rows, is computed transposed.
	skinny = 8
	// Threads share blocks of at least this size, a multiple of the kernels' packed panels. A block of fewer rows than the product packs
	// the second operand once more.
	leastBlockRows, leastBlockColumns = 32, 32
	// For tile registers each block of rows packs its columns again, and each block of columns reads the rows again, from memory if they
	// exceed cachedRowBytes.
	leastTileRows, leastTileColumns, leastCachedColumns, cachedRowBytes = 256, 256, 64, 1 << 20
	// leastBlockBytes is the smallest part of the second operand's rows in a block of few rows: shorter ones are no streams for the memory.
	leastBlockBytes = 2 << 10
	// blocksPerThread is about how many blocks each thread gets, so that a late one costs little.
	blocksPerThread = 4
	// A row-contiguous first operand is read in place. But if the column stride is a multiple of cachePage, columns map to the same few
	// cache lines, and a product of more than patient columns copies it.
	cachePage, patient = 1 << 10, 128
	// slabBytes is the approximate size of the first operand to copy at a time, in no fewer rows than share a packed panel.
	slabBytes, leastSlabRows = 2 << 20, 256
	// productGrain is the number of multiplications below which work is not split. Reading the second operand costs as many
	// as multiplying it with packingRows rows, and a matrix of a batch matrixCost more than its own.
	productGrain, packingRows, matrixCost = 1 << 20, 8, 1 << 14
)

// productKernel is a kernel, 0 for none, and the dtype of its first operand. Its argument is kernel.Gemm, or with tiles, for a kernel that
// uses tile registers, kernel.GemmAmx.
type productKernel struct {
	function uintptr
	left     dtype.DType
	tiles    bool
}

// productKernels are the kernels for products of one dtype: with packed panels of the second operand, and with dot products of both.
type productKernels struct{ panels, dots productKernel }

var (
	gemmKernel, dotsKernel                     = kernel.Of(kernelapi.Gemm), kernel.Of(kernelapi.GemmDots)
	bfloat16GemmKernel, bfloat16GemmDotsKernel = kernel.Of(kernelapi.GemmBfloat16), kernel.Of(kernelapi.GemmDotsBfloat16)
	productTraits                              = kernel.ProductTraitsOfCPU()
)

// productKernelsOf returns the kernels for products of dtype d with results of the given sizes and a number of multiplications; there are
// no dot products of complex numbers. The instructions for bfloat16 flush subnormal numbers to zero; small products preserve these, as in
// PyTorch. Tile registers are used for results that fill more than half a register.
func productKernelsOf(d dtype.DType, rows, columns, work int64) productKernels {
	left := d
	switch {
	case d.IsReducedFloat():
		left = dtype.Float32
	case d == dtype.Int8 || d == dtype.Uint8:
		left = dtype.Int16
	}
	k := productKernels{panels: productKernel{function: gemmKernel.Row(d), left: left},
		dots: productKernel{function: dotsKernel.Row(d), left: left}}
	if work <= smallProduct {
		return k
	}
	if left != d && d != dtype.Float16 && min(rows, columns) > skinny {
		if tiles := kernel.OfTiles(kernelapi.GemmAmx); tiles.Has(d) {
			return productKernels{panels: productKernel{function: tiles.Row(d), left: d, tiles: true}}
		}
	}
	if bfloat16GemmKernel.Has(d) {
		k.dots = productKernel{function: bfloat16GemmDotsKernel.Row(d), left: d}
		if !productTraits.WidensBFloat16 {
			k.panels = productKernel{function: bfloat16GemmKernel.Row(d), left: d}
		}
	}
	return k
}

// multiplyBlocks is multiplyMatrices by kernels of ours, for every dtype and any strides. Products of 16-bit floats are summed in
// 32 bits and rounded once.
func (s *products) multiplyBlocks(w backend.Product) {
	a, flipped, d := w.A, false, w.To.DType()
	ma, mb, mc := viewFactors(w)
	work := mc.rows * mc.cols * ma.cols
	kernels := productKernelsOf(d, mc.rows, mc.cols, mc.batch*work)
	turned := mc.cols < mc.rows && mc.cols <= skinny
	if turned {
		a, flipped = w.B, !w.Turned
		ma, mb, mc = mb.swapDims(), ma.swapDims(), mc.swapDims()
	}
	fn := kernels.panels
	along := kernels.dots.function != 0 && mb.row == 1 && kernels.dots.readsAlong(mc.rows, ma.cols, d)
	if along {
		fn = kernels.dots
	}
	if fn.left != d || ma.column != 1 && (along || fn.left.Size() <= 2 || work > smallProduct && !canReadInPlace(ma, mc.cols, d.Size())) {
		if n := max(slabBytes/max(mc.batch*ma.cols*fn.left.Size(), 1), leastSlabRows); n < mc.rows {
			s.multiplySlabs(n, w)
			return
		}
		if flipped {
			a = s.transposeLast(a)
		}
		whole := backend.RowMajorCopy(&s.Scope, a, fn.left)
		ma = matricesOf(whole)
	}
	g := kernel.Gemm{A: ma.data, B: mb.data, C: mc.data, Batch: mc.batch, M: mc.rows, N: mc.cols, K: ma.cols,
		ABatch: ma.batchStep, ARow: ma.row, ACol: ma.column, BBatch: mb.batchStep, BRow: mb.row, BCol: mb.column,
		CBatch: mc.batchStep, CRow: mc.row, CCol: mc.column}
	if w.Self == nil {
		g.D, g.DBatch, g.DRow, g.DCol = g.C, g.CBatch, g.CRow, g.CCol
	} else {
		md := broadcastOf(w.Self, w.To)
		if turned {
			md = md.swapDims()
		}
		g.D, g.DBatch, g.DRow, g.DCol = md.data, md.batchStep, md.row, md.column
	}
	tensor.Put(unsafe.Pointer(&g.Alpha), d.Compute(), w.Alpha)
	tensor.Put(unsafe.Pointer(&g.Beta), d.Compute(), w.Beta)
	blocks := productBlocks{Gemm: g, left: fn.left, right: d, result: d, leastRows: leastBlockRows, leastColumns: leastBlockColumns}
	if fn.tiles {
		s.shareTiles(&blocks, fn.function)
		return
	}
	blocks.share(func(p kernel.Gemm, _, _ int64) { kernel.Call(fn.function, unsafe.Pointer(&p)) })
}

// shareTiles computes blocks with a function that uses tile registers, and scratch memory for each thread.
func (s *products) shareTiles(blocks *productBlocks, function uintptr) {
	blocks.leastRows, blocks.leastColumns = leastTileRows, leastTileColumns
	if blocks.M*blocks.K*blocks.left.Size() <= cachedRowBytes {
		blocks.leastColumns = leastCachedColumns
	}
	whole := kernel.GemmAmx{Gemm: blocks.Gemm}
	kernel.Call(function, unsafe.Pointer(&whole))
	rooms := newScratchPool(&s.Scope, whole.Bytes, 1+blocks.Batch*blocks.work()/productGrain)
	blocks.share(func(p kernel.Gemm, _, _ int64) {
		room := <-rooms
		defer func() { rooms <- room }()
		kernel.Call(function, unsafe.Pointer(&kernel.GemmAmx{Gemm: p, Room: room}))
	})
}

// readsAlong reports whether dot products of rows of depth elements are at least as fast as packing.
func (k productKernel) readsAlong(rows, depth int64, d dtype.DType) bool {
	steps := int64(alongSteps)
	if k.left == d && d.Size() == 2 {
		steps = pairSteps
	}
	most := min(productTraits.MostAlong, depth/steps)
	return depth >= leastAlong && rows <= most && (rows <= skinny || rows*depth*k.left.Size() <= alongBytes)
}

// multiplySlabs is multiplyBlocks for n rows of the product after the other.
func (s *products) multiplySlabs(n int64, w backend.Product) {
	if w.Self != nil {
		w.Self = s.Track(view.Expand(s.Op, w.Self, w.To.Sizes()))
	}
	for i := int64(0); i < w.A.Sizes()[w.A.Dim()-2]; i += n {
		s.multiplySlab(i, n, w)
	}
}

// multiplySlab is multiplyBlocks for up to n rows of the product from row i on.
func (s *products) multiplySlab(i, n int64, w backend.Product) {
	slab := products{owner.Scope{Op: s.Op}}
	defer slab.ReleaseAll()
	part := func(t *tensor.Tensor) *tensor.Tensor {
		if t == nil {
			return nil
		}
		return slab.Track(view.Narrow(s.Op, t, -2, i, min(n, t.Sizes()[t.Dim()-2]-i)))
	}
	w.To, w.A, w.Self = part(w.To), part(w.A), part(w.Self)
	slab.multiplyBlocks(w)
}

// canReadInPlace reports whether the kernels read a row-contiguous first operand in place as fast as a copy, which costs as much as some of
// the product's columns.
func canReadInPlace(a matrices, columns, size int64) bool {
	return a.row == 1 && (columns <= patient || a.column*size%cachePage != 0)
}

// productParts returns the number of blocks to split each matrix of a batch into, by the number of multiplications.
func productParts(batch, work int64) int64 {
	threads := int64(parallel.Threads())
	if threads == 1 {
		return 1
	}
	return min((threads*blocksPerThread+batch-1)/batch, work/productGrain)
}

// partOf returns the length of one of `parts` parts of n, rounded up to a multiple of least.
func partOf(n, parts, least int64) int64 {
	part := (n + parts - 1) / parts
	return (part + least - 1) / least * least
}

// productBlocks is a product of matrices of the given dtypes, to be divided into blocks of at least leastRows rows and leastColumns
// columns.
type productBlocks struct {
	kernel.Gemm
	left, right, result dtype.DType
	leastRows           int64
	leastColumns        int64
}

// share divides the product into blocks, which the threads share, and calls run with the first row and column of each. The results do not
// depend on the division.
func (g *productBlocks) share(run func(p kernel.Gemm, i, j int64)) {
	if g.Batch*g.work() <= productGrain {
		run(g.Gemm, 0, 0)
	} else {
		g.shareWork(run)
	}
}

// work returns the time of each matrix in multiplications.
func (g *productBlocks) work() int64 { return max(g.M, packingRows)*g.N*g.K + matrixCost }

// shareWork is share for batches that are large enough to divide.
func (g *productBlocks) shareWork(run func(p kernel.Gemm, i, j int64)) {
	work := g.work()
	rows, columns := g.M, g.N
	blocks := func() (down, across int64) { return (g.M + rows - 1) / rows, (g.N + columns - 1) / columns }
	if wanted := productParts(g.Batch, work); wanted > 1 {
		least := g.leastColumns
		if g.M <= skinny && g.BCol == 1 {
			least = max(least, leastBlockBytes/g.right.Size())
		}
		columns = partOf(g.N, wanted, least)
		_, across := blocks()
		rows = partOf(g.M, (wanted+across-1)/across, g.leastRows)
	}
	down, across := blocks()
	each := down * across
	parallel.ForInterruptible(g.Batch*each, max(productGrain*each/work, 1), func(begin, end int64) {
		for t := begin; t < end; t++ {
			p := g.Gemm
			batch, i, j := t/each, t%each/across*rows, t%across*columns
			p.Batch, p.M, p.N = 1, min(rows, g.M-i), min(columns, g.N-j)
			if each == 1 {
				p.Batch = end - begin
				t = end
			}
			p.A += uintptr((batch*g.ABatch + i*g.ARow) * g.left.Size())
			p.B += uintptr((batch*g.BBatch + j*g.BCol) * g.right.Size())
			p.C += uintptr((batch*g.CBatch + i*g.CRow + j*g.CCol) * g.result.Size())
			p.D += uintptr((batch*g.DBatch + i*g.DRow + j*g.DCol) * g.result.Size())
			run(p, i, j)
		}
	})
}
