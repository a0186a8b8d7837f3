// Package shape has functions on sizes and strides, without data and dtypes. Strides are in elements.
package shape

import (
	"math"
	"math/bits"
	"slices"

	"github.com/libtensor/libtensor/engine/status"
)

// MaxDims is the largest number of dimensions of a tensor, and MaxReducedDims of one that is reduced over dimensions.
const (
	MaxDims        = 1024
	MaxReducedDims = 64
)

// Numel returns the product of sizes: 1 for no dimensions. Negative sizes and products beyond int64 are rejected, and shapes without
// elements whose row-major strides, in which sizes of 0 count as 1, are beyond int64.
func Numel(op string, sizes []int64) (int64, error) {
	n, zero, overflow := int64(1), false, false
	for i := len(sizes) - 1; i >= 0; i-- {
		s := sizes[i]
		if s < 0 {
			return 0, status.Runtimef("%s: size %d of dimension %d is negative in shape %v", op, s, i, slices.Clone(sizes))
		}
		if overflow { // n is a stride of this dimension
			return 0, status.Runtimef("%s: shape %v has more elements or larger strides than a 64-bit integer can represent", op,
				slices.Clone(sizes))
		}
		zero = zero || s == 0
		n, overflow = multiplySaturated(n, max(s, 1))
	}
	switch {
	case zero:
		return 0, nil
	case overflow:
		return 0, status.Runtimef("%s: shape %v has more elements than a 64-bit integer can represent", op, slices.Clone(sizes))
	}
	return n, nil
}

// multiplySaturated returns n*size, or the largest integer and true on overflow.
func multiplySaturated(n, size int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(n), uint64(size))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64, true
	}
	return int64(lo), false
}

// Times is a*b of numbers that are not negative, or the largest integer.
func Times(a, b int64) int64 {
	product, _ := multiplySaturated(a, b)
	return product
}

// Larger returns n*factor + more, or an error on overflow.
func Larger(op string, n, factor, more int64) (int64, error) {
	size, overflow := multiplySaturated(n, factor)
	if overflow || size > math.MaxInt64-more {
		return 0, status.Runtimef("%s: a dimension of size %d * %d + %d overflows a 64-bit integer", op, n, factor, more)
	}
	return size + more, nil
}

// Product is Numel for sizes already known to be valid.
func Product(sizes []int64) int64 {
	n := int64(1)
	for _, s := range sizes {
		n *= s
	}
	return n
}

// WrapDim turns a dimension in [-ndim, ndim) into one in [0, ndim). A zero-dim tensor accepts 0 and -1.
func WrapDim(op string, dim int64, ndim int) (int, error) {
	n := int64(max(ndim, 1))
	if dim < -n || dim >= n {
		return 0, status.Indexf("%s: dimension out of range (expected to be in range of [%d, %d], but got %d)", op, -n, n-1, dim)
	}
	if dim < 0 {
		dim += n
	}
	return int(dim), nil
}

// WrapIndex turns an index in [-size, size) into a position in [0, size); ok is false for others.
func WrapIndex(index, size int64) (position int64, ok bool) {
	if index < 0 {
		index += size
	}
	return index, index >= 0 && index < size
}

// WrapDims wraps every dim and rejects repeats. No dims means all of them when emptyIsAll is set.
func WrapDims(op string, dims []int64, ndim int, emptyIsAll bool) (mask []bool, err error) {
	if ndim > MaxReducedDims {
		return nil, status.Runtimef("%s: only tensors with up to %d dims are supported, but this one has %d", op, MaxReducedDims, ndim)
	}
	mask = make([]bool, max(ndim, 1))
	if len(dims) == 0 && emptyIsAll {
		for i := range mask {
			mask[i] = true
		}
	}
	for _, dim := range dims {
		d, err := WrapDim(op, dim, ndim)
		if err != nil {
			return nil, err
		}
		if mask[d] {
			return nil, status.Runtimef("%s: dim %d appears multiple times in the list of dims %v", op, d, dims)
		}
		mask[d] = true
	}
	return mask[:ndim], nil
}

// Moved returns the order of ndim dimensions, by their old positions, in which those of source are at the positions of destination and the
// others keep their order.
func Moved(op string, ndim int, source, destination []int64) ([]int, error) {
	if len(source) != len(destination) {
		return nil, status.Runtimef("%s: invalid source or destination dims: source (%v) should contain the same number of dims as destination (%v)",
			op, source, destination)
	}
	moved, err := WrapDims(op, source, ndim, false)
	if err != nil {
		return nil, err
	}
	taken, err := WrapDims(op, destination, ndim, false)
	if err != nil || ndim == 0 {
		return nil, err
	}
	order := make([]int, ndim)
	for i := range source {
		from, _ := WrapDim(op, source[i], ndim)
		to, _ := WrapDim(op, destination[i], ndim)
		order[to] = from
	}
	next := 0
	for d := range order {
		if taken[d] {
			continue
		}
		for moved[next] {
			next++
		}
		order[d] = next
		next++
	}
	return order, nil
}

// Broadcast returns the shape that a and b broadcast to: aligned at the last dimension, equal or 1.
func Broadcast(op string, a, b []int64) ([]int64, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	shift := len(a) - len(b)
	for i, s := range b {
		switch t := out[i+shift]; {
		case s == t || s == 1:
		case t == 1:
			out[i+shift] = s
		default:
			return nil, status.Runtimef("%s: the size of tensor a (%d) must match the size of tensor b (%d) at non-singleton dimension %d; shapes %v and %v do not broadcast",
				op, t, s, i+shift, a, b)
		}
	}
	return out, nil
}

// LeadingOnes returns the number of leading dimensions of size 1.
func LeadingOnes(size []int64) int {
	n := 0
	for n < len(size) && size[n] == 1 {
		n++
	}
	return n
}

// ExpandsTo reports whether a tensor of sizes from can be broadcast to sizes to.
func ExpandsTo(from, to []int64) bool {
	if len(from) > len(to) {
		return false
	}
	to = to[len(to)-len(from):]
	for i, n := range from {
		if n != 1 && n != to[i] {
			return false
		}
	}
	return true
}

// InferSize replaces one -1 in sizes so that their product is numel, and returns an error for sizes with another number of elements.
func InferSize(op string, sizes []int64, numel int64) ([]int64, error) {
	out := slices.Clone(sizes)
	unknown := -1
	known := int64(1)
	for i, s := range sizes {
		switch {
		case s == -1:
			if unknown >= 0 {
				return nil, status.Runtimef("%s: only one dimension can be inferred, but shape %v has several -1", op, sizes)
			}
			unknown = i
		case s < 0:
			return nil, status.Runtimef("%s: invalid size %d for dimension %d in shape %v", op, s, i, sizes)
		default:
			var overflow bool
			if known, overflow = multiplySaturated(known, s); overflow {
				return nil, status.Runtimef("%s: shape %v is invalid for input of size %d", op, sizes, numel)
			}
		}
	}
	if unknown < 0 {
		if known != numel {
			return nil, status.Runtimef("%s: shape %v is invalid for input of size %d", op, sizes, numel)
		}
		return out, nil
	}
	if known == 0 {
		if numel != 0 {
			return nil, status.Runtimef("%s: shape %v is invalid for input of size %d", op, sizes, numel)
		}
		return nil, status.Runtimef("%s: cannot reshape a tensor of 0 elements into shape %v because the unspecified dimension size -1 can be any value and is ambiguous",
			op, sizes)
	}
	if numel%known != 0 {
		return nil, status.Runtimef("%s: shape %v is invalid for input of size %d", op, sizes, numel)
	}
	out[unknown] = numel / known
	return out, nil
}
