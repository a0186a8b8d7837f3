// Package gguf reads GGUF files, versions 2 and 3: typed metadata, the names, types and sizes of tensors, and their bytes. Reading checks
// all rules of the format: names and keys are distinct, and each tensor is aligned and inside the file (format: ggml's docs/gguf.md).
package gguf

import (
	"slices"
	"unicode/utf8"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

const (
	magic            = "GGUF"
	defaultAlignment = 32
	alignmentKey     = "general.alignment"
	maxDims          = 8 // ggml has 4
	// entryCost is the memory for a tensor without its name and its bytes: an entry, a handle, objects of the calling language.
	entryCost = 2048
)

// File is an open file whose header has been checked.
type File struct {
	op       string
	source   *file.Source
	Metadata string // a JSON object
	entries  []*entry
}

// entry is a tensor of a file.
type entry struct {
	name   string
	kind   Type
	sizes  []int64 // of the tensor: of bytes for blocks, whose last size is that of a row
	offset uint64  // in the data
	begin  int64   // in the file
	bytes  int64
}

// Open reads and checks the header.
func Open(op string, source *file.Source, budget *file.Budget) (*File, error) {
	f := &File{op: op, source: source}
	r := &reader{op: op, source: source, budget: budget}
	r.readHeader(f)
	return f, r.err
}

// readHeader reads everything before the data.
func (r *reader) readHeader(f *File) {
	if start := r.readBytes(4, "the magic"); r.err == nil && string(start) != magic {
		r.err = status.Runtimef("%s: the file begins with %q, not %q: it is not a GGUF file", r.op, start, magic)
		return
	}
	switch version := r.readUint32("the version"); {
	case r.err != nil:
		return
	case version&0xffff == 0:
		r.err = status.NotImplementedf("%s: the file is big-endian GGUF, which is not supported; convert it to little-endian", r.op)
		return
	case version != 2 && version != 3:
		r.err = status.NotImplementedf("%s: the file has version %d of GGUF; versions 2 and 3 are supported", r.op, version)
		return
	}
	tensors := r.readCount("tensors", 8+4+4+8) // the shortest of a tensor: an empty name, no sizes
	pairs := r.readCount("metadata keys", 8+4+1)
	alignment := r.readMetadata(f, pairs)
	seen := map[string]bool{}
	for i := int64(0); i < tensors && r.err == nil; i++ {
		e := r.readEntry()
		if r.err == nil && seen[e.name] {
			r.setError("the tensor name %.100q occurs twice", e.name)
		}
		seen[e.name] = true
		f.entries = append(f.entries, e)
	}
	r.placeTensors(f, alignment)
}

// readEntry reads the name, sizes, type and offset of a tensor.
func (r *reader) readEntry() *entry {
	e := &entry{name: r.readString("a tensor name")}
	if r.spendBudget(entryCost); r.err != nil {
		return e
	}
	dims := r.readUint32("the number of dimensions")
	if r.err == nil && dims > maxDims {
		r.setError("tensor %.100q has %d dimensions; at most %d are supported", e.name, dims, maxDims)
	}
	for i := uint32(0); i < dims && r.err == nil; i++ {
		size := r.readUint64("a size")
		if size > 1<<62 {
			r.setError("tensor %.100q has size %d", e.name, size)
			return e
		}
		e.sizes = append(e.sizes, int64(size))
	}
	slices.Reverse(e.sizes) // files begin with the size of rows
	number := r.readUint32("a type")
	e.offset = r.readUint64("an offset")
	if r.err != nil {
		return e
	}
	known := false
	if e.kind, known = findTypeByNumber(number); !known {
		e.kind.Number = number // the size is not known; the other tensors can be loaded
		return e
	}
	if e.kind.DType == dtype.None {
		if len(e.sizes) == 0 || e.sizes[len(e.sizes)-1]%e.kind.Values != 0 {
			r.setError("tensor %.100q of shape %v and type %s has rows that are no multiple of %d values", e.name, e.sizes, e.kind.Name,
				e.kind.Values)
			return e
		}
		e.sizes[len(e.sizes)-1] /= e.kind.Values
	}
	total := e.kind.Bytes
	for _, size := range e.sizes {
		if size > 0 && total > (1<<62)/size {
			r.setError("tensor %.100q of shape %v is larger than the file", e.name, e.sizes)
			return e
		}
		total *= size
	}
	if e.bytes = total; total > r.source.Size {
		r.setError("tensor %.100q of shape %v and type %s has %d bytes, and the file has %d", e.name, e.sizes, e.kind.Name, total, r.source.Size)
	}
	if e.kind.DType == dtype.None {
		e.sizes[len(e.sizes)-1] *= e.kind.Bytes
	}
	return e
}

// placeTensors sets the tensors' positions in the file, and checks that each is aligned and inside the file, and that none overlap.
func (r *reader) placeTensors(f *File, alignment int64) {
	data := (r.at + alignment - 1) / alignment * alignment
	for _, e := range f.entries {
		switch {
		case r.err != nil:
			return
		case e.offset%uint64(alignment) != 0:
			r.setError("tensor %.100q begins at byte %d of the data, which is no multiple of the alignment %d", e.name, e.offset, alignment)
		case e.bytes > 0 && (data > r.source.Size || e.offset > uint64(r.source.Size-data) || e.bytes > r.source.Size-data-int64(e.offset)):
			r.err = status.Runtimef("%s: tensor %.100q has %d bytes from byte %d of the data on, and the file has %d bytes of data: it is damaged or truncated",
				r.op, e.name, e.bytes, e.offset, max(r.source.Size-data, 0))
		default:
			e.begin = data + int64(e.offset)
		}
	}
	order := slices.DeleteFunc(slices.Clone(f.entries), func(e *entry) bool { return e.bytes == 0 })
	slices.SortStableFunc(order, func(a, b *entry) int { return int(min(max(a.begin-b.begin, -1), 1)) })
	for i := 1; i < len(order) && r.err == nil; i++ {
		if before := order[i-1]; order[i].begin < before.begin+before.bytes {
			r.setError("tensors %.100q and %.100q overlap", before.name, order[i].name)
		}
	}
}

// Select returns the names, tensors and types of all tensors in the order of the file, or of those of names. Blocks are of uint8, with rows
// of bytes as the last dimension. Tensors are read, or mapped.
func (f *File) Select(names []string, mmap bool) (found []string, tensors []*tensor.Tensor, kinds []string, err error) {
	chosen, err := f.selectEntries(names)
	if err != nil {
		return nil, nil, nil, err
	}
	var mapping *storage.Storage
	if mmap {
		if mapping, err = f.source.Map(f.op); err != nil {
			return nil, nil, nil, err
		}
		defer mapping.Release()
	}
	release := func() {
		for _, t := range tensors {
			t.Release()
		}
	}
	var parts []file.Part
	for _, e := range chosen {
		if e.kind.Bytes == 0 {
			release()
			return nil, nil, nil, status.NotImplementedf("%s: tensor %.100q has type %d, which is not supported; load the others by their names",
				f.op, e.name, e.kind.Number)
		}
		t, mapped, err := f.newTensor(e, mapping)
		if err != nil {
			release()
			return nil, nil, nil, err
		}
		if !mapped {
			parts = append(parts, file.Part{Offset: e.begin, Data: t.Storage().Bytes()})
		}
		tensors, found, kinds = append(tensors, t), append(found, e.name), append(kinds, e.kind.Name)
	}
	if _, err := file.Read(f.source, parts, false); err != nil {
		release()
		return nil, nil, nil, status.IOf("%s: %v", f.op, err)
	}
	return found, tensors, kinds, nil
}

func (f *File) selectEntries(names []string) ([]*entry, error) {
	if names == nil {
		return f.entries, nil
	}
	byName := map[string]*entry{}
	for _, e := range f.entries {
		byName[e.name] = e
	}
	chosen := make([]*entry, len(names))
	for i, name := range names {
		if chosen[i] = byName[name]; chosen[i] == nil {
			return nil, status.Runtimef("%s: the file has no tensor %.100q", f.op, name)
		}
	}
	return chosen, nil
}

// newTensor returns the tensor of an entry: over the mapping where its elements are aligned there, otherwise yet to be read.
func (f *File) newTensor(e *entry, mapping *storage.Storage) (t *tensor.Tensor, mapped bool, err error) {
	d := e.kind.DType
	if d == dtype.None {
		d = dtype.Uint8
	}
	if mapping == nil || e.begin%d.Size() != 0 || e.bytes == 0 {
		t, err = tensor.Empty(f.op, e.sizes, d, device.Host)
		return t, false, err
	}
	s, err := mapping.Slice(f.op, e.begin, e.begin+e.bytes)
	if err != nil {
		return nil, false, err
	}
	defer s.Release()
	t, err = tensor.New(f.op, s, d, e.sizes, shape.ContiguousStrides(e.sizes), 0)
	return t, true, err
}

func isText(s []byte) bool { return utf8.Valid(s) }
