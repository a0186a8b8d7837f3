package file

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/libtensor/libtensor/engine/status"
)

// Create writes a file of size bytes and puts it in the place of the one at path, if any, at once: whoever opens path,
// even after the process was stopped at any moment, finds the old file or the new one, whole. A durable file is on the disk
// by then, so that the same holds after a loss of power. write must write every byte. Where path is a link, the file that
// it leads to is replaced; pipes and devices are written to.
func Create(op, path string, size int64, durable bool, write func(io.WriterAt) error) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return status.IOf("%s: %s is a directory", op, path)
	case err == nil && !info.Mode().IsRegular():
		return stream(op, path, size, write)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return status.IOf("%s: %v", op, err)
	}
	temporary, err := create(filepath.Dir(path))
	var fault *fs.PathError
	switch {
	case errors.As(err, &fault): // its path is not one that the caller knows
		return status.IOf("%s: cannot write a file in %s: %v", op, filepath.Dir(path), fault.Err)
	case err != nil:
		return status.IOf("%s: %v", op, err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // gone already after success
	defer func() { _ = temporary.Close() }()
	if info != nil {
		if err := temporary.Chmod(info.Mode().Perm()); err != nil {
			return status.IOf("%s: %v", op, err)
		}
	}
	if err := reserve(temporary, size); err != nil {
		return status.IOf("%s: %v", op, err)
	}
	if durable {
		if err = write(disk{temporary}); err == nil {
			err = temporary.Sync()
		}
	} else {
		err = write(temporary)
	}
	if err != nil {
		return failed(op, err)
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return status.IOf("%s: %v", op, err)
	}
	if !durable {
		return nil
	}
	if folder, err := os.Open(filepath.Dir(path)); err == nil {
		_ = folder.Sync() // some file systems cannot; the file itself is safe
		_ = folder.Close()
	}
	return nil
}

// disk is a file whose bytes are on their way to the disk as soon as they are written.
type disk struct{ *os.File }

func (d disk) WriteAt(p []byte, offset int64) (int, error) {
	n, err := d.File.WriteAt(p, offset)
	if n >= pieceBytes {
		startWriting(d.File, offset, int64(n))
	}
	return n, err
}

// failed gives an error of the system its code; others have one.
func failed(op string, err error) error {
	var known *status.Error
	if errors.As(err, &known) {
		return err
	}
	return status.IOf("%s: %v", op, err)
}

// create makes a file of a new name with the permissions that the user's files have.
func create(folder string) (*os.File, error) {
	for {
		var random [8]byte
		_, _ = rand.Read(random[:]) // never fails
		name := filepath.Join(folder, ".libtensor-"+hex.EncodeToString(random[:])+".tmp")
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// stream writes to what cannot be replaced.
func stream(op, path string, size int64, write func(io.WriterAt) error) error {
	data := make(Buffer, size)
	if err := write(data); err != nil {
		return failed(op, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return status.IOf("%s: %v", op, err)
	}
	_, err = f.Write(data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return status.IOf("%s: %v", op, err)
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
