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
		{65519.9, 0x7bff}, {65520, 0x7c00}, {-1e10, 0xfc00}, {6e-8, 1}, {2.9802322e-8, 0}, {2.99e-8, 1}, {1.00048828125, 0x3c00}, {1.0014648, 0x3c02},
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
		{dtype.FloatScalar(1e6), dtype.Float16, false}, {dtype.ComplexScalar(1i), dtype.Float32, false}, {dtype.ComplexScalar(1i), dtype.Complex64, true},
		{dtype.FloatScalar(1e40), dtype.Complex64, false}, {dtype.ComplexScalar(1e40i), dtype.Complex64, false}, {dtype.FloatScalar(1e40), dtype.Complex128, true},
	} {
		assert.Equal(t, c.want, c.s.Fits(c.d), "%v in %v", c.s, c.d)
	}
}

func TestNoneIsLeftAlone(t *testing.T) {
	assert.Equal(t, dtype.None, dtype.None.ToReal())
	assert.Equal(t, dtype.None, dtype.None.Compute())
	assert.Equal(t, dtype.Complex64, dtype.None.ToComplex())
	assert.Equal(t, "none", dtype.None.String())
	assert.False(t, dtype.None.Valid())
}
