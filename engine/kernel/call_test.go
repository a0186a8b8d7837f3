package kernel

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
)

// A kernel's results arrive in the caller's variables for any stack depth: the stack may grow, and move, on the way into the call.
func TestResultsArriveForAnyStackDepth(t *testing.T) {
	panel := Of(kernelapi.LuPanel).Row(dtype.Float64)
	column, pivots := make([]float64, 4), make([]int32, 1) // all zeros: the first pivot is one
	for depth := range 3000 {
		answer := make(chan int64)
		go func() {
			answer <- below(depth, func() int64 {
				p := LU{A: uintptr(unsafe.Pointer(&column[0])), Pivots: uintptr(unsafe.Pointer(&pivots[0])), M: 4, N: 1, ARow: 1, ACol: 4}
				Call(panel, unsafe.Pointer(&p))
				return p.Info
			})
		}()
		require.Equal(t, int64(1), <-answer, "%d calls deep", depth)
	}
	runtime.KeepAlive(column)
	runtime.KeepAlive(pivots)
}

// below runs f at the given stack depth.
//
//go:noinline
func below(depth int, do func() int64) int64 {
	if depth == 0 {
		return do()
	}
	return below(depth-1, do)
}
