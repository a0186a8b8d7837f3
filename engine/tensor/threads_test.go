package tensor_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// stressTime is how long the threads work: LIBTENSOR_STRESS, a duration, or a little.
func stressTime(t *testing.T) time.Duration {
	text := os.Getenv("LIBTENSOR_STRESS")
	if text == "" {
		return time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

// Eight threads create, view, share and free tensors over one storage; the race detector watches.
func TestThreadsOverOneStorage(t *testing.T) {
	before := storage.MemoryStats()
	const n = 1 << 12
	s, err := storage.New("test", 4*n, device.Host, true)
	require.NoError(t, err)
	require.NoError(t, s.Share("test"))
	fd, err := s.Descriptor("test")
	require.NoError(t, err)
	end := time.Now().Add(stressTime(t))
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := worker; time.Now().Before(end); i++ {
				whole, err := tensor.New("test", s, dtype.Float32, []int64{64, 64}, []int64{64, 1}, 0)
				if !assert.NoError(t, err) {
					return
				}
				view, err := whole.View("test", []int64{8, 8}, []int64{64, 2}, int64(i%8))
				assert.NoError(t, err)
				alias := view.Alias()
				part, err := s.Slice("test", int64(i%n), 4*n)
				assert.NoError(t, err)
				again, err := storage.FromDescriptor("test", fd, 4*n)
				assert.NoError(t, err)
				assert.Same(t, s, again)
				own, err := tensor.Zeros("test", []int64{int64(i % 300)}, dtype.Int16, device.Host)
				assert.NoError(t, err)
				if i%64 == 0 {
					storage.EmptyCache()
					_ = storage.MemoryStats()
				}
				whole.Release()
				part.Release()
				view.Recycle()
				again.Release()
				own.Recycle()
				alias.Recycle()
			}
		}()
	}
	wg.Wait()
	assert.EqualValues(t, 1, s.Refs())
	s.Release()
	assert.Equal(t, before.InUse, storage.MemoryStats().InUse)
}
