package cpu

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// drawSamples fills a tensor with random numbers.
func drawSamples(op string, w backend.Drawing) (err error) {
	var each random.Span
	if w.Each != nil {
		each = newSpan(w.Each)
	}
	t := w.To
	if w.Generator.Kind() == random.Philox && !t.IsContiguous() {
		return drawCounted(op, w)
	}
	if t.IsContiguous() || shape.IsDense(t.Sizes(), t.Strides()) {
		return w.Generator.Fill(newSpan(t), each, w.From, t.IsContiguous())
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	filled := s.Track(tensor.EmptyStrided(op, t.Sizes(), shape.PreserveStrides(t.Sizes(), t.Strides()), t.DType(), device.Host))
	s.Check(w.Generator.Fill(newSpan(filled), each, w.From, false))
	s.Check(copyTo(op, backend.Copying{To: t, From: filled}))
	return nil
}

// drawCounted draws the elements of a non-contiguous tensor by their row-major indices, whatever their layout.
func drawCounted(op string, w backend.Drawing) (err error) {
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	rowMajor := func(t *tensor.Tensor) *tensor.Tensor {
		return s.Track(tensor.Empty(op, t.Sizes(), t.DType(), device.Host))
	}
	to, from := rowMajor(w.To), random.Span{}
	if w.Each != nil {
		each := rowMajor(w.Each)
		s.Check(copyTo(op, backend.Copying{To: each, From: w.Each}))
		from = newSpan(each)
	}
	s.Check(w.Generator.Fill(newSpan(to), from, w.From, true))
	s.Check(copyTo(op, backend.Copying{To: w.To, From: to}))
	return nil
}

// newSpan returns the memory of a tensor whose elements are adjacent.
func newSpan(t *tensor.Tensor) random.Span {
	if t.Numel() == 0 {
		return random.Span{DType: t.DType()}
	}
	return random.Span{DType: t.DType(), Data: t.Data(), Len: int(t.Numel())}
}
