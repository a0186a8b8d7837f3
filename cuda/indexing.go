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

// findMatch runs a kernel that reports a match in its parameters. It returns those of a thread with a match, or zeros.
func findMatch(op string, k kernelapi.Kernel, compute dtype.DType, operands []*tensor.Tensor,
	params backend.Params) (found backend.Params, err error) {
	err = runSearch(op, k, compute, operands, params, &found)
	return found, err
}

// runSearch runs a kernel that reports a match in its parameters. If found is not nil, it waits for those of a thread with a match.
func runSearch(op string, k kernelapi.Kernel, compute dtype.DType, operands []*tensor.Tensor, params backend.Params,
	found *backend.Params) error {
	dev, err := sharedDevice(op, k.Outputs(), operands)
	if err != nil || operands[0].Numel() == 0 {
		return err
	}
	a := search{loop: loop{params: params}}
	if err := a.loop.prepareOperands(op, k, compute, operands); err != nil {
		return err
	}
	return withLaunches(op, dev, func(s *launchSequence) {
		a.found = s.allocateTemporary(blockGrain)
		if found != nil {
			s.zeroBytes(a.found, int64(len(found)))
		}
		if s.err == nil {
			s.err = s.launchOperands(op, findEntry(k, compute), arguments{&a.loop, unsafe.Pointer(&a), unsafe.Sizeof(a)}, k.Outputs(), operands)
		}
		if found != nil {
			s.readBytes(found[:], a.found)
		}
	})
}

// hasMatch reports whether a kernel without outputs finds a match.
func hasMatch(op string, w backend.Elementwise) (bool, error) {
	found, err := findMatch(op, w.Kernel, w.Compute, w.Operands[:len(w.Kernel.Operands())], backend.Params{})
	return *(*int64)(unsafe.Pointer(&found)) != 0, err
}

// findInvalidIndex seeks an index that is out of range.
func findInvalidIndex(op string, k kernelapi.Kernel, compute dtype.DType, operands []*tensor.Tensor,
	p kernelapi.PlaceParams) (kernelapi.PlaceParams, error) {
	var params backend.Params
	*(*kernelapi.PlaceParams)(unsafe.Pointer(&params)) = p
	found, err := findMatch(op, k, compute, operands, params)
	return *(*kernelapi.PlaceParams)(unsafe.Pointer(&found)), err
}

// runIndexed runs a kernel with an index. The index is checked before; a kernel accesses no position out of range, in case that other
// threads write to the index, and the call does not wait for it.
func runIndexed(op string, w backend.Indexed) error {
	if w.Kernel.Operands()[0] == 'X' { // the indexed elements are written
		return scatterSources(op, w)
	}
	if w.Check != nil {
		if err := checkBounds(op, *w.Check); err != nil {
			return err
		}
	}
	var params backend.Params
	*(*kernelapi.PlaceParams)(unsafe.Pointer(&params)) = kernelapi.PlaceParams{Step: w.Step, Size: w.Size}
	return runSearch(op, w.Kernel, w.Compute, w.Operands[:], params, nil)
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
	p, err := findInvalidIndex(op, kernelapi.OutOfRange, dtype.Int64, []*tensor.Tensor{index}, start)
	if err == nil && p.Failed != 0 {
		err = w.Refusal(p.Bad)
	}
	return err
}
