package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

func TestSumDims(t *testing.T) {
	x := given(t, dtype.Int32, []int64{2, 3}, 1, 2, 3, 4, 5, 6)
	for _, c := range []struct {
		name    string
		dim     []int64
		keepdim bool
		sizes   []int64
		want    []float64
	}{
		{"all", nil, false, []int64{}, []float64{21}},
		{"empty list is all", []int64{}, true, []int64{1, 1}, []float64{21}},
		{"rows", []int64{0}, false, []int64{3}, []float64{5, 7, 9}},
		{"last, kept", []int64{-1}, true, []int64{2, 1}, []float64{6, 15}},
		{"both", []int64{1, 0}, false, []int64{}, []float64{21}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := ctx.Sum(nil, x, c.dim, c.keepdim, dtype.None)
			require.NoError(t, err)
			defer r.Release()
			assert.Equal(t, dtype.Int64, r.DType())
			assert.Equal(t, c.sizes, append([]int64{}, r.Sizes()...))
			assert.Equal(t, c.want, flat(t, r))
		})
	}
	_, err := ctx.Sum(nil, x, []int64{0, 0}, false, dtype.None)
	assert.ErrorContains(t, err, "dim 0 appears multiple times")
	_, err = ctx.Sum(nil, x, []int64{2}, false, dtype.None)
	assert.ErrorContains(t, err, "expected to be in range of [-2, 1], but got 2")
}

// Sums equal those of a plain loop for every layout of the input and every choice of dimensions.
func TestSumLayouts(t *testing.T) {
	shapes := [][]int64{{5, 70, 9}, {3, 4, 200}, {600, 4, 3}, {2, 700, 2}, {1, 1, 300}, {33, 1, 40}}
	orders := [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}}
	for _, d := range []dtype.DType{dtype.Float16, dtype.Float32, dtype.Float64, dtype.Int8, dtype.Int64} {
		for _, sizes := range shapes {
			base := ramp(t, d, sizes...)
			for _, order := range orders {
				x, err := ops.Permuted("test", base, order...)
				require.NoError(t, err)
				values := flat(t, x)
				s := x.Sizes()
				for dim := range 3 {
					outer, n, inner := ops.Lanes(s, dim)
					want := make([]float64, outer*inner)
					for i, v := range values {
						at := int64(i)
						want[at/(n*inner)*inner+at%inner] += v
					}
					r, err := ctx.Sum(nil, x, []int64{int64(dim)}, false, dtype.Float64)
					require.NoError(t, err)
					assert.InDeltaSlice(t, want, flat(t, r), 1e-9, "%v %v over %d", d, s, dim)
					r.Release()
				}
				x.Release()
			}
		}
	}
}

func TestReductionsDoNotDependOnThreads(t *testing.T) {
	defer parallel.SetThreads(parallel.Threads())
	wide, tall := ramp(t, dtype.Float32, 3, 150001), ramp(t, dtype.Float32, 150001, 3)
	for name, f := range map[string]func() (*tensor.Tensor, error){
		"sum of all":     func() (*tensor.Tensor, error) { return ctx.Sum(nil, wide, nil, false, dtype.None) },
		"sum of rows":    func() (*tensor.Tensor, error) { return ctx.Sum(nil, wide, []int64{1}, false, dtype.None) },
		"sum of columns": func() (*tensor.Tensor, error) { return ctx.Sum(nil, tall, []int64{0}, false, dtype.None) },
		"sum of many":    func() (*tensor.Tensor, error) { return ctx.Sum(nil, tall, []int64{1}, false, dtype.None) },
		"norm": func() (*tensor.Tensor, error) {
			return ctx.Norm(nil, tall, dtype.FloatScalar(3), nil, false, dtype.None)
		},
		"var":    func() (*tensor.Tensor, error) { return ctx.Var(wide, true) },
		"argmax": func() (*tensor.Tensor, error) { return ctx.Argmax(nil, wide, 1, false) },
		"dot": func() (*tensor.Tensor, error) {
			flat, err := ops.Reshaped("test", wide, []int64{wide.Numel()})
			if err != nil {
				return nil, err
			}
			defer flat.Release()
			return ctx.Dot(nil, flat, flat)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var first []float64
			for threads := 1; threads <= 4; threads++ {
				parallel.SetThreads(threads)
				r, err := f()
				require.NoError(t, err)
				if threads == 1 {
					first = flat(t, r)
				}
				assert.Equal(t, first, flat(t, r), "%d threads", threads)
				r.Release()
			}
		})
	}
}

func TestNaNDecides(t *testing.T) {
	nan := math.NaN()
	values := make([]float64, 700)
	for i := range values {
		values[i] = float64(i % 13)
	}
	values[431], values[617] = nan, nan
	x := given(t, dtype.Float32, []int64{700}, values...)
	r, err := ctx.Amax(nil, x, nil, false)
	require.NoError(t, err)
	defer r.Release()
	assert.True(t, math.IsNaN(r.Item().F))
	for name, f := range map[string]func(out, self *tensor.Tensor, dim ops.Int, keepdim bool) (*tensor.Tensor, error){"argmax": ctx.Argmax,
		"argmin": ctx.Argmin} {
		at, err := f(nil, x, ops.NoInt, false)
		require.NoError(t, err)
		assert.Equal(t, int64(431), at.Item().I, name)
		at.Release()
	}
	sum, err := ctx.Nansum(nil, x, nil, false, dtype.None)
	require.NoError(t, err)
	defer sum.Release()
	want := 0.0
	for _, v := range values {
		if v == v {
			want += v
		}
	}
	assert.Equal(t, want, sum.Item().F)
}

func TestEmptyReductions(t *testing.T) {
	x := given(t, dtype.Float32, []int64{2, 0})
	_, err := ctx.Amax(nil, x, []int64{1}, false)
	assert.ErrorContains(t, err, "expected reduction dim 1 to have non-zero size")
	r, err := ctx.Amax(nil, x, []int64{0}, false)
	require.NoError(t, err)
	assert.Equal(t, []int64{0}, r.Sizes())
	r.Release()
	p, err := ctx.Prod(nil, x, 1, false, dtype.None)
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 1}, flat(t, p))
	p.Release()
}

func TestVarianceOfLargeOffsets(t *testing.T) {
	x := given(t, dtype.Float64, []int64{4}, 1e9+4, 1e9+7, 1e9+13, 1e9+16)
	v, err := ctx.Var(x, true)
	require.NoError(t, err)
	defer v.Release()
	assert.Equal(t, 30.0, v.Item().F)
}

func TestBothExtremesAreThoseOfAminAndAmax(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Bool, dtype.Uint8, dtype.Int16, dtype.BFloat16, dtype.Float64} {
		for _, sizes := range [][]int64{{3, 70_001}, {611, 517}, {50_003, 3}} {
			x := ramp(t, d, sizes...)
			for _, dim := range []ops.Int{0, 1, ops.NoInt} {
				dims := []int64{int64(dim)}
				if dim.IsNone() {
					dims = nil
				}
				least, most, err := ctx.Aminmax(nil, nil, x, dim, true)
				require.NoError(t, err)
				for _, c := range []struct {
					got  *tensor.Tensor
					want func(out, self *tensor.Tensor, dim []int64, keepdim bool) (*tensor.Tensor, error)
				}{{least, ctx.Amin}, {most, ctx.Amax}} {
					want, err := c.want(nil, x, dims, true)
					require.NoError(t, err)
					assert.Equal(t, want.Sizes(), c.got.Sizes())
					assert.Equal(t, flat(t, want), flat(t, c.got), "%v of %v over %v", d, sizes, dim)
					want.Release()
					c.got.Release()
				}
			}
		}
	}
}
