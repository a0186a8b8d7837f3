package dtype_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func parse(t *testing.T, name string) dtype.DType {
	t.Helper()
	d, ok := dtype.Parse(name)
	require.True(t, ok, name)
	return d
}

// TestPromotionTable replays the recorded promotion of every pair of dtypes, for both default dtypes.
func TestPromotionTable(t *testing.T) {
	raw, err := os.ReadFile("testdata/promotion.json")
	require.NoError(t, err)
	var table map[string]map[string]any
	require.NoError(t, json.Unmarshal(raw, &table))
	require.Len(t, table, 2)
	number := map[string]dtype.DType{
		"scalar bool": dtype.Bool, "scalar int": dtype.Int64, "scalar float": dtype.Float64, "scalar complex": dtype.Complex128,
	}
	rank := map[string]dtype.Rank{"dim": dtype.Dimensioned, "zero": dtype.ZeroDim, "scalar": dtype.Number}
	defer dtype.SetDefault(dtype.Float32)
	for def, rows := range table {
		require.True(t, dtype.SetDefault(parse(t, def)))
		for pair, row := range rows {
			names := strings.Split(pair, ",")
			if len(names) != 2 {
				continue // the dtypes of new tensors, which the bindings decide
			}
			if dtypes, ok := row.(string); ok {
				var r dtype.Result
				r.Add(number[names[0]], dtype.Number)
				r.Add(number[names[1]], dtype.Number)
				assert.Equal(t, dtypes, r.DType().String(), "%s default %s", pair, def)
				continue
			}
			want := row.(map[string]any)
			a, b := parse(t, names[0]), number[names[1]]
			if !strings.HasPrefix(names[1], "scalar") {
				b = parse(t, names[1])
				assert.Equal(t, want["promote_types"], dtype.Promote(a, b).String(), pair)
				assert.Equal(t, want["can_cast"], dtype.CanCast(a, b), pair)
			}
			for how, result := range want {
				ranks := strings.Split(how, "_")
				if _, ok := rank[ranks[0]]; !ok || len(ranks) != 2 {
					continue
				}
				var r dtype.Result
				r.Add(a, rank[ranks[0]])
				r.Add(b, rank[ranks[1]])
				assert.Equal(t, result, r.DType().String(), "%s %s default %s", pair, how, def)
			}
		}
	}
}

func TestHalfRoundTripsEveryValue(t *testing.T) {
	for h := range 1 << 16 {
		if f := dtype.Float16ToFloat32(uint16(h)); f == f {
			require.Equal(t, uint16(h), dtype.Float16FromFloat32(f))
		}
		if f := dtype.BFloat16ToFloat32(uint16(h)); f == f {
			require.Equal(t, uint16(h), dtype.BFloat16FromFloat32(f))
		}
	}
}

func TestHalfRounding(t *testing.T) {
	for _, c := range []struct {
		in   float32
		want uint16
	}{
		{65519.9, 0x7bff}, {65520, 0x7c00}, {-1e10, 0xfc00}, {6e-8, 1}, {2.9802322e-8, 0}, {2.99e-8, 1}, {1.00048828125, 0x3c00},
		{1.0014648, 0x3c02},
	} {
		assert.Equal(t, c.want, dtype.Float16FromFloat32(c.in), "%v", c.in)
	}
	assert.NotZero(t, dtype.Float16FromFloat32(float32(math.NaN()))&0x3ff)
	assert.NotZero(t, dtype.BFloat16FromFloat32(float32(math.NaN()))&0x7f)
}

func TestScalarFits(t *testing.T) {
	for _, c := range []struct {
		s    dtype.Scalar
		d    dtype.DType
		want bool
	}{
		{dtype.IntScalar(255), dtype.Uint8, true}, {dtype.IntScalar(256), dtype.Uint8, false}, {dtype.IntScalar(-1), dtype.Uint8, true},
		{dtype.IntScalar(128), dtype.Int8, false}, {dtype.FloatScalar(1e10), dtype.Int32, false}, {dtype.FloatScalar(1e10), dtype.Int64, true},
		{dtype.FloatScalar(math.Inf(1)), dtype.Int64, false}, {dtype.FloatScalar(math.Inf(1)), dtype.Float16, true},
		{dtype.FloatScalar(1e6), dtype.Float16, false}, {dtype.ComplexScalar(1i), dtype.Float32, false},
		{dtype.ComplexScalar(1i), dtype.Complex64, true},
		{dtype.IntScalar(-65535), dtype.Uint16, true}, {dtype.IntScalar(65536), dtype.Uint16, false},
		{dtype.UintScalar(1 << 63), dtype.Int64, false},
		{dtype.UintScalar(math.MaxUint64), dtype.Uint64, true}, {dtype.UintScalar(math.MaxUint64), dtype.Uint32, false},
		{dtype.IntScalar(-1), dtype.Uint64, true},
		{dtype.FloatScalar(1e19), dtype.Uint64, true}, {dtype.FloatScalar(1e20), dtype.Uint64, false},
		{dtype.FloatScalar(-1), dtype.Uint64, false},
		{dtype.UintScalar(math.MaxUint64), dtype.Float32, true}, {dtype.UintScalar(math.MaxUint64), dtype.Float16, false},
		{dtype.FloatScalar(1e40), dtype.Complex64, false}, {dtype.ComplexScalar(1e40i), dtype.Complex64, false},
		{dtype.FloatScalar(1e40), dtype.Complex128, true},
	} {
		assert.Equal(t, c.want, c.s.Fits(c.d), "%v in %v", c.s, c.d)
	}
}

// PyTorch does not support these pairs, except those with floats; the others follow NumPy.
func TestPromotionOfUnsignedIntegers(t *testing.T) {
	for _, c := range [][3]dtype.DType{
		{dtype.Uint16, dtype.Bool, dtype.Uint16}, {dtype.Uint16, dtype.Uint8, dtype.Uint16}, {dtype.Uint16, dtype.Int8, dtype.Int32},
		{dtype.Uint16, dtype.Int16, dtype.Int32}, {dtype.Uint16, dtype.Int32, dtype.Int32}, {dtype.Uint16, dtype.Int64, dtype.Int64},
		{dtype.Uint32, dtype.Uint16, dtype.Uint32}, {dtype.Uint32, dtype.Int16, dtype.Int64}, {dtype.Uint32, dtype.Int32, dtype.Int64},
		{dtype.Uint64, dtype.Uint8, dtype.Uint64}, {dtype.Uint64, dtype.Uint32, dtype.Uint64}, {dtype.Uint64, dtype.Int64, dtype.Float64},
		{dtype.Uint64, dtype.BFloat16, dtype.BFloat16}, {dtype.Uint32, dtype.Complex64, dtype.Complex64},
	} {
		assert.Equal(t, c[2], dtype.Promote(c[0], c[1]), "%v and %v", c[0], c[1])
		assert.Equal(t, c[2], dtype.Promote(c[1], c[0]), "%v and %v", c[1], c[0])
	}
}

// A number beyond int64 leaves the dtype of integers, and is uint64 among numbers.
func TestPromotionOfNumbersBeyondInt64(t *testing.T) {
	of := func(d dtype.DType, numbers ...dtype.DType) dtype.DType {
		var r dtype.Result
		if d != dtype.None {
			r.Add(d, dtype.Dimensioned)
		}
		for _, n := range numbers {
			r.Add(n, dtype.Number)
		}
		return r.DType()
	}
	assert.Equal(t, dtype.Int16, of(dtype.Int16, dtype.Uint64))
	assert.Equal(t, dtype.Int16, of(dtype.Int16, dtype.Int64, dtype.Uint64))
	assert.Equal(t, dtype.Uint64, of(dtype.Bool, dtype.Uint64, dtype.Int64))
	assert.Equal(t, dtype.Uint64, of(dtype.None, dtype.Bool, dtype.Uint64))
	assert.Equal(t, dtype.Float32, of(dtype.None, dtype.Float64, dtype.Uint64))
}

func TestIntegerRange(t *testing.T) {
	for _, c := range []struct {
		d  dtype.DType
		lo int64
		hi uint64
	}{
		{dtype.Bool, 0, 1}, {dtype.Uint8, 0, 255}, {dtype.Int8, -128, 127}, {dtype.Int16, -1 << 15, 1<<15 - 1}, {dtype.Int64, math.MinInt64,
			math.MaxInt64}, {dtype.None, math.MinInt64, math.MaxInt64}, {dtype.Complex128, math.MinInt64, math.MaxInt64},
		{dtype.Uint16, 0, 1<<16 - 1}, {dtype.Uint32, 0, 1<<32 - 1}, {dtype.Uint64, 0, math.MaxUint64},
	} {
		lo, hi := c.d.IntegerRange()
		assert.Equal(t, c.lo, lo, c.d)
		assert.Equal(t, c.hi, hi, c.d)
	}
}

func TestScalarsBeyondInt64(t *testing.T) {
	s := dtype.UintScalar(math.MaxUint64)
	assert.Equal(t, dtype.KindUint, s.Kind)
	assert.Equal(t, "18446744073709551615", s.String())
	assert.Equal(t, 0x1p64, s.Float())
	assert.True(t, s.Bool() && s.IsInteger())
	assert.Equal(t, int64(math.MaxInt64), s.Position(), "no position of anything")
	assert.Equal(t, dtype.IntScalar(5), dtype.UintScalar(5), "one form for each number")
}

func TestNoneIsLeftAlone(t *testing.T) {
	assert.Equal(t, dtype.None, dtype.None.ToReal())
	assert.Equal(t, dtype.None, dtype.None.Compute())
	assert.Equal(t, dtype.Complex64, dtype.None.ToComplex())
	assert.Equal(t, "none", dtype.None.String())
	assert.False(t, dtype.None.Valid())
}
