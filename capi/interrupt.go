package main

// #include "interrupt.h"
import "C"

import (
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/parallel"
)

// lt_cancel is notified when some thread's call is cancelled, and when none is any more.
//
//export lt_cancel
func lt_cancel(some C._Bool) { backend.Cancel(bool(some)) }

func init() {
	parallel.Interruptible = (*atomic.Int32)(unsafe.Pointer(&C.lt_interruptible))
	parallel.Poll = func() bool { return bool(C.lt_poll_interrupt()) }
	parallel.IsCancelled = func() bool { return bool(C.lt_is_cancelled()) }
}
