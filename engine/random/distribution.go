package random

import (
	"sync"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/parallel"
)

// Distribution describes a distribution. It is one of this package's types, with fields that are sufficient for a device to draw from it.
type Distribution interface {
	// Check returns an error for dtypes and parameters that nothing can be drawn for; each is dtype.None where elements have no parameters.
	Check(to, each dtype.DType) error

	// countWords returns the number of words of an element, or 0 where elements are not drawn one by one.
	countWords(to, each dtype.DType) int

	// draw fills to. The stream is the caller's alone, all checks have passed but Multinomial's of its weights, and each is as long as to, or
	// has as many numbers for every element, or the weights of Multinomial. rowMajor is set where to is a contiguous tensor.
	draw(s *stream, to, each Span, rowMajor bool) error
}

// checkedDistribution is a Distribution whose elements have parameters that may be invalid.
type checkedDistribution interface{ checkParameters(each Span) error }

// countUniformWords returns the number of words of a uniform of a real dtype.
func countUniformWords(d dtype.DType) int {
	if d == dtype.Float64 {
		return 2
	}
	return 1
}

// countReals returns the number of real values of an element: 2 for complex dtypes, otherwise 1.
func countReals(d dtype.DType) int {
	if d.IsComplex() {
		return 2
	}
	return 1
}

// chunkElements is the number of elements per thread; each such chunk begins with words that no other chunk uses.
const chunkElements = 1 << 13

// Fill draws from a distribution into a span, with parameters for its elements in each if the distribution has any. PyTorch's normal values
// depend on whether the span is a contiguous tensor: rowMajor. On an error nothing is drawn.
func (g *Generator) Fill(to, each Span, d Distribution, rowMajor bool) error {
	if err := d.Check(to.DType, each.DType); err != nil {
		return err
	}
	if d, ok := d.(checkedDistribution); ok {
		if err := d.checkParameters(each); err != nil {
			return err
		}
	}
	if g.kind == Philox {
		return g.fillCounted(to, each, d)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return d.draw(&g.stream, to, each, rowMajor)
}

// streams is a pool of streams for chunks.
var streams = sync.Pool{New: func() any { return &stream{engine: engine{kind: Philox}} }}

// fillCounted reserves the words of a fill, so that other threads can draw from the generator meanwhile.
func (g *Generator) fillCounted(to, each Span, d Distribution) error {
	n := d.countWords(to.DType, each.DType)
	if n == 0 {
		g.mu.Lock()
		defer g.mu.Unlock()
		at := g.engine.counter
		at.ahead = 2 * (to.Len + each.Len)
		g.setCounter(at)
		err := d.draw(&g.stream, to, each, true)
		g.returnUnused()
		return err
	}
	at := g.reserveBlocks(to.Len, n)
	parallel.For(int64(to.Len+chunkElements-1)/chunkElements, 1, func(begin, end int64) {
		s := streams.Get().(*stream)
		defer streams.Put(s)
		first, last := int(begin)*chunkElements, min(int(end)*chunkElements, to.Len)
		here := at
		here.block += uint64(first / blockWords * n)
		here.ahead = (last - first) * n
		s.setCounter(here)
		parameters := each.Len / to.Len
		own := each.slice(first*parameters, (last-first)*parameters)
		_ = d.draw(s, to.slice(first, last-first), own, true) // nothing is left to reject
	})
	return nil
}
