package serial

import (
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial/archive"
	"github.com/libtensor/libtensor/engine/serial/pickle"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// saver turns tensors and a structure into an archive.
type saver struct {
	op           string
	tensors      []*tensor.Tensor
	tensorValues map[int]any // the value of each tensor, so that one that occurs twice is one object
	defined      map[int64]any
	storages     map[*storage.Storage]*savedStorage
	order        []*savedStorage
}

// savedStorage is the part of a storage to save.
type savedStorage struct {
	storage  *storage.Storage
	key      string
	from     int64       // bytes before this one are not saved
	to       int64       // nor those from this one on
	dtype    dtype.DType // of all its tensors, None when they differ
	explicit bool        // it is saved explicitly, not only as memory of tensors
}

// Image is a file ready to be written.
type Image struct{ plan *archive.Plan }

// Size of the file in bytes.
func (i *Image) Size() int64 { return i.plan.Size }

// Write writes all of it.
func (i *Image) Write(w io.WriterAt) error { return i.plan.Write(w) }

// Save makes the file of a structure of tensors. Storages are saved whole, unless compact is set: then as far as the tensors
// reach. Tensors that share a storage share it after loading.
func Save(op, structure string, tensors []*tensor.Tensor, compact bool) (*Image, error) {
	root, err := parseStructure(op, structure)
	if err != nil {
		return nil, err
	}
	s := &saver{op: op, tensors: tensors, tensorValues: map[int]any{}, defined: map[int64]any{}}
	if err := s.planStorages(root, compact); err != nil {
		return nil, err
	}
	value, err := s.readValue(root, 0)
	if err != nil {
		return nil, err
	}
	return s.newImage(value)
}

// SaveDict makes the file of a dict of tensors.
func SaveDict(op string, names []string, tensors []*tensor.Tensor, compact bool) (*Image, error) {
	if len(names) != len(tensors) {
		return nil, status.Valuef("%s: %d names were given for %d tensors", op, len(names), len(tensors))
	}
	s := &saver{op: op, tensors: tensors, tensorValues: map[int]any{}}
	if err := s.planStorages(nil, compact); err != nil {
		return nil, err
	}
	dict := &pickle.Dict{}
	seen := map[string]bool{}
	for i, name := range names {
		switch {
		case !utf8.ValidString(name):
			return nil, status.Valuef("%s: the name %.100q is not UTF-8", op, name)
		case seen[name]:
			return nil, status.Valuef("%s: the name %.100q occurs twice", op, name)
		}
		seen[name] = true
		v, err := s.encodeTensor(int64(i))
		if err != nil {
			return nil, err
		}
		dict.Entries = append(dict.Entries, pickle.Entry{Key: name, Value: v})
	}
	return s.newImage(dict)
}

// planStorages determines the part of each storage to save.
func (s *saver) planStorages(root any, compact bool) error {
	s.storages = map[*storage.Storage]*savedStorage{}
	for i, t := range s.tensors {
		for _, part := range stridedParts(t) {
			if err := s.addStorage(i, part); err != nil {
				return err
			}
		}
	}
	s.markStorages(root)
	for _, k := range s.order {
		if !compact || k.explicit {
			k.from, k.to = 0, k.storage.Nbytes()
		}
		k.from = min(k.from, k.to)
	}
	return nil
}

// stridedParts returns the tensors that a tensor is saved as: itself, or the parts of a sparse one.
func stridedParts(t *tensor.Tensor) []*tensor.Tensor {
	if p := t.Components(); p != nil {
		return append(slices.Clone(p.Indices), p.Values)
	}
	return []*tensor.Tensor{t}
}

// addStorage adds the storage of tensor i, or the part that the tensor needs, to the storages to save.
func (s *saver) addStorage(i int, t *tensor.Tensor) error {
	if t.IsMeta() {
		return nil
	}
	k := s.storages[t.Storage()]
	if k == nil {
		k = &savedStorage{storage: t.Storage(), key: strconv.Itoa(len(s.order)), from: math.MaxInt64, dtype: t.DType()}
		s.storages[t.Storage()] = k
		s.order = append(s.order, k)
	}
	if t.DType().StorageClass() == "" || t.DType() != k.dtype {
		k.dtype = dtype.None
	}
	if t.Numel() > 0 {
		_, last, err := shape.Span(s.op, t.Sizes(), t.Strides(), t.Offset())
		if err != nil {
			return err
		}
		k.from = min(k.from, t.Offset()*t.DType().Size()&^(dtype.Complex128.Size()-1))
		k.to = max(k.to, (last+1)*t.DType().Size())
	}
	return nil
}

// markStorages marks the storages that are saved explicitly.
func (s *saver) markStorages(node any) {
	switch n := node.(type) {
	case []any:
		for _, item := range n {
			s.markStorages(item)
		}
	case map[string]any:
		for key, item := range n {
			s.markStorages(item)
			number, _ := item.(json.Number)
			i, err := number.Int64()
			if err != nil || i < 0 || i >= int64(len(s.tensors)) || key != "storage" && key != "typed_storage" {
				continue
			}
			if k := s.storages[s.tensors[i].Storage()]; k != nil {
				k.explicit = true
				if key == "storage" {
					k.dtype = dtype.None
				}
			}
		}
	}
}

// toPersistent returns the reference to a storage's record.
func (k *savedStorage) toPersistent() *pickle.Persistent {
	size := int64(1)
	if k.dtype != dtype.None {
		size = k.dtype.Size()
	}
	return &pickle.Persistent{ID: newTuple("storage", storageClass(k.dtype), k.key, k.storage.Device().String(), (k.to-k.from)/size)}
}

func newTuple(items ...any) *pickle.Tuple { return &pickle.Tuple{Items: items} }

func newCall(function pickle.Global, args ...any) *pickle.Call {
	return &pickle.Call{Func: function, Args: newTuple(args...)}
}

func newIntTuple(values []int64) *pickle.Tuple {
	t := newTuple()
	for _, v := range values {
		t.Items = append(t.Items, v)
	}
	return t
}

// getTensor returns tensor i, or an error if there is none.
func (s *saver) getTensor(i int64) (*tensor.Tensor, error) {
	if i < 0 || i >= int64(len(s.tensors)) {
		return nil, status.Valuef("%s: the structure names tensor %d, but %d were given", s.op, i, len(s.tensors))
	}
	return s.tensors[i], nil
}

// encodeTensor returns the value of tensor i.
func (s *saver) encodeTensor(i int64) (any, error) {
	t, err := s.getTensor(i)
	if err != nil {
		return nil, err
	}
	if v, ok := s.tensorValues[int(i)]; ok {
		return v, nil
	}
	var v any
	if p := t.Components(); t.Quantizer() != nil {
		if v, err = s.encodeQuantized(t); err != nil {
			return nil, err
		}
	} else if p == nil {
		v = s.encodeStrided(t)
	} else {
		parts := newTuple()
		for _, part := range stridedParts(t) {
			parts.Items = append(parts.Items, s.encodeStrided(part))
		}
		if parts.Items = append(parts.Items, newCall(torchSize, newIntTuple(t.Sizes()))); t.Layout() == tensor.COO {
			parts.Items = append(parts.Items, p.Coalesced)
		}
		v = newCall(rebuildSparse, newCall(getLayout, "torch."+t.Layout().String()), parts)
	}
	s.tensorValues[int(i)] = v
	return v, nil
}

// encodeStrided returns the value of a strided tensor.
func (s *saver) encodeStrided(t *tensor.Tensor) any {
	d, size, stride := t.DType(), newIntTuple(t.Sizes()), newIntTuple(t.Strides())
	switch k := s.storages[t.Storage()]; {
	case t.IsMeta():
		return withMetadata(t, newCall(rebuildMeta, dtypeName(d), size, stride, t.GradientWanted()))
	case k.dtype == dtype.None:
		return withMetadata(t, newCall(rebuildTensorV3, k.toPersistent(), k.computeOffset(t), size, stride, t.GradientWanted(),
			newCall(orderedDict), dtypeName(d)))
	default:
		return withMetadata(t, newCall(rebuildTensorV2, k.toPersistent(), k.computeOffset(t), size, stride, t.GradientWanted(),
			newCall(orderedDict)))
	}
}

// namesKey is the prefix of a metadata key of a tensor that contains the names of its dimensions, separated by commas. Metadata are flags,
// and PyTorch ignores unknown ones.
const namesKey = "names="

// lazyKeys are the flags of a tensor's metadata, by the key that the tensor has.
var lazyKeys = map[string]tensor.DispatchKeys{"conj": tensor.Conjugate, "neg": tensor.Negative}

// withMetadata adds the names of a tensor, and how its elements are read, to the call that makes it.
func withMetadata(t *tensor.Tensor, c *pickle.Call) *pickle.Call {
	var flags []string
	for _, name := range []string{"conj", "neg"} {
		if t.Lazy()&lazyKeys[name] != 0 {
			flags = append(flags, name)
		}
	}
	if names := t.Names(); names != nil {
		flags = append(flags, namesKey+strings.Join(names, ","))
	}
	if flags == nil {
		return c
	}
	dict := &pickle.Dict{}
	for _, flag := range flags {
		dict.Entries = append(dict.Entries, pickle.Entry{Key: flag, Value: true})
	}
	c.Args.Items = append(c.Args.Items, dict)
	return c
}

// computeOffset returns the storage offset of a tensor in the saved part of its storage.
func (k *savedStorage) computeOffset(t *tensor.Tensor) int64 {
	return max(t.Offset()-k.from/t.DType().Size(), 0) // an empty tensor may have any offset
}

// newImage lays out the archive.
func (s *saver) newImage(value any) (*Image, error) {
	records := []archive.Record{
		{Name: "archive/data.pkl", Data: pickle.Encode(value)},
		{Name: "archive/.format_version", Data: []byte("1")},
		{Name: "archive/.storage_alignment", Data: []byte("64")},
		{Name: "archive/byteorder", Data: []byte("little")},
	}
	for _, k := range s.order {
		bytes, err := recordOf(s.op, k.storage, k.from, k.to)
		if err != nil {
			return nil, err
		}
		records = append(records, archive.Record{Name: "archive/data/" + k.key, Data: bytes})
	}
	records = append(records, archive.Record{Name: "archive/version", Data: []byte("3\n")})
	plan, err := archive.New(s.op, records)
	return &Image{plan}, err
}
