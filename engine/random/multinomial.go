package random

import (
	"math"
	"slices"
	"sort"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
)

// maxCategories is the number of categories that a float32 index counts exactly.
const maxCategories = 1 << 24

// Multinomial draws samples of the indices of each row of weights into dst, row after row. weights is a floating-point
// span of rows × categories; rows need not sum to 1. Without replacement, and for a single sample, a row's indices come
// in descending order of weight / exponential, the smaller index first among equals (PyTorch leaves ties, which occur
// with 16-bit weights, in no order). Runtime errors: samples < 1, more samples than categories without replacement,
// a weight that is negative or not finite, a row that sums to 0.
func (g *Generator) Multinomial(dst []int64, weights Span, categories, samples int, replacement bool) error {
	switch {
	case !weights.DType.IsFloatingPoint():
		return status.Runtimef("multinomial only supports floating-point dtypes for input, got: %s", weights.DType)
	case samples < 1:
		return status.Runtimef("cannot sample n_sample=%d <= 0 samples", samples)
	case !replacement && samples > categories:
		return status.Runtimef("cannot sample n_sample=%d > prob_dist.size(-1)=%d samples without replacement",
			samples, categories)
	case categories > maxCategories:
		return status.Runtimef("multinomial: number of categories cannot exceed 2^24, got %d", categories)
	case len(dst) == 0:
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if replacement && samples > 1 {
		// PyTorch accumulates 16-bit weights in float32.
		if weights.DType == dtype.Float64 {
			return withReplacement[float64](g, dst, weights, categories, samples)
		}
		return withReplacement[float32](g, dst, weights, categories, samples)
	}
	return g.withoutReplacement(dst, weights, categories, samples)
}

func checkWeight(w float64) error {
	switch {
	case !(w >= 0):
		return status.Runtimef("invalid multinomial distribution (encountering probability entry %v, expected >= 0)", w)
	case math.IsInf(w, 1):
		return status.Runtimef("invalid multinomial distribution (encountering probability entry = infinity)")
	}
	return nil
}

func errNoWeight(row int) error {
	return status.Runtimef("invalid multinomial distribution (sum of probabilities of row %d <= 0)", row)
}

func withReplacement[T float32 | float64](g *Generator, dst []int64, weights Span, categories, samples int) error {
	cumulative := make([]T, weights.Len)
	get(cumulative, weights)
	for row := 0; row*categories < len(cumulative); row++ {
		c := cumulative[row*categories:][:categories]
		var sum T
		for i, w := range c {
			if err := checkWeight(float64(w)); err != nil {
				return err
			}
			sum += w
			c[i] = sum
		}
		if sum == 0 {
			return errNoWeight(row)
		}
		for i := range c {
			c[i] /= sum
		}
		c[categories-1] = 1
	}
	for row := 0; row*categories < len(cumulative); row++ {
		c := cumulative[row*categories:][:categories]
		for i := range samples {
			u := g.engine.float64()
			dst[row*samples+i] = int64(sort.Search(categories, func(j int) bool { return float64(c[j]) >= u }))
		}
	}
	return nil
}

func (g *Generator) withoutReplacement(dst []int64, weights Span, categories, samples int) error {
	keys := make([]float64, weights.Len)
	get(keys, weights)
	for row := 0; row*categories < len(keys); row++ {
		some := false
		for _, w := range keys[row*categories:][:categories] {
			if err := checkWeight(w); err != nil {
				return err
			}
			some = some || w > 0
		}
		if !some {
			return errNoWeight(row)
		}
	}
	for i := 0; i < len(keys); i += len(g.floats) {
		e := g.floats[:min(len(g.floats), len(keys)-i)]
		g.exponentials(e, 1)
		for j := range e {
			keys[i+j] = round(weights.DType, keys[i+j]/round(weights.DType, e[j]))
		}
	}
	order := make([]int64, categories)
	for row := 0; row*categories < len(keys); row++ {
		k := keys[row*categories:][:categories]
		for i := range order {
			order[i] = int64(i)
		}
		slices.SortStableFunc(order, func(a, b int64) int { return descending(k[a], k[b]) })
		copy(dst[row*samples:][:samples], order)
	}
	return nil
}

// descending puts NaN (0 / 0) first, as PyTorch's argmax and topk do.
func descending(a, b float64) int {
	switch {
	case a != a || b != b:
		return int(indicator(b != b)) - int(indicator(a != a))
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}
