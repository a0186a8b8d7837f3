package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/tensor"
)

// needsGrad reports whether the gradient of operand i of the node leads anywhere.
func (s *steps) needsGrad(i int) bool { return s.node.edges[i].Node != nil }

// groupsGradient returns the gradient of operand i of a normalization of groups: of self, weight or bias.
func (s *steps) groupsGradient(grad, self, mean, rstd, weight *tensor.Tensor, examples, groups, channels int64, eps float64, centred bool,
	i int64) *tensor.Tensor {
	return s.evaluateOnce(func() []*tensor.Tensor {
		if !s.record {
			of, ofWeight, ofBias, err := s.C.NnNormalizeGroupsGradient(grad, self, mean, rstd, weight, examples, groups, channels, centred,
				s.needsGrad(0), s.needsGrad(1) || s.needsGrad(2))
			return []*tensor.Tensor{s.Track(of, err), s.Track(ofWeight, nil), s.Track(ofBias, nil)}
		}
		numbers := []int64{1, groups, channels, 1}
		n := normalizing{s: s, sizes: []int64{examples, groups, channels, self.Numel() / max(examples*groups*channels, 1)}, over: []int64{2, 3},
			eps: eps, centred: centred, fixed: false}
		return n.computeGradients(grad, self, nil, nil, weight, numbers)
	})[i]
}

// channelsGradient returns the gradient of operand i of a normalization of channels: of self, weight, bias, or of statistics that are
// given.
func (s *steps) channelsGradient(grad, self, mean, rstd, weight, givenMean, givenRstd *tensor.Tensor, eps float64, i int64) *tensor.Tensor {
	fixed := givenMean != nil
	if fixed {
		mean, rstd = givenMean, givenRstd
	}
	all := s.evaluateOnce(func() []*tensor.Tensor {
		if !s.record {
			of, ofWeight, ofBias, err := s.C.NnNormalizeChannelsGradient(grad, self, mean, rstd, weight, fixed, s.needsGrad(0), s.needsGrad(1) ||
				s.needsGrad(2) || s.needsGrad(3) || s.needsGrad(4))
			return []*tensor.Tensor{s.Track(of, err), s.Track(ofWeight, nil), s.Track(ofBias, nil)}
		}
		channels := self.Sizes()[1]
		n := normalizing{s: s, sizes: []int64{self.Sizes()[0], channels, self.Numel() / max(self.Sizes()[0]*channels, 1)}, over: []int64{0, 2},
			eps: eps, centred: true, fixed: fixed}
		return n.computeGradients(grad, self, mean, rstd, weight, []int64{1, channels, 1})
	})
	var made *tensor.Tensor
	switch i {
	case 3: // as that of a bias of -mean rstd weight
		made = s.Neg(s.mul(all[2], rstd))
	case 4: // as that of the weight, which rstd is a factor of
		made = s.div(all[1], rstd)
	default:
		return all[i]
	}
	if weight != nil {
		made = s.mul(made, weight)
	}
	return made
}

// normalizing has the gradients of a normalization in operators that have derivatives themselves: of a view of self with the sizes here,
// whose statistics are over some dimensions.
type normalizing struct {
	s              *steps
	sizes, over    []int64
	eps            float64
	centred, fixed bool
}

func (n *normalizing) meanOverDims(t *tensor.Tensor) *tensor.Tensor {
	return n.s.Mean(t, n.over, true)
}

// computeGradients returns those of self, weight and bias, whose sizes in the view are numbers.
func (n *normalizing) computeGradients(grad, self, mean, rstd, weight *tensor.Tensor, numbers []int64) []*tensor.Tensor {
	s, d := n.s, self.DType()
	viewed := func(t *tensor.Tensor, sizes []int64) *tensor.Tensor {
		return s.Reshape(s.castTo(t, d.Compute()), sizes...)
	}
	x, g := viewed(self, n.sizes), viewed(grad, n.sizes)
	var off, by *tensor.Tensor
	switch {
	case n.fixed:
		off, by = s.sub(x, viewed(mean, numbers)), viewed(rstd, numbers)
	default:
		off = x
		if n.centred {
			off = s.sub(x, n.meanOverDims(x))
		}
		by = s.Rsqrt(s.add(n.meanOverDims(s.mul(off, off)), s.float(n.eps)))
	}
	unit := s.mul(off, by)
	of := g
	if weight != nil {
		of = s.mul(g, viewed(weight, numbers))
	}
	whole := of
	if n.fixed {
		whole = s.dependOn(whole, unit)
	} else {
		if n.centred {
			whole = s.sub(whole, n.meanOverDims(of))
		}
		whole = s.sub(whole, s.mul(unit, n.meanOverDims(s.mul(of, unit))))
	}
	whole = s.mul(whole, by)
	count := int64(1)
	for _, size := range numbers {
		count *= size
	}
	affine := func(t *tensor.Tensor) *tensor.Tensor {
		return s.Reshape(s.SumToSize(t, numbers...), count)
	}
	return []*tensor.Tensor{s.castTo(s.Reshape(whole, slices.Clone(self.Sizes())...), d), affine(s.mul(g, unit)), affine(s.dependOn(g, unit))}
}
