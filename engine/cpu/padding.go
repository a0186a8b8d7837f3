package cpu

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/parallel"
)

// runPadding copies rows of elements, which threads share, and the elements of their borders one by one.
func runPadding(op string, w backend.Padding) error {
	switch w.To.DType().Size() {
	case 1:
		padRows[uint8](w)
	case 2:
		padRows[uint16](w)
	case 4:
		padRows[uint32](w)
	case 8:
		padRows[uint64](w)
	default:
		padRows[[2]uint64](w)
	}
	return nil
}

// rowCost is the approximate cost of a row in elements.
const rowCost = 32

func padRows[T any](w backend.Padding) {
	x := w.Dims[0]
	width := int64(len(x.Sources))
	if w.To.Numel() == 0 {
		return
	}
	to, from := elementsOf[T](w.To), elementsOf[T](w.From)
	parallel.ForInterruptible(w.To.Numel()/width, max(Grain/(width+rowCost), 1), func(begin, end int64) {
		for row := begin; row < end; row++ {
			source := sourceRow(w.Dims[1:], row)
			padRow(to[row*width:(row+1)*width], from[source*x.Size:(source+1)*x.Size], x)
		}
	})
}

// padRow copies a row and fills its borders.
func padRow[T any](to, from []T, x backend.PaddedDim) {
	copy(to[x.Before:], from)
	for i := range x.Before {
		to[i] = from[x.Sources[i]]
	}
	for i := x.Before + x.Size; i < int64(len(to)); i++ {
		to[i] = from[x.Sources[i]]
	}
}

// sourceRow returns the row of a tensor that row of the padded one continues; dims are the padded dimensions but the last.
func sourceRow(dims []backend.PaddedDim, row int64) int64 {
	source, step := int64(0), int64(1)
	for _, d := range dims {
		n := int64(len(d.Sources))
		source += d.Sources[row%n] * step
		row /= n
		step *= d.Size
	}
	return source + row*step
}
