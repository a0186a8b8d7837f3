package ops

import (
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// FillUniform fills self from the uniform distribution on [from, to).
func FillUniform(self *tensor.Tensor, from, to float64, g *random.Generator) error {
	return drawInto("uniform_", self, nil, func(s, _ random.Span, _ bool) error { return orDefault(g).Uniform(s, from, to) })
}

// FillNormal fills self from a normal distribution.
func FillNormal(self *tensor.Tensor, mean, std float64, g *random.Generator) error {
	return drawInto("normal_", self, nil, normals(g, mean, std))
}

// FillRandom fills self with integers of its dtype's range.
func FillRandom(self *tensor.Tensor, g *random.Generator) error {
	return drawInto("random_", self, nil, func(s, _ random.Span, _ bool) error { return orDefault(g).RandIntFull(s) })
}

// FillRandomFrom fills self with integers from [from, to), or from from on.
func FillRandomFrom(self *tensor.Tensor, from int64, to Int, g *random.Generator) error {
	if to.IsNone() {
		return drawInto("random_", self, nil, func(s, _ random.Span, _ bool) error { return orDefault(g).RandIntFrom(s, from) })
	}
	return drawInto("random_", self, nil, integers(g, from, int64(to)))
}

// FillRandomTo fills self with integers from [0, to).
func FillRandomTo(self *tensor.Tensor, to int64, g *random.Generator) error {
	return drawInto("random_", self, nil, integers(g, 0, to))
}

// FillBernoulli fills self with 1 with probability p, otherwise 0.
func FillBernoulli(self *tensor.Tensor, p float64, g *random.Generator) error {
	return drawInto("bernoulli_", self, nil, func(s, _ random.Span, _ bool) error { return orDefault(g).Bernoulli(s, p) })
}

// FillBernoulliEach is FillBernoulli with a probability for each element.
func FillBernoulliEach(self, p *tensor.Tensor, g *random.Generator) error {
	const op = "bernoulli_"
	d := p.DType()
	if !d.IsFloatingPoint() {
		return status.NotImplementedf("%s: expected probabilities of a floating-point dtype, but got %v", op, d)
	}
	if err := checkEach(op, self, p); err != nil {
		return err
	}
	s := within(op)
	defer s.Close()
	each := s.beside(p, self.Sizes(), self.Strides())
	if s.Err != nil {
		return s.Err
	}
	return drawInto(op, self, each, func(t, each random.Span, _ bool) error {
		return orDefault(g).BernoulliEach(t, each)
	})
}

// FillExponential fills self from the exponential distribution.
func FillExponential(self *tensor.Tensor, lambda float64, g *random.Generator) error {
	return drawInto("exponential_", self, nil, func(s, _ random.Span, _ bool) error { return orDefault(g).Exponential(s, lambda) })
}

// FillCauchy fills self from the Cauchy distribution.
func FillCauchy(self *tensor.Tensor, median, sigma float64, g *random.Generator) error {
	return drawInto("cauchy_", self, nil, func(s, _ random.Span, _ bool) error { return orDefault(g).Cauchy(s, median, sigma) })
}

// FillLogNormal fills self from the log-normal distribution.
func FillLogNormal(self *tensor.Tensor, mean, std float64, g *random.Generator) error {
	return drawInto("log_normal_", self, nil, func(s, _ random.Span, _ bool) error { return orDefault(g).LogNormal(s, mean, std) })
}

// FillGeometric fills self from the geometric distribution.
func FillGeometric(self *tensor.Tensor, p float64, g *random.Generator) error {
	return drawInto("geometric_", self, nil, func(s, _ random.Span, _ bool) error { return orDefault(g).Geometric(s, p) })
}

// ManualSeed restarts the default generator.
func ManualSeed(seed int64) error {
	random.Default.ManualSeed(uint64(seed))
	return nil
}

// DefaultGenerator is the generator of random functions that are given none.
func DefaultGenerator() (*random.Generator, error) { return random.Default, nil }
