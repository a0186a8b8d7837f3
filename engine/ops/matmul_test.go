package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Products agree with a plain loop for every dtype, for sizes on both sides of the BLAS threshold, and for transposed and
// strided operands.
func TestMmAgainstPlainLoop(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.BFloat16, dtype.Int32, dtype.Int64} {
		for _, s := range [][3]int64{{1, 1, 1}, {3, 5, 2}, {40, 33, 37}, {1, 300, 70}, {70, 300, 1}, {4, 0, 3}} {
			m, k, n := s[0], s[1], s[2]
			whole := given(t, d, []int64{2 * max(k, 1), 2 * m}, cycle(4*max(k, 1)*m)...)
			a, err := whole.View("test", []int64{m, k}, []int64{2, 4 * m}, 0) // transposed, every other element
			require.NoError(t, err)
			b := given(t, d, []int64{k, n}, cycle(k*n)...)
			c, err := ctx.Mm(nil, a, b)
			require.NoError(t, err)
			av, bv := flat(t, a), flat(t, b)
			want := make([]float64, m*n)
			for i := range m {
				for j := range n {
					for p := range k {
						want[i*n+j] += av[i*k+p] * bv[p*n+j]
					}
				}
			}
			delta := 1e-3
			if d == dtype.BFloat16 {
				delta = 4 // results of some hundreds have eight bits
			}
			assert.InDeltaSlice(t, want, flat(t, c), delta, "%v %v", d, s)
			c.Release()
			a.Release()
		}
	}
}

func TestEinsum(t *testing.T) {
	a, b := given(t, dtype.Int64, []int64{2, 3}, 1, 2, 3, 4, 5, 6), given(t, dtype.Int64, []int64{3, 2}, 1, 0, 2, 1, 0, 1)
	square := given(t, dtype.Int64, []int64{2, 2}, 1, 2, 3, 4)
	for _, c := range []struct {
		equation string
		operands []*tensor.Tensor
		sizes    []int64
		want     []float64
	}{
		{"ij,jk", []*tensor.Tensor{a, b}, []int64{2, 2}, []float64{5, 5, 14, 11}},
		{"ij,jk->ki", []*tensor.Tensor{a, b}, []int64{2, 2}, []float64{5, 14, 5, 11}},
		{" i j -> j i ", []*tensor.Tensor{a}, []int64{3, 2}, []float64{1, 4, 2, 5, 3, 6}},
		{"ii->i", []*tensor.Tensor{square}, []int64{2}, []float64{1, 4}},
		{"ii", []*tensor.Tensor{square}, []int64{}, []float64{5}},
		{"...j->...", []*tensor.Tensor{a}, []int64{2}, []float64{6, 15}},
		{"ij,jk,kl->il", []*tensor.Tensor{a, b, square}, []int64{2, 2}, []float64{20, 30, 47, 72}},
		{"ba,B->Bb", []*tensor.Tensor{square, given(t, dtype.Int64, []int64{1}, 10)}, []int64{1, 2}, []float64{30, 70}},
	} {
		r, err := ctx.Einsum(c.equation, c.operands)
		require.NoError(t, err, c.equation)
		assert.Equal(t, c.sizes, append([]int64{}, r.Sizes()...), c.equation)
		assert.Equal(t, c.want, flat(t, r), c.equation)
		r.Release()
	}
	for equation, problem := range map[string]string{"ij->k": "does not appear", "ij->ii": "more than once", "i": "does not match",
		"ij,jk": "2 operands", "i1": "invalid subscript"} {
		_, err := ctx.Einsum(equation, []*tensor.Tensor{a})
		assert.ErrorContains(t, err, problem, equation)
	}
}

func TestProductErrorsNameShapes(t *testing.T) {
	a := given(t, dtype.Float32, []int64{2, 3}, 1, 2, 3, 4, 5, 6)
	_, err := ctx.Mm(nil, a, a)
	assert.ErrorContains(t, err, "(2x3 and 2x3)")
	_, err = ctx.Matmul(nil, a, given(t, dtype.Int64, []int64{3}, 1, 2, 3))
	assert.ErrorContains(t, err, "float32 and int64")
}

// A first operand that is not row-major is packed in parts: the product is bitwise identical to that of a row-major operand, and no copy of
// the whole is made.
func TestLargeOperandsArePackedInParts(t *testing.T) {
	for _, c := range []struct {
		d     dtype.DType
		batch []int64
		self  []int64
	}{{dtype.Float32, nil, nil}, {dtype.Float32, nil, []int64{24}}, {dtype.Float32, []int64{2}, []int64{1, 24}}, {dtype.Float64, nil, nil},
		{dtype.Float16, nil, nil}, {dtype.BFloat16, nil, nil}, {dtype.Int8, nil, nil}, {dtype.Int16, nil, nil}, {dtype.Int32, []int64{2}, nil},
		{dtype.Int64, nil, nil}, {dtype.Uint16, nil, nil}, {dtype.Uint32, nil, nil}, {dtype.Uint64, nil, nil}, {dtype.Complex64, nil, nil},
		{dtype.Complex128, nil, nil}} {
		if testing.Short() && c.d != dtype.Float32 && c.d != dtype.BFloat16 && c.d != dtype.Int32 {
			continue
		}
		const m, k, n = 3000, 1100, 24
		sized := func(dims ...int64) *tensor.Tensor {
			x, err := ctx.Randn(nil, append(slices.Clone(c.batch), dims...), nil, dtype.Float32, tensor.NoLayout, device.Host)
			require.NoError(t, err)
			t.Cleanup(x.Release)
			y, err := ctx.ToOptions(x, c.d, tensor.NoLayout, device.Device{}, false, false, shape.Preserve)
			require.NoError(t, err)
			t.Cleanup(y.Release)
			return y
		}
		product := func(a, b *tensor.Tensor) *tensor.Tensor {
			if c.self == nil {
				y, err := ctx.Matmul(nil, a, b)
				require.NoError(t, err)
				return y
			}
			self, err := ctx.Ones(nil, c.self, c.d, tensor.NoLayout, device.Host)
			require.NoError(t, err)
			defer self.Release()
			add := ctx.Addmm
			if c.batch != nil {
				add = ctx.Baddbmm
			}
			y, err := add(nil, self, a, b, dtype.IntScalar(2), dtype.IntScalar(1))
			require.NoError(t, err)
			return y
		}
		columns, b := sized(k, m), sized(k, n)
		a, err := ctx.Transpose(nil, columns, -2, -1)
		require.NoError(t, err)
		storage.ResetPeak()
		before := storage.MemoryStats()
		got := product(a, b)
		if c.batch == nil && c.d == dtype.Float32 {
			assert.Less(t, storage.MemoryStats().Peak-before.InUse, int64(10<<20), "the operand has 13 MB")
		}
		rows, err := ctx.Contiguous(a, shape.Contiguous)
		require.NoError(t, err)
		want := product(rows, b)
		same, err := ctx.Equal(want, got)
		require.NoError(t, err)
		assert.True(t, same, "%v of %v", c.d, c.batch)
		for _, x := range []*tensor.Tensor{got, want, rows, a} {
			x.Release()
		}
	}
}
