package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// destination is where an operator that does not run through the iterator writes: out itself where results can go straight there,
// and otherwise a tensor of its own, whose elements deliver copies to out.
type destination struct {
	out, at *tensor.Tensor
	sizes   []int64
	d       dtype.DType
}

// memory says what a kernel asks of the memory that it writes.
type memory uint8

const (
	anyStrides memory = iota
	rowMajorOnly
	rowMajorInPlace // and operands that are the same view as out may be overwritten while they are read
)

// destination makes the place of a result of dtype d that a kernel writes in dtype compute, reading operands. All checks come
// first: where it refuses, nothing has changed.
func (s *scope) destination(out *tensor.Tensor, sizes []int64, d, compute dtype.DType, want memory, operands ...*tensor.Tensor) destination {
	t := destination{out: out, sizes: sizes, d: d}
	if s.Err != nil {
		return t
	}
	dev := operands[0].Device()
	for _, x := range operands {
		if x.Device() != dev {
			s.Err = status.Runtimef("%s: expected all tensors to be on the same device, but found at least two devices, %v and %v", s.Op, dev, x.Device())
			return t
		}
	}
	if out == nil || !s.direct(t, compute, want, operands) {
		t.at = s.empty(operands[0], compute, sizes...)
		return t
	}
	if !slices.Equal(out.Sizes(), sizes) {
		s.Err = out.Resize(s.Op, sizes)
	}
	t.at = out
	return t
}

// direct checks t.out and tells whether a kernel can write to it while it reads the operands.
func (s *scope) direct(t destination, compute dtype.DType, want memory, operands []*tensor.Tensor) bool {
	out := t.out
	if s.Err = iter.CheckOutput(s.Op, out, t.d, operands[0].Device()); s.Err != nil {
		return false
	}
	fits := slices.Equal(out.Sizes(), t.sizes)
	if fits {
		if s.Err = iter.CheckOverlap(s.Op, out); s.Err != nil {
			return false
		}
	}
	if out.DType() != compute || fits && want != anyStrides && !out.IsContiguous() {
		return false
	}
	for _, x := range operands {
		if x.Storage() != out.Storage() || fits && want == rowMajorInPlace && iter.SameView(x, out) {
			continue
		}
		if !fits || iter.Overlaps(x, out) {
			return false
		}
	}
	return true
}

// deliver hands over the result, or copies it to out.
func (s *scope) deliver(t destination) (*tensor.Tensor, error) {
	switch {
	case s.Err != nil:
		return nil, s.Err
	case t.out == nil && t.at.DType() == t.d:
		return s.Give(t.at)
	case t.out == nil:
		return s.Give(s.cast(t.at, t.d))
	case t.at == t.out:
		return t.out, nil
	}
	if !slices.Equal(t.out.Sizes(), t.sizes) {
		if err := resize(s.Op, t.out, t.sizes, shape.NoFormat); err != nil {
			return nil, err
		}
	}
	if !t.out.IsMeta() {
		iter.Copy(t.out, t.at)
	}
	return t.out, nil
}

// apart refuses two outputs that share elements, or might once they are resized to the given sizes; nil are unknown ones.
func apart(op string, first, second *tensor.Tensor, sizes []int64) error {
	if first == nil || second == nil || first.Storage() != second.Storage() {
		return nil
	}
	resized := sizes == nil || !slices.Equal(first.Sizes(), sizes) || !slices.Equal(second.Sizes(), sizes)
	if first == second || resized || iter.Overlaps(first, second) {
		return status.Runtimef("%s: unsupported operation: the outputs share memory; give each its own", op)
	}
	return nil
}

// made hands over a result, or gives it up when it is not the caller's and could not be computed.
func made(t, out *tensor.Tensor, err error) (*tensor.Tensor, error) {
	if err == nil {
		return t, nil
	}
	if t != out {
		t.Release()
	}
	return nil, err
}

// madeTwo is made for two results.
func madeTwo(first, second, outFirst, outSecond *tensor.Tensor, err error) (*tensor.Tensor, *tensor.Tensor, error) {
	a, _ := made(first, outFirst, err)
	b, err := made(second, outSecond, err)
	return a, b, err
}
