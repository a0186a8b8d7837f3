package random

import (
	"math"
	"math/bits"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
)

// fillIntegers fills dst from draw, which writes the next integers of the stream.
func (s *stream) fillIntegers(dst Span, draw func(v []int64)) {
	for i := 0; i < dst.Len; i += len(s.ints) {
		n := min(len(s.ints), dst.Len-i)
		draw(s.ints[:n])
		writeElements(dst.slice(i, n), s.ints[:n])
	}
}

// Integers are integers of [From, To), of a real dtype. For a floating-point dtype the ends move inwards to numbers that it holds.
// From >= To and ends that the dtype cannot hold are Runtime errors.
type Integers struct{ From, To int64 }

// Check implements Distribution.
func (r Integers) Check(d, _ dtype.DType) error {
	if err := requireReal("random_", d); err != nil {
		return err
	}
	if r.From >= r.To {
		return status.Runtimef("random_: expected 'from' to be less than 'to', but got from=%d >= to=%d", r.From, r.To)
	}
	from, to := r.computeBounds(d)
	if from >= to {
		return status.Runtimef("random_: the range [%[2]d, %[3]d) contains no integer that %[1]s can represent", d, r.From, r.To)
	}
	return checkEnds(d, from, to-1)
}

// Whole returns the largest n such that a dtype represents all integers from -n to n.
func Whole(d dtype.DType) int64 {
	if d.IsFloatingPoint() {
		return 1 << significandBits(d)
	}
	return math.MaxInt64
}

func (r Integers) computeBounds(d dtype.DType) (from, to int64) {
	if d.IsFloatingPoint() {
		return moveFromInward(d, r.From), moveToInward(d, r.To)
	}
	return r.From, r.To
}

func (r Integers) countWords(to, _ dtype.DType) int {
	from, end := r.computeBounds(to)
	return countWordsBelow(uint64(end) - uint64(from))
}

func (r Integers) draw(s *stream, dst, _ Span, _ bool) error {
	from, to := r.computeBounds(dst.DType)
	s.fillRange(dst, from, uint64(to)-uint64(from))
	return nil
}

// IntegersFrom are integers from From up to the largest of a real dtype, or up to 2^digits for a floating-point dtype. The smallest int64
// represents all 64 bits and needs int64, bfloat16, float32 or float64.
type IntegersFrom struct{ From int64 }

// Check implements Distribution.
func (r IntegersFrom) Check(d, _ dtype.DType) error {
	if err := requireReal("random_", d); err != nil {
		return err
	}
	if r.From == math.MinInt64 {
		switch d {
		case dtype.Int64, dtype.BFloat16, dtype.Float32, dtype.Float64:
			return nil
		}
		return status.NotImplementedf(
			"random_: the range of int64 is not implemented for dtype %s; use int64, bfloat16, float32 or float64", d)
	}
	from, last := r.computeBounds(d)
	if from > 0 && uint64(from) > last {
		return status.Runtimef("random_: from=%d exceeds %d, the largest integer drawn for %s", from, last, d)
	}
	return checkEnds(d, from, int64(min(last, math.MaxInt64)))
}

func (r IntegersFrom) computeBounds(d dtype.DType) (from int64, last uint64) {
	if d.IsFloatingPoint() {
		return moveFromInward(d, r.From), lastInteger(d)
	}
	return r.From, lastInteger(d)
}

func (r IntegersFrom) countWords(to, _ dtype.DType) int {
	if r.From == math.MinInt64 {
		return 2
	}
	from, last := r.computeBounds(to)
	return countWordsBelow(last - uint64(from) + 1)
}

func (r IntegersFrom) draw(s *stream, dst, _ Span, _ bool) error {
	if r.From == math.MinInt64 {
		s.fillIntegers(dst, func(v []int64) {
			for i := range v {
				v[i] = int64(s.engine.drawUint64())
			}
		})
		return nil
	}
	from, last := r.computeBounds(dst.DType)
	s.fillRange(dst, from, last-uint64(from)+1)
	return nil
}

// lastInteger returns the largest of the integers that random_ draws for a dtype.
func lastInteger(d dtype.DType) uint64 {
	if d.IsFloatingPoint() {
		return 1 << significandBits(d)
	}
	_, last := d.IntegerRange()
	return last
}

// AllIntegers are those of random_(): of [0, max] for an integer dtype, of [0, 2^digits] for a floating-point one, and both bools.
type AllIntegers struct{}

// Check implements Distribution.
func (AllIntegers) Check(d, _ dtype.DType) error { return requireReal("random_", d) }

func (AllIntegers) countWords(to, _ dtype.DType) int {
	if to == dtype.Float64 || to.IsIntegral() && to.Size() == 8 {
		return 2
	}
	return 1
}

func (r AllIntegers) draw(s *stream, dst, _ Span, _ bool) error {
	n := lastInteger(dst.DType) + 1
	if r.countWords(dst.DType, dtype.None) == 2 {
		s.fillIntegers(dst, func(v []int64) {
			for i := range v {
				v[i] = int64(reduceModulo(s.engine.drawUint64(), n))
			}
		})
		return nil
	}
	s.fillIntegers(dst, func(v []int64) {
		for i := range v {
			v[i] = int64(uint64(s.engine.drawUint32()) % n)
		}
	})
	return nil
}

// reduceModulo returns x modulo n, of which 0 represents 2^64.
func reduceModulo(x, n uint64) uint64 {
	if n == 0 {
		return x
	}
	return x % n
}

// wide is the range from which on an integer costs a 64-bit draw, which keeps the skew of the modulo below 1 in 16.
const wide = 1 << 28

// countWordsBelow returns the number of words of an integer below n, of which 0 represents 2^64.
func countWordsBelow(n uint64) int {
	if n-1 >= wide-1 {
		return 2
	}
	return 1
}

// fillRange fills dst with integers of [from, from + n), where n = 0 represents 2^64.
func (s *stream) fillRange(dst Span, from int64, n uint64) {
	if countWordsBelow(n) == 2 {
		s.fillIntegers(dst, func(v []int64) {
			for i := range v {
				v[i] = int64(reduceModulo(s.engine.drawUint64(), n)) + from
			}
		})
		return
	}
	// x mod n is the high half of (x ceil(2^64/n) mod 2^64) n: D. Lemire et al., "Faster remainder by direct computation"
	// (2019).
	inverse := math.MaxUint64/n + 1
	s.fillIntegers(dst, func(v []int64) {
		for i := range v {
			high, _ := bits.Mul64(uint64(s.engine.drawUint32())*inverse, n)
			v[i] = int64(high) + from
		}
	})
}

func checkEnds(d dtype.DType, from, last int64) error {
	within := func(v int64) bool {
		low, high := d.IntegerRange()
		return v >= low && (v < 0 || uint64(v) <= high)
	}
	if d.IsFloatingPoint() {
		within = func(v int64) bool { return math.Abs(float64(v)) <= dtype.MaxFinite(d) }
	}
	switch {
	case !within(from):
		return status.Runtimef("random_: from=%d is out of bounds for %s", from, d)
	case !within(last):
		return status.Runtimef("random_: to - 1 = %d is out of bounds for %s", last, d)
	}
	return nil
}

// moveFromInward increases from when rounding from+1 to the dtype would land below from, and moveToInward moves to down when
// rounding to-1 would reach it, by one step of the dtype's grid.
func moveFromInward(d dtype.DType, from int64) int64 {
	if rounded := int64(roundTo(d, float64(from+1))); rounded < from {
		return rounded + gridStep(d, from+1)
	}
	return from
}

func moveToInward(d dtype.DType, to int64) int64 {
	if rounded := int64(roundTo(d, float64(to-1))); rounded >= to {
		return rounded - gridStep(d, to-1)
	}
	return to
}

// gridStep returns the distance between the numbers of a floating-point dtype around v.
func gridStep(d dtype.DType, v int64) int64 {
	magnitude := uint64(v)
	if v < 0 {
		magnitude = -magnitude
	}
	return 1 << (bits.Len64(magnitude) - significandBits(d))
}
