// Package npy reads and writes NumPy's files: .npy, one array, and .npz, a zip archive of those (format: NumPy's
// numpy.lib.format).
package npy

import (
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/serial/archive"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Image is a .npy file ready to be written.
type Image struct {
	parts []file.Part
	Size  int64
	copy  *tensor.Tensor
}

// New lays out the file of a tensor.
func New(op string, t *tensor.Tensor) (*Image, error) {
	if !backend.Known(t) || t.Layout() != tensor.Strided {
		return nil, status.Runtimef("%s: the tensor is a %v one on device %v; only strided tensors with elements can be saved", op, t.Layout(),
			t.Device())
	}
	head, err := encodeHeader(op, t.DType(), t.Sizes())
	if err != nil {
		return nil, err
	}
	i := &Image{}
	if !t.IsContiguous() || t.Device().Type != device.CPU {
		if i.copy, err = tensor.Empty(op, t.Sizes(), t.DType(), device.Host); err != nil {
			return nil, err
		}
		if err := backend.Copy(op, i.copy, t); err != nil {
			i.Release()
			return nil, err
		}
		t = i.copy
	}
	i.parts = []file.Part{{Offset: 0, Data: head}, {Offset: int64(len(head)), Data: viewBytes(t)}}
	i.Size = int64(len(head)) + t.Numel()*t.DType().Size()
	return i, nil
}

// viewBytes returns the bytes of a contiguous tensor.
func viewBytes(t *tensor.Tensor) []byte {
	if t.Numel() == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(t.Data()), t.Numel()*t.DType().Size())
}

// Write writes all of the file.
func (i *Image) Write(w io.WriterAt) error {
	_, err := file.Write(w, i.parts, false)
	return err
}

// Release frees the copy of a tensor that was not contiguous.
func (i *Image) Release() { i.copy.Release() }

// Load reads the tensor of a file, or maps it.
func Load(op string, source *file.Source, mmap bool) (*tensor.Tensor, error) {
	h, err := readHeader(op, source)
	if err != nil {
		return nil, err
	}
	if mmap && !h.swapped && h.size%h.dtype.ToReal().Size() == 0 {
		return h.mapTensor(op, source)
	}
	return h.readTensor(op, func(into []byte) error {
		if _, err := file.Read(source, []file.Part{{Offset: h.size, Data: into}}, false); err != nil {
			return status.IOf("%s: %v", op, err)
		}
		return nil
	})
}

// readHeader reads the header and checks that the file has exactly the elements that it declares.
func readHeader(op string, source *file.Source) (*header, error) {
	h, err := decodeHeader(op, func(n int64) ([]byte, error) { return source.Bytes(op, 0, min(n, source.Size)) })
	if err != nil {
		return nil, err
	}
	return h, h.checkSize(op, source.Size)
}

// Length returns the size of a file that begins with head: that of its header and elements, or the number of bytes needed to determine it.
func Length(op string, head *file.Source) (length int64, err error) {
	h, err := decodeHeader(op, func(n int64) ([]byte, error) {
		length = n
		return head.Bytes(op, 0, min(n, head.Size))
	})
	if head.Size < length {
		return length, nil
	}
	if err != nil {
		return 0, err
	}
	need, err := h.computeSize(op)
	return h.size + need, err
}

// computeSize returns the size of the array's elements in bytes.
func (h *header) computeSize(op string) (int64, error) {
	need, fits := uint64(h.dtype.Size()), true
	for _, n := range h.shape {
		var high uint64
		high, need = bits.Mul64(need, uint64(max(n, 1)))
		fits = fits && high == 0 && need < 1<<62
	}
	if slices.Contains(h.shape, 0) {
		return 0, nil
	}
	if !fits {
		return 0, status.Runtimef("%s: the header describes an array of shape %.100s and dtype %v, whose size overflows", op,
			status.Textf("%v", h.shape), h.dtype)
	}
	return int64(need), nil
}

// checkSize compares the file's size with the size in the header.
func (h *header) checkSize(op string, have int64) error {
	need, err := h.computeSize(op)
	if err == nil && h.size+need != have {
		err = status.Runtimef("%s: the header describes an array of shape %.100s and dtype %v after %d bytes, which does not match the %d bytes of the file: it is damaged or truncated",
			op, status.Textf("%v", h.shape), h.dtype, h.size, have)
	}
	return err
}

// computeStrides returns the array's strides, in elements.
func (h *header) computeStrides() []int64 {
	if !h.fortran {
		return shape.ContiguousStrides(h.shape)
	}
	reversed := slices.Clone(h.shape)
	slices.Reverse(reversed)
	strides := shape.ContiguousStrides(reversed)
	slices.Reverse(strides)
	return strides
}

func (h *header) mapTensor(op string, source *file.Source) (*tensor.Tensor, error) {
	m, err := source.Map(op)
	if err != nil {
		return nil, err
	}
	defer m.Release()
	s, err := m.Slice(op, h.size, source.Size)
	if err != nil {
		return nil, err
	}
	defer s.Release()
	return tensor.New(op, s, h.dtype, h.shape, h.computeStrides(), 0)
}

// readTensor allocates the tensor and calls fill to read its elements.
func (h *header) readTensor(op string, fill func([]byte) error) (*tensor.Tensor, error) {
	count, err := shape.Numel(op, h.shape)
	if err != nil {
		return nil, err
	}
	s, err := storage.New(op, count*h.dtype.Size(), device.Host, false)
	if err != nil {
		return nil, err
	}
	defer s.Release()
	if err := fill(s.Bytes()); err != nil {
		return nil, err
	}
	if h.swapped {
		swapBytes(s.Bytes(), int(h.dtype.ToReal().Size()))
	}
	return tensor.New(op, s, h.dtype, h.shape, h.computeStrides(), 0)
}

// swapBytes reverses the bytes of numbers of n bytes.
func swapBytes(data []byte, n int) {
	for i := 0; i+n <= len(data); i += n {
		slices.Reverse(data[i : i+n])
	}
}

// Archive lays out an .npz file of named tensors. release frees the temporaries.
func Archive(op string, names []string, tensors []*tensor.Tensor) (plan *archive.Plan, release func(), err error) {
	if len(names) != len(tensors) {
		return nil, nil, status.Valuef("%s: %d names were given for %d tensors", op, len(names), len(tensors))
	}
	var images []*Image
	release = func() {
		for _, i := range images {
			i.Release()
		}
	}
	var records []archive.Record
	for k, t := range tensors {
		i, err := New(op, t)
		if err != nil {
			release()
			return nil, nil, err
		}
		images = append(images, i)
		records = append(records, archive.Record{Name: names[k] + suffix, Data: i.parts[0].Data, More: i.parts[1].Data})
	}
	if plan, err = archive.New(op, records); err != nil {
		release()
		return nil, nil, err
	}
	return plan, release, nil
}

// suffix is appended to the arrays' names in an archive.
const suffix = ".npy"

// LoadArchive reads all tensors of an .npz file.
func LoadArchive(op string, source *file.Source) (names []string, tensors []*tensor.Tensor, err error) {
	budget := source.Budget(op)
	defer budget.Close()
	a, err := archive.Open(op, source, budget)
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for _, e := range a.Entries {
		var t *tensor.Tensor
		name := strings.TrimSuffix(e.Name, suffix)
		if seen[name] {
			err = status.Runtimef("%s: the file has two arrays named %.100q", op, name)
		} else {
			t, err = loadEntry(op, a, e, budget)
		}
		if err != nil {
			for _, t := range tensors {
				t.Release()
			}
			return nil, nil, err
		}
		seen[name] = true
		names, tensors = append(names, name), append(tensors, t)
	}
	return names, tensors, nil
}

// entryCost is the memory of a tensor in an archive in addition to its bytes.
const entryCost = 1024

func loadEntry(op string, a *archive.Archive, e *archive.Entry, budget *file.Budget) (*tensor.Tensor, error) {
	if err := budget.Spend(entryCost); err != nil {
		return nil, err
	}
	op = fmt.Sprintf("%s: %.100s", op, e.Name)
	h, err := decodeHeader(op, func(n int64) ([]byte, error) { return a.Head(e, n) })
	if err == nil {
		err = h.checkSize(op, e.Size)
	}
	if err != nil {
		return nil, err
	}
	return h.readTensor(op, func(into []byte) error {
		return a.ReadInto([]archive.Target{{Entry: e, Parts: [][]byte{make([]byte, h.size), into}}})
	})
}
