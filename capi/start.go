package main

// #include "limits.h"
import "C"

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/cpu"
	"github.com/libtensor/libtensor/engine/parallel"
)

func init() {
	parallel.Supply = func(threads int) int { return int(C.lt_supply(C.int(threads))) }
	parallel.SetThreads(parallel.Threads())
}

// lt_unusable writes the reason why no kernel of this build can run on this CPU, or an empty string.
//
//export lt_unusable
func lt_unusable(text *C.char, size C.int) {
	if err := cpu.Unusable(); err != nil {
		to := unsafe.Slice((*byte)(unsafe.Pointer(text)), size)
		to[copy(to[:size-1], err.Error())] = 0
	}
}
