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
