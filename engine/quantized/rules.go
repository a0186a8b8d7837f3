package quantized

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// The rules. Each gets the operator's tensors, its output, if any, which for an in-place operator is the first tensor, and the operator on
// plain tensors.

type plainOperator = func(out *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error)

// findQuantized returns the first quantized tensor of a call, whose quantizer the results have.
func findQuantized(b *build.Builder, t []*tensor.Tensor) *tensor.Tensor {
	if i := slices.IndexFunc(t, isQuantized); i >= 0 {
		return t[i]
	}
	b.Check(dispatch.Unsupported(b.Op, tensor.Quantized)) // only an output, or a tensor of another kind of argument, is quantized
	return nil
}

// checkLeading returns the first tensor, which must be quantized because the results consist of its elements.
func checkLeading(b *build.Builder, t []*tensor.Tensor) *tensor.Tensor {
	if !isQuantized(t[0]) {
		b.Check(dispatch.Unsupported(b.Op, tensor.Quantized))
		return nil
	}
	return t[0]
}

// checkNotPerChannel ends the function with an error for per-channel tensors, whose integers are not comparable.
func checkNotPerChannel(b *build.Builder, t *tensor.Tensor) {
	if t.Quantizer().PerChannel() {
		b.Failf("not implemented for tensors that are quantized per channel; call dequantize() first")
	}
}

// intsOfAll is intsOf for a list.
func intsOfAll(b *build.Builder, t []*tensor.Tensor) []*tensor.Tensor {
	plain := make([]*tensor.Tensor, len(t))
	for i := range t {
		plain[i] = intsOf(b, t[i])
	}
	return plain
}

// writeResults returns the results, or writes them to out if it is not nil, which is a quantized tensor of the same sizes.
func writeResults(b *build.Builder, out *tensor.Tensor, list []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if out == nil {
		return b.ReturnAll(list)
	}
	if r := list[0]; !isQuantized(out) || !slices.Equal(out.Sizes(), r.Sizes()) {
		b.Failf("out must be a quantized tensor of sizes %v, but got %v of sizes %v", r.Sizes(), out.DType(), out.Sizes())
	}
	b.Copy(out, list[0], false)
	return []*tensor.Tensor{out}, nil
}

// applyViewRule is the rule of view operators: the same view of the integers. The same view of channel numbers determines its quantizer.
func applyViewRule(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor, f plainOperator) (_ []*tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	self := checkLeading(b, t)
	on := func(self *tensor.Tensor) []*tensor.Tensor {
		return b.TrackAll(f(nil, append([]*tensor.Tensor{self}, t[1:]...)))
	}
	list := on(intsOf(b, self))
	quantizers := findViewQuantizers(b, self, len(list), on)
	if out != nil {
		r := list[0]
		b.Check(out.SetGeometry(op, r.Sizes(), r.Strides(), r.Offset()))
		b.Check(out.SetQuantizer(op, quantizers[0]))
		return []*tensor.Tensor{out}, nil
	}
	for i := range list {
		list[i] = asQuantized(b, list[i], self.DType(), quantizers[i])
	}
	return b.ReturnAll(list)
}

// applyMoveRule is the rule of operators that move elements: they move the integers. Further quantized tensors are requantized like the
// first.
func applyMoveRule(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor, f plainOperator) (_ []*tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	self := checkLeading(b, t)
	requantized := slices.Clone(t)
	for i := range t {
		if isQuantized(t[i]) && !self.Quantizer().PerChannel() {
			requantized[i] = requantize(b, t[i], self.DType(), self.Quantizer())
		}
	}
	list := b.TrackAll(f(nil, intsOfAll(b, requantized)))
	q := findResultQuantizer(b, t, list, f)
	for i := range list {
		list[i] = asQuantized(b, list[i], self.DType(), q)
	}
	return writeResults(b, out, list)
}

// applyJoinRule is applyMoveRule for a list of tensors, all of which are quantized.
func applyJoinRule(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor, f plainOperator) (_ []*tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	if len(t) == 0 { // the operator handles the empty list
		return writeResults(b, out, b.TrackAll(f(nil, t)))
	}
	for i := range t {
		if !isQuantized(t[i]) {
			b.Failf("tensor %d has dtype %v, but others are quantized; call dequantize() first", i, t[i].DType())
		}
	}
	return applyMoveRule(c, op, out, t, f)
}

// requantize returns t with another dtype and quantizer.
func requantize(b *build.Builder, t *tensor.Tensor, d dtype.DType, q *tensor.Quantizer) *tensor.Tensor {
	if t.DType() == d && t.Quantizer().Equal(q) {
		return t
	}
	return quantizeTo(b, asDequantized(b, t), d, q)
}

// applyRankRule is the rule of operators that return elements by their order, and their indices: they compare the integers.
func applyRankRule(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor, f plainOperator) (_ []*tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	self := checkLeading(b, t)
	checkNotPerChannel(b, self)
	list := b.TrackAll(f(nil, intsOfAll(b, t)))
	for i := range list {
		if list[i].DType() == self.DType().Stored() {
			list[i] = asQuantized(b, list[i], self.DType(), self.Quantizer())
		}
	}
	return writeResults(b, out, list)
}

// applyIndexRule is the rule of operators that return indices by the order of elements: they compare the integers.
func applyIndexRule(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor,
	f plainOperator) (_ []*tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	checkNotPerChannel(b, checkLeading(b, t))
	return b.ReturnAll(b.TrackAll(f(out, intsOfAll(b, t))))
}

// applyPlaceRule is the rule of operators that insert elements: the last tensor, quantized like the first, is inserted into the integers.
func applyPlaceRule(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor,
	f plainOperator) (_ []*tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	self := checkLeading(b, t)
	if self.Quantizer().PerChannel() {
		return placePerChannel(b, out, t, f)
	}
	plain := slices.Clone(t)
	if last := len(t) - 1; last > 0 {
		plain[last] = quantizeLike(b, self, t[last])
	}
	plain = intsOfAll(b, plain)
	if out == self {
		_, err = f(plain[0], plain)
		b.Check(err)
		return []*tensor.Tensor{self}, nil
	}
	list := b.TrackAll(f(nil, plain))
	for i := range list {
		list[i] = asQuantized(b, list[i], self.DType(), self.Quantizer())
	}
	return writeResults(b, out, list)
}

// placePerChannel is applyPlaceRule for per-channel tensors. It inserts the values into the dequantized tensor, and true into a mask of
// false in the same way. Elements with a true mask get the new integer; the others keep theirs.
func placePerChannel(b *build.Builder, out *tensor.Tensor, t []*tensor.Tensor, f plainOperator) ([]*tensor.Tensor, error) {
	self, last := t[0], len(t)-1
	put := func(to, source *tensor.Tensor) *tensor.Tensor {
		operands := slices.Clone(t)
		operands[0], operands[last] = to, source
		list, err := f(to, operands)
		b.Check(err)
		if len(list) == 0 || list[0] == to {
			return to
		}
		return b.Track(list[0], nil)
	}
	where := func(t *tensor.Tensor, value float64) *tensor.Tensor {
		return b.FullLikeWith(t, dtype.FloatScalar(value), dtype.Bool, tensor.NoLayout, device.None, shape.Contiguous)
	}
	ints := intsOf(b, self)
	result := quantizeTo(b, put(asDequantized(b, self), asFloat32(b, t[last])), self.DType(), self.Quantizer())
	marks := put(where(ints, 0), where(intsOf(b, t[last]), 1))
	written := intsOf(b, result)
	result = b.Where(marks, written, ints)
	if out == nil {
		return b.ReturnAll([]*tensor.Tensor{asQuantized(b, result, self.DType(), self.Quantizer())})
	}
	if out == self {
		b.Copy(ints, result, false)
		return []*tensor.Tensor{self}, nil
	}
	return writeResults(b, out, []*tensor.Tensor{asQuantized(b, result, self.DType(), self.Quantizer())})
}

// quantizeLike returns x quantized like t.
func quantizeLike(b *build.Builder, t, x *tensor.Tensor) *tensor.Tensor {
	if isQuantized(x) {
		return requantize(b, x, t.DType(), t.Quantizer())
	}
	return quantizeTo(b, asFloat32(b, x), t.DType(), t.Quantizer())
}

// asFloat32 returns x dequantized and cast to float32.
func asFloat32(b *build.Builder, x *tensor.Tensor) *tensor.Tensor {
	if x.DType().IsComplex() {
		b.Failf("complex dtypes such as %v cannot be quantized; use real()", x.DType())
	}
	return b.CastTo(asDequantized(b, x), dtype.Float32)
}

// applyNumbersRule is the rule of operators on dequantized values. The result is quantized like the first quantized tensor.
func applyNumbersRule(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor,
	f plainOperator) (_ []*tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	of := findQuantized(b, t)
	plain := dequantizeAll(b, t)
	list := b.TrackAll(f(nil, plain))
	for i := range list {
		if q := of.Quantizer(); q.PerChannel() && !slices.Equal(list[i].Sizes(), of.Sizes()) {
			checkNotPerChannel(b, of)
		}
		list[i] = quantizeTo(b, b.CastTo(list[i], dtype.Float32), of.DType(), of.Quantizer())
	}
	return writeResults(b, out, list)
}

// applyAnswerRule is the rule of operators on dequantized values with a result that is not quantized.
func applyAnswerRule(c dispatch.Context, op string, out *tensor.Tensor, t []*tensor.Tensor,
	f plainOperator) (_ []*tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	if isQuantized(out) {
		b.Failf("the result is not quantized and cannot be written to a tensor of dtype %v", out.DType())
	}
	plain := dequantizeAll(b, t)
	return b.ReturnAll(b.TrackAll(f(out, plain)))
}

// dequantizeAll is asDequantized for a list.
func dequantizeAll(b *build.Builder, t []*tensor.Tensor) []*tensor.Tensor {
	plain := make([]*tensor.Tensor, len(t))
	for i := range t {
		plain[i] = asDequantized(b, t[i])
	}
	return plain
}

// checkNoOut returns an error for an out, which operators with several results do not support here.
func checkNoOut(op string, outs ...*tensor.Tensor) error {
	for _, t := range outs {
		if t != nil {
			return status.NotImplementedf("%s: out is not implemented for quantized tensors; leave it out", op)
		}
	}
	return nil
}

// The functions of a rule take and return lists: these convert the results of operators to lists and back.

func wrapNone(err error) ([]*tensor.Tensor, error) { return nil, err }

func unwrapNone(_ []*tensor.Tensor, err error) error { return err }

func wrapOne(t *tensor.Tensor, err error) ([]*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return []*tensor.Tensor{t}, nil
}

func unwrapOne(list []*tensor.Tensor, err error) (*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

func wrapTwo(first, second *tensor.Tensor, err error) ([]*tensor.Tensor, error) {
	if err != nil {
		return nil, err
	}
	return []*tensor.Tensor{first, second}, nil
}

func unwrapTwo(list []*tensor.Tensor, err error) (first, second *tensor.Tensor, _ error) {
	if err != nil {
		return nil, nil, err
	}
	return list[0], list[1], nil
}
