package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
)

// Create writes a file of size bytes and atomically replaces the one at path, if any: whoever opens path, even after the process was
// stopped at any moment, finds the old file or the complete new one. A durable file is synced to the disk first, so that the same holds
// after a loss of power. write must write every byte. If path is a link, its target is created or replaced; pipes and devices are written
// directly.
func Create(op, path string, size int64, durable bool, write func(io.WriterAt) error) error {
	if path == "" {
		return newEmptyPathError(op)
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return wrapWriteError(op, path, syscall.EISDIR)
	case err == nil && !info.Mode().IsRegular():
		return writeStream(op, path, size, write)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return wrapWriteError(op, path, err)
	}
	target, err := resolveLinks(path)
	if err != nil {
		return wrapWriteError(op, path, err)
	}
	draft, err := newDraft(target)
	if err != nil {
		return wrapWriteError(op, path, err)
	}
	defer draft.discard()
	if info != nil {
		err = draft.copyAttributes(info)
	}
	if err == nil {
		err = reserveSpace(draft.File, size)
	}
	if err != nil {
		return wrapWriteError(op, path, err)
	}
	if durable {
		if err = write(disk{draft.File}); err == nil {
			err = draft.Sync()
		}
	} else {
		err = write(draft.File)
	}
	if err == nil {
		err = draft.publish()
	}
	if err != nil {
		return wrapWriteError(op, path, err)
	}
	if !durable {
		return nil
	}
	if folder, err := os.Open(filepath.Dir(target)); err == nil {
		_ = folder.Sync() // some file systems cannot; the file itself is safe
		_ = folder.Close()
	}
	return nil
}

// maxLinks is how many links may lead to each other.
const maxLinks = 40

// resolveLinks returns the target of the symbolic links at path, which need not exist.
func resolveLinks(path string) (string, error) {
	for range maxLinks {
		folder, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = filepath.Join(folder, filepath.Base(path))
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link, or nothing there
		}
		if !filepath.IsAbs(target) {
			target = folder + string(filepath.Separator) + target
		}
		path = target
	}
	return "", &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
}

// disk is a file that is written back to the disk continuously.
type disk struct{ *os.File }

func (d disk) WriteAt(p []byte, offset int64) (int, error) {
	n, err := d.File.WriteAt(p, offset)
	if n >= chunkBytes {
		startWriting(d.File, offset, int64(n))
	}
	return n, err
}

// wrapWriteError adds the operator and the caller's path to a system error; other errors already contain both.
func wrapWriteError(op, path string, err error) error {
	var known *status.Error
	if errors.As(err, &known) {
		return err
	}
	var fault syscall.Errno
	if errors.As(err, &fault) {
		return status.IOf("%s: cannot write %s: %v", op, path, fault)
	}
	return status.IOf("%s: cannot write %s: %v", op, path, err)
}

// newEmptyPathError returns the error for an empty path.
func newEmptyPathError(op string) error {
	return status.IOf("%s: the path is empty: %v", op, syscall.ENOENT)
}

// writeStream writes to a file that cannot be replaced, such as a pipe or a device.
func writeStream(op, path string, size int64, write func(io.WriterAt) error) error {
	s, err := storage.New(op, size, device.Host, false)
	if err != nil {
		return err
	}
	defer s.Release()
	if err := write(Buffer(s.Bytes())); err != nil {
		return wrapWriteError(op, path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return wrapWriteError(op, path, err)
	}
	_, err = f.Write(s.Bytes())
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return wrapWriteError(op, path, err)
	}
	return nil
}

// Buffer is a file in memory, of a fixed size.
type Buffer []byte

// WriteAt copies p to offset.
func (b Buffer) WriteAt(p []byte, offset int64) (int, error) {
	if n := copy(b[offset:], p); n < len(p) {
		return n, io.ErrShortWrite
	}
	return len(p), nil
}
