package main

// #include "custom.h"
// #include "handle.h"
// #include <stdlib.h>
// static lt_thread *lt_calling_thread(void) { return lt_me; }
// static lt_slot *lt_handle_slot(uintptr_t handle) { return lt_find((void *)handle); }
// static void lt_free_handle(uintptr_t handle) { tensor_free((tensor_t *)handle); }
// static int32_t lt_call_range(uintptr_t f, uintptr_t context, int64_t begin, int64_t end) {
//   return (int32_t)((tensor_range_function)f)((void *)context, begin, end);
// }
import "C"

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// customCall implements dispatch.Custom: a call of an operator that the application has defined. The C structure lives as long as the call.
type customCall struct{ c *C.lt_custom_call }

func (x customCall) Name() string { return C.GoString(x.c.target.name) }

func (x customCall) Composite() bool { return bool(x.c.definition.options.composite) }

// listFormals returns the parameter of each tensor.
func (x customCall) listFormals() []C.uint8_t { return unsafe.Slice(x.c.formals, x.c.tensor_count) }

func (x customCall) Writes(i int) bool {
	return bool(unsafe.Slice(x.c.target.formals, x.c.target.count)[x.listFormals()[i]].is_written)
}

func (x customCall) listResults() string { return C.GoString(x.c.target.results) }

func (x customCall) IsPlain() bool {
	return !slices.ContainsFunc([]byte(x.listResults()), func(letter byte) bool { return letter != 'T' && letter != 'A' })
}

func (x customCall) Saves(i int, isResult bool) bool {
	options := &x.c.definition.options
	switch {
	case options.backward == nil:
		return false
	case !isResult:
		return options.unsaved_arguments>>x.listFormals()[i]&1 == 0
	}
	for k, n := range x.c.lengths { // the result of the tensor
		if i < int(n) {
			return options.unsaved_results>>k&1 == 0
		}
		i -= int(n)
	}
	return false
}

func (x customCall) Run(c dispatch.Context, given []*tensor.Tensor, meta bool) ([]*tensor.Tensor, error) {
	var m C.lt_made
	made, err := callCustom(c, given, &m, func(h *C.uintptr_t) C.int32_t { return C.lt_call_function(x.c, h, C._Bool(meta), &m) })
	if err == nil && x.c.runs > 0 && x.c.lengths != m.lengths {
		for _, t := range made {
			t.Release()
		}
		return nil, status.Runtimef("%s: inside vmap: the lengths of lists of results differ between batch elements", x.Name())
	}
	x.c.lengths, x.c.results = m.lengths, m.results
	x.c.runs++
	return made, err
}

func (x customCall) Batched(c dispatch.Context, given []*tensor.Tensor, mapped []bool, size int64) ([]*tensor.Tensor, []bool, bool, error) {
	if x.c.definition.options.vmap == nil {
		return nil, nil, false, nil
	}
	var m C.lt_made
	flags := (*C._Bool)(C.calloc(C.size_t(len(mapped)+1), 1))
	defer C.free(unsafe.Pointer(flags))
	for i, is := range mapped {
		unsafe.Slice(flags, len(mapped))[i] = C._Bool(is)
	}
	made, err := callCustom(c, given, &m, func(h *C.uintptr_t) C.int32_t { return C.lt_call_vmap(x.c, h, flags, C.int64_t(size), &m) })
	x.c.lengths = m.lengths
	var batched []bool
	for k, n := range m.lengths {
		batched = append(batched, slices.Repeat([]bool{bool(m.batched[k])}, int(n))...)
	}
	return made, batched, true, err
}

// callCustom calls a function of the application with handles of tensors, in the modes of c. The caller owns the results.
func callCustom(c dispatch.Context, given []*tensor.Tensor, m *C.lt_made, f func(h *C.uintptr_t) C.int32_t) ([]*tensor.Tensor, error) {
	thread := C.lt_calling_thread()
	level := thread.modes.level
	thread.modes.level = C.uint32_t(c.LevelNumber())
	_, err := runCallback(c, given, 0, func(h handleArray) C.int32_t { return f((*C.uintptr_t)(h.array)) })
	thread.modes.level = level
	defer C.free(unsafe.Pointer(m.handles))
	if err != nil {
		return nil, err
	}
	made := make([]*tensor.Tensor, m.count)
	for i, handle := range unsafe.Slice(m.handles, m.count) {
		if handle == 0 {
			continue
		}
		s := C.lt_handle_slot(handle)
		if s == nil || s.kind != C.LT_TENSOR {
			err = status.Typef("a function of a custom operator returned a tensor that another thread freed")
			continue
		}
		made[i] = slotFor(s).tensor.Alias()
		C.lt_free_handle(handle)
	}
	if err != nil {
		for _, t := range made {
			t.Release()
		}
		return nil, err
	}
	return made, nil
}

// derivative implements dispatch.Derivative.
type derivative struct {
	x     customCall
	grads int
}

func (x customCall) Derivative() (dispatch.Derivative, error) {
	kept := C.lt_keep_call(x.c)
	if kept == nil {
		return nil, status.Memoryf("%s: there is no memory for the arguments that the backward pass needs", x.Name())
	}
	d := derivative{x: customCall{kept}}
	for _, n := range kept.lengths {
		d.grads += int(n)
	}
	return d, nil
}

func (d derivative) Backward(c dispatch.Context, grads, saved []*tensor.Tensor) ([]*tensor.Tensor, error) {
	var m C.lt_made
	return callCustom(c, slices.Concat(grads, saved), &m, func(h *C.uintptr_t) C.int32_t {
		return C.lt_call_backward(d.x.c, h, C.int64_t(d.grads), &m)
	})
}

func (d derivative) Release() { C.lt_drop_call(d.x.c) }

func forEachRange(n, grain int64, function, context uintptr) error {
	var lock sync.Mutex
	var first error
	var failed atomic.Bool
	at := n
	parallel.For(n, grain, func(begin, end int64) {
		if failed.Load() {
			return
		}
		none := [1]C.char{}
		C.lt_fail(0, &none[0])
		code := C.lt_call_range(C.uintptr_t(function), C.uintptr_t(context), C.int64_t(begin), C.int64_t(end))
		if code == C.TENSOR_OK {
			return
		}
		err := callbackError(code)
		failed.Store(true)
		lock.Lock()
		defer lock.Unlock()
		if begin < at {
			at, first = begin, err
		}
	})
	return first
}
