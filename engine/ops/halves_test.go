package ops

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

// halfArithmetic lists the operators that compute on 16-bit floats in memory.
var halfArithmetic = map[string]func(out, a, b *tensor.Tensor) (*tensor.Tensor, error){
	"add": func(out, a, b *tensor.Tensor) (*tensor.Tensor, error) { return Add(out, a, b, dtype.IntScalar(1)) },
	"sub": func(out, a, b *tensor.Tensor) (*tensor.Tensor, error) { return Sub(out, a, b, dtype.IntScalar(1)) },
	"mul": Mul,
	"div": func(out, a, b *tensor.Tensor) (*tensor.Tensor, error) { return Div(out, a, b, "") },
}

// halves returns a tensor with ordinary numbers among subnormal, large and special ones.
func halves(t *testing.T, d dtype.DType, seed int64, sizes ...int64) *tensor.Tensor {
	t.Helper()
	x := ramp(t, d, sizes...)
	specials := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 65504, -60000, 6e-8, -3e-6, 1e-39, 0x1p127}
	for i, special := range specials {
		tensor.Put(elementAt(x, (int64(i)*37+seed)%x.Numel()), d, dtype.FloatScalar(special))
	}
	return x
}

// expectRounded checks that an operator's result in d is that of float32, rounded once.
func expectRounded(t *testing.T, d dtype.DType, run func(out, a, b *tensor.Tensor) (*tensor.Tensor, error), a, b *tensor.Tensor) {
	t.Helper()
	wideA, err := rowMajorCopy("test", a, dtype.Float32)
	require.NoError(t, err)
	defer wideA.Release()
	wideB, err := rowMajorCopy("test", b, dtype.Float32)
	require.NoError(t, err)
	defer wideB.Release()
	wide, err := run(nil, wideA, wideB)
	require.NoError(t, err)
	defer wide.Release()
	want, err := rowMajorCopy("test", wide, d)
	require.NoError(t, err)
	defer want.Release()
	made, err := run(nil, a, b)
	require.NoError(t, err)
	defer made.Release()
	require.Equal(t, d, made.DType())
	assertSame(t, flat(t, want), flat(t, made))
}

// assertSame checks that elements are equal, or NaN, and reports the first that is not.
func assertSame(t *testing.T, want, made []float64) {
	t.Helper()
	for i := range want {
		if !sameBits(want[i:i+1], made[i:i+1]) {
			assert.Fail(t, "an element differs", "number %d is %v, not %v", i, made[i], want[i])
			return
		}
	}
}

// Operands in the storage format have the results of float32, for rows on both sides of a register's length, constant and strided operands.
func TestHalfArithmeticIsRoundedFloat32(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
		for name, run := range halfArithmetic {
			for _, n := range []int64{1, 7, 8, 15, 16, 17, 31, 32, 33, 127, 513} {
				t.Run(fmt.Sprintf("%s %v of %d", name, d, n), func(t *testing.T) {
					a, b := halves(t, d, 0, 3, n), halves(t, d, 11, 3, n)
					expectRounded(t, d, run, a, b)
					expectRounded(t, d, run, a, a)
					expectRounded(t, d, run, a, halves(t, d, 5, 3, 1))
					expectRounded(t, d, run, halves(t, d, 5, 3, 1), b)
					expectRounded(t, d, run, halves(t, d, 5, 1), b)
					expectRounded(t, d, run, a, given(t, d, nil, 1.5))
					expectRounded(t, d, run, a, given(t, dtype.Float32, nil, -2.75))
					expectRounded(t, d, run, a, given(t, dtype.Float64, nil, 0.40625))
					expectRounded(t, d, run, a, given(t, dtype.Int64, nil, 3))
					turned := halves(t, d, 3, n, 3)
					view, err := turned.View("test", []int64{3, n}, []int64{1, 3}, 0)
					require.NoError(t, err)
					defer view.Release()
					expectRounded(t, d, run, a, view)
					expectRounded(t, d, run, view, view)
					apart := halves(t, d, 3, 3, 2*n)
					steps, err := apart.View("test", []int64{3, n}, []int64{2 * n, 2}, 0)
					require.NoError(t, err)
					defer steps.Release()
					expectRounded(t, d, run, steps, b)
				})
			}
		}
	}
}

// Results do not depend on the number of threads, and an output may be an operand or have a wider dtype.
func TestHalfArithmeticOfManyElements(t *testing.T) {
	defer parallel.SetThreads(parallel.Threads())
	const n = 70_001
	for _, d := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
		for name, run := range halfArithmetic {
			t.Run(fmt.Sprintf("%s %v", name, d), func(t *testing.T) {
				a, b := halves(t, d, 0, n), halves(t, d, 11, n)
				for _, threads := range []int{1, 2, 5} {
					parallel.SetThreads(threads)
					expectRounded(t, d, run, a, b)
					expectRounded(t, d, run, a, given(t, dtype.Float64, nil, 0.703125))
				}
				made, err := run(nil, a, b)
				require.NoError(t, err)
				defer made.Release()
				wide := ramp(t, dtype.Float32, n)
				_, err = run(wide, a, b)
				require.NoError(t, err)
				rounded, err := rowMajorCopy("test", wide, d)
				require.NoError(t, err)
				defer rounded.Release()
				assertSame(t, flat(t, made), flat(t, rounded))
				_, err = run(a, a, b)
				require.NoError(t, err)
				assertSame(t, flat(t, made), flat(t, a))
			})
		}
	}
}
