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

type one = *tensor.Tensor

// signatures are those of the operators that programs call most, by their types. Calls of other types are converted by reflection.
var signatures = byType(
	ofOne[one](),
	ofTwo[one, one](), ofTwo[one, int64](), ofTwo[one, []int64](), ofTwo[one, shape.MemoryFormat](), ofTwo[one, []ops.IndexItem](),
	ofThree[one, one, one](), ofThree[one, one, int64](),
	ofThree[one, one, bool](), ofThree[one, one, string](), ofThree[one, one, float64](), ofThree[one, one, []int64](),
	ofThree[one, one, dtype.Scalar](), ofThree[one, int64, int64](), ofThree[one, []int64, bool](), ofThree[one, []one, int64](),
	ofFour[one, one, one, one](), ofFour[one, one, one, dtype.Scalar](), ofFour[one, one, int64, dtype.DType](),
	ofFour[one, one, one, int64](), ofFour[one, one, int64, int64](), ofFour[one, one, []int64, bool](), ofFour[one, one, dtype.Scalar, dtype.Scalar](), ofFour[one, int64, int64, int64](),
	ofFive[one, one, one, one, dtype.Scalar](), ofFive[one, one, []int64, bool, dtype.DType](),
)

func byType(list ...*signature) map[reflect.Type]*signature {
	all := make(map[reflect.Type]*signature, len(list))
	for _, s := range list {
		all[s.of] = s
	}
	return all
}

// The conversions for functions of one to five parameters, which Go cannot write as one. Boxed calls are reused: nothing keeps one after it returns.

func ofOne[A any]() *signature {
	type function = func(c Context, p1 A) (one, error)
	type values struct {
		r  one
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
		return function(func(c Context, p1 A) (made one, err error) {
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
		*x.Results[0].(*one), err = f.(function)(c, Value[A](x, 0))
		return err
	}
	return s
}

func ofTwo[A, B any]() *signature {
	type function = func(c Context, p1 A, p2 B) (one, error)
	type values struct {
		r  one
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
		return function(func(c Context, p1 A, p2 B) (made one, err error) {
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
		*x.Results[0].(*one), err = f.(function)(c, Value[A](x, 0), Value[B](x, 1))
		return err
	}
	return s
}

func ofThree[A, B, C any]() *signature {
	type function = func(c Context, p1 A, p2 B, p3 C) (one, error)
	type values struct {
		r  one
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
		return function(func(c Context, p1 A, p2 B, p3 C) (made one, err error) {
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
		*x.Results[0].(*one), err = f.(function)(c, Value[A](x, 0), Value[B](x, 1), Value[C](x, 2))
		return err
	}
	return s
}

func ofFour[A, B, C, D any]() *signature {
	type function = func(c Context, p1 A, p2 B, p3 C, p4 D) (one, error)
	type values struct {
		r  one
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
		return function(func(c Context, p1 A, p2 B, p3 C, p4 D) (made one, err error) {
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
		*x.Results[0].(*one), err = f.(function)(c, Value[A](x, 0), Value[B](x, 1), Value[C](x, 2), Value[D](x, 3))
		return err
	}
	return s
}

func ofFive[A, B, C, D, E any]() *signature {
	type function = func(c Context, p1 A, p2 B, p3 C, p4 D, p5 E) (one, error)
	type values struct {
		r  one
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
		return function(func(c Context, p1 A, p2 B, p3 C, p4 D, p5 E) (made one, err error) {
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
		*x.Results[0].(*one), err = f.(function)(c, Value[A](x, 0), Value[B](x, 1), Value[C](x, 2), Value[D](x, 3), Value[E](x, 4))
		return err
	}
	return s
}
