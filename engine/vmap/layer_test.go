package vmap

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
	"github.com/libtensor/libtensor/engine/tensor"
)

func numbers(t *testing.T, sizes []int64, values ...float64) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Empty("test", sizes, dtype.Float32, device.Host)
	require.NoError(t, err)
	t.Cleanup(x.Release)
	for i, v := range values {
		tensor.Put(unsafe.Add(x.Data(), 4*i), dtype.Float32, dtype.FloatScalar(v))
	}
	return x
}

// thread returns a context with separate modes.
func thread() dispatch.Context {
	m := dispatch.Initial()
	return dispatch.With(&m)
}

func TestOperatorsSeeOneExample(t *testing.T) {
	c := thread()
	x := numbers(t, []int64{2, 3}, 1, 2, 3, 4, 5, 6)
	level, err := c.VmapBegin(2, "error")
	require.NoError(t, err)
	one, err := c.VmapWrap(x, 0, level)
	require.NoError(t, err)
	defer one.Release()
	assert.Equal(t, []int64{3}, one.Sizes())
	assert.Equal(t, tensor.Transformed, one.Keys())

	sum, err := c.Sum(nil, one, nil, false, dtype.None)
	require.NoError(t, err)
	defer sum.Release()
	assert.Empty(t, sum.Sizes())
	all, err := c.VmapUnwrap(sum, 0, level)
	require.NoError(t, err)
	defer all.Release()
	assert.Equal(t, 6.0, all.At([]int64{0}).F)
	assert.Equal(t, 15.0, all.At([]int64{1}).F)

	require.NoError(t, c.VmapEnd(level))
	_, err = c.Sum(nil, one, nil, false, dtype.None)
	assert.ErrorContains(t, err, "escaped from inside a function being vmapped")
	assert.Error(t, c.VmapEnd(level))
	assert.Nil(t, c.Level())
}

// The batch dimensions of nested levels are stored in the order of the levels, whichever level is entered first.
func TestExamplesOfTwoLevels(t *testing.T) {
	c := thread()
	outer, err := c.VmapBegin(2, "error")
	require.NoError(t, err)
	inner, err := c.VmapBegin(3, "error")
	require.NoError(t, err)
	x := numbers(t, []int64{2, 3}, 1, 2, 3, 4, 5, 6)
	row, err := c.VmapWrap(x, 0, outer)
	require.NoError(t, err)
	defer row.Release()
	element, err := c.VmapWrap(row, 0, inner)
	require.NoError(t, err)
	defer element.Release()
	assert.Empty(t, element.Sizes())
	assert.Equal(t, uint32(inner), element.Wrapped().Level.Number)

	column, err := c.VmapUnwrap(element, 0, outer)
	require.NoError(t, err)
	defer column.Release()
	assert.Equal(t, []int64{2}, column.Sizes())
	all, err := c.VmapUnwrap(column, 0, inner)
	require.NoError(t, err)
	defer all.Release()
	assert.Equal(t, []int64{3, 2}, all.Sizes())
	assert.Equal(t, 4.0, all.At([]int64{0, 1}).F)
	assert.Same(t, x.Storage(), all.Storage())

	spread, err := c.VmapSpread(numbers(t, []int64{5}, 1, 2, 3, 4, 5))
	require.NoError(t, err)
	defer spread.Release()
	assert.Equal(t, int64(3), spread.Wrapped().Level.Size)
	assert.Equal(t, int64(2), spread.Wrapped().Value.Wrapped().Level.Size)
	require.NoError(t, c.VmapEnd(inner))
	require.NoError(t, c.VmapEnd(outer))
}

// Every operator with a composition or a kernel is served: the layer is before all others.
func TestEveryOperatorIsServed(t *testing.T) {
	assert.NotEmpty(t, dispatch.Operators())
	for i := range dispatch.Operators() {
		o := &dispatch.Operators()[i]
		assert.NotEmpty(t, o.Name)
		assert.False(t, o.Is(dispatch.Elementwise) && o.Composed() && o.Is(dispatch.Syncs), o.Name)
	}
}
