package file

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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
	for _, size := range []int{0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 9*chunkBytes + 17} {
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

func TestOpenRejectsFolders(t *testing.T) {
	_, err := Open("load", t.TempDir())
	require.ErrorContains(t, err, "not a regular file")
	_, err = Open("load", filepath.Join(t.TempDir(), "a"))
	require.ErrorContains(t, err, "no such file")
}

func names(t *testing.T, folder string) []string {
	all, err := os.ReadDir(folder)
	require.NoError(t, err)
	found := []string{}
	for _, e := range all {
		found = append(found, e.Name())
	}
	return found
}

func TestDraftsHaveNoNameUntilTheyAreWhole(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	for _, text := range []string{"old", "new"} {
		require.NoError(t, Create("save", path, 3, true, func(w io.WriterAt) error {
			require.Subset(t, []string{"a"}, names(t, folder))
			return write(text)(w)
		}))
	}
	// The leftover draft of a process that stopped before publishing it is removed with the next file.
	require.NoError(t, os.WriteFile(draftName(path, "new", 0), []byte("left over"), 0o600))
	require.NoError(t, Create("save", path, 3, true, write("new")))
	require.Equal(t, []string{"a"}, names(t, folder))
	require.Equal(t, "new", content(t, path))
}

func TestDraftsWithNames(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	require.NoError(t, os.WriteFile(draftName(path, "draft", 0), []byte("left over and long"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(folder, "other"), draftName(path, "draft", 1)))
	first, err := newNamedDraft(path)
	require.NoError(t, err)
	require.Equal(t, draftName(path, "draft", 0), first.name, "what nobody writes is taken over")
	second, err := newNamedDraft(path)
	require.NoError(t, err)
	require.Equal(t, draftName(path, "draft", 2), second.name, "what another writes, and links, are left alone")
	for _, d := range []*draft{first, second} {
		require.NoError(t, write("new")(d))
		require.NoError(t, d.publish())
		d.discard()
	}
	require.Equal(t, "new", content(t, path))
	require.NoFileExists(t, filepath.Join(folder, "other"))
	third, err := newNamedDraft(path)
	require.NoError(t, err)
	third.discard()
	require.Len(t, names(t, folder), 2, "the file and the link")
}

func TestManyWriteOneFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	done := make(chan error)
	for i := range 8 {
		go func() {
			var err error
			for range 20 {
				err = errors.Join(err, Create("save", path, 3, false, write(string(rune('a'+i))+"bc")))
			}
			done <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-done)
	}
	require.Regexp(t, "^[a-h]bc$", content(t, path))
	require.Equal(t, []string{"a"}, names(t, folder))
}

func TestLocksOfOthersAreNoneOfOurs(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	require.NoError(t, Create("save", path, 3, true, write("old")))
	for _, kind := range []int{syscall.LOCK_SH, syscall.LOCK_EX} {
		for _, name := range []string{folder, path} {
			held, err := os.Open(name)
			require.NoError(t, err)
			require.NoError(t, syscall.Flock(int(held.Fd()), kind))
			done := make(chan error, 1)
			go func() { done <- Create("save", path, 3, true, write("new")) }()
			select {
			case err := <-done:
				require.NoError(t, err)
			case <-time.After(30 * time.Second):
				t.Fatalf("saving waits for the lock of %s", name)
			}
			require.NoError(t, held.Close())
		}
	}
	saved, err := os.Open(path)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(saved.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), "the new file is not locked")
	require.NoError(t, saved.Close())
	require.Equal(t, []string{"a"}, names(t, folder))
}

func TestLocksDistinguishDraftsFromLeftovers(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	for number := range 3 {
		require.NoError(t, os.WriteFile(draftName(path, "new", number), []byte("another's"), 0o600))
	}
	another, err := os.Open(draftName(path, "new", 1))
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(another.Fd()), syscall.LOCK_EX))
	require.NoError(t, Create("save", path, 3, true, write("new")))
	require.Equal(t, []string{filepath.Base(another.Name()), "a"}, names(t, folder), "what another is putting in place stays")
	require.Equal(t, "new", content(t, path))
	require.NoError(t, another.Close())
}

func TestLinksThatLeadNowhere(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "sub"), 0o700))
	require.NoError(t, os.Symlink("sub/../target", filepath.Join(folder, "first")))
	require.NoError(t, os.Symlink(filepath.Join(folder, "first"), filepath.Join(folder, "second")))
	require.NoError(t, Create("save", filepath.Join(folder, "second"), 3, true, write("new")))
	require.Equal(t, "new", content(t, filepath.Join(folder, "target")))
	require.Equal(t, []string{"first", "second", "sub", "target"}, names(t, folder))
	require.NoError(t, os.Symlink("loop", filepath.Join(folder, "loop")))
	require.ErrorContains(t, Create("save", filepath.Join(folder, "loop"), 3, true, write("new")), "too many levels of symbolic links")
}

func TestOwnersStay(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	path := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o640))
	require.NoError(t, os.Chown(path, 1234, 4321))
	require.NoError(t, Create("save", path, 3, true, write("new")))
	info, err := os.Stat(path)
	require.NoError(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	require.Equal(t, []uint32{1234, 4321, 0o640}, []uint32{owner.Uid, owner.Gid, uint32(info.Mode().Perm())})
}
