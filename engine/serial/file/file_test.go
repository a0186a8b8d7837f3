package file

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func pattern(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	return data
}

func TestPartsAndTheirSums(t *testing.T) {
	for _, size := range []int{0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 9*pieceBytes + 17} {
		data := pattern(size)
		parts := []Part{{Offset: 3, Data: data}, {Offset: int64(size) + 10, Data: data[:size/2]}}
		out := make(Buffer, 10+size+size/2)
		sums, err := Write(out, parts, true)
		require.NoError(t, err)
		require.Equal(t, []uint32{crc32.ChecksumIEEE(data), crc32.ChecksumIEEE(data[:size/2])}, sums)
		require.True(t, bytes.Equal(data, out[3:3+size]))
		back := []Part{{Offset: 3, Data: make([]byte, size)}}
		sums, err = Read(bytes.NewReader(out), back, true)
		require.NoError(t, err)
		require.Equal(t, crc32.ChecksumIEEE(data), sums[0])
		require.True(t, bytes.Equal(data, back[0].Data))
	}
	_, err := Read(bytes.NewReader([]byte{1}), []Part{{Offset: 0, Data: make([]byte, 2)}}, false)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestCombine(t *testing.T) {
	data := pattern(1000)
	for _, cut := range []int{0, 1, 499, 1000} {
		require.Equal(t, crc32.ChecksumIEEE(data), Combine(crc32.ChecksumIEEE(data[:cut]), crc32.ChecksumIEEE(data[cut:]), int64(1000-cut)))
	}
}

func write(text string) func(io.WriterAt) error {
	return func(w io.WriterAt) error {
		_, err := w.WriteAt([]byte(text), 0)
		return err
	}
}

func content(t *testing.T, path string) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func TestCreateReplacesWholeFiles(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	require.NoError(t, Create("save", path, 3, true, write("old")))
	require.NoError(t, os.Chmod(path, 0o640))
	require.ErrorContains(t, Create("save", path, 3, true, func(w io.WriterAt) error {
		require.NoError(t, write("n")(w))
		require.Equal(t, "old", content(t, path), "half of the new file is not seen")
		return errors.New("stopped")
	}), "a: stopped")
	require.Equal(t, "old", content(t, path))

	link := filepath.Join(folder, "link")
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, Create("save", link, 3, true, write("new")))
	require.Equal(t, "new", content(t, path))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink, "the link stays")
	info, err = os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm(), "permissions stay")

	require.ErrorContains(t, Create("save", path, 1<<60, false, func(io.WriterAt) error {
		return errors.New("written although there is no place for the file")
	}), "cannot write "+path)
	require.Equal(t, "new", content(t, path))

	all, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, all, 2, "nothing else is left behind")
	require.ErrorContains(t, Create("save", folder, 3, true, write("new")), "is a directory")
	require.ErrorContains(t, Create("save", filepath.Join(folder, "no", "a"), 3, true, write("new")), "no such file")
	require.NoError(t, Create("save", os.DevNull, 3, true, write("new")))
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	_, err := Open("load", t.TempDir())
	require.ErrorContains(t, err, "not a regular file")
	_, err = Open("load", filepath.Join(t.TempDir(), "a"))
	require.ErrorContains(t, err, "no such file")
}
