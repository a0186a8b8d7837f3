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

func (f frame) findArgument(i int) *C.lt_value {
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

func (f frame) readTensor(i int) *tensor.Tensor {
	return f.readyTensor(slotFor(readAs[*C.lt_slot](f.findArgument(i))))
}

// readUnbackedTensor is readTensor for operators on the storage, which may have become too small for the tensor.
func (f frame) readUnbackedTensor(i int) *tensor.Tensor {
	s := slotFor(readAs[*C.lt_slot](f.findArgument(i)))
	if s.tensor.Busy() {
		f.rejectTensor(s.tensor)
	}
	return s.tensor
}

func (f frame) readTensorOptional(i int) *tensor.Tensor {
	if s := readAs[*C.lt_slot](f.findArgument(i)); s != nil {
		return f.readyTensor(slotFor(s))
	}
	return nil
}

// readOperand returns an argument that may have been given as a number.
func (f frame) readOperand(i int) *tensor.Tensor {
	if int(f.c.number) == i+1 {
		return f.number
	}
	return f.readTensor(i)
}

func (f frame) refreshTensor(i int) { refreshSlot(slotFor(readAs[*C.lt_slot](f.findArgument(i)))) }

// refreshSlot refreshes the metadata of a tensor that was written to, which may have another storage or autograd metadata now.
func refreshSlot(s *slot) {
	copyMetadata(s)
	s.setImmediate(freesEagerly(s.tensor))
}

// freeEagerly marks the tensors in use that now have autograd metadata: freeing their handles releases them at once.
func (f frame) freeEagerly() {
	thread := f.c.thread
	for _, c := range unsafe.Slice((**C.lt_slot)(unsafe.Pointer(thread.pins)), thread.used) {
		if s := slotFor(c); s.tensor != nil && s.tensor.AutogradMeta() != nil {
			s.setImmediate(true)
		}
	}
}

type list struct {
	data   unsafe.Pointer
	length int64
}

// readList returns a list in the caller's memory. That of an empty one is not looked at: its address may be any number.
func (f frame) readList(i int) list {
	v := f.findArgument(i)
	if l := readAs[struct {
		data   uintptr
		length int64
	}](v); l.length == 0 && l.data != 0 {
		return list{unsafe.Pointer(v), 0}
	}
	return readAs[list](v)
}

func (f frame) readTensors(i int) []*tensor.Tensor {
	l := f.readList(i)
	out := make([]*tensor.Tensor, l.length)
	for k, h := range unsafe.Slice((*unsafe.Pointer)(l.data), l.length) {
		if h != nil {
			out[k] = f.readyTensor(slotOf(h))
		}
	}
	return out
}

func (f frame) readStorage(i int) *storage.Storage {
	s := slotFor(readAs[*C.lt_slot](f.findArgument(i))).storage
	if s == nil {
		panic(status.Forkedf("%s: the storage was created before fork() on a device other than the CPU, and a forked child does not inherit its memory; copy it to the CPU before the fork",
			C.GoString(f.c.name)))
	}
	if s.Moving() {
		panic(status.Runtimef("%s: the storage is being resized by another thread", C.GoString(f.c.name)))
	}
	return s
}

func (f frame) readGeneratorOptional(i int) *random.Generator {
	if s := readAs[*C.lt_slot](f.findArgument(i)); s != nil {
		return slotFor(s).loadGenerator()
	}
	return nil
}

func (f frame) readGenerator(i int) *random.Generator {
	return slotFor(readAs[*C.lt_slot](f.findArgument(i))).loadGenerator()
}

func (f frame) readNode(i int) tensor.Node {
	return slotFor(readAs[*C.lt_slot](f.findArgument(i))).loadNode()
}

func (f frame) readScalar(i int) dtype.Scalar {
	return convertScalar(unsafe.Pointer(f.findArgument(i)))
}

func convertScalar(p unsafe.Pointer) dtype.Scalar {
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

func (f frame) readInt(i int) int64 { return readAs[int64](f.findArgument(i)) }

func (f frame) readIntOptional(i int) ops.Int { return ops.Int(readAs[int64](f.findArgument(i))) }

func (f frame) readBool(i int) bool { return readAs[int64](f.findArgument(i)) != 0 }

func (f frame) readBoolOptional(i int) ops.Bool { return ops.Bool(readAs[int64](f.findArgument(i))) }

func (f frame) readFloat(i int) float64 { return readAs[float64](f.findArgument(i)) }

func (f frame) readFloatOptional(i int) *float64 { return readAs[*float64](f.findArgument(i)) }

// readInts views the caller's memory: engine functions copy what they keep. A missing list is nil, an empty one is not.
func (f frame) readInts(i int) []int64 {
	l := f.readList(i)
	if l.data == nil {
		if l.length == 0 {
			return nil
		}
		return []int64{}
	}
	return unsafe.Slice((*int64)(l.data), l.length)
}

func (f frame) readFloats(i int) []float64 {
	l := f.readList(i)
	return unsafe.Slice((*float64)(l.data), l.length)
}

func (f frame) readScalars(i int) []dtype.Scalar {
	l := f.readList(i)
	out := make([]dtype.Scalar, l.length)
	for k := range out {
		out[k] = convertScalar(unsafe.Add(l.data, uintptr(k)*C.sizeof_tensor_scalar))
	}
	return out
}

func (f frame) readStr(i int) string { return C.GoString(readAs[*C.char](f.findArgument(i))) }

// readStrs copies a list of strings. An absent list is nil, an empty one is not.
func (f frame) readStrs(i int) []string {
	l := f.readList(i)
	if l.data == nil && l.length == 0 {
		return nil
	}
	out := make([]string, l.length)
	for k, text := range unsafe.Slice((**C.char)(l.data), l.length) {
		out[k] = C.GoString(text)
	}
	return out
}

func (f frame) readStrOptional(i int) string {
	if p := readAs[*C.char](f.findArgument(i)); p != nil {
		return C.GoString(p)
	}
	return ""
}

// readPointer returns an address from the caller, which may be any number: Go must not treat it as a Go pointer.
func (f frame) readPointer(i int) uintptr { return readAs[uintptr](f.findArgument(i)) }

func (f frame) readDtype(i int) dtype.DType { return dtype.DType(readAs[int64](f.findArgument(i))) }

func (f frame) readLayout(i int) tensor.Layout {
	return tensor.Layout(readAs[int64](f.findArgument(i)))
}

func (f frame) readFormat(i int) shape.MemoryFormat {
	return shape.MemoryFormat(readAs[int64](f.findArgument(i)))
}

func (f frame) readDevice(i int) device.Device {
	d := readAs[C.tensor_device](f.findArgument(i))
	return device.Device{Type: device.Type(d._type), Index: int16(d.index)}
}

func (f frame) readIndex(i int) []ops.IndexItem {
	l := f.readList(i)
	out := make([]ops.IndexItem, l.length)
	for k, item := range unsafe.Slice((*C.tensor_index)(l.data), l.length) {
		out[k] = ops.IndexItem{Kind: ops.IndexKind(item.kind), Start: int64(item.start), Stop: int64(item.stop), Step: int64(item.step)}
		if item.kind == C.TENSOR_INDEX_TENSOR {
			out[k].Tensor = f.readyTensor(slotOf(unsafe.Pointer(item.tensor)))
		}
	}
	return out
}

// findOutput returns the tensor for result i: nil in a functional call, self in place.
func (f frame) findOutput(i int) *tensor.Tensor {
	switch f.c.mode {
	case C.LT_INPLACE:
		return f.readTensor(0)
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
			refreshSlot(slotFor(readAs[*C.lt_slot](f.findArgument(0))))
		case C.LT_OUT:
			refreshSlot(slotFor(f.c.out[i]))
		default:
			err = f.setTensorAt(i, err, t)
		}
	}
	if err != nil {
		for i := range results {
			C.tensor_free((*C.tensor_t)(*(*unsafe.Pointer)(f.findResult(i))))
		}
	}
	return err
}

func (f frame) findResult(i int) unsafe.Pointer { return unsafe.Pointer(&f.c.results[i]) }

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
			*(*uintptr)(f.findResult(i)) = v
		case tensor.Node:
			err = f.setNodeAt(i, err, v)
		case nil: // no node
			*(*unsafe.Pointer)(f.findResult(i)) = nil
		case int64:
			*(*int64)(f.findResult(i)) = v
		case float64:
			*(*float64)(f.findResult(i)) = v
		case bool:
			*(*bool)(f.findResult(i)) = v
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
		*(*unsafe.Pointer)(f.findResult(i)) = handleOf(s)
	}
	return err
}

// freeMixed frees the handles of results that were returned.
func (f frame) freeMixed(results []any) {
	for i, r := range results {
		l := readAs[list]((*C.lt_value)(f.findResult(i)))
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
	*(**C.char)(f.findResult(i)) = C.CString(text)
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
	*(*list)(f.findResult(i)) = list{array, int64(len(texts))}
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
	*(*list)(f.findResult(i)) = list{array, int64(n)}
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
	*(*unsafe.Pointer)(f.findResult(0)) = handleOf(h)
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
	*(*unsafe.Pointer)(f.findResult(0)) = handleOf(h)
	return nil
}

func (f frame) setNode(n tensor.Node, err error) error { return f.setNodeAt(0, err, n) }

func (f frame) setNodeAt(i int, err error, n tensor.Node) error {
	*(*unsafe.Pointer)(f.findResult(i)) = nil
	if err != nil || n == nil {
		return err
	}
	s, err := newNode(f.c.thread, n)
	if err == nil {
		*(*unsafe.Pointer)(f.findResult(i)) = handleOf(s)
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
	*(*C.tensor_scalar)(f.findResult(0)) = c
	return err
}

func (f frame) setInt(v int64, err error) error { return f.setInts(err, v) }

func (f frame) setInts(err error, v ...int64) error {
	for i := range v {
		*(*int64)(f.findResult(i)) = v[i]
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
	*(*float64)(f.findResult(0)) = v
	return err
}

func (f frame) setDtype(d dtype.DType, err error) error { return f.setInt(int64(d), err) }

func (f frame) setStr(s string, err error) error { return f.setText(0, err, s) }

func (f frame) setPointer(p uintptr, err error) error {
	*(*uintptr)(f.findResult(0)) = p
	return err
}

func (f frame) setDevice(d device.Device, err error) error {
	*(*C.tensor_device)(f.findResult(0)) = C.tensor_device{_type: C.int32_t(d.Type), index: C.int32_t(d.Index)}
	return err
}
