package cuda

import (
	"slices"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// search mirrors lt::Search of kernels/seeking.h.
type search struct {
	loop  loop
	found uintptr
	_     int64
}

// seek runs a kernel that reports a match in its parameters. It returns those of a thread with a match, or zeros.
func seek(op string, k kernelapi.Kernel, compute dtype.DType, operands []*tensor.Tensor,
	params backend.Params) (found backend.Params, err error) {
	dev, err := sharedDevice(op, k.Outputs(), operands)
	if err != nil || operands[0].Numel() == 0 {
		return found, err
	}
	s := search{loop: loop{params: params}}
	if err := s.loop.prepare(op, k, compute, operands); err != nil {
		return found, err
	}
	err = on(op, dev, func(m *machine) error {
		b, err := m.allocate(op, grain)
		if err != nil {
			return err
		}
		defer m.give(b)
		s.found = uintptr(b.at)
		n := int64(unsafe.Sizeof(found))
		if err := cu.MemsetD8Async(b.at, 0, n, m.stream); err != nil {
			return failed(op, "cuMemsetD8Async", err)
		}
		if err := m.walk(op, entry(k, compute), arguments{&s.loop, unsafe.Pointer(&s), unsafe.Sizeof(s)}, k.Outputs(), operands); err != nil {
			return err
		}
		if err := cu.MemcpyDtoHAsync(unsafe.Pointer(&found), b.at, n, m.stream); err != nil {
			return failed(op, "cuMemcpyDtoHAsync", err)
		}
		return m.synchronize(op)
	})
	return found, err
}

// anywhere reports whether a kernel without outputs finds a match.
func anywhere(op string, w backend.Elementwise) (bool, error) {
	found, err := seek(op, w.Kernel, w.Compute, w.Operands[:len(w.Kernel.Operands())], backend.Params{})
	return *(*int64)(unsafe.Pointer(&found)) != 0, err
}

// missed seeks an index that is out of range.
func missed(op string, k kernelapi.Kernel, compute dtype.DType, operands []*tensor.Tensor,
	p kernelapi.PlaceParams) (kernelapi.PlaceParams, error) {
	var params backend.Params
	*(*kernelapi.PlaceParams)(unsafe.Pointer(&params)) = p
	found, err := seek(op, k, compute, operands, params)
	return *(*kernelapi.PlaceParams)(unsafe.Pointer(&found)), err
}

// indexed runs a kernel that checks every index when it uses it, and waits for the result of the check.
func indexed(op string, w backend.Indexed) error {
	if w.Kernel.Operands()[0] == 'X' { // the indexed elements are written
		return combine(op, w)
	}
	if w.Check != nil {
		if err := checkBounds(op, *w.Check); err != nil {
			return err
		}
	}
	p, err := missed(op, w.Kernel, w.Compute, w.Operands[:], kernelapi.PlaceParams{Step: w.Step, Size: w.Size})
	if err == nil && p.Failed != 0 {
		err = status.Indexf("%s: index %d is out of bounds for size %d", op, p.Bad, p.Size)
	}
	return err
}

// checkBounds returns an error for an index with an element out of range. Elements that are repeated are looked at once.
func checkBounds(op string, w backend.Bounds) (err error) {
	start := kernelapi.PlaceParams{Size: w.Size}
	if w.Wrap {
		start.Step = 1
	}
	sizes := slices.Clone(w.Index.Sizes())
	for d, stride := range w.Index.Strides() {
		if stride == 0 {
			sizes[d] = min(sizes[d], 1)
		}
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	index := s.Track(w.Index.View(op, sizes, w.Index.Strides(), w.Index.Offset()))
	p, err := missed(op, kernelapi.OutOfRange, dtype.Int64, []*tensor.Tensor{index}, start)
	if err == nil && p.Failed != 0 {
		err = w.Refusal(p.Bad)
	}
	return err
}
