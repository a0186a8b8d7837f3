// Package parallel splits work over goroutines. Results never depend on how many there are: callers give every piece its
// own outputs or combine partial results in a fixed order.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

var threads atomic.Int64

func init() { threads.Store(int64(runtime.NumCPU())) }

// Threads is the number of goroutines that For may use.
func Threads() int { return int(threads.Load()) }

// SetThreads changes Threads; n must be at least 1.
func SetThreads(n int) { threads.Store(int64(max(n, 1))) }

// Panic carries a worker's panic and its stack to the caller of For.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprint(p.Value) }

// For calls body(begin, end) over pieces of [0, n), none smaller than grain except the last, and waits for all of them.
// A panic in a piece is raised again in the caller.
func For(n, grain int64, body func(begin, end int64)) {
	pieces := min(int64(Threads()), n/max(grain, 1))
	if pieces <= 1 {
		if n > 0 {
			body(0, n)
		}
		return
	}
	step := (n + pieces - 1) / pieces
	var wg sync.WaitGroup
	var failed atomic.Pointer[Panic]
	run := func(begin, end int64) {
		defer func() {
			if v := recover(); v != nil {
				failed.CompareAndSwap(nil, &Panic{v, debug.Stack()})
			}
		}()
		body(begin, end)
	}
	for begin := step; begin < n; begin += step {
		wg.Add(1)
		go func() {
			defer wg.Done()
			run(begin, min(begin+step, n))
		}()
	}
	run(0, min(step, n))
	wg.Wait()
	if p := failed.Load(); p != nil {
		panic(p)
	}
}
