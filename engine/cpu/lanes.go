package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/shape"
)

// runScan runs a kernel along a dimension, over lanes that are distributed over threads.
func runScan(op string, w backend.Lanes) error {
	if w.Out.Numel() == 0 {
		return nil
	}
	fn, err := kernel.Of(w.Kernel).For(op, w.In.DType())
	if err != nil {
		return err
	}
	n, inner := w.N, w.Inner
	kept := w.Out.Numel() / (w.Outer * inner) // elements of Out in a lane
	run := func(outer, outers, first, width int64) {
		s := kernel.Scan{In: at(w.In, outer*n*inner+first), Outer: outers, N: n, Inner: inner, Width: width}
		s.Out[0] = at(w.Out, outer*kept*inner+first)
		if w.With != nil {
			s.With = at(w.With, outer*n*inner+first)
		}
		if w.Indices != nil {
			s.Out[1] = at(w.Indices, outer*kept*inner+first)
		}
		kernel.Call(fn, unsafe.Pointer(&s))
	}
	if w.Outer >= inner {
		parallel.ForInterruptible(w.Outer, max(Grain/max(n*inner, 1), 1), func(begin, end int64) { run(begin, end-begin, 0, inner) })
	} else {
		parallel.ForInterruptible(inner, max(Grain/max(n*w.Outer, 1), 64), func(begin, end int64) { run(0, w.Outer, begin, end-begin) })
	}
	return nil
}

var searchKernel = kernel.Of(kernelapi.Searchsorted)

// searchSorted finds positions in sorted rows.
func searchSorted(op string, w backend.Searching) error {
	d := w.Keys.DType()
	fn, err := searchKernel.For(op, d)
	if err != nil || w.Found.Numel() == 0 {
		return err
	}
	n := w.Keys.Sizes()[w.Keys.Dim()-1]
	rows, step := int64(1), int64(0)
	if w.Keys.Dim() > 1 {
		rows, step = shape.Product(w.Keys.Sizes()[:w.Keys.Dim()-1]), n
	}
	width := w.Values.Numel() / rows
	right := int64(0)
	if w.Right {
		right = 1
	}
	run := func(row, rows, begin, end int64) {
		i := row*width + begin
		l := kernel.Scan{In: at(w.Keys, row*step), Outer: rows, N: n, Inner: step, Width: end - begin, Params: [2]int64{right}}
		l.Out[0], l.Out[1] = at(w.Values, i), at(w.Found, i)
		if w.Order != nil {
			l.Scratch = at(w.Order, row*step)
		}
		kernel.Call(fn, unsafe.Pointer(&l))
	}
	if rows == 1 {
		parallel.For(width, Grain/8, func(begin, end int64) { run(0, 1, begin, end) })
	} else {
		parallel.For(rows, max(Grain/(8*width), 1), func(begin, end int64) { run(begin, end-begin, 0, width) })
	}
	return nil
}
