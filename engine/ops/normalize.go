package ops

import (
	"math"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// normalization is one of the two kinds that there are: of groups of channels of each example, and of channels over all examples.
type normalization struct {
	*scope
	backend.Normalization
	format shape.MemoryFormat // of the results
}

// newNormalization starts a normalization of self with parameters, which are converted to the dtype that it is computed in.
func newNormalization(s *scope, self *tensor.Tensor, parameters ...*tensor.Tensor) *normalization {
	n := &normalization{scope: s}
	if !self.DType().IsFloatingPoint() {
		n.Check(status.NotImplementedf("%s: not implemented for %v; convert to a floating-point dtype", n.Op, self.DType()))
	}
	for _, t := range parameters {
		if t != nil && t.Device() != self.Device() {
			n.Failf("all tensors must be on the device of self, %v, but one is on %v", self.Device(), t.Device())
		}
	}
	return n
}

// setGroupGeometry sets the geometry for statistics of groups of channels of each batch element, which must match self.
func (n *normalization) setGroupGeometry(self *tensor.Tensor, examples, groups, channels int64) {
	whole := shape.Times(shape.Times(max(examples, 0), max(groups, 0)), max(channels, 0))
	if min(examples, groups, channels) < 0 || self.Numel() != 0 && (whole == 0 || self.Numel()%whole != 0) {
		n.Failf("a batch of %d with %d groups of %d channels is incompatible with the %d elements of self", examples, groups, channels,
			self.Numel())
	}
	n.Units, n.Strips, n.Runs, n.Groups = shape.Times(examples, groups), 1, channels, groups
	n.Span = self.Numel() / max(whole, 1)
	n.format = shape.Contiguous
	if sizes := self.Sizes(); n.Centred && n.Span > 1 && sizes[0] == examples && sizes[1] == groups*channels {
		n.setColumnGeometry(shape.SuggestFormat(sizes, self.Strides()))
	}
}

// denseFormat returns the memory format that t is dense in, whatever the strides of its dimensions of size 1, and otherwise the one that
// its strides suggest.
func denseFormat(t *tensor.Tensor) shape.MemoryFormat {
	for _, f := range []shape.MemoryFormat{shape.Contiguous, shape.ChannelsLast, shape.ChannelsLast3d} {
		if t.IsFormat(f) {
			return f
		}
	}
	return shape.SuggestFormat(t.Sizes(), t.Strides())
}

// setColumnGeometry treats channels as columns of matrices if they are adjacent in the memory format.
func (n *normalization) setColumnGeometry(format shape.MemoryFormat) {
	if n.format = format; format != shape.Contiguous {
		n.Columns, n.Strips, n.Span = true, n.Strips*n.Span, 1
	}
}

// setChannelGeometry sets the geometry for statistics of each channel, the second dimension.
func (n *normalization) setChannelGeometry(self *tensor.Tensor) {
	sizes := self.Sizes()
	if len(sizes) < 2 {
		n.Failf("self must have at least 2 dimensions, but has sizes %v", sizes)
	}
	n.Units, n.Groups, n.Runs = sizes[1], sizes[1], 1
	n.Strips, n.Span = sizes[0], shape.Product(sizes[2:])
	n.setColumnGeometry(denseFormat(self))
	switch {
	case n.Columns:
	case n.Span == 1:
		n.Columns = true
	case n.Fixed: // the channels of each example, in the order of memory
		n.Units, n.Strips = n.Units*n.Strips, 1
	}
}

// checkParameters returns an error for parameters and statistics of wrong sizes.
func (n *normalization) checkParameters(weight, bias, mean, rstd *tensor.Tensor) {
	units := n.Units
	if n.Fixed {
		units = n.Groups
	}
	if (mean == nil) != (rstd == nil) {
		n.Failf("mean and rstd must be given together, or neither of them")
	}
	for i, t := range []*tensor.Tensor{weight, bias, mean, rstd} {
		want := n.Groups * n.Runs
		if i > 1 {
			want = units
		}
		if t != nil && t.Numel() != want {
			n.Failf("%s must have %d elements, but has sizes %v", []string{"weight", "bias", "mean", "rstd"}[i], want, t.Sizes())
		}
	}
}

// toFormat returns t in dtype d, with its elements in the order of the format.
func (n *normalization) toFormat(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if t.DType() == d && shape.IsFormat(t.Sizes(), t.Strides(), n.format) {
		return t
	}
	return n.Track(cloneTensor(n.Op, t, d, t.Device(), n.format))
}

// newLikeInFormat creates a tensor like t in the format.
func (n *normalization) newLikeInFormat(t *tensor.Tensor) *tensor.Tensor {
	return n.Track(emptyLike(n.Op, t, t.DType(), t.Device(), n.format))
}

// convertParameter returns t contiguous and in the dtype of the computation; nil stays nil.
func (n *normalization) convertParameter(t, self *tensor.Tensor) *tensor.Tensor {
	if t == nil {
		return nil
	}
	return n.castRowMajor(t, self.DType().Compute())
}

// computeForward returns the result, and the statistics, which are computed unless they are given.
func (n *normalization) computeForward(self, weight, bias, mean, rstd *tensor.Tensor) (result, m, r, v *tensor.Tensor, err error) {
	n.checkParameters(weight, bias, mean, rstd)
	n.In, n.Out = n.toFormat(self, self.DType()), n.newLikeInFormat(self)
	n.Weight, n.Bias = n.convertParameter(weight, self), n.convertParameter(bias, self)
	size := n.Units
	if n.Fixed {
		size = 0
	}
	list := []*tensor.Tensor{n.Out}
	for range 3 {
		list = append(list, n.newEmpty(self, self.DType().Compute(), size))
	}
	n.Mean, n.Rstd, n.Variance = list[1], list[2], list[3]
	switch {
	case n.Fixed:
		n.Mean, n.Rstd = n.convertParameter(mean, self), n.convertParameter(rstd, self)
	case self.Numel() == 0:
		n.fillEmptyStatistics()
	}
	n.Check(backend.On(n.In).Normalize(n.Op, n.Normalization))
	list, err = n.ReturnAll(list)
	return list[0], list[1], list[2], list[3], err
}

// fillEmptyStatistics fills the statistics of no elements: the sum is 0, and the variance is undefined.
func (n *normalization) fillEmptyStatistics() {
	n.Check(fillWith(n.Mean, zero))
	for _, t := range []*tensor.Tensor{n.Rstd, n.Variance} {
		n.Check(fillWith(t, dtype.FloatScalar(math.NaN())))
	}
}

// computeBackward returns the gradients of self, weight and bias; those that are not requested are empty.
func (n *normalization) computeBackward(given, self, mean, rstd, weight *tensor.Tensor, whole,
	affine bool) (ofSelf, ofWeight, ofBias *tensor.Tensor, err error) {
	if given.Numel() != self.Numel() {
		n.Failf("the gradient must have the %d elements of self, but has sizes %v", self.Numel(), given.Sizes())
	}
	n.checkParameters(weight, nil, mean, rstd)
	d := self.DType().Compute()
	n.In, n.Given = n.toFormat(self, self.DType()), n.toFormat(given, self.DType())
	n.Weight, n.Mean, n.Rstd = n.convertParameter(weight, self), n.convertParameter(mean, self), n.convertParameter(rstd, self)
	none := n.newEmpty(self, d, 0)
	gradients := []*tensor.Tensor{none, none, none}
	if whole {
		n.Out = n.newLikeInFormat(self)
		gradients[0] = n.Out
	}
	each := !n.Columns && (n.Strips > 1 || n.Span > 1) // a sum for each run of each unit
	if affine {
		sizes := []int64{n.Groups * n.Runs}
		if each {
			sizes = []int64{n.Units / max(n.Groups, 1), n.Groups * n.Runs}
		}
		n.Sums = [2]*tensor.Tensor{n.newEmpty(self, d, sizes...), n.newEmpty(self, d, sizes...)}
		if self.Numel() == 0 {
			for _, t := range n.Sums {
				n.Check(fillWith(t, zero))
			}
		}
	}
	n.Check(backend.On(n.In).Normalize(n.Op, n.Normalization))
	if affine {
		for i, t := range n.Sums {
			if each {
				t = n.Track(Sum(nil, t, []int64{0}, false, dtype.None))
			}
			gradients[2-i] = t
		}
	}
	gradients, err = n.ReturnAll(gradients)
	return gradients[0], gradients[1], gradients[2], err
}

// NnNormalizeGroups normalizes groups of channels of each example.
func NnNormalizeGroups(self, weight, bias *tensor.Tensor, examples, groups, channels int64, eps float64, centred,
	rounded bool) (result, mean, rstd, variance *tensor.Tensor, err error) {
	s := newScope("nn_normalize_groups")
	defer s.Close(&err)
	n := newNormalization(s, self, weight, bias)
	n.Eps, n.Centred, n.Rounded = eps, centred, rounded
	n.setGroupGeometry(self, examples, groups, channels)
	return n.computeForward(self, weight, bias, nil, nil)
}

// NnNormalizeGroupsGradient returns its gradient.
func NnNormalizeGroupsGradient(given, self, mean, rstd, weight *tensor.Tensor, examples, groups, channels int64, centred, whole,
	affine bool) (ofSelf, ofWeight, ofBias *tensor.Tensor, err error) {
	s := newScope("nn_normalize_groups_gradient")
	defer s.Close(&err)
	n := newNormalization(s, self, given, mean, rstd, weight)
	n.Centred = centred
	n.setGroupGeometry(self, examples, groups, channels)
	return n.computeBackward(given, self, mean, rstd, weight, whole, affine)
}

// NnNormalizeChannels normalizes channels over the batch, by mean and rstd if they are not nil.
func NnNormalizeChannels(self, weight, bias, mean, rstd *tensor.Tensor, eps float64,
	rounded bool) (result, m, r, v *tensor.Tensor, err error) {
	s := newScope("nn_normalize_channels")
	defer s.Close(&err)
	n := newNormalization(s, self, weight, bias, mean, rstd)
	n.Eps, n.Centred, n.Fixed, n.Rounded = eps, true, mean != nil, rounded
	n.setChannelGeometry(self)
	return n.computeForward(self, weight, bias, mean, rstd)
}

// NnNormalizeChannelsGradient returns its gradient.
func NnNormalizeChannelsGradient(given, self, mean, rstd, weight *tensor.Tensor, fixed, whole,
	affine bool) (ofSelf, ofWeight, ofBias *tensor.Tensor, err error) {
	s := newScope("nn_normalize_channels_gradient")
	defer s.Close(&err)
	n := newNormalization(s, self, given, mean, rstd, weight)
	n.Fixed, n.Centred = fixed, true
	n.setChannelGeometry(self)
	return n.computeBackward(given, self, mean, rstd, weight, whole, affine)
}
