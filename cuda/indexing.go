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

// hasMatch reports whether a kernel without outputs finds a match.
func hasMatch(op string, w backend.Elementwise) (found bool, err error) {
	operands := w.Operands[:len(w.Kernel.Operands())]
	dev, err := sharedDevice(op, 0, operands)
	if err != nil || operands[0].Numel() == 0 {
		return false, err
	}
	var a search
	if err := a.loop.prepareOperands(op, w.Kernel, w.Compute, operands); err != nil {
		return false, err
	}
	var params backend.Params
	err = withLaunches(op, dev, func(s *launchSequence) {
		a.found = s.allocateTemporary(blockGrain)
		s.zeroBytes(a.found, int64(len(params)))
		if s.err == nil {
			s.err = a.launchSearch(s.deviceStream, op, w.Kernel, w.Compute, operands)
		}
		s.readBytes(params[:], a.found)
	})
	return *(*int64)(unsafe.Pointer(&params)) != 0, err
}

func (a *search) launchSearch(m *deviceStream, op string, k kernelapi.Kernel, compute dtype.DType, operands []*tensor.Tensor) error {
	return m.launchOperands(op, findEntry(k, compute), arguments{&a.loop, unsafe.Pointer(a), unsafe.Sizeof(*a)}, k.Outputs(), operands)
}

// runIndexed runs a kernel with an index. The call does not wait for the kernel: indices out of range access no memory, and a later call
// that waits for the device returns their error.
func runIndexed(op string, w backend.Indexed) error {
	if w.Kernel.Operands()[0] == 'X' { // the indexed elements are written
		return scatterSources(op, w)
	}
	return launchIndexed(op, w.Kernel, w.Compute, w.Operands[:], indexParams(w), w.Check)
}

// indexParams returns the parameters of a kernel with an index.
func indexParams(w backend.Indexed) kernelapi.PlaceParams {
	p := kernelapi.PlaceParams{Step: w.Step, Size: w.Size, Wrap: w.Size}
	if w.Check != nil && !w.Check.Wrap {
		p.Wrap = 0
	}
	return p
}

// launchIndexed launches a kernel that reports an index out of range as the error of check; without a check the error is not reported.
func launchIndexed(op string, k kernelapi.Kernel, compute dtype.DType, operands []*tensor.Tensor, p kernelapi.PlaceParams,
	check *backend.Bounds) error {
	dev, err := sharedDevice(op, k.Outputs(), operands)
	if err != nil || operands[0].Numel() == 0 {
		return err
	}
	var a search
	*(*kernelapi.PlaceParams)(unsafe.Pointer(&a.loop.params)) = p
	if err := a.loop.prepareOperands(op, k, compute, operands); err != nil {
		return err
	}
	if check != nil {
		a.check = numberCheck(op, check.OutOfRange)
	}
	return withCurrentStream(op, dev, func(m *deviceStream) error {
		a.fault = m.faultRecord()
		return a.launchSearch(m, op, k, compute, operands)
	})
}

// checkBounds checks an index, of which repeated elements are read once. The call does not wait: a later one that waits for the device
// returns the error of an element out of range. But a dimension without elements has no result to continue with: the call returns the
// error.
func checkBounds(op string, w backend.Bounds) (err error) {
	if w.Index.Numel() == 0 {
		return nil
	}
	p := kernelapi.PlaceParams{Size: w.Size}
	if w.Wrap {
		p.Step = 1
	}
	sizes := slices.Clone(w.Index.Sizes())
	for d, stride := range w.Index.Strides() {
		if stride == 0 {
			sizes[d] = min(sizes[d], 1)
		}
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	if w.Size == 0 {
		first, err := backend.Item(op, s.Track(w.Index.View(op, nil, nil, w.Index.Offset())))
		s.Check(err)
		return w.OutOfRange.At(first.Int())
	}
	index := s.Track(w.Index.View(op, sizes, w.Index.Strides(), w.Index.Offset()))
	return launchIndexed(op, kernelapi.OutOfRange, dtype.Int64, []*tensor.Tensor{index}, p, &w)
}
