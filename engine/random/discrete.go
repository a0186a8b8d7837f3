package random

import (
	"math"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
)

// Bernoulli is 1 where a float64 uniform is below P, and 0 elsewhere, of a real dtype. P outside [0, 1] is a Runtime error.
type Bernoulli struct{ P float64 }

// Check implements Distribution.
func (b Bernoulli) Check(d, _ dtype.DType) error {
	if !(b.P >= 0 && b.P <= 1) {
		return status.Runtimef("bernoulli_: expected p to be in [0, 1], but got p=%v", b.P)
	}
	return requireReal("bernoulli_", d)
}

func (Bernoulli) countWords(_, _ dtype.DType) int { return 2 }

func (b Bernoulli) draw(s *stream, to, _ Span, _ bool) error {
	s.fillIntegers(to, func(v []int64) {
		u := s.floats[:len(v)]
		s.fillUniform64(u, 0, 1)
		for i := range v {
			v[i] = toIndicator(u[i] < b.P)
		}
	})
	return nil
}

// BernoulliEach is Bernoulli with a floating-point probability for each element. Uniforms are float64 for float64 probabilities and
// float32 otherwise. A probability outside [0, 1] is a Runtime error.
type BernoulliEach struct{}

// Check implements Distribution.
func (BernoulliEach) Check(d, each dtype.DType) error {
	if err := requireReal("bernoulli", d); err != nil {
		return err
	}
	return requireFloating("bernoulli", each)
}

func (BernoulliEach) checkParameters(each Span) error {
	return checkParameters(each, "bernoulli", "probability in [0, 1]", func(x float64) bool { return x >= 0 && x <= 1 })
}

func (BernoulliEach) countWords(_, each dtype.DType) int { return countUniformWords(each) }

func (BernoulliEach) draw(s *stream, to, each Span, _ bool) error {
	done := 0
	s.fillIntegers(to, func(v []int64) {
		p := s.floats[:len(v)]
		readElements(p, each.slice(done, len(v)))
		for i := range v {
			if each.DType == dtype.Float64 {
				v[i] = toIndicator(s.engine.drawFloat64() < p[i])
			} else {
				v[i] = toIndicator(float64(s.engine.drawFloat32()) < p[i])
			}
		}
		done += len(v)
	})
	return nil
}

// toIndicator returns 1 for true and 0 for false. As an integer it compiles without a branch.
func toIndicator(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// checkParameters returns an error for a span of distribution parameters, one of which is not valid.
func checkParameters(s Span, op, want string, valid func(float64) bool) error {
	var values [256]float64
	for i := 0; i < s.Len; i += len(values) {
		n := min(len(values), s.Len-i)
		readElements(values[:n], s.slice(i, n))
		for j, v := range values[:n] {
			if !valid(v) {
				return status.Runtimef("%s: expected a %s, but element %d is %v", op, want, i+j, v)
			}
		}
	}
	return nil
}

// Poisson are counts, of a floating-point dtype, with a rate of this dtype for each element. A rate that is not >= 0 is a Runtime error.
type Poisson struct{}

// Check implements Distribution.
func (Poisson) Check(d, _ dtype.DType) error { return requireFloating("poisson", d) }

func (Poisson) checkParameters(each Span) error {
	return checkParameters(each, "poisson", "non-negative rate", func(x float64) bool { return x >= 0 })
}

// countWords returns a block, the first of those that an element uses.
func (Poisson) countWords(_, _ dtype.DType) int { return blockWords }

func (Poisson) draw(s *stream, to, each Span, _ bool) error {
	s.fillEach(to, each, 1, func(rate []float64) float64 { return s.drawPoisson(rate[0]) })
	return nil
}

// fillEach draws every element, with its parameters, from separate random words.
func (s *stream) fillEach(to, each Span, parameters int, draw func(of []float64) float64) {
	var of [2 * len(s.floats)]float64
	done := 0
	s.fillFloats(to, func(v []float64) {
		readElements(of[:len(v)*parameters], each.slice(done*parameters, len(v)*parameters))
		for i := range v {
			s.engine.beginElement()
			v[i] = draw(of[i*parameters:][:parameters])
		}
		done += len(v)
	})
}

func (s *stream) drawPoisson(lambda float64) float64 {
	switch {
	case lambda == 0 || math.IsInf(lambda, 1):
		return lambda
	case lambda >= 10:
		return s.drawPoissonByRejection(lambda)
	}
	// Knuth: the product of k+1 uniforms falls below exp(-lambda).
	limit := math.Exp(-lambda)
	product := s.engine.drawFloat64()
	count := 0.0
	for product > limit {
		product *= s.engine.drawFloat64()
		count++
	}
	return count
}

// drawPoissonByRejection is PTRS of W. Hörmann, "The transformed rejection method for generating Poisson random variables" (1993). The
// conversions keep a compiler from fusing products into sums, which would change a comparison's outcome.
func (s *stream) drawPoissonByRejection(lambda float64) float64 {
	root, logLambda := math.Sqrt(lambda), math.Log(lambda)
	b := 0.931 + float64(2.53*root)
	a := -0.059 + float64(0.02483*b)
	inverseAlpha := 1.1239 + 1.1328/(b-3.4)
	vr := 0.9277 - 3.6224/(b-2)
	for {
		u := s.engine.drawFloat64() - 0.5
		v := s.engine.drawFloat64()
		us := 0.5 - math.Abs(u)
		k := math.Floor(float64((2*a/us+b)*u) + lambda + 0.43)
		if us >= 0.07 && v <= vr {
			return k
		}
		if k < 0 || us < 0.013 && v > us {
			continue
		}
		logGamma, _ := math.Lgamma(k + 1)
		if math.Log(v)+math.Log(inverseAlpha)-math.Log(a/(us*us)+b) <= float64(k*logLambda)-lambda-logGamma {
			return k
		}
	}
}
