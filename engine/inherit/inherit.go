// Package inherit lists the package variables that a forked child reads from its parent. Go's runtime and all packages start again in such
// a child (capi/restart.c), and the heap of the parent's runtime stays readable.
package inherit

import "unsafe"

// Variable is a package variable, and what a forked child does with the value that its parent gave it.
type Variable struct {
	Address unsafe.Pointer
	Size    uintptr
	Take    func(parents unsafe.Pointer)
}

var variables []Variable

// Variables returns all that were registered, in their order.
func Variables() []Variable { return variables }

// Read registers v. A forked child calls take with the parent's value, whose pointers lead into the parent's heap: nothing may be written
// there, and no lock taken. Call it from init.
func Read[T any](v *T, take func(parents *T)) {
	variables = append(variables, Variable{unsafe.Pointer(v), unsafe.Sizeof(*v), func(parents unsafe.Pointer) { take((*T)(parents)) }})
}

// Value registers v, which has no pointers: a forked child takes the value over.
func Value[T any](v *T) { Read(v, func(parents *T) { *v = *parents }) }
