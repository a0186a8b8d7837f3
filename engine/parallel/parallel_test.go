package parallel_test

import (
	"sync/atomic"
	"testing"

	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/stretchr/testify/assert"
)

func TestForCoversEveryIndexOnce(t *testing.T) {
	defer parallel.SetThreads(parallel.Threads())
	for threads := 1; threads <= 4; threads++ {
		parallel.SetThreads(threads)
		for _, n := range []int64{0, 1, 2, 7, 1000, 100_003} {
			counts := make([]atomic.Int32, n)
			parallel.For(n, 16, func(begin, end int64) {
				for i := begin; i < end; i++ {
					counts[i].Add(1)
				}
			})
			for i := range counts {
				if c := counts[i].Load(); c != 1 {
					t.Fatalf("%d threads: index %d of %d was visited %d times", threads, i, n, c)
				}
			}
		}
	}
}

func TestForRaisesAWorkersPanic(t *testing.T) {
	defer parallel.SetThreads(parallel.Threads())
	parallel.SetThreads(4)
	for range 100 {
		v := func() (v any) {
			defer func() { v = recover() }()
			parallel.For(1000, 1, func(begin, _ int64) {
				if begin > 500 {
					panic("piece failed")
				}
			})
			return nil
		}()
		p, ok := v.(*parallel.Panic)
		if assert.True(t, ok) {
			assert.Equal(t, "piece failed", p.Value)
			assert.Contains(t, string(p.Stack), "parallel_test")
		}
	}
}

func TestCallersDoNotDisturbEachOther(t *testing.T) {
	done := make(chan int64)
	for k := range int64(8) {
		go func() {
			total := int64(0)
			for range 200 {
				var sum atomic.Int64
				parallel.For(1000, 10, func(begin, end int64) { sum.Add((end - begin) * (k + 1)) })
				total += sum.Load()
			}
			done <- total - 200_000*(k+1)
		}()
	}
	for range 8 {
		assert.Zero(t, <-done)
	}
}
