// Package archive reads and writes zip files, the containers of PyTorch's and NumPy's files. It writes records uncompressed, each at a
// multiple of 64 bytes, so that the records of a mapped file can be used in place (layout of the headers: PKWARE's APPNOTE.TXT, sections
// 4.3 and 4.5).
package archive

import (
	"encoding/binary"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/status"
)

// Record is a named run of bytes: Data, then More.
type Record struct {
	Name       string
	Data, More []byte
}

func (r *Record) size() int64 { return int64(len(r.Data) + len(r.More)) }

const (
	localSize, centralSize, endSize       = 30, 46, 22
	end64Size, locatorSize                = 56, 20
	localMark, centralMark, endMark       = 0x04034b50, 0x02014b50, 0x06054b50
	end64Mark, locatorMark                = 0x06064b50, 0x07064b50
	locatorText                           = "PK\x06\x07"
	extra64, extraPadding                 = 0x0001, 0x4246 // the latter is PyTorch's padding field
	alignment                       int64 = 64
	utf8Names                             = 1 << 11
	version, version64                    = 20, 45
	newYear1980                           = 1<<5 | 1 // the earliest date: files depend only on their contents
)

// Plan is where the parts of an archive go.
type Plan struct {
	records []Record
	headers []int64 // offsets of the local headers
	parts   []file.Part
	central int64
	Size    int64
}

// New plans an archive of records, whose names must be such that Open reads them.
func New(op string, records []Record) (*Plan, error) {
	p := &Plan{records: records}
	at := int64(0)
	seen := make(map[string]bool, len(records))
	for _, r := range records {
		switch {
		case len(r.Name) > math.MaxUint16:
			return nil, status.Valuef("%s: the record's name %.40q... has %d bytes, but a zip archive supports names of up to %d", op, r.Name,
				len(r.Name), math.MaxUint16)
		case !utf8.ValidString(r.Name) || strings.ContainsRune(r.Name, 0):
			return nil, status.Valuef("%s: the record's name %.100q is not UTF-8, or contains a NUL character", op, r.Name)
		case seen[r.Name]:
			return nil, status.Valuef("%s: the name %.100q occurs twice", op, r.Name)
		}
		seen[r.Name] = true
		p.headers = append(p.headers, at)
		at += int64(len(p.encodeHeader(len(p.headers)-1, 0)))
		p.parts = append(p.parts, file.Part{Offset: at, Data: r.Data}, file.Part{Offset: at + int64(len(r.Data)), Data: r.More})
		at += r.size()
	}
	p.central = at
	p.Size = at + int64(len(p.encodeDirectory(make([]uint32, len(records)))))
	return p, nil
}

// Write writes the archive.
func (p *Plan) Write(w io.WriterAt) error {
	halves, err := file.Write(w, p.parts, true)
	if err != nil {
		return err
	}
	sums := make([]uint32, len(p.records))
	for i, r := range p.records {
		sums[i] = file.Combine(halves[2*i], halves[2*i+1], int64(len(r.More)))
		if _, err := w.WriteAt(p.encodeHeader(i, sums[i]), p.headers[i]); err != nil {
			return err
		}
	}
	_, err = w.WriteAt(p.encodeDirectory(sums), p.central)
	return err
}

type buffer []byte

func (b *buffer) appendUint16(values ...int) {
	for _, v := range values {
		*b = binary.LittleEndian.AppendUint16(*b, uint16(v))
	}
}

func (b *buffer) appendUint32(values ...int64) {
	for _, v := range values {
		*b = binary.LittleEndian.AppendUint32(*b, uint32(v))
	}
}

func (b *buffer) appendUint64(values ...int64) {
	for _, v := range values {
		*b = binary.LittleEndian.AppendUint64(*b, uint64(v))
	}
}

// needsZip64 reports whether a size or offset does not fit a 32-bit field.
func needsZip64(n int64) bool { return n >= math.MaxUint32 }

// clampToUint32 returns the value of a 32-bit field: n, or all ones if n is in the 64-bit fields.
func clampToUint32(n int64) int64 { return min(n, math.MaxUint32) }

// encodeHeader returns record i's local header, padded so that the record is aligned.
func (p *Plan) encodeHeader(i int, sum uint32) []byte {
	r, size := p.records[i], p.records[i].size()
	var extra buffer
	needs := version
	if needsZip64(size) {
		needs = version64
		extra.appendUint16(extra64, 16)
		extra.appendUint64(size, size)
	}
	begin := p.headers[i] + localSize + int64(len(r.Name)+len(extra))
	if gap := -begin & (alignment - 1); gap > 0 {
		if gap < 4 {
			gap += alignment
		}
		extra.appendUint16(extraPadding, int(gap-4))
		extra = append(extra, make([]byte, gap-4)...)
	}
	var b buffer
	b.appendUint32(localMark)
	b.appendUint16(needs, utf8Names, 0, 0, newYear1980)
	b.appendUint32(int64(sum), clampToUint32(size), clampToUint32(size))
	b.appendUint16(len(r.Name), len(extra))
	return append(append(b, r.Name...), extra...)
}

// encodeDirectory returns the central directory and the end records.
func (p *Plan) encodeDirectory(sums []uint32) []byte {
	var b buffer
	for i, r := range p.records {
		size, at := r.size(), p.headers[i]
		var extra, fields buffer
		if needsZip64(size) {
			fields.appendUint64(size, size)
		}
		if needsZip64(at) {
			fields.appendUint64(at)
		}
		needs := version
		if len(fields) > 0 {
			needs = version64
			extra.appendUint16(extra64, len(fields))
			extra = append(extra, fields...)
		}
		b.appendUint32(centralMark)
		b.appendUint16(needs, needs, utf8Names, 0, 0, newYear1980)
		b.appendUint32(int64(sums[i]), clampToUint32(size), clampToUint32(size))
		b.appendUint16(len(r.Name), len(extra), 0, 0, 0)
		b.appendUint32(0, clampToUint32(at))
		b = append(append(b, r.Name...), extra...)
	}
	size, count := int64(len(b)), int64(len(p.records))
	if needsZip64(p.central) || count >= math.MaxUint16 {
		end := p.central + size
		b.appendUint32(end64Mark)
		b.appendUint64(end64Size - 12)
		b.appendUint16(version64, version64)
		b.appendUint32(0, 0)
		b.appendUint64(count, count, size, p.central)
		b.appendUint32(locatorMark, 0)
		b.appendUint64(end)
		b.appendUint32(1)
	}
	b.appendUint32(endMark)
	b.appendUint16(0, 0, int(min(count, math.MaxUint16)), int(min(count, math.MaxUint16)))
	b.appendUint32(clampToUint32(size), clampToUint32(p.central))
	b.appendUint16(0)
	return b
}
