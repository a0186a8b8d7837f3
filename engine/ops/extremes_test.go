package ops_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/stretchr/testify/assert"
)

var (
	extremeInts   = []int64{0, -1, 5, 1 << 32, 1 << 40, 1 << 62, math.MaxInt64, math.MinInt64 + 1, math.MinInt64}
	extremeFloats = []float64{0, -1, 1e308, -1e308, 1e-320, math.Inf(1), math.Inf(-1), math.NaN()}
)

// extremeProfiles have no elements, one element, or sizes with a product beyond 64 bits.
var extremeProfiles = []profile{
	{dtype.Float32, []int64{3, 3}, nil, onesLike},
	{dtype.Float64, []int64{}, nil, onesLike},
	{dtype.Int64, []int64{0}, nil, onesLike},
	{dtype.Float32, []int64{0, 1 << 60}, nil, onesLike},
	{dtype.Float32, []int64{1 << 40, 0, 3}, nil, onesLike},
	{dtype.Complex64, []int64{0, 3, 0}, nil, onesLike},
	{dtype.Bool, []int64{1}, nil, onesLike},
}

// extremes returns extreme values for an argument.
func extremes(v reflect.Value) (list []reflect.Value) {
	switch x := v.Interface().(type) {
	case int64:
		for _, n := range extremeInts {
			list = append(list, reflect.ValueOf(n))
		}
	case ops.Int:
		for _, n := range extremeInts {
			list = append(list, reflect.ValueOf(ops.Int(n)))
		}
	case float64:
		for _, f := range extremeFloats {
			list = append(list, reflect.ValueOf(f))
		}
	case *float64:
		for _, f := range extremeFloats {
			list = append(list, reflect.ValueOf(&f))
		}
	case dtype.Scalar:
		for _, n := range extremeInts {
			list = append(list, reflect.ValueOf(dtype.IntScalar(n)))
		}
		for _, f := range extremeFloats {
			list = append(list, reflect.ValueOf(dtype.FloatScalar(f)))
		}
		list = append(list, reflect.ValueOf(dtype.ComplexScalar(complex(math.Inf(1), math.NaN()))), reflect.ValueOf(dtype.BoolScalar(true)))
	case []int64:
		list = append(list, reflect.ValueOf([]int64{}), reflect.ValueOf(make([]int64, 70)), reflect.ValueOf(make([]int64, 2000)))
		for _, n := range extremeInts {
			list = append(list, reflect.ValueOf([]int64{n}), reflect.ValueOf([]int64{n, n}), reflect.ValueOf([]int64{0, n, n}))
			for i := range x {
				y := slices.Clone(x)
				y[i] = n
				list = append(list, reflect.ValueOf(y))
			}
		}
	case []float64:
		for _, f := range extremeFloats {
			list = append(list, reflect.ValueOf([]float64{0, f}), reflect.ValueOf([]float64{f, 1}))
		}
	case string:
		list = append(list, reflect.ValueOf("nonsense"), reflect.ValueOf(""))
	}
	return list
}

// global are the operators that change the process.
var global = map[string]bool{"set_num_threads": true, "set_memory_limit": true, "share_memory_": true, "storage_from_descriptor": true}

// For any values of its arguments an operator returns a result or an error without an internal failure, and leaks nothing.
func TestExtremeArgumentsReturnResultsOrErrors(t *testing.T) {
	storage.SetLimit(1 << 28)
	defer storage.SetLimit(0)
	for _, o := range everyOperator(t) {
		if global[o.CName()] {
			continue
		}
		for _, p := range extremeProfiles {
			c, ok := p.call(t, o)
			if !ok {
				continue
			}
			checkExtreme(t, c, fmt.Sprint(c, " of ", p))
			for i := c.outs; i < len(c.args); i++ {
				for k, v := range extremes(c.args[i]) {
					if testing.Short() && k%3 != i%3 {
						continue
					}
					if o.Args[i-c.outs].Name == "dtype" {
						continue
					}
					changed := slices.Clone(c.args)
					changed[i] = v
					text := fmt.Sprint(v)
					checkExtreme(t, c.with(changed), fmt.Sprintf("%v of %v with %s=%.60s", c, p, o.Args[i-c.outs].Name, text))
				}
			}
		}
	}
}

// A text that an argument with words cannot be is rejected by name, whatever the other arguments.
func TestStringArgumentsAreChecked(t *testing.T) {
	tried := 0
	for _, o := range everyOperator(t) {
		for _, p := range []profile{{dtype.Float64, []int64{3, 3}, nil, onesLike}, {dtype.Float64, []int64{3}, nil, onesLike},
			{dtype.Float64, []int64{0, 0}, nil, onesLike}} {
			c, ok := p.call(t, o)
			if !ok {
				continue
			}
			for i, a := range o.Args {
				if len(a.Words) == 0 {
					continue
				}
				changed := slices.Clone(c.args)
				changed[c.outs+i] = reflect.ValueOf("nonsense")
				results, err := c.with(changed).run()
				releaseResults(results)
				assert.Error(t, err, "%v of %v with %s=nonsense", c, p, a.Name)
				if results, plain := c.run(); plain == nil {
					releaseResults(results)
					assert.ErrorContains(t, err, "nonsense", "%v of %v with %s", c, p, a.Name)
					tried++
				}
			}
		}
	}
	assert.Greater(t, tried, 60)
}

func checkExtreme(t *testing.T, c call, what string) {
	before := held()
	results, err := c.run()
	releaseResults(results)
	if err != nil {
		assert.NotEqual(t, status.Internal, codeOf(err), "%s: %v", what, err)
	}
	if !changesStorage[c.o.CName()] {
		assert.Equal(t, before, held(), "%s: %v", what, err)
	}
}
