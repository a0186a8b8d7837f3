package dispatch

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// A user-defined tensor kind, as docs/architecture.md shows it: values times a factor. Products with scalars change only the factor. The
// values are the storage's elements; the factor is the state of the dispatch key.

const scaled = tensor.Extension1

func scale(values *tensor.Tensor, factor float64) *tensor.Tensor {
	t := values.Alias()
	t.SetKeys(scaled, factor)
	return t
}

func factorOf(t *tensor.Tensor) float64 { return t.State().(float64) }

// dense is the plain tensor that a scaled one represents.
func dense(c Context, t *tensor.Tensor) (*tensor.Tensor, error) {
	factor, err := tensor.WrappedNumber(dtype.FloatScalar(factorOf(t)))
	if err != nil {
		return nil, err
	}
	defer factor.Release()
	return c.Excluding(scaled).Mul(nil, t, factor)
}

func init() {
	Register(scaled, &TensorKind{Name: "scaled", Instead: "clone() returns a dense one", Backend: Backend{
		Mul: func(c Context, out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
			if out == nil && other.IsWrappedNumber() {
				return scale(self, factorOf(self)*other.Item().Float()), nil
			}
			return nil, Unsupported("mul", scaled)
		},
		Clone: func(c Context, self *tensor.Tensor, _ shape.MemoryFormat) (*tensor.Tensor, error) {
			return dense(c, self)
		},
	}})
}

func vector(t *testing.T, values ...float64) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Empty("test", []int64{int64(len(values))}, dtype.Float32, device.Host)
	require.NoError(t, err)
	t.Cleanup(x.Release)
	for i, v := range values {
		tensor.Put(unsafe.Add(x.Data(), 4*i), dtype.Float32, dtype.FloatScalar(v))
	}
	return x
}

func TestUserDefinedTensorKind(t *testing.T) {
	var c Context
	x := scale(vector(t, 1, 2), 3)
	defer x.Release()
	two, err := tensor.WrappedNumber(dtype.IntScalar(2))
	require.NoError(t, err)
	defer two.Release()

	product, err := c.Mul(nil, x, two)
	require.NoError(t, err)
	defer product.Release()
	assert.Same(t, x.Storage(), product.Storage())
	assert.Equal(t, 6.0, factorOf(product))

	plain, err := c.Clone(product, shape.Preserve)
	require.NoError(t, err)
	defer plain.Release()
	assert.Zero(t, plain.Keys())
	assert.Equal(t, 12.0, plain.At([]int64{1}).F)
}

func TestOperatorsWithoutAKernelForAKind(t *testing.T) {
	var c Context
	x := scale(vector(t, 1, 2), 3)
	defer x.Release()
	plain := vector(t, 1, 2)
	for name, call := range map[string]func() error{
		"sort": func() error { _, _, err := c.Sort(nil, nil, x, -1, false); return err },
		"add":  func() error { _, err := c.Add(plain, plain, x, dtype.IntScalar(1)); return err },
		"cat":  func() error { _, err := c.Cat(nil, []*tensor.Tensor{plain, x}, 0); return err },
		"index": func() error {
			_, err := c.IndexGet(plain, []ops.IndexItem{{Kind: ops.IndexTensor, Tensor: x}})
			return err
		},
	} {
		assert.ErrorContains(t, call(), name+" is not implemented for scaled tensors; clone() returns a dense one", name)
	}
	same, err := c.IsSameSize(x, plain)
	require.NoError(t, err)
	assert.True(t, same, "sizes can be asked of every kind")
}

// Writes to outputs increment the version; functional calls do not.
func TestWritesAreCounted(t *testing.T) {
	var c Context
	x, y := vector(t, 1, 2), vector(t, 3, 4)
	before := x.Storage().Version()
	fresh, err := c.Add(nil, x, y, dtype.IntScalar(1))
	require.NoError(t, err)
	defer fresh.Release()
	assert.Equal(t, before, x.Storage().Version())
	assert.Zero(t, fresh.Storage().Version())

	_, err = c.Add(x, x, y, dtype.IntScalar(1))
	require.NoError(t, err)
	require.NoError(t, c.Zero(x))
	assert.Equal(t, before+2, x.Storage().Version())
	assert.Zero(t, y.Storage().Version())
}
