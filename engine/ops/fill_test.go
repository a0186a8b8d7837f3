package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Filling an expanded tensor writes each memory location once, however often sizes repeat it.
func TestFillOfRepeatedElements(t *testing.T) {
	base := ramp(t, dtype.Float32, 2, 1)
	view, err := base.View("view", []int64{1 << 30, 2, 1 << 30}, []int64{0, 1, 0}, 0)
	require.NoError(t, err)
	defer view.Release()
	require.NoError(t, ops.FillWith(view, dtype.FloatScalar(5)))
	assert.Equal(t, []float64{5, 5}, flat(t, base))
}

// The diagonal of a matrix higher than wide starts anew below a row left out; rows that share memory cost nothing.
func TestFillDiagonalWraps(t *testing.T) {
	for rows := range int64(12) {
		for columns := range int64(5) {
			self, err := ctx.Zeros(nil, []int64{rows, columns}, dtype.Float32, tensor.Strided, device.Host)
			require.NoError(t, err)
			require.NoError(t, ctx.FillDiagonal(self, dtype.IntScalar(1), true))
			for i, got := range flat(t, self) {
				row, column := int64(i)/columns, int64(i)%columns
				assert.Equal(t, row%(columns+1) == column, got == 1, "%d x %d at %d, %d", rows, columns, row, column)
			}
			self.Release()
		}
	}
	row := ramp(t, dtype.Float32, 2)
	high, err := row.View("view", []int64{math.MaxInt64 / 4, 2}, []int64{0, 1}, 0)
	require.NoError(t, err)
	defer high.Release()
	require.NoError(t, ctx.FillDiagonal(high, dtype.IntScalar(7), true))
	assert.Equal(t, []float64{7, 7}, flat(t, row))
}
