package ops

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/cpu"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

var orderedTypes = []dtype.DType{dtype.Bool, dtype.Uint8, dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64, dtype.Uint16, dtype.Uint32,
	dtype.Uint64, dtype.Float16, dtype.BFloat16, dtype.Float32, dtype.Float64}

// Both the short and the long sort, with and without the positions, of every dtype.
func TestUniqueOfEveryDtype(t *testing.T) {
	for _, d := range orderedTypes {
		for _, n := range []int64{0, 1, 40, 3000} {
			values := make([]float64, n)
			counted := map[float64]float64{}
			for i := range values {
				values[i] = float64((i * 37) % 23)
				if d == dtype.Bool {
					values[i] = float64(i % 2)
				}
				if d.IsSigned() {
					values[i] -= 11
				}
				counted[values[i]]++
			}
			want := []float64{}
			for v := range counted {
				want = append(want, v)
			}
			slices.Sort(want)
			x := given(t, d, []int64{n}, values...)
			for _, wanted := range []bool{false, true} {
				out, inverse, counts, err := Unique(x, true, wanted, true, NoInt)
				require.NoError(t, err)
				assert.Equal(t, d, out.DType())
				assert.Equal(t, want, flat(t, out), "%v %d", d, n)
				for i, c := range flat(t, counts) {
					assert.Equal(t, counted[want[i]], c, "%v %d", d, n)
				}
				positions := flat(t, inverse)
				assert.Len(t, positions, map[bool]int{true: int(n)}[wanted])
				for i, p := range positions {
					assert.Equal(t, values[i], want[int(p)])
				}
				out.Release()
				inverse.Release()
				counts.Release()
			}
		}
	}
}

func TestUniqueKeepsEachNaNAndTheSignOfTheFirstZero(t *testing.T) {
	nan := math.NaN()
	x := given(t, dtype.Float32, []int64{2, 3}, nan, 1, nan, math.Copysign(0, -1), 0, 1)
	for _, wanted := range []bool{false, true} {
		out, inverse, counts, err := Unique(x, true, wanted, true, NoInt)
		require.NoError(t, err)
		defer out.Release()
		defer inverse.Release()
		defer counts.Release()
		got := flat(t, out)
		require.Len(t, got, 4)
		assert.True(t, math.Signbit(got[0]) && got[0] == 0 && got[1] == 1 && math.IsNaN(got[2]) && math.IsNaN(got[3]), "%v", got)
		assert.Equal(t, []float64{2, 2, 1, 1}, flat(t, counts))
		if wanted {
			assert.Equal(t, []int64{2, 3}, inverse.Sizes())
			assert.Equal(t, []float64{2, 1, 3, 0, 0, 1}, flat(t, inverse))
		}
	}
}

func TestUniqueSlices(t *testing.T) {
	x := given(t, dtype.Int32, []int64{2, 4}, 3, 1, 3, 1, 0, 2, 0, 1)
	out, inverse, counts, err := Unique(x, true, true, true, 1)
	require.NoError(t, err)
	defer out.Release()
	defer inverse.Release()
	defer counts.Release()
	assert.Equal(t, []int64{2, 3}, out.Sizes())
	assert.Equal(t, []int64{1, 2}, out.Strides(), "the slices lie one behind the other")
	assert.Equal(t, []float64{1, 1, 3, 1, 2, 0}, flat(t, out))
	assert.Equal(t, []float64{2, 1, 2, 0}, flat(t, inverse))
	assert.Equal(t, []float64{1, 1, 2}, flat(t, counts))

	nan := given(t, dtype.Float64, []int64{2, 2}, math.NaN(), 1, math.NaN(), 1)
	rows, none, neither, err := UniqueConsecutive(nan, false, false, 0)
	require.NoError(t, err)
	defer rows.Release()
	defer none.Release()
	defer neither.Release()
	assert.Equal(t, []int64{2, 2}, rows.Sizes(), "NaN equals nothing")
	assert.EqualValues(t, 0, none.Numel()+neither.Numel())
}

func TestUniqueConsecutive(t *testing.T) {
	x := given(t, dtype.Int64, []int64{2, 3}, 1, 1, 2, 2, 1, 1)
	out, inverse, counts, err := UniqueConsecutive(x, true, true, NoInt)
	require.NoError(t, err)
	defer out.Release()
	defer inverse.Release()
	defer counts.Release()
	assert.Equal(t, []float64{1, 2, 1}, flat(t, out))
	assert.Equal(t, []float64{0, 0, 1, 1, 2, 2}, flat(t, inverse))
	assert.Equal(t, []float64{2, 2, 2}, flat(t, counts))
}

// Repeats across the blocks of different threads, NaN, which equals nothing, and zeros of either sign, which are equal.
func TestUniqueConsecutiveOfManyElements(t *testing.T) {
	defer parallel.SetThreads(parallel.Threads())
	const n = 3*cpu.Grain + 77
	values := make([]float64, n)
	for i := range values {
		switch {
		case i%1000 == 999:
			values[i] = math.NaN()
		case i%7 == 3:
			values[i] = math.Copysign(0, float64(i%2)-0.5)
		default:
			values[i] = float64(i / (1 + i%5000/50))
		}
	}
	for i := cpu.Grain - 100; i < cpu.Grain+100; i++ {
		values[i] = 5
	}
	var want, positions, lengths []float64
	for i, v := range values {
		if i == 0 || v != values[i-1] {
			want, lengths = append(want, v), append(lengths, 0)
		}
		lengths[len(lengths)-1]++
		positions = append(positions, float64(len(want)-1))
	}
	x := given(t, dtype.Float64, []int64{n}, values...)
	for threads := 1; threads <= 3; threads++ {
		parallel.SetThreads(threads)
		out, inverse, counts, err := UniqueConsecutive(x, true, true, NoInt)
		require.NoError(t, err)
		got := flat(t, out)
		require.Len(t, got, len(want))
		for i := range want {
			if math.Float64bits(got[i]) != math.Float64bits(want[i]) && want[i] == want[i] {
				require.Equal(t, want[i], got[i], i)
			}
		}
		assert.Equal(t, positions, flat(t, inverse))
		assert.Equal(t, lengths, flat(t, counts))
		out.Release()
		inverse.Release()
		counts.Release()
	}
}

func TestUniqueErrors(t *testing.T) {
	meta, err := tensor.Empty("test", []int64{3}, dtype.Int64, device.Device{Type: device.Meta})
	require.NoError(t, err)
	defer meta.Release()
	scalar := given(t, dtype.Int64, nil, 3)
	hollow := given(t, dtype.Float32, []int64{0, 3})
	for _, c := range []struct {
		x    *tensor.Tensor
		dim  Int
		text string
	}{
		{meta, NoInt, "meta"},
		{given(t, dtype.Complex64, []int64{1}, 1), NoInt, "complex64"},
		{scalar, 0, "no dimensions"},
		{hollow, 1, "dimension 0 of shape [0, 3] has size 0"},
		{hollow, 2, "2"},
	} {
		_, _, _, err := Unique(c.x, true, true, true, c.dim)
		assert.ErrorContains(t, err, c.text)
	}
	rows, inverse, counts, err := Unique(hollow, true, false, false, 0)
	require.NoError(t, err)
	defer rows.Release()
	defer inverse.Release()
	defer counts.Release()
	assert.Equal(t, []int64{0, 3}, rows.Sizes())
}

func TestIsin(t *testing.T) {
	for _, d := range orderedTypes {
		if d == dtype.Bool {
			continue
		}
		x := given(t, d, []int64{2, 2}, 0, 1, 1, 0)
		tests := given(t, d, []int64{3}, 1, 1, 1)
		for _, invert := range []bool{false, true} {
			got, err := Isin(nil, x, tests, false, invert)
			require.NoError(t, err)
			defer got.Release()
			want := []float64{0, 1, 1, 0}
			if invert {
				want = []float64{1, 0, 0, 1}
			}
			assert.Equal(t, want, flat(t, got), "%v", d)
		}
	}
	mixed, err := Isin(nil, given(t, dtype.Int32, []int64{3}, 1, 2, 3), given(t, dtype.Float32, []int64{3}, 2.5, 3, math.NaN()), true, false)
	require.NoError(t, err)
	defer mixed.Release()
	assert.Equal(t, []float64{0, 0, 1}, flat(t, mixed))
	nothing, err := Isin(nil, given(t, dtype.Float32, []int64{1}, math.NaN()), given(t, dtype.Float32, []int64{1}, math.NaN()), false, false)
	require.NoError(t, err)
	defer nothing.Release()
	assert.Equal(t, []float64{0}, flat(t, nothing))
	none, err := Isin(nil, given(t, dtype.Int8, []int64{2}, 1, 2), given(t, dtype.Int8, []int64{0}), false, true)
	require.NoError(t, err)
	defer none.Release()
	assert.Equal(t, []float64{1, 1}, flat(t, none))
	_, err = Isin(given(t, dtype.Int8, []int64{1}, 0), given(t, dtype.Complex64, []int64{1}, 1), given(t, dtype.Int8, []int64{1}, 1), false,
		false)
	assert.ErrorContains(t, err, "complex64")
}

// Sixteen searches are interleaved; the remainder of a count that 16 does not divide must not be lost.
func TestSearchOfEveryCount(t *testing.T) {
	sorted := given(t, dtype.Float32, []int64{5}, 0, 1, 1, 3, math.Inf(1))
	for n := int64(0); n < 40; n++ {
		values, left, right := make([]float64, n), []float64{}, []float64{}
		for i := range values {
			values[i] = float64(i%5) - 0.5*float64(i%2)
			l, _ := slices.BinarySearch([]float64{0, 1, 1, 3, math.Inf(1)}, values[i])
			r, _ := slices.BinarySearch([]float64{0, 1, 1, 3, math.Inf(1)}, math.Nextafter(values[i], 9))
			left, right = append(left, float64(l)), append(right, float64(r))
		}
		x := given(t, dtype.Float32, []int64{n}, values...)
		for i, want := range [][]float64{left, right} {
			got, err := Searchsorted(nil, sorted, x, false, i == 1, "", nil)
			require.NoError(t, err)
			assert.Equal(t, want, flat(t, got), "%d right=%v", n, i == 1)
			got.Release()
		}
	}
}
