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
)

const (
	// roundedPanel is the number of columns of a packed panel of rounded products.
	roundedPanel = 32
	// Each block of a rounded product rounds its rows of the first operand, as many at a time as leastRoundedRows.
	leastRoundedRows, leastRoundedColumns = 128, 256
	// unpackedRows is the number of rows up to which packing would take as long as the product.
	unpackedRows = 16
)

// roundedKernel returns the function that multiplies float32 with bfloat16 in tile registers.
func roundedKernel() uintptr { return kernel.OfTiles(kernelapi.GemmRoundedAmx).Row(0) }

// packRoundedKernel returns the function that packs bfloat16 for roundedKernel.
func packRoundedKernel() uintptr { return kernel.OfTiles(kernelapi.GemmRoundedAmxPack).Row(0) }

// packRounded packs the second operand of g, one matrix, into scratch memory of s.
func packRounded(s *owner.Scope, g *kernel.GemmRounded) {
	whole := kernel.GemmPacking{B: g.B, N: g.N, K: g.K, BRow: g.BRow, BCol: g.BCol}
	kernel.Call(packRoundedKernel(), unsafe.Pointer(&whole))
	g.PackedK, g.Packed = g.K, newScratch(s, whole.Bytes)
	panels := ceilDiv(g.N, roundedPanel)
	each := whole.Bytes / max(panels, 1)
	parallel.For(panels, max(Grain/(g.K*roundedPanel+1), 1), func(begin, end int64) {
		part := whole
		column := begin * roundedPanel
		part.N = min(end*roundedPanel, g.N) - column
		part.B += uintptr(column * g.BCol * dtype.BFloat16.Size())
		part.Packed = g.Packed + uintptr(begin*each)
		kernel.Call(packRoundedKernel(), unsafe.Pointer(&part))
	})
}

// multiplyRounded is multiplyMatrices for matrices of float32, of which the second is bfloat16.
func (s *products) multiplyRounded(w backend.Product) {
	ma, mb, mc := viewFactors(w)
	g := kernel.GemmRounded{Gemm: kernel.Gemm{A: ma.data, B: mb.data, C: mc.data, D: mc.data, Batch: 1, M: mc.rows, N: mc.cols, K: ma.cols,
		ARow: ma.row, ACol: ma.column, BRow: mb.row, BCol: mb.column, CRow: mc.row, CCol: mc.column, DRow: mc.row, DCol: mc.column}}
	tensor.Put(unsafe.Pointer(&g.Alpha), dtype.Float32, w.Alpha)
	if w.Self != nil {
		md := broadcastOf(w.Self, w.To)
		g.D, g.DRow, g.DCol = md.data, md.row, md.column
		tensor.Put(unsafe.Pointer(&g.Beta), dtype.Float32, w.Beta)
	}
	if g.M > unpackedRows {
		packRounded(&s.Scope, &g)
	}
	blocks := productBlocks{Gemm: g.Gemm, left: dtype.Float32, right: dtype.BFloat16, result: dtype.Float32, leastRows: leastRoundedRows,
		leastColumns: leastRoundedColumns}
	if g.M > 2*leastRoundedRows {
		blocks.leastColumns = ceilDiv(g.N, roundedPanel) * roundedPanel
	}
	blocks.share(func(p kernel.Gemm, _, j int64) {
		part := g
		if part.Gemm = p; part.Packed != 0 {
			part.Column = j
		}
		kernel.Call(roundedKernel(), unsafe.Pointer(&part))
	})
}
