package ops_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/schema"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// inPlaceCall is an in-place call with the sizes of self and of the other operands.
type inPlaceCall struct {
	dtype          dtype.DType
	self, operands []int64
}

var inPlaceCalls = func() (calls []inPlaceCall) {
	for _, d := range []dtype.DType{dtype.Float32, dtype.Float16, dtype.Int64} {
		for _, operands := range [][]int64{{3, 3}, {2, 3, 3}} {
			for _, self := range [][]int64{nil, {1}, {1, 3}, {3, 1}, {1, 1}, {1, 3, 3}} {
				calls = append(calls, inPlaceCall{d, self, operands})
			}
		}
	}
	return calls
}()

// run checks that an operator keeps self's shape, or rejects and leaves its values.
func (call inPlaceCall) run(t *testing.T, o *schema.Operator) {
	p := profile{call.dtype, call.operands, nil, onesLike}
	c, ok := p.call(t, o)
	if !ok || c.outs != 1 || c.f.Type().In(1) != c.f.Type().In(0) {
		return
	}
	self := profile{call.dtype, call.self, nil, onesLike}.tensor(t, "")
	before := elementsOf(self)
	c.args[0], c.args[1] = reflect.ValueOf(self), reflect.ValueOf(self)
	results, err := c.run()
	if err == nil && results[0].Pointer() != c.args[0].Pointer() {
		releaseResults(results)
	}
	assert.NotEqual(t, status.Internal, codeOf(err), "%v: %v", c, err)
	if o.Category != "view" {
		assert.Equal(t, call.self, append([]int64(nil), self.Sizes()...), "%v of %v", c, call)
	}
	if err != nil {
		assert.Equal(t, before, elementsOf(self), "%v of %v: %v", c, call, err)
	}
}

// An in-place operator on a self that is smaller than its result returns an error or keeps self's shape. An error leaves its values
// unchanged.
func TestInPlaceKeepsItsShape(t *testing.T) {
	for _, o := range everyOperator(t) {
		if !o.Has("inplace") || changesStorage[o.CName()] {
			continue
		}
		for _, call := range inPlaceCalls {
			call.run(t, o)
		}
	}
}

// The products name both shapes.
func TestInPlaceProductsNameTheShapes(t *testing.T) {
	matrix, vector := ramp(t, dtype.Float64, 2, 2), ramp(t, dtype.Float64, 2)
	batch := ramp(t, dtype.Float64, 1, 2, 2)
	for name, f := range map[string]func(self *tensor.Tensor) (*tensor.Tensor, error){
		"addmv": func(x *tensor.Tensor) (*tensor.Tensor, error) {
			return ctx.Addmv(x, x, matrix, vector, unscale, unscale)
		},
		"addmm": func(x *tensor.Tensor) (*tensor.Tensor, error) {
			return ctx.Addmm(x, x, matrix, matrix, unscale, unscale)
		},
		"addr": func(x *tensor.Tensor) (*tensor.Tensor, error) {
			return ctx.Addr(x, x, vector, vector, unscale, unscale)
		},
		"addbmm": func(x *tensor.Tensor) (*tensor.Tensor, error) {
			return ctx.Addbmm(x, x, batch, batch, unscale, unscale)
		},
		"baddbmm": func(x *tensor.Tensor) (*tensor.Tensor, error) {
			return ctx.Baddbmm(x, x, batch, batch, unscale, unscale)
		},
	} {
		x := given(t, dtype.Float64, []int64{1}, 5)
		_, err := f(x)
		assert.ErrorContains(t, err, name+": output with shape [1] doesn't match the broadcast shape [")
		assert.Equal(t, []float64{5}, flat(t, x), name)
	}
}

// An infinity makes the mean of std_mean and var_mean infinite, as in mean, in every layout of the elements.
func TestMeanWithVarianceOfInfinities(t *testing.T) {
	low := math.Inf(-1)
	for _, d := range []dtype.DType{dtype.Float16, dtype.Float32, dtype.Float64} {
		for _, values := range [][]float64{{low, 1, 2}, {1, low, 2}, {1, 2, low}} {
			row := given(t, d, []int64{1, 3}, values...)
			wide, err := ops.Expanded("test", row, []int64{4, 3})
			require.NoError(t, err)
			t.Cleanup(wide.Release)
			dense, err := ops.CastTo("test", wide, d)
			require.NoError(t, err)
			t.Cleanup(dense.Release)
			for _, x := range []*tensor.Tensor{row, wide, dense} {
				for dim := range int64(2) {
					spread, mean, err := ctx.StdMeanDim(x, []int64{dim}, true, false)
					require.NoError(t, err)
					alone, err := ctx.Mean(nil, x, []int64{dim}, false, dtype.None)
					require.NoError(t, err)
					assert.True(t, sameBits(flat(t, alone), flat(t, mean)), "%v of %v over %d: %v", d, values, dim, flat(t, mean))
					for _, y := range []*tensor.Tensor{spread, mean, alone} {
						y.Release()
					}
				}
			}
		}
	}
}

// A 16-bit result is rounded before it is written to a wider output.
func TestWiderOutputsHoldRoundedResults(t *testing.T) {
	for name, f := range map[string]func(out, x *tensor.Tensor) (*tensor.Tensor, error){
		"erf": ctx.Erf, "tan": ctx.Tan, "lgamma": ctx.Lgamma, "sqrt": ctx.Sqrt,
		"div": func(out, x *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Div(out, x, x, "") },
		"mul": func(out, x *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Mul(out, x, x) },
		"add": func(out, x *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Add(out, x, x, dtype.FloatScalar(0.3)) },
	} {
		for _, d := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
			for _, wide := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.Complex64} {
				x := given(t, d, []int64{3}, 1.1, 2.3, 0.7)
				narrow, err := f(nil, x)
				require.NoError(t, err, name)
				t.Cleanup(narrow.Release)
				out, err := tensor.Empty("test", []int64{3}, wide, device.Host)
				require.NoError(t, err)
				t.Cleanup(out.Release)
				_, err = f(out, x)
				require.NoError(t, err, name)
				assert.Equal(t, flat(t, narrow), flat(t, out), "%s of %v into %v", name, d, wide)
			}
		}
	}
}

// A step that its operands forbid leaves them and keeps nothing.
func TestNextafterOfEqualValues(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Float16, dtype.BFloat16, dtype.Float32} {
		base := given(t, d, []int64{4}, 1, 2, 3, 4)
		self, other := partOf(t, base, 0, 3), partOf(t, base, 1, 3)
		before := held()
		_, err := ctx.Nextafter(self, self, other)
		assert.ErrorContains(t, err, "refer to a single memory location", "%v", d)
		assert.Equal(t, []float64{1, 2, 3, 4}, flat(t, base))
		assert.Equal(t, before, held())
	}
}

func partOf(t *testing.T, base *tensor.Tensor, start, length int64) *tensor.Tensor {
	x, err := ctx.Narrow(base, 0, start, length)
	require.NoError(t, err)
	t.Cleanup(x.Release)
	return x
}

// Nothing is left of a product that no kernel computes.
func TestRejectedInnerProductsLeakNothing(t *testing.T) {
	x := given(t, dtype.Complex32, []int64{2}, 1, 2)
	for name, f := range map[string]func(out, a, b *tensor.Tensor) (*tensor.Tensor, error){"dot": ctx.Dot, "vdot": ctx.Vdot,
		"matmul": ctx.Matmul} {
		out := given(t, dtype.Complex32, []int64{0})
		before := held()
		_, err := f(out, x, x)
		if err != nil {
			assert.Equal(t, []int64{0}, out.Sizes(), name)
			assert.Equal(t, before, held(), name)
		}
	}
}

// Indices with bools, accepted or rejected, keep nothing.
func TestBoolIndicesLeakNothing(t *testing.T) {
	x := ramp(t, dtype.Float32, 3, 3)
	no := ops.Int(ops.NoInt)
	for _, items := range [][]ops.IndexItem{
		{{Kind: ops.IndexBool}, {Kind: ops.IndexSlice, Start: 1, Stop: int64(no), Step: -2}},
		{{Kind: ops.IndexBool, Start: 1}, {Kind: ops.IndexSlice, Start: 1, Stop: int64(no), Step: 2}},
		{{Kind: ops.IndexBool, Start: 1}, {Kind: ops.IndexInt, Start: 9}},
		{{Kind: ops.IndexBool}, {Kind: ops.IndexBool, Start: 1}, {Kind: ops.IndexTensor, Tensor: given(t, dtype.Int64, []int64{1}, 7)}},
	} {
		before := held()
		_ = ctx.IndexSetScalar(x, items, zero)
		assert.Equal(t, before, held(), "set %v", items)
		_ = ctx.IndexSet(x, items, given(t, dtype.Float32, []int64{1}, 1))
		before = held()
		if y, err := ctx.IndexGet(x, items); err == nil {
			y.Release()
		}
		assert.Equal(t, before, held(), "get %v", items)
	}
}

// Whichever allocation fails, a window is rejected for want of memory and keeps nothing.
func TestWindowsWithoutMemory(t *testing.T) {
	defer storage.SetLimit(0)
	for i := range int64(40) {
		before := held()
		require.NoError(t, ops.FailAllocation(i+1))
		y, err := ctx.KaiserWindow(9, true, 12, dtype.Float32, tensor.NoLayout, device.Host)
		require.NoError(t, ops.FailAllocation(0))
		if err == nil {
			y.Release()
			return
		}
		assert.Equal(t, status.Memory, codeOf(err), "%d: %v", i, err)
		assert.Equal(t, before, held(), "allocation %d", i)
	}
	t.Fatal("the window never got its memory")
}

// NaN exponents result in NaN.
func TestLogspaceOfInfinities(t *testing.T) {
	for _, base := range []float64{0, math.Copysign(0, -1), 2, math.Inf(1), math.NaN()} {
		for _, end := range []complex128{complex(-3, math.Inf(-1)), complex(math.Inf(1), 1), complex(math.NaN(), 2)} {
			y, err := ctx.Logspace(nil, dtype.IntScalar(-1), dtype.ComplexScalar(end), 5, base, dtype.None, tensor.NoLayout, device.Host)
			require.NoError(t, err)
			assert.Equal(t, []int64{5}, y.Sizes())
			y.Release()
		}
	}
}

// Any number of edge items, digits or columns prints.
func TestHugePrintOptions(t *testing.T) {
	x := given(t, dtype.Float32, []int64{6}, 1, 2, 3, 4, 5, 6)
	for _, huge := range []int64{1 << 62, math.MaxInt64} {
		s, err := ctx.ToString(x, 4, 3, huge, 80, ops.NoBool)
		require.NoError(t, err)
		assert.Equal(t, "tensor([1., 2., 3., 4., 5., 6.])", s)
		_, err = ctx.ToString(x, huge, huge, huge, huge, ops.NoBool)
		require.NoError(t, err)
	}
}

// Random operators reject the same dtypes for meta tensors.
func TestRandomMetaRejectsTheSameDTypes(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Bool, dtype.Uint8, dtype.Int64, dtype.Float16, dtype.Float32, dtype.Complex64} {
		meta, err := tensor.Empty("test", []int64{2}, d, device.Device{Type: device.Meta})
		require.NoError(t, err)
		t.Cleanup(meta.Release)
		for name, draw := range map[string]func(x *tensor.Tensor) error{
			"cauchy_":      func(x *tensor.Tensor) error { return ctx.FillCauchy(x, 0, 1, nil) },
			"exponential_": func(x *tensor.Tensor) error { return ctx.FillExponential(x, 1, nil) },
			"log_normal_":  func(x *tensor.Tensor) error { return ctx.FillLogNormal(x, 0, 1, nil) },
			"normal_":      func(x *tensor.Tensor) error { return ctx.FillNormal(x, 0, 1, nil) },
			"uniform_":     func(x *tensor.Tensor) error { return ctx.FillUniform(x, 0, 1, nil) },
			"geometric_":   func(x *tensor.Tensor) error { return ctx.FillGeometric(x, 0.5, nil) },
			"random_":      func(x *tensor.Tensor) error { return ctx.FillRandom(x, nil) },
			"bernoulli_":   func(x *tensor.Tensor) error { return ctx.FillBernoulli(x, 0.5, nil) },
			"bernoulli":    func(x *tensor.Tensor) error { return released(ctx.Bernoulli(nil, x, nil)) },
			"poisson":      func(x *tensor.Tensor) error { return released(ctx.Poisson(x, nil)) },
			"multinomial":  func(x *tensor.Tensor) error { return released(ctx.Multinomial(nil, x, 1, true, nil)) },
			"bernoulli_ each": func(x *tensor.Tensor) error {
				p, err := tensor.Empty("test", []int64{2}, dtype.Float32, x.Device())
				if err != nil {
					return err
				}
				defer p.Release()
				if !p.IsMeta() {
					clear(ops.Elements[float32](p))
				}
				return ctx.FillBernoulliEach(x, p, nil)
			},
		} {
			assert.Equal(t, codeOf(draw(given(t, d, []int64{2}, 1, 1))), codeOf(draw(meta)), "%s of %v", name, d)
		}
	}
}

func released(x *tensor.Tensor, err error) error {
	if err == nil {
		x.Release()
	}
	return err
}

// A number has no dimension to sum over, though -1 and 0 are dimensions that other operators take of it.
func TestTensordotOfNumbers(t *testing.T) {
	number, row := given(t, dtype.Float32, nil, 2), given(t, dtype.Float32, []int64{1}, 3)
	for _, operands := range [][2]*tensor.Tensor{{number, number}, {number, row}, {row, number}} {
		for _, dim := range []int64{0, -1} {
			err := released(ctx.TensordotDims(nil, operands[0], operands[1], []int64{dim}, []int64{dim}))
			assert.Equal(t, status.Index, codeOf(err))
			assert.ErrorContains(t, err, "0-dimensional")
		}
	}
	product, err := ctx.TensordotDims(nil, number, row, nil, nil)
	require.NoError(t, err)
	defer product.Release()
	assert.Equal(t, []float32{6}, ops.Elements[float32](product))
}
