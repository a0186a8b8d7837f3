package quantized

import (
	"slices"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// The rules. Each gets the operator's tensors, its output, if any, which for an in-place operator is the first tensor, and the operator on plain
// tensors.

type does = func(out *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error)

// first returns the first quantized tensor of a call, whose quantizer the results have.
func (s *scope) first(t []*tensor.Tensor) *tensor.Tensor {
	if i := slices.IndexFunc(t, isQuantized); i >= 0 {
		return t[i]
	}
	s.Check(dispatch.Unsupported(s.Op, tensor.Quantized)) // only an output, or a tensor of another kind of argument, is quantized
	return nil
}

// leading returns the first tensor for operators with results made of its elements.
func (s *scope) leading(t []*tensor.Tensor) *tensor.Tensor {
	if !isQuantized(t[0]) {
		s.Check(dispatch.Unsupported(s.Op, tensor.Quantized))
		return nil
	}
	return t[0]
}

// ordered returns an error for channels, whose integers do not compare.
func (s *scope) ordered(t *tensor.Tensor) {
	if t.Quantizer().PerChannel() {
		s.Failf("not implemented for tensors that are quantized per channel; call dequantize() first")
	}
}

// all returns the tensors of integers in the place of quantized ones.
func (s *scope) all(t []*tensor.Tensor) []*tensor.Tensor {
	plain := make([]*tensor.Tensor, len(t))
	for i := range t {
		plain[i] = s.ints(t[i])
	}
	return plain
}

// keep runs f and tracks its results.
func (s *scope) keep(f func() ([]*tensor.Tensor, error)) []*tensor.Tensor {
	list, err := f()
	s.Check(err)
	for _, t := range list {
		s.Track(t, nil)
	}
	return list
}

// give returns the results, or writes them to out if it is not nil, which is a quantized tensor of the same sizes.
func (s *scope) give(out *tensor.Tensor, list []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if out == nil {
		return s.ReturnAll(list)
	}
	if r := list[0]; !isQuantized(out) || !slices.Equal(out.Sizes(), r.Sizes()) {
		s.Failf("out must be a quantized tensor of sizes %v, but got %v of sizes %v", r.Sizes(), out.DType(), out.Sizes())
		return nil, nil
	}
	s.Copy(out, list[0], false)
	return []*tensor.Tensor{out}, nil
}

// view returns the view of the integers, whose channels are where the same view of their numbers has them.
func view(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor, f does) (_ []*tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	self := s.leading(t)
	on := func(self *tensor.Tensor) []*tensor.Tensor {
		return s.keep(func() ([]*tensor.Tensor, error) {
			return f(nil, append([]*tensor.Tensor{self}, t[1:]...))
		})
	}
	list := on(s.ints(self))
	quantizers := s.followed(self, len(list), on)
	if out != nil {
		r := list[0]
		s.Check(out.SetGeometry(op, r.Sizes(), r.Strides(), r.Offset()))
		s.Check(out.SetQuantizer(op, quantizers[0]))
		return []*tensor.Tensor{out}, nil
	}
	for i := range list {
		list[i] = s.as(list[i], self.DType(), quantizers[i])
	}
	return s.ReturnAll(list)
}

// move is the rule of operators that move elements: they move the integers. Further quantized tensors are requantized like the first.
func move(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor, f does) (_ []*tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	self := s.leading(t)
	alike := slices.Clone(t)
	for i := range t {
		if isQuantized(t[i]) && !self.Quantizer().PerChannel() {
			alike[i] = s.requantized(t[i], self.DType(), self.Quantizer())
		}
	}
	list := s.keep(func() ([]*tensor.Tensor, error) { return f(nil, s.all(alike)) })
	q := s.gathered(t, list, f)
	for i := range list {
		list[i] = s.as(list[i], self.DType(), q)
	}
	return s.give(out, list)
}

// join is move for a list of tensors, all of which are quantized.
func join(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor, f does) (_ []*tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	if len(t) == 0 { // the operator handles the empty list
		return s.give(out, s.keep(func() ([]*tensor.Tensor, error) { return f(nil, t) }))
	}
	for i := range t {
		if !isQuantized(t[i]) {
			s.Failf("tensor %d has dtype %v, but others are quantized; call dequantize() first", i, t[i].DType())
			return nil, nil
		}
	}
	return move(c, op, out, t, f)
}

// requantized returns t with another dtype and quantizer.
func (s *scope) requantized(t *tensor.Tensor, d dtype.DType, q *tensor.Quantizer) *tensor.Tensor {
	if t.DType() == d && t.Quantizer().Equal(q) {
		return t
	}
	return s.quantized(s.dense(t), d, q)
}

// rank is the rule of operators that return elements by their order, and their indices: they compare the integers.
func rank(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor, f does) (_ []*tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	self := s.leading(t)
	s.ordered(self)
	list := s.keep(func() ([]*tensor.Tensor, error) { return f(nil, s.all(t)) })
	for i := range list {
		if list[i].DType() == self.DType().Stored() {
			list[i] = s.as(list[i], self.DType(), self.Quantizer())
		}
	}
	return s.give(out, list)
}

// index is the rule of operators that return indices by the order of elements: they compare the integers.
func index(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor, f does) (_ []*tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	s.ordered(s.leading(t))
	return s.ReturnAll(s.keep(func() ([]*tensor.Tensor, error) { return f(out, s.all(t)) }))
}

// place is the rule of operators that insert elements: the last tensor, quantized like the first, is inserted into the integers.
func place(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor, f does) (_ []*tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	self := s.leading(t)
	if self.Quantizer().PerChannel() {
		return s.placed(out, t, f)
	}
	plain := slices.Clone(t)
	if last := len(t) - 1; last > 0 {
		plain[last] = s.like(self, t[last])
	}
	plain = s.all(plain)
	if out == self {
		s.keep(func() ([]*tensor.Tensor, error) { return nil, s.in(f, plain) })
		return []*tensor.Tensor{self}, nil
	}
	list := s.keep(func() ([]*tensor.Tensor, error) { return f(nil, plain) })
	for i := range list {
		list[i] = s.as(list[i], self.DType(), self.Quantizer())
	}
	return s.give(out, list)
}

// placed is place for per-channel tensors. It inserts the values into the dequantized tensor, and true into a mask of false in the same way. Elements
// with a true mask get the integer of their channel; the others keep theirs.
func (s *scope) placed(out *tensor.Tensor, t []*tensor.Tensor, f does) ([]*tensor.Tensor, error) {
	self, last := t[0], len(t)-1
	put := func(to, source *tensor.Tensor) *tensor.Tensor {
		operands := slices.Clone(t)
		operands[0], operands[last] = to, source
		list, err := f(to, operands)
		if s.Check(err); len(list) == 0 || list[0] == to {
			return to
		}
		return s.Track(list[0], nil)
	}
	where := func(t *tensor.Tensor, value float64) *tensor.Tensor {
		return s.FullLikeWith(t, dtype.FloatScalar(value), dtype.Bool, tensor.NoLayout, device.None, shape.Contiguous)
	}
	ints := s.ints(self)
	made := s.quantized(put(s.dense(self), s.reals(t[last])), self.DType(), self.Quantizer())
	marks := put(where(ints, 0), where(s.ints(t[last]), 1))
	written := s.ints(made)
	made = s.Where(marks, written, ints)
	if out == nil {
		return s.ReturnAll([]*tensor.Tensor{s.as(made, self.DType(), self.Quantizer())})
	}
	if out == self {
		s.Copy(ints, made, false)
		return []*tensor.Tensor{self}, nil
	}
	return s.give(out, []*tensor.Tensor{s.as(made, self.DType(), self.Quantizer())})
}

// in runs the in-place operator on the first tensor.
func (s *scope) in(f does, t []*tensor.Tensor) error {
	_, err := f(t[0], t)
	return err
}

// like returns a tensor of numbers quantized as t is.
func (s *scope) like(t, x *tensor.Tensor) *tensor.Tensor {
	if isQuantized(x) {
		return s.requantized(x, t.DType(), t.Quantizer())
	}
	return s.quantized(s.reals(x), t.DType(), t.Quantizer())
}

// reals converts a tensor to float32, in which it is quantized.
func (s *scope) reals(x *tensor.Tensor) *tensor.Tensor {
	if x.DType().IsComplex() {
		s.Failf("complex dtypes such as %v cannot be quantized; use real()", x.DType())
		return nil
	}
	return s.CastTo(s.dense(x), dtype.Float32)
}

// numbers is the rule of operators on dequantized values. The result is quantized like the first quantized tensor.
func numbers(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor, f does) (_ []*tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	of := s.first(t)
	plain := s.denseAll(t)
	list := s.keep(func() ([]*tensor.Tensor, error) { return f(nil, plain) })
	for i := range list {
		if q := of.Quantizer(); q.PerChannel() && !slices.Equal(list[i].Sizes(), of.Sizes()) {
			s.ordered(of)
		}
		list[i] = s.quantized(s.CastTo(list[i], dtype.Float32), of.DType(), of.Quantizer())
	}
	return s.give(out, list)
}

// answer is the rule of operators on dequantized values with a result that is not quantized.
func answer(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor, f does) (_ []*tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	if isQuantized(out) {
		s.Failf("the result is not quantized and cannot be written to a tensor of dtype %v", out.DType())
	}
	plain := s.denseAll(t)
	return s.ReturnAll(s.keep(func() ([]*tensor.Tensor, error) { return f(out, plain) }))
}

func (s *scope) denseAll(t []*tensor.Tensor) []*tensor.Tensor {
	plain := make([]*tensor.Tensor, len(t))
	for i := range t {
		plain[i] = s.dense(t[i])
	}
	return plain
}

// withoutOut returns an error for outputs of operators with several results.
func withoutOut(op string, outs ...*tensor.Tensor) error {
	for _, t := range outs {
		if t != nil {
			return status.NotImplementedf("%s: out is not implemented for quantized tensors; leave it out", op)
		}
	}
	return nil
}

// Results of operators as a list, and back.

func nothing(err error) ([]*tensor.Tensor, error) { return nil, err }

func none(_ []*tensor.Tensor, err error) error { return err }

func single(t *tensor.Tensor, err error) ([]*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return []*tensor.Tensor{t}, nil
}

func one(list []*tensor.Tensor, err error) (*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

func pair(a, b *tensor.Tensor, err error) ([]*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return []*tensor.Tensor{a, b}, nil
}

func two(list []*tensor.Tensor, err error) (a, b *tensor.Tensor, _ error) {
	if err != nil {
		return nil, nil, err
	}
	return list[0], list[1], nil
}
