package ops

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// row1 makes a one-dimensional tensor.
func row1(t *testing.T, d dtype.DType, values ...float64) *tensor.Tensor {
	x, err := tensor.Empty("test", []int64{int64(len(values))}, d, device.Host)
	require.NoError(t, err)
	t.Cleanup(x.Release)
	for i, v := range values {
		tensor.Put(unsafe.Add(x.Data(), int64(i)*d.Size()), d, dtype.FloatScalar(v))
	}
	return x
}

func values(x *tensor.Tensor) []float64 {
	out := make([]float64, x.Numel())
	for i := range out {
		out[i] = x.At([]int64{int64(i)}).Float()
	}
	return out
}

type binary func(out, self, other *tensor.Tensor) (*tensor.Tensor, error)

// Small and large tensors take different paths, which must convert the scalar to the compute dtype in the same way.
func TestScalarsWithSmallAndLargeTensorsAreIdentical(t *testing.T) {
	few, many := ramp(t, dtype.Float32, 3), ramp(t, dtype.Float32, 100)
	copy(elements[float32](few), elements[float32](many))
	for _, s := range []dtype.Scalar{dtype.FloatScalar(0.1), dtype.FloatScalar(1e300), dtype.IntScalar(1<<60 + 1<<36 + 1),
		dtype.BoolScalar(true)} {
		number, err := tensor.WrappedNumber(s)
		require.NoError(t, err)
		defer number.Release()
		before := number.Item()
		for name, run := range map[string]func(a *tensor.Tensor) (*tensor.Tensor, error){
			"a * number": func(a *tensor.Tensor) (*tensor.Tensor, error) { return Mul(nil, a, number) },
			"number * a": func(a *tensor.Tensor) (*tensor.Tensor, error) { return Mul(nil, number, a) },
		} {
			short, err := run(few)
			require.NoError(t, err)
			long, err := run(many)
			require.NoError(t, err)
			assert.Equal(t, []int64{3}, short.Sizes())
			assert.Equal(t, elements[float32](long)[:3], elements[float32](short), "%s with %v", name, s)
			assert.Equal(t, before, number.Item(), "%s changes the number", name)
			short.Release()
			long.Release()
		}
	}
}

func TestDivisionRounding(t *testing.T) {
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		op         binary
		d          dtype.DType
		a, b, want []float64
	}{
		"floor_divide integers":     {FloorDivide, dtype.Int64, []float64{7, -7, 7}, []float64{2, 2, -2}, []float64{3, -4, -4}},
		"floor_divide wraps":        {FloorDivide, dtype.Int8, []float64{-128}, []float64{-1}, []float64{-128}},
		"remainder takes the sign":  {Remainder, dtype.Int32, []float64{7, -7, 7}, []float64{4, 4, -4}, []float64{3, 1, -1}},
		"fmod keeps the sign":       {Fmod, dtype.Uint8, []float64{255, 7}, []float64{16, 7}, []float64{15, 0}},
		"fmod of large quotients":   {Fmod, dtype.Float64, []float64{1e300, -5.5}, []float64{7, 2}, []float64{math.Mod(1e300, 7), -1.5}},
		"fmod by infinity":          {Fmod, dtype.Float32, []float64{2.5}, []float64{inf}, []float64{2.5}},
		"floor_divide by zero":      {FloorDivide, dtype.Float32, []float64{-1}, []float64{0}, []float64{-inf}},
		"common multiples of int16": {Lcm, dtype.Int16, []float64{4, 0}, []float64{6, 5}, []float64{12, 0}},
		"divisors of uint8":         {Gcd, dtype.Uint8, []float64{255, 0}, []float64{15, 255}, []float64{15, 255}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := c.op(nil, row1(t, c.d, c.a...), row1(t, c.d, c.b...))
			require.NoError(t, err)
			defer r.Release()
			assert.Equal(t, c.d, r.DType())
			assert.Equal(t, c.want, values(r))
		})
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		op   binary
		a, b dtype.DType
		code status.Code
		says string
	}{
		"integer by zero": {FloorDivide, dtype.Int32, dtype.Int32, status.Runtime, "ZeroDivisionError"},
		"bool difference": {func(out, a, b *tensor.Tensor) (*tensor.Tensor, error) { return Sub(out, a, b, dtype.IntScalar(1)) }, dtype.Bool,
			dtype.Int64, status.NotImplemented, "logical_not"},
		"order of complex":    {Lt, dtype.Complex64, dtype.Float32, status.NotImplemented, "complex64"},
		"maximum of complex":  {Maximum, dtype.Complex64, dtype.Float32, status.Type, "complex"},
		"bits of floats":      {BitwiseAnd, dtype.Int64, dtype.Float32, status.NotImplemented, "float32"},
		"mixed heaviside":     {Heaviside, dtype.Float32, dtype.Float64, status.Runtime, "float64"},
		"complex of integers": {ComplexParts, dtype.Int64, dtype.Int64, status.NotImplemented, "int64"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.op(nil, row1(t, c.a, 1, 2), row1(t, c.b, 1, 0))
			var e *status.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, c.code, e.Code)
			assert.Contains(t, e.Msg, c.says)
		})
	}
}

func TestNaNOrder(t *testing.T) {
	nan := math.NaN()
	a, b := row1(t, dtype.Float32, nan, 1, nan), row1(t, dtype.Float32, 2, nan, nan)
	most, err := Maximum(nil, a, b)
	require.NoError(t, err)
	defer most.Release()
	for _, v := range values(most) {
		assert.True(t, math.IsNaN(v))
	}
	numbers, err := Fmax(nil, a, b)
	require.NoError(t, err)
	defer numbers.Release()
	assert.Equal(t, []float64{2, 1}, values(numbers)[:2])
}

func TestPartsShareMemory(t *testing.T) {
	z := row1(t, dtype.Complex64, 1, 2)
	im, err := Imag(z)
	require.NoError(t, err)
	defer im.Release()
	assert.Equal(t, []int64{2}, im.Strides())
	tensor.Put(im.Data(), dtype.Float32, dtype.FloatScalar(5))
	assert.Equal(t, complex(1, 5), z.At([]int64{0}).Complex())
}

func TestNextafterSixteenBits(t *testing.T) {
	r, err := Nextafter(nil, row1(t, dtype.BFloat16, 1, 0, -1), row1(t, dtype.BFloat16, 2, -1, 0))
	require.NoError(t, err)
	defer r.Release()
	assert.Equal(t, []float64{1 + 0x1p-7, -0x1p-133, -1 + 0x1p-8}, values(r))
}

// Signs of 16-bit floats, dense and with gaps, and a choice between them.
func TestSixteenBitsKeepTheirValues(t *testing.T) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	for _, d := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
		x := given(t, d, []int64{2, 4}, 1.5, zero, -inf, 0x1p-24, 0, -3, nan, inf)
		turned, err := x.View("test", []int64{4, 2}, []int64{1, 4}, 0)
		require.NoError(t, err)
		defer turned.Release()
		other := given(t, d, []int64{}, 7)
		mask := given(t, dtype.Bool, []int64{4, 2}, 1, 0, 1, 1, 0, 0, 1, 0)
		for _, c := range []struct {
			name string
			run  func() (*tensor.Tensor, error)
			want []float64
		}{
			{"neg", func() (*tensor.Tensor, error) { return Neg(nil, x) }, []float64{-1.5, 0, inf, -0x1p-24, zero, 3, nan, -inf}},
			{"abs", func() (*tensor.Tensor, error) { return Abs(nil, turned) }, []float64{1.5, 0, 0, 3, inf, nan, 0x1p-24, inf}},
			{"where", func() (*tensor.Tensor, error) { return Where(nil, mask, turned, other) }, []float64{1.5, 7, zero, -3, 7, 7, 0x1p-24, 7}},
		} {
			got, err := c.run()
			require.NoError(t, err)
			assert.Equal(t, d, got.DType())
			for i, v := range flat(t, got) {
				same := math.Float64bits(v) == math.Float64bits(c.want[i]) || v != v && c.want[i] != c.want[i]
				assert.True(t, same, "%s of %v: %v at %d", c.name, d, v, i)
			}
			got.Release()
		}
	}
}

// Long runs of float16 are converted in vectors; the elements of a view with gaps one by one.
func TestFloat16ConvertsTheSameInRowsAndAlone(t *testing.T) {
	const n = 1000
	for _, d := range []dtype.DType{dtype.Bool, dtype.Uint8, dtype.Int16, dtype.Int64, dtype.BFloat16, dtype.Float32, dtype.Float64,
		dtype.Complex64} {
		values := make([]float64, 2*n)
		for i := range values {
			values[i] = float64(i%90) + float64(i%7)/7
			if d.IsFloatingPoint() {
				values[i] *= math.Pow(2, float64(i%40-24))
			}
		}
		for _, pair := range [][2]dtype.DType{{d, dtype.Float16}, {dtype.Float16, d}} {
			x := given(t, pair[0], []int64{2 * n}, values...)
			run, err := rowMajorCopy("test", x, pair[1])
			require.NoError(t, err)
			for i := range int64(2 * n) {
				one, err := x.View("test", nil, nil, i)
				require.NoError(t, err)
				alone, err := rowMajorCopy("test", one, pair[1])
				require.NoError(t, err)
				require.Equal(t, alone.At(nil), run.At([]int64{i}), "%v to %v", pair[0], pair[1])
				one.Release()
				alone.Release()
			}
			run.Release()
		}
	}
}

// TestDivisionOfLargeIntegers: 64-bit integers that float64 does not hold divide as exactly as the others.
func TestDivisionOfLargeIntegers(t *testing.T) {
	limits := []int64{math.MinInt64, math.MinInt64 + 1, -1<<53 - 1, -1 << 53, -1 << 52, -1<<52 - 1, -7, -1, 0, 1, 3, 1<<52 - 1, 1 << 52,
		1<<53 + 1, math.MaxInt64}
	var as, bs []int64
	for _, a := range limits {
		for _, b := range limits {
			if b != 0 {
				as, bs = append(as, a), append(bs, b)
			}
		}
	}
	whole := func(values []int64) *tensor.Tensor {
		x, err := tensor.Empty("test", []int64{int64(len(values))}, dtype.Int64, device.Host)
		require.NoError(t, err)
		copy(elements[int64](x), values)
		t.Cleanup(x.Release)
		return x
	}
	near := func(values []int64) []int64 { // values around those that float64 rounds
		var out []int64
		for _, v := range values {
			out = append(out, v%(1<<51))
		}
		return out
	}
	for _, operands := range [][2][]int64{{as, bs}, {near(as), slices.Repeat([]int64{-3}, len(as))}} {
		a, b := operands[0], operands[1]
		floor, err := FloorDivide(nil, whole(a), whole(b))
		require.NoError(t, err)
		defer floor.Release()
		rest, err := Remainder(nil, whole(a), whole(b))
		require.NoError(t, err)
		defer rest.Release()
		fmod, err := Fmod(nil, whole(a), whole(b))
		require.NoError(t, err)
		defer fmod.Release()
		for i := range a {
			q, r := a[i]/b[i], a[i]%b[i]
			require.Equal(t, r, elements[int64](fmod)[i], "fmod(%d, %d)", a[i], b[i])
			if r != 0 && (r < 0) != (b[i] < 0) {
				q, r = q-1, r+b[i]
			}
			require.Equal(t, q, elements[int64](floor)[i], "floor_divide(%d, %d)", a[i], b[i])
			require.Equal(t, r, elements[int64](rest)[i], "remainder(%d, %d)", a[i], b[i])
		}
	}
}
