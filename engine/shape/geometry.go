package shape

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/status"
)

// Geometry holds the sizes, strides and offset of a tensor in its storage. Its methods change it to that of a part of the tensor, or of one
// with other dimensions, and reuse the slices: a chain of them does not allocate. Dimensions are in [0, len(Sizes)). Values beyond int64,
// which only empty dimensions and those of size 1 can cause, saturate.
type Geometry struct {
	Sizes, Strides []int64
	Offset         int64
}

// offsetAt returns the offset of position n of dimension d.
func (g *Geometry) offsetAt(d int, n int64) int64 {
	return Plus(g.Offset, Times(n, g.Strides[d]))
}

// Plus is a+b of numbers that are not negative.
func Plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Narrow keeps length positions of dimension d from start on.
func (g *Geometry) Narrow(d int, start, length int64) {
	g.Offset = g.offsetAt(d, start)
	g.Sizes[d] = length
}

// Slice keeps positions start:stop:step of dimension d, by Python's rules for bounds that are negative or too large.
func (g *Geometry) Slice(op string, d int, start, stop, step int64) error {
	if step <= 0 {
		return status.Valuef("%s: slice step must be positive, but got %d", op, step)
	}
	size := g.Sizes[d]
	bound := func(i int64) int64 {
		if i < 0 {
			i += size
		}
		return min(max(i, 0), size)
	}
	start = bound(start)
	length := max(bound(stop)-start, 0)
	n := length / step
	if length%step != 0 {
		n++
	}
	g.Narrow(d, start, n)
	g.Strides[d] = Times(step, g.Strides[d])
	return nil
}

// Select keeps one position of dimension d and removes the dimension.
func (g *Geometry) Select(d int, position int64) {
	g.Offset = g.offsetAt(d, position)
	copy(g.Sizes[d:], g.Sizes[d+1:])
	copy(g.Strides[d:], g.Strides[d+1:])
	g.Sizes = g.Sizes[:len(g.Sizes)-1]
	g.Strides = g.Strides[:len(g.Strides)-1]
}

// Insert adds a dimension of size 1 before dimension d, or after the last.
func (g Geometry) Insert(d int) Geometry {
	stride := int64(1)
	if d < len(g.Sizes) {
		stride = Times(g.Sizes[d], g.Strides[d])
	}
	g.Sizes, g.Strides = slices.Insert(g.Sizes, d, 1), slices.Insert(g.Strides, d, stride)
	return g
}

// Swap exchanges dimensions a and b.
func (g Geometry) Swap(a, b int) Geometry {
	g.Sizes[a], g.Sizes[b] = g.Sizes[b], g.Sizes[a]
	g.Strides[a], g.Strides[b] = g.Strides[b], g.Strides[a]
	return g
}

// Diagonal joins dimensions a and b into a last one that runs along a diagonal: by that many columns to the right of the main
// one, or rows below it where offset is negative.
func (g Geometry) Diagonal(offset int64, a, b int) Geometry {
	rows, columns := g.Sizes[a], g.Sizes[b]
	var n int64
	if offset >= 0 {
		if n = max(min(rows, columns-offset), 0); n > 0 {
			g.Offset = g.offsetAt(b, offset)
		}
	} else if n = max(min(rows+offset, columns), 0); n > 0 {
		g.Offset = g.offsetAt(a, -offset)
	}
	stride := Plus(g.Strides[a], g.Strides[b])
	g.Select(max(a, b), 0)
	g.Select(min(a, b), 0)
	g.Sizes, g.Strides = append(g.Sizes, n), append(g.Strides, stride)
	return g
}

// Unfold makes position i of dimension d the window of size positions from i*step on, whose positions become the last dimension.
func (g Geometry) Unfold(d int, size, step int64) Geometry {
	stride := g.Strides[d]
	g.Sizes[d] = (g.Sizes[d]-size)/step + 1
	g.Strides[d] = Times(step, stride)
	g.Sizes, g.Strides = append(g.Sizes, size), append(g.Strides, stride)
	return g
}

// Finer counts in elements of which ratio make up one of g's.
func (g Geometry) Finer(ratio int64) Geometry {
	for d, stride := range g.Strides {
		g.Strides[d] = Times(stride, ratio)
	}
	g.Offset = Times(g.Offset, ratio)
	return g
}
