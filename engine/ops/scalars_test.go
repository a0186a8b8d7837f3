package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// numbered are operators with a number, by name.
var numbered = map[string]func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error){
	"add": func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) { return ctx.Add(nil, x, x, v) },
	"sub": func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) { return ctx.Sub(nil, x, x, v) },
	"where": withOperand(func(x, v *tensor.Tensor) (*tensor.Tensor, error) {
		mask, err := ctx.Eq(nil, x, x)
		if err != nil {
			return nil, err
		}
		defer mask.Release()
		return ctx.Where(nil, mask, v, x)
	}),
	"clamp_min": withOperand(func(x, v *tensor.Tensor) (*tensor.Tensor, error) { return ctx.ClampMin(nil, x, v) }),
	"pow":       withOperand(func(x, v *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Pow(nil, x, v) }),
	"lerp":      withOperand(func(x, v *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Lerp(nil, x, x, v) }),
	"addcmul":   func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) { return ctx.Addcmul(nil, x, x, x, v) },
	"addcdiv":   func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) { return ctx.Addcdiv(nil, x, x, x, v) },
	"fill":      withOperand(func(x, v *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Fill(nil, x, v) }),
	"full_like": func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) {
		return ctx.Full(nil, []int64{2}, v, x.DType(), tensor.NoLayout, device.Host)
	},
	"scalar_tensor": func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) {
		return ctx.ScalarTensor(v, x.DType(), tensor.NoLayout, device.Host)
	},
	"fill_diagonal_": func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) {
		return x.Alias(), ctx.FillDiagonal(x, v, false)
	},
	"linspace": func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) {
		return ctx.Linspace(nil, dtype.IntScalar(0), v, 3, x.DType(), tensor.NoLayout, device.Host)
	},
	"logspace": func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) {
		return ctx.Logspace(nil, v, dtype.IntScalar(0), 3, 1, x.DType(), tensor.NoLayout, device.Host)
	},
	"addmm": func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) {
		return ctx.Addmm(nil, x, x, x, v, unscale)
	},
	"addr":    func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) { return onRow(x, ctx.Addr, v) },
	"addmv":   func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) { return onRow(x, swapped, v) },
	"addbmm":  func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) { return onBatch(x, ctx.Addbmm, v) },
	"baddbmm": func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) { return onBatch(x, ctx.Baddbmm, v) },
	"index_add": func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) {
		index, err := ctx.Arange(nil, dtype.IntScalar(2), dtype.Int64, tensor.NoLayout, device.Host)
		if err != nil {
			return nil, err
		}
		defer index.Release()
		return ctx.IndexAdd(nil, x, 0, index, x, v)
	},
}

func withOperand(f func(x, v *tensor.Tensor) (*tensor.Tensor, error)) func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) {
	return func(x *tensor.Tensor, v dtype.Scalar) (*tensor.Tensor, error) {
		n, err := tensor.WrappedNumber(v)
		if err != nil {
			return nil, err
		}
		defer n.Release()
		return f(x, n)
	}
}

type product func(out, self, a, b *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error)

func swapped(out, row, self, _ *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	return ctx.Addmv(out, self, row, self, beta, alpha)
}

func onRow(x *tensor.Tensor, f product, v dtype.Scalar) (*tensor.Tensor, error) {
	row, err := ctx.Select(x, 0, 0)
	if err != nil {
		return nil, err
	}
	defer row.Release()
	return f(nil, x, row, row, unscale, v)
}

func onBatch(x *tensor.Tensor, f product, v dtype.Scalar) (*tensor.Tensor, error) {
	batch, err := ctx.Unsqueeze(nil, x, 0)
	if err != nil {
		return nil, err
	}
	defer batch.Release()
	return f(nil, x, batch, batch, v, unscale)
}

// A number that the dtype it is converted to cannot hold is rejected, by every operator in the same words.
func TestScalarsOutOfRangeAreRejected(t *testing.T) {
	integer := dtype.IntScalar
	type rejected struct {
		d dtype.DType
		v dtype.Scalar
	}
	for name, f := range numbered {
		cases := []rejected{{dtype.Float32, dtype.FloatScalar(1e40)}, {dtype.Complex64, dtype.FloatScalar(-1e40)}}
		if name != "addcdiv" && name != "lerp" {
			cases = append(cases, rejected{dtype.Uint8, integer(300)}, rejected{dtype.Int8, integer(300)}, rejected{dtype.Int16, integer(70000)},
				rejected{dtype.Int32, integer(1 << 40)})
		}
		if name == "clamp_min" || name == "pow" {
			cases = cases[2:]
		}
		for _, c := range cases {
			x := given(t, c.d, []int64{2, 2}, 1, 0, 2, 1)
			y, err := f(x, c.v)
			if assert.ErrorContains(t, err, "without overflow", "%s of %v with %v", name, c.d, c.v) {
				assert.ErrorContains(t, err, "value "+c.v.String()+" cannot be converted to type "+c.d.String())
			}
			if y != nil {
				y.Release()
			}
			assert.Equal(t, []float64{1, 0, 2, 1}, flat(t, x), name)
		}
	}
}

// The conversion of scalars that fit only in part: negative ones wrap in uint8, and 16-bit floats overflow to infinity.
func TestNumbersThatFit(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name string
		d    dtype.DType
		v    dtype.Scalar
		want []float64
	}{
		{"add", dtype.Uint8, dtype.IntScalar(-5), []float64{252, 0, 248, 252}},
		{"where", dtype.Uint8, dtype.IntScalar(-5), []float64{251, 251, 251, 251}},
		{"where", dtype.Float16, dtype.FloatScalar(1e5), []float64{inf, inf, inf, inf}},
		{"scalar_tensor", dtype.Float16, dtype.FloatScalar(1e5), []float64{inf}},
		{"fill_diagonal_", dtype.Uint8, dtype.IntScalar(-5), []float64{251, 0, 2, 251}},
		{"linspace", dtype.Uint8, dtype.IntScalar(-5), []float64{0, 125, 251}},
		{"addcmul", dtype.Float16, dtype.FloatScalar(1e10), []float64{inf, 0, inf, inf}},
		{"lerp", dtype.Float32, dtype.ComplexScalar(3), []float64{1, 0, 2, 1}},
		{"index_add", dtype.Int64, dtype.FloatScalar(2.5), []float64{3, 0, 6, 3}},
		{"index_add", dtype.Bool, dtype.FloatScalar(0.5), []float64{1, 0, 1, 1}},
	} {
		x := given(t, c.d, []int64{2, 2}, 1, 0, 2, 1)
		y, err := numbered[c.name](x, c.v)
		if assert.NoError(t, err, "%s of %v with %v", c.name, c.d, c.v) {
			assert.Equal(t, c.want, flat(t, y), "%s of %v with %v", c.name, c.d, c.v)
			y.Release()
		}
	}
}

// An operand of another dtype is rounded to the 16-bit dtype of the result before it is computed with; the number of a product or
// a quotient is not.
func TestOperandsAreRoundedToSixteenBits(t *testing.T) {
	binary := func(f func(out, a, b *tensor.Tensor) (*tensor.Tensor, error)) func(a, b *tensor.Tensor) (*tensor.Tensor, error) {
		return func(a, b *tensor.Tensor) (*tensor.Tensor, error) { return f(nil, a, b) }
	}
	for _, c := range []struct {
		name    string
		f       func(a, b *tensor.Tensor) (*tensor.Tensor, error)
		x, v, y float64
	}{
		{"add", func(a, b *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Add(nil, a, b, unscale) }, 1, -2.7, -1.69921875},
		{"sub", func(a, b *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Sub(nil, a, b, unscale) }, 1, 2.7, -1.69921875},
		{"fmod", binary(ctx.Fmod), -3, 2.7, -0.30078125},
		{"remainder", binary(ctx.Remainder), 1, -2.7, -1.69921875},
		{"pow", binary(ctx.Pow), 4, 2.7, 42.1875},
		{"mul", binary(ctx.Mul), 1023, 1.0004, 1023.5},
		{"div", func(a, b *tensor.Tensor) (*tensor.Tensor, error) { return ctx.Div(nil, a, b, "") }, 1023, 1.0004, 1022.5},
	} {
		x := given(t, dtype.Float16, []int64{1}, c.x)
		for _, number := range []bool{true, false} {
			v, err := tensor.WrappedNumber(dtype.FloatScalar(c.v))
			require.NoError(t, err)
			t.Cleanup(v.Release)
			if !number {
				v = given(t, dtype.Float32, nil, c.v)
			}
			y, err := c.f(x, v)
			require.NoError(t, err, c.name)
			assert.Equal(t, dtype.Float16, y.DType(), c.name)
			assert.Equal(t, []float64{c.y}, flat(t, y), "%s, as a number: %v", c.name, number)
			y.Release()
		}
	}
}
