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

	// words is how many an element takes, 0 where elements are not drawn one by one.
	words(to, each dtype.DType) int

	// draw fills to. The stream is the caller's alone, all checks have passed but Multinomial's of its weights, and each is as long as to, or has as many
	// numbers for every element, or the weights of Multinomial. rowMajor is set where to is a contiguous tensor.
	draw(s *stream, to, each Span, rowMajor bool) error
}

// checked is a Distribution whose elements have parameters that may be rejected.
type checked interface{ check(each Span) error }

// wordsOf returns how many words a uniform of a real dtype takes, parts how many uniforms an element.
func wordsOf(d dtype.DType) int {
	if d == dtype.Float64 {
		return 2
	}
	return 1
}

func parts(d dtype.DType) int {
	if d.IsComplex() {
		return 2
	}
	return 1
}

// piece is the number of elements that are worth a thread, of which each piece begins with words that no other piece uses.
const piece = 1 << 13

// Fill draws from a distribution into a span, with parameters for its elements in each if the distribution has any. PyTorch's normal values depend on
// whether the span is a contiguous tensor: rowMajor. On an error nothing is drawn.
func (g *Generator) Fill(to, each Span, d Distribution, rowMajor bool) error {
	if err := d.Check(to.DType, each.DType); err != nil {
		return err
	}
	if d, ok := d.(checked); ok {
		if err := d.check(each); err != nil {
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
	n := d.words(to.DType, each.DType)
	if n == 0 {
		g.mu.Lock()
		defer g.mu.Unlock()
		at := g.engine.counter
		at.ahead = 2 * (to.Len + each.Len)
		g.seek(at)
		err := d.draw(&g.stream, to, each, true)
		g.settle()
		return err
	}
	at := g.reserve(to.Len, n)
	parallel.For(int64(to.Len+piece-1)/piece, 1, func(begin, end int64) {
		s := streams.Get().(*stream)
		defer streams.Put(s)
		first, last := int(begin)*piece, min(int(end)*piece, to.Len)
		here := at
		here.block += uint64(first / blockWords * n)
		here.ahead = (last - first) * n
		s.seek(here)
		parameters := each.Len / to.Len
		own := each.at(first*parameters, (last-first)*parameters)
		_ = d.draw(s, to.at(first, last-first), own, true) // nothing is left to reject
	})
	return nil
}
