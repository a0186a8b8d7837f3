package cpu

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// forgetPlans empties the cache.
func forgetPlans() {
	plans.Lock()
	defer plans.Unlock()
	for plans.order.Len() > 0 {
		dropPlan(plans.order.Back())
	}
}

// kept returns the number of cached plans and their total size in bytes.
func kept(t *testing.T) (count int, bytes int64) {
	plans.Lock()
	defer plans.Unlock()
	for e := plans.order.Front(); e != nil; e = e.Next() {
		p := e.Value.(*fftPlan)
		assert.Same(t, e, plans.byKey[p.key])
		count++
		bytes += int64(len(p.memory)) * 8
	}
	assert.Len(t, plans.byKey, count)
	assert.InDelta(t, bytes, plans.bytes, float64(8*count))
	return count, bytes
}

func TestPlansAreKeptUpToALimit(t *testing.T) {
	forgetPlans()
	defer forgetPlans()
	key := func(n int64) planKey { return planKey{d: dtype.Float64, n: n} }
	for n := int64(1 << 16); n < 1<<16+40; n++ { // megabytes each
		first, err := planFor("test", key(n))
		require.NoError(t, err)
		again, err := planFor("test", key(n))
		require.NoError(t, err)
		assert.Same(t, first, again)
		count, bytes := kept(t)
		assert.LessOrEqual(t, bytes, int64(planBytes))
		assert.Positive(t, count)
	}
	count, _ := kept(t)
	assert.Greater(t, count, 1)
	assert.NotContains(t, plans.byKey, key(1<<16), "the one that was used last longest ago goes first")

	large, err := planFor("test", key(1<<22+1)) // larger than the limit: it stays until another is used
	require.NoError(t, err)
	require.Greater(t, large.PlanBytes, int64(planBytes))
	count, _ = kept(t)
	assert.Equal(t, 1, count)
	_, err = planFor("test", key(8))
	require.NoError(t, err)
	count, bytes := kept(t)
	assert.Equal(t, 1, count)
	assert.Less(t, bytes, int64(1<<12))
}

// Plans that go while others use them do no harm.
func TestPlansAreSharedByThreads(t *testing.T) {
	forgetPlans()
	defer forgetPlans()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for n := int64(60_001); n < 60_041; n += 2 {
				x, err := tensor.Zeros("test", []int64{n}, dtype.Complex128, device.Host)
				if !assert.NoError(t, err) {
					return
				}
				tensor.Put(x.Data(), dtype.Complex128, dtype.ComplexScalar(3+4i))
				assert.NoError(t, runFourier("test", backend.Fourier{To: x, From: x, Dims: []int{0}, Scale: 1}))
				last := x.At([]int64{n - 1}).Complex()
				assert.InDelta(t, 3, real(last), 1e-12)
				assert.InDelta(t, 4, imag(last), 1e-12)
				x.Release()
			}
		})
	}
	group.Wait()
	kept(t)
}
