// Package status has the errors that cross the C boundary: a code, which bindings map to exceptions of their
// languages, and a message that names the operator, the argument, the values and a call that works.
package status

import (
	"errors"
	"strings"
	"syscall"
)

// Code classifies an error. The numbers are those of tensor_status in tensor.h and never change.
type Code int32

// The codes, with the exception of PyTorch's that each represents.
const (
	OK             Code = 0
	Runtime        Code = 1  // RuntimeError: shapes, dtypes or states that do not fit together
	Value          Code = 2  // ValueError: an argument out of its range
	Type           Code = 3  // TypeError: an argument of the wrong kind
	Index          Code = 4  // IndexError: a dimension or an index out of range
	NotImplemented Code = 5  // NotImplementedError: no kernel for this dtype, device or layout
	Memory         Code = 6  // MemoryError: an allocation failed or a limit was reached
	Handle         Code = 7  // invalid handle: NULL, freed, unknown or of the wrong kind
	Forked         Code = 8  // called in a forked child process
	Internal       Code = 9  // a defect of libtensor itself
	IO             Code = 10 // OSError: a file could not be read or written
	Callback       Code = 11 // a callback of the application failed
	Linalg         Code = 12 // LinAlgError: a matrix that a factorization or a solution does not exist for
	Cancelled      Code = 13 // the application has interrupted the call
)

// Error is an error with a code.
type Error struct {
	Code  Code
	Msg   string
	Errno syscall.Errno // errno of an IO error, or 0
}

func (e *Error) Error() string { return e.Msg }

func newf(code Code, format string, args []any) error {
	return &Error{Code: code, Msg: Textf(format, args...)}
}

// Runtimef creates a Runtime error.
func Runtimef(format string, args ...any) error { return newf(Runtime, format, args) }

// Unpromoted returns the error that the operands of op, of which one is an eight-bit float, have no dtype in common.
func Unpromoted(op string) error {
	return Runtimef("%s: Promotion for Float8 Types is not supported; convert the operands to one dtype", op)
}

// Valuef creates a Value error.
func Valuef(format string, args ...any) error { return newf(Value, format, args) }

// Typef creates a Type error.
func Typef(format string, args ...any) error { return newf(Type, format, args) }

// Indexf creates an Index error.
func Indexf(format string, args ...any) error { return newf(Index, format, args) }

// NotImplementedf creates a NotImplemented error.
func NotImplementedf(format string, args ...any) error { return newf(NotImplemented, format, args) }

// Linalgf creates a Linalg error.
func Linalgf(format string, args ...any) error { return newf(Linalg, format, args) }

// Cancelledf creates a Cancelled error.
func Cancelledf(format string, args ...any) error { return newf(Cancelled, format, args) }

// Memoryf creates a Memory error.
func Memoryf(format string, args ...any) error { return newf(Memory, format, args) }

// Forkedf creates a Forked error.
func Forkedf(format string, args ...any) error { return newf(Forked, format, args) }

// IOf creates an IO error, with the number of the system's error among the arguments.
func IOf(format string, args ...any) error {
	e := &Error{Code: IO, Msg: Textf(format, args...)}
	for _, arg := range args {
		if behind, ok := arg.(error); ok {
			errors.As(behind, &e.Errno)
		}
	}
	return e
}

// In returns err, the error of an intermediate op of op, with the name of op: "mul: ..." becomes "cov: ...", and "mul is not implemented
// ..." likewise. An error of the in-place form of op itself stays "cov_: ...".
func In(op string, err error) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	for _, end := range []string{": ", " is not implemented for ", " is not implemented on "} {
		step, text, found := strings.Cut(e.Msg, end)
		name, call := strings.CutSuffix(step, "()")
		if !found || name == op || name == op+"_" || strings.Contains(name, " ") {
			continue
		}
		if call {
			end = "()" + end
		}
		in := *e
		in.Msg = op + end + text
		return &in
	}
	return err
}
