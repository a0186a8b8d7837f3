package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
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
	for equation, problem := range map[string]string{"ij->k": "does not appear", "ij->ii": "more than once", "i": "does not match", "ij,jk": "2 operands", "i1": "invalid subscript"} {
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
