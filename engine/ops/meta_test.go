package ops

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/schema"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// profile is one way to fill in the arguments of an operator that takes tensors.
type profile struct {
	d     dtype.DType
	sizes []int64
	order []int64 // of dimensions, nil for contiguous tensors
}

var profiles = []profile{
	{dtype.Float32, []int64{3, 3}, nil},
	{dtype.Float64, []int64{3, 3, 3}, []int64{2, 0, 1}},
	{dtype.Int64, []int64{3, 3}, []int64{1, 0}},
	{dtype.Bool, []int64{3}, nil},
	{dtype.Complex64, []int64{3}, nil},
	{dtype.BFloat16, []int64{}, nil},
	{dtype.Float32, []int64{0, 3}, nil},
	{dtype.Float32, []int64{2, 3, 2, 2}, []int64{0, 2, 3, 1}},
	{dtype.Float32, []int64{4, 2}, nil},
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
		values[i] = float64(i%2) * 0.5
	}
	x := given(t, d, sizes, values...)
	if p.order == nil || len(sizes) != len(p.order) {
		return x
	}
	y, err := Permute(x, p.order)
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
		if !none {
			v.Set(reflect.ValueOf(dtype.IntScalar(2)))
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
	case Int:
		v.SetInt(int64(NoInt))
	case Bool:
		v.SetInt(int64(NoBool))
	case int64:
		n, _ := strconv.ParseInt(a.Default, 10, 64)
		switch a.Name {
		case "k", "p", "length", "size", "step", "sections", "chunks", "split_size", "repeats", "steps", "num_samples", "n", "dim1", "axis1":
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
			v.SetString("...i,...i->...i")
		}
	case []int64:
		if a.Default == "" {
			v.Set(reflect.ValueOf(p.integers(a.Name)))
		}
	case []IndexItem:
		v.Set(reflect.ValueOf([]IndexItem{{Kind: IndexTensor, Tensor: p.tensor(t, "index")}}))
	default:
		return v, v.Kind() == reflect.Pointer // no generator, no optional float
	}
	return v, true
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

// onMeta is x without its bytes.
func onMeta(t *testing.T, x *tensor.Tensor) *tensor.Tensor {
	m, err := tensor.EmptyStrided("test", x.Sizes(), x.Strides(), x.DType(), device.Device{Type: device.Meta, Index: -1})
	require.NoError(t, err)
	t.Cleanup(m.Release)
	return m
}

// geometries describes the tensors among results.
func geometries(results []reflect.Value) string {
	var b strings.Builder
	for _, r := range results {
		switch x := r.Interface().(type) {
		case *tensor.Tensor:
			fmt.Fprintln(&b, x.DType(), x.Sizes(), x.Strides())
		case []*tensor.Tensor:
			for _, y := range x {
				fmt.Fprintln(&b, y.DType(), y.Sizes(), y.Strides())
			}
		}
	}
	return b.String()
}

func releaseResults(results []reflect.Value) {
	for _, r := range results {
		switch x := r.Interface().(type) {
		case *tensor.Tensor:
			x.Release()
		case []*tensor.Tensor:
			for _, y := range x {
				y.Release()
			}
		}
	}
}

// needsData are the operators whose result's shape or value depends on the elements; they refuse meta tensors.
var needsData = map[string]bool{
	"item": true, "equal": true, "allclose": true, "nonzero": true, "nonzero_numpy": true, "where_condition": true, "argwhere": true, "masked_select": true,
	"unique": true, "unique_consecutive": true,
	"masked_fill": true, "index_fill": true, // read the value as a number
	"linspace_tensor_tensor": true, "linspace_tensor_scalar": true, "linspace_scalar_tensor": true,
	"logspace_tensor_tensor": true, "logspace_tensor_scalar": true, "logspace_scalar_tensor": true,
}

// noProfile are the operators whose arguments are too particular for the profiles.
var noProfile = []string{
	"scatter_src_reduce", "scatter_value_reduce", "repeat_interleave", "repeat_interleave_tensor", "rot90",
	"diagonal_scatter", "select_scatter", "constant_pad_nd", "mv", "addbmm", "addmv", "norm_name", "clamp_tensor",
	"clamp", "clip_tensor", "clip", "narrow_tensor", "diagonal", "tensor_split_tensor",
	"bincount", "histogram", "histogram_edges", "histogramdd", "histogramdd_edges", "quantile", "nanquantile", "gradient_scalars", "gradient_tensors",
}

// Every operator infers for meta tensors what it gives for tensors with bytes.
func TestMetaInfersWhatCPUGives(t *testing.T) {
	all, err := schema.Load("../schema/operators")
	require.NoError(t, err)
	var never []string
	for _, o := range all {
		if len(o.Args) == 0 || !takesTensors(o) || len(o.Returns) == 0 || o.Category == "query" || o.Category == "storage" || o.Category == "file" {
			continue
		}
		called := false
		for _, p := range profiles {
			called = checkMeta(t, o, p) || called
		}
		if !called {
			never = append(never, o.CName())
		}
	}
	assert.ElementsMatch(t, noProfile, never, "operators that no profile fits")
}

func takesTensors(o *schema.Operator) bool {
	for _, a := range o.Args {
		if a.Type.Base == "Tensor" || a.Type.Base == "Operand" {
			return true
		}
	}
	return false
}

// callMixed runs an operator with one argument on another device: it may refuse that, but not read bytes that are not there,
// which would end the process.
func callMixed(f reflect.Value, args []reflect.Value, i int, v reflect.Value) {
	mixed := append([]reflect.Value{}, args...)
	mixed[i] = v
	if results := f.Call(mixed); results[len(results)-1].IsNil() {
		releaseResults(results)
	}
}

// checkMeta reports whether the operator accepts the profile.
func checkMeta(t *testing.T, o *schema.Operator, p profile) bool {
	what := fmt.Sprint(o.CName(), " of ", p.d, p.sizes)
	f := reflect.ValueOf(operators[o.CName()])
	var args, meta []reflect.Value
	outs := 0
	if o.Has("out") || o.Has("inplace") {
		outs = len(o.Returns)
	}
	for i := range outs {
		args = append(args, reflect.Zero(f.Type().In(i)))
		meta = append(meta, reflect.Zero(f.Type().In(i)))
	}
	for i, a := range o.Args {
		v, ok := p.argument(t, a, f.Type().In(outs+i))
		if !ok {
			return false
		}
		args = append(args, v)
		switch x := v.Interface().(type) {
		case *tensor.Tensor:
			if x != nil {
				v = reflect.ValueOf(onMeta(t, x))
			}
		case []*tensor.Tensor:
			var list []*tensor.Tensor
			for _, y := range x {
				list = append(list, onMeta(t, y))
			}
			v = reflect.ValueOf(list)
		case []IndexItem:
			v = reflect.ValueOf([]IndexItem{{Kind: IndexTensor, Tensor: onMeta(t, x[0].Tensor)}})
		}
		meta = append(meta, v)
	}
	results := f.Call(args)
	if !results[len(results)-1].IsNil() {
		return false
	}
	defer releaseResults(results)
	for i, v := range args {
		if x, ok := v.Interface().(*tensor.Tensor); ok && x != nil {
			callMixed(f, args, i, meta[i])
			callMixed(f, meta, i, v)
		}
	}
	inferred := f.Call(meta)
	err := inferred[len(inferred)-1]
	if needsData[o.CName()] {
		assert.False(t, err.IsNil(), "%s should refuse meta tensors", what)
		return true
	}
	if assert.True(t, err.IsNil(), "%s: %v", what, err) {
		assert.Equal(t, geometries(results), geometries(inferred), what)
		releaseResults(inferred)
	}
	return true
}
