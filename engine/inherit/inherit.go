// Package inherit lists the package variables that a forked child reads from its parent. Go's runtime and all packages start again in such
// a child (capi/restart.c), and the heap of the parent's runtime stays readable.
package inherit

import "unsafe"

// Variable is a registered package variable. Take sets the child's variable from a pointer to the parent's value.
type Variable struct {
	Address unsafe.Pointer
	Size    uintptr
	Take    func(parents unsafe.Pointer)
}

var variables []Variable

// Variables returns the registered variables in the order of registration.
func Variables() []Variable { return variables }

// Read registers v. A forked child calls take with a pointer to a copy of the parent's value. Its pointers refer to the heap of the
// parent's runtime: take must not write there or lock its mutexes. Call Read from init.
func Read[T any](v *T, take func(parents *T)) {
	variables = append(variables, Variable{unsafe.Pointer(v), unsafe.Sizeof(*v), func(parents unsafe.Pointer) { take((*T)(parents)) }})
}

// Value registers v, a variable without pointers, whose value a forked child copies.
func Value[T any](v *T) { Read(v, func(parents *T) { *v = *parents }) }
