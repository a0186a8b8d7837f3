// Package filetest checks, for the tests of what reads files, what reading costs.
package filetest

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/storage"
)

const (
	// perByte and atLeast bound what is allocated in all, garbage counted, while a file is read: four times what a budget allows.
	perByte = 4 * 512
	atLeast = 16 << 20
)

// Cost runs what reads a file of size bytes, with unlimited memory, and checks that it allocates no more than the size justifies and
// gives everything back.
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
