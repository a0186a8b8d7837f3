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

// Files of PyTorch before version 1.6 are consecutive pickles: a magic number, the format's version, system information, the value, and the keys of
// the storages. The bytes of the storages follow in that order, each after the number of its elements.

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

// pickled reads the bytes of the next pickle.
func (s *stream) pickled() ([]byte, error) {
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

// value reads the next pickle, which holds neither tensors nor storages.
func (s *stream) value() (any, error) {
	data, err := s.pickled()
	if err != nil {
		return nil, err
	}
	return s.l.decode(data, pickle.Rules{})
}

// count reads the next pickle, a number of things that each take some bytes of the file.
func (s *stream) count() (int64, error) {
	value, err := s.value()
	if err != nil {
		return 0, err
	}
	n, ok := value.(int64)
	if !ok || n < 0 || n > s.end-s.at {
		return 0, s.l.bad("a number of tensors or storages", value)
	}
	return n, nil
}

// number reads the next n bytes, an integer.
func (s *stream) number(n int64) (int64, error) {
	data, err := s.bytes(n)
	if err != nil {
		return 0, err
	}
	var whole [8]byte
	copy(whole[:], data)
	return int64(binary.LittleEndian.Uint64(whole[:])), nil
}

// bytes reads the next n bytes.
func (s *stream) bytes(n int64) ([]byte, error) {
	if n > s.end-s.at {
		return nil, status.Runtimef("%s: the file is damaged or truncated: %d bytes are expected from byte %d on, and %d are left", s.l.op, n, s.at, s.end-s.at)
	}
	if err := s.l.budget.Spend(n); err != nil {
		return nil, err
	}
	data, err := s.source.Bytes(s.l.op, s.at, n)
	s.at += n
	return data, err
}

// record finds the bytes of a storage, behind the number of its elements of size bytes, which is count unless that is negative.
func (s *stream) record(key string, count, size int64) (*archive.Entry, error) {
	have, err := s.number(8)
	switch {
	case err != nil:
		return nil, err
	case count >= 0 && have != count:
		return nil, status.Runtimef("%s: the file is damaged: storage %.100q has %d elements, and %d are expected", s.l.op, key, have, count)
	case have < 0 || have > (s.end-s.at)/size:
		return nil, status.Runtimef("%s: the file is damaged or truncated: storage %.100q has %d elements of %d bytes, and %d bytes are left", s.l.op, key, have, size, s.end-s.at)
	}
	e := &archive.Entry{Name: key, Offset: s.at, Size: have * size}
	s.at += e.Size
	return e, s.l.budget.Spend(tensorCost)
}

// runs are the records of a file without a directory.
type runs struct {
	op      string
	source  *file.Source
	entries map[string]*archive.Entry
}

func (r runs) find(key string) *archive.Entry { return r.entries[key] }

func (r runs) fill(targets []archive.Target) error {
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
	if err := s.header(); err != nil {
		return nil, err
	}
	data, err := s.pickled()
	if err != nil {
		return nil, err
	}
	named := map[string]name{}
	root, err := l.decode(data, pickle.Rules{Persistent: func(id any) (any, error) {
		n, ok := nameOf(id)
		if before, known := named[n.key]; !ok || known && (before.dtype != n.dtype || before.count != n.count) {
			return nil, l.bad("the name of a storage", id)
		}
		named[n.key] = n
		return &pickle.Persistent{ID: id}, nil
	}})
	if err != nil {
		return nil, err
	}
	text := l.text // the value's, without the records after it
	keys, err := s.value()
	if err != nil {
		return nil, err
	}
	l.text = text
	list, ok := keys.(*pickle.List)
	if !ok {
		return nil, l.bad("the list of storages", keys)
	}
	found := runs{l.op, source, map[string]*archive.Entry{}}
	for _, item := range list.Items {
		key, isText := item.(string)
		n, known := named[key]
		if !isText || !known || found.entries[key] != nil {
			return nil, l.bad("the list of storages", item)
		}
		if found.entries[key], err = s.record(key, n.count, n.size()); err != nil {
			return nil, err
		}
	}
	l.records = found
	return root, nil
}

// header reads the pickles before a legacy file's value.
func (s *stream) header() error {
	magic, _ := new(big.Int).SetString("1950a86a20f9469cfc6c", 16)
	found, err := s.value()
	if err != nil {
		return err
	}
	if number, ok := found.(*big.Int); !ok || number.Cmp(magic) != 0 {
		return status.Runtimef("%s: Invalid magic number; corrupt file?", s.l.op)
	}
	version, err := s.value()
	if err != nil {
		return err
	}
	if version != int64(legacyVersion) {
		return status.Runtimef("%s: Invalid protocol version: %s", s.l.op, pickle.Describe(version))
	}
	facts, err := s.value()
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

// part returns the storage that a view in a name represents: (key, offset, count), in elements.
func (l *loader) part(of *loading, n name) (*loading, error) {
	if len(n.view.Items) != 3 {
		return nil, l.bad("a view of a storage", n.view)
	}
	key, ok1 := n.view.Items[0].(string)
	offset, ok2 := n.view.Items[1].(int64)
	count, ok3 := n.view.Items[2].(int64)
	if !ok1 || !ok2 || !ok3 || offset < 0 || count < 0 || offset > math.MaxInt64-count || offset+count > n.count {
		return nil, l.bad("a view of a storage", n.view)
	}
	at := n.key + "\x00" + key
	if s := l.storages[at]; s != nil {
		return s, nil
	}
	storage, err := of.storage.Slice(l.op, offset*n.size(), (offset+count)*n.size())
	if err != nil {
		return nil, err
	}
	l.storages[at] = &loading{storage: storage, location: of.location}
	return l.storages[at], nil
}
