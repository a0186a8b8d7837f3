package jvp

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/libtensor/libtensor/engine/autograd"
	_ "github.com/libtensor/libtensor/engine/composite"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

func numbers(t *testing.T, values ...float64) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Empty("test", []int64{int64(len(values))}, dtype.Float64, device.Host)
	require.NoError(t, err)
	t.Cleanup(x.Release)
	for i, v := range values {
		tensor.Put(unsafe.Add(x.Data(), 8*i), dtype.Float64, dtype.FloatScalar(v))
	}
	return x
}

// kept returns a function that releases the result of a step at the end of the test.
func kept(t *testing.T) func(made *tensor.Tensor, err error) *tensor.Tensor {
	return func(made *tensor.Tensor, err error) *tensor.Tensor {
		t.Helper()
		require.NoError(t, err)
		t.Cleanup(made.Release)
		return made
	}
}

func values(x *tensor.Tensor) (all []float64) {
	for i := range x.Numel() {
		all = append(all, x.At([]int64{i}).F)
	}
	return all
}

// thread returns a context with separate modes.
func thread() dispatch.Context {
	m := dispatch.Initial()
	return dispatch.With(&m)
}

func TestLevelsHaveSeparateTangents(t *testing.T) {
	c, keep := thread(), kept(t)
	outer, err := c.JvpBegin()
	require.NoError(t, err)
	x := keep(c.JvpWrap(numbers(t, 2, 3), numbers(t, 1, 10), outer))
	inner, err := c.JvpBegin()
	require.NoError(t, err)
	y := keep(c.JvpWrap(x, numbers(t, 1, 1), inner))
	assert.Equal(t, tensor.Transformed, y.Keys())

	cube := keep(c.Mul(nil, keep(c.Mul(nil, y, y)), y))
	slope := keep(c.JvpTangent(cube, inner)) // 3 x * x, which has a tangent in the level around
	assert.Equal(t, []float64{12, 27}, values(keep(c.JvpPrimal(slope, outer))))
	assert.Equal(t, []float64{12, 180}, values(keep(c.JvpTangent(slope, outer))))
	assert.Equal(t, []float64{12, 270}, values(keep(c.JvpTangent(keep(c.JvpPrimal(cube, inner)), outer))))

	require.NoError(t, c.JvpEnd(inner))
	require.NoError(t, c.JvpEnd(outer))
	assert.Nil(t, c.Level())
	assert.Error(t, c.JvpEnd(outer))
}

// Views have views of the tangent: a write to one changes the other.
func TestViewsShareTangents(t *testing.T) {
	c, keep := thread(), kept(t)
	level, err := c.JvpBegin()
	require.NoError(t, err)
	x := keep(c.JvpWrap(numbers(t, 1, 2, 3), numbers(t, 1, 1, 1), level))
	still := keep(c.ZerosLike(x, x.DType(), tensor.NoLayout, x.Device(), shape.Preserve))
	assert.False(t, still.Wrapped().ZeroTangent.MayBeNonzero())
	view := keep(c.Select(still, 0, 1))
	_, err = c.Add(view, view, keep(c.Select(x, 0, 2)), dtype.IntScalar(5))
	require.NoError(t, err)
	assert.True(t, still.Wrapped().ZeroTangent.MayBeNonzero())
	assert.Equal(t, []float64{0, 15, 0}, values(keep(c.JvpPrimal(still, level))))
	assert.Equal(t, []float64{0, 5, 0}, values(keep(c.JvpTangent(still, level))))
	require.NoError(t, c.JvpEnd(level))
}

func TestNoOperatorIsLinearAndMultilinear(t *testing.T) {
	for i := range dispatch.Operators() {
		o := &dispatch.Operators()[i]
		assert.False(t, o.Is(dispatch.Linear) && o.Is(dispatch.Multilinear), o.Name)
	}
}
