package cpu

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/blas"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

const (
	// Products are split into tiles of at least this size, by their shape alone, so that results are the same for any number of threads.
	tileRows, tileColumns = 64, 512
	// tileParts is the number of tiles that large products are cut into along rows and columns; BLAS's own blocks are multiples
	// of the least tiles too.
	tileParts = 4
)

// wideTiles is true if the kernels for real floats use 64-byte vectors, which OpenBLAS uses on some CPUs only.
var wideTiles = kernel.Tier() == "avx512"

// runProduct multiplies matrices. Nothing is written before all that the product needs is there.
func runProduct(op string, w backend.Product) (err error) {
	if w.To.Numel() == 0 {
		return nil
	}
	s := products{owner.Scope{Op: op}}
	defer s.Close(&err)
	if w.B.DType() != w.To.DType() {
		s.multiplyRounded(w)
	} else {
		s.multiplyMatrices(w)
	}
	return nil
}

// multiplyMatrices is runProduct with temporaries owned by s.
func (s *products) multiplyMatrices(w backend.Product) {
	switch w.Self {
	case nil:
		w.Beta = dtype.IntScalar(0)
	case w.To:
		w.Self = nil
	}
	if d := w.To.DType(); !blas.Serves(d) || wideTiles && d.IsFloatingPoint() || !servedByBLAS(viewFactors(w)) {
		w.A, w.B = backend.Computed(&s.Scope, w.A), backend.Computed(&s.Scope, w.B)
		s.multiplyBlocks(w)
	} else {
		s.multiplyByBLAS(w)
	}
}

// servedByBLAS reports whether a product is so large that a call of BLAS pays, and BLAS's integers hold its sizes and steps.
func servedByBLAS(a, b, c matrices) bool {
	return c.rows*c.cols*a.cols > smallProduct && a.canUseBLAS() && b.canUseBLAS() && c.canUseBLAS()
}

// multiplyByBLAS is multiplyMatrices for dtypes and layouts that BLAS supports.
func (s *products) multiplyByBLAS(w backend.Product) {
	c, self, d := w.To, w.Self, w.To.DType()
	ma, mb, mc := viewFactors(w)
	work := mc.rows * mc.cols * ma.cols
	ld, turned, ok := mc.leadingDim()
	if !ok {
		// BLAS writes adjacent elements only.
		if self == nil && !w.Beta.Equal(0) {
			w.Self = c
		}
		w.To = s.Track(tensor.Empty(s.Op, c.Sizes(), d, device.Host))
		s.multiplyMatrices(w)
		s.copyBroadcast(c, w.To)
		return
	}
	for _, x := range []struct {
		m      *matrices
		t      *tensor.Tensor
		turned bool
	}{{&ma, w.A, false}, {&mb, w.B, w.Turned}} {
		if _, _, ok := x.m.leadingDim(); !ok {
			if x.turned {
				x.t = s.transposeLast(x.t)
			}
			whole := backend.RowMajorCopy(&s.Scope, x.t, d)
			*x.m = matricesOf(whole)
		}
	}
	if self != nil {
		s.copyBroadcast(c, self)
	}
	ta, tb := w.A, w.B
	if turned {
		ma, mb, mc = mb.swapDims(), ma.swapDims(), mc.swapDims()
		ta, tb = tb, ta
	}
	p := blas.Product{M: mc.rows, N: mc.cols, K: ma.cols, Ldc: ld}
	p.Lda, p.ATransposed, _ = ma.leadingDim()
	p.Ldb, p.BTransposed, _ = mb.leadingDim()
	p.AConjugated, p.BConjugated = ta.Lazy() != 0, tb.Lazy() != 0
	if p.AConjugated && (!p.ATransposed || mc.rows == 1) {
		ma = s.resolveConjugate(ta, turned)
		p.Lda, p.ATransposed, _ = ma.leadingDim()
		p.AConjugated = false
	}
	if p.BConjugated && (!p.BTransposed || mc.rows == 1 || mc.cols == 1) {
		mb = s.resolveConjugate(tb, turned)
		p.Ldb, p.BTransposed, _ = mb.leadingDim()
		p.BConjugated = false
	}
	p.Alpha = [2]float64{real(w.Alpha.Complex()), imag(w.Alpha.Complex())}
	p.Beta = [2]float64{real(w.Beta.Complex()), imag(w.Beta.Complex())}
	size := d.Size()
	rows, columns := partOf(p.M, tileParts, tileRows), partOf(p.N, tileParts, tileColumns)
	across := (p.N + columns - 1) / columns
	tiles := across * ((p.M + rows - 1) / rows)
	parallel.ForInterruptible(mc.batch*tiles, max(Grain*tiles/work, 1), func(begin, end int64) {
		for t := begin; t < end; t++ {
			p := p
			batch, i, j := t/tiles, t%tiles/across*rows, t%across*columns
			p.M, p.N = min(rows, p.M-i), min(columns, p.N-j)
			p.A = ma.data + uintptr((batch*ma.batchStep+i*ma.row)*size)
			p.B = mb.data + uintptr((batch*mb.batchStep+j*mb.column)*size)
			p.C = mc.data + uintptr((batch*mc.batchStep+i*mc.row+j*mc.column)*size)
			blasProduct(d, p, ma, mb, mc)
		}
	})
}

// resolveConjugate returns the matrices of t with conjugation resolved, transposed if turned is set: BLAS can conjugate only transposed
// operands.
func (s *products) resolveConjugate(t *tensor.Tensor, turned bool) matrices {
	whole := backend.Computed(&s.Scope, t)
	if turned {
		return matricesOf(whole).swapDims()
	}
	return matricesOf(whole)
}

// blasProduct multiplies one pair, as a matrix and a vector where one of them is.
func blasProduct(d dtype.DType, p blas.Product, ma, mb, mc matrices) {
	vector := blas.Product{Alpha: p.Alpha, Beta: p.Beta, N: 1, C: p.C}
	switch {
	case mc.cols == 1 && mb.row > 0:
		vector.A, vector.B, vector.M, vector.K = p.A, p.B, p.M, p.K
		vector.Lda, vector.ATransposed, vector.Ldb, vector.Ldc = p.Lda, p.ATransposed, mb.row, max(mc.row, 1)
		vector.AConjugated = p.AConjugated
	case mc.rows == 1 && ma.column > 0:
		vector.A, vector.B, vector.M, vector.K = p.B, p.A, p.N, p.K
		vector.Lda, vector.ATransposed, vector.Ldb, vector.Ldc = p.Ldb, !p.BTransposed, ma.column, max(mc.column, 1)
	default:
		blas.Gemm(d, &p)
		return
	}
	blas.Gemv(d, &vector)
}
