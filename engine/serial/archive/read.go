package archive

import (
	"bytes"
	"compress/flate"
	"hash/crc32"
	"io"

	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/status"
)

// Target is a record and the memory for its bytes: runs that are together as long as it.
type Target struct {
	Entry *Entry
	Parts [][]byte
}

// Find returns the record of a name, nil without.
func (a *Archive) Find(name string) *Entry { return a.byName[name] }

// Read returns a record's bytes, which the budget pays for.
func (a *Archive) Read(e *Entry) ([]byte, error) {
	if err := a.budget.Spend(e.Size); err != nil {
		return nil, err
	}
	data := make([]byte, e.Size)
	return data, a.ReadInto([]Target{{e, [][]byte{data}}})
}

// Head returns the first n bytes of a record, or all when it has fewer. Their checksum is not known.
func (a *Archive) Head(e *Entry, n int64) ([]byte, error) {
	n = min(n, e.Size)
	if !e.compressed {
		return a.source.Bytes(a.op, e.Offset, n)
	}
	data := make([]byte, n)
	if got, err := io.ReadFull(a.openInflated(e), data); err != nil {
		return nil, a.newRecordError(e, "it unpacks to %d bytes instead of %d: %v", got, e.Size, err)
	}
	return data, nil
}

// ReadInto fills the targets, and checks the records' sums.
func (a *Archive) ReadInto(targets []Target) error {
	var parts []file.Part
	for _, t := range targets {
		if t.Entry.compressed {
			if err := a.inflateRecord(t); err != nil {
				return err
			}
			continue
		}
		at := t.Entry.Offset
		for _, data := range t.Parts {
			parts = append(parts, file.Part{Offset: at, Data: data})
			at += int64(len(data))
		}
	}
	sums, err := file.Read(a.source, parts, a.hasChecksums)
	if err != nil {
		return status.IOf("%s: %v", a.op, err)
	}
	if !a.hasChecksums {
		return nil
	}
	for _, t := range targets {
		if t.Entry.compressed {
			continue
		}
		sum := uint32(0)
		for _, data := range t.Parts {
			sum = file.Combine(sum, sums[0], int64(len(data)))
			sums = sums[1:]
		}
		if err := a.checkSum(t.Entry, sum); err != nil {
			return err
		}
	}
	return nil
}

// checkSum compares a record's checksum. PyTorch can be told to write none: then all of a file are 0.
func (a *Archive) checkSum(e *Entry, sum uint32) error {
	if a.hasChecksums && sum != e.sum {
		return a.newRecordError(e, "its checksum is %08x and should be %08x", sum, e.sum)
	}
	return nil
}

// inflater decompresses one record after the other.
type inflater interface {
	io.ReadCloser
	flate.Resetter
}

// openInflated returns a reader of a deflated record's bytes, valid until the next call.
func (a *Archive) openInflated(e *Entry) io.Reader {
	packed := io.NewSectionReader(a.source, e.Offset, e.stored)
	if a.inflate == nil {
		a.inflate = flate.NewReader(packed).(inflater)
	} else {
		_ = a.inflate.Reset(packed, nil) // never fails
	}
	return a.inflate
}

// inflateRecord decompresses a record into memory and checks its checksum.
func (a *Archive) inflateRecord(t Target) error {
	r, sum, got := a.openInflated(t.Entry), uint32(0), 0
	for _, data := range t.Parts {
		n, err := io.ReadFull(r, data)
		got += n
		if err != nil {
			return a.newRecordError(t.Entry, "it unpacks to %d bytes instead of %d: %v", got, t.Entry.Size, err)
		}
		sum = crc32.Update(sum, crc32.IEEETable, data)
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(r, 1)); n != 0 || err != nil {
		return a.newRecordError(t.Entry, "it unpacks to more than %d bytes, or its end is missing", t.Entry.Size)
	}
	return a.checkSum(t.Entry, sum)
}

// IsArchive reports whether a file begins as an archive does.
func IsArchive(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
}
