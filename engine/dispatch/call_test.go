package dispatch

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// A user-defined tensor kind as one function of boxed calls: tensors that count the calls on them.
func TestBoxedTensorKind(t *testing.T) {
	const counted = tensor.Extension2
	calls := map[string]int{}
	Register(counted, &TensorKind{Name: "counted", Backend: BoxedBackend(func(c Context, call *Call) error {
		calls[call.Name]++
		return call.Run(c.Excluding(counted))
	}, func(o *Operator) bool { return o.Name != "sort" })})
	var c Context
	x := vector(t, 1, 2).Alias()
	defer x.Release()
	x.SetKeys(counted, nil)

	sum, err := c.Add(nil, x, x, dtype.IntScalar(3))
	require.NoError(t, err)
	defer sum.Release()
	assert.Equal(t, 8.0, sum.At([]int64{1}).F)
	_, _, err = c.Sort(nil, nil, x, -1, false)
	assert.ErrorContains(t, err, "sort is not implemented for counted tensors")
	assert.Equal(t, map[string]int{"add": 1}, calls)
}

func TestArgumentsOfBoxedCalls(t *testing.T) {
	const seen = tensor.Extension2
	a, b := vector(t, 1, 2), vector(t, 3, 4)
	x := a.Alias()
	defer x.Release()
	x.SetKeys(seen, nil)
	Register(seen, &TensorKind{Name: "seen", Backend: BoxedBackend(func(c Context, call *Call) error {
		assert.Equal(t, []*tensor.Tensor{x, b}, call.Operands())
		assert.Equal(t, -1, Given(call, "keepdim", -1))
		assert.Equal(t, int64(0), Given(call, "dim", int64(7)))
		assert.True(t, call.IsDim(call.Place("dim")))
		back := call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor { return b })
		err := call.Run(c)
		back.Restore()
		assert.Equal(t, []*tensor.Tensor{x, b}, call.Operands())
		return err
	}, func(o *Operator) bool { return o.Name == "cat" })})
	var c Context
	made, err := c.Cat(nil, []*tensor.Tensor{x, b}, 0)
	require.NoError(t, err)
	defer made.Release()
	assert.Equal(t, []int64{4}, made.Sizes())
	assert.Equal(t, 3.0, made.At([]int64{0}).F)
}
