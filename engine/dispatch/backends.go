package dispatch

import (
	"reflect"
	"unsafe"

	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// The functions of this file return the backend that a call with a dispatch key goes to. A function of Backend is named by its offset in
// the struct. If the call is an error, the backend has a function there that returns it, so that the methods of the dispatcher need no
// checks.

// backendFor returns the backend of a key for an operator of package ops; see checkKeys for read and all.
func backendFor(op string, key tensor.DispatchKeys, function uintptr, read, all tensor.DispatchKeys) *Backend {
	b := backendOf(key)
	if err := checkKeys(op, key, read, all, b.has(function)); err != nil {
		return newErrorBackend(function, err)
	}
	return b
}

// backendOfLayout is backendFor for a factory function.
func backendOfLayout(op string, key tensor.DispatchKeys, function uintptr) *Backend {
	b := backendOf(key)
	if err := checkLayout(op, key, b.has(function)); err != nil {
		return newErrorBackend(function, err)
	}
	return b
}

// backendOr returns the backend of a key for a composite operator, or the given one if that has no function or key is 0. outs are the keys
// of outputs: the intermediate ops of a decomposition would write only the integers of a quantized one. The same holds for autograd.
func (c Context) backendOr(composite *Backend, op string, key tensor.DispatchKeys, function uintptr,
	read, all, outs tensor.DispatchKeys) *Backend {
	if key == 0 {
		return composite
	}
	err := checkKeys(op, key, read, all, true)
	if err == nil && c.quantized(outs) && !backendOf(tensor.Quantized).has(function) {
		err = Unsupported(op, tensor.Quantized)
	}
	if err != nil {
		return newErrorBackend(function, err)
	}
	if b := backendOf(key); b.has(function) {
		return b
	}
	return composite
}

// backendOfSparse is backendOr for an operator of package sparse, which processes no quantized parts; operands are the keys of all tensors.
func (c Context) backendOfSparse(op string, key tensor.DispatchKeys, function uintptr, all, operands tensor.DispatchKeys) *Backend {
	if key == 0 {
		return &sparseOps
	}
	err := checkKeys(op, key, tensor.Sparse, all, true)
	if err == nil {
		if b := backendOf(key); b.has(function) {
			return b
		}
		if c.quantized(operands) {
			err = Unsupported(op, tensor.Quantized)
		}
	}
	if err != nil {
		return newErrorBackend(function, err)
	}
	return &sparseOps
}

// has reports whether the backend has a function.
func (b *Backend) has(function uintptr) bool {
	return *(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(b), function)) != nil
}

// newErrorBackend returns a backend with a function that returns an error.
func newErrorBackend(function uintptr, err error) *Backend {
	b := new(Backend)
	field := reflect.ValueOf(b).Elem().Field(int(function / unsafe.Sizeof(function)))
	of := field.Type()
	field.Set(reflect.MakeFunc(of, func([]reflect.Value) []reflect.Value {
		results := make([]reflect.Value, of.NumOut())
		for i := range results {
			results[i] = reflect.Zero(of.Out(i))
		}
		results[len(results)-1] = reflect.ValueOf(&err).Elem()
		return results
	}))
	return b
}

// checkKeys returns an error if a backend cannot process the tensors of a call together: a sparse out for operands that are not sparse
// (read are their keys), quantized or named tensors among sparse ones (all are the keys of all tensors), or if the backend has no function
// for the operator.
func checkKeys(op string, key, read, all tensor.DispatchKeys, found bool) error {
	if key&tensor.Sparse != 0 {
		switch {
		case read&tensor.Sparse == 0:
			return status.NotImplementedf("%s: the result is strided, but out is a %s tensor; use a strided tensor", op, kindOf(key).Name)
		case all&tensor.Quantized != 0:
			return status.NotImplementedf("%s: %s and quantized tensors cannot be mixed in one call; convert with to_dense() or dequantize()", op,
				kindOf(key).Name)
		case all&tensor.Named != 0:
			return Unsupported(op, tensor.Named)
		}
	}
	if !found {
		return Unsupported(op, key)
	}
	return nil
}

// checkLayout returns an error if a backend has no factory function op: no tensor that the caller could convert has the key, but the result
// would have it.
func checkLayout(op string, key tensor.DispatchKeys, found bool) error {
	switch {
	case found:
		return nil
	case key&tensor.Sparse != 0:
		return status.NotImplementedf("%s is not implemented for %s tensors; create a strided tensor and convert it with to_sparse()", op,
			kindOf(key).Name)
	}
	return Unsupported(op, key)
}
