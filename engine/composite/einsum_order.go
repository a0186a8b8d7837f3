package composite

import (
	"container/heap"
	"slices"
)

// A product of many factors is computed by products of two. Pairs are chosen greedily, as in D. G. A. Smith, J. Gray, opt_einsum (2018):
// first factors with the same dimensions, then, among those that share one, the pair with the smallest growth of elements in its product,
// among several the one with the fewest multiplications, and at last the smallest ones.

// choice is a candidate product of two factors, with its costs in memory and in multiplications.
type choice struct {
	left, right int
	cost, work  float64
}

// choices is a heap of them, the cheapest and oldest first.
type choices []choice

func (c choices) Len() int { return len(c) }
func (c choices) Less(i, j int) bool {
	if c[i].cost != c[j].cost {
		return c[i].cost < c[j].cost
	}
	if c[i].work != c[j].work {
		return c[i].work < c[j].work
	}
	if c[i].left != c[j].left {
		return c[i].left < c[j].left
	}
	return c[i].right < c[j].right
}
func (c choices) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *choices) Push(x any)   { *c = append(*c, x.(choice)) }
func (c *choices) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// plan finds an order of products.
type plan struct {
	sizes   []float64 // of positions
	uses    []int     // of positions, by factors that are left and by the result
	factors [][]int   // their positions in rising order; nil for those that are in a product
	order   [][2]int
}

func (p *plan) planGreedily() [][2]int {
	same := map[string]int{}
	for i := 0; i < len(p.factors); i++ { // grows
		key := string(toRunes(p.factors[i]))
		if j, found := same[key]; found {
			delete(same, key)
			p.joinPair(j, i)
		} else {
			same[key] = i
		}
	}
	var left choices
	for i := range p.factors {
		left = p.addCandidates(left, i)
	}
	heap.Init(&left)
	for len(left) > 0 {
		c := heap.Pop(&left).(choice)
		if p.factors[c.left] == nil || p.factors[c.right] == nil {
			continue
		}
		result := p.joinPair(c.left, c.right)
		for _, more := range p.addCandidates(nil, result) {
			heap.Push(&left, more)
		}
	}
	var rest choices
	for i, f := range p.factors {
		if f != nil {
			rest = append(rest, choice{left: i, cost: p.countElements(f)})
		}
	}
	heap.Init(&rest)
	for len(rest) > 1 {
		a, b := heap.Pop(&rest).(choice).left, heap.Pop(&rest).(choice).left
		result := p.joinPair(min(a, b), max(a, b))
		heap.Push(&rest, choice{left: result, cost: p.countElements(p.factors[result])})
	}
	return p.order
}

// toRunes converts list to runes, which converted to a string are the key of a map.
func toRunes(list []int) []rune {
	result := make([]rune, len(list))
	for i, v := range list {
		result[i] = rune(v)
	}
	return result
}

// joinPair replaces two factors by their product and returns its number.
func (p *plan) joinPair(a, b int) int {
	result := p.productPositions(p.factors[a], p.factors[b])
	for _, at := range slices.Concat(p.factors[a], p.factors[b]) {
		p.uses[at]--
	}
	for _, at := range result {
		p.uses[at]++
	}
	p.factors[a], p.factors[b] = nil, nil
	p.factors = append(p.factors, result)
	p.order = append(p.order, [2]int{a, b})
	return len(p.factors) - 1
}

// productPositions returns the positions of a product: those that others or the result have too.
func (p *plan) productPositions(a, b []int) []int {
	result := []int{}
	for _, list := range [][]int{a, b} {
		for _, at := range list {
			inner := 1
			if slices.Contains(a, at) && slices.Contains(b, at) {
				inner = 2
			}
			if p.uses[at] > inner && !slices.Contains(result, at) {
				result = append(result, at)
			}
		}
	}
	slices.Sort(result)
	return result
}

// countElements returns the number of elements.
func (p *plan) countElements(f []int) float64 {
	n := 1.0
	for _, at := range f {
		n *= p.sizes[at]
	}
	return n
}

// countMultiplications returns the number of multiplications of a product.
func (p *plan) countMultiplications(a, b []int) float64 {
	n := p.countElements(a)
	for _, at := range b {
		if !slices.Contains(a, at) {
			n *= p.sizes[at]
		}
	}
	return n
}

// addCandidates adds the products of factor i with earlier factors that share a position.
func (p *plan) addCandidates(list choices, i int) choices {
	f := p.factors[i]
	if f == nil {
		return list
	}
	for j, other := range p.factors[:i] {
		if slices.ContainsFunc(other, func(at int) bool { return slices.Contains(f, at) }) {
			cost := p.countElements(p.productPositions(other, f)) - p.countElements(other) - p.countElements(f)
			list = append(list, choice{j, i, cost, p.countMultiplications(other, f)})
		}
	}
	return list
}
