package storage

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
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

// A call on another thread may export the bytes, and end, between the check of a storage and the check of the calls in progress.
func TestBytesExportedConcurrentlyAreNotMoved(t *testing.T) {
	before := UsedElsewhere
	defer func() { UsedElsewhere = before }()
	for name, move := range map[string]func(*Storage) error{
		"grow":  func(s *Storage) error { return s.Resize("resize_", 1<<16) },
		"empty": func(s *Storage) error { return s.Resize("resize_", 0) },
		"share": func(s *Storage) error { return s.Share("share_memory_") },
		"revert": func(s *Storage) error {
			s.Revert(32, 0)
			return status.Runtimef("revert: says nothing; an array of the host language")
		},
	} {
		s, err := New("test", 64, device.Host, true)
		require.NoError(t, err)
		data := s.Data()
		UsedElsewhere = func(s *Storage) bool {
			s.Fix()
			return false
		}
		require.ErrorContains(t, move(s), "an array of the host language", name)
		require.Equal(t, data, s.Data(), name)
		UsedElsewhere = before
		s.Release()
	}
}

// The tensors that a derivative reads are not arguments of a call, but their storages do not move.
func TestBytesInUseStay(t *testing.T) {
	s, err := New("test", 64, device.Host, true)
	require.NoError(t, err)
	data := s.Data()
	require.True(t, s.Use())
	for _, move := range []func() error{func() error { return s.Resize("resize_", 0) }, func() error { return s.Resize("resize_", 1<<16) },
		func() error {
			return s.Share("share_memory_")
		}} {
		require.ErrorContains(t, move(), "is in use by a call on another thread and cannot move")
		require.Equal(t, data, s.Data())
	}
	s.Done()
	require.NoError(t, s.moveBytes("resize_", func() error {
		require.False(t, s.Use())
		return nil
	}))
	require.NoError(t, s.Resize("resize_", 0))
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

func TestFailedAllocationsAreNoPeak(t *testing.T) {
	ResetPeak()
	before := MemoryStats().Peak
	_, err := New("zeros", 1<<50, device.Host, false)
	require.ErrorContains(t, err, "not enough memory")
	require.Equal(t, before, MemoryStats().Peak)
}

// If two threads move the same bytes, one gets an error, which does not reset the state of the other's move.
func TestMoveIsReportedUntilItEnds(t *testing.T) {
	s, err := New("test", 64, device.Host, true)
	require.NoError(t, err)
	defer s.Release()
	defer func(before func(*Storage) bool) { UsedElsewhere = before }(UsedElsewhere)
	rejected := false
	UsedElsewhere = func(*Storage) bool {
		if rejected {
			return true // the other thread's concurrent move
		}
		rejected = true
		require.ErrorContains(t, s.Resize("resize_", 1<<12), "in use by a call on another thread")
		require.True(t, s.Moving())
		return false
	}
	require.NoError(t, s.Resize("resize_", 1<<13))
	require.True(t, rejected)
	require.False(t, s.Moving())
}

func TestDevicesWithoutAnAllocatorAreRejectedByName(t *testing.T) {
	for _, nbytes := range []int64{0, 8} {
		_, err := New("zeros", nbytes, device.Device{Type: device.CUDA, Index: 1}, true)
		require.ErrorContains(t, err, "zeros: device type cuda is not supported; this build supports cpu")
		require.ErrorContains(t, err, " and ")
	}
	_, err := New("zeros", 8, device.None, true)
	require.ErrorContains(t, err, "zeros: device type none is not supported")
}

func TestMetaStoragesHaveASizeAndNoBytes(t *testing.T) {
	before := MemoryStats()
	s, err := New("test", 1<<60, device.Device{Type: device.Meta, Index: -1}, true)
	require.NoError(t, err)
	require.NoError(t, s.Resize("resize_", 1<<61))
	require.Equal(t, int64(1<<61), s.Nbytes())
	require.Nil(t, s.Data())
	require.False(t, s.Park())
	require.Equal(t, before, MemoryStats())
	s.Release()
}

// counting is an allocator that records the requests.
type counting struct {
	live map[unsafe.Pointer][]byte
	on   []device.Device
}

func (c *counting) Allocate(op string, d device.Device, nbytes int64, zero bool) (Block, error) {
	if nbytes > 1<<20 {
		return Block{}, status.Memoryf("%s: %v has no %d bytes", op, d, nbytes)
	}
	made := make([]byte, nbytes)
	for i := range made {
		if !zero {
			made[i] = 7
		}
	}
	c.on = append(c.on, d)
	c.live[unsafe.Pointer(&made[0])] = made
	return Block{Data: unsafe.Pointer(&made[0]), Size: nbytes}, nil
}

func (c *counting) Free(_ device.Device, b Block) { delete(c.live, b.Data) }

func (c *counting) Copy(_ device.Device, to, from unsafe.Pointer, nbytes int64) {
	copy(c.live[to], c.live[from][:nbytes])
}

func TestUserDefinedAllocator(t *testing.T) {
	own := &counting{live: map[unsafe.Pointer][]byte{}}
	Register(device.XLA, own)
	defer Register(device.XLA, nil)
	before := MemoryStats()
	second := device.Device{Type: device.XLA, Index: 1}
	s, err := New("test", 3, second, true)
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0, 0}, own.live[s.Data()])
	own.live[s.Data()][2] = 5
	require.NoError(t, s.Resize("resize_", 5))
	require.Equal(t, []byte{0, 0, 5, 7, 7}, own.live[s.Data()])
	require.NoError(t, s.Resize("resize_", 2))
	require.Len(t, own.live, 1, "smaller storages keep their block")
	require.ErrorContains(t, s.Resize("resize_", 1<<21), "resize_: xla:1 has no 2097152 bytes")
	require.Equal(t, int64(2), s.Nbytes())
	s.Revert(1, 3)
	require.Equal(t, int64(1), s.Nbytes())
	require.False(t, s.Park(), "the host's next tensor would get it")
	require.NoError(t, s.Resize("resize_", 0))
	require.Empty(t, own.live)
	require.NoError(t, s.Resize("resize_", 4))
	s.Release()
	require.Empty(t, own.live)
	require.Equal(t, []device.Device{second, second, second}, own.on)
	require.Equal(t, before, MemoryStats(), "the account is of the host's memory")
	_, err = New("test", 1<<21, second, false)
	require.ErrorContains(t, err, "test: xla:1 has no")
}
