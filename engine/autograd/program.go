package autograd

import (
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Program calls callbacks of the host program. Addresses of callbacks and contexts are stored as integers, because
// values such as (void *)1 are not valid pointers for Go's garbage collector.
type Program interface {
	// Call calls a tensor_callback, with the grad mode of c. The caller owns the results.
	Call(c dispatch.Context, function, context uintptr, given []*tensor.Tensor, made int) ([]*tensor.Tensor, error)
	Pack(c dispatch.Context, function, context uintptr, t *tensor.Tensor) (uintptr, error)
	Unpack(c dispatch.Context, function, context, packed uintptr) (*tensor.Tensor, error)
	Watch(function, context uintptr, n tensor.Node, failed bool)
	Delete(deleter, context uintptr)
}

var program Program

// Serve sets the Program.
func Serve(p Program) { program = p }

// context is a reference-counted context of a callback, whose deleter is called with the last reference.
type context struct {
	refs          atomic.Int32
	data, deleter uintptr
	derivative    dispatch.Derivative // of a custom operator, nil for other functions
	places        []*tensor.Tensor    // placesOf the tensors whose gradients the function receives; nil if none is sparse
}

func newContext(data, deleter uintptr, of ...*tensor.Tensor) *context {
	c := &context{data: data, deleter: deleter, places: placesOf(of...)}
	c.refs.Store(1)
	return c
}

// placesAt returns the sparse tensor with the indices of tensor k, nil for a strided tensor.
func (c *context) placesAt(k int) *tensor.Tensor {
	if c.places == nil {
		return nil
	}
	return c.places[k]
}

func (c *context) retain() { c.refs.Add(1) }

func (c *context) release() {
	if c == nil || c.refs.Add(-1) != 0 {
		return
	}
	for _, t := range c.places {
		t.Release()
	}
	if c.derivative != nil {
		c.derivative.Release()
	}
	if c.deleter != 0 {
		program.Delete(c.deleter, c.data)
	}
}

// checkCallback returns an error for a NULL callback.
func checkCallback(op, argument string, function uintptr) error {
	if function == 0 {
		return status.Valuef("%s: argument '%s' is NULL; a function is required", op, argument)
	}
	return nil
}
