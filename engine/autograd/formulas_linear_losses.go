package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// linearLossesGradient returns the gradient of operand i of the cross entropy of a linear layer's output, which is recomputed for a limited
// number of rows at a time.
func (s *steps) linearLossesGradient(grad, self, linear, target, bias, weight *tensor.Tensor, left, rows, i int64) *tensor.Tensor {
	return s.evaluateOnce(func() []*tensor.Tensor {
		l := linearLosses{grad: grad, self: self, linear: linear, target: target, bias: bias, weight: weight, left: left}
		var ofSelf, ofTarget []*tensor.Tensor // of the parts
		var ofLinear, ofBias *tensor.Tensor
		for n := self.Sizes()[0]; l.at < n || l.at == 0; l.at += rows {
			l.rows = min(rows, n-l.at)
			of := s.evaluateSeparately(l.ofLogits)
			if s.needsGrad(0) {
				ofSelf = append(ofSelf, s.Matmul(of, linear))
			}
			if s.needsGrad(1) {
				ofLinear = s.addAndRelease(ofLinear, s.evaluateSeparately(func(s *steps) *tensor.Tensor {
					return s.castTo(s.Matmul(s.Transpose(of, 0, 1), l.narrowRows(s, self)), self.DType().Compute())
				}))
			}
			if s.needsGrad(2) {
				ofTarget = append(ofTarget, s.evaluateSeparately(l.ofTarget))
			}
			if s.needsGrad(3) {
				ofBias = s.addAndRelease(ofBias, s.SumWith(of, []int64{0}, false, self.DType().Compute()))
			}
			s.Drop(of)
		}
		for _, t := range []**tensor.Tensor{&ofLinear, &ofBias} {
			if *t != nil {
				*t = s.castTo(*t, self.DType())
			}
		}
		return []*tensor.Tensor{s.endToEnd(ofSelf), ofLinear, s.endToEnd(ofTarget), ofBias}
	})[i]
}

// endToEnd has parts one behind the other.
func (s *steps) endToEnd(parts []*tensor.Tensor) *tensor.Tensor {
	if parts == nil {
		return nil
	}
	return s.Cat(parts, 0)
}

// addAndRelease adds t to before and releases both.
func (s *steps) addAndRelease(before, t *tensor.Tensor) *tensor.Tensor {
	if before == nil {
		return t
	}
	sum := s.add(before, t)
	s.Drop(before)
	s.Drop(t)
	return sum
}

// linearLosses are those of some rows from one on.
type linearLosses struct {
	grad, self, linear, target, bias, weight *tensor.Tensor
	left, at, rows                           int64
}

func (l *linearLosses) narrowRows(s *steps, t *tensor.Tensor) *tensor.Tensor {
	return s.Narrow(t, 0, l.at, l.rows)
}

// lossGradient returns the gradient of the losses, as a column.
func (l *linearLosses) lossGradient(s *steps) *tensor.Tensor {
	return s.Unsqueeze(l.narrowRows(s, l.grad), 1)
}

// logProbabilities returns the logarithms of the probabilities of classes.
func (l *linearLosses) logProbabilities(s *steps) *tensor.Tensor {
	logits := s.NnLinear(l.narrowRows(s, l.self), l.linear, l.bias)
	return s.LogSoftmax(logits, 1, dtype.None)
}

// ofLogits returns the gradient of the logits: probabilities less those of the target.
func (l *linearLosses) ofLogits(s *steps) *tensor.Tensor {
	g, t, likely := l.lossGradient(s), l.narrowRows(s, l.target), s.Exp(l.logProbabilities(s))
	if slices.Equal(l.target.Sizes(), []int64{l.self.Sizes()[0], l.linear.Sizes()[0]}) {
		if l.weight != nil {
			t = s.mul(t, l.weight)
		}
		return s.mul(s.sub(s.mul(likely, s.sumOver(t, 1)), t), g)
	}
	valid := s.Ne(t, s.int(l.left))
	index := s.Where(valid, t, s.int(0))
	if l.weight != nil {
		g = s.mul(g, s.Unsqueeze(s.IndexSelect(l.weight, 0, index), 1))
	}
	g = s.Where(s.Unsqueeze(valid, 1), g, s.int(0))
	return s.ScatterAdd(s.mul(likely, g), 1, s.Unsqueeze(index, 1), s.Neg(g))
}

// ofTarget returns the gradient of probabilities.
func (l *linearLosses) ofTarget(s *steps) *tensor.Tensor {
	of := s.Neg(s.mul(l.logProbabilities(s), l.lossGradient(s)))
	if l.weight != nil {
		of = s.mul(of, l.weight)
	}
	return of
}
