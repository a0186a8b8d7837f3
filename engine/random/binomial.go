package random

import (
	"math"

	"github.com/libtensor/libtensor/engine/dtype"
)

// Binomial are numbers of successes, of a floating-point dtype; each element has two parameters of this dtype, the number of trials and the
// probability of one's success.
type Binomial struct{}

// Check implements Distribution.
func (Binomial) Check(d, _ dtype.DType) error { return requireFloating("binomial", d) }

// countWords returns a block, the first of those that an element uses.
func (Binomial) countWords(_, _ dtype.DType) int { return blockWords }

func (Binomial) draw(s *stream, to, each Span, _ bool) error {
	trials := trials{s, dtype.Float32}
	if each.DType == dtype.Float64 {
		trials.d = dtype.Float64
	}
	s.fillEach(to, each, 2, func(of []float64) float64 { return trials.drawSuccesses(of[0], of[1]) })
	return nil
}

// trials draws binomial counts. Quantities that depend only on the parameters, and the result, are computed in their dtype, as in PyTorch,
// the rest in float64.
type trials struct {
	*stream
	d dtype.DType
}

// roundValue rounds a value to the dtype of the parameters.
func (s trials) roundValue(v float64) float64 { return roundTo(s.d, v) }

// drawSuccesses draws the number of successes, by way of the rarer of successes and failures.
func (s trials) drawSuccesses(count, p float64) float64 {
	switch {
	case math.IsNaN(count) || math.IsNaN(p):
		return math.NaN()
	case count <= 0 || p <= 0:
		return 0
	case p >= 1 || math.IsInf(count, 1):
		return count
	case p > 0.5:
		return count - s.drawRare(count, s.roundValue(1-p))
	}
	return s.drawRare(count, p)
}

// drawRare draws successes of a probability of at most a half.
func (s trials) drawRare(count, p float64) float64 {
	if s.roundValue(count*p) >= 10 {
		return s.drawByRejection(count, p)
	}
	// The trials up to each success are geometric.
	scale := s.roundValue(math.Log1p(-p))
	done, successes := 0.0, 0.0
	for {
		done += math.Ceil(math.Log(s.engine.drawFloat64()) / scale)
		if done > count {
			return successes
		}
		successes++
	}
}

// drawByRejection is BTRS of W. Hörmann, "The generation of binomial random variates" (1993); the ratio of the probabilities of k and of
// the mode is compared in logarithms. The conversions keep a compiler from fusing products into sums.
func (s trials) drawByRejection(count, p float64) float64 {
	mean, q := s.roundValue(count*p), s.roundValue(1-p)
	spread := s.roundValue(math.Sqrt(s.roundValue(mean * q)))
	b := 1.15 + float64(2.53*spread)
	a := float64(-0.0873+float64(0.0248*b)) + float64(0.01*p)
	squeeze := 0.92 - 4.2/b
	odds := s.roundValue(p / q)
	alpha := (2.83 + 5.1/b) * spread
	mode := math.Floor(s.roundValue(s.roundValue(count+1) * p))
	for {
		u := s.engine.drawFloat64() - 0.5
		v := s.engine.drawFloat64()
		us := 0.5 - math.Abs(u)
		k := s.roundValue(math.Floor(float64((2*a/us+b)*u) + (mean + 0.5)))
		if k < 0 || k > count {
			continue
		}
		if us >= 0.07 && v <= squeeze {
			return k
		}
		more, less := s.roundValue(k+1), s.roundValue(s.roundValue(count-k)+1)
		ratio := float64((mode+0.5)*math.Log((mode+1)/(odds*(count-mode+1)))) +
			float64(s.roundValue(count+1)*math.Log((count-mode+1)/less)) +
			float64((k+0.5)*math.Log(float64(odds*less)/more)) +
			stirlingTail(mode) + stirlingTail(count-mode) - stirlingTail(k) - stirlingTail(count-k)
		if math.Log(v*alpha/(a/(us*us)+b)) <= ratio {
			return k
		}
	}
}

// stirlingTails are log(k!) less Stirling's approximation in k + 1, log(sqrt(2 pi)) + (k + 1/2) log(k + 1) - (k + 1).
var stirlingTails = [...]float64{
	0.08106146679532726, 0.0413406959554093, 0.02767792568499834, 0.020790672103765093, 0.016644691189821193,
	0.013876128823070748, 0.01189670994589177, 0.010411265261972096, 0.009255462182712733, 0.00833056343336287,
}

// stirlingTail returns the entry of the table, or the first terms of the series.
func stirlingTail(k float64) float64 {
	if k < float64(len(stirlingTails)) {
		return stirlingTails[int(k)]
	}
	square := (k + 1) * (k + 1)
	return (1.0/12 - (1.0/360-1.0/1260/square)/square) / (k + 1)
}
