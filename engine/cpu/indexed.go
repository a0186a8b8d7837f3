package cpu

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// hasMissed reports whether an index was out of range.
func hasMissed(p *kernelapi.PlaceParams) bool { return p.Failed != 0 }

const (
	// An index whose elements are each used more than reuse times is checked once, into a copy.
	reuse = 16
	// Calls with fewer elements do not repay the copy.
	copiedFrom = 4096
)

// runIndexed runs a kernel that checks every index as it uses it, as another thread may write to it at any time; one out of range
// ends the run with an error.
func runIndexed(op string, w backend.Indexed) error {
	k, operands := w.Kernel, w.Operands[:]
	row, err := kernel.Of(k).For(op, w.Compute)
	if err != nil || operands[0].Numel() == 0 {
		return err
	}
	p := kernelapi.PlaceParams{Step: w.Step, Size: w.Size, Wrap: w.Size}
	outOfRange := func(i int64) error { return status.Indexf("%s: index %d is out of bounds for size %d", op, i, w.Size) }
	if w.Check != nil {
		if !w.Check.Wrap {
			p.Wrap = 0
		}
		outOfRange = func(i int64) error { return cmp.Or(checkBounds(op, *w.Check), w.Check.OutOfRange.At(i)) }
	}
	if at := strings.IndexByte(k.Operands(), 'l'); usedOften(operands[0], operands[at]) {
		checked, err := checkedCopy(op, operands[at], p, outOfRange)
		if err != nil {
			return err
		}
		defer checked.Release()
		operands[at] = checked
		p = kernelapi.PlaceParams{Step: 1, Size: math.MaxInt64, Checked: 1}
	}
	return runPlaces(op, row, k, w.Compute, operands, p, outOfRange)
}

// runPlaces runs a kernel with an index operand; the last function creates the error for an index out of range.
func runPlaces(op string, row uintptr, k kernelapi.Kernel, compute dtype.DType, operands []*tensor.Tensor, p kernelapi.PlaceParams,
	outOfRange func(int64) error) error {
	l := loops.Get().(*kernelapi.Loop)
	defer loops.Put(l)
	l.Row = row
	*paramsOf[kernelapi.PlaceParams](l) = p
	if err := prepareLoop(op, l, k, compute, operands); err != nil {
		return err
	}
	if p := findMatch(l, hasMissed); p != nil {
		return outOfRange(p.Bad)
	}
	return nil
}

// usedOften reports whether the elements of an index are used often enough for a separate check: strides of 0 repeat them.
func usedOften(out, index *tensor.Tensor) bool {
	return out.Numel() >= copiedFrom && countDistinct(index)*reuse <= out.Numel()
}

// countDistinct returns the number of elements of t at distinct addresses.
func countDistinct(t *tensor.Tensor) int64 {
	n := int64(1)
	for d, size := range t.Sizes() {
		if t.Strides()[d] != 0 {
			n *= size
		}
	}
	return n
}

// checkedCopy holds, for each element of index and expanded as that is, the bytes to the position that it names.
func checkedCopy(op string, index *tensor.Tensor, p kernelapi.PlaceParams, outOfRange func(int64) error) (_ *tensor.Tensor, err error) {
	sizes, strides, none := slices.Clone(index.Sizes()), make([]int64, index.Dim()), make([]int64, index.Dim())
	step := int64(1)
	for d := index.Dim() - 1; d >= 0; d-- {
		if index.Strides()[d] == 0 {
			sizes[d] = 1
			continue
		}
		strides[d] = step
		step *= sizes[d]
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	bytes := s.Track(tensor.EmptyStrided(op, index.Sizes(), strides, dtype.Int64, device.Host))
	zero := s.Track(tensor.Zeros(op, nil, dtype.Int64, device.Host))
	to := s.Track(bytes.View(op, sizes, strides, 0))
	zeros := s.Track(zero.View(op, sizes, none, 0))
	from := s.Track(index.View(op, sizes, index.Strides(), index.Offset()))
	if err := runPlaces(op, kernel.Of(kernelapi.Locate).Row(dtype.Int64), kernelapi.Locate, dtype.Int64, []*tensor.Tensor{to, zeros, from},
		p, outOfRange); err != nil {
		return nil, err
	}
	return s.Return(bytes)
}

// checkBounds returns an error for an index with an element out of range: the first of several, whatever the number of threads.
func checkBounds(op string, w backend.Bounds) error {
	if w.Index.Numel() == 0 {
		return nil
	}
	l := loops.Get().(*kernelapi.Loop)
	defer loops.Put(l)
	p := paramsOf[kernelapi.PlaceParams](l)
	start := kernelapi.PlaceParams{Size: w.Size}
	if w.Wrap {
		start.Step = 1
	}
	*p = start
	l.Row = kernel.Of(kernelapi.OutOfRange).Row(dtype.Int64)
	if err := prepareLoop(op, l, kernelapi.OutOfRange, dtype.Int64, []*tensor.Tensor{w.Index}); err != nil {
		return err
	}
	dropRepeatedDims(l)
	if findMatch(l, hasMissed) == nil {
		return nil
	}
	*p = start
	kernel.Elementwise(l)
	if !hasMissed(p) { // it was written to meanwhile
		return nil
	}
	return w.OutOfRange.At(p.Bad)
}
