// Package file reads and writes files: atomic replacement, parallel access to parts, checksums.
package file

import (
	"bytes"
	"io"
	"os"

	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
)

// Source is a file that is read, or the bytes of one in memory.
type Source struct {
	io.ReaderAt
	Size int64
	file *os.File
}

// Open opens a regular file.
func Open(op, path string) (*Source, error) {
	if path == "" {
		return nil, newEmptyPathError(op)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, status.IOf("%s: %v", op, err)
	}
	if !info.Mode().IsRegular() {
		return nil, status.IOf("%s: %s is not a regular file; pass the bytes of pipes and devices instead", op, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, status.IOf("%s: %v", op, err)
	}
	if info, err = f.Stat(); err != nil {
		_ = f.Close()
		return nil, status.IOf("%s: %v", op, err)
	}
	return &Source{ReaderAt: f, Size: info.Size(), file: f}, nil
}

// Memory returns a source of bytes that are in memory already.
func Memory(data []byte) *Source {
	return &Source{ReaderAt: bytes.NewReader(data), Size: int64(len(data))}
}

// Close closes the file; mappings of it stay.
func (s *Source) Close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// IsFile reports whether the source is a file on disk.
func (s *Source) IsFile() bool { return s.file != nil }

// Map maps the file into memory.
func (s *Source) Map(op string) (*storage.Storage, error) {
	if s.file == nil {
		return nil, status.Valuef("%s: only a file on disk can be mapped, not bytes in memory", op)
	}
	return storage.FromOpenFile(op, s.file, s.Size)
}

// Copy writes all of the source.
func (s *Source) Copy(w io.WriterAt) error {
	_, err := io.Copy(io.NewOffsetWriter(w, 0), io.NewSectionReader(s, 0, s.Size))
	return err
}

// Bytes reads length bytes from offset on.
func (s *Source) Bytes(op string, offset, length int64) ([]byte, error) {
	if offset < 0 || length < 0 || offset > s.Size-length {
		return nil, status.Runtimef("%s: the file is damaged or truncated: it has %d bytes, and %d are expected from byte %d on", op, s.Size,
			length, offset)
	}
	data := make([]byte, length)
	if _, err := s.ReadAt(data, offset); err != nil && err != io.EOF {
		return nil, status.IOf("%s: %v", op, err)
	}
	return data, nil
}
