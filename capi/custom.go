package main

// #include "custom.h"
// #include "handle.h"
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/status"
)

// lt_enter_custom runs a call of a custom operator. Its arguments are the list of tensors and the address of the call.
//
//export lt_enter_custom
func lt_enter_custom(c *C.lt_frame) (code C.int32_t) {
	defer func() {
		if v := recover(); v != nil {
			code = reportError(c, panicError(v))
		}
	}()
	emptySlots(c.thread, c.freed)
	f := frame{c: c}
	x := customCall{readAs[*C.lt_custom_call](f.findArgument(1))}
	made, err := f.makeContext().CallCustom(f.readTensors(0), x)
	for i := range f.readTensors(0) {
		if x.Writes(i) {
			refreshSlot(slotOf(unsafe.Slice((*unsafe.Pointer)(f.readList(0).data), i+1)[i]))
		}
	}
	if err == nil && c.thread.cancelled && c.thread.calls == 1 {
		for _, t := range made {
			t.Release()
		}
		err = status.Cancelledf("%s: the call was cancelled", x.Name())
	}
	if err == nil {
		err = f.setList(made, nil)
	}
	if err != nil {
		return reportError(c, err)
	}
	return C.TENSOR_OK
}

// lt_enter_range runs a loop of the application (tensor_parallel_for) on the threads of the library. Its arguments are the number of items,
// the grain, the function and its context.
//
//export lt_enter_range
func lt_enter_range(c *C.lt_frame) (code C.int32_t) {
	defer func() {
		if v := recover(); v != nil {
			code = reportError(c, panicError(v))
		}
	}()
	emptySlots(c.thread, c.freed)
	f := frame{c: c}
	err := forEachRange(f.readInt(0), f.readInt(1), f.readPointer(2), f.readPointer(3))
	if err == nil && c.thread.cancelled && c.thread.calls == 1 {
		err = status.Cancelledf("parallel_for: the call was cancelled")
	}
	if err != nil {
		return reportError(c, err)
	}
	return C.TENSOR_OK
}
