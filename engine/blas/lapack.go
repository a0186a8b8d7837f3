package blas

// #include "lapack.h"
// #cgo noescape lt_lapack_run
// #cgo nocallback lt_lapack_run
import "C"

import (
	"math"
	"sync"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
)

// letters begin the names of the routines for the dtypes of types.
const letters = "sdcz"

// routines are the addresses of routines by name.
var routines sync.Map

// Routine returns the address of a routine of LAPACK or BLAS for dtype d, which OpenBLAS must serve: getrf is dgetrf for float64.
func Routine(d dtype.DType, name string) uintptr {
	name = letters[types[d]:types[d]+1] + name
	if found, ok := routines.Load(name); ok {
		return found.(uintptr)
	}
	found := uintptr(openBLAS.Find(name + "_"))
	routines.Store(name, found)
	return found
}

// Argument is an argument of a routine: an address or a value.
type Argument struct {
	bits  uint64
	value bool
}

// At returns the address of an array.
func At(address unsafe.Pointer) Argument { return Argument{bits: uint64(uintptr(address))} }

// Int returns an integer.
func Int(v int64) Argument { return Argument{uint64(v), true} }

// Letter returns a text of one character.
func Letter(c byte) Argument { return Argument{uint64(c), true} }

// Real returns a real number as routines for dtype d have it.
func Real(d dtype.DType, v float64) Argument {
	if d.ToReal() == dtype.Float32 {
		return Argument{uint64(math.Float32bits(float32(v))), true}
	}
	return Argument{math.Float64bits(v), true}
}

// NewCall returns a call of the routine called name for dtype d.
func NewCall(d dtype.DType, name string, arguments ...Argument) *LapackCall {
	c := &LapackCall{Routine: Routine(d, name), Count: int64(len(arguments))}
	for i, a := range arguments {
		c.Set(i, a)
	}
	return c
}

// Set changes argument i.
func (c *LapackCall) Set(i int, a Argument) {
	c.Arguments[i] = a.bits
	c.Values &^= 1 << i
	if a.value {
		c.Values |= 1 << i
	}
}

// Run calls the routine on the caller's thread.
func (c *LapackCall) Run() { began(C.lt_lapack_run((*C.lt_lapack_call)(unsafe.Pointer(c)))) }

// Result returns the integer that the routine wrote to argument i.
func (c *LapackCall) Result(i int) int64 {
	if Integer() == dtype.Int32 {
		return int64(int32(c.Arguments[i]))
	}
	return int64(c.Arguments[i])
}

// Info returns the last argument: 0, or an error code.
func (c *LapackCall) Info() int64 { return c.Result(int(c.Count) - 1) }
