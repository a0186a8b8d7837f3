package dispatch

import (
	"reflect"
	"sync"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// signature converts calls of functions of one type to boxed calls, and back, without reflection: that takes longer than a small operator.
type signature struct {
	of  reflect.Type
	box func(o *Operator, does Boxed) any            // a function of the type, which boxes its calls
	run func(x *Call, c Context, function any) error // calls a function of the type
}

type tensorPtr = *tensor.Tensor

// signatures holds the signatures of the operators that programs call most, by their types. Calls of other types are converted by
// reflection.
var signatures = indexByType(
	newSignature1[tensorPtr](),
	newSignature2[tensorPtr, tensorPtr](), newSignature2[tensorPtr, int64](), newSignature2[tensorPtr, []int64](),
	newSignature2[tensorPtr, shape.MemoryFormat](), newSignature2[tensorPtr, []ops.IndexItem](),
	newSignature3[tensorPtr, tensorPtr, tensorPtr](), newSignature3[tensorPtr, tensorPtr, int64](),
	newSignature3[tensorPtr, tensorPtr, bool](), newSignature3[tensorPtr, tensorPtr, string](), newSignature3[tensorPtr, tensorPtr, float64](),
	newSignature3[tensorPtr, tensorPtr, []int64](),
	newSignature3[tensorPtr, tensorPtr, dtype.Scalar](), newSignature3[tensorPtr, int64, int64](), newSignature3[tensorPtr, []int64, bool](),
	newSignature3[tensorPtr, []tensorPtr, int64](),
	newSignature4[tensorPtr, tensorPtr, tensorPtr, tensorPtr](), newSignature4[tensorPtr, tensorPtr, tensorPtr, dtype.Scalar](),
	newSignature4[tensorPtr, tensorPtr, int64, dtype.DType](),
	newSignature4[tensorPtr, tensorPtr, tensorPtr, int64](), newSignature4[tensorPtr, tensorPtr, int64, int64](),
	newSignature4[tensorPtr, tensorPtr, []int64, bool](), newSignature4[tensorPtr, tensorPtr, dtype.Scalar, dtype.Scalar](),
	newSignature4[tensorPtr, int64, int64, int64](),
	newSignature5[tensorPtr, tensorPtr, tensorPtr, tensorPtr, dtype.Scalar](),
	newSignature5[tensorPtr, tensorPtr, []int64, bool, dtype.DType](),
)

func indexByType(list ...*signature) map[reflect.Type]*signature {
	all := make(map[reflect.Type]*signature, len(list))
	for _, s := range list {
		all[s.of] = s
	}
	return all
}

// The conversions for functions of one to five parameters, which Go cannot write as one. Boxed calls are reused: nothing keeps one after it
// returns.

func newSignature1[A any]() *signature {
	type function = func(c Context, p1 A) (tensorPtr, error)
	type values struct {
		r  tensorPtr
		p1 A
	}
	type boxed struct {
		Call
		args    [1]any
		results [1]any
		values
	}
	s := &signature{of: reflect.TypeFor[function]()}
	calls := sync.Pool{New: func() any {
		x := new(boxed)
		x.args, x.results = [1]any{&x.p1}, [1]any{&x.r}
		x.Call = Call{nil, x.args[:], x.results[:], s}
		return x
	}}
	s.box = func(o *Operator, does Boxed) any {
		return function(func(c Context, p1 A) (made tensorPtr, err error) {
			x := calls.Get().(*boxed)
			x.Operator, x.p1 = o, p1
			err = does(c, &x.Call)
			made = x.r
			x.values = values{}
			calls.Put(x)
			return made, err
		})
	}
	s.run = func(x *Call, c Context, f any) (err error) {
		*x.Results[0].(*tensorPtr), err = f.(function)(c, Value[A](x, 0))
		return err
	}
	return s
}

func newSignature2[A, B any]() *signature {
	type function = func(c Context, p1 A, p2 B) (tensorPtr, error)
	type values struct {
		r  tensorPtr
		p1 A
		p2 B
	}
	type boxed struct {
		Call
		args    [2]any
		results [1]any
		values
	}
	s := &signature{of: reflect.TypeFor[function]()}
	calls := sync.Pool{New: func() any {
		x := new(boxed)
		x.args, x.results = [2]any{&x.p1, &x.p2}, [1]any{&x.r}
		x.Call = Call{nil, x.args[:], x.results[:], s}
		return x
	}}
	s.box = func(o *Operator, does Boxed) any {
		return function(func(c Context, p1 A, p2 B) (made tensorPtr, err error) {
			x := calls.Get().(*boxed)
			x.Operator, x.p1, x.p2 = o, p1, p2
			err = does(c, &x.Call)
			made = x.r
			x.values = values{}
			calls.Put(x)
			return made, err
		})
	}
	s.run = func(x *Call, c Context, f any) (err error) {
		*x.Results[0].(*tensorPtr), err = f.(function)(c, Value[A](x, 0), Value[B](x, 1))
		return err
	}
	return s
}

func newSignature3[A, B, C any]() *signature {
	type function = func(c Context, p1 A, p2 B, p3 C) (tensorPtr, error)
	type values struct {
		r  tensorPtr
		p1 A
		p2 B
		p3 C
	}
	type boxed struct {
		Call
		args    [3]any
		results [1]any
		values
	}
	s := &signature{of: reflect.TypeFor[function]()}
	calls := sync.Pool{New: func() any {
		x := new(boxed)
		x.args, x.results = [3]any{&x.p1, &x.p2, &x.p3}, [1]any{&x.r}
		x.Call = Call{nil, x.args[:], x.results[:], s}
		return x
	}}
	s.box = func(o *Operator, does Boxed) any {
		return function(func(c Context, p1 A, p2 B, p3 C) (made tensorPtr, err error) {
			x := calls.Get().(*boxed)
			x.Operator, x.p1, x.p2, x.p3 = o, p1, p2, p3
			err = does(c, &x.Call)
			made = x.r
			x.values = values{}
			calls.Put(x)
			return made, err
		})
	}
	s.run = func(x *Call, c Context, f any) (err error) {
		*x.Results[0].(*tensorPtr), err = f.(function)(c, Value[A](x, 0), Value[B](x, 1), Value[C](x, 2))
		return err
	}
	return s
}

func newSignature4[A, B, C, D any]() *signature {
	type function = func(c Context, p1 A, p2 B, p3 C, p4 D) (tensorPtr, error)
	type values struct {
		r  tensorPtr
		p1 A
		p2 B
		p3 C
		p4 D
	}
	type boxed struct {
		Call
		args    [4]any
		results [1]any
		values
	}
	s := &signature{of: reflect.TypeFor[function]()}
	calls := sync.Pool{New: func() any {
		x := new(boxed)
		x.args, x.results = [4]any{&x.p1, &x.p2, &x.p3, &x.p4}, [1]any{&x.r}
		x.Call = Call{nil, x.args[:], x.results[:], s}
		return x
	}}
	s.box = func(o *Operator, does Boxed) any {
		return function(func(c Context, p1 A, p2 B, p3 C, p4 D) (made tensorPtr, err error) {
			x := calls.Get().(*boxed)
			x.Operator, x.p1, x.p2, x.p3, x.p4 = o, p1, p2, p3, p4
			err = does(c, &x.Call)
			made = x.r
			x.values = values{}
			calls.Put(x)
			return made, err
		})
	}
	s.run = func(x *Call, c Context, f any) (err error) {
		*x.Results[0].(*tensorPtr), err = f.(function)(c, Value[A](x, 0), Value[B](x, 1), Value[C](x, 2), Value[D](x, 3))
		return err
	}
	return s
}

func newSignature5[A, B, C, D, E any]() *signature {
	type function = func(c Context, p1 A, p2 B, p3 C, p4 D, p5 E) (tensorPtr, error)
	type values struct {
		r  tensorPtr
		p1 A
		p2 B
		p3 C
		p4 D
		p5 E
	}
	type boxed struct {
		Call
		args    [5]any
		results [1]any
		values
	}
	s := &signature{of: reflect.TypeFor[function]()}
	calls := sync.Pool{New: func() any {
		x := new(boxed)
		x.args, x.results = [5]any{&x.p1, &x.p2, &x.p3, &x.p4, &x.p5}, [1]any{&x.r}
		x.Call = Call{nil, x.args[:], x.results[:], s}
		return x
	}}
	s.box = func(o *Operator, does Boxed) any {
		return function(func(c Context, p1 A, p2 B, p3 C, p4 D, p5 E) (made tensorPtr, err error) {
			x := calls.Get().(*boxed)
			x.Operator, x.p1, x.p2, x.p3, x.p4, x.p5 = o, p1, p2, p3, p4, p5
			err = does(c, &x.Call)
			made = x.r
			x.values = values{}
			calls.Put(x)
			return made, err
		})
	}
	s.run = func(x *Call, c Context, f any) (err error) {
		*x.Results[0].(*tensorPtr), err = f.(function)(c, Value[A](x, 0), Value[B](x, 1), Value[C](x, 2), Value[D](x, 3), Value[E](x, 4))
		return err
	}
	return s
}
