// Package program runs exported programs: archives that torch.export.save of PyTorch or of libtensor wrote. It requires libtensor.so, at
// build time and at run time: docs/exported_programs.md has the flags. The Go packages of the engine do not run exported programs.
//
//	p, err := program.Load("classifier.pt2")
//	if err != nil {
//		return err
//	}
//	defer p.Close()
//	x, err := program.NewTensor([]float32{1, 2, 3}, 1, 3)
//	if err != nil {
//		return err
//	}
//	defer x.Close()
//	results, err := p.Run(x)
//
// Inputs and outputs are flat lists: the leaves of the nested arguments and of the nested result of the exported function, in the order of
// Inputs and Outputs. Structure returns how they are nested.
package program

// #cgo CFLAGS: -I${SRCDIR}/../../../include
// #cgo LDFLAGS: -L${SRCDIR}/../../../build -ltensor
// #include <stdlib.h>
// #include "library.h"
import "C"

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// Error is an error of the library.
type Error struct {
	Code    int // tensor_status of tensor.h, such as 2 for an invalid value
	Message string
}

func (e *Error) Error() string { return e.Message }

// check returns the error of a call.
func check(o C.outcome) error {
	if o.status == C.TENSOR_OK {
		return nil
	}
	defer C.free(unsafe.Pointer(o.message))
	return &Error{int(o.status), C.GoString(o.message)}
}

// start starts the library once.
var start = sync.OnceValue(func() error { return check(C.start_library()) })

// Kind is the type of an input or output.
type Kind int

// The kinds of values. The Go types of their values are nil, *Tensor, int64, float64, bool and string.
const (
	None    Kind = C.TENSOR_VALUE_NONE
	Tensors Kind = C.TENSOR_VALUE_TENSOR
	Int     Kind = C.TENSOR_VALUE_INT
	Float   Kind = C.TENSOR_VALUE_FLOAT
	Bool    Kind = C.TENSOR_VALUE_BOOL
	String  Kind = C.TENSOR_VALUE_STRING
)

// Value describes an input or an output of a program.
type Value struct {
	Name      string
	Kind      Kind
	DType     DType  // of a tensor
	Shape     string // of a tensor, with names of symbolic sizes, such as [s0, 16]
	IsWritten bool   // a run may write to this tensor
	Constant  any    // the value that the input must have, because it was constant in the export; nil for others
}

// Program is a loaded program. Its methods can be called concurrently, also Run: runs of a program that writes to its buffers are executed
// one after the other.
type Program struct {
	mutex           sync.RWMutex
	handle          *C.tensor_program_t
	inputs, outputs []Value
	structure       [2]string
	state           map[string]*Tensor // of runs that record gradients
	handles         **C.tensor_t       // of the state, in C's memory
	count           int                // of them
}

// Option is an option of Load and LoadBytes.
type Option func(*Program) error

// WithGradients records runs on the autograd graph: after Backward of a result, Grad of an input that requires grad and of the tensors of
// State returns the gradient. Parameters require grad as in the export. Results are bitwise identical to those of other runs.
func WithGradients() Option { return (*Program).recordRuns }

// Load loads a program from a file. Weights are mapped from the file, which must not shrink while the program exists. If libtensor lacks
// operators of the program, the error names them.
func Load(path string, options ...Option) (*Program, error) {
	if err := start(); err != nil {
		return nil, err
	}
	if strings.Contains(path, "\x00") {
		return nil, &Error{C.TENSOR_ERROR_VALUE, fmt.Sprintf("program_load: the path %q has a NUL", path)}
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var handle *C.tensor_program_t
	if err := check(C.load_file(name, &handle)); err != nil {
		return nil, err
	}
	return newProgram(handle, options)
}

// LoadBytes loads a program from the bytes of a file, which are copied.
func LoadBytes(data []byte, options ...Option) (*Program, error) {
	if err := start(); err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, &Error{C.TENSOR_ERROR_VALUE, "program_load_memory: there are no bytes"}
	}
	var handle *C.tensor_program_t
	if err := check(C.load_bytes(unsafe.Pointer(&data[0]), C.int64_t(len(data)), &handle)); err != nil {
		return nil, err
	}
	return newProgram(handle, options)
}

func newProgram(handle *C.tensor_program_t, options []Option) (*Program, error) {
	p := &Program{handle: handle}
	var list *C.tensor_program_value
	var n C.int32_t
	C.tensor_program_inputs(handle, &list, &n)
	p.inputs = describe(unsafe.Slice(list, n))
	C.tensor_program_outputs(handle, &list, &n)
	p.outputs = describe(unsafe.Slice(list, n))
	var in, out *C.char
	C.tensor_program_structure(handle, &in, &out)
	p.structure = [2]string{C.GoString(in), C.GoString(out)}
	runtime.SetFinalizer(p, (*Program).Close)
	for _, option := range options {
		if err := option(p); err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

// recordRuns makes the tensors that runs use in place of the program's.
func (p *Program) recordRuns() error {
	var list *C.tensor_program_value
	var n C.int32_t
	C.tensor_program_state(p.handle, &list, &n)
	p.state = map[string]*Tensor{}
	p.handles = (**C.tensor_t)(C.calloc(C.size_t(n)+1, C.size_t(unsafe.Sizeof(p.handle))))
	p.count = int(n)
	handles := unsafe.Slice(p.handles, n)
	for i, item := range unsafe.Slice(list, n) {
		if err := check(C.state_tensor(p.handle, C.int32_t(i), item.requires_grad, &handles[i])); err != nil {
			return err
		}
		p.state[C.GoString(item.name)] = newTensor(handles[i])
	}
	return nil
}

// State returns the parameters, buffers and constants by name; nil if the program was not loaded WithGradients. They share memory with the
// program. After Close of one of them, Run returns an error.
func (p *Program) State() map[string]*Tensor { return maps.Clone(p.state) }

func describe(list []C.tensor_program_value) []Value {
	made := make([]Value, len(list))
	for i := range list {
		v := &list[i]
		made[i] = Value{C.GoString(v.name), Kind(v.kind), DType(v.dtype), C.GoString(v.shape), bool(v.is_written), nil}
		made[i].Constant, _ = valueOf(&v.constant)
	}
	return made
}

// Inputs describes the inputs, in the order of the arguments of Run.
func (p *Program) Inputs() []Value { return append([]Value(nil), p.inputs...) }

// Outputs describes the outputs, in the order of the results of Run.
func (p *Program) Outputs() []Value { return append([]Value(nil), p.outputs...) }

// Structure returns the nesting of arguments and results, as the JSON of PyTorch's pytree specifications.
func (p *Program) Structure() (inputs, outputs string) { return p.structure[0], p.structure[1] }

// Run runs the program, without autograd unless it was loaded WithGradients. Inputs are *Tensor, integers and floats of all types, bool,
// string and nil; a program writes to a tensor among them if it is described as written. Results are *Tensor, int64, float64, bool, string
// and nil. The caller closes the tensors; the garbage collector closes others. A wrong number of inputs, and an input of another dtype,
// shape or constant value, return an *Error.
func (p *Program) Run(inputs ...any) ([]any, error) {
	p.mutex.RLock()
	defer p.mutex.RUnlock()
	if p.handle == nil {
		return nil, &Error{C.TENSOR_ERROR_HANDLE, "program_run: the program is closed"}
	}
	in, out := make([]C.tensor_value, len(inputs)+1), make([]C.tensor_value, len(p.outputs)+1)
	for i, given := range inputs {
		free, err := p.store(&in[i], given, i)
		if err != nil {
			return nil, err
		}
		defer free()
	}
	err := check(C.run_program(p.handle, p.handles, C.int32_t(p.count), &in[0], C.int32_t(len(inputs)), &out[0], C.int32_t(len(p.outputs))))
	runtime.KeepAlive(inputs)
	if err != nil {
		return nil, err
	}
	results := make([]any, len(p.outputs))
	for i := range results {
		var isTensor bool
		if results[i], isTensor = valueOf(&out[i]); !isTensor {
			C.tensor_value_free(&out[i])
		}
	}
	return results, nil
}

// store stores an input; the caller calls free after the run.
func (p *Program) store(to *C.tensor_value, given any, i int) (free func(), err error) {
	free = func() {}
	reject := func(format string, args ...any) (func(), error) {
		return free, &Error{C.TENSOR_ERROR_TYPE, fmt.Sprintf("program_run: input %d is "+format, append([]any{i}, args...)...)}
	}
	switch v := given.(type) {
	case nil:
		return free, nil
	case *Tensor:
		if v == nil || v.handle == nil {
			return free, &Error{C.TENSOR_ERROR_HANDLE, fmt.Sprintf("program_run: input %d is a closed tensor", i)}
		}
		C.set_tensor(to, v.handle)
		return free, nil
	}
	switch v := reflect.ValueOf(given); {
	case v.CanInt():
		C.set_int(to, C.int64_t(v.Int()))
	case v.CanUint():
		if v.Uint() > math.MaxInt64 {
			return reject("%d; integers have at most 63 bits and a sign", v.Uint())
		}
		C.set_int(to, C.int64_t(v.Uint()))
	case v.CanFloat():
		C.set_float(to, C.double(v.Float()))
	case v.Kind() == reflect.Bool:
		C.set_bool(to, C.bool(v.Bool()))
	case v.Kind() == reflect.String:
		if strings.Contains(v.String(), "\x00") {
			return reject("the string %q; strings have no NUL", v.String())
		}
		text := C.CString(v.String())
		C.set_string(to, text)
		free = func() { C.free(unsafe.Pointer(text)) }
	default:
		return reject("a %T; inputs are *program.Tensor, integers, floats, bool, string and nil", given)
	}
	return free, nil
}

// valueOf returns a value of the library, and whether it is a tensor, which then owns the handle.
func valueOf(v *C.tensor_value) (any, bool) {
	switch v.kind {
	case C.TENSOR_VALUE_TENSOR:
		return newTensor(C.get_tensor(v)), true
	case C.TENSOR_VALUE_INT:
		return int64(C.get_int(v)), false
	case C.TENSOR_VALUE_FLOAT:
		return float64(C.get_float(v)), false
	case C.TENSOR_VALUE_BOOL:
		return bool(C.get_bool(v)), false
	case C.TENSOR_VALUE_STRING:
		return C.GoString(C.get_string(v)), false
	}
	return nil, false
}

// Close frees the program after the runs of other goroutines. Later calls of Run return an error, and later calls of Close do nothing.
func (p *Program) Close() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.handle == nil {
		return nil
	}
	C.tensor_program_free(p.handle)
	C.free(unsafe.Pointer(p.handles))
	p.handle, p.handles, p.count = nil, nil, 0
	runtime.SetFinalizer(p, nil)
	return nil
}
