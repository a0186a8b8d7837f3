package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/view"
)

// scope owns the temporaries of an operator and has methods for its intermediate ops.
type scope struct{ owner.Scope }

// newScope returns a scope of an operator.
func newScope(op string) *scope { return &scope{owner.Scope{Op: op}} }

// result returns t, or writes it to out if out is not nil. out may not share memory with the tensors in apart.
func (s *scope) result(out, t *tensor.Tensor, apart ...*tensor.Tensor) (*tensor.Tensor, error) {
	if s.Err != nil || out == nil {
		return s.Return(t)
	}
	return Deliver(s.Op, out, t, apart...)
}

// viewAs views t as another dtype of the same size.
func (s *scope) viewAs(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return t.ViewAs(s.Op, d, t.Sizes(), t.Strides(), t.Offset()) })
}

// castTo is result for an out of a dtype that t's can be cast to.
func (s *scope) castTo(out, t *tensor.Tensor) (*tensor.Tensor, error) {
	if s.Err != nil || out == nil {
		return s.Return(t)
	}
	return DeliverCast(s.Op, out, t)
}

// Deliver resizes out to the shape of t and writes t to it. It returns an error if the dtypes differ or out shares memory with a tensor in apart.
func Deliver(op string, out, t *tensor.Tensor, apart ...*tensor.Tensor) (*tensor.Tensor, error) {
	return deliver(resultIn(op, out, t), t, apart)
}

// DeliverCast is Deliver to an out of a dtype that t's can be cast to.
func DeliverCast(op string, out, t *tensor.Tensor) (*tensor.Tensor, error) {
	if t.DType().IsQuantized() || out != nil && out.DType().IsQuantized() { // casts are of plain numbers
		return nil, status.NotImplementedf("%s is not implemented for quantized tensors; call dequantize() first", op)
	}
	to := resultIn(op, out, t)
	to.Exact = false
	return deliver(to, t, nil)
}

func deliver(to tensoriter.Output, t *tensor.Tensor, apart []*tensor.Tensor) (*tensor.Tensor, error) {
	if err := to.Check(apart...); err != nil {
		return nil, err
	}
	if err := writtenOut(to.Op, t); err != nil {
		return nil, err
	}
	to.Sharing = tensoriter.Beside
	if err := to.Open(t); err != nil {
		return nil, err
	}
	return to.Done(to.CopyFrom(t))
}

// writtenOut returns an error for a result that no tensor which is given as out can take.
func writtenOut(op string, t *tensor.Tensor) error {
	if t.Parts() == nil {
		return nil
	}
	return status.NotImplementedf("%s: the result has layout %v and cannot be written to a strided tensor; call it without out", op, t.Layout())
}

// resultIn returns the output for t, a finished result.
func resultIn(op string, out, t *tensor.Tensor) tensoriter.Output {
	return tensoriter.Output{Op: op, Out: out, Sizes: t.Sizes(), DType: t.DType(), Device: t.Device(), Exact: true}
}

// part views length elements of t along dim from start on.
func (s *scope) part(t *tensor.Tensor, dim int, start, length int64) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	sizes := slices.Clone(t.Sizes())
	sizes[dim] = length
	return s.Track(t.View(s.Op, sizes, t.Strides(), t.Offset()+start*t.Strides()[dim]))
}

// at views position i of t along dim, which disappears.
func (s *scope) at(t *tensor.Tensor, dim int, i int64) *tensor.Tensor {
	if s.Err != nil {
		return nil
	}
	sizes, strides := slices.Clone(t.Sizes()), slices.Clone(t.Strides())
	offset := t.Offset() + i*strides[dim]
	return s.Track(t.View(s.Op, slices.Delete(sizes, dim, dim+1), slices.Delete(strides, dim, dim+1), offset))
}

// empty creates a contiguous tensor of arbitrary values like t.
func (s *scope) empty(t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return tensor.Empty(s.Op, sizes, d, t.Device()) })
}

// cast returns t in dtype d, row-major.
func (s *scope) cast(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	return backend.RowMajor(&s.Scope, t, d)
}

// contiguousCopy returns a row-major copy of t in dtype d.
func (s *scope) contiguousCopy(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	return backend.RowMajorCopy(&s.Scope, t, d)
}

// expand views t with its dimensions of size 1 repeated, and leading ones added.
func (s *scope) expand(t *tensor.Tensor, sizes []int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return view.Expand(s.Op, t, sizes) })
}

// raw views the elements of t as integers of the same width, with the given sizes and strides.
func (s *scope) raw(t *tensor.Tensor, sizes, strides []int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return view.Raw(s.Op, t, sizes, strides) })
}

// vector returns t, or a view of one dimension if t has none.
func (s *scope) vector(t *tensor.Tensor) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return view.AtLeast1d(s.Op, t) })
}

// along views a vector along dimension d of a shape, which it repeats elsewhere.
func (s *scope) along(t *tensor.Tensor, sizes []int64, d int) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return view.Along(s.Op, t, sizes, d) })
}

// single returns a zero-dim tensor of one value.
func (s *scope) single(v dtype.Scalar, d dtype.DType, dev device.Device) *tensor.Tensor {
	t := s.Step(func() (*tensor.Tensor, error) { return tensor.Empty(s.Op, nil, d, dev) })
	s.Do(func() error { return fillWith(t, v) })
	return t
}

// together moves those of tensors that are numbers of the CPU, which have no dimensions, to the device of the others, for work that takes no numbers
// of the host. Absent tensors, which are nil, do not count; tensors on two devices are rejected.
func (s *scope) together(tensors ...**tensor.Tensor) {
	if s.Err != nil {
		return
	}
	var given []*tensor.Tensor
	for _, t := range tensors {
		if *t != nil {
			given = append(given, *t)
		}
	}
	dev, err := tensoriter.Device(s.Op, given...)
	if err != nil {
		s.Err = err
		return
	}
	for _, t := range tensors {
		if *t != nil && (*t).Device() != dev {
			*t = s.Track(cloned(s.Op, *t, (*t).DType(), dev, shape.Contiguous))
		}
	}
}

// apartFrom returns t, or a copy of it if it shares a storage with written.
func (s *scope) apartFrom(written, t *tensor.Tensor) *tensor.Tensor {
	if s.Err != nil || t.Storage() != written.Storage() {
		return t
	}
	return s.Track(cloned(s.Op, t, t.DType(), t.Device(), shape.Preserve))
}

// modified runs change on out, when it is self in place and passes check, and otherwise on a copy of self in a memory format: a
// fresh one, or out.
func (s *scope) modified(out, self *tensor.Tensor, check func(string, *tensor.Tensor) error, f shape.MemoryFormat, change func(to *tensor.Tensor)) (*tensor.Tensor, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	if out == self {
		if s.Err = check(s.Op, out); s.Err == nil {
			change(out)
		}
		return s.in(out)
	}
	to := s.Track(cloned(s.Op, self, self.DType(), self.Device(), f))
	if s.Err == nil {
		change(to)
	}
	return s.result(out, to)
}

// item returns the value of a tensor of one element.
func (s *scope) item(t *tensor.Tensor) (v dtype.Scalar) {
	if s.Err == nil {
		v, s.Err = backend.Item(s.Op, t)
	}
	return v
}

// in is out, written in place.
func (s *scope) in(out *tensor.Tensor) (*tensor.Tensor, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	return out, nil
}

// copy writes src, broadcast, to dst.
func (s *scope) copy(dst, src *tensor.Tensor) {
	s.Do(func() error { return backend.Copy(s.Op, dst, src) })
}

// permute views t with its dimensions in the given order.
func (s *scope) permute(t *tensor.Tensor, order ...int) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return view.Permute(s.Op, t, order...) })
}

// reshape returns t with other sizes, as a view if possible.
func (s *scope) reshape(t *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	return s.Step(func() (*tensor.Tensor, error) { return reshape(s.Op, t, sizes) })
}

// emptyLike makes a tensor of self's shape whose memory is laid out in the given format.
func emptyLike(op string, self *tensor.Tensor, d dtype.DType, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
	switch f {
	case shape.Contiguous:
		return tensor.Empty(op, self.Sizes(), d, dev)
	case shape.Preserve, shape.NoFormat:
		if shape.IsRowMajor(self.Sizes(), self.Strides()) {
			return tensor.Empty(op, self.Sizes(), d, dev)
		}
		return tensor.EmptyStrided(op, self.Sizes(), shape.PreserveStrides(self.Sizes(), self.Strides()), d, dev)
	}
	strides, err := shape.FormatStrides(op, self.Sizes(), f)
	if err != nil {
		return nil, err
	}
	return tensor.EmptyStrided(op, self.Sizes(), strides, d, dev)
}

// cloned copies self into fresh memory of another dtype, device and format.
func cloned(op string, self *tensor.Tensor, d dtype.DType, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
	s := owner.Scope{Op: op}
	defer s.Close()
	out := s.Track(emptyLike(op, self, d, dev, f))
	s.Do(func() error { return backend.Copy(op, out, self) })
	return s.Return(out)
}

// converted returns t itself under another handle where its dtype is d, and otherwise a copy in d.
func converted(op string, t *tensor.Tensor, d dtype.DType) (*tensor.Tensor, error) {
	if t.DType() == d {
		return t.Alias(), nil
	}
	return cloned(op, t, d, t.Device(), shape.Preserve)
}

// reshape returns t in another shape, in which one size may be -1: a view of t, or of a row-major copy where no view has the shape.
func reshape(op string, t *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
	seen, err := view.Reshape(op, t, size)
	if seen != nil || err != nil {
		return seen, err
	}
	sizes, err := shape.InferSize(op, size, t.Numel())
	if err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close()
	ordered := s.contiguousCopy(t, t.DType())
	s.Do(func() error { return ordered.SetGeometry(op, sizes, shape.ContiguousStrides(sizes), 0) })
	return s.Return(ordered)
}
