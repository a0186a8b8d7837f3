package ops_test

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

var nan, inf = math.NaN(), math.Inf(1)

// patterns lists numbers by their bits, of which all NaN share one pattern.
func patterns(values []float64) []uint64 {
	var b []uint64
	for _, v := range values {
		if v != v {
			v = math.NaN()
		}
		b = append(b, math.Float64bits(v))
	}
	return b
}

// All diagonals outside of a matrix have the same result, however far they are.
func TestTrianglesOfFarDiagonals(t *testing.T) {
	for _, diagonal := range []int64{math.MinInt64, math.MinInt64 + 1, -1 << 62, -3, 3, 1 << 62, math.MaxInt64 - 1, math.MaxInt64} {
		for name, f := range map[string]func(out, x *tensor.Tensor, diagonal int64) (*tensor.Tensor, error){"triu": ctx.Triu, "tril": ctx.Tril} {
			for _, inPlace := range []bool{false, true} {
				x, out := given(t, dtype.Int32, []int64{2, 3}, 1, 2, 3, 4, 5, 6), (*tensor.Tensor)(nil)
				if inPlace {
					out = x
				}
				y, err := f(out, x, diagonal)
				require.NoError(t, err)
				want := []float64{0, 0, 0, 0, 0, 0}
				if (diagonal < 0) == (name == "triu") {
					want = []float64{1, 2, 3, 4, 5, 6}
				}
				assert.Equal(t, want, flat(t, y), "%s from %d", name, diagonal)
				if !inPlace {
					y.Release()
				}
			}
		}
	}
}

// Operators of one tensor with exact answers, from values in float32.
func TestResultsForSpecialValues(t *testing.T) {
	negative := math.Copysign(0, -1)
	whole := func(
		f func(out, x *tensor.Tensor, dim []int64, keepdim bool) (*tensor.Tensor, error),
	) func(x *tensor.Tensor) (*tensor.Tensor, error) {
		return func(x *tensor.Tensor) (*tensor.Tensor, error) { return f(nil, x, nil, false) }
	}
	nansum := func(x *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Nansum(nil, x, nil, false, dtype.Int64) }
	mode := func(x *tensor.Tensor) (*tensor.Tensor, error) {
		values, indices, err := ctx.Mode(nil, nil, x, 0, false)
		if err != nil {
			return nil, err
		}
		defer values.Release()
		defer indices.Release()
		return ctx.Stack(nil, []*tensor.Tensor{values, indices}, 0)
	}
	inHalf := func(f func(out, x *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (*tensor.Tensor, error)) func(x *tensor.Tensor) (
		*tensor.Tensor, error) {
		return func(x *tensor.Tensor) (*tensor.Tensor, error) { return f(nil, x, nil, false, dtype.Float16) }
	}
	trapezoid := func(x *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Trapezoid(x, unscale, 0) }
	i0 := func(x *tensor.Tensor) (*tensor.Tensor, error) { return ctx.I0(nil, x) }
	for _, c := range []struct {
		name string
		f    func(x *tensor.Tensor) (*tensor.Tensor, error)
		x, y []float64
	}{
		{"amax", whole(ctx.Amax), []float64{negative, 0}, []float64{negative}},
		{"amax", whole(ctx.Amax), []float64{0, negative}, []float64{0}},
		{"amin", whole(ctx.Amin), []float64{negative, 0}, []float64{negative}},
		{"amin", whole(ctx.Amin), []float64{0, negative}, []float64{0}},
		{"nansum", nansum, []float64{2.5, 1.89}, []float64{3}},
		{"nansum", nansum, []float64{2.5, nan, 1.89}, []float64{3}},
		{"sum", inHalf(ctx.Sum), []float64{70000, -70000}, []float64{nan}},
		{"nansum", inHalf(ctx.Nansum), []float64{70000, 1}, []float64{inf}},
		{"mean", inHalf(ctx.Mean), []float64{70000, 1}, []float64{35008}},
		{"nanmean", inHalf(ctx.Nanmean), []float64{70000, nan, 1}, []float64{inf}},
		{"mode", mode, []float64{nan, -6.5, 1}, []float64{nan, 0}},
		{"mode", mode, []float64{2, nan, nan, 3}, []float64{2, 0}},
		{"mode", mode, []float64{nan, nan, nan}, []float64{nan, 0}},
		{"mode", mode, []float64{3, 2, 3, 2, 1}, []float64{2, 3}},
		{"trapezoid", trapezoid, []float64{-inf, 1, 2}, []float64{nan}},
		{"trapezoid", trapezoid, []float64{-inf}, []float64{nan}},
		{"trapezoid", trapezoid, []float64{1, 2, 4}, []float64{4.5}},
		{"i0", i0, []float64{inf, -inf, nan}, []float64{inf, inf, nan}},
		{"i0", i0, []float64{1e38}, []float64{inf}},
	} {
		y, err := c.f(given(t, dtype.Float32, []int64{int64(len(c.x))}, c.x...))
		require.NoError(t, err, c.name)
		assert.Equal(t, patterns(c.y), patterns(flat(t, y)), "%s of %v: %v", c.name, c.x, flat(t, y))
		y.Release()
	}
	a, b := given(t, dtype.Float32, []int64{4}, 0, negative, 0, nan), given(t, dtype.Float32, []int64{4}, negative, 0, nan, 1)
	for name, f := range map[string]func(out, a, b *tensor.Tensor) (*tensor.Tensor, error){"fmax": ctx.Fmax, "fmin": ctx.Fmin} {
		y, err := f(nil, a, b)
		require.NoError(t, err)
		assert.Equal(t, patterns([]float64{0, negative, 0, 1}), patterns(flat(t, y)), "%s: of equals the first, and a number over NaN", name)
		y.Release()
	}
}

// The result of an element is bitwise identical whatever elements are adjacent to it, in any layout.
func TestResultsDoNotDependOnAdjacentElements(t *testing.T) {
	unary := map[string]func(x *tensor.Tensor) (*tensor.Tensor, error){
		"digamma": func(x *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Digamma(nil, x) },
		"lgamma":  func(x *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Lgamma(nil, x) },
		"addcmul": func(x *tensor.Tensor) (*tensor.Tensor, error) {
			return ctx.Addcmul(nil, x, x, x, dtype.FloatScalar(0.7))
		},
		"lerp": func(x *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Lerp(nil, x, x, x) },
		"cube": withNumberOf(3, func(x, v *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Pow(nil, x, v) }),
	}
	for name, f := range unary {
		for _, d := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.BFloat16, dtype.Complex64, dtype.Complex128} {
			n := int64(131)
			x, err := ctx.RandnLike(ramp(t, d, n, 3), nil, dtype.None, tensor.NoLayout, device.Device{}, shape.NoFormat)
			require.NoError(t, err)
			t.Cleanup(x.Release)
			column, err := ctx.Select(x, 1, 1)
			require.NoError(t, err)
			t.Cleanup(column.Release)
			strided, err := f(column)
			if d.IsComplex() && err != nil {
				continue
			}
			require.NoError(t, err, name)
			dense, err := ops.CastTo("test", column, d)
			require.NoError(t, err)
			whole, err := f(dense)
			require.NoError(t, err)
			assert.Equal(t, rawBytes(whole), rawBytes(strided), "%s of %v", name, d)
			for i := range n {
				one, err := ctx.Narrow(dense, 0, i, 1)
				require.NoError(t, err)
				alone, err := f(one)
				require.NoError(t, err)
				size := d.Size()
				assert.Equal(t, rawBytes(whole)[i*size:(i+1)*size], rawBytes(alone), "%s of %v, element %d", name, d, i)
				one.Release()
				alone.Release()
			}
			for _, y := range []*tensor.Tensor{strided, dense, whole} {
				y.Release()
			}
		}
	}
}

func withNumberOf(v float64, f func(x, v *tensor.Tensor) (*tensor.Tensor, error)) func(x *tensor.Tensor) (*tensor.Tensor, error) {
	g := withOperand(f)
	return func(x *tensor.Tensor) (*tensor.Tensor, error) { return g(x, dtype.FloatScalar(v)) }
}

func rawBytes(t *tensor.Tensor) []byte {
	return append([]byte(nil), unsafe.Slice((*byte)(t.Data()), t.Numel()*t.DType().Size())...)
}

// With a factor of 0, infinities of the product do not reach the result.
func TestProductsWithFactorZero(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.Complex64} {
		for _, n := range []int64{2, 20} {
			ones, err := ctx.Full(nil, []int64{n, n}, dtype.IntScalar(1), d, tensor.NoLayout, device.Host)
			require.NoError(t, err)
			t.Cleanup(ones.Release)
			large, err := ctx.Full(nil, []int64{n, n}, dtype.FloatScalar(inf), d, tensor.NoLayout, device.Host)
			require.NoError(t, err)
			t.Cleanup(large.Release)
			for name, f := range map[string]func(beta dtype.Scalar) (*tensor.Tensor, error){
				"addmm": func(beta dtype.Scalar) (*tensor.Tensor, error) { return ctx.Addmm(nil, ones, large, ones, beta, zero) },
				"addmv": func(beta dtype.Scalar) (*tensor.Tensor, error) {
					return onRow(ones, func(_, _, row, _ *tensor.Tensor, _, _ dtype.Scalar) (*tensor.Tensor, error) {
						return ctx.Addmv(nil, row, large, row, beta, zero)
					}, zero)
				},
				"baddbmm": func(beta dtype.Scalar) (*tensor.Tensor, error) {
					return onBatch(large, func(_, _, batch, _ *tensor.Tensor, _, _ dtype.Scalar) (*tensor.Tensor, error) {
						return ctx.Baddbmm(nil, ones, batch, batch, beta, zero)
					}, zero)
				},
			} {
				for _, beta := range []int64{0, 1, 2} {
					y, err := f(dtype.IntScalar(beta))
					require.NoError(t, err, name)
					real, err := ctx.Real(y)
					require.NoError(t, err)
					for _, v := range flat(t, real) {
						assert.Equal(t, float64(beta), v, "%s of %v", name, d)
					}
					real.Release()
					y.Release()
				}
			}
		}
	}
}

// The workspace of a selection is limited to the entries of the elements that it moves, or of those that it keeps.
func TestWorkspaceOfSelection(t *testing.T) {
	const n = 1 << 16
	for _, d := range []dtype.DType{dtype.Uint8, dtype.Float16, dtype.Float32, dtype.Float64} {
		x := ramp(t, d, n)
		operand := n * d.Size()
		for _, c := range []struct {
			name string
			most int64 // bytes in addition to the results
			run  func() (*tensor.Tensor, *tensor.Tensor, error)
		}{
			{"topk", 4096, func() (*tensor.Tensor, *tensor.Tensor, error) { return ctx.Topk(nil, nil, x, 10, 0, true, true) }},
			{"kthvalue", operand + 4*n, func() (*tensor.Tensor, *tensor.Tensor, error) { return ctx.Kthvalue(nil, nil, x, n/2, 0, false) }},
			{"median", operand + 4*n, func() (*tensor.Tensor, *tensor.Tensor, error) { return ctx.MedianDim(nil, nil, x, 0, false) }},
			{"mode", operand + 4*n, func() (*tensor.Tensor, *tensor.Tensor, error) { return ctx.Mode(nil, nil, x, 0, false) }},
			{"sort", operand + 8*n + n*map[int64]int64{1: 0, 2: 8, 4: 8, 8: 24}[d.Size()], func() (*tensor.Tensor, *tensor.Tensor, error) {
				return ctx.Sort(nil, nil, x, 0, false)
			}},
		} {
			before := storage.MemoryStats().InUse
			storage.ResetPeak()
			values, indices, err := c.run()
			require.NoError(t, err, c.name)
			assert.LessOrEqual(t, storage.MemoryStats().Peak-before, c.most+4096, "%s of %v", c.name, d)
			values.Release()
			indices.Release()
		}
	}
}

// Operators of nothing, of tensors without dimensions, and of bool.
func TestResultsForSmallTensors(t *testing.T) {
	number := given(t, dtype.Float32, nil, 3)
	truth := given(t, dtype.Bool, nil, 1)
	truths := given(t, dtype.Bool, []int64{2}, 1, 0)
	nothing := func(d dtype.DType, sizes ...int64) *tensor.Tensor { return given(t, d, sizes) }
	zeroes := given(t, dtype.Int64, nil, 0)
	first := func(values, indices *tensor.Tensor, err error) (*tensor.Tensor, error) {
		indices.Release()
		return values, err
	}
	second := func(values, indices *tensor.Tensor, err error) (*tensor.Tensor, error) {
		values.Release()
		return indices, err
	}
	for _, c := range []struct {
		name  string
		f     func() (*tensor.Tensor, error)
		d     dtype.DType
		sizes []int64
		want  []float64
	}{
		{"topk", func() (*tensor.Tensor, error) { return first(ctx.Topk(nil, nil, number, 0, 0, true, true)) }, dtype.Float32, []int64{},
			[]float64{3}},
		{"topk", func() (*tensor.Tensor, error) { return second(ctx.Topk(nil, nil, number, 0, 0, true, true)) }, dtype.Int64, []int64{},
			[]float64{0}},
		{"kthvalue", func() (*tensor.Tensor, error) { return first(ctx.Kthvalue(nil, nil, truth, 1, 0, false)) }, dtype.Bool, []int64{},
			[]float64{1}},
		{"mT", func() (*tensor.Tensor, error) { return ctx.TransposeLast(number) }, dtype.Float32, []int64{}, []float64{3}},
		{"mH", func() (*tensor.Tensor, error) { return ctx.Adjoint(number) }, dtype.Float32, []int64{}, []float64{3}},
		{"softmax", func() (*tensor.Tensor, error) { return ctx.Softmax(nil, nothing(dtype.Int64, 2, 0), 1, dtype.None) }, dtype.Int64,
			[]int64{2, 0}, nil},
		{"cummax", func() (*tensor.Tensor, error) { return first(ctx.Cummax(nil, nil, nothing(dtype.Complex64, 0), 0)) }, dtype.Complex64,
			[]int64{0}, nil},
		{"mode", func() (*tensor.Tensor, error) {
			return first(ctx.Mode(nil, nil, nothing(dtype.Complex64, 0, 2), 1, false))
		}, dtype.Complex64, []int64{0}, nil},
		{"logsumexp", func() (*tensor.Tensor, error) {
			return ctx.Logsumexp(nil, nothing(dtype.Complex64, 0, 2), []int64{0}, false)
		}, dtype.Complex64, []int64{2}, []float64{-inf, -inf}},
		{"matmul", func() (*tensor.Tensor, error) {
			return ctx.Matmul(nil, nothing(dtype.Bool, 2, 0), nothing(dtype.Bool, 0, 2))
		}, dtype.Bool, []int64{2, 2}, []float64{0, 0, 0, 0}},
		{"mv", func() (*tensor.Tensor, error) { return ctx.Mv(nil, nothing(dtype.Bool, 2, 0), nothing(dtype.Bool, 0)) }, dtype.Bool, []int64{2},
			[]float64{0, 0}},
		{"bmm", func() (*tensor.Tensor, error) {
			return ctx.Bmm(nil, nothing(dtype.Bool, 0, 2, 2), nothing(dtype.Bool, 0, 2, 2))
		}, dtype.Bool, []int64{0, 2, 2}, nil},
		{"cumsum of no bool", func() (*tensor.Tensor, error) { return ctx.Cumsum(nil, nothing(dtype.Bool, 0), 0, dtype.Bool) }, dtype.Bool,
			[]int64{0}, nil},
		{"index_reduce", func() (*tensor.Tensor, error) {
			return ctx.IndexReduce(nil, truths, 0, given(t, dtype.Int64, []int64{2}, 1, 1), truths, "amax", true)
		}, dtype.Bool, []int64{2}, []float64{1, 1}},
		{"block_diag", func() (*tensor.Tensor, error) {
			return ctx.BlockDiag([]*tensor.Tensor{given(t, dtype.Float64, nil, 1.5), given(t, dtype.Float32, []int64{1}, 1)})
		}, dtype.Float32, []int64{2, 2}, []float64{1.5, 0, 0, 1}},
	} {
		y, err := c.f()
		if assert.NoError(t, err, c.name) {
			assert.Equal(t, c.d, y.DType(), c.name)
			assert.Equal(t, c.sizes, append([]int64{}, y.Sizes()...), c.name)
			assert.Equal(t, append([]float64{}, c.want...), flat(t, y), c.name)
			y.Release()
		}
	}
	for _, c := range []struct {
		f    func() (*tensor.Tensor, error)
		text string
	}{
		{func() (*tensor.Tensor, error) { return ctx.Roll(number, []int64{1}, []int64{0}) },
			"roll: dimension specified as 0 but tensor has no dimensions"},
		{func() (*tensor.Tensor, error) { return ctx.TakeAlongDim(nil, number, zeroes, 0) },
			"take_along_dim: dimension specified as 0 but tensor has no dimensions"},
		{func() (*tensor.Tensor, error) { return ctx.Cumsum(truths, truths, 0, dtype.None) }, "cumsum: not implemented for dtype bool"},
		{func() (*tensor.Tensor, error) { return ctx.Cumprod(nil, truths, 0, dtype.Bool) }, "cumprod: not implemented for dtype bool"},
		{func() (*tensor.Tensor, error) { return ctx.Nansum(nil, number, nil, false, dtype.Complex64) },
			"nansum: not implemented for dtype complex64"},
		{func() (*tensor.Tensor, error) {
			return first(ctx.Frexp(given(t, dtype.Float32, []int64{1}, 0), nil, given(t, dtype.Float16, []int64{1}, 1)))
		}, "frexp: expected mantissa to have dtype float16, the result's, but got float32"},
		{func() (*tensor.Tensor, error) {
			return ctx.Arange(nil, dtype.FloatScalar(1e40), dtype.Int32, tensor.NoLayout, device.Host)
		}, "arange: value 1e+40 cannot be converted to type int64 without overflow"},
		{func() (*tensor.Tensor, error) {
			return ctx.Mm(nil, given(t, dtype.Bool, []int64{1, 1}, 1), given(t, dtype.Bool, []int64{1, 1}, 1))
		}, "mm: not implemented for dtype bool"},
	} {
		_, err := c.f()
		assert.ErrorContains(t, err, c.text)
	}
	assert.Equal(t, []float64{1, 0}, flat(t, truths))
}

// Sums of 16 bits in the scatter family do not stop growing where an addend is half a unit of the sum.
func TestScatteredSumsOfSixteenBits(t *testing.T) {
	const n = 2000
	for _, d := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
		values := make([]float64, n)
		for i := range values {
			values[i] = 1
		}
		source, index, zero := given(t, d, []int64{n}, values...), given(t, dtype.Int64, []int64{n}, make([]float64, n)...),
			given(t, d, []int64{1}, 0)
		for name, c := range map[string]struct {
			want float64
			call func() (*tensor.Tensor, error)
		}{
			"scatter_add":        {n, func() (*tensor.Tensor, error) { return ctx.ScatterAdd(nil, zero, 0, index, source) }},
			"scatter_reduce sum": {n, func() (*tensor.Tensor, error) { return ctx.ScatterReduce(nil, zero, 0, index, source, "sum", true) }},
			"scatter_reduce":     {1, func() (*tensor.Tensor, error) { return ctx.ScatterReduce(nil, zero, 0, index, source, "mean", false) }},
			"index_reduce":       {1, func() (*tensor.Tensor, error) { return ctx.IndexReduce(nil, zero, 0, index, source, "mean", false) }},
		} {
			got, err := c.call()
			require.NoError(t, err)
			assert.Equal(t, []float64{c.want}, flat(t, got), "%s of %v", name, d)
			got.Release()
		}
	}
}
