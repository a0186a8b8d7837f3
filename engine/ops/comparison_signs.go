package ops

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// comparisonDType returns the dtype in which two operands are compared: the promoted one, or one that holds both, where promotion would
// change the values of unsigned integers, or of scalars and zero-dim tensors. No dtype holds uint64 and signed integers: across is true
// for these. Scalars compared with uint8 and signed integers wrap around, as in PyTorch.
func comparisonDType(self, other *tensor.Tensor) (common dtype.DType, across bool) {
	common = resultType(self, other)
	a, b := self.DType(), other.DType()
	if a == b || a.Category() > dtype.Integral || b.Category() > dtype.Integral || !isWideUnsigned(self) && !isWideUnsigned(other) ||
		canHold(common, self) && canHold(common, other) {
		return common, false
	}
	wide := dtype.Promote(a, b)
	if wide.IsFloatingPoint() {
		return common, true
	}
	return wide, false
}

// isWideUnsigned reports whether t is a tensor of uint16, uint32 or uint64.
func isWideUnsigned(t *tensor.Tensor) bool {
	d := t.DType()
	return !d.IsSigned() && d.IsIntegral() && d.Size() > 1 && !t.IsWrappedNumber()
}

// canHold reports whether an integer dtype represents the value of a number, or all values of the dtype of a tensor.
func canHold(d dtype.DType, t *tensor.Tensor) bool {
	if !t.IsWrappedNumber() {
		return dtype.Promote(d, t.DType()) == d && !d.IsFloatingPoint()
	}
	v := t.Item()
	least, most := d.IntegerRange()
	if v.Kind != dtype.KindUint && v.I < 0 {
		return v.I >= least
	}
	return uint64(v.I) <= most
}

// below is the result of a comparison of a negative operand with an unsigned integer.
type below struct{ self, other bool }

func init() {
	for p, below := range map[*pointwise]below{eq: {false, false}, ne: {true, true}, lt: {true, false}, le: {true, false}, gt: {false, true},
		ge: {false, true}} {
		p.mixed = func(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
			common, across := comparisonDType(self, other)
			if across {
				return p.compareSigned(out, self, other, below)
			}
			return p.runIn(common, out, nil, self, other)
		}
	}
}

// compareSigned compares uint64 with signed integers: as uint64, except where these are negative.
func (p *pointwise) compareSigned(out, self, other *tensor.Tensor, below below) (_ *tensor.Tensor, err error) {
	to := tensoriter.Output{Op: p.name, Out: out, DType: dtype.Bool}
	if err := to.Broadcast(self, other); err != nil {
		return to.Done(err)
	}
	s := newScope(p.name)
	defer s.Close(&err)
	signed, answer := self, below.self
	if self.DType() == dtype.Uint64 {
		signed, answer = other, below.other
	}
	joins := gt // found, and not negative
	if answer {
		joins = logicalOr
	}
	return to.Done(s.Try(func() {
		found := s.Track(p.runIn(dtype.Uint64, nil, nil, self, other))
		s.CheckWritten(joins.runKernel(to.To, nil, found, s.maskNegative(signed)))
	}))
}

// maskNegative returns a mask of the integers below 0.
func (s *scope) maskNegative(t *tensor.Tensor) *tensor.Tensor {
	zero := s.Number(dtype.IntScalar(0))
	return s.Track(lt.runIn(t.DType(), nil, nil, t, zero))
}
