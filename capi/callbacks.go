package main

// #define _GNU_SOURCE
// #include "handle.h"
// #include <pthread.h>
// #include <stdbool.h>
// #include <stdlib.h>
// static lt_thread *lt_caller(void) { return lt_me; }
// static int32_t lt_call(uintptr_t function, uintptr_t context, void *given, int64_t n, void *made, int64_t m) {
//   return (int32_t)((tensor_callback)function)((void *)context, given, n, made, m);
// }
// static int32_t lt_pack(uintptr_t function, uintptr_t context, void *saved, uintptr_t *packed) {
//   return (int32_t)((tensor_pack)function)((void *)context, saved, (void **)packed);
// }
// static int32_t lt_unpack(uintptr_t function, uintptr_t context, uintptr_t packed, void *made) {
//   return (int32_t)((tensor_unpack)function)((void *)context, (void *)packed, made);
// }
// static void lt_watch(uintptr_t function, uintptr_t context, void *node, _Bool failed) {
//   ((tensor_watcher)function)((void *)context, node, failed);
// }
// // Whether the stack of the thread has room for a function of the application, and what that calls.
// static bool lt_has_room(void) {
//   static _Thread_local char *end;
//   static _Thread_local size_t needed;
//   if (!end) {
//     pthread_attr_t attributes;
//     void *low;
//     size_t size;
//     if (pthread_getattr_np(pthread_self(), &attributes)) return true;
//     pthread_attr_getstack(&attributes, &low, &size);
//     pthread_attr_destroy(&attributes);
//     needed = size / 4 < 262144 ? size / 4 : 262144;
//     end = (char *)low;
//   }
//   char here;
//   return (size_t)(&here - end) > needed;
// }
// static lt_slot *lt_lookup(uintptr_t handle) { return lt_find((void *)handle); }
// static void lt_drop(uintptr_t handle) { tensor_free((tensor_t *)handle); }
// static void lt_delete(uintptr_t deleter, uintptr_t context) { ((tensor_deleter)deleter)((void *)context); }
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/autograd"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/warning"
)

func init() {
	autograd.Serve(hostProgram{})
	tensor.Holding = tensorsHolding
	warning.Serve(hostProgram{})
}

// tensorsHolding returns the tensors of handles over a storage, which are pinned, and those of transforms, which may contain such tensors.
func tensorsHolding(memory *storage.Storage) (found []*tensor.Tensor) {
	slots.Lock()
	defer slots.Unlock()
	for i := range slots.made {
		s := &slots.chunks[i/chunkSlots][i%chunkSlots]
		t := s.tensor
		if t == nil || t.Storage() != memory && t.Keys()&tensor.Transformed == 0 || C.lt_pin(handleOf(s.c)) == nil || s.tensor != t {
			continue // the slot may have become another tensor's until it was pinned
		}
		s.setImmediate(true)
		found = append(found, t)
	}
	return found
}

// hostProgram is the application that calls the library, and whose functions the library calls back on the same thread.
type hostProgram struct{}

// handleArray holds handles in C's memory: given ones, which are freed after the callback, and slots for those that the callback creates.
type handleArray struct {
	array unsafe.Pointer
	given int
	made  int
}

// listHandles returns the handles as numbers: the callback may have stored arbitrary values.
func (h handleArray) listHandles() []uintptr {
	return unsafe.Slice((*uintptr)(h.array), h.given+h.made)
}

func (h handleArray) findResults() unsafe.Pointer { return unsafe.Add(h.array, 8*h.given) }

func newHandles(thread *C.lt_thread, given []*tensor.Tensor, made int) (handleArray, error) {
	h := handleArray{C.calloc(C.size_t(len(given)+made+1), 8), len(given), made}
	for i, t := range given {
		if t == nil {
			continue
		}
		s, err := newTensor(thread, t.Alias())
		if err != nil {
			h.freeAll()
			return h, err
		}
		h.listHandles()[i] = uintptr(handleOf(s))
	}
	return h, nil
}

func (h handleArray) freeAll() {
	for _, handle := range h.listHandles() {
		C.lt_drop(C.uintptr_t(handle))
	}
	C.free(h.array)
}

// runCallback runs a callback, with the grad mode of c, and returns its results.
func runCallback(c dispatch.Context, given []*tensor.Tensor, made int, f func(h handleArray) C.int32_t) ([]*tensor.Tensor, error) {
	if !C.lt_has_room() {
		return nil, nestingError()
	}
	thread := C.lt_caller()
	h, err := newHandles(thread, given, made)
	if err != nil {
		return nil, err
	}
	defer func() {
		h.freeAll()
		emptySlots(thread, C.lt_take_freed()) // no other thread then sees the objects that the callback released
	}()
	before, recording := thread.modes, c.Recording() // c may read the modes of the thread
	thread.modes.grad = 0
	if recording {
		thread.modes.grad = 1
	}
	thread.modes.saving = C.uint32_t(c.Saving())
	none := [1]C.char{}
	C.lt_fail(0, &none[0])
	code := f(h)
	thread.modes = before
	if code != C.TENSOR_OK {
		return nil, callbackError(code)
	}
	results := make([]*tensor.Tensor, made)
	for i, handle := range h.listHandles()[h.given:] {
		if handle == 0 {
			continue
		}
		s := C.lt_lookup(C.uintptr_t(handle))
		if s == nil || s.kind != C.LT_TENSOR {
			for _, t := range results {
				t.Release()
			}
			return nil, status.Typef("a callback returned a value that is not a live tensor: result %d, %#x", i, handle)
		}
		results[i] = slotFor(s).tensor.Alias()
	}
	return results, nil
}

func nestingError() error {
	return status.Runtimef("callbacks are nested too deeply for the stack of the thread")
}

// callbackError returns the error of a callback that has failed.
func callbackError(code C.int32_t) error {
	text := C.GoString(C.tensor_last_error())
	if code < 0 || code > C.TENSOR_ERROR_CANCELLED {
		return status.Runtimef("a callback returned %d, which is not a tensor_status", code)
	}
	if text == "" {
		text = "a callback returned an error without a message; set one with tensor_set_last_error()"
	}
	return &status.Error{Code: status.Code(code), Msg: text}
}

func (hostProgram) Call(c dispatch.Context, function, context uintptr, given []*tensor.Tensor, made int) ([]*tensor.Tensor, error) {
	return runCallback(c, given, made, func(h handleArray) C.int32_t {
		return C.lt_call(C.uintptr_t(function), C.uintptr_t(context), h.array, C.int64_t(h.given), h.findResults(), C.int64_t(h.made))
	})
}

func (hostProgram) Pack(c dispatch.Context, function, context uintptr, t *tensor.Tensor) (packed uintptr, err error) {
	cell := (*C.uintptr_t)(C.calloc(1, 8))
	defer C.free(unsafe.Pointer(cell))
	_, err = runCallback(c, []*tensor.Tensor{t}, 0, func(h handleArray) C.int32_t {
		return C.lt_pack(C.uintptr_t(function), C.uintptr_t(context), h.array, cell)
	})
	return uintptr(*cell), err
}

func (hostProgram) Unpack(c dispatch.Context, function, context, packed uintptr) (*tensor.Tensor, error) {
	made, err := runCallback(c, nil, 1, func(h handleArray) C.int32_t {
		return C.lt_unpack(C.uintptr_t(function), C.uintptr_t(context), C.uintptr_t(packed), h.findResults())
	})
	if err != nil {
		return nil, err
	}
	return made[0], nil
}

func (hostProgram) Watch(function, context uintptr, n tensor.Node, failed bool) {
	s, err := newNode(C.lt_caller(), n)
	if err != nil {
		return
	}
	handle := handleOf(s)
	C.lt_watch(C.uintptr_t(function), C.uintptr_t(context), handle, C._Bool(failed))
	C.tensor_node_free((*C.tensor_node_t)(handle))
}

func (hostProgram) Listens() bool { return bool(C.lt_listens()) }

// Warn calls the application's warning handler, in the modes of the thread, which are restored afterwards.
func (hostProgram) Warn(kind, text string) error {
	if !C.lt_has_room() {
		return nestingError()
	}
	thread := C.lt_caller()
	before := thread.modes
	none := [1]C.char{}
	C.lt_fail(0, &none[0])
	c, message := C.CString(kind), C.CString(text)
	code := C.lt_warn(c, message)
	C.free(unsafe.Pointer(c))
	C.free(unsafe.Pointer(message))
	thread.modes = before
	if code != C.TENSOR_OK {
		return callbackError(code)
	}
	return nil
}

func (hostProgram) Delete(deleter, context uintptr) {
	C.lt_delete(C.uintptr_t(deleter), C.uintptr_t(context))
}
