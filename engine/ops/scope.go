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

// writeResult returns t, or writes it to out if out is not nil. out may not share memory with the tensors in apart.
func (s *scope) writeResult(out, t *tensor.Tensor, apart ...*tensor.Tensor) (*tensor.Tensor, error) {
	if out == nil {
		return s.Return(t)
	}
	return Deliver(s.Op, out, t, apart...)
}

// viewAs views t as another dtype of the same size.
func (s *scope) viewAs(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	return s.Track(t.ViewAs(s.Op, d, t.Sizes(), t.Strides(), t.Offset()))
}

// writeResultCast is writeResult for an out of a dtype that t's can be cast to.
func (s *scope) writeResultCast(out, t *tensor.Tensor) (*tensor.Tensor, error) {
	if out == nil {
		return s.Return(t)
	}
	return DeliverCast(s.Op, out, t)
}

// Deliver resizes out to the shape of t and writes t to it. It returns an error if the dtypes differ or out shares memory with a tensor in
// apart.
func Deliver(op string, out, t *tensor.Tensor, apart ...*tensor.Tensor) (*tensor.Tensor, error) {
	return writeOutput(newOutput(op, out, t), t, apart)
}

// DeliverCast is Deliver to an out of a dtype that t's can be cast to.
func DeliverCast(op string, out, t *tensor.Tensor) (*tensor.Tensor, error) {
	if t.DType().IsQuantized() || out != nil && out.DType().IsQuantized() { // casts are of plain numbers
		return nil, status.NotImplementedf("%s is not implemented for quantized tensors; call dequantize() first", op)
	}
	to := newOutput(op, out, t)
	to.Exact = false
	return writeOutput(to, t, nil)
}

func writeOutput(to tensoriter.Output, t *tensor.Tensor, apart []*tensor.Tensor) (*tensor.Tensor, error) {
	if err := to.Check(apart...); err != nil {
		return nil, err
	}
	if err := checkWritable(to.Op, t); err != nil {
		return nil, err
	}
	to.Sharing = tensoriter.Beside
	if err := to.Open(t); err != nil {
		return nil, err
	}
	return to.Done(to.CopyFrom(t))
}

// checkWritable returns an error for a result that cannot be written to an out tensor.
func checkWritable(op string, t *tensor.Tensor) error {
	if t.Components() == nil {
		return nil
	}
	return status.NotImplementedf("%s: the result has layout %v and cannot be written to a strided tensor; call it without out", op,
		t.Layout())
}

// newOutput returns the output for t, a finished result.
func newOutput(op string, out, t *tensor.Tensor) tensoriter.Output {
	return tensoriter.Output{Op: op, Out: out, Sizes: t.Sizes(), DType: t.DType(), Device: t.Device(), Exact: true}
}

// narrowRange views length elements of t along dim from start on.
func (s *scope) narrowRange(t *tensor.Tensor, dim int, start, length int64) *tensor.Tensor {
	sizes := slices.Clone(t.Sizes())
	sizes[dim] = length
	return s.Track(t.View(s.Op, sizes, t.Strides(), t.Offset()+start*t.Strides()[dim]))
}

// selectPosition views position i of t along dim, which is removed.
func (s *scope) selectPosition(t *tensor.Tensor, dim int, i int64) *tensor.Tensor {
	sizes, strides := slices.Clone(t.Sizes()), slices.Clone(t.Strides())
	offset := t.Offset() + i*strides[dim]
	return s.Track(t.View(s.Op, slices.Delete(sizes, dim, dim+1), slices.Delete(strides, dim, dim+1), offset))
}

// newEmpty creates a contiguous tensor of arbitrary values on the device of t.
func (s *scope) newEmpty(t *tensor.Tensor, d dtype.DType, sizes ...int64) *tensor.Tensor {
	return s.Track(tensor.Empty(s.Op, sizes, d, t.Device()))
}

// castRowMajor returns t in dtype d, row-major.
func (s *scope) castRowMajor(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	return backend.RowMajor(&s.Scope, t, d)
}

// copyContiguous returns a row-major copy of t in dtype d.
func (s *scope) copyContiguous(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	return backend.RowMajorCopy(&s.Scope, t, d)
}

// expandTo views t with its dimensions of size 1 repeated, and leading ones added.
func (s *scope) expandTo(t *tensor.Tensor, sizes []int64) *tensor.Tensor {
	return s.Track(view.Expand(s.Op, t, sizes))
}

// viewRaw views the elements of t as integers of the same width, with the given sizes and strides.
func (s *scope) viewRaw(t *tensor.Tensor, sizes, strides []int64) *tensor.Tensor {
	return s.Track(view.Raw(s.Op, t, sizes, strides))
}

// viewVector returns t, or a view of one dimension if t has none.
func (s *scope) viewVector(t *tensor.Tensor) *tensor.Tensor {
	return s.Track(view.AtLeast1d(s.Op, t))
}

// viewAlong views a vector along dimension d of a shape, which it repeats elsewhere.
func (s *scope) viewAlong(t *tensor.Tensor, sizes []int64, d int) *tensor.Tensor {
	return s.Track(view.Along(s.Op, t, sizes, d))
}

// newScalarTensor returns a zero-dim tensor of one value.
func (s *scope) newScalarTensor(v dtype.Scalar, d dtype.DType, dev device.Device) *tensor.Tensor {
	t := s.Track(tensor.Empty(s.Op, nil, d, dev))
	s.Check(fillWith(t, v))
	return t
}

// moveToOneDevice copies zero-dim tensors of the CPU to the device of the other tensors, for kernels that do not read tensors of the
// host. Nil tensors are ignored; tensors on two devices are an error.
func (s *scope) moveToOneDevice(tensors ...**tensor.Tensor) {
	var given []*tensor.Tensor
	for _, t := range tensors {
		if *t != nil {
			given = append(given, *t)
		}
	}
	dev, err := tensoriter.Device(s.Op, given...)
	s.Check(err)
	for _, t := range tensors {
		if *t != nil && (*t).Device() != dev {
			*t = s.Track(cloneTensor(s.Op, *t, (*t).DType(), dev, shape.Contiguous))
		}
	}
}

// copyIfShared returns t, or a copy of it if it shares a storage with written.
func (s *scope) copyIfShared(written, t *tensor.Tensor) *tensor.Tensor {
	if t.Storage() != written.Storage() {
		return t
	}
	return s.Track(cloneTensor(s.Op, t, t.DType(), t.Device(), shape.Preserve))
}

// modifyOutput runs change on out, when it is self in place and passes check, and otherwise on a copy of self in a memory format: a new
// one, or out.
func (s *scope) modifyOutput(out, self *tensor.Tensor, check func(string, *tensor.Tensor) error, f shape.MemoryFormat,
	change func(to *tensor.Tensor)) (*tensor.Tensor, error) {
	if out == self {
		s.Check(check(s.Op, out))
		change(out)
		return out, nil
	}
	to := s.Track(cloneTensor(s.Op, self, self.DType(), self.Device(), f))
	change(to)
	return s.writeResult(out, to)
}

// readItem returns the value of a tensor of one element.
func (s *scope) readItem(t *tensor.Tensor) dtype.Scalar {
	v, err := backend.Item(s.Op, t)
	s.Check(err)
	return v
}

// copyTensor writes src, broadcast, to dst.
func (s *scope) copyTensor(dst, src *tensor.Tensor) {
	s.Check(backend.Copy(s.Op, dst, src))
}

// permuteDims views t with its dimensions in the given order.
func (s *scope) permuteDims(t *tensor.Tensor, order ...int) *tensor.Tensor {
	return s.Track(view.Permute(s.Op, t, order...))
}

// reshapeTo returns t with other sizes, as a view if possible.
func (s *scope) reshapeTo(t *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	return s.Track(reshapeTensor(s.Op, t, sizes))
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

// cloneTensor copies self into new memory of another dtype, device and format.
func cloneTensor(op string, self *tensor.Tensor, d dtype.DType, dev device.Device, f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	out := s.Track(emptyLike(op, self, d, dev, f))
	s.Check(backend.Copy(op, out, self))
	return s.Return(out)
}

// convertDType returns t itself under another handle if its dtype is d, and otherwise a copy in d.
func convertDType(op string, t *tensor.Tensor, d dtype.DType) (*tensor.Tensor, error) {
	if t.DType() == d {
		return t.Alias(), nil
	}
	return cloneTensor(op, t, d, t.Device(), shape.Preserve)
}

// reshapeTensor returns t in another shape, in which one size may be -1: a view of t, or of a row-major copy where no view has the shape.
func reshapeTensor(op string, t *tensor.Tensor, size []int64) (_ *tensor.Tensor, err error) {
	seen, err := view.Reshape(op, t, size)
	if seen != nil || err != nil {
		return seen, err
	}
	sizes, err := shape.InferSize(op, size, t.Numel())
	if err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	ordered := s.copyContiguous(t, t.DType())
	s.Check(ordered.SetGeometry(op, sizes, shape.ContiguousStrides(sizes), 0))
	return s.Return(ordered)
}
