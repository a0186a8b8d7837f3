package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/parallel"
)

var updateKernel = kernel.Of(kernelapi.Update)

// runUpdate updates all parameters: threads share their elements, as if they were one list.
func runUpdate(op string, w backend.Updating) error {
	fns, ends := make([]uintptr, len(w.Rows)), make([]int64, len(w.Rows))
	total := int64(0)
	for i, row := range w.Rows {
		fn, err := updateKernel.For(op, row[0].DType())
		if err != nil {
			return err
		}
		total += row[0].Numel()
		fns[i], ends[i] = fn, total
	}
	parallel.For(total, Grain, func(begin, end int64) {
		first := int64(0)
		for i, row := range w.Rows {
			from, to := max(begin, first)-first, min(end, ends[i])-first
			if first = ends[i]; from >= to {
				continue
			}
			part := w.Parts[i]
			part.N = to - from
			for k, t := range row {
				if t != nil {
					part.Tensors[k] = at(t, from)
				}
			}
			kernel.Call(fns[i], unsafe.Pointer(&part))
		}
	})
	return nil
}
