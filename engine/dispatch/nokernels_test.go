//go:build nokernels

package dispatch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/libtensor/libtensor/engine/composite" // registers the composed operators
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// A build without the C++ kernels infers on the meta device, makes views, and reads and writes files.
func TestWithoutKernels(t *testing.T) {
	var c dispatch.Context
	meta := device.Device{Type: device.Meta, Index: -1}
	a, err := tensor.Empty("test", []int64{4, 1}, dtype.Float32, meta)
	require.NoError(t, err)
	defer a.Release()
	b, err := tensor.Empty("test", []int64{3}, dtype.Float64, meta)
	require.NoError(t, err)
	defer b.Release()
	sum, err := c.Add(nil, a, b, dtype.IntScalar(1))
	require.NoError(t, err)
	defer sum.Release()
	assert.Equal(t, []int64{4, 3}, sum.Sizes())
	assert.Equal(t, dtype.Float64, sum.DType())
	_, err = c.Add(nil, a, sum, dtype.IntScalar(1))
	require.NoError(t, err)

	x, err := tensor.Empty("test", []int64{2, 3}, dtype.Int16, device.Host)
	require.NoError(t, err)
	defer x.Release()
	for i := range x.Storage().Bytes() {
		x.Storage().Bytes()[i] = byte(i)
	}
	turned, err := c.Transpose(nil, x, 0, 1)
	require.NoError(t, err)
	defer turned.Release()
	assert.Equal(t, []int64{3, 2}, turned.Sizes())

	file, err := c.SafetensorsSave([]string{"x"}, []*tensor.Tensor{x}, "")
	require.NoError(t, err)
	defer file.Release()
	names, loaded, _, err := c.SafetensorsLoad(file)
	require.NoError(t, err)
	require.Equal(t, []string{"x"}, names)
	defer loaded[0].Release()
	assert.Equal(t, x.Storage().Bytes(), loaded[0].Storage().Bytes())

	_, err = c.Add(nil, x, x, dtype.IntScalar(1))
	assert.EqualError(t, err, "add: this build has no kernels for the cpu (build tag nokernels)")
	_, err = c.Clone(turned, shape.Contiguous)
	assert.ErrorContains(t, err, "no kernels for the cpu")
}
