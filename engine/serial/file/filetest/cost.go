// Package filetest checks the memory use of code that reads files, for its tests.
package filetest

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/storage"
)

const (
	// perByte and atLeast limit the total allocations during reading, including garbage: four times the budget.
	perByte = 4 * 512
	atLeast = 16 << 20
)

// Cost runs read, which reads size bytes, with unlimited memory. It checks that the allocations are within the limit and that all memory is
// returned.
func Cost(t testing.TB, size int, read func()) {
	before := storage.MemoryStats()
	var begin, end runtime.MemStats
	runtime.ReadMemStats(&begin)
	storage.ResetPeak()
	read()
	runtime.ReadMemStats(&end)
	after := storage.MemoryStats()
	require.Equal(t, []int64{before.InUse, before.Storages}, []int64{after.InUse, after.Storages}, "bytes and storages in use")
	bound := int64(perByte*size + atLeast)
	require.LessOrEqual(t, int64(end.TotalAlloc-begin.TotalAlloc), bound, "allocated for %d bytes", size)
	require.LessOrEqual(t, after.Peak-before.InUse, bound, "in use for %d bytes", size)
}
