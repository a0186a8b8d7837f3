package main

// #include "handle.h"
// #include <stdlib.h>
// #include <string.h>
import "C"

import (
	"cmp"
	"strings"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// frame returns generated calls their arguments and takes their results.
type frame struct {
	c      *C.lt_frame
	number *tensor.Tensor // represents the operand that was given as a number
}

func (f frame) value(i int) *C.lt_value {
	return (*C.lt_value)(unsafe.Add(unsafe.Pointer(f.c.args), uintptr(i)*C.sizeof_lt_value))
}

// readAs returns the value of an argument as a T.
func readAs[T any](v *C.lt_value) T { return *(*T)(unsafe.Pointer(v)) }

// readyTensor returns the tensor of a slot. It panics with an error if another thread is changing the tensor, or its storage is too small.
func (f frame) readyTensor(s *slot) *tensor.Tensor {
	if !s.tensor.Ready() {
		f.rejectTensor(s.tensor)
	}
	return s.tensor
}

// rejectTensor ends the call: another thread is changing the tensor at this moment, or its storage is too small.
func (f frame) rejectTensor(t *tensor.Tensor) { panic(t.Unready(C.GoString(f.c.name))) }

func (f frame) tensor(i int) *tensor.Tensor {
	return f.readyTensor(slotFor(readAs[*C.lt_slot](f.value(i))))
}

// unbacked is tensor for operators on the storage, which may have become too small for the tensor.
func (f frame) unbacked(i int) *tensor.Tensor {
	s := slotFor(readAs[*C.lt_slot](f.value(i)))
	if s.tensor.Busy() {
		f.rejectTensor(s.tensor)
	}
	return s.tensor
}

func (f frame) tensorOptional(i int) *tensor.Tensor {
	if s := readAs[*C.lt_slot](f.value(i)); s != nil {
		return f.readyTensor(slotFor(s))
	}
	return nil
}

// operand returns an argument that may have been given as a number.
func (f frame) operand(i int) *tensor.Tensor {
	if int(f.c.number) == i+1 {
		return f.number
	}
	return f.tensor(i)
}

func (f frame) refresh(i int) { refreshSlot(slotFor(readAs[*C.lt_slot](f.value(i)))) }

// refreshSlot refreshes the metadata of a tensor that was written to, which may have another storage or autograd metadata now.
func refreshSlot(s *slot) {
	copyMetadata(s)
	s.setImmediate(freesEagerly(s.tensor))
}

// freeEagerly marks the tensors in use that now have autograd metadata: freeing their handles releases them at once.
func (f frame) freeEagerly() {
	thread := f.c.thread
	for _, c := range unsafe.Slice((**C.lt_slot)(unsafe.Pointer(thread.pins)), thread.used) {
		if s := slotFor(c); s.tensor != nil && s.tensor.History() != nil {
			s.setImmediate(true)
		}
	}
}

type list struct {
	data   unsafe.Pointer
	length int64
}

// list returns a list in the caller's memory. That of an empty one is not looked at: its address may be any number.
func (f frame) list(i int) list {
	v := f.value(i)
	if l := readAs[struct {
		data   uintptr
		length int64
	}](v); l.length == 0 && l.data != 0 {
		return list{unsafe.Pointer(v), 0}
	}
	return readAs[list](v)
}

func (f frame) tensors(i int) []*tensor.Tensor {
	l := f.list(i)
	out := make([]*tensor.Tensor, l.length)
	for k, h := range unsafe.Slice((*unsafe.Pointer)(l.data), l.length) {
		if h != nil {
			out[k] = f.readyTensor(slotOf(h))
		}
	}
	return out
}

func (f frame) storage(i int) *storage.Storage {
	s := slotFor(readAs[*C.lt_slot](f.value(i))).storage
	if s == nil {
		panic(status.Forkedf("%s: the storage was created before fork() on a device other than the CPU, and a forked child does not inherit its memory; copy it to the CPU before the fork",
			C.GoString(f.c.name)))
	}
	if s.Moving() {
		panic(status.Runtimef("%s: the storage is being resized by another thread", C.GoString(f.c.name)))
	}
	return s
}

func (f frame) generatorOptional(i int) *random.Generator {
	if s := readAs[*C.lt_slot](f.value(i)); s != nil {
		return slotFor(s).generator()
	}
	return nil
}

func (f frame) generator(i int) *random.Generator {
	return slotFor(readAs[*C.lt_slot](f.value(i))).generator()
}

func (f frame) node(i int) tensor.Node { return slotFor(readAs[*C.lt_slot](f.value(i))).node() }

func (f frame) scalar(i int) dtype.Scalar { return readScalar(unsafe.Pointer(f.value(i))) }

func readScalar(p unsafe.Pointer) dtype.Scalar {
	c := (*C.tensor_scalar)(p)
	s := dtype.Scalar{Kind: dtype.Kind(c.kind)}
	switch s.Kind {
	case dtype.KindBool, dtype.KindInt:
		s.I = *(*int64)(unsafe.Pointer(&c.value))
	case dtype.KindFloat:
		s.F = *(*float64)(unsafe.Pointer(&c.value))
	case dtype.KindComplex:
		parts := *(*[2]float64)(unsafe.Pointer(&c.value))
		s.F, s.Im = parts[0], parts[1]
	case dtype.KindUint:
		return dtype.UintScalar(*(*uint64)(unsafe.Pointer(&c.value)))
	default:
		s.Kind = dtype.KindNone
	}
	return s
}

func (f frame) int(i int) int64 { return readAs[int64](f.value(i)) }

func (f frame) intOptional(i int) ops.Int { return ops.Int(readAs[int64](f.value(i))) }

func (f frame) bool(i int) bool { return readAs[int64](f.value(i)) != 0 }

func (f frame) boolOptional(i int) ops.Bool { return ops.Bool(readAs[int64](f.value(i))) }

func (f frame) float(i int) float64 { return readAs[float64](f.value(i)) }

func (f frame) floatOptional(i int) *float64 { return readAs[*float64](f.value(i)) }

// ints views the caller's memory: engine functions copy what they keep. A missing list is nil, an empty one is not.
func (f frame) ints(i int) []int64 {
	l := f.list(i)
	if l.data == nil {
		if l.length == 0 {
			return nil
		}
		return []int64{}
	}
	return unsafe.Slice((*int64)(l.data), l.length)
}

func (f frame) floats(i int) []float64 {
	l := f.list(i)
	return unsafe.Slice((*float64)(l.data), l.length)
}

func (f frame) scalars(i int) []dtype.Scalar {
	l := f.list(i)
	out := make([]dtype.Scalar, l.length)
	for k := range out {
		out[k] = readScalar(unsafe.Add(l.data, uintptr(k)*C.sizeof_tensor_scalar))
	}
	return out
}

func (f frame) str(i int) string { return C.GoString(readAs[*C.char](f.value(i))) }

// strs copies a list of strings. An absent list is nil, an empty one is not.
func (f frame) strs(i int) []string {
	l := f.list(i)
	if l.data == nil && l.length == 0 {
		return nil
	}
	out := make([]string, l.length)
	for k, text := range unsafe.Slice((**C.char)(l.data), l.length) {
		out[k] = C.GoString(text)
	}
	return out
}

func (f frame) strOptional(i int) string {
	if p := readAs[*C.char](f.value(i)); p != nil {
		return C.GoString(p)
	}
	return ""
}

// pointer returns an address from the caller, which may be any number: Go must not treat it as a Go pointer.
func (f frame) pointer(i int) uintptr { return readAs[uintptr](f.value(i)) }

func (f frame) dtype(i int) dtype.DType { return dtype.DType(readAs[int64](f.value(i))) }

func (f frame) layout(i int) tensor.Layout { return tensor.Layout(readAs[int64](f.value(i))) }

func (f frame) format(i int) shape.MemoryFormat { return shape.MemoryFormat(readAs[int64](f.value(i))) }

func (f frame) device(i int) device.Device {
	d := readAs[C.tensor_device](f.value(i))
	return device.Device{Type: device.Type(d._type), Index: int16(d.index)}
}

func (f frame) index(i int) []ops.IndexItem {
	l := f.list(i)
	out := make([]ops.IndexItem, l.length)
	for k, item := range unsafe.Slice((*C.tensor_index)(l.data), l.length) {
		out[k] = ops.IndexItem{Kind: ops.IndexKind(item.kind), Start: int64(item.start), Stop: int64(item.stop), Step: int64(item.step)}
		if item.kind == C.TENSOR_INDEX_TENSOR {
			out[k].Tensor = f.readyTensor(slotOf(unsafe.Pointer(item.tensor)))
		}
	}
	return out
}

// out returns the tensor for result i: nil in a functional call, self in place.
func (f frame) out(i int) *tensor.Tensor {
	switch f.c.mode {
	case C.LT_INPLACE:
		return f.tensor(0)
	case C.LT_OUT:
		return slotFor(f.c.out[i]).tensor
	}
	return nil
}

// setTensor returns a result to the caller, or refreshes the metadata of the tensor that it was written to.
func (f frame) setTensor(t *tensor.Tensor, err error) error { return f.setTensors(err, t) }

// setTensors returns results to the caller, or refreshes the metadata of those that were written in place. If a handle cannot be created,
// none is returned.
func (f frame) setTensors(err error, results ...*tensor.Tensor) error {
	if err != nil {
		return err
	}
	for i, t := range results {
		switch f.c.mode {
		case C.LT_INPLACE:
			refreshSlot(slotFor(readAs[*C.lt_slot](f.value(0))))
		case C.LT_OUT:
			refreshSlot(slotFor(f.c.out[i]))
		default:
			err = f.setTensorAt(i, err, t)
		}
	}
	if err != nil {
		for i := range results {
			C.tensor_free((*C.tensor_t)(*(*unsafe.Pointer)(f.result(i))))
		}
	}
	return err
}

func (f frame) result(i int) unsafe.Pointer { return unsafe.Pointer(&f.c.results[i]) }

// setMixed returns results of several types. If a handle cannot be created, the results before it are freed and those after it released.
func (f frame) setMixed(err error, results ...any) error {
	if err != nil {
		return err
	}
	for i, r := range results {
		switch v := r.(type) {
		case *tensor.Tensor:
			err = f.setTensorAt(i, err, v)
		case uintptr:
			*(*uintptr)(f.result(i)) = v
		case tensor.Node:
			err = f.setNodeAt(i, err, v)
		case nil: // no node
			*(*unsafe.Pointer)(f.result(i)) = nil
		case int64:
			*(*int64)(f.result(i)) = v
		case float64:
			*(*float64)(f.result(i)) = v
		case bool:
			*(*bool)(f.result(i)) = v
		case string:
			err = f.setText(i, err, v)
		case []string:
			err = f.setTexts(i, err, v)
		case []*tensor.Tensor:
			if err == nil {
				err = f.setListAt(i, v)
				continue
			}
			for _, t := range v {
				t.Release()
			}
		}
	}
	if err != nil {
		f.freeMixed(results)
	}
	return err
}

func (f frame) setTensorAt(i int, err error, t *tensor.Tensor) error {
	if err != nil || t == nil { // absent results are NULL
		t.Release()
		return err
	}
	s, err := newTensor(f.c.thread, t)
	if err == nil {
		*(*unsafe.Pointer)(f.result(i)) = handleOf(s)
	}
	return err
}

// freeMixed frees the handles of results that were returned.
func (f frame) freeMixed(results []any) {
	for i, r := range results {
		l := readAs[list]((*C.lt_value)(f.result(i)))
		switch r.(type) {
		case *tensor.Tensor:
			C.tensor_free((*C.tensor_t)(l.data))
		case string:
			C.tensor_string_free((*C.char)(l.data))
		case []string:
			C.tensor_string_list_free((**C.char)(l.data), C.int64_t(l.length))
		case []*tensor.Tensor:
			C.tensor_list_free((**C.tensor_t)(l.data), C.int64_t(l.length))
		}
	}
}

// setText copies a string to C, which has no strings with zeros in them.
func (f frame) setText(i int, err error, text string) error {
	if err != nil || strings.Contains(text, "\x00") {
		return cmp.Or(err, status.Runtimef("the string %.80q contains a NUL character", text))
	}
	*(**C.char)(f.result(i)) = C.CString(text)
	return nil
}

// newPointers allocates C memory for n pointers. It is zeroed: when a pointer is written during garbage collection, Go inspects the old
// value.
func newPointers(n int) unsafe.Pointer { return C.calloc(C.size_t(max(n, 1)), 8) }

func (f frame) setTexts(i int, err error, texts []string) error {
	for _, text := range texts {
		if err == nil && strings.Contains(text, "\x00") {
			err = status.Runtimef("the name %.80q contains a NUL character", text)
		}
	}
	if err != nil {
		return err
	}
	array := newPointers(len(texts))
	for k, text := range texts {
		unsafe.Slice((**C.char)(array), len(texts))[k] = C.CString(text)
	}
	*(*list)(f.result(i)) = list{array, int64(len(texts))}
	return nil
}

func (f frame) setList(tensors []*tensor.Tensor, err error) error {
	if err != nil {
		return err
	}
	return f.setListAt(0, tensors)
}

func (f frame) setListAt(i int, tensors []*tensor.Tensor) error {
	n := len(tensors)
	array := newPointers(n)
	handles := unsafe.Slice((*unsafe.Pointer)(array), n)
	for k, t := range tensors {
		if handles[k] = nil; t == nil {
			continue
		}
		s, err := newTensor(f.c.thread, t)
		if err != nil {
			C.tensor_list_free((**C.tensor_t)(array), C.int64_t(k))
			for _, rest := range tensors[k+1:] {
				rest.Release()
			}
			return err
		}
		handles[k] = handleOf(s)
	}
	*(*list)(f.result(i)) = list{array, int64(n)}
	return nil
}

func (f frame) setStorage(s *storage.Storage, err error) error {
	if err != nil {
		return err
	}
	h, err := newStorage(f.c.thread, s)
	if err != nil {
		return err
	}
	*(*unsafe.Pointer)(f.result(0)) = handleOf(h)
	return nil
}

func (f frame) setGenerator(g *random.Generator, err error) error {
	if err != nil {
		return err
	}
	h, err := newGenerator(f.c.thread, g)
	if err != nil {
		return err
	}
	*(*unsafe.Pointer)(f.result(0)) = handleOf(h)
	return nil
}

func (f frame) setNode(n tensor.Node, err error) error { return f.setNodeAt(0, err, n) }

func (f frame) setNodeAt(i int, err error, n tensor.Node) error {
	*(*unsafe.Pointer)(f.result(i)) = nil
	if err != nil || n == nil {
		return err
	}
	s, err := newNode(f.c.thread, n)
	if err == nil {
		*(*unsafe.Pointer)(f.result(i)) = handleOf(s)
	}
	return err
}

func (f frame) setScalar(s dtype.Scalar, err error) error {
	c := C.tensor_scalar{kind: C.int32_t(s.Kind)}
	switch s.Kind {
	case dtype.KindBool, dtype.KindInt, dtype.KindUint:
		*(*int64)(unsafe.Pointer(&c.value)) = s.I
	default:
		*(*[2]float64)(unsafe.Pointer(&c.value)) = [2]float64{s.F, s.Im}
	}
	*(*C.tensor_scalar)(f.result(0)) = c
	return err
}

func (f frame) setInt(v int64, err error) error { return f.setInts(err, v) }

func (f frame) setInts(err error, v ...int64) error {
	for i := range v {
		*(*int64)(f.result(i)) = v[i]
	}
	return err
}

func (f frame) setBool(v bool, err error) error {
	n := int64(0)
	if v {
		n = 1
	}
	return f.setInt(n, err)
}

func (f frame) setFloat(v float64, err error) error {
	*(*float64)(f.result(0)) = v
	return err
}

func (f frame) setDtype(d dtype.DType, err error) error { return f.setInt(int64(d), err) }

func (f frame) setStr(s string, err error) error { return f.setText(0, err, s) }

func (f frame) setPointer(p uintptr, err error) error {
	*(*uintptr)(f.result(0)) = p
	return err
}

func (f frame) setDevice(d device.Device, err error) error {
	*(*C.tensor_device)(f.result(0)) = C.tensor_device{_type: C.int32_t(d.Type), index: C.int32_t(d.Index)}
	return err
}
