package serial

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial/archive"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/serial/pickle"
	"github.com/libtensor/libtensor/engine/status"
)

// The oldest files are tar archives of three files. `storages` has, after their number, for each a pickle (key, location, class) and its
// bytes behind the number of its elements, then a list of views (key, key of the whole, offset, size). `tensors` has for each a pickle
// (key, key of the storage, class), then its geometry. `pickle` is the value, in which keys represent tensors and storages.

const (
	tarBlock    = 512
	tarMagicAt  = 257
	tarMagic    = "ustar"
	maxTensorND = 64
)

// isTar returns whether a file begins as a tar archive.
func isTar(head []byte) bool {
	return len(head) >= tarBlock && string(head[tarMagicAt:tarMagicAt+len(tarMagic)]) == tarMagic
}

// tarMembers finds the files of a tar archive.
func (l *loader) tarMembers(source *file.Source) (map[string]*stream, error) {
	members := map[string]*stream{}
	for at := int64(0); at+tarBlock <= source.Size; {
		if err := l.budget.Spend(tarBlock); err != nil {
			return nil, err
		}
		head, err := source.Bytes(l.op, at, tarBlock)
		if err != nil {
			return nil, err
		}
		if head[0] == 0 {
			break
		}
		name := strings.TrimPrefix(string(bytes.TrimRight(head[:100], "\x00")), "./")
		size, err := strconv.ParseInt(strings.Trim(string(head[124:136]), " \x00"), 8, 64)
		at += tarBlock
		if !isTar(head) || err != nil || size < 0 || size > source.Size-at {
			return nil, status.Runtimef("%s: the file is damaged or truncated: the tar archive's header at byte %d is wrong", l.op, at-tarBlock)
		}
		members[name] = &stream{l: l, source: source, at: at, end: at + size}
		at += (size + tarBlock - 1) &^ (tarBlock - 1)
	}
	for _, name := range []string{"storages", "tensors", "pickle"} {
		if members[name] == nil {
			return nil, status.Runtimef("%s: the tar archive has no %s: it was not written by PyTorch", l.op, name)
		}
	}
	return members, nil
}

// openTar reads the three files of a tar archive.
func (l *loader) openTar(source *file.Source) (any, error) {
	members, err := l.tarMembers(source)
	if err != nil {
		return nil, err
	}
	found := recordTable{l.op, source, map[string]*archive.Entry{}}
	objects := map[string]any{} // the objects of keys
	if err := members["storages"].readStorages(found, objects); err != nil {
		return nil, err
	}
	if err := members["tensors"].readTensors(objects); err != nil {
		return nil, err
	}
	l.records = found
	data, err := members["pickle"].readPickle()
	if err != nil {
		return nil, err
	}
	return l.decodePickle(data, pickle.Rules{Persistent: func(id any) (any, error) {
		key, ok := keyOf(id)
		if object, known := objects[key]; ok && known {
			return object, nil
		}
		return nil, l.newValueError("the key of a tensor", id)
	}})
}

// keyOf returns a key, which is a number or its digits.
func keyOf(value any) (string, bool) {
	switch v := value.(type) {
	case int64:
		return strconv.FormatInt(v, 10), true
	case string:
		return v, true
	}
	return "", false
}

// readDescription decodes the next pickle, a tuple of n items that begins with a key and may name classes of tensors.
func (s *stream) readDescription(n int) (string, *pickle.Tuple, error) {
	data, err := s.readPickle()
	if err != nil {
		return "", nil, err
	}
	value, err := s.l.decodePickle(data, pickle.Rules{Name: func(g pickle.Global) error {
		if strings.HasPrefix(g.Module, "torch") && strings.HasSuffix(g.Name, "Tensor") {
			return nil
		}
		return checkName(s.l.op, g)
	}})
	if err != nil {
		return "", nil, err
	}
	t, ok := value.(*pickle.Tuple)
	if !ok || len(t.Items) != n {
		return "", nil, s.l.newValueError("a tensor or storage", value)
	}
	key, ok := keyOf(t.Items[0])
	if !ok {
		return "", nil, s.l.newValueError("a tensor or storage", value)
	}
	return key, t, nil
}

// readStorages reads the file `storages`.
func (s *stream) readStorages(found recordTable, objects map[string]any) error {
	count, err := s.readCount()
	if err != nil {
		return err
	}
	for range count {
		key, facts, err := s.readDescription(3)
		if err != nil {
			return err
		}
		location, ok1 := facts.Items[1].(string)
		class, ok2 := facts.Items[2].(pickle.Global)
		d, known := classDTypes[class]
		if !ok1 || !ok2 || !known || d == dtype.None || found.entries[key] != nil {
			return s.l.newValueError("a storage", facts)
		}
		if found.entries[key], err = s.readRecord(key, -1, d.Size()); err != nil {
			return err
		}
		objects[key] = &pickle.Persistent{ID: newTuple("storage", class, key, location, found.entries[key].Size/d.Size())}
	}
	value, err := s.readValue()
	if err != nil {
		return err
	}
	views, ok := value.(*pickle.List)
	if !ok {
		return s.l.newValueError("the list of views", value)
	}
	for _, item := range views.Items {
		if err := s.addView(item, objects); err != nil {
			return err
		}
	}
	return nil
}

// addView defines the object of a key as a part of a storage.
func (s *stream) addView(item any, objects map[string]any) error {
	facts, ok := item.(*pickle.Tuple)
	if !ok || len(facts.Items) != 4 {
		return s.l.newValueError("a view of a storage", item)
	}
	key, ok1 := keyOf(facts.Items[0])
	of, ok2 := keyOf(facts.Items[1])
	whole, ok3 := objects[of].(*pickle.Persistent)
	if !ok1 || !ok2 || !ok3 || objects[key] != nil {
		return s.l.newValueError("a view of a storage", item)
	}
	id := whole.ID.(*pickle.Tuple) // never that of a view, which has six items
	if len(id.Items) != 5 {
		return s.l.newValueError("a view of a storage", item)
	}
	items := append(append([]any{}, id.Items...), newTuple(key, facts.Items[2], facts.Items[3]))
	objects[key] = &pickle.Persistent{ID: &pickle.Tuple{Items: items}}
	return s.l.budget.Spend(tensorCost)
}

// readTensors reads the file `tensors`.
func (s *stream) readTensors(objects map[string]any) error {
	count, err := s.readCount()
	if err != nil {
		return err
	}
	for range count {
		key, facts, err := s.readDescription(3)
		if err != nil {
			return err
		}
		of, ok1 := keyOf(facts.Items[1])
		stored, ok2 := objects[of].(*pickle.Persistent)
		if !ok1 || !ok2 || objects[key] != nil {
			return s.l.newValueError("a tensor", facts)
		}
		dims, err := s.readInt(8) // of which the upper half counts for nothing
		if err != nil {
			return err
		}
		if dims = int64(int32(dims)); dims < 0 || dims > maxTensorND {
			return s.l.newValueError("a tensor's number of dimensions", dims)
		}
		data, err := s.readBytes(8 * (2*dims + 1))
		if err != nil {
			return err
		}
		numbers := make([]int64, 2*dims+1)
		for i := range numbers {
			numbers[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
		}
		objects[key] = newCall(rebuildTensor, stored, numbers[2*dims], newIntTuple(numbers[:dims]), newIntTuple(numbers[dims:2*dims]))
		if err := s.l.budget.Spend(tensorCost); err != nil {
			return err
		}
	}
	return nil
}
