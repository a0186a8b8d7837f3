package serial

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"

	"github.com/libtensor/libtensor/engine/serial/archive"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/serial/pickle"
	"github.com/libtensor/libtensor/engine/status"
)

// Files of PyTorch before version 1.6 are consecutive pickles: a magic number, the format's version, system information, the value, and the
// keys of the storages. The bytes of the storages follow in that order, each after the number of its elements.

// legacyNumber follows the protocol, and maybe the length of a frame, where such files begin.
const legacyNumber = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"

// legacyVersion is the only version of the format that was ever written.
const legacyVersion = 1001

// isLegacy returns whether a file begins as one before version 1.6.
func isLegacy(head []byte) bool {
	return head[0] == 0x80 && bytes.Contains(head[:min(len(head), 32)], []byte(legacyNumber))
}

// stream reads a file sequentially.
type stream struct {
	l       *loader
	source  *file.Source
	at, end int64
}

// firstWindow is how many bytes are read to find the end of a pickle in.
const firstWindow = 1 << 12

// readPickle reads the bytes of the next pickle.
func (s *stream) readPickle() ([]byte, error) {
	for window := int64(firstWindow); ; window *= 2 {
		window = min(window, s.end-s.at)
		if err := s.l.budget.Spend(window); err != nil {
			return nil, err
		}
		data, err := s.source.Bytes(s.l.op, s.at, window)
		if err != nil {
			return nil, err
		}
		n, err := pickle.Length(s.l.op, data)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			s.at += int64(n)
			return data[:n], nil
		}
		if window == s.end-s.at {
			return nil, status.Runtimef("%s: the file is damaged or truncated: the pickle from byte %d on has no end", s.l.op, s.at)
		}
	}
}

// readValue decodes the next pickle, which contains neither tensors nor storages.
func (s *stream) readValue() (any, error) {
	data, err := s.readPickle()
	if err != nil {
		return nil, err
	}
	return s.l.decodePickle(data, pickle.Rules{})
}

// readCount decodes the next pickle, the number of items that each take some bytes of the file.
func (s *stream) readCount() (int64, error) {
	value, err := s.readValue()
	if err != nil {
		return 0, err
	}
	n, ok := value.(int64)
	if !ok || n < 0 || n > s.end-s.at {
		return 0, s.l.newValueError("a number of tensors or storages", value)
	}
	return n, nil
}

// readInt reads the next n bytes, an integer.
func (s *stream) readInt(n int64) (int64, error) {
	data, err := s.readBytes(n)
	if err != nil {
		return 0, err
	}
	var whole [8]byte
	copy(whole[:], data)
	return int64(binary.LittleEndian.Uint64(whole[:])), nil
}

// readBytes reads the next n bytes.
func (s *stream) readBytes(n int64) ([]byte, error) {
	if n > s.end-s.at {
		return nil, status.Runtimef("%s: the file is damaged or truncated: %d bytes are expected from byte %d on, and %d are left", s.l.op, n,
			s.at, s.end-s.at)
	}
	if err := s.l.budget.Spend(n); err != nil {
		return nil, err
	}
	data, err := s.source.Bytes(s.l.op, s.at, n)
	s.at += n
	return data, err
}

// readRecord finds the bytes of a storage, which follow the number of its elements of size bytes; this must be count unless count is
// negative.
func (s *stream) readRecord(key string, count, size int64) (*archive.Entry, error) {
	have, err := s.readInt(8)
	switch {
	case err != nil:
		return nil, err
	case count >= 0 && have != count:
		return nil, status.Runtimef("%s: the file is damaged: storage %.100q has %d elements, and %d are expected", s.l.op, key, have, count)
	case have < 0 || have > (s.end-s.at)/size:
		return nil, status.Runtimef("%s: the file is damaged or truncated: storage %.100q has %d elements of %d bytes, and %d bytes are left",
			s.l.op, key, have, size, s.end-s.at)
	}
	e := &archive.Entry{Name: key, Offset: s.at, Size: have * size}
	s.at += e.Size
	return e, s.l.budget.Spend(tensorCost)
}

// recordTable contains the records of a file without a directory.
type recordTable struct {
	op      string
	source  *file.Source
	entries map[string]*archive.Entry
}

func (r recordTable) findRecord(key string) *archive.Entry { return r.entries[key] }

func (r recordTable) readRecords(targets []archive.Target) error {
	var parts []file.Part
	for _, t := range targets {
		at := t.Entry.Offset
		for _, data := range t.Parts {
			parts = append(parts, file.Part{Offset: at, Data: data})
			at += int64(len(data))
		}
	}
	if _, err := file.Read(r.source, parts, false); err != nil {
		return status.IOf("%s: %v", r.op, err)
	}
	return nil
}

// openLegacy reads the pickles of a file before version 1.6, and finds its storages.
func (l *loader) openLegacy(source *file.Source) (any, error) {
	s := &stream{l: l, source: source, end: source.Size}
	if err := s.readHeader(); err != nil {
		return nil, err
	}
	data, err := s.readPickle()
	if err != nil {
		return nil, err
	}
	named := map[string]storageName{}
	root, err := l.decodePickle(data, pickle.Rules{Persistent: func(id any) (any, error) {
		n, ok := parseStorageName(id)
		if before, known := named[n.key]; !ok || known && (before.dtype != n.dtype || before.count != n.count) {
			return nil, l.newValueError("the name of a storage", id)
		}
		named[n.key] = n
		return &pickle.Persistent{ID: id}, nil
	}})
	if err != nil {
		return nil, err
	}
	text := l.text // the value's, without the records after it
	keys, err := s.readValue()
	if err != nil {
		return nil, err
	}
	l.text = text
	list, ok := keys.(*pickle.List)
	if !ok {
		return nil, l.newValueError("the list of storages", keys)
	}
	found := recordTable{l.op, source, map[string]*archive.Entry{}}
	for _, item := range list.Items {
		key, isText := item.(string)
		n, known := named[key]
		if !isText || !known || found.entries[key] != nil {
			return nil, l.newValueError("the list of storages", item)
		}
		if found.entries[key], err = s.readRecord(key, n.count, n.elementSize()); err != nil {
			return nil, err
		}
	}
	l.records = found
	return root, nil
}

// readHeader reads the pickles before a legacy file's value.
func (s *stream) readHeader() error {
	magic, _ := new(big.Int).SetString("1950a86a20f9469cfc6c", 16)
	found, err := s.readValue()
	if err != nil {
		return err
	}
	if number, ok := found.(*big.Int); !ok || number.Cmp(magic) != 0 {
		return status.Runtimef("%s: Invalid magic number; corrupt file?", s.l.op)
	}
	version, err := s.readValue()
	if err != nil {
		return err
	}
	if version != int64(legacyVersion) {
		return status.Runtimef("%s: Invalid protocol version: %s", s.l.op, pickle.Describe(version))
	}
	facts, err := s.readValue()
	if err != nil {
		return err
	}
	dict, _ := facts.(*pickle.Dict)
	for i := 0; dict != nil && i < len(dict.Entries); i++ {
		if dict.Entries[i].Key == "little_endian" && dict.Entries[i].Value != true {
			return status.NotImplementedf("%s: the file was written on a big-endian machine; only little-endian files can be loaded", s.l.op)
		}
	}
	return nil
}

// sliceStorage returns the storage of a view in a name: (key, offset, count), in elements.
func (l *loader) sliceStorage(of *loadedStorage, n storageName) (*loadedStorage, error) {
	if len(n.view.Items) != 3 {
		return nil, l.newValueError("a view of a storage", n.view)
	}
	key, ok1 := n.view.Items[0].(string)
	offset, ok2 := n.view.Items[1].(int64)
	count, ok3 := n.view.Items[2].(int64)
	if !ok1 || !ok2 || !ok3 || offset < 0 || count < 0 || offset > math.MaxInt64-count || offset+count > n.count {
		return nil, l.newValueError("a view of a storage", n.view)
	}
	at := n.key + "\x00" + key
	if s := l.storages[at]; s != nil {
		return s, nil
	}
	storage, err := of.storage.Slice(l.op, offset*n.elementSize(), (offset+count)*n.elementSize())
	if err != nil {
		return nil, err
	}
	l.storages[at] = &loadedStorage{storage: storage, location: of.location}
	return l.storages[at], nil
}
