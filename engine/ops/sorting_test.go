package ops

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Short rows are sorted by merging, long ones by digits; both are stable and put NaN last.
func TestSortIsStable(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Uint8, dtype.Int16, dtype.Int64, dtype.Uint16, dtype.Uint32, dtype.Uint64, dtype.Float16,
		dtype.BFloat16, dtype.Float32, dtype.Float64} {
		for _, n := range []int64{1, 2, 17, 300, 3000} {
			for _, descending := range []bool{false, true} {
				values := make([]float64, n)
				for i := range values {
					values[i] = float64((i * 37) % 29)
					if d.IsSigned() {
						values[i] -= 14
					}
				}
				if d.IsFloatingPoint() && n > 2 {
					values[n/2] = math.NaN()
				}
				x := given(t, d, []int64{n}, values...)
				v, i, err := Sort(nil, nil, x, 0, descending)
				require.NoError(t, err)
				want := make([]float64, n)
				for k := range want {
					want[k] = float64(k)
				}
				slices.SortStableFunc(want, func(a, b float64) int {
					x, y := values[int(a)], values[int(b)]
					if descending {
						x, y = y, x
					}
					switch {
					case x != x && y != y || x == y:
						return 0
					case x != x || x > y:
						return 1
					}
					return -1
				})
				assert.Equal(t, want, flat(t, i), "%v %d %v", d, n, descending)
				if first := values[int(want[0])]; first == first {
					assert.Equal(t, first, flat(t, v)[0], "%v", d)
				}
				v.Release()
				i.Release()
			}
		}
	}
}

// Integers within 2^32 of each other are sorted by shorter keys, on both sides of which the order is the same.
func TestSortOfIntegersWithALargeRange(t *testing.T) {
	const short = math.MaxUint32
	for _, span := range []struct{ least, most int64 }{
		{0, 0}, {-short / 2, short - short/2}, {math.MinInt64, math.MinInt64 + short}, {math.MaxInt64 - short, math.MaxInt64},
		{0, short + 1}, {-1, short}, {math.MinInt64, math.MinInt64 + short + 1}, {math.MinInt64, math.MaxInt64},
	} {
		for _, n := range []int64{2, 300, 3000} {
			for _, descending := range []bool{false, true} {
				x := given(t, dtype.Int64, []int64{n}, make([]float64, n)...)
				values := elements[int64](x)
				for i := range values {
					between := uint64(i) * 0x9e3779b97f4a7c15
					if width := uint64(span.most-span.least) + 1; width != 0 {
						between %= width
					}
					values[i] = span.least + int64(between)
				}
				values[0], values[n-1] = span.most, span.least
				copy(values[n/2:], values[:n/4]) // equals
				want := make([]int64, n)
				for k := range want {
					want[k] = int64(k)
				}
				slices.SortStableFunc(want, func(a, b int64) int {
					if descending {
						return cmp.Compare(values[b], values[a])
					}
					return cmp.Compare(values[a], values[b])
				})
				v, i, err := Sort(nil, nil, x, 0, descending)
				require.NoError(t, err)
				assert.Equal(t, want, elements[int64](i), "%v %d %v", span, n, descending)
				for k, at := range want {
					require.Equal(t, values[at], elements[int64](v)[k], "%v %d %v", span, n, descending)
				}
				v.Release()
				i.Release()
			}
		}
	}
}

func TestCumulativeMaximumKeepsNaN(t *testing.T) {
	x := given(t, dtype.Float32, []int64{5}, 1, 3, 3, math.NaN(), 9)
	v, i, err := Cummax(nil, nil, x, 0)
	require.NoError(t, err)
	defer v.Release()
	defer i.Release()
	got := flat(t, v)
	assert.Equal(t, []float64{1, 3, 3}, got[:3])
	assert.True(t, math.IsNaN(got[3]) && math.IsNaN(got[4]))
	assert.Equal(t, []float64{0, 1, 2, 3, 3}, flat(t, i))
}

func TestSearchsorted(t *testing.T) {
	sorted := given(t, dtype.Int32, []int64{4}, 1, 3, 3, 5)
	x := given(t, dtype.Float32, []int64{2, 2}, 3, 0, 9, 4.5)
	left, err := Searchsorted(nil, sorted, x, false, false, "", nil)
	require.NoError(t, err)
	defer left.Release()
	assert.Equal(t, []float64{1, 0, 4, 3}, flat(t, left))
	right, err := Searchsorted(nil, sorted, x, true, false, "right", nil)
	require.NoError(t, err)
	defer right.Release()
	assert.Equal(t, dtype.Int32, right.DType())
	assert.Equal(t, []float64{3, 0, 4, 3}, flat(t, right))
}

// NaN is where sort puts it: behind all other values.
func TestSearchsortedHasNaNLast(t *testing.T) {
	nan := math.NaN()
	for _, d := range []dtype.DType{dtype.Float16, dtype.BFloat16, dtype.Float32, dtype.Float64} {
		sorted := given(t, d, []int64{6}, math.Inf(-1), -1, 0, 2, nan, nan)
		shuffled := given(t, d, []int64{6}, 2, nan, -1, math.Inf(-1), nan, 0)
		sorter := given(t, dtype.Int64, []int64{6}, 3, 2, 5, 0, 1, 4)
		x := given(t, d, []int64{5}, nan, 2, math.Copysign(0, -1), math.Inf(1), math.Inf(-1))
		for _, c := range []struct {
			right bool
			want  []float64
		}{
			{false, []float64{4, 3, 2, 4, 0}},
			{true, []float64{6, 4, 3, 4, 1}},
		} {
			got, err := Searchsorted(nil, sorted, x, false, c.right, "", nil)
			require.NoError(t, err)
			assert.Equal(t, c.want, flat(t, got), "%v right=%v", d, c.right)
			got.Release()
			got, err = Searchsorted(nil, shuffled, x, false, c.right, "", sorter)
			require.NoError(t, err)
			assert.Equal(t, c.want, flat(t, got), "%v right=%v through a sorter", d, c.right)
			got.Release()
		}
	}
}

// A search for many values returns the same as a search for each, in sorted and in unsorted sequences, for which the result is that of a
// plain bisection.
func TestSearchesForManyAreThoseForEach(t *testing.T) {
	nan := math.NaN()
	for _, sequence := range [][]float64{{1, 2, 2, 3, 5, 8}, {3, 1, 2, 9, 0, 4, 4}, {1, nan, 2, 3, nan}, {nan}, {-2}} {
		for _, d := range []dtype.DType{dtype.BFloat16, dtype.Float32, dtype.Float64} {
			sorted := given(t, d, []int64{int64(len(sequence))}, sequence...)
			many := given(t, d, []int64{40}, slices.Repeat([]float64{3, 0, nan, 2, math.Inf(1), -3, 4, 8}, 5)...)
			for _, right := range []bool{false, true} {
				got, err := Searchsorted(nil, sorted, many, false, right, "", nil)
				require.NoError(t, err)
				for i, at := range flat(t, got) {
					one, err := Searchsorted(nil, sorted, part(t, many, int64(i), int64(i+1), 1), false, right, "", nil)
					require.NoError(t, err)
					assert.Equal(t, flat(t, one), []float64{at}, "%v of %v in %v, right=%v", valuesOf(t, many)[i], d, sequence, right)
					one.Release()
				}
				got.Release()
			}
		}
	}
}

// A few of many, which are kept in a heap, are those that a sort begins with.
func TestTopkBeginsTheSort(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Int8, dtype.Float16, dtype.Float32, dtype.Float64} {
		for _, n := range []int64{64, 65, 127, 128, 129, 193, 1000, 5003} {
			values := make([]float64, n)
			for i := range values {
				values[i] = float64((i*7919)%251 - 125)
			}
			if values[n/2] = math.NaN(); d == dtype.Int8 {
				values[n/2] = 126
			}
			x := given(t, d, []int64{n}, values...)
			for _, largest := range []bool{true, false} {
				sorted, places, err := Sort(nil, nil, x, 0, largest)
				require.NoError(t, err)
				for _, k := range []int64{1, n / 64, n/64 + 1} {
					top, at, err := Topk(nil, nil, x, k, 0, largest, true)
					require.NoError(t, err)
					want, got := flat(t, part(t, sorted, 0, k, 1)), flat(t, top)
					assert.True(t, sameBits(want, got), "%d of %d %v, largest=%v: %v, not %v", k, n, d, largest, got, want)
					for i, from := range flat(t, at) {
						assert.True(t, sameBits([]float64{values[int(from)]}, got[i:i+1]), "index %v of %d %v", from, n, d)
					}
					top.Release()
					at.Release()
				}
				sorted.Release()
				places.Release()
			}
		}
	}
}

// The values of a sort may go to where they came from, whatever the dtype and the strides.
func TestSortsGoIntoTheirInput(t *testing.T) {
	for _, d := range []dtype.DType{dtype.Float32, dtype.Int64, dtype.Uint8, dtype.Float64, dtype.BFloat16} {
		for _, step := range []int64{1, 2} {
			for name, sort := range map[string]func(values, indices, self *tensor.Tensor) error{
				"sort": func(values, indices, self *tensor.Tensor) error {
					_, _, err := Sort(values, indices, self, 0, true)
					return err
				},
				"topk": func(values, indices, self *tensor.Tensor) error {
					_, _, err := Topk(values, indices, self, 3, 0, true, true)
					return err
				},
			} {
				all := given(t, d, []int64{6}, 1, 9, 3, 9, 2, 9)
				x, err := all.View("test", []int64{3}, []int64{step}, 0)
				require.NoError(t, err)
				i := given(t, dtype.Int64, []int64{3}, 0, 0, 0)
				require.NoError(t, sort(x, i, x), name)
				want, places := []float64{3, 2, 1}, []float64{1, 2, 0}
				if step == 1 {
					want, places = []float64{9, 3, 1}, []float64{1, 2, 0}
				}
				assert.Equal(t, want, flat(t, x), "%s of %v", name, d)
				assert.Equal(t, places, flat(t, i), "%s of %v", name, d)
				x.Release()
			}
		}
	}
}
