package kernel

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// leftOf is the dtype that a product's kernel wants the first operand in.
func leftOf(name string, d dtype.DType) dtype.DType {
	switch {
	case name == "gemm_bfloat16" || name == "gemm_dots_bfloat16" || name == "gemm_amx":
		return d
	case d.IsReducedFloat():
		return dtype.Float32
	case d == dtype.Int8 || d == dtype.Uint8:
		return dtype.Int16
	}
	return d
}

// matrix is a matrix of numbers and the memory that holds them as elements of a dtype.
type matrix struct {
	d        dtype.DType
	row, col int64
	bytes    []byte
}

func (m *matrix) at(i, j int64) unsafe.Pointer {
	return unsafe.Pointer(&m.bytes[(i*m.row+j*m.col)*m.d.Size()])
}

func newMatrix(d dtype.DType, rows, cols, row, col int64, number func(i, j int64) dtype.Scalar) *matrix {
	m := &matrix{d, row, col, bytes.Repeat([]byte{0xff}, int((max(rows-1, 0)*row+max(cols-1, 0)*col+1)*d.Size()))} // NaN in gaps
	for i := range rows {
		for j := range cols {
			tensor.Put(m.at(i, j), d, number(i, j))
		}
	}
	return m
}

// unit is the relative error of one rounding to dtype d.
func unit(d dtype.DType) float64 {
	switch d.ToReal() {
	case dtype.Float16:
		return 0x1p-11
	case dtype.BFloat16:
		return 0x1p-8
	case dtype.Float32:
		return 0x1p-24
	}
	return 0x1p-53
}

// Every kernel of matrix products in every tier agrees with a plain loop in 64 bits: integers wrap, floats keep within the
// rounding of the dtype that they are summed in.
func TestProductsAgreeWithAPlainLoop(t *testing.T) {
	for _, table := range tierTables() {
		for _, name := range []string{"gemm", "gemm_dots", "gemm_bfloat16", "gemm_dots_bfloat16", "gemm_amx"} {
			for _, d := range dtype.All {
				if fn := table.find(name).Row(d); fn != 0 {
					t.Run(fmt.Sprintf("%s/%s/%v", table.tier, name, d), func(t *testing.T) { checkProducts(t, fn, name, d) })
				}
			}
		}
	}
}

func checkProducts(t *testing.T, fn uintptr, name string, d dtype.DType) {
	left := leftOf(name, d)
	dots := name == "gemm_dots" || name == "gemm_dots_bfloat16"
	r := rand.New(rand.NewPCG(3, uint64(d)))
	number := func(int64, int64) dtype.Scalar {
		if d.IsIntegral() {
			return dtype.IntScalar(int64(r.Uint64()) >> (64 - 8*d.Size()))
		}
		return dtype.ComplexScalar(complex(r.NormFloat64(), r.NormFloat64()))
	}
	for i, s := range [][3]int64{{1, 1, 1}, {5, 3, 7}, {4, 301, 33}, {9, 64, 70}, {2, 0, 3}, {300, 17, 40}, {1, 200, 130}, {13, 1, 64},
		{26, 129, 5}, {9, 530, 17}, {17, 257, 16}, {35, 600, 70}, {1, 64, 48}, {3, 70, 19}, {40, 33, 32}, {40, 33, 16}, {40, 33, 8}, {40, 33, 4},
		{16, 32, 16}, {33, 31, 65}, {48, 66, 47}, {257, 520, 3}, {31, 1030, 18}, {17, 15, 33}, {9, 260, 290}} {
		if testing.Short() && i%3 != 0 {
			continue
		}
		m, k, n := s[0], s[1], s[2]
		for _, c := range []struct{ layout, alpha, beta int64 }{{0, 1, 0}, {0, 1, 1}, {0, -1, 0}, {0, -1, 1}, {0, -1, 2}, {1, 3, 2}, {2, 1, 0},
			{2, -1, 1}, {3, 3, 2}, {4, 1, 0}, {5, 1, 0}, {5, -1, 1}} {
			layout, alpha, beta := c.layout, dtype.IntScalar(c.alpha), dtype.IntScalar(c.beta)
			aRow, aCol, bRow, bCol, cRow, cCol := max(k, 1), int64(1), n+1, int64(1), n, int64(1)
			if layout == 1 || dots {
				bRow, bCol = 1, k+3
			}
			if layout == 5 && !dots { // the layout of a packed panel of a product with as many columns
				bRow = max(n, 1)
			}
			if layout == 2 {
				cRow, cCol = 1, m
			}
			if layout == 3 && !dots {
				bRow, bCol = 2*n, 2
				if left.Size() > 2 {
					aRow, aCol = max(3*k, 1), 3
				}
			}
			if layout == 4 && !dots && left.Size() > 2 {
				aRow, aCol = 1, m+1
			}
			// The first operand holds values of the others' dtype.
			a := newMatrix(left, m, k, aRow, aCol, func(i, j int64) dtype.Scalar {
				var element [16]byte
				tensor.Put(unsafe.Pointer(&element), d, number(i, j))
				return tensor.Get(unsafe.Pointer(&element), d)
			})
			b, c := newMatrix(d, k, n, bRow, bCol, number), newMatrix(d, m, n, cRow, cCol, number)
			before := append([]byte{}, c.bytes...)
			g := Gemm{Batch: 1, M: m, N: n, K: k, ARow: a.row, ACol: a.col, BRow: b.row, BCol: b.col, CRow: c.row, CCol: c.col, DRow: c.row,
				DCol: c.col}
			tensor.Put(unsafe.Pointer(&g.Alpha), d.Compute(), alpha)
			tensor.Put(unsafe.Pointer(&g.Beta), d.Compute(), beta)
			fill := func(g *Gemm, at []uintptr) { g.A, g.B, g.C, g.D = at[0], at[1], at[2], at[2] }
			if operands := [][]byte{a.bytes, b.bytes, c.bytes}; name == "gemm_amx" {
				callWithRoom(fn, g, operands, fill)
			} else {
				call(fn, g, operands, fill)
			}
			old := &matrix{d, c.row, c.col, before}
			for i := range m {
				for j := range n {
					if !assert.True(t, near(d, a, b, old, c, i, j, k, alpha, beta), "element %d, %d of sizes %v, layout %d, %v and %v times", i, j,
						s, layout, alpha, beta) {
						return
					}
				}
			}
		}
	}
}

// callWithRoom is call with scratch memory for a product in tile registers.
func callWithRoom(fn uintptr, g Gemm, operands [][]byte, fill func(g *Gemm, at []uintptr)) {
	size := &GemmAmx{Gemm: g}
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(size)
	Call(fn, unsafe.Pointer(size))
	room := make([]byte, size.Bytes)
	call(fn, GemmAmx{Gemm: g}, append(operands, room), func(w *GemmAmx, at []uintptr) {
		fill(&w.Gemm, at)
		w.Room = at[len(at)-1]
	})
}

// near reports whether element i, j of c equals alpha*a*b + beta*old up to rounding.
func near(d dtype.DType, a, b, old, c *matrix, i, j, k int64, alpha, beta dtype.Scalar) bool {
	got := tensor.Get(c.at(i, j), d)
	if d.IsIntegral() {
		want := beta.Int() * tensor.Get(old.at(i, j), d).Int()
		for p := range k {
			want += alpha.Int() * tensor.Get(a.at(i, p), a.d).Int() * tensor.Get(b.at(p, j), d).Int()
		}
		var element [16]byte
		tensor.Put(unsafe.Pointer(&element), d, dtype.IntScalar(want))
		return tensor.Get(unsafe.Pointer(&element), d).Int() == got.Int()
	}
	magnitude := func(z complex128) float64 { return math.Abs(real(z)) + math.Abs(imag(z)) }
	want := beta.Complex() * tensor.Get(old.at(i, j), d).Complex()
	size := magnitude(want)
	for p := range k {
		x, y := alpha.Complex()*tensor.Get(a.at(i, p), a.d).Complex(), tensor.Get(b.at(p, j), b.d).Complex()
		want += x * y
		size += magnitude(x) * magnitude(y)
	}
	const normal = 0x1p-14 // the least normal number of float16: below it rounding errors do not get smaller
	return magnitude(got.Complex()-want) <= 2*float64(k+4)*unit(d.Compute())*size+unit(d)*max(magnitude(want), normal)
}

// Products of float32 in tile registers round their first operand to bfloat16, and are bitwise identical with a packed second operand.
func TestRoundedProductsAgreeWithAPlainLoop(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	number := func(int64, int64) dtype.Scalar { return dtype.FloatScalar(r.NormFloat64()) }
	for _, table := range tierTables() {
		fn := table.find("gemm_rounded_amx").Row(0)
		if fn == 0 {
			continue
		}
		for _, s := range [][3]int64{{1, 1, 1}, {5, 0, 3}, {16, 32, 16}, {33, 65, 31}, {130, 256, 64}, {70, 30, 100}, {257, 513, 33}} {
			m, k, n := s[0], s[1], s[2]
			for layout := range int64(3) {
				a := newMatrix(dtype.Float32, m, k, []int64{max(k, 1), 1, 2*k + 3}[layout], []int64{1, m, 2}[layout], number)
				b := newMatrix(dtype.BFloat16, k, n, []int64{n, 1, 1}[layout], []int64{1, max(k, 1), k + 3}[layout], number)
				c := newMatrix(dtype.Float32, m, n, n+layout, 1, number)
				old := &matrix{c.d, c.row, c.col, bytes.Clone(c.bytes)}
				one := dtype.IntScalar(1)
				g := GemmRounded{Gemm: Gemm{Batch: 1, M: m, N: n, K: k, ARow: a.row, ACol: a.col, BRow: b.row, BCol: b.col, CRow: c.row, CCol: 1,
					DRow: c.row, DCol: 1}}
				tensor.Put(unsafe.Pointer(&g.Alpha), c.d, one)
				tensor.Put(unsafe.Pointer(&g.Beta), c.d, one)
				call(fn, g, [][]byte{a.bytes, b.bytes, c.bytes}, func(g *GemmRounded, at []uintptr) { g.A, g.B, g.C, g.D = at[0], at[1], at[2], at[2] })
				rounded := newMatrix(dtype.BFloat16, m, k, max(k, 1), 1, func(i, j int64) dtype.Scalar { return tensor.Get(a.at(i, j), a.d) })
				for i := range m {
					for j := range n {
						if !assert.True(t, near(c.d, rounded, b, old, c, i, j, k, one, one), "%s: element %d, %d of sizes %v, layout %d", table.tier, i, j, s,
							layout) {
							return
						}
					}
				}
				plain := c.bytes
				c.bytes = bytes.Clone(old.bytes)
				packed := packOf(table.find("gemm_rounded_amx_pack").Row(0), b, n, k)
				g.PackedK = k
				call(fn, g, [][]byte{a.bytes, packed, c.bytes}, func(g *GemmRounded, at []uintptr) {
					g.A, g.Packed, g.C, g.D = at[0], at[1], at[2], at[2]
				})
				assert.Equal(t, plain, c.bytes, "%s: packed, of sizes %v, layout %d", table.tier, s, layout)
			}
		}
	}
}

// packOf is a matrix as products read it.
func packOf(fn uintptr, b *matrix, n, k int64) []byte {
	size := GemmPacking{N: n, K: k, BRow: b.row, BCol: b.col}
	Call(fn, unsafe.Pointer(&size))
	packed := make([]byte, size.Bytes)
	call(fn, size, [][]byte{b.bytes, packed}, func(w *GemmPacking, at []uintptr) { w.B, w.Packed = at[0], at[1] })
	return packed
}

// Kernels of quantized products sum integers of the full range without saturating, and requantize them identically in every tier.
func TestQuantizedProductsOfEveryTier(t *testing.T) {
	const m, n = 19, 83
	r := rand.New(rand.NewPCG(7, 8))
	extreme := func(low int64) func(int64, int64) dtype.Scalar {
		return func(int64, int64) dtype.Scalar {
			return dtype.IntScalar(low + []int64{0, 255, 255, r.Int64N(256)}[r.IntN(4)])
		}
	}
	small := func(int64, int64) dtype.Scalar { return dtype.IntScalar(r.Int64N(200) - 100) }
	factor := func(int64, int64) dtype.Scalar { return dtype.FloatScalar(r.Float64() / 1000) }
	for _, k := range []int64{0, 1, 6, 64, 519, 1031} {
		for _, table := range tierTables() {
			for _, kernel := range []struct {
				name string
				left dtype.DType
				row  dtype.DType
			}{{"gemm_quantized", dtype.Int16, 0}, {"gemm_bytes", dtype.Uint8, 0}, {"gemm_quantized_amx", dtype.Uint8, dtype.Uint8},
				{"gemm_quantized_amx", dtype.Int8, dtype.Int8}} {
				name, left := kernel.name, kernel.left
				fn := table.find(name).Row(kernel.row)
				if fn == 0 {
					continue
				}
				low := int64(0)
				if left == dtype.Int8 {
					low = -128
				}
				for _, to := range []dtype.DType{dtype.Int32, dtype.Float32, dtype.Uint8, dtype.Int8} {
					a, b := newMatrix(left, m, k, k+2, 1, extreme(low)), newMatrix(dtype.Int8, k, n, 1, k+1, extreme(-128))
					c := newMatrix(to, m, n, n+3, 1, small)
					columns := func(d dtype.DType, number func(int64, int64) dtype.Scalar) *matrix {
						return newMatrix(d, 1, n+64, n+64, 1, number)
					}
					offsets, zeros, sums := columns(dtype.Int32, small), columns(dtype.Int32, small), newMatrix(dtype.Int32, 1, m, m, 1, small)
					bias, scales := columns(dtype.Float32, small), columns(dtype.Float32, factor)
					q := GemmQuantized{Gemm: Gemm{Batch: 1, M: m, N: n, K: k, ARow: a.row, ACol: 1, BRow: 1, BCol: b.col, CRow: c.row, CCol: 1},
						AZero: 131, Zero: 5, Low: -100, High: 122, DType: int32(to)}
					operands := [][]byte{a.bytes, b.bytes, c.bytes, offsets.bytes, zeros.bytes, sums.bytes, bias.bytes, scales.bytes}
					place := func(q *GemmQuantized, at []uintptr) {
						q.A, q.B, q.C, q.Offsets, q.Zeros, q.RowSums, q.Bias, q.Scales = at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]
					}
					call(fn, q, operands, place)
					plain := bytes.Clone(c.bytes)
					clear(c.bytes)
					packed := packOf(table.find(name+"_pack").Row(0), b, n, k)
					call(fn, q, append(operands, packed), func(q *GemmQuantized, at []uintptr) {
						place(q, at)
						q.B, q.Packed = 0, at[8]
					})
					for i := range int64(m) {
						from, to := i*c.row*c.d.Size(), (i*c.row+n)*c.d.Size()
						assert.Equal(t, plain[from:to], c.bytes[from:to], "%s %s: packed, row %d of %d", table.tier, name, i, k)
					}
					integer := func(x *matrix, i, j int64) int32 { return int32(tensor.Get(x.at(i, j), x.d).Int()) }
					for i := range int64(m) {
						for j := range int64(n) {
							sum := integer(offsets, 0, j) - integer(zeros, 0, j)*integer(sums, 0, i)
							for p := range k {
								sum += (integer(a, i, p) - 131) * integer(b, p, j)
							}
							x := (float32(sum) + float32(tensor.Get(bias.at(0, j), dtype.Float32).Float())) * float32(
								tensor.Get(scales.at(0, j), dtype.Float32).Float())
							want := dtype.IntScalar(int64(sum))
							switch to {
							case dtype.Float32:
								want = dtype.FloatScalar(float64(x))
							case dtype.Uint8, dtype.Int8:
								want = dtype.IntScalar(int64(math.RoundToEven(min(max(float64(x), -100), 122))) + 5)
								if to == dtype.Uint8 {
									want = dtype.IntScalar(int64(uint8(want.Int())))
								}
							}
							if !assert.Equal(t, want, tensor.Get(c.at(i, j), to), "%s %s: %d, %d of %d to %v", table.tier, name, i, j, k, to) {
								return
							}
						}
					}
				}
			}
		}
	}
}
