package composite

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

const marked = tensor.Extension1

// A dispatch key with a kernel for flip only. All other operators are unsupported.
func init() {
	dispatch.Register(marked, &dispatch.TensorKind{Name: "marked", Backend: dispatch.Backend{
		Flip: func(c dispatch.Context, self *tensor.Tensor, dims []int64) (*tensor.Tensor, error) {
			t, err := c.Excluding(marked).Flip(self, dims)
			if err == nil {
				t.SetKeys(marked, nil)
			}
			return t, err
		},
	}})
}

func matrix(t *testing.T, d dtype.DType, sizes ...int64) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Zeros("test", sizes, d, device.Host)
	require.NoError(t, err)
	t.Cleanup(x.Release)
	return x
}

// Composite operators call the intermediate ops of a dispatch key; those without a kernel for the key return an error.
func TestCompositeOperatorsCallOpsOfADispatchKey(t *testing.T) {
	var c dispatch.Context
	x := matrix(t, dtype.Float32, 2, 2)
	x.SetKeys(marked, nil)
	transposed, err := c.Fliplr(x)
	require.NoError(t, err)
	defer transposed.Release()
	assert.Equal(t, marked, transposed.Keys())

	for name, call := range map[string]func() (*tensor.Tensor, error){
		"narrow": func() (*tensor.Tensor, error) { return c.Diff(nil, x, 1, 0, nil, nil) },
		"clone":  func() (*tensor.Tensor, error) { return c.Rot90(x, 0, []int64{0, 1}) },
	} {
		_, err := call()
		assert.ErrorContains(t, err, "is not implemented for marked tensors", name)
	}
}

// The errors of the steps are those of the composition.
func TestErrorsNameTheCompositeOperator(t *testing.T) {
	var c dispatch.Context
	flags, wide, long := matrix(t, dtype.Bool, 3), matrix(t, dtype.Float32, 2, 3), matrix(t, dtype.Float32, 4, 4)
	stack := func() (*tensor.Tensor, error) { return c.Hstack(nil, []*tensor.Tensor{wide, long}) }
	for want, call := range map[string]func() (*tensor.Tensor, error){
		"trace: not implemented for dtype bool": func() (*tensor.Tensor, error) { return c.Trace(matrix(t, dtype.Bool, 2, 2)) },
		"hstack: sizes of tensors must match except in dimension 1. Expected size 2 in dimension 0 but got size 4": stack,
		"dist: subtraction, the `-` operator, with a bool tensor is not supported": func() (*tensor.Tensor, error) {
			return c.Dist(flags, flags, dtype.IntScalar(2))
		},
		"tile: trying to create tensor with negative dimension": func() (*tensor.Tensor, error) { return c.Tile(wide, []int64{-1, 2}) },
	} {
		_, err := call()
		require.Error(t, err)
		assert.Contains(t, err.Error(), want)
		assert.Equal(t, want[:4], err.Error()[:4])
	}
}
