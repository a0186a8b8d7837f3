package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/parallel"
)

// runDistance runs a kernel over the rows of the result, each of a row of A and all rows of B's matrix.
func runDistance(op string, w backend.Distance) error {
	to := w.To
	fn, err := kernel.Of(w.Kernel).For(op, to.DType())
	if err != nil || to.Numel() == 0 {
		return err
	}
	if w.B == nil {
		runPairs(fn, w)
		return nil
	}
	rows, columns := to.Sizes()[to.Dim()-2], to.Sizes()[to.Dim()-1]
	total := to.Numel() / columns
	width := w.A.Numel() / total
	parallel.ForInterruptible(total, max(Grain/max(columns*width, 1), 1), func(begin, end int64) {
		for begin < end {
			matrix := begin / rows
			n := min(end, (matrix+1)*rows) - begin
			args := distanceArgs{rows: n, columns: columns, width: width, p: w.P, a: at(w.A, begin*width), b: at(w.B, matrix*columns*width),
				out: at(to, begin*columns)}
			kernel.Call(fn, unsafe.Pointer(&args))
			begin += n
		}
	})
	return nil
}

// runPairs runs a kernel over each row of A with all later rows.
func runPairs(fn uintptr, w backend.Distance) {
	rows, width := w.A.Sizes()[0], w.A.Sizes()[1]
	parallel.ForInterruptible(rows, max(Grain/max(rows*width, 1), 1), func(begin, end int64) {
		for i := begin; i < end; i++ {
			args := distanceArgs{rows: 1, columns: rows - 1 - i, width: width, p: w.P, a: at(w.A, i*width), b: at(w.A, (i+1)*width),
				out: at(w.To, i*(2*rows-1-i)/2)}
			kernel.Call(fn, unsafe.Pointer(&args))
		}
	})
}
