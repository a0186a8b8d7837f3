package ops

import (
	"cmp"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/warning"
)

// FillUniform fills self from the uniform distribution on [from, to).
func FillUniform(self *tensor.Tensor, from, to float64, g *random.Generator) error {
	return drawInto("uniform_", self, nil, g, random.Uniform{From: from, To: to})
}

// FillNormal fills self from a normal distribution.
func FillNormal(self *tensor.Tensor, mean, std float64, g *random.Generator) error {
	return drawInto("normal_", self, nil, g, random.Normal{Mean: mean, Std: std})
}

// FillRandom fills self with integers of its dtype's range.
func FillRandom(self *tensor.Tensor, g *random.Generator) error {
	return drawInto("random_", self, nil, g, random.AllIntegers{})
}

// FillRandomFrom fills self with integers from [from, to), or from from on.
func FillRandomFrom(self *tensor.Tensor, from int64, to Int, g *random.Generator) error {
	if to.IsNone() {
		return drawInto("random_", self, nil, g, random.IntegersFrom{From: from})
	}
	return fillIntegers(self, from, int64(to), g)
}

// FillRandomTo fills self with integers from [0, to).
func FillRandomTo(self *tensor.Tensor, to int64, g *random.Generator) error {
	return fillIntegers(self, 0, to, g)
}

// fillIntegers fills self with integers from [from, to), and warns where its dtype does not have all of them.
func fillIntegers(self *tensor.Tensor, from, to int64, g *random.Generator) error {
	const op = "random_"
	drawn := random.Integers{From: from, To: to}
	err := cmp.Or(tensoriter.Writable(op, self), drawn.Check(self.DType(), dtype.None))
	if whole := random.Whole(self.DType()); err == nil && (from < -whole || to-1 > whole) {
		err = warning.RandomRange.Of(op, "%v has all integers from %d to %d only, so that some integers from %d to %d are never drawn and others are drawn too often; use narrower bounds, or a wider dtype",
			self.DType(), -whole, whole, from, to-1)
	}
	if err != nil {
		return err
	}
	return drawInto(op, self, nil, g, drawn)
}

// FillBernoulli fills self with 1 with probability p, otherwise 0.
func FillBernoulli(self *tensor.Tensor, p float64, g *random.Generator) error {
	return drawInto("bernoulli_", self, nil, g, random.Bernoulli{P: p})
}

// FillBernoulliEach is FillBernoulli with a probability for each element.
func FillBernoulliEach(self, p *tensor.Tensor, g *random.Generator) (err error) {
	const op = "bernoulli_"
	d := p.DType()
	if !d.IsFloatingPoint() {
		return status.NotImplementedf("%s: expected probabilities of a floating-point dtype, but got %v", op, d)
	}
	if err := checkDrawParameter(op, self, p); err != nil {
		return err
	}
	s := newScope(op)
	defer s.Close(&err)
	each := s.expandParameter(p, self.Sizes(), self.Strides())
	return drawInto(op, self, each, g, random.BernoulliEach{})
}

// FillExponential fills self from the exponential distribution.
func FillExponential(self *tensor.Tensor, lambda float64, g *random.Generator) error {
	return drawInto("exponential_", self, nil, g, random.Exponential{Lambda: lambda})
}

// FillCauchy fills self from the Cauchy distribution.
func FillCauchy(self *tensor.Tensor, median, sigma float64, g *random.Generator) error {
	return drawInto("cauchy_", self, nil, g, random.Cauchy{Median: median, Sigma: sigma})
}

// FillLogNormal fills self from the log-normal distribution.
func FillLogNormal(self *tensor.Tensor, mean, std float64, g *random.Generator) error {
	return drawInto("log_normal_", self, nil, g, random.LogNormal{Mean: mean, Std: std})
}

// FillGeometric fills self from the geometric distribution.
func FillGeometric(self *tensor.Tensor, p float64, g *random.Generator) error {
	return drawInto("geometric_", self, nil, g, random.Geometric{P: p})
}

// ManualSeed restarts the default generators.
func ManualSeed(seed int64) error {
	return GeneratorManualSeed(random.Default, seed)
}

// DefaultGenerator returns the generator of random functions that are given none.
func DefaultGenerator() (*random.Generator, error) { return random.Default, nil }

// DefaultGeneratorOf returns the generator of random functions that are given none, for tensors of a device.
func DefaultGeneratorOf(dev device.Device) (*random.Generator, error) {
	const op = "default_generator"
	dev, err := device.Resolve(op, dev)
	if err != nil {
		return nil, err
	}
	if dev.Type == device.Meta {
		return nil, newMetaError(op)
	}
	return defaultGenerator(dev), nil
}
