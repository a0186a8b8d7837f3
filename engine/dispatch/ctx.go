// Package dispatch is the dispatcher: Context has a method for each operator. A call with dense tensors without dispatch keys goes
// directly to the operator in engine/ops or engine/composite; a call with a key goes to the backend of the first key.
//
// The methods and the table of backends are generated from the operator schemas and the functions of engine/ops.
package dispatch

import (
	"sync"
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Context is the state of a call in addition to its arguments.
type Context struct {
	passed tensor.DispatchKeys // layers that the call has left behind
	modes  *Modes              // of the calling thread; nil for the initial modes
}

// Excluding returns c for calls that a backend makes on the same tensors: the layers of k are behind them.
func (c Context) Excluding(k tensor.DispatchKeys) Context {
	c.passed |= k
	return c
}

// highestKey returns the first dispatch key that the call has not handled, or 0 when it is to call the operator.
func (c Context) highestKey(k tensor.DispatchKeys) tensor.DispatchKeys {
	return (k &^ c.passed).First()
}

// quantized reports whether the dispatch key of quantized tensors is handled next. Other keys, such as that of inference tensors, can come
// first.
func (c Context) quantized(k tensor.DispatchKeys) bool { return k&^c.passed&tensor.Quantized != 0 }

// Plain reports whether a call on tensors, which may be nil, is dispatched directly to the operator: no dispatch key is left except that of
// gradients, with autograd off.
func (c Context) Plain(list ...*tensor.Tensor) bool {
	ahead := (keysOf(list) | c.casting(1<<len(AutocastDevices)-1)) &^ c.passed
	return ahead == 0 || ahead == tensor.Gradient && !c.Recording()
}

func keys(t *tensor.Tensor) tensor.DispatchKeys {
	if t == nil {
		return 0
	}
	return t.Keys()
}

func keysOf(list []*tensor.Tensor) (k tensor.DispatchKeys) {
	for _, t := range list {
		k |= keys(t)
	}
	return k
}

func keysOfIndex(items []ops.IndexItem) (k tensor.DispatchKeys) {
	for i := range items {
		k |= keys(items[i].Tensor)
	}
	return k
}

// The operators of engine/composite, engine/sparse and engine/quantized, which import this package.
var compositeOps, sparseOps, quantizedOps Backend

// RegisterComposite, RegisterSparse and RegisterQuantized set them, when the program starts.
func RegisterComposite(b Backend) { compositeOps = b }
func RegisterSparse(b Backend)    { sparseOps = b }
func RegisterQuantized(b Backend) { quantizedOps = b }

// CompositeOps returns the operators of engine/composite.
func CompositeOps() *Backend { return &compositeOps }

// TensorKind is a key's place in the table of backends.
type TensorKind struct {
	Name    string // name in errors: "sparse_coo" in "sort is not implemented for sparse_coo tensors"
	Instead string // what to do after an error: "convert with to_dense()"
	// Errors maps an operator to the constructor of its "not supported" errors, by default NotImplementedf.
	Errors map[string]func(format string, args ...any) error
	// Serve, if not nil, creates the backend at its first use: creating one of boxed calls takes long.
	Serve func() Backend
	once  sync.Once
	Backend
}

// kinds is the table: by the number of a key. Those that wait are to make their backend first.
var kinds, pendingKinds [tensor.KeyCount]atomic.Pointer[TensorKind]

var unknownKind = &TensorKind{Name: "unknown"}

// Register makes k the kind of the tensors with a key. Programs do so before they make such tensors.
func Register(key tensor.DispatchKeys, k *TensorKind) {
	if k.Serve == nil {
		kinds[key.Number()].Store(k)
	} else {
		pendingKinds[key.Number()].Store(k)
	}
}

func kindOf(key tensor.DispatchKeys) *TensorKind {
	if k := kinds[key.Number()].Load(); k != nil {
		return k
	}
	return initKind(key)
}

// initKind returns the kind of a key, whose backend it creates at the first use of the key.
func initKind(key tensor.DispatchKeys) *TensorKind {
	k := pendingKinds[key.Number()].Load()
	if k == nil {
		return unknownKind
	}
	k.once.Do(func() {
		k.Backend = k.Serve()
		kinds[key.Number()].Store(k)
	})
	return k
}

func backendOf(key tensor.DispatchKeys) *Backend { return &kindOf(key).Backend }

// Unsupported returns the error for an operator without a kernel for a dispatch key.
func Unsupported(op string, key tensor.DispatchKeys) error {
	k := kindOf(key)
	errorf := status.NotImplementedf
	if of := k.Errors[op]; of != nil {
		errorf = of
	}
	if k.Instead == "" {
		return errorf("%s is not implemented for %s tensors", op, k.Name)
	}
	return errorf("%s is not implemented for %s tensors; %s", op, k.Name, k.Instead)
}

// bumpVersion increments the version of an output tensor, which may be nil, unless err is not nil.
func bumpVersion(err error, t *tensor.Tensor) {
	if err == nil && t != nil {
		t.BumpVersion()
	}
}

// BumpVersion increments the versions of the outputs that a composite operator wrote itself, not through the dispatcher, unless err is not
// nil.
func BumpVersion(err error, outs ...*tensor.Tensor) {
	for _, t := range outs {
		bumpVersion(err, t)
	}
}
