package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/view"
)

// fillFrom fills t from a distribution. Parameters are prepared by the scope, or nil. A nil generator is the device's default generator.
func fillFrom(op string, t, each *tensor.Tensor, g *random.Generator, from random.Distribution) error {
	for _, t := range []*tensor.Tensor{t, each} {
		if t != nil && t.DType().IsFloat8() {
			return status.NotImplementedf("%s: not implemented for dtype %v; use float16, bfloat16, float32 or float64", op, t.DType())
		}
	}
	if g == nil {
		g = defaultGenerator(t.Device())
	}
	return backend.On(t).Draw(op, backend.Drawing{To: t, Each: each, Generator: g, From: from})
}

// defaultGenerator returns that of random functions that are given none.
func defaultGenerator(d device.Device) *random.Generator {
	if d.Type == device.CUDA {
		return random.DefaultOf(int(d.Index))
	}
	return random.Default
}

// drawInto is draw for a tensor of the caller's.
func drawInto(op string, t, each *tensor.Tensor, g *random.Generator, from random.Distribution) error {
	if err := tensoriter.Writable(op, t); err != nil {
		return err
	}
	return fillFrom(op, t, each, g, from)
}

// expandParameter returns a parameter for each element of a tensor of the given sizes and strides, in the order in which fillFrom fills
// them.
func (s *scope) expandParameter(p *tensor.Tensor, sizes, strides []int64) *tensor.Tensor {
	t := s.Track(tensor.EmptyStrided(s.Op, sizes, shape.PreserveStrides(sizes, strides), p.DType(), p.Device()))
	wide := s.Track(view.Expand(s.Op, p, sizes))
	s.copyTensor(t, wide)
	return t
}

// newDrawn creates or resizes the result of a random factory and fills it.
func newDrawn(op string, out *tensor.Tensor, size []int64, d, otherwise dtype.DType, layout tensor.Layout, dev device.Device,
	each *tensor.Tensor, g *random.Generator, from random.Distribution) (_ *tensor.Tensor, err error) {
	if out != nil { // an error leaves out unchanged
		s := newScope(op)
		defer s.Close(&err)
		none := s.newEmpty(out, out.DType(), 0)
		s.Check(fillFrom(op, none, each, g, from))
	}
	to, err := newFactoryOutput(op, out, size, d, otherwise, layout, dev)
	if err == nil {
		err = drawInto(op, to.To, each, g, from)
	}
	return to.Done(err)
}

// newDrawnLike is newDrawn in the shape, dtype, device and memory format of another tensor.
func newDrawnLike(op string, self *tensor.Tensor, d dtype.DType, layout tensor.Layout, dev device.Device, f shape.MemoryFormat,
	g *random.Generator, from random.Distribution) (_ *tensor.Tensor, err error) {
	if dev.IsNone() {
		dev = self.Device()
	}
	d, dev, err = resolveOptions(op, d, self.DType(), layout, dev)
	if err != nil {
		return nil, err
	}
	strides := shape.PreserveStrides(self.Sizes(), self.Strides())
	if f != shape.NoFormat && f != shape.Preserve {
		if strides, err = shape.FormatStrides(op, self.Sizes(), f); err != nil {
			return nil, err
		}
	}
	s := newScope(op)
	defer s.Close(&err)
	t := s.Track(tensor.EmptyStrided(op, self.Sizes(), strides, d, dev))
	s.Check(fillFrom(op, t, nil, g, from))
	return s.Return(t)
}

// Rand draws from the uniform distribution on [0, 1).
func Rand(out *tensor.Tensor, size []int64, g *random.Generator, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return newDrawn("rand", out, size, d, dtype.Default(), layout, dev, nil, g, random.Uniform{To: 1})
}

// Randn draws from the standard normal distribution.
func Randn(out *tensor.Tensor, size []int64, g *random.Generator, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return newDrawn("randn", out, size, d, dtype.Default(), layout, dev, nil, g, random.Normal{Std: 1})
}

// Randint draws integers from [low, high).
func Randint(out *tensor.Tensor, low, high int64, size []int64, g *random.Generator, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	if low >= high {
		return nil, status.Runtimef("randint: expected low < high, but got low %d and high %d", low, high)
	}
	return newDrawn("randint", out, size, d, dtype.Int64, layout, dev, nil, g, random.Integers{From: low, To: high})
}

// RandintHigh draws integers from [0, high).
func RandintHigh(out *tensor.Tensor, high int64, size []int64, g *random.Generator, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return Randint(out, 0, high, size, g, d, layout, dev)
}

// Randperm draws a permutation of 0..n-1.
func Randperm(out *tensor.Tensor, n int64, g *random.Generator, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	if n < 0 {
		return nil, status.Runtimef("randperm: n must not be negative, but got %d", n)
	}
	return newDrawn("randperm", out, []int64{n}, d, dtype.Int64, layout, dev, nil, g, random.Permutation{N: n})
}

// RandLike is Rand in the shape of self.
func RandLike(self *tensor.Tensor, g *random.Generator, d dtype.DType, layout tensor.Layout, dev device.Device,
	f shape.MemoryFormat) (*tensor.Tensor, error) {
	return newDrawnLike("rand_like", self, d, layout, dev, f, g, random.Uniform{To: 1})
}

// RandnLike is Randn in the shape of self.
func RandnLike(self *tensor.Tensor, g *random.Generator, d dtype.DType, layout tensor.Layout, dev device.Device,
	f shape.MemoryFormat) (*tensor.Tensor, error) {
	return newDrawnLike("randn_like", self, d, layout, dev, f, g, random.Normal{Std: 1})
}

// RandintLike is Randint in the shape of self.
func RandintLike(self *tensor.Tensor, low, high int64, g *random.Generator, d dtype.DType, layout tensor.Layout, dev device.Device,
	f shape.MemoryFormat) (*tensor.Tensor, error) {
	return newDrawnLike("randint_like", self, d, layout, dev, f, g, random.Integers{From: low, To: high})
}

// RandintLikeHigh is RandintHigh in the shape of self.
func RandintLikeHigh(self *tensor.Tensor, high int64, g *random.Generator, d dtype.DType, layout tensor.Layout, dev device.Device,
	f shape.MemoryFormat) (*tensor.Tensor, error) {
	return RandintLike(self, 0, high, g, d, layout, dev, f)
}

// NormalSize draws a tensor of normals of one mean and standard deviation.
func NormalSize(out *tensor.Tensor, mean, std float64, size []int64, g *random.Generator, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return newDrawn("normal", out, size, d, dtype.Default(), layout, dev, nil, g, random.Normal{Mean: mean, Std: std})
}

// checkDrawParameter returns an error for probabilities, rates or weights that are not on the device of the tensor that is filled, or
// overlap it.
func checkDrawParameter(op string, t, each *tensor.Tensor) error {
	if t.Device() != each.Device() {
		return tensoriter.TwoDevices(op, t.Device(), each.Device())
	}
	return nil
}

// Bernoulli draws 0 or 1 with the probabilities in self.
func Bernoulli(out, self *tensor.Tensor, g *random.Generator) (_ *tensor.Tensor, err error) {
	if !self.DType().IsFloatingPoint() {
		return nil, status.NotImplementedf("bernoulli: expected probabilities of a floating-point dtype, but got %v", self.DType())
	}
	s := newScope("bernoulli")
	defer s.Close(&err)
	strides := shape.ContiguousStrides(self.Sizes())
	if out != nil {
		if err := checkDrawParameter("bernoulli", out, self); err != nil {
			return nil, err
		}
		if slices.Equal(out.Sizes(), self.Sizes()) {
			strides = out.Strides()
		}
	}
	p := s.expandParameter(self, self.Sizes(), strides)
	return newDrawn("bernoulli", out, self.Sizes(), dtype.None, self.DType(), tensor.NoLayout, self.Device(), p, g, random.BernoulliEach{})
}

// BernoulliP draws 0 or 1 in the shape of self.
func BernoulliP(self *tensor.Tensor, p float64, g *random.Generator) (*tensor.Tensor, error) {
	return newDrawn("bernoulli", nil, self.Sizes(), dtype.None, self.DType(), tensor.NoLayout, self.Device(), nil, g, random.Bernoulli{P: p})
}

// Multinomial draws indices of weights.
func Multinomial(out, self *tensor.Tensor, samples int64, replacement bool, g *random.Generator) (_ *tensor.Tensor, err error) {
	if self.Dim() < 1 || self.Dim() > 2 {
		return nil, status.Runtimef("multinomial: prob_dist must be 1 or 2 dim, but it has %d", self.Dim())
	}
	from := random.Multinomial{Categories: self.Sizes()[self.Dim()-1], Samples: samples, Replacement: replacement}
	if err := from.Check(dtype.Int64, self.DType()); err != nil {
		return nil, err
	}
	s := newScope("multinomial")
	defer s.Close(&err)
	weights := s.castRowMajor(self, self.DType())
	if out != nil {
		s.Check(checkDrawParameter("multinomial", out, self))
		if out.Storage() == self.Storage() {
			weights = s.copyContiguous(self, self.DType())
		}
	}
	s.Check(tensoriter.SameDType("multinomial", out, dtype.Int64))
	size := append([]int64{}, self.Sizes()...)
	size[len(size)-1] = samples
	return newDrawn("multinomial", out, size, dtype.Int64, dtype.Int64, tensor.NoLayout, self.Device(), weights, g, from)
}

// Poisson draws counts with the rates in self.
func Poisson(self *tensor.Tensor, g *random.Generator) (_ *tensor.Tensor, err error) {
	s := newScope("poisson")
	defer s.Close(&err)
	rates := s.castRowMajor(self, self.DType())
	return newDrawn("poisson", nil, self.Sizes(), dtype.None, self.DType(), tensor.NoLayout, self.Device(), rates, g, random.Poisson{})
}

// StandardGamma draws gamma random numbers of rate 1 with the shape parameters in self.
func StandardGamma(self *tensor.Tensor, g *random.Generator) (_ *tensor.Tensor, err error) {
	const op = "_standard_gamma"
	s := newScope(op)
	defer s.Close(&err)
	shapes := s.castRowMajor(self, self.DType())
	return newDrawn(op, nil, self.Sizes(), dtype.None, self.DType(), tensor.NoLayout, self.Device(), shapes, g, random.Gamma{})
}

// Binomial draws how many of count trials succeed, each with a probability of prob.
func Binomial(count, prob *tensor.Tensor, g *random.Generator) (_ *tensor.Tensor, err error) {
	const op = "binomial"
	d := count.DType()
	switch {
	case !d.IsFloatingPoint():
		return nil, status.Valuef("%s: expected count of a floating-point dtype, but got %v", op, d)
	case prob.DType() != d:
		return nil, status.Runtimef("%s: expected prob of the dtype of count, %v, but got %v", op, d, prob.DType())
	}
	if err := checkDrawParameter(op, count, prob); err != nil {
		return nil, err
	}
	sizes, err := tensoriter.Shape(op, count, prob)
	if err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	each := s.Track(tensor.Empty(op, shape.Append(sizes, 2), d, count.Device()))
	for i, parameter := range []*tensor.Tensor{count, prob} {
		to := s.Track(view.Select(op, each, -1, int64(i)))
		s.copyTensor(to, s.expandTo(parameter, sizes))
	}
	return newDrawn(op, nil, sizes, dtype.None, d, tensor.NoLayout, count.Device(), each, g, random.Binomial{})
}
