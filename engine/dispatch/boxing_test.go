package dispatch

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/libtensor/libtensor/engine/tensor"
)

// Every operator with a listed signature converts calls as reflection does, in both directions, with a result and with an error.
func TestListedSignaturesConvertAsReflection(t *testing.T) {
	covered := map[reflect.Type]bool{}
	for i := range Operators() {
		o := &operators[i]
		of := reflect.TypeOf(o.whole)
		if _, listed := signatures[of]; !listed {
			continue
		}
		covered[of] = true
		given := []reflect.Value{reflect.ValueOf(Context{})}
		for p := 1; p < of.NumIn(); p++ {
			given = append(given, distinct(of.In(p), p))
		}
		for _, want := range []error{nil, errors.New("a failure")} {
			made := new(tensor.Tensor)
			var seen [][]any
			does := func(_ Context, call *Call) error {
				assert.Same(t, o, call.Operator)
				var values []any
				for _, at := range call.Args {
					values = append(values, reflect.ValueOf(at).Elem().Interface())
				}
				seen = append(seen, values)
				*call.Results[0].(**tensor.Tensor) = made
				return want
			}
			for _, f := range []reflect.Value{o.boxFunction(does), o.boxByReflection(does)} {
				results := f.Call(given)
				assert.Same(t, made, results[0].Interface(), o.Name)
				assert.Equal(t, want, errorOf(results[1]), o.Name)
			}
			assert.Len(t, seen, 2)
			for p, v := range seen[0] {
				assert.Equal(t, given[p+1].Interface(), v, o.Name)
			}
			assert.Equal(t, seen[1], seen[0], o.Name)

			var called [][]any
			function := reflect.MakeFunc(of, func(got []reflect.Value) []reflect.Value {
				var values []any
				for _, v := range got[1:] {
					values = append(values, v.Interface())
				}
				called = append(called, values)
				failure := reflect.Zero(of.Out(1))
				if want != nil {
					failure = reflect.ValueOf(&want).Elem()
				}
				return []reflect.Value{reflect.ValueOf(made), failure}
			}).Interface()
			for _, run := range []func(x *Call) error{
				func(x *Call) error { return x.runFunction(Context{}, function) }, func(x *Call) error {
					return x.runByReflection(Context{}, function)
				},
			} {
				var result *tensor.Tensor
				x := &Call{Operator: o, Results: []any{&result}, signature: signatures[of]}
				for _, v := range given[1:] {
					at := reflect.New(v.Type())
					at.Elem().Set(v)
					x.Args = append(x.Args, at.Interface())
				}
				assert.Equal(t, want, run(x), o.Name)
				assert.Same(t, made, result, o.Name)
			}
			assert.Equal(t, [][]any{seen[0], seen[0]}, called, o.Name)
		}
	}
	assert.Len(t, covered, len(signatures), "an operator has each of the listed signatures")
}

// distinct is a value of a type that others of the type differ from.
func distinct(of reflect.Type, i int) reflect.Value {
	v := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(of, i, i))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(i))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(i))
	}
	return v
}

func errorOf(v reflect.Value) error {
	err, _ := v.Interface().(error)
	return err
}
