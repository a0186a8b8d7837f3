package archive

import (
	"archive/zip"
	"compress/flate"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/status"
)

// Entry is a record of an archive that is read.
type Entry struct {
	Name       string
	Offset     int64 // of the first byte
	Size       int64 // unpacked
	stored     int64 // bytes in the file
	compressed bool
	sum        uint32
}

// Stored tells whether the record's bytes are in the file as they are.
func (e *Entry) Stored() bool { return !e.compressed }

// Archive is a zip file whose directory has been read and checked: names differ, records lie inside the file and do not
// overlap, and no record claims to unpack to more than its bytes can.
type Archive struct {
	op      string
	source  *file.Source
	Entries []*Entry
	byName  map[string]*Entry
}

// lastRead remembers where was read last: DataOffset reads a record's header alone, whose place the zip package keeps to itself.
type lastRead struct {
	io.ReaderAt
	offset int64
}

func (l *lastRead) ReadAt(p []byte, offset int64) (int, error) {
	l.offset = offset
	return l.ReaderAt.ReadAt(p, offset)
}

// deflateLimit is the most that one byte of a deflated record unpacks to.
const deflateLimit = 1032

// Open reads the directory.
func Open(op string, source *file.Source) (*Archive, error) {
	headers := &lastRead{ReaderAt: source}
	r, err := zip.NewReader(headers, source.Size)
	if err != nil {
		return nil, status.Runtimef("%s: the file is no zip archive, or it is damaged or cut short: %v", op, err)
	}
	a := &Archive{op: op, source: source, byName: map[string]*Entry{}}
	for _, f := range r.File {
		e := &Entry{Name: f.Name, Size: int64(f.UncompressedSize64), stored: int64(f.CompressedSize64), compressed: f.Method == zip.Deflate, sum: f.CRC32}
		if strings.HasSuffix(f.Name, "/") && e.Size == 0 {
			continue // a folder
		}
		if e.Offset, err = f.DataOffset(); err != nil {
			return nil, a.damaged(e, "its header cannot be read: %v", err)
		}
		name, err := source.Bytes(op, headers.offset+localSize, int64(len(f.Name)))
		if err != nil || string(name) != f.Name {
			return nil, a.damaged(e, "its header has the name %q", name)
		}
		switch {
		case f.Method != zip.Store && f.Method != zip.Deflate:
			return nil, status.NotImplementedf("%s: record %q is compressed with method %d; stored and deflated records can be read", op, e.Name, f.Method)
		case f.Flags&1 != 0:
			return nil, status.NotImplementedf("%s: record %q is encrypted", op, e.Name)
		case e.stored < 0 || e.Offset > source.Size-e.stored:
			return nil, a.damaged(e, "%d bytes from byte %d on are more than the file has, %d", e.stored, e.Offset, source.Size)
		case !e.compressed && e.Size != e.stored:
			return nil, a.damaged(e, "its sizes, %d and %d, differ although it is stored", e.Size, e.stored)
		case e.compressed && (e.Size < 0 || e.Size/deflateLimit > e.stored):
			return nil, a.damaged(e, "%d bytes cannot unpack to %d", e.stored, e.Size)
		case a.byName[e.Name] != nil:
			return nil, a.damaged(e, "there are two of this name")
		}
		a.byName[e.Name] = e
		a.Entries = append(a.Entries, e)
	}
	return a, a.checkOverlap()
}

func (a *Archive) damaged(e *Entry, format string, args ...any) error {
	return status.Runtimef("%s: the file is damaged: record %q: "+format, append([]any{a.op, e.Name}, args...)...)
}

// checkOverlap refuses records that share bytes, with which a small file could claim to hold a lot.
func (a *Archive) checkOverlap() error {
	sorted := slices.Clone(a.Entries)
	slices.SortFunc(sorted, func(x, y *Entry) int { return int(min(max(x.Offset-y.Offset, -1), 1)) })
	end := int64(0)
	for _, e := range sorted {
		if e.stored == 0 {
			continue
		}
		if e.Offset < end {
			return a.damaged(e, "it overlaps another record")
		}
		end = e.Offset + e.stored
	}
	return nil
}

// Find gives the record of a name, nil without.
func (a *Archive) Find(name string) *Entry { return a.byName[name] }

// Read gives a record's bytes.
func (a *Archive) Read(e *Entry) ([]byte, error) {
	data := make([]byte, e.Size)
	return data, a.ReadInto([]*Entry{e}, [][]byte{data})
}

// ReadInto fills memory of the records' sizes with the records, and checks their sums.
func (a *Archive) ReadInto(entries []*Entry, into [][]byte) error {
	var parts []file.Part
	for i, e := range entries {
		if e.compressed {
			if err := a.unpack(e, into[i]); err != nil {
				return err
			}
			continue
		}
		parts = append(parts, file.Part{Offset: e.Offset, Data: into[i]})
	}
	sums, err := file.Read(a.source, parts, true)
	if err != nil {
		return status.IOf("%s: %v", a.op, err)
	}
	k := 0
	for _, e := range entries {
		if e.compressed {
			continue
		}
		if sums[k] != e.sum {
			return a.wrongSum(e, sums[k])
		}
		k++
	}
	return nil
}

func (a *Archive) wrongSum(e *Entry, sum uint32) error {
	return a.damaged(e, "its checksum is %08x and should be %08x", sum, e.sum)
}

func (a *Archive) unpack(e *Entry, into []byte) error {
	r := flate.NewReader(io.NewSectionReader(a.source, e.Offset, e.stored))
	if n, err := io.ReadFull(r, into); err != nil {
		return a.damaged(e, "it unpacks to %d bytes instead of %d: %v", n, e.Size, err)
	}
	if n, _ := r.Read(make([]byte, 1)); n != 0 {
		return a.damaged(e, "it unpacks to more than %d bytes", e.Size)
	}
	if sum := crc32.ChecksumIEEE(into); sum != e.sum {
		return a.wrongSum(e, sum)
	}
	return nil
}
