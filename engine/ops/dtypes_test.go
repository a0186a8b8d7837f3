package ops_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/schema"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// fittingShapes are tried in turn until an operator takes one.
var fittingShapes = [][]int64{{3, 3}, {3}, {2, 2}, {3, 3, 3}, {2}, {}, {4, 2}, {2, 3, 2, 2}}

// uncallable lists operators that do not depend on a dtype or need resources that a test does not have.
var uncallable = map[string]bool{"from_file": true, "pin_memory": true, "record_stream": true}

// fitting is the first shape that o takes in some dtype.
func fitting(t *testing.T, o *schema.Operator) (sizes []int64, ok bool) {
	for _, sizes := range fittingShapes {
		for _, d := range []dtype.DType{dtype.Float32, dtype.Int64, dtype.Complex64} {
			c, ok := profile{d, sizes, nil, onesLike}.call(t, o)
			if !ok {
				return nil, false
			}
			if results, err := c.run(); err == nil {
				releaseResults(results)
				return sizes, true
			}
		}
	}
	require.Fail(t, "no shape fits "+o.CName())
	return nil, false
}

// Every operator supports the dtypes in its schema, and rejects the others with an error that names the dtype. docs/gen_dtypes.md is
// generated from the same schemas.
func TestOperatorsTakeTheDTypesTheyDeclare(t *testing.T) {
	for _, o := range everyOperator(t) {
		if o.DTypes == "none" || uncallable[o.CName()] {
			continue
		}
		sizes, ok := fitting(t, o)
		for _, d := range dtype.All {
			if !ok {
				break
			}
			what := fmt.Sprintf("%v of %v%v", o.CName(), d, sizes)
			c, _ := profile{d, sizes, nil, onesLike}.call(t, o)
			results, err := c.run()
			releaseResults(results)
			switch {
			case d == dtype.BComplex32: // it exists as a result of promotion alone
				assert.NotEqual(t, status.Internal, codeOf(err), "%s: %v", what, err)
			case o.Accepts(d):
				assert.NoError(t, err, what)
			case d == dtype.Complex32 && o.Accepts(dtype.Complex64): // the error names an alternative
				assert.ErrorContains(t, err, "complex64", what)
			default:
				assert.Contains(t, []status.Code{status.NotImplemented, status.Type, status.Runtime, status.Value}, codeOf(err), "%s: %v", what, err)
			}
		}
	}
}

// Results have the dtype of the schema's promotion rule.
func TestResultsHaveTheDTypesTheyDeclare(t *testing.T) {
	for _, o := range everyOperator(t) {
		rules := o.Results()
		if len(rules) == 0 {
			continue
		}
		sizes, ok := fitting(t, o)
		require.True(t, ok, o.CName())
		for _, first := range []dtype.DType{dtype.Bool, dtype.Int8, dtype.Int64, dtype.Uint16, dtype.Uint64, dtype.Float16, dtype.Float64,
			dtype.Complex64} {
			for _, others := range []dtype.DType{first, dtype.Int32, dtype.Uint32, dtype.Float32, dtype.Complex128} {
				a, _ := profile{first, sizes, nil, onesLike}.call(t, o)
				b, _ := profile{others, sizes, nil, onesLike}.call(t, o)
				if len(operandsOf(a)) == 1 && others != first {
					continue
				}
				copy(b.args, a.args[:b.outs+1])
				results, err := b.run()
				if err != nil { // not every operator mixes dtypes
					continue
				}
				var r dtype.Result
				for i, a := range o.Args {
					switch x := b.args[b.outs+i].Interface().(type) {
					case *tensor.Tensor:
						if x != nil && a.Name != "condition" {
							r.Add(x.DType(), x.Rank())
						}
					case []*tensor.Tensor:
						for _, y := range x {
							r.Add(y.DType(), y.Rank())
						}
					case dtype.Scalar:
						if !x.IsNone() && (a.Name == "min" || a.Name == "max") {
							r.Add(x.DType(), dtype.Number)
						}
					}
				}
				for i, result := range tensorsAmong(results) {
					rule := rules[min(i, len(rules)-1)]
					from := r.DType()
					if strings.Contains(rule.Text, "first operand") {
						from = first
					}
					assert.Equal(t, rule.Result(from), result.DType(), "result %d of %v of %v and %v", i, o.CName(), first, others)
				}
				releaseResults(results)
			}
		}
	}
}
