package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// The kinds of errors are those of PyTorch's exceptions.
func TestErrorClassesMatchPyTorch(t *testing.T) {
	z := given(t, dtype.Complex64, []int64{2}, 1, 2)
	b := given(t, dtype.Bool, []int64{2}, 1, 0)
	ints := given(t, dtype.Int64, []int64{2}, 1, 0)
	two := func(_, _ *tensor.Tensor, err error) error { return err }
	one := func(_ *tensor.Tensor, err error) error { return err }
	for name, c := range map[string]struct {
		err  error
		want status.Code
	}{
		"cat of nothing":       {one(ctx.Cat(nil, nil, 0)), status.Value},
		"stack of nothing":     {one(ctx.Stack(nil, nil, 0)), status.Runtime},
		"max of complex":       {two(ctx.MaxDim(nil, nil, z, 0, false)), status.Type},
		"aminmax of complex":   {two(ctx.Aminmax(nil, nil, z, ops.NoInt, false)), status.Type},
		"sort of complex":      {two(ctx.Sort(nil, nil, z, 0, false)), status.Type},
		"topk of bool":         {two(ctx.Topk(nil, nil, b, 1, 0, true, true)), status.NotImplemented},
		"cov of bool":          {one(ctx.Cov(b, 1, nil, nil)), status.NotImplemented},
		"trapezoid of bool":    {one(ctx.Trapezoid(b, dtype.IntScalar(1), 0)), status.NotImplemented},
		"mean of integers":     {one(ctx.Mean(nil, ints, nil, false, dtype.None)), status.NotImplemented},
		"exponential integers": {ctx.FillExponential(ints, 1, nil), status.Runtime},
	} {
		assert.Equal(t, c.want, codeOf(c.err), "%s: %v", name, c.err)
	}
}

// A random fill of an out that cannot take it leaves its values and its shape.
func TestRandomOutputsOfTheWrongDTypeStay(t *testing.T) {
	out := given(t, dtype.Int64, []int64{2}, 5, 7)
	_, err := ctx.Randn(out, []int64{3}, nil, dtype.None, tensor.NoLayout, device.None)
	require.Error(t, err)
	assert.Equal(t, []int64{2}, out.Sizes())
	assert.Equal(t, []float64{5, 7}, flat(t, out))
	whole := given(t, dtype.Float32, []int64{2}, 5, 7)
	_, err = ctx.Bernoulli(whole, given(t, dtype.Float32, []int64{3}, 1, 0, 2), nil)
	assert.ErrorContains(t, err, "probability in [0, 1]")
	assert.Equal(t, []float64{5, 7}, flat(t, whole))
}

// Linspace and logspace write to a view with gaps without changing the gaps.
func TestSpacesIntoViews(t *testing.T) {
	base := given(t, dtype.Float32, []int64{2, 3}, 9, 9, 9, 9, 9, 9)
	view, err := ctx.Narrow(base, 1, 1, 2)
	require.NoError(t, err)
	defer view.Release()
	_, err = ctx.Linspace(view, dtype.IntScalar(0), dtype.IntScalar(3), 4, dtype.None, tensor.NoLayout, device.None)
	require.NoError(t, err)
	assert.Equal(t, []float64{9, 0, 1, 9, 2, 3}, flat(t, base))
	_, err = ctx.Logspace(view, dtype.IntScalar(0), dtype.IntScalar(3), 4, 2, dtype.None, tensor.NoLayout, device.None)
	require.NoError(t, err)
	assert.Equal(t, []float64{9, 1, 2, 9, 4, 8}, flat(t, base))
}

// A product written to one of its operands is correct.
func TestProductsIntoTheirOperands(t *testing.T) {
	for name, f := range map[string]func(out, a, b *tensor.Tensor) (*tensor.Tensor, error){"dot": ctx.Dot, "vdot": ctx.Vdot,
		"matmul": ctx.Matmul} {
		a, b := given(t, dtype.Float32, []int64{3}, 1, 2, 3), given(t, dtype.Float32, []int64{3}, 1, 2, 3)
		_, err := f(a, a, b)
		require.NoError(t, err, name)
		assert.Equal(t, []float64{14}, flat(t, a), name)
	}
}

// Operands of different dtypes are promoted where nothing is summed, and rejected where a product is.
func TestEinsumOfMixedDTypes(t *testing.T) {
	x, y := given(t, dtype.Float32, []int64{2}, 1.5, 2), given(t, dtype.Int64, []int64{2}, 2, 3)
	outer, err := ctx.Einsum("i,j->ij", []*tensor.Tensor{x, y})
	require.NoError(t, err)
	defer outer.Release()
	assert.Equal(t, []float64{3, 4.5, 4, 6}, flat(t, outer))
	_, err = ctx.Einsum("i,i->", []*tensor.Tensor{x, y})
	assert.ErrorContains(t, err, "same dtype, but got float32 and int64")
}
