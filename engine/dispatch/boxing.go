package dispatch

import (
	"reflect"

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
	ofThree[one, one, dtype.Scalar](), ofThree[one, int64, int64](), ofThree[one, []int64, bool](), ofThree[one, []one, int64](),
	ofFour[one, one, one, one](), ofFour[one, one, one, dtype.Scalar](), ofFour[one, one, int64, dtype.DType](),
	ofFour[one, one, []int64, bool](), ofFour[one, one, dtype.Scalar, dtype.Scalar](), ofFour[one, int64, int64, int64](),
	ofFive[one, one, one, one, dtype.Scalar](), ofFive[one, one, []int64, bool, dtype.DType](),
)

func byType(list ...signature) map[reflect.Type]signature {
	all := make(map[reflect.Type]signature, len(list))
	for _, s := range list {
		all[s.of] = s
	}
	return all
}

// The conversions for functions of one to five parameters, which Go cannot write as one.

func ofOne[A any]() signature {
	type function = func(c Context, p1 A) (one, error)
	type boxed struct {
		Call
		args    [1]any
		results [1]any
		r       one
		p1      A
	}
	box := func(o *Operator, does Boxed) any {
		return function(func(c Context, p1 A) (one, error) {
			x := &boxed{p1: p1}
			x.args, x.results = [1]any{&x.p1}, [1]any{&x.r}
			x.Call = Call{o, x.args[:], x.results[:]}
			err := does(c, &x.Call)
			return x.r, err
		})
	}
	run := func(x *Call, c Context, f any) (err error) {
		*x.Results[0].(*one), err = f.(function)(c, Value[A](x, 0))
		return err
	}
	return signature{reflect.TypeFor[func(Context, A) (one, error)](), box, run}
}

func ofTwo[A, B any]() signature {
	type function = func(c Context, p1 A, p2 B) (one, error)
	type boxed struct {
		Call
		args    [2]any
		results [1]any
		r       one
		p1      A
		p2      B
	}
	box := func(o *Operator, does Boxed) any {
		return function(func(c Context, p1 A, p2 B) (one, error) {
			x := &boxed{p1: p1, p2: p2}
			x.args, x.results = [2]any{&x.p1, &x.p2}, [1]any{&x.r}
			x.Call = Call{o, x.args[:], x.results[:]}
			err := does(c, &x.Call)
			return x.r, err
		})
	}
	run := func(x *Call, c Context, f any) (err error) {
		*x.Results[0].(*one), err = f.(function)(c, Value[A](x, 0), Value[B](x, 1))
		return err
	}
	return signature{reflect.TypeFor[func(Context, A, B) (one, error)](), box, run}
}

func ofThree[A, B, C any]() signature {
	type function = func(c Context, p1 A, p2 B, p3 C) (one, error)
	type boxed struct {
		Call
		args    [3]any
		results [1]any
		r       one
		p1      A
		p2      B
		p3      C
	}
	box := func(o *Operator, does Boxed) any {
		return function(func(c Context, p1 A, p2 B, p3 C) (one, error) {
			x := &boxed{p1: p1, p2: p2, p3: p3}
			x.args, x.results = [3]any{&x.p1, &x.p2, &x.p3}, [1]any{&x.r}
			x.Call = Call{o, x.args[:], x.results[:]}
			err := does(c, &x.Call)
			return x.r, err
		})
	}
	run := func(x *Call, c Context, f any) (err error) {
		*x.Results[0].(*one), err = f.(function)(c, Value[A](x, 0), Value[B](x, 1), Value[C](x, 2))
		return err
	}
	return signature{reflect.TypeFor[func(Context, A, B, C) (one, error)](), box, run}
}

func ofFour[A, B, C, D any]() signature {
	type function = func(c Context, p1 A, p2 B, p3 C, p4 D) (one, error)
	type boxed struct {
		Call
		args    [4]any
		results [1]any
		r       one
		p1      A
		p2      B
		p3      C
		p4      D
	}
	box := func(o *Operator, does Boxed) any {
		return function(func(c Context, p1 A, p2 B, p3 C, p4 D) (one, error) {
			x := &boxed{p1: p1, p2: p2, p3: p3, p4: p4}
			x.args, x.results = [4]any{&x.p1, &x.p2, &x.p3, &x.p4}, [1]any{&x.r}
			x.Call = Call{o, x.args[:], x.results[:]}
			err := does(c, &x.Call)
			return x.r, err
		})
	}
	run := func(x *Call, c Context, f any) (err error) {
		*x.Results[0].(*one), err = f.(function)(c, Value[A](x, 0), Value[B](x, 1), Value[C](x, 2), Value[D](x, 3))
		return err
	}
	return signature{reflect.TypeFor[func(Context, A, B, C, D) (one, error)](), box, run}
}

func ofFive[A, B, C, D, E any]() signature {
	type function = func(c Context, p1 A, p2 B, p3 C, p4 D, p5 E) (one, error)
	type boxed struct {
		Call
		args    [5]any
		results [1]any
		r       one
		p1      A
		p2      B
		p3      C
		p4      D
		p5      E
	}
	box := func(o *Operator, does Boxed) any {
		return function(func(c Context, p1 A, p2 B, p3 C, p4 D, p5 E) (one, error) {
			x := &boxed{p1: p1, p2: p2, p3: p3, p4: p4, p5: p5}
			x.args, x.results = [5]any{&x.p1, &x.p2, &x.p3, &x.p4, &x.p5}, [1]any{&x.r}
			x.Call = Call{o, x.args[:], x.results[:]}
			err := does(c, &x.Call)
			return x.r, err
		})
	}
	run := func(x *Call, c Context, f any) (err error) {
		*x.Results[0].(*one), err = f.(function)(c, Value[A](x, 0), Value[B](x, 1), Value[C](x, 2), Value[D](x, 3), Value[E](x, 4))
		return err
	}
	return signature{reflect.TypeFor[func(Context, A, B, C, D, E) (one, error)](), box, run}
}
