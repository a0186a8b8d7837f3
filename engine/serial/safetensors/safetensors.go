// Package safetensors reads and writes safetensors files: the length of the header, the header in JSON, and the bytes of all tensors.
// Reading checks all rules of the format: names are distinct, the number of bytes of each tensor agrees with its shape and dtype, and the
// tensors fill the file without gaps or overlaps (format: safetensors' README.md).
package safetensors

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// maxHeader is the most bytes that a header may have.
const maxHeader = 100_000_000

// headerCost is the memory for reading a header in multiples of its bytes: as text, as parsed JSON, as entries.
const headerCost = 16

// kind is a dtype of the format.
type kind struct {
	name  string
	bits  int64
	dtype dtype.DType // None where libtensor has none
}

// kinds are in the order of the format's specification, the smallest elements first. Writers store tensors in the reverse order, so that
// each is aligned.
var kinds = func() []kind {
	list := []kind{
		{name: "BOOL", bits: 8}, {name: "F4", bits: 4}, {name: "F6_E2M3", bits: 6}, {name: "F6_E3M2", bits: 6}, {name: "U8", bits: 8},
		{name: "I8", bits: 8},
		{name: "F8_E5M2", bits: 8}, {name: "F8_E4M3", bits: 8}, {name: "F8_E8M0", bits: 8}, {name: "F8_E4M3FNUZ", bits: 8},
		{name: "F8_E5M2FNUZ", bits: 8},
		{name: "I16", bits: 16}, {name: "U16", bits: 16}, {name: "F16", bits: 16}, {name: "BF16", bits: 16}, {name: "I32", bits: 32},
		{name: "U32", bits: 32},
		{name: "F32", bits: 32}, {name: "C64", bits: 64}, {name: "F64", bits: 64}, {name: "I64", bits: 64}, {name: "U64", bits: 64},
	}
	for i := range list {
		list[i].dtype = dtype.None
		for _, d := range dtype.Named() {
			if d.SafetensorsName() == list[i].name {
				list[i].dtype = d
			}
		}
	}
	return list
}()

// findKind returns the index of a dtype in kinds, or -1.
func findKind(d dtype.DType) int {
	return slices.IndexFunc(kinds, func(k kind) bool { return k.dtype == d && d != dtype.None })
}

// Image is a file ready to be written.
type Image struct {
	header []byte
	parts  []file.Part
	Size   int64
	copies []*tensor.Tensor
}

// New lays out a file of named tensors. Metadata is a JSON object of strings, or "".
func New(op string, names []string, tensors []*tensor.Tensor, metadata string) (*Image, error) {
	if len(names) != len(tensors) {
		return nil, status.Valuef("%s: %d names were given for %d tensors", op, len(names), len(tensors))
	}
	order := make([]int, len(names))
	for i, t := range tensors {
		order[i] = i
		switch {
		case findKind(t.DType()) < 0:
			return nil, status.Typef("%s: tensor %.100q has dtype %v, which the safetensors format does not support; convert it first", op, names[i],
				t.DType())
		case !backend.Known(t) || t.Layout() != tensor.Strided:
			return nil, status.Runtimef("%s: tensor %.100q is a %v one on device %v; only strided tensors with elements can be saved", op, names[i],
				t.Layout(), t.Device())
		case !utf8.ValidString(names[i]):
			return nil, status.Valuef("%s: the name %.100q is not UTF-8", op, names[i])
		case names[i] == metadataKey:
			return nil, status.Valuef("%s: %q cannot be a tensor's name: it is reserved for the metadata", op, names[i])
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if d := findKind(tensors[b].DType()) - findKind(tensors[a].DType()); d != 0 {
			return d
		}
		return strings.Compare(names[a], names[b])
	})
	image := &Image{}
	var header strings.Builder
	header.WriteString("{")
	if err := writeMetadata(&header, op, metadata); err != nil {
		return nil, err
	}
	at := int64(0)
	seen := map[string]bool{}
	for _, i := range order {
		t := tensors[i]
		if seen[names[i]] {
			return nil, status.Valuef("%s: the name %.100q occurs twice", op, names[i])
		}
		seen[names[i]] = true
		if header.Len() > 1 {
			header.WriteString(",")
		}
		nbytes := t.Numel() * t.DType().Size()
		header.WriteString(quoteString(names[i]) + ":" + encodeEntry(t, at, at+nbytes))
		image.parts = append(image.parts, file.Part{Offset: at, Data: nil})
		at += nbytes
	}
	header.WriteString("}")
	text := header.String()
	text += strings.Repeat(" ", -len(text)&7)
	if len(text) > maxHeader {
		return nil, status.Valuef("%s: the header would have %d bytes, more than the %d that the format allows", op, len(text), maxHeader)
	}
	image.header = append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	image.Size = int64(len(image.header)) + at
	for k, i := range order {
		image.parts[k].Offset += int64(len(image.header))
		data, err := image.contiguousBytes(op, tensors[i])
		if err != nil {
			image.Release()
			return nil, err
		}
		image.parts[k].Data = data
	}
	return image, nil
}

// contiguousBytes returns a tensor's elements in row-major order: its own memory, or a copy's.
func (i *Image) contiguousBytes(op string, t *tensor.Tensor) ([]byte, error) {
	if t.Numel() == 0 {
		return nil, nil
	}
	if !t.IsContiguous() || t.Device().Type != device.CPU {
		c, err := tensor.Empty(op, t.Sizes(), t.DType(), device.Host)
		if err != nil {
			return nil, err
		}
		i.copies = append(i.copies, c)
		if err := backend.Copy(op, c, t); err != nil {
			return nil, err
		}
		t = c
	}
	return unsafe.Slice((*byte)(t.Data()), t.Numel()*t.DType().Size()), nil
}

// Release frees the copies of tensors that were not contiguous.
func (i *Image) Release() {
	for _, t := range i.copies {
		t.Release()
	}
}

// Write writes all of the file.
func (i *Image) Write(w io.WriterAt) error {
	if _, err := w.WriteAt(i.header, 0); err != nil {
		return err
	}
	_, err := file.Write(w, i.parts, false)
	return err
}

func quoteString(s string) string {
	text, _ := json.Marshal(s) // a string cannot fail
	return string(text)
}

func encodeEntry(t *tensor.Tensor, begin, end int64) string {
	text, _ := json.Marshal(struct {
		DType   string   `json:"dtype"`
		Shape   []int64  `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}{kinds[findKind(t.DType())].name, append([]int64{}, t.Sizes()...), [2]int64{begin, end}})
	return string(text)
}

func writeMetadata(header *strings.Builder, op, metadata string) error {
	if metadata == "" {
		return nil
	}
	pairs, err := parseMembers(metadata)
	if err == nil && !utf8.ValidString(metadata) {
		err = errors.New("it is not UTF-8")
	}
	if err != nil {
		return status.Valuef("%s: the metadata is not a JSON object: %v", op, err)
	}
	if err := checkMetadata(op, pairs); err != nil {
		return err
	}
	header.WriteString(quoteString(metadataKey) + ":" + metadata)
	return nil
}

// File is an open file whose header has been checked.
type File struct {
	op      string
	source  *file.Source
	Header  string // JSON
	Meta    string // the JSON object under __metadata__, "" without
	entries []*entry
}

// entry is a tensor of a file.
type entry struct {
	name       string
	kind       kind
	shape      []int64
	begin, end int64 // in the file
}

// Open reads and checks the header.
func Open(op string, source *file.Source, budget *file.Budget) (*File, error) {
	if source.Size < 8 {
		return nil, status.Runtimef("%s: the file has %d bytes, too few for a safetensors file", op, source.Size)
	}
	head, err := source.Bytes(op, 0, 8)
	if err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint64(head)
	if length > maxHeader || int64(length) > source.Size-8 {
		return nil, status.Runtimef("%s: the header's length is given as %d bytes, and the file has %d (at most %d are allowed); it is not a safetensors file, or it is damaged",
			op, length, source.Size, maxHeader)
	}
	if err := budget.Spend(headerCost * int64(length)); err != nil {
		return nil, err
	}
	text, err := source.Bytes(op, 8, int64(length))
	if err != nil {
		return nil, err
	}
	f := &File{op: op, source: source, Header: string(text)}
	return f, f.parseHeader()
}

// Select returns the tensors of names, or all that libtensor has a dtype for when names is nil. They are read, or mapped.
func (f *File) Select(names []string, mmap bool) ([]string, []*tensor.Tensor, error) {
	chosen, err := f.selectEntries(names)
	if err != nil {
		return nil, nil, err
	}
	var mapping *storage.Storage
	if mmap {
		if mapping, err = f.source.Map(f.op); err != nil {
			return nil, nil, err
		}
		defer mapping.Release()
	}
	var tensors []*tensor.Tensor
	var found []string
	var parts []file.Part
	release := func() {
		for _, t := range tensors {
			t.Release()
		}
	}
	for _, e := range chosen {
		t, mapped, err := f.newTensor(e, mapping)
		if err != nil {
			release()
			return nil, nil, err
		}
		if !mapped {
			parts = append(parts, file.Part{Offset: e.begin, Data: t.Storage().Bytes()})
		}
		tensors, found = append(tensors, t), append(found, e.name)
	}
	if _, err := file.Read(f.source, parts, false); err != nil {
		release()
		return nil, nil, status.IOf("%s: %v", f.op, err)
	}
	return found, tensors, nil
}

func (f *File) selectEntries(names []string) ([]*entry, error) {
	if names == nil {
		return slices.DeleteFunc(slices.Clone(f.entries), func(e *entry) bool { return e.kind.dtype == dtype.None }), nil
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
		if chosen[i].kind.dtype == dtype.None {
			return nil, f.newDTypeError(chosen[i])
		}
	}
	return chosen, nil
}

// CheckDTypes returns an error for files with tensors that libtensor has no dtype for.
func (f *File) CheckDTypes() error {
	for _, e := range f.entries {
		if e.kind.dtype == dtype.None {
			return f.newDTypeError(e)
		}
	}
	return nil
}

func (f *File) newDTypeError(e *entry) error {
	return status.NotImplementedf("%s: tensor %.100q has dtype %s, which libtensor does not have", f.op, e.name, e.kind.name)
}

// newTensor returns the tensor of an entry: over the mapping where its elements are aligned there, otherwise yet to be read.
func (f *File) newTensor(e *entry, mapping *storage.Storage) (t *tensor.Tensor, mapped bool, err error) {
	d := e.kind.dtype
	if mapping == nil || e.begin%d.ToReal().Size() != 0 {
		t, err = tensor.Empty(f.op, e.shape, d, device.Host)
		return t, false, err
	}
	s, err := mapping.Slice(f.op, e.begin, e.end)
	if err != nil {
		return nil, false, err
	}
	defer s.Release()
	t, err = tensor.New(f.op, s, d, e.shape, contiguousStrides(e.shape), 0)
	return t, true, err
}
