// Package parallel divides loops among threads. Results never depend on the number of threads: every chunk has separate outputs, or partial
// results are combined in a fixed order.
package parallel

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libtensor/libtensor/engine/inherit"
)

var (
	threads atomic.Int64 // of one For
	workers atomic.Int64 // that help in all the calls of For there are
	most    atomic.Int64 // of these
)

// Variable is the environment variable that says how many threads there are at first, as OpenMP reads it: a number, or a list of which the
// first counts.
const Variable = "OMP_NUM_THREADS"

func init() {
	SetThreads(initialThreads(os.Getenv(Variable)))
	inherit.Read(&threads, func(parents *atomic.Int64) { SetThreads(int(parents.Load())) })
}

// initialThreads returns the number of threads from Variable, or by default the number of processors for the process: those of its
// affinity mask, limited by the quota of its control group, which Go determines.
func initialThreads(said string) int {
	first, _, _ := strings.Cut(said, ",")
	if n, err := strconv.ParseInt(strings.TrimSpace(first), 10, 32); err == nil && n > 0 {
		return int(n)
	}
	return min(runtime.NumCPU(), runtime.GOMAXPROCS(0))
}

// Supply makes sure that the system has threads for operators of n threads, and returns the number of available ones. The layer that
// creates threads sets it, before SetThreads.
var Supply = func(n int) int { return n }

// Threads returns the number of threads that For may use.
func Threads() int { return int(threads.Load()) }

// SetThreads changes Threads; n must be at least 1. If the system provides fewer threads, these are used.
func SetThreads(n int) {
	n = max(n, 1)
	threads.Store(int64(n))
	most.Store(int64(Supply(min(n, max(64, 4*runtime.NumCPU()))) - 1))
}

// Panic carries a worker's panic and where it came from to the caller of For.
type Panic struct {
	Value any
	Stack []uintptr // from runtime.Callers
}

func (p *Panic) Error() string { return fmt.Sprint(p.Value) }

// job is one call of For: idle threads take its chunks in order.
type job struct {
	body    func(begin, end int64)
	n, step int64
	next    atomic.Int64
	left    atomic.Int64 // unfinished chunks
	done    sync.WaitGroup
	failed  atomic.Pointer[Panic]
	stopped atomic.Bool // the call is cancelled: chunks are skipped
}

// processChunks processes chunks until none is left. With poll it asks before each whether the call is to be cancelled.
func (j *job) processChunks(poll bool) {
	for {
		begin := j.next.Add(j.step) - j.step
		if begin >= j.n {
			return
		}
		if poll && Poll() {
			j.stopped.Store(true)
		}
		j.processChunk(begin, min(begin+j.step, j.n))
	}
}

func (j *job) processChunk(begin, end int64) {
	defer func() {
		if v := recover(); v != nil {
			var stack [32]uintptr
			j.failed.CompareAndSwap(nil, &Panic{v, stack[:runtime.Callers(1, stack[:])]})
		}
		if j.left.Add(-1) == 0 {
			j.done.Done()
		}
	}()
	if !j.stopped.Load() {
		j.body(begin, end)
	}
}

// waitDone returns once all chunks are done. When no chunk is left to take, the last one is nearly done: spinning is faster than
// sleeping, since a thread wakes up late.
func (j *job) waitDone() {
	for start := time.Now(); time.Since(start) < linger; {
		if j.left.Load() == 0 {
			return
		}
	}
	j.done.Wait()
}

// linger is how long a thread looks for work, or for the end of it, before it sleeps: waking it takes as long as a small job.
const linger = 100 * time.Microsecond

var (
	lingering atomic.Int32        // workers that look for a job
	offered   atomic.Pointer[job] // a job for one of them
)

// assignWorker assigns a worker to a job, and reports whether one was available.
func assignWorker(j *job) bool {
	if lingering.Load() > 0 && offered.CompareAndSwap(nil, j) {
		return true
	}
	if workers.Add(1) > most.Load() {
		workers.Add(-1)
		return false
	}
	go runWorker(j)
	return true
}

// runWorker processes chunks of a job, and then of others that follow soon.
func runWorker(j *job) {
	defer workers.Add(-1)
	for j != nil {
		j.processChunks(false)
		lingering.Add(1)
		j = nil
		for start := time.Now(); j == nil && time.Since(start) < linger; {
			j = takeOffered()
		}
		lingering.Add(-1)
		if j == nil {
			j = takeOffered() // offered while this worker was about to end
		}
	}
}

// takeOffered takes an offered job, or returns nil.
func takeOffered() *job {
	if j := offered.Load(); j != nil && offered.CompareAndSwap(j, nil) {
		return j
	}
	return nil
}

// chunksPerThread makes more chunks than there are threads, so that a late helper costs little.
const chunksPerThread = 4

// For calls body(begin, end) for chunks of [0, n), none smaller than grain except the last, and waits for all of them. A panic in a chunk
// is raised again in the caller.
func For(n, grain int64, body func(begin, end int64)) {
	helpers := min(int64(Threads()), n/max(grain, 1)) - 1
	if helpers < 1 {
		if n > 0 {
			body(0, n)
		}
		return
	}
	runChunks(n, max(grain, n/((helpers+1)*chunksPerThread), 1), helpers, body, false)
}

// runChunks processes chunks of step on the calling thread and helpers.
func runChunks(n, step, helpers int64, body func(begin, end int64), poll bool) {
	j := &job{body: body, n: n, step: step}
	j.left.Store((n + j.step - 1) / j.step)
	j.done.Add(1)
	for range helpers {
		if !assignWorker(j) {
			break
		}
	}
	j.processChunks(poll)
	j.waitDone()
	if p := j.failed.Load(); p != nil {
		panic(p)
	}
}

// Interruptible is the number of threads whose calls may be interrupted. The layer that accepts calls sets it, with the functions Poll,
// which asks whether the call of this thread is to be cancelled, and IsCancelled, which reports whether it is.
var (
	Interruptible = new(atomic.Int32)
	Poll          = func() bool { return false }
	IsCancelled   = func() bool { return false }
)

// mostPolls limits the number of chunks of a loop that can be interrupted.
const mostPolls = 256

// ForInterruptible is For for a body whose outputs are not used to compute addresses: once the call is cancelled, the remaining chunks are
// skipped. Later launches of the call return an error.
func ForInterruptible(n, grain int64, body func(begin, end int64)) {
	if Interruptible.Load() == 0 || n < max(grain, 1) {
		For(n, grain, body)
		return
	}
	if Poll() { // the helpers may leave no chunk to the calling thread
		return
	}
	runChunks(n, max(grain, n/mostPolls, 1), min(int64(Threads()), n/max(grain, 1))-1, body, true)
}
