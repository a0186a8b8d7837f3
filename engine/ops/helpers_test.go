package ops

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// given makes a contiguous tensor of dtype d from values.
func given(t *testing.T, d dtype.DType, sizes []int64, values ...float64) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Empty("test", sizes, d, device.Host)
	require.NoError(t, err)
	require.Len(t, values, int(x.Numel()))
	for i, v := range values {
		tensor.Put(elementAt(x, int64(i)), d, dtype.FloatScalar(v))
	}
	t.Cleanup(x.Release)
	return x
}

// elements views the data of a contiguous tensor.
func elements[T any](t *tensor.Tensor) []T { return unsafe.Slice((*T)(t.Data()), t.Numel()) }

// elementAt is the address of element i of a contiguous tensor.
func elementAt(t *tensor.Tensor, i int64) unsafe.Pointer {
	return unsafe.Add(t.Data(), i*t.DType().Size())
}

// rowMajorCopy is a copy of t in dtype d and row-major order.
func rowMajorCopy(op string, t *tensor.Tensor, d dtype.DType) (_ *tensor.Tensor, err error) {
	s := newScope(op)
	defer s.Close(&err)
	return s.Return(s.copyContiguous(t, d))
}

// ramp returns a contiguous tensor of fixed, unevenly spaced values around 0.
func ramp(t *testing.T, d dtype.DType, sizes ...int64) *tensor.Tensor {
	t.Helper()
	n := int64(1)
	for _, s := range sizes {
		n *= s
	}
	values := make([]float64, n)
	for i := range values {
		values[i] = float64((int64(i)*7919)%2003-1001) / 64
	}
	return given(t, d, sizes, values...)
}

// flat lists the elements of x in row-major order.
func flat(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	whole, err := rowMajorCopy("test", x, dtype.Float64)
	require.NoError(t, err)
	defer whole.Release()
	return append([]float64{}, elements[float64](whole)...)
}

// onMeta is x without its bytes.
func onMeta(t *testing.T, x *tensor.Tensor) *tensor.Tensor {
	m, err := tensor.EmptyStrided("test", x.Sizes(), x.Strides(), x.DType(), device.Device{Type: device.Meta, Index: -1})
	require.NoError(t, err)
	t.Cleanup(m.Release)
	m.SetNames(x.Names())
	return m
}

// sameBits compares lists of floats. NaNs are equal.
func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || x != x && y != y })
}

// codeOf is the code of an error, OK for none and Internal for one that has no code.
func codeOf(err error) status.Code {
	var e *status.Error
	switch {
	case err == nil:
		return status.OK
	case errors.As(err, &e):
		return e.Code
	}
	return status.Internal
}

// cycle is n small whole numbers.
func cycle(n int64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i%7) - 3
	}
	return values
}
