package archive

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/status"
)

// Entry is a record of an archive that is read.
type Entry struct {
	Name       string
	Offset     int64 // of the first byte
	Size       int64 // unpacked
	stored     int64 // bytes in the file
	header     int64 // offset of the local header
	compressed bool
	sum        uint32
}

// Stored reports whether the record is stored uncompressed.
func (e *Entry) Stored() bool { return !e.compressed }

// Archive is a zip file with a validated directory: the file has the size that its end record states, names are unique, records are inside
// of the file and disjoint, and no record claims an unpacked size that its bytes cannot have.
type Archive struct {
	op           string
	source       *file.Source
	budget       *file.Budget
	Entries      []*Entry
	byName       map[string]*Entry
	hasChecksums bool // the records have checksums
	inflate      inflater
}

const (
	// deflateLimit is the most that one byte of a deflated record unpacks to.
	deflateLimit = 1032
	// entryCost is the memory of an entry in addition to its bytes in the directory.
	entryCost = 256

	encrypted, sizesFollow = 1 << 0, 1 << 3 // flags; with the latter the local header has zeros instead of sizes
	storedMethod           = 0
	deflatedMethod         = 8
	maxComment             = math.MaxUint16
)

// Open reads the directory.
func Open(op string, source *file.Source, budget *file.Budget) (*Archive, error) {
	a := &Archive{op: op, source: source, budget: budget, byName: map[string]*Entry{}}
	end, err := a.findEnd()
	if err != nil {
		return nil, err
	}
	if err := budget.Spend(end.size + entryCost*end.count); err != nil {
		return nil, err
	}
	directory, err := source.Bytes(op, end.central, end.size)
	if err != nil {
		return nil, err
	}
	for range end.count {
		e, length, err := a.readEntry(directory)
		if err != nil {
			return nil, err
		}
		directory = directory[length:]
		if e != nil {
			a.byName[e.Name] = e
			a.Entries = append(a.Entries, e)
			a.hasChecksums = a.hasChecksums || e.sum != 0
		}
	}
	if len(directory) > 0 {
		return nil, a.newFileError("its directory has %d bytes more than its %d records", len(directory), end.count)
	}
	return a, a.checkOverlap(end.central)
}

func (a *Archive) newFileError(format string, args ...any) error {
	return status.Runtimef("%s: the file is not a zip archive, or it is damaged or truncated: "+format, append([]any{a.op}, args...)...)
}

func (a *Archive) newRecordError(e *Entry, format string, args ...any) error {
	return status.Runtimef("%s: the file is damaged: record %.100q: "+format, append([]any{a.op, e.Name}, args...)...)
}

// fields reads little-endian integers one after the other.
type fields []byte

// readUint reads the next little-endian integer of n bytes.
func (f *fields) readUint(n int) int64 {
	var whole [8]byte
	copy(whole[:], (*f)[:n])
	*f = (*f)[n:]
	return int64(binary.LittleEndian.Uint64(whole[:]))
}

// end is the directory's description in the end record.
type end struct{ count, size, central int64 }

// findEnd finds the end record, which a comment may follow.
func (a *Archive) findEnd() (end, error) {
	size := a.source.Size
	for _, length := range []int64{endSize, endSize + maxComment} {
		length = min(length, size)
		tail, err := a.source.Bytes(a.op, size-length, length)
		if err != nil {
			return end{}, err
		}
		for at := len(tail) - endSize; at >= 0; at-- {
			comment := len(tail) - endSize - at
			if binary.LittleEndian.Uint32(tail[at:]) == endMark && int(binary.LittleEndian.Uint16(tail[at+endSize-2:])) == comment {
				return a.readEnd(tail[at:at+endSize], size-length+int64(at))
			}
		}
	}
	return end{}, a.newFileError("it has no directory at its end")
}

// readEnd reads the end record at a position, and the 64-bit one before it.
func (a *Archive) readEnd(record []byte, at int64) (end, error) {
	f := fields(record[4:])
	disk, first, here, count, size, central := f.readUint(2), f.readUint(2), f.readUint(2), f.readUint(2), f.readUint(4), f.readUint(4)
	found := end{count, size, central}
	if locator, err := a.source.Bytes(a.op, max(at-locatorSize, 0), min(at, locatorSize)); err == nil &&
		bytes.HasPrefix(locator, []byte(locatorText)) && len(locator) == locatorSize {
		f = fields(locator[8:])
		wide := f.readUint(8)
		record, err := a.source.Bytes(a.op, wide, end64Size)
		if err != nil || binary.LittleEndian.Uint32(record) != end64Mark || wide > at-locatorSize-end64Size {
			return end{}, a.newFileError("its end record refers to a missing record")
		}
		f = fields(record[16:])
		disk, first, here, found = f.readUint(4), f.readUint(4), f.readUint(8), end{f.readUint(8), f.readUint(8), f.readUint(8)}
		at = wide
		if !hasWideValue(count, found.count, math.MaxUint16) || !hasWideValue(size, found.size, math.MaxUint32) ||
			!hasWideValue(central, found.central, math.MaxUint32) {
			return end{}, a.newFileError("its two end records differ")
		}
		count = found.count
	}
	switch {
	case disk != 0 || first != 0 || here != count:
		return end{}, a.newFileError("it is part of an archive of several files")
	case found.size < 0 || found.central < 0 || found.central > at || found.size != at-found.central:
		return end{}, a.newFileError("its directory is said to have %d bytes from byte %d on, and ends at byte %d", found.size, found.central, at)
	case found.count < 0 || found.count > found.size/centralSize:
		return end{}, a.newFileError("%d records are said to be in a directory of %d bytes", found.count, found.size)
	}
	return found, nil
}

// hasWideValue reports whether a short field has the value of the wide one, or all ones, which refer to it.
func hasWideValue(short, wide, ones int64) bool { return short == wide || short == ones }

// readEntry reads the next record of the directory and returns its length. The entry is nil for a folder.
func (a *Archive) readEntry(directory []byte) (*Entry, int, error) {
	if len(directory) < centralSize || binary.LittleEndian.Uint32(directory) != centralMark {
		return nil, 0, a.newFileError("its directory has fewer records than it states, or other data between them")
	}
	f := fields(directory[8:])
	flags, method, _, sum, stored, size := f.readUint(2), f.readUint(2), f.readUint(4), f.readUint(4), f.readUint(4), f.readUint(4)
	nameLength, extraLength, commentLength, disk, _, header := f.readUint(2), f.readUint(2), f.readUint(2), f.readUint(2), f.readUint(6),
		f.readUint(4)
	length := centralSize + int(nameLength+extraLength+commentLength)
	if length > len(directory) {
		return nil, 0, a.newFileError("a record of its directory is truncated")
	}
	e := &Entry{Name: string(f[:nameLength]), Size: size, stored: stored, header: header, compressed: method == deflatedMethod,
		sum: uint32(sum)}
	if !e.readZip64Fields(f[nameLength : nameLength+extraLength]) {
		return nil, 0, a.newRecordError(e, "its 64-bit sizes are missing")
	}
	switch {
	case strings.HasSuffix(e.Name, "/") && e.Size == 0:
		return nil, length, nil
	case !utf8.ValidString(e.Name) || strings.ContainsRune(e.Name, 0):
		return nil, 0, a.newRecordError(e, "its name is not UTF-8, or contains a NUL character")
	case method != storedMethod && method != deflatedMethod:
		return nil, 0, status.NotImplementedf("%s: record %.100q is compressed with method %d; only stored and deflated records are supported",
			a.op, e.Name, method)
	case flags&encrypted != 0:
		return nil, 0, status.NotImplementedf("%s: record %.100q is encrypted", a.op, e.Name)
	case disk != 0 || a.byName[e.Name] != nil:
		return nil, 0, a.newRecordError(e, "two records have this name, or it is stored in another file")
	}
	return e, length, a.locateData(e, flags, method)
}

// readZip64Fields reads the fields that do not fit 32 bits from the extra fields, and reports whether they are there.
func (e *Entry) readZip64Fields(extra fields) bool {
	var wide fields
	for len(extra) >= 4 {
		id, length := extra.readUint(2), extra.readUint(2)
		if length > int64(len(extra)) {
			break
		}
		if id == extra64 {
			wide = extra[:length]
			break
		}
		extra = extra[length:]
	}
	for _, field := range []*int64{&e.Size, &e.stored, &e.header} {
		if *field != math.MaxUint32 {
			continue
		}
		if len(wide) < 8 {
			return false
		}
		*field = wide.readUint(8)
	}
	return true
}

// locateData finds the bytes after the record's local header, which must agree with the directory.
func (a *Archive) locateData(e *Entry, flags, method int64) error {
	local, err := a.source.Bytes(a.op, e.header, localSize+int64(len(e.Name)))
	if err != nil {
		return a.newRecordError(e, "its header cannot be read: %v", err)
	}
	f := fields(local[6:])
	localFlags, localMethod, _, sum, stored, size, nameLength, extraLength := f.readUint(2), f.readUint(2), f.readUint(4), f.readUint(4),
		f.readUint(4), f.readUint(4), f.readUint(2), f.readUint(2)
	e.Offset = e.header + localSize + nameLength + extraLength
	same := sum == int64(e.sum) && stored == clampToUint32(e.stored) && size == clampToUint32(e.Size)
	switch {
	case binary.LittleEndian.Uint32(local) != localMark || string(local[localSize:]) != e.Name || nameLength != int64(len(e.Name)):
		return a.newRecordError(e, "its header has the name %.100q", local[localSize:])
	case localMethod != method || !same && flags&localFlags&sizesFollow == 0 && !(sum == int64(e.sum) && needsZip64(max(stored, size))):
		return a.newRecordError(e, "its header and the directory differ")
	case e.stored < 0 || e.Offset > a.source.Size-e.stored:
		return a.newRecordError(e, "%d bytes from byte %d on are more than the file has, %d", e.stored, e.Offset, a.source.Size)
	case !e.compressed && e.Size != e.stored:
		return a.newRecordError(e, "its sizes, %d and %d, differ although it is stored", e.Size, e.stored)
	case e.compressed && (e.Size < 0 || e.Size/deflateLimit > e.stored):
		return a.newRecordError(e, "%d bytes cannot unpack to %d", e.stored, e.Size)
	}
	return nil
}

// checkOverlap returns an error for records that share bytes, with each other or with the directory: a small file could claim to hold a
// lot.
func (a *Archive) checkOverlap(central int64) error {
	sorted := slices.Clone(a.Entries)
	slices.SortFunc(sorted, func(x, y *Entry) int { return int(min(max(x.header-y.header, -1), 1)) })
	for i, e := range sorted {
		next := central
		if i+1 < len(sorted) {
			next = sorted[i+1].header
		}
		if e.Offset+e.stored > next {
			return a.newRecordError(e, "it overlaps another record or the directory")
		}
	}
	return nil
}
