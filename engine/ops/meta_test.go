package ops_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/schema"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

var profiles = []profile{
	{dtype.Float32, []int64{3, 3}, nil, halves},
	{dtype.Float64, []int64{3, 3, 3}, []int64{2, 0, 1}, halves},
	{dtype.Int64, []int64{3, 3}, []int64{1, 0}, halves},
	{dtype.Bool, []int64{3}, nil, halves},
	{dtype.Complex64, []int64{3}, nil, halves},
	{dtype.BFloat16, []int64{}, nil, halves},
	{dtype.Float32, []int64{0, 3}, nil, halves},
	{dtype.Float32, []int64{2, 3, 2, 2}, []int64{0, 2, 3, 1}, halves},
	{dtype.Float32, []int64{4, 2}, nil, halves},
	{dtype.Int32, []int64{3}, nil, halves},
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
		case *storage.Storage:
			x.Release()
		}
	}
}

// For meta tensors, every operator infers the same results as for tensors with data.
func TestMetaInfersResultsOfTheCPU(t *testing.T) {
	all, err := schema.Load("..")
	require.NoError(t, err)
	var never []string
	for _, o := range all {
		if len(o.Args) == 0 || !takesTensors(o) || len(o.Returns) == 0 || o.Category == "query" || o.Category == "gradient" ||
			o.Category == "storage" || o.Category == "file" || o.Category == "sparse" || o.Category == "quantized" {
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
	assert.Empty(t, never, "operators that no profile fits")
}

// callMixed runs an operator with one argument on another device: it may reject that, but not read bytes that are not there, which would
// end the process.
func callMixed(t *testing.T, c call, args []reflect.Value, i int, v reflect.Value) {
	mixed := append([]reflect.Value{}, args...)
	mixed[i] = v
	results, err := c.with(mixed).run()
	assert.NotEqual(t, status.Internal, codeOf(err), "%v: %v", c, err)
	releaseResults(results)
}

// checkMeta reports whether the operator accepts the profile.
func checkMeta(t *testing.T, o *schema.Operator, p profile) bool {
	what := fmt.Sprint(o.CName(), " of ", p.d, p.sizes)
	c, ok := p.call(t, o)
	if !ok {
		return false
	}
	args := c.args
	var meta []reflect.Value
	for _, v := range args {
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
		case []ops.IndexItem:
			v = reflect.ValueOf([]ops.IndexItem{{Kind: ops.IndexTensor, Tensor: onMeta(t, x[0].Tensor)}})
		}
		meta = append(meta, v)
	}
	results, err := c.run()
	if err != nil {
		require.NotEqual(t, status.Internal, codeOf(err), "%v: %v", what, err)
		return false
	}
	defer releaseResults(results)
	for i, v := range args {
		if x, ok := v.Interface().(*tensor.Tensor); ok && x != nil {
			callMixed(t, c, args, i, meta[i])
			callMixed(t, c, meta, i, v)
		}
	}
	inferred, err := c.with(meta).run()
	if o.Tagged("syncs") {
		assert.Error(t, err, "%s should reject meta tensors", what)
		assert.NotEqual(t, status.Internal, codeOf(err), "%v: %v", what, err)
		return true
	}
	if assert.NoError(t, err, "%s: %v", what, err) {
		assert.Equal(t, geometries(results), geometries(inferred), what)
		releaseResults(inferred)
	}
	return true
}
