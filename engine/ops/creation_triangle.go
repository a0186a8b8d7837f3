package ops

import (
	"math/bits"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// staircase is the part of a matrix between rows first and last. The lengths of adjacent rows differ by one column, except for rows that
// have all columns.
type staircase struct {
	first, last int64
	stairs      int64 // the rows that differ
	narrow      int64 // columns of the shortest of them
	span        func(row int64) (from, to int64)
}

// newLowerTriangle returns the lower triangle up to the diagonal at offset, which may be outside of the matrix.
func newLowerTriangle(row, col, offset int64) staircase {
	first := max(-offset, 0)
	return staircase{first, row, min(row-first, max(col-offset-first, 0)), first + offset + 1, func(i int64) (int64, int64) {
		return 0, min(i+offset+1, col)
	}}
}

// newUpperTriangle returns the triangle from the diagonal at offset on.
func newUpperTriangle(row, col, offset int64) staircase {
	last := min(row, col-offset)
	return staircase{0, last, last - min(max(-offset, 0), last), col - offset - last + 1, func(i int64) (int64, int64) {
		return max(i+offset, 0), col
	}}
}

// countElements returns the number of elements.
func (t *staircase) countElements(op string, col int64) (int64, error) {
	if col == 0 || t.last <= t.first {
		return 0, nil
	}
	over, full := bits.Mul64(uint64(t.last-t.first-t.stairs), uint64(col))
	over2, stairs := bits.Mul64(uint64(t.stairs), uint64(2*t.narrow+t.stairs-1))
	if n := full + stairs/2; over == 0 && over2 == 0 && full < 1<<62 && n < 1<<62 {
		return int64(n), nil
	}
	return 0, status.Runtimef("%s: %d rows of up to %d columns have more elements than a tensor can have", op, t.last-t.first, col)
}

// TrilIndices lists rows and columns of the lower triangle.
func TrilIndices(row, col, offset int64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	return triangleIndices("tril_indices", row, col, offset, d, layout, dev, newLowerTriangle)
}

// TriuIndices lists rows and columns of the upper triangle.
func TriuIndices(row, col, offset int64, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	return triangleIndices("triu_indices", row, col, offset, d, layout, dev, newUpperTriangle)
}

func triangleIndices(op string, row, col, offset int64, d dtype.DType, layout tensor.Layout, dev device.Device,
	kind func(row, col, offset int64) staircase) (_ *tensor.Tensor, err error) {
	const limit = 1 << 61
	if row < 0 || col < 0 || row > limit || col > limit {
		return nil, status.Runtimef("%s: row and col must be non-negative, and at most 2^61, got %d and %d", op, row, col)
	}
	d, dev, err = resolveOptions(op, d, dtype.Int64, layout, dev)
	if err != nil {
		return nil, err
	}
	if !d.IsIntegral() {
		return nil, status.NotImplementedf("%s: not implemented for dtype %v", op, d)
	}
	t := kind(row, col, min(max(offset, -row), col))
	count, err := t.countElements(op, col)
	if err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	indices := s.Track(tensor.Empty(op, []int64{2, count}, dtype.Int64, dev))
	s.Check(backend.WriteInts(op, indices, func(both []int64) {
		rows, columns := both[:count], both[count:]
		for i := t.first; i < t.last; i++ {
			from, to := t.span(i)
			n := to - from
			for k := range n {
				rows[k], columns[k] = i, from+k
			}
			rows, columns = rows[n:], columns[n:]
		}
	}))
	return s.Return(s.castRowMajor(indices, d))
}
