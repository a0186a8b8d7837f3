package cuda

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
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
	err = seeking(op, k, compute, operands, params, &found)
	return found, err
}

// seeking runs a kernel that reports a match in its parameters. If found is not nil, it waits for those of a thread with a match.
func seeking(op string, k kernelapi.Kernel, compute dtype.DType, operands []*tensor.Tensor, params backend.Params,
	found *backend.Params) error {
	dev, err := sharedDevice(op, k.Outputs(), operands)
	if err != nil || operands[0].Numel() == 0 {
		return err
	}
	a := search{loop: loop{params: params}}
	if err := a.loop.prepare(op, k, compute, operands); err != nil {
		return err
	}
	return stepping(op, dev, func(s *steps) {
		a.found = s.take(grain)
		if found != nil {
			s.clear(a.found, int64(len(found)))
		}
		if s.err == nil {
			s.err = s.walk(op, entry(k, compute), arguments{&a.loop, unsafe.Pointer(&a), unsafe.Sizeof(a)}, k.Outputs(), operands)
		}
		if found != nil {
			s.read(found[:], a.found)
		}
	})
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

// indexed runs a kernel with an index. The index is checked before; a kernel accesses no position out of range, in case that other
// threads write to the index, and the call does not wait for it.
func indexed(op string, w backend.Indexed) error {
	if w.Kernel.Operands()[0] == 'X' { // the indexed elements are written
		return combine(op, w)
	}
	if w.Check != nil {
		if err := checkBounds(op, *w.Check); err != nil {
			return err
		}
	}
	var params backend.Params
	*(*kernelapi.PlaceParams)(unsafe.Pointer(&params)) = kernelapi.PlaceParams{Step: w.Step, Size: w.Size}
	return seeking(op, w.Kernel, w.Compute, w.Operands[:], params, nil)
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
