package composite

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// work is the number of multiplications of an order of products.
func work(p *plan, order [][2]int) (total float64) {
	for _, pair := range order {
		total += p.countMultiplications(p.factors[pair[0]], p.factors[pair[1]])
		p.joinPair(pair[0], pair[1])
	}
	return total
}

// planned returns the plan of factors with positions, given the number of factors that use each position. The result uses those before
// kept.
func planned(kept int, sizes []float64, factors ...[]int) *plan {
	p := &plan{sizes: sizes, uses: make([]int, len(sizes)), factors: factors}
	for at := range kept {
		p.uses[at]++
	}
	for _, f := range factors {
		for _, at := range f {
			p.uses[at]++
		}
	}
	return p
}

func TestEinsumTakesTheCheapOrder(t *testing.T) {
	for _, c := range []struct {
		name  string
		kept  int
		sizes []float64
		parts [][]int
		most  float64
	}{
		{"a chain that ends in a vector", 1, []float64{100, 100, 100}, [][]int{{0, 1}, {1, 2}, {2}}, 2e4},
		{"a chain with a narrow middle", 2, []float64{100, 100, 2, 100}, [][]int{{0, 3}, {2, 3}, {1, 2}}, 4.1e4},
		{"the same dimensions first", 1, []float64{50, 50}, [][]int{{0, 1}, {1}, {0, 1}}, 5e3 + 2.5e3},
		{"nothing in common", 3, []float64{1000, 2, 3}, [][]int{{0}, {1}, {2}}, 6006},
		{"one", 1, []float64{5}, [][]int{{0}}, 0},
	} {
		order := planned(c.kept, c.sizes, slices.Clone(c.parts)...).planGreedily()
		assert.Len(t, order, len(c.parts)-1, c.name)
		assert.LessOrEqual(t, work(planned(c.kept, c.sizes, slices.Clone(c.parts)...), order), c.most, c.name)
	}
}
