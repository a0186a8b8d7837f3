package random

// #cgo noescape random_cumulate_f32
// #cgo nocallback random_cumulate_f32
// #cgo noescape random_cumulate_f64
// #cgo nocallback random_cumulate_f64
// #cgo noescape random_positions_f32
// #cgo nocallback random_positions_f32
// #cgo noescape random_positions_f64
// #cgo nocallback random_positions_f64
// #include "transform.h"
import "C"

import (
	"math"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/status"
)

// maxCategories is the number of categories that a float32 index counts exactly.
const maxCategories = 1 << 24

// Multinomial draws Samples of the indices of each row of weights into int64 elements, row after row. There is a floating-point weight for
// each of the Categories of a row; rows need not sum to 1. Without replacement, and for a single sample, a row's indices are in descending
// order of weight / exponential, the smaller index first for ties (PyTorch leaves the order of ties, which occur with 16-bit weights,
// undefined). Runtime errors: Samples < 1, more samples than categories without replacement, a negative or non-finite weight, a row that
// sums to 0.
type Multinomial struct {
	Categories, Samples int64
	Replacement         bool
}

// Check implements Distribution.
func (m Multinomial) Check(_, weights dtype.DType) error {
	switch {
	case !weights.IsFloatingPoint():
		return status.Runtimef("multinomial: only supports floating-point dtypes for input, got: %s", weights)
	case m.Samples < 1:
		return status.Runtimef("multinomial: cannot sample n_sample=%d <= 0 samples", m.Samples)
	case !m.Replacement && m.Samples > m.Categories:
		return status.Runtimef("multinomial: cannot sample n_sample=%d > prob_dist.size(-1)=%d samples without replacement", m.Samples,
			m.Categories)
	case m.Categories > maxCategories:
		return status.Runtimef("multinomial: number of categories cannot exceed 2^24, got %d", m.Categories)
	}
	return nil
}

func (Multinomial) countWords(_, _ dtype.DType) int { return 0 }

func (m Multinomial) draw(s *stream, to, weights Span, _ bool) error {
	dst, categories, samples := spanElements[int64](to), int(m.Categories), int(m.Samples)
	switch {
	case len(dst) == 0 || categories == 0:
		return m.CheckWeights(weights, len(dst))
	case !m.Replacement || samples == 1:
		return s.sampleWithoutReplacement(dst, weights, categories, samples)
	case weights.DType == dtype.Float64:
		return sampleWithReplacement[float64](s, dst, weights, categories, samples)
	}
	return sampleWithReplacement[float32](s, dst, weights, categories, samples) // PyTorch accumulates 16-bit weights in float32
}

// CheckWeights returns an error if `wanted` indices cannot be drawn with the weights.
func (m Multinomial) CheckWeights(weights Span, wanted int) error {
	if wanted > 0 && m.Categories == 0 {
		return status.Runtimef("multinomial: cannot sample from 0 categories")
	}
	return checkWeights(weights, int(m.Categories))
}

// checkWeights returns an error for rows that no index can be drawn from.
func checkWeights(weights Span, categories int) error {
	row := make([]float64, categories)
	for i := 0; i < weights.Len; i += categories {
		readElements(row, weights.slice(i, categories))
		some := false
		for _, w := range row {
			if !isWeight(w) {
				if math.IsInf(w, 1) {
					return status.Runtimef("multinomial: invalid multinomial distribution (encountering probability entry = infinity)")
				}
				return status.Runtimef("multinomial: invalid multinomial distribution (encountering probability entry %v, expected >= 0)", w)
			}
			some = some || w > 0
		}
		if !some {
			return status.Runtimef("multinomial: invalid multinomial distribution (sum of probabilities of row %d <= 0)", i/categories)
		}
	}
	return nil
}

// reduction makes weights small enough for their sum.
const reduction = 0x1p-25

// grain is the number of weights or samples that are worth a thread.
const grain = 1 << 13

func sampleWithReplacement[T float32 | float64](s *stream, dst []int64, weights Span, categories, samples int) error {
	cumulative := make([]T, weights.Len)
	readElements(cumulative, weights)
	sums := make([]float64, weights.Len/categories)
	parallel.For(int64(len(sums)), int64(max(grain/categories, 1)), func(begin, end int64) {
		for row := begin; row < end; row++ {
			sums[row] = cumulateWeights(cumulative[int(row)*categories:][:categories])
		}
	})
	for row, sum := range sums {
		if isWeight(sum) && sum > 0 {
			continue
		}
		if err := checkWeights(weights, categories); err != nil {
			return err
		}
		// Only the sum is not finite. It is of fewer than 1 / reduction weights.
		c := cumulative[row*categories:][:categories]
		readElements(c, weights.slice(row*categories, categories))
		for i := range c {
			c[i] *= reduction
		}
		cumulateWeights(c)
	}
	u := make([]float64, len(dst))
	for i := range u {
		// Weights of 0 at the front have fractions of 0, which are less than all u.
		u[i] = max(s.engine.drawFloat64(), math.SmallestNonzeroFloat64)
	}
	parallel.For(int64(len(dst)), grain, func(begin, end int64) {
		for at := int(begin); at < int(end); {
			row := at / samples
			next := min((row+1)*samples, int(end))
			findPositions(dst[at:next], cumulative[row*categories:][:categories], u[at:next])
			at = next
		}
	})
	return nil
}

func isWeight(w float64) bool { return w >= 0 && w-w == 0 }

// cumulateWeights replaces weights by the running fractions of their sum, which it returns; NaN if one of them is negative or NaN.
func cumulateWeights[T float32 | float64](weights []T) float64 {
	var sum C.double
	n := C.int64_t(len(weights))
	switch w := any(weights).(type) {
	case []float32:
		C.random_cumulate_f32((*C.float)(&w[0]), n, &sum)
	case []float64:
		C.random_cumulate_f64((*C.double)(&w[0]), n, &sum)
	}
	return float64(sum)
}

// findPositions returns for each u the first position of the ascending c whose value is at least u, which does not exceed the last value.
func findPositions[T float32 | float64](dst []int64, c []T, u []float64) {
	n, k, to, from := C.int64_t(len(c)), C.int64_t(len(dst)), (*C.int64_t)(unsafe.Pointer(&dst[0])), (*C.double)(&u[0])
	switch c := any(c).(type) {
	case []float32:
		C.random_positions_f32((*C.float)(&c[0]), n, from, to, k)
	case []float64:
		C.random_positions_f64((*C.double)(&c[0]), n, from, to, k)
	}
}

func (s *stream) sampleWithoutReplacement(dst []int64, weights Span, categories, samples int) error {
	if err := checkWeights(weights, categories); err != nil {
		return err
	}
	some, keys := make([]float64, len(s.floats)), make([]uint64, weights.Len)
	for i := 0; i < len(keys); i += len(s.floats) {
		e := s.floats[:min(len(s.floats), len(keys)-i)]
		s.drawExponentials(e, 1)
		readElements(some[:len(e)], weights.slice(i, len(e)))
		for j := range e {
			keys[i+j] = computeRaceKey(weights.DType, some[j], e[j])
		}
	}
	race := make([]keyedIndex, samples)
	for row := 0; row*categories < len(keys); row++ {
		selectLargest(race, keys[row*categories:][:categories])
		for i, r := range race {
			dst[row*samples+i] = r.index
		}
	}
	return nil
}

// computeRaceKey returns a key with the order of weight / e, rounded to the dtype of weights unless that overflows or underflows. Weights
// of 0 are sorted last.
func computeRaceKey(d dtype.DType, weight, e float64) uint64 {
	const exponent = 100 // below that of any quotient
	divisor := roundTo(d, e)
	if divisor == 0 {
		divisor = e
	}
	key := weight / divisor
	rounded := roundTo(d, key)
	switch {
	case weight == 0:
		return 0
	case rounded > 0 && !math.IsInf(rounded, 1):
		key = rounded
	case math.IsInf(key, 1) && divisor > 0: // bits of floats have their exponents in front
		return 1 + math.Float64bits(math.Ldexp(weight, -exponent)/divisor) + exponent<<52
	}
	return 1 + math.Float64bits(key)
}

// keyedIndex is an index and its sort key.
type keyedIndex struct {
	key   uint64
	index int64
}

// isAfter reports whether a is sorted after b: by a smaller key, or a larger index for equal keys.
func (a keyedIndex) isAfter(b keyedIndex) bool {
	return a.key < b.key || a.key == b.key && a.index > b.index
}

// selectLargest fills race with the indices of the largest keys in descending order.
func selectLargest(race []keyedIndex, keys []uint64) {
	n := 0
	for i, key := range keys {
		r := keyedIndex{key, int64(i)}
		switch {
		case n < len(race):
			// The last of the runners so far is on top of a heap.
			at := n
			for n++; at > 0 && r.isAfter(race[(at-1)/2]); at = (at - 1) / 2 {
				race[at] = race[(at-1)/2]
			}
			race[at] = r
		case race[0].isAfter(r):
			siftDown(race, r)
		}
	}
	for n--; n > 0; n-- {
		last := race[n]
		race[n] = race[0]
		siftDown(race[:n], last)
	}
}

// siftDown inserts r into a heap whose top is free.
func siftDown(heap []keyedIndex, r keyedIndex) {
	at := 0
	for child := 1; child < len(heap); child = 2*at + 1 {
		if child+1 < len(heap) && heap[child+1].isAfter(heap[child]) {
			child++
		}
		if !heap[child].isAfter(r) {
			break
		}
		heap[at] = heap[child]
		at = child
	}
	heap[at] = r
}
