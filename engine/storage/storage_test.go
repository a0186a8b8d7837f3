package storage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
)

func TestFixedStorageKeepsItsBytes(t *testing.T) {
	s, err := New("test", 64, device.Host, true)
	require.NoError(t, err)
	s.Fix()
	data := s.Data()
	require.ErrorContains(t, s.Resize("resize_", 128), "not resizable")
	require.ErrorContains(t, s.Resize("resize_", 0), "not resizable")
	require.NoError(t, s.Resize("resize_", 64))
	require.Equal(t, data, s.Data())
	require.False(t, s.Park(), "a parked block would be used again under the array that shares it")
	s.Release()
}

// Programs write and read the same few blocks again and again, which the processor's caches then hold.
func TestTheBlockFreedLastIsTakenFirst(t *testing.T) {
	defer EmptyCache()
	var blocks [3]*Storage
	for i := range blocks {
		var err error
		blocks[i], err = New("test", largeLimit, device.Host, false)
		require.NoError(t, err)
	}
	last := blocks[2].Data()
	for _, s := range blocks {
		s.Release()
	}
	s, err := New("test", largeLimit, device.Host, false)
	require.NoError(t, err)
	require.Equal(t, last, s.Data())
	s.Release()
}

func TestAnAllocationCanBeMadeToFail(t *testing.T) {
	before := MemoryStats()
	FailAfter(2)
	first, err := New("zeros", 100, device.Host, true)
	require.NoError(t, err)
	_, err = New("zeros", 100, device.Host, true)
	require.ErrorContains(t, err, "zeros: allocating 128 bytes was made to fail")
	third, err := New("zeros", 100, device.Host, true)
	require.NoError(t, err, "only one fails")
	first.Release()
	third.Release()
	require.Equal(t, before.InUse, MemoryStats().InUse)
}

func TestRefusedAllocationsAreNoPeak(t *testing.T) {
	ResetPeak()
	before := MemoryStats().Peak
	_, err := New("zeros", 1<<50, device.Host, false)
	require.ErrorContains(t, err, "not enough memory")
	require.Equal(t, before, MemoryStats().Peak)
}

// Of two threads that move the same bytes one is refused, and takes back nothing of what the other says to those that come.
func TestMoveIsToldUntilItEnds(t *testing.T) {
	s, err := New("test", 64, device.Host, true)
	require.NoError(t, err)
	defer s.Release()
	defer func(before func(*Storage) bool) { UsedElsewhere = before }(UsedElsewhere)
	refused := false
	UsedElsewhere = func(*Storage) bool {
		if refused {
			return true // the other thread's move, which meets this one
		}
		refused = true
		require.ErrorContains(t, s.Resize("resize_", 1<<12), "in use by a call on another thread")
		require.True(t, s.Moving())
		return false
	}
	require.NoError(t, s.Resize("resize_", 1<<13))
	require.True(t, refused)
	require.False(t, s.Moving())
}
