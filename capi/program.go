package main

// #include "program.h"
// #include <stdlib.h>
// #include <string.h>
import "C"

import (
	"unsafe"

	exported "github.com/libtensor/libtensor/engine/program"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/status"
)

// lt_read_program reads a program from the file of the first argument or the bytes of the second. Its results are the words of the plan,
// their strings, the tensors, and a handle whose slot the caller fills.
//
//export lt_read_program
func lt_read_program(c *C.lt_frame) (code C.int32_t) {
	defer func() {
		if v := recover(); v != nil {
			code = reportError(c, panicError(v))
		}
	}()
	emptySlots(c.thread, c.freed)
	if err := readProgram(frame{c: c}); err != nil {
		return reportError(c, err)
	}
	return C.TENSOR_OK
}

func readProgram(f frame) error {
	const op = "program_load"
	source, err := f.openProgram(op)
	if err != nil {
		return err
	}
	defer source.Close()
	p, err := exported.Load(op, source)
	if err != nil {
		return err
	}
	words, text := C.malloc(C.size_t(8*len(p.Words))), C.CBytes(p.Text)
	s, err := takeSlot(f.c.thread, nil)
	if err == nil && words == nil {
		err = status.Memoryf("%s: there is no memory for a plan of %d words", op, len(p.Words))
	}
	if err != nil {
		for _, t := range p.State {
			t.Release()
		}
	} else {
		copy(unsafe.Slice((*int64)(words), len(p.Words)), p.Words)
		err = f.setListAt(2, p.State)
	}
	if err != nil {
		C.free(words)
		C.free(text)
		if s != nil {
			returnSlot(f.c.thread, s.c)
		}
		return err
	}
	*(*list)(f.findResult(0)) = list{words, int64(len(p.Words))}
	*(*unsafe.Pointer)(f.findResult(1)) = text
	*(*unsafe.Pointer)(f.findResult(3)) = handleOf(publishHandle(s, C.LT_PROGRAM, true))
	return nil
}

// openProgram returns the source of a program.
func (f frame) openProgram(op string) (*file.Source, error) {
	if path := readAs[*C.char](f.findArgument(0)); path != nil {
		return file.Open(op, C.GoString(path))
	}
	l := f.readList(1)
	return file.Memory(unsafe.Slice((*byte)(l.data), l.length)), nil
}
