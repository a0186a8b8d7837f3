// Package main builds libtensor.so: handles, errors, and the entry point of calls from C.
package main

// #include "handle.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/warning"
)

func main() {}

// lt_enter runs one call. Every export passes through it, so that no panic of the engine, in this goroutine or in a
// worker's, leaves through C.
//
//export lt_enter
func lt_enter(c *C.lt_frame) (code C.int32_t) {
	defer func() {
		if v := recover(); v != nil {
			code = reportError(c, panicError(v))
		}
	}()
	emptySlots(c.thread, c.freed)
	f := frame{c: c}
	if c.number != 0 {
		t, err := tensor.WrappedNumber(f.readScalar(int(c.number) - 1))
		if err != nil {
			return reportError(c, err)
		}
		defer t.Recycle()
		f.number = t
	}
	var err error
	if c.mode == C.LT_OUT {
		err = f.runOut()
	} else {
		err = calls[c.op](f.makeContext(), f)
	}
	if err == nil && c.thread.cancelled && c.thread.calls == 1 { // a call within another one only stops launches
		err = dropResults(c)
	}
	if err != nil {
		return reportError(c, err)
	}
	return C.TENSOR_OK
}

// dropResults frees the results of a call that was cancelled after it had made them, and returns the error. It is not inlined, so that
// calls allocate no memory for it.
//
//go:noinline
func dropResults(c *C.lt_frame) error {
	C.lt_drop_results(c)
	return status.Cancelledf("%s: the call was cancelled", C.GoString(c.name))
}

// makeContext returns the context of the calling thread. The record is C's, since Go has no thread-local storage.
func (f frame) makeContext() dispatch.Context {
	return dispatch.With((*dispatch.Modes)(unsafe.Pointer(&f.c.thread.modes)))
}

// C's record of a thread's modes is Go's.
var (
	_ [unsafe.Sizeof(dispatch.Modes{})]struct{}            = [C.sizeof_lt_modes]struct{}{}
	_ [unsafe.Offsetof(dispatch.Modes{}.Grad)]struct{}     = [unsafe.Offsetof(C.lt_modes{}.grad)]struct{}{}
	_ [unsafe.Offsetof(dispatch.Modes{}.Saving)]struct{}   = [unsafe.Offsetof(C.lt_modes{}.saving)]struct{}{}
	_ [unsafe.Offsetof(dispatch.Modes{}.Level)]struct{}    = [unsafe.Offsetof(C.lt_modes{}.level)]struct{}{}
	_ [unsafe.Offsetof(dispatch.Modes{}.Autocast)]struct{} = [unsafe.Offsetof(C.lt_modes{}.autocast_enabled)]struct{}{}
	_ [unsafe.Offsetof(device.Device{}.Index)]struct{}     = [unsafe.Offsetof(C.lt_modes{}.device_index)]struct{}{}
)

// warnDeprecated returns a call that warns of a deprecated operator before it begins.
func warnDeprecated(op, instead string, call func(dispatch.Context, frame) error) func(dispatch.Context, frame) error {
	return func(c dispatch.Context, f frame) error {
		if err := warning.Deprecated.Of(op, "deprecated, as in PyTorch; %s", instead); err != nil {
			return err
		}
		return call(c, f)
	}
}

// runOut runs a call that writes to given tensors. When it fails, they have the shapes that they had.
func (f frame) runOut() (err error) {
	var saved [C.LT_RESULTS]*tensor.Saved
	for i := range saved {
		if s := f.c.out[i]; s != nil {
			saved[i] = new(tensor.Saved)
			saved[i].Save(f.readyTensor(slotFor(s)))
		}
	}
	done := false
	defer func() {
		if done && err == nil {
			return
		}
		for _, s := range saved {
			if s != nil {
				s.Restore()
			}
		}
	}()
	err = calls[f.c.op](f.makeContext(), f)
	done = true
	return err
}

// lt_empty empties freed slots without waiting for the next call.
//
//export lt_empty
func lt_empty(thread *C.lt_thread, freed *C.lt_slot) { emptySlots(thread, freed) }

// panicError returns the error of a call that ended in a panic: an intended error, or a defect of the library.
func panicError(v any) error {
	var here [32]uintptr
	stack := here[:runtime.Callers(1, here[:])]
	if p, ok := v.(*parallel.Panic); ok {
		v, stack = p.Value, p.Stack
	}
	if failure, ok := v.(*status.Error); ok {
		return failure
	}
	return &status.Error{Code: status.Internal, Msg: fmt.Sprintf("internal error: %v; please report this and where it came from: %s", v,
		formatStack(stack))}
}

// formatStack names the innermost functions of the library in a stack, the one that panicked first.
func formatStack(stack []uintptr) string {
	const module, most = "github.com/libtensor/libtensor/", 8
	var names []string
	panicked := false
	for frames := runtime.CallersFrames(stack); len(names) < most; {
		f, more := frames.Next()
		if panicked && strings.HasPrefix(f.Function, module) {
			names = append(names, fmt.Sprintf("%s:%d", strings.TrimPrefix(f.Function, module), f.Line))
		}
		panicked = panicked || f.Function == "runtime.gopanic"
		if !more {
			break
		}
	}
	return strings.Join(names, " < ")
}

// reportError reports the error of a call under the name of the operator that was called, unless errors keep the names of the inner
// operators.
func reportError(c *C.lt_frame, err error) C.int32_t {
	if !c.runs {
		err = status.In(C.GoString(c.name), err)
	}
	e := &status.Error{Code: status.Internal}
	errors.As(err, &e)
	message := append([]byte(err.Error()), 0)
	C.lt_fail(C.int32_t(e.Errno), (*C.char)(unsafe.Pointer(&message[0])))
	return C.int32_t(e.Code)
}
