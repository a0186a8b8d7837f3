package parallel

import (
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func withThreads(t *testing.T, n int) {
	old := Threads()
	SetThreads(n)
	t.Cleanup(func() { SetThreads(old) })
}

func TestForCoversEveryIndexOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 7} {
		withThreads(t, threads)
		for _, c := range []struct{ n, grain int64 }{{0, 1}, {1, 1}, {10, 3}, {100, 1}, {101, 50}, {5, 100}, {8, 0}} {
			seen := make([]atomic.Int32, c.n)
			For(c.n, c.grain, func(begin, end int64) {
				for i := begin; i < end; i++ {
					seen[i].Add(1)
				}
			})
			for i := range seen {
				require.EqualValues(t, 1, seen[i].Load(), "index %d of %v with %d threads", i, c, threads)
			}
		}
	}
}

func TestForRaisesAWorkersPanicInTheCaller(t *testing.T) {
	withThreads(t, 4)
	for _, bad := range []int64{0, 99} { // in the caller's chunk, in another goroutine's
		v := raised(func() {
			For(100, 1, func(begin, end int64) {
				if begin <= bad && bad < end {
					panic("broken")
				}
			})
		})
		p, ok := v.(*Panic)
		require.True(t, ok, "got %v", v)
		assert.Equal(t, "broken", p.Value)
		var files []string
		for frames, more := runtime.CallersFrames(p.Stack), true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			files = append(files, filepath.Base(f.File))
		}
		assert.Contains(t, files, "parallel_test.go")
	}
}

func raised(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func TestTheFirstNumberOfTheVariableIsTheInitialNumberOfThreads(t *testing.T) {
	for said, want := range map[string]int{"1": 1, "3": 3, " 5 ": 5, "4,2": 4, "7 , 3": 7, "2147483647": 2147483647} {
		assert.Equal(t, want, initialThreads(said), "%q", said)
	}
	processors := initialThreads("")
	assert.GreaterOrEqual(t, processors, 1)
	assert.LessOrEqual(t, processors, runtime.NumCPU())
	for _, bad := range []string{"0", "-2", "four", "1.5", "3x", ",2", " ", "99999999999999999999"} {
		assert.Equal(t, processors, initialThreads(bad), "%q", bad)
	}
}

func TestSetThreadsKeepsAtLeastOne(t *testing.T) {
	withThreads(t, 0)
	assert.Equal(t, 1, Threads())
}

func TestCallersShareTheWorkersThatTheSystemHasThreadsFor(t *testing.T) {
	supply := Supply
	t.Cleanup(func() { Supply = supply })
	for _, supplied := range []int{1, 2, 3} {
		Supply = func(int) int { return supplied }
		withThreads(t, 8)
		require.Eventually(t, func() bool { return workers.Load() == 0 }, time.Second, time.Millisecond, "those of before")
		assert.Equal(t, 8, Threads())
		const callers = 4
		var inside, peak atomic.Int32
		var done sync.WaitGroup
		for range callers {
			done.Go(func() {
				For(64, 1, func(_, _ int64) {
					now := inside.Add(1)
					for seen := peak.Load(); now > seen && !peak.CompareAndSwap(seen, now); seen = peak.Load() {
					}
					time.Sleep(100 * time.Microsecond)
					inside.Add(-1)
				})
			})
		}
		done.Wait()
		assert.LessOrEqual(t, int(peak.Load()), callers+supplied-1)
	}
}
