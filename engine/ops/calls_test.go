package ops_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/schema"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// profile is one way to fill in the arguments of an operator.
type profile struct {
	d      dtype.DType
	sizes  []int64
	order  []int64             // of dimensions, nil for contiguous tensors
	values func(i int) float64 // of the elements
}

// one is a number that tensors of the profile's dtype can be added to in place.
func (p profile) one() dtype.Scalar {
	if p.d == dtype.Bool {
		return dtype.BoolScalar(true)
	}
	return dtype.IntScalar(1)
}

func (p profile) String() string { return fmt.Sprint(p.d, p.sizes) }

// halves are values with zeros; values of onesLike are positive, and probabilities.
func halves(i int) float64 { return float64(i%2) * 0.5 }

func onesLike(int) float64 { return 1 }
func zeros(int) float64    { return 0 }

// first and last return the sizes of the first and the last dimension, or 0 without dimensions.
func (p profile) first() int64 { return p.cut(1).last() }

func (p profile) last() int64 {
	if len(p.sizes) == 0 {
		return 0
	}
	return p.sizes[len(p.sizes)-1]
}

// cut is p with fewer dimensions.
func (p profile) cut(dims int) profile {
	p.sizes, p.order = slices.Clone(p.sizes[:max(min(dims, len(p.sizes)), 0)]), nil
	if shape.Product(p.sizes) > 1<<20 {
		p.sizes[0] = 0
	}
	return p
}

// tensor makes an operand; indices and masks have their own dtypes and values that are in range.
func (p profile) tensor(t *testing.T, name string) *tensor.Tensor {
	d, sizes := p.d, p.sizes
	switch name {
	case "index", "indices":
		d = dtype.Int64
	case "mask", "condition":
		d = dtype.Bool
	case "boundaries", "sorted_sequence":
		sizes = []int64{3}
	}
	n := shape.Product(sizes)
	values := make([]float64, n)
	for i := range values {
		values[i] = p.values(i)
	}
	x := given(t, d, sizes, values...)
	if p.order == nil || len(sizes) != len(p.order) {
		return x
	}
	y, err := ctx.Permute(x, p.order)
	require.NoError(t, err)
	t.Cleanup(y.Release)
	return y
}

// argument is the value of an argument of Go type want.
func (p profile) argument(t *testing.T, a schema.Arg, want reflect.Type) (v reflect.Value, ok bool) {
	v = reflect.New(want).Elem()
	none := a.Default == "None"
	switch v.Interface().(type) {
	case *tensor.Tensor:
		if !a.Type.Optional {
			v.Set(reflect.ValueOf(p.tensor(t, a.Name)))
		}
	case []*tensor.Tensor:
		x := []*tensor.Tensor{p.tensor(t, a.Name)}
		if a.Name != "indices" {
			x = append(x, p.tensor(t, a.Name))
		} else {
			x[0] = p.tensor(t, "index")
		}
		v.Set(reflect.ValueOf(x))
	case dtype.Scalar:
		n, err := strconv.ParseInt(a.Default, 10, 64)
		if err != nil {
			n = 2
		}
		if !none {
			v.Set(reflect.ValueOf(dtype.IntScalar(n)))
		}
	case dtype.DType:
		v.SetInt(int64(dtype.None))
		if a.Default == "" {
			v.SetInt(int64(dtype.Float64))
		}
	case tensor.Layout:
		v.SetInt(int64(tensor.NoLayout))
	case device.Device:
		v.Set(reflect.ValueOf(device.None))
	case shape.MemoryFormat:
		v.SetInt(int64(shape.NoFormat))
		if a.Default == "contiguous_format" {
			v.SetInt(int64(shape.Contiguous))
		}
	case ops.Int:
		v.SetInt(int64(ops.NoInt))
	case ops.Bool:
		v.SetInt(int64(ops.NoBool))
	case int64:
		n, _ := strconv.ParseInt(a.Default, 10, 64)
		switch a.Name {
		case "k", "p", "length", "size", "step", "sections", "chunks", "split_size", "repeats", "steps", "num_samples", "n", "dim1", "axis1",
			"high", "to", "edge_order":
			n = max(n, 1)
		}
		v.SetInt(n)
	case float64:
		f, _ := strconv.ParseFloat(a.Default, 64)
		v.SetFloat(f)
	case bool:
		v.SetBool(a.Default == "True")
	case string:
		v.SetString(strings.Trim(a.Default, "'"))
		switch {
		case none:
			v.SetString("")
		case a.Name == "reduce":
			v.SetString("prod")
		case a.Name == "equation":
			v.SetString("...i,...i->...")
		}
	case []int64:
		if a.Default == "" {
			v.Set(reflect.ValueOf(p.integers(a.Name)))
		}
	case []ops.IndexItem:
		v.Set(reflect.ValueOf([]ops.IndexItem{{Kind: ops.IndexTensor, Tensor: p.tensor(t, "index")}}))
	case *random.Generator:
		if !a.Type.Optional {
			v.Set(reflect.ValueOf(random.New(random.MT19937, 1)))
		}
	case []dtype.Scalar: // for each of two tensors
		v.Set(reflect.ValueOf([]dtype.Scalar{p.one(), p.one()}))
	case *float64, []float64: // none
	default:
		return v, v.Kind() == reflect.Pointer && want != reflect.TypeFor[*storage.Storage]()
	}
	return v, true
}

// dimNames are a name for each of the operand's dimensions.
func dimNames(p profile) (names []string) {
	for i := range p.sizes {
		names = append(names, string(rune('a'+i)))
	}
	return names
}

// integers fits the operand's shape, so that views, reshapes and permutations are valid.
func (p profile) integers(name string) []int64 {
	var all []int64
	for i := range p.sizes {
		all = append(all, int64(len(p.sizes)-1-i))
	}
	switch name {
	case "size", "shape":
		return p.sizes
	case "stride", "storage_offset":
		return shape.ContiguousStrides(p.sizes)
	case "dims", "source", "destination", "dim", "physical_layout":
		return all
	case "sizes", "split_size", "split_sizes":
		return []int64{1, 2}
	case "repeats":
		return append([]int64{2}, p.sizes...)
	}
	return []int64{1}
}

func takesTensors(o *schema.Operator) bool {
	for _, a := range o.Args {
		if a.Type.Base == "Tensor" || a.Type.Base == "Operand" {
			return true
		}
	}
	return false
}

// call is an operator with its arguments; the first outs of them are outputs, absent at first.
type call struct {
	o    *schema.Operator
	f    reflect.Value
	outs int
	args []reflect.Value
}

func (c call) String() string { return c.o.CName() }

// methodOf returns the dispatcher's method of an operator.
func methodOf(o *schema.Operator) reflect.Value { return reflect.ValueOf(ctx).MethodByName(o.GoName()) }

// call makes the arguments of o; ok is false where an argument is of a type that no profile makes.
func (p profile) call(t *testing.T, o *schema.Operator) (c call, ok bool) {
	c = call{o: o, f: methodOf(o)}
	if o.Has("out") || o.Has("inplace") {
		c.outs = len(o.Returns)
	}
	for i := range c.outs {
		c.args = append(c.args, reflect.Zero(c.f.Type().In(i)))
	}
	var own map[string]any
	if make := particular[o.CName()]; make != nil {
		own = make(p, t)
	}
	for i, a := range o.Args {
		want := c.f.Type().In(c.outs + i)
		v, ok := p.argument(t, a, want)
		if x, is := own[a.Name]; is && reflect.TypeOf(x) == want {
			v, ok = reflect.ValueOf(x), true
		}
		if !ok {
			return c, false
		}
		if a.Name == "dtype" && (!takesTensors(o) || strings.HasPrefix(o.Name, "linspace") || strings.HasPrefix(o.Name, "logspace")) {
			v = reflect.ValueOf(p.d)
		}
		c.args = append(c.args, v)
	}
	return c, true
}

// with is the call with other arguments.
func (c call) with(args []reflect.Value) call {
	c.args = args
	return c
}

// run calls the operator; a panic is an error with code status.Internal.
func (c call) run() (results []reflect.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &status.Error{Code: status.Internal, Msg: fmt.Sprintf("%v panics: %v", c, p)}
		}
	}()
	results = c.f.Call(c.args)
	last := len(results) - 1
	if err, _ := results[last].Interface().(error); err != nil {
		return nil, err
	}
	return results[:last], nil
}

// everyOperator loads the schemas of the operators on dense tensors. Sparse and quantized tensors have separate tests.
func everyOperator(t *testing.T) []*schema.Operator {
	all, err := schema.Load("..")
	require.NoError(t, err)
	var list []*schema.Operator
	for _, o := range all {
		if o.Category != "gradient" && o.Category != "file" && o.Category != "query" && o.Category != "sparse" && o.Category != "quantized" &&
			!o.Runtime && (methodOf(o).IsValid() || takesTensors(o)) { // the dispatcher has none for some without tensors
			list = append(list, o)
		}
	}
	return list
}
