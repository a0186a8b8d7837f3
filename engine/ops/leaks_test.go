package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// leakProfiles are operands that need casts, copies and several passes.
var leakProfiles = append([]profile{
	{dtype.Float16, []int64{3, 3}, []int64{1, 0}, onesLike},
	{dtype.Int32, []int64{3, 3}, []int64{1, 0}, onesLike},
	{dtype.Complex64, []int64{3, 3, 3}, []int64{2, 0, 1}, onesLike},
	{dtype.Float32, []int64{20, 20}, []int64{1, 0}, onesLike},
	{dtype.Float32, []int64{2, 2}, []int64{1, 0}, func(i int) float64 { return float64(i) - 1.5 }}, // outside of [0, 1]
}, profiles...)

// held returns the number and size of live storages.
func held() [2]int64 {
	m := storage.MemoryStats()
	return [2]int64{m.InUse, m.Storages}
}

// changesStorage lists the operators that replace an argument's storage or size.
var changesStorage = map[string]bool{"set_": true, "set__tensor": true, "set__tensor_geometry": true, "set__storage": true,
	"share_memory_": true, "resize_": true, "resize_as_": true}

// Whatever allocation fails, and whatever an operator rejects, it keeps nothing.
func TestNoOperatorLeaks(t *testing.T) {
	step := int64(64)
	if testing.Short() {
		step = 1024
	}
	defer storage.SetLimit(0)
	for _, o := range everyOperator(t) {
		for _, p := range leakProfiles {
			c, ok := p.call(t, o)
			if !ok || changesStorage[o.CName()] {
				continue
			}
			before := held()
			storage.ResetPeak()
			results, err := c.run()
			releaseResults(results)
			if !assert.Equal(t, before, held(), "%v of %v: %v", c, p, err) || err != nil {
				continue
			}
			for limit := before[0] + 1; limit <= storage.MemoryStats().Peak; limit += step {
				storage.SetLimit(limit)
				results, err := c.run()
				storage.SetLimit(0)
				releaseResults(results)
				assert.Contains(t, []status.Code{status.OK, status.Memory}, codeOf(err), "%v of %v: %v", c, p, err)
				if !assert.Equal(t, before, held(), "%v of %v with %d bytes: %v", c, p, limit-before[0], err) {
					break
				}
			}
		}
	}
}

func TestTemporariesAreReleased(t *testing.T) {
	x, index := ramp(t, dtype.Float32, 3, 4), given(t, dtype.Int64, []int64{2}, 2, 0)
	item := ops.IndexItem{Kind: ops.IndexTensor, Tensor: index}
	before := storage.MemoryStats()
	for _, run := range []func() (*tensor.Tensor, error){
		func() (*tensor.Tensor, error) { return ctx.IndexGet(x, []ops.IndexItem{item, item}) },
		func() (*tensor.Tensor, error) { return ctx.IndexAdd(nil, x, 0, index, x, dtype.IntScalar(2)) }, // rejected: shapes
		func() (*tensor.Tensor, error) { return ctx.IndexSelect(nil, x, 1, index) },
		func() (*tensor.Tensor, error) { return ctx.Take(nil, x, index) },
		func() (*tensor.Tensor, error) { return ctx.ScatterAdd(nil, x, 0, x, x) }, // rejected: index dtype
		func() (*tensor.Tensor, error) { return ctx.Roll(x, []int64{1}, nil) },
		func() (*tensor.Tensor, error) { return ctx.Diag(nil, index, 1) },
		func() (*tensor.Tensor, error) { return ctx.Stack(nil, []*tensor.Tensor{x, x}, 1) },
	} {
		if out, err := run(); err == nil {
			out.Release()
		}
	}
	assert.Equal(t, before.InUse, storage.MemoryStats().InUse)
}
