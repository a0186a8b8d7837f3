package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// The elements of both triangles are those on one side of the diagonal, row by row.
func TestTriangles(t *testing.T) {
	for row := range int64(5) {
		for col := range int64(5) {
			for offset := int64(-6); offset <= 6; offset++ {
				var lower, upper [2][]int64
				for i := range row {
					for k := range col {
						if k <= i+offset {
							lower = [2][]int64{append(lower[0], i), append(lower[1], k)}
						}
						if k >= i+offset {
							upper = [2][]int64{append(upper[0], i), append(upper[1], k)}
						}
					}
				}
				for _, c := range []struct {
					make func(row, col, offset int64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error)
					want [2][]int64
				}{{TrilIndices, lower}, {TriuIndices, upper}} {
					found, err := c.make(row, col, offset, dtype.None, tensor.NoLayout, device.Host)
					require.NoError(t, err)
					require.Equal(t, []int64{2, int64(len(c.want[0]))}, found.Sizes())
					require.Equal(t, append(append([]int64{}, c.want[0]...), c.want[1]...), append([]int64{}, elements[int64](found)...))
					found.Release()
				}
			}
		}
	}
	meta := device.Device{Type: device.Meta}
	for _, c := range []struct {
		row, col, offset, lower, upper int64 // how many elements, -1 for too many
	}{
		{1 << 40, 1 << 40, 0, -1, -1},
		{1 << 28, 1 << 28, 0, 1<<55 + 1<<27, 1<<55 + 1<<27},
		{1 << 56, 1, 5 - 1<<56, 5, 1<<56 - 4},
		{1, 1 << 56, 1<<56 - 5, 1<<56 - 4, 5},
		{1 << 61, 1 << 61, 3 - 1<<61, 6, -1},
		{1<<61 + 1, 1, 0, -1, -1},
		{1 << 62, 0, 0, -1, -1},
		{1 << 60, 0, 0, 0, 0},
	} {
		for k, made := range []func() (*tensor.Tensor, error){
			func() (*tensor.Tensor, error) {
				return TrilIndices(c.row, c.col, c.offset, dtype.None, tensor.NoLayout, meta)
			},
			func() (*tensor.Tensor, error) {
				return TriuIndices(c.row, c.col, c.offset, dtype.None, tensor.NoLayout, meta)
			},
		} {
			found, err := made()
			if want := []int64{c.lower, c.upper}[k]; want < 0 {
				require.Error(t, err)
			} else {
				require.NoError(t, err)
				require.Equal(t, want, found.Sizes()[1])
				found.Release()
			}
		}
	}
}
