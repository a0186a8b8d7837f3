package build_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/build"
	_ "github.com/libtensor/libtensor/engine/cpu"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

func vector(t *testing.T, n int64) *tensor.Tensor {
	t.Helper()
	x, err := dispatch.Context{}.Full(nil, []int64{n}, dtype.IntScalar(2), dtype.Float32, tensor.Strided, device.Host)
	require.NoError(t, err)
	return x
}

func TestResultsAreReturnedAndTemporariesReleased(t *testing.T) {
	x := vector(t, 1000)
	defer x.Release()
	before := storage.MemoryStats().InUse
	square := func() (_ *tensor.Tensor, err error) {
		b := build.New(dispatch.Context{}, "norm")
		defer b.Close(&err)
		return b.Return(b.Sum(b.Mul(x, x), nil, false))
	}
	sum, err := square()
	require.NoError(t, err)
	assert.Equal(t, 4000.0, sum.Item().Float())
	sum.Release()
	assert.Equal(t, before, storage.MemoryStats().InUse)
}

func TestFirstErrorEndsTheFunction(t *testing.T) {
	x, y := vector(t, 1000), vector(t, 3)
	defer x.Release()
	defer y.Release()
	before, reached := storage.MemoryStats().InUse, false
	f := func() (r *tensor.Tensor, err error) {
		b := build.New(dispatch.Context{}, "blend")
		defer b.Close(&err)
		made := b.Add(b.Mul(x, x), y)
		reached = true
		return b.Return(made)
	}
	r, err := f()
	assert.Nil(t, r)
	var failed *status.Error
	require.ErrorAs(t, err, &failed)
	assert.Contains(t, err.Error(), "blend: ")
	assert.Contains(t, err.Error(), "1000")
	assert.False(t, reached)
	assert.Equal(t, before, storage.MemoryStats().InUse)
}

func TestAnErrorOfTheOperatorItself(t *testing.T) {
	f := func() (n int64, err error) {
		b := build.New(dispatch.Context{}, "blend")
		defer b.Close(&err)
		b.Failf("weights must be positive, but got %d", -1)
		return 1, nil
	}
	n, err := f()
	assert.Zero(t, n)
	require.EqualError(t, err, "blend: weights must be positive, but got -1")
}

func TestTryReturnsTheErrorOfAPart(t *testing.T) {
	f := func() (err error) {
		b := build.New(dispatch.Context{}, "blend")
		defer b.Close(&err)
		inner := errors.New("no memory")
		assert.ErrorIs(t, b.Try(func() { b.Check(inner) }), inner)
		assert.NoError(t, b.Try(func() { b.IntNumber(1) }))
		return nil
	}
	require.NoError(t, f())
}

func TestOtherPanicsPassAndTemporariesAreReleased(t *testing.T) {
	before := storage.MemoryStats().InUse
	f := func() (err error) {
		b := build.New(dispatch.Context{}, "blend")
		defer b.Close(&err)
		b.ZerosWith([]int64{1000}, dtype.Float32, tensor.Strided, device.Host)
		panic("a defect")
	}
	assert.PanicsWithValue(t, "a defect", func() { _ = f() })
	assert.Equal(t, before, storage.MemoryStats().InUse)
}

func TestReturnOfAnOperandIsAnAlias(t *testing.T) {
	x := vector(t, 3)
	defer x.Release()
	f := func() (_ *tensor.Tensor, err error) {
		b := build.New(dispatch.Context{}, "same")
		defer b.Close(&err)
		return b.Return(b.CastTo(x, dtype.Float32))
	}
	r, err := f()
	require.NoError(t, err)
	defer r.Release()
	assert.NotSame(t, x, r)
	assert.Same(t, x.Storage(), r.Storage())
}
