package tensoriter

import (
	"slices"
	"sort"

	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// exactLimit bounds the elements that an exact overlap check visits; beyond it, doubtful cases count as overlapping.
const exactLimit = 1 << 26

// region is the part of a storage that a tensor covers, or would cover.
type region struct {
	shape.Geometry
	itemSize int64 // bytes of an element
}

func regionOf(t *tensor.Tensor) region {
	return region{shape.Geometry{Sizes: t.Sizes(), Strides: t.Strides(), Offset: t.Offset()}, t.DType().Size()}
}

// isSameRegion reports whether two regions of a storage are the same, element for element.
func isSameRegion(a, b region) bool {
	return a.Offset == b.Offset && a.itemSize == b.itemSize && slices.Equal(a.Sizes, b.Sizes) &&
		(slices.Equal(a.Strides, b.Strides) || shape.IsContiguous(a.Sizes, a.Strides) && shape.IsContiguous(b.Sizes, b.Strides))
}

// SameView reports whether two tensors are element for element the same memory.
func SameView(a, b *tensor.Tensor) bool {
	return a.Storage() == b.Storage() && isSameRegion(regionOf(a), regionOf(b))
}

// Nested reports whether the strides of t alone show that no two indices reach the same memory: each steps over all that smaller ones
// reach.
func Nested(t *tensor.Tensor) bool {
	if t.IsContiguous() || t.Numel() < 2 || shape.IsDense(t.Sizes(), t.Strides()) {
		return true
	}
	type dim struct{ size, stride int64 }
	var dims []dim
	for i, s := range t.Sizes() {
		if s > 1 {
			dims = append(dims, dim{s, t.Strides()[i]})
		}
	}
	sort.Slice(dims, func(i, j int) bool { return dims[i].stride < dims[j].stride })
	reach := int64(0)
	for _, d := range dims {
		if d.stride <= reach {
			return false
		}
		reach += (d.size - 1) * d.stride
	}
	return true
}

// SelfOverlaps reports whether two indices of t reach the same memory.
func SelfOverlaps(t *tensor.Tensor) bool {
	if Nested(t) {
		return false
	}
	for i, s := range t.Sizes() {
		if s > 1 && t.Strides()[i] == 0 {
			return true
		}
	}
	seen := make(map[int64]struct{})
	repeated := false
	return !visitElements(regionOf(t), func(at int64) bool {
		_, repeated = seen[at]
		seen[at] = struct{}{}
		return !repeated
	})
}

// Disjoint returns an error if an input overlaps out.
func Disjoint(op string, out *tensor.Tensor, inputs ...*tensor.Tensor) error {
	for _, t := range inputs {
		if t != nil && t.Storage() == out.Storage() && Overlaps(out, t) {
			return overlapError(op)
		}
	}
	return nil
}

// overlapError returns the error of an output that overlaps an input.
func overlapError(op string) error {
	return status.Runtimef("%s: unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location; clone() the input before the operation",
		op)
}

// Overlaps reports whether any byte is shared by both tensors, which have one storage.
func Overlaps(a, b *tensor.Tensor) bool { return regionsOverlap(regionOf(a), regionOf(b)) }

// regionsOverlap reports whether two regions of one storage have a byte in common.
func regionsOverlap(a, b region) bool {
	alo, ahi := a.byteRange()
	blo, bhi := b.byteRange()
	if ahi <= blo || bhi <= alo || alo == ahi || blo == bhi {
		return false
	}
	if shape.IsDense(a.Sizes, a.Strides) && shape.IsDense(b.Sizes, b.Strides) {
		return true
	}
	if disjointByStrides(a, b) {
		return false
	}
	lo := max(alo, blo)
	n := min(ahi, bhi) - lo
	if n > exactLimit {
		return true
	}
	used := make([]bool, n)
	mark := func(r region, touch func(at int64) bool) bool {
		return visitElements(r, func(at int64) bool {
			for i := at*r.itemSize - lo; i < (at+1)*r.itemSize-lo; i++ {
				if i >= 0 && i < n && !touch(i) {
					return false
				}
			}
			return true
		})
	}
	return !mark(a, func(i int64) bool { used[i] = true; return true }) || !mark(b, func(i int64) bool { return !used[i] })
}

// disjointByStrides reports whether strides alone show that two regions have no byte in common, as adjacent columns of a matrix: modulo a
// stride of one of them, they cover disjoint ranges.
func disjointByStrides(a, b region) bool {
	for _, r := range []region{a, b} {
		for i, stride := range r.Strides {
			if every := stride * r.itemSize; r.Sizes[i] > 1 && every != 0 && disjointModulo(max(every, -every), a, b) {
				return true
			}
		}
	}
	return false
}

// disjointModulo reports whether two regions cover disjoint ranges of bytes modulo `every`.
func disjointModulo(every int64, a, b region) bool {
	aFrom, aLength := a.rangeModulo(every)
	bFrom, bLength := b.rangeModulo(every)
	ahead := ((bFrom-aFrom)%every + every) % every
	return aLength <= ahead && bLength <= every-ahead
}

// rangeModulo returns the range of a region's bytes modulo `every`: its start, and its maximum length.
func (r region) rangeModulo(every int64) (from, length int64) {
	from, length = r.Offset*r.itemSize, r.itemSize
	for i, stride := range r.Strides {
		reach := stride * r.itemSize * (r.Sizes[i] - 1)
		if reach == 0 || stride*r.itemSize%every == 0 {
			continue
		}
		from, length = from+min(reach, 0), length+max(reach, -reach)
	}
	return from, length
}

// byteRange returns the positions of the first byte and after the last one. They are equal for an empty region.
func (r region) byteRange() (lo, hi int64) {
	lo, hi, _ = shape.Span("", r.Sizes, r.Strides, r.Offset)
	return lo * r.itemSize, (hi + 1) * r.itemSize
}

// visitElements calls f with the storage position of every element until f returns false, and reports whether it never did. Regions too
// large to visit count as if f had returned false.
func visitElements(r region, f func(at int64) bool) bool {
	if shape.Product(r.Sizes) > exactLimit {
		return false
	}
	index := make([]int64, len(r.Sizes))
	at := r.Offset
	for {
		if !f(at) {
			return false
		}
		d := len(index) - 1
		for ; d >= 0; d-- {
			index[d]++
			at += r.Strides[d]
			if index[d] < r.Sizes[d] {
				break
			}
			at -= index[d] * r.Strides[d]
			index[d] = 0
		}
		if d < 0 {
			return true
		}
	}
}
