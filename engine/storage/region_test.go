package storage

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
)

func TestSharedMemoryIsOneStorage(t *testing.T) {
	before := MemoryStats()
	s, err := New("test", 100, device.Host, true)
	require.NoError(t, err)
	s.Bytes()[99] = 7
	require.NoError(t, s.Share("test"))
	assert.True(t, s.Shared())
	assert.False(t, s.Resizable())
	assert.EqualValues(t, 7, s.Bytes()[99])
	fd, err := s.Descriptor("test")
	require.NoError(t, err)
	again, err := FromDescriptor("test", fd, 100)
	require.NoError(t, err)
	assert.Same(t, s, again, "memory that this process has is not mapped twice")
	part, err := FromDescriptor("test", fd, 50)
	require.NoError(t, err)
	part.Bytes()[0] = 9
	assert.EqualValues(t, 9, s.Bytes()[0])
	_, err = FromDescriptor("test", fd, 101)
	assert.ErrorContains(t, err, "refers to 100 bytes")
	slice, err := s.Slice("test", 10, 20)
	require.NoError(t, err)
	assert.True(t, slice.Shared())
	_, err = slice.Descriptor("test")
	assert.ErrorContains(t, err, "a slice of a storage in shared memory")
	for _, held := range []*Storage{s, again, part, slice} {
		held.Release()
	}
	_, err = FromDescriptor("test", fd, 100)
	assert.Error(t, err, "the descriptor is closed with the last reference")
	after := MemoryStats()
	assert.Equal(t, before.InUse, after.InUse)
	assert.Equal(t, before.Storages, after.Storages)
}

func TestMappedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bytes")
	require.NoError(t, os.WriteFile(path, []byte{1, 2, 3, 4}, 0o600))
	private, err := FromFile("test", path, false, 4)
	require.NoError(t, err)
	defer private.Release()
	private.Bytes()[0] = 9
	shared, err := FromFile("test", path, true, 6)
	require.NoError(t, err)
	shared.Bytes()[5] = 8
	assert.Equal(t, path, shared.Filename())
	assert.Empty(t, private.Filename())
	shared.Release()
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 2, 3, 4, 0, 8}, written)
	for _, c := range []struct {
		path   string
		nbytes int64
		fact   string
	}{{path, 7, "has 6 bytes, fewer than the 7"}, {path, -1, "-1 bytes"}, {path + "?", 1, "unable to open"}} {
		_, err = FromFile("test", c.path, false, c.nbytes)
		assert.ErrorContains(t, err, c.fact)
	}
}

// limitFiles limits the size of files that the test writes.
func limitFiles(t *testing.T, length uint64) {
	var before syscall.Rlimit
	const fileSize = 1 // RLIMIT_FSIZE
	require.NoError(t, syscall.Getrlimit(fileSize, &before))
	require.NoError(t, syscall.Setrlimit(fileSize, &syscall.Rlimit{Cur: length, Max: before.Max}))
	t.Cleanup(func() { require.NoError(t, syscall.Setrlimit(fileSize, &before)) })
}

func TestMemoryThatCannotBeShared(t *testing.T) {
	s, err := New("test", 1<<20, device.Host, true)
	require.NoError(t, err)
	defer s.Release()
	s.Bytes()[1<<20-1] = 7
	before := MemoryStats()
	limitFiles(t, 1<<16)
	err = s.Share("test")
	var known *status.Error
	require.ErrorAs(t, err, &known)
	assert.Equal(t, status.Memory, known.Code)
	assert.Equal(t, "test: unable to create 1048576 bytes of shared memory: file too large", known.Msg)
	assert.False(t, s.Shared())
	assert.EqualValues(t, 7, s.Bytes()[1<<20-1])
	after := MemoryStats()
	assert.Equal(t, before.InUse, after.InUse)
}

func TestFilesThatCannotBeLengthened(t *testing.T) {
	folder := t.TempDir()
	old, link := filepath.Join(folder, "old"), filepath.Join(folder, "link")
	require.NoError(t, os.WriteFile(old, []byte{1, 2, 3}, 0o600))
	require.NoError(t, os.Symlink("nothing", link))
	limitFiles(t, 1<<16)
	for _, path := range []string{old, link, filepath.Join(folder, "new")} {
		_, err := FromFile("test", path, true, 1<<20)
		var known *status.Error
		require.ErrorAs(t, err, &known)
		assert.Equal(t, status.IO, known.Code)
		assert.ErrorContains(t, err, "unable to extend file <"+path+"> to 1048576 bytes: file too large")
	}
	written, err := os.ReadFile(old)
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 2, 3}, written)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, left, 2, "files that were made are taken away again")
	s, err := FromFile("test", link, true, 1<<16)
	require.NoError(t, err)
	s.Release()
	info, err := os.Stat(filepath.Join(folder, "nothing"))
	require.NoError(t, err)
	assert.EqualValues(t, 1<<16, info.Size())
}

func TestSlicesShare(t *testing.T) {
	s, err := New("test", 8, device.Host, true)
	require.NoError(t, err)
	part, err := s.Slice("test", 2, 5)
	require.NoError(t, err)
	s.Bytes()[3] = 7
	s.Release()
	assert.Equal(t, []byte{0, 7, 0}, part.Bytes())
	assert.ErrorContains(t, part.Resize("test", 9), "slice")
	_, err = part.Slice("test", 1, 4)
	assert.ErrorContains(t, err, "out of range for a storage of size 3")
	part.Release()
}

func TestLimits(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1000": 1000, "2K": 2048, "3m": 3 << 20, "4G": 4 << 30, "1T": 1 << 40} {
		got, ok := parseBytes(text)
		assert.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"abc", "-1", "1.5G", "G", "9999999999T", "1KB"} {
		_, ok := parseBytes(text)
		assert.False(t, ok, text)
	}
	SetLimit(MemoryStats().InUse + 1000)
	defer SetLimit(0)
	_, err := New("zeros", 1<<20, device.Host, false)
	assert.ErrorContains(t, err, "zeros: allocating 1048576 bytes would exceed the memory limit")
}
