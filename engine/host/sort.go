package host

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// sort runs a sorting kernel on the lines of a tensor, which threads share.
func sort(op string, w launch.Sorting) error {
	self, size := w.In, w.In.DType().Size()
	if self.Numel() == 0 || w.Keep == 0 {
		return nil
	}
	fn, err := w.Kernel.For(op, self.DType())
	if err != nil {
		return err
	}
	n := int64(1)
	if self.Dim() > 0 {
		n = self.Sizes()[w.Dim]
	}
	if n > 1<<32-1 {
		return status.Runtimef("%s: a dimension of size %d is longer than the 4294967295 elements that can be sorted", op, n)
	}
	var order []int // of the dimensions, with that of the lines last
	for d := range self.Dim() {
		if d != w.Dim {
			order = append(order, d)
		}
	}
	if self.Dim() > 0 {
		order = append(order, w.Dim)
	}
	s := owner.Scope{Op: op}
	defer s.Close()
	lines := s.Keep(view.Permute(op, self, order...))
	if s.Err != nil {
		return s.Err
	}
	in := launch.RowMajor(&s, lines, lines.DType())
	var targets, sorted [2]*tensor.Tensor
	for i, t := range []*tensor.Tensor{w.Values, w.Indices} {
		targets[i] = s.Keep(view.Permute(op, t, order...))
		if sorted[i] = targets[i]; s.Err == nil && (!targets[i].IsContiguous() || t.Storage() == in.Storage()) {
			sorted[i] = s.Keep(tensor.Empty(op, targets[i].Sizes(), t.DType(), device.Host))
		}
	}
	rows := self.Numel() / n
	// Every thread takes its scratch from here; nothing is written before there is enough for all.
	scratches := make(chan uintptr, min(int64(parallel.Threads()), rows))
	for range cap(scratches) {
		if s.Err == nil {
			if t := s.Keep(tensor.Empty(op, []int64{w.Entries * kernel.SortEntry(size)}, dtype.Uint8, device.Host)); s.Err == nil {
				scratches <- uintptr(t.Data())
			}
		}
	}
	if s.Err != nil {
		return s.Err
	}
	parallel.For(rows, max(Grain/(8*n), 1), func(begin, end int64) {
		scratch := <-scratches
		defer func() { scratches <- scratch }()
		l := kernel.Scan{In: at(in, begin*n), Scratch: scratch, Outer: end - begin, N: n, Inner: 1, Width: 1, Params: w.Params}
		l.Out[0], l.Out[1] = at(sorted[0], begin*w.Keep), at(sorted[1], begin*w.Keep)
		kernel.Call(fn, unsafe.Pointer(&l))
	})
	for i, t := range targets {
		if t != sorted[i] {
			copyTo(op, launch.Copying{To: t, From: sorted[i]})
		}
	}
	return nil
}
