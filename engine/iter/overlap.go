package iter

import (
	"slices"
	"sort"

	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// exactLimit bounds the elements that an exact overlap check visits; beyond it, doubtful cases count as overlapping.
const exactLimit = 1 << 26

// CheckOverlap refuses an output in which two elements share memory, and inputs that share some elements with the output
// without being the same view.
func CheckOverlap(op string, out *tensor.Tensor, inputs ...*tensor.Tensor) error {
	if SelfOverlaps(out) {
		return status.Runtimef("%s: unsupported operation: more than one element of the written-to tensor refers to a single memory location (sizes %v, strides %v); clone() it before the operation",
			op, out.Sizes(), out.Strides())
	}
	for _, in := range inputs {
		if in != out && in.Storage() == out.Storage() && !SameView(in, out) && Overlaps(in, out) {
			return status.Runtimef("%s: unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location; clone() the input before the operation", op)
		}
	}
	return nil
}

// SameView tells whether two tensors are element for element the same memory.
func SameView(a, b *tensor.Tensor) bool {
	return a.Storage() == b.Storage() && a.Offset() == b.Offset() && a.DType().Size() == b.DType().Size() &&
		slices.Equal(a.Sizes(), b.Sizes()) && (slices.Equal(a.Strides(), b.Strides()) || a.IsContiguous() && b.IsContiguous())
}

// SelfOverlaps tells whether two indices of t reach the same memory.
func SelfOverlaps(t *tensor.Tensor) bool {
	if t.IsContiguous() || t.Numel() < 2 || shape.IsDense(t.Sizes(), t.Strides()) {
		return false
	}
	type dim struct{ size, stride int64 }
	var dims []dim
	for i, s := range t.Sizes() {
		if s > 1 {
			if t.Strides()[i] == 0 {
				return true
			}
			dims = append(dims, dim{s, t.Strides()[i]})
		}
	}
	sort.Slice(dims, func(i, j int) bool { return dims[i].stride < dims[j].stride })
	reach, nested := int64(0), true
	for _, d := range dims {
		nested = nested && d.stride > reach
		reach += (d.size - 1) * d.stride
	}
	if nested {
		return false
	}
	seen := make(map[int64]struct{})
	repeated := false
	return !visit(t, func(at int64) bool {
		_, repeated = seen[at]
		seen[at] = struct{}{}
		return !repeated
	})
}

// Overlaps tells whether any byte belongs to both tensors, which share a storage.
func Overlaps(a, b *tensor.Tensor) bool {
	if a.Numel() == 0 || b.Numel() == 0 {
		return false
	}
	alo, ahi := byteSpan(a)
	blo, bhi := byteSpan(b)
	if ahi <= blo || bhi <= alo {
		return false
	}
	if shape.IsDense(a.Sizes(), a.Strides()) && shape.IsDense(b.Sizes(), b.Strides()) {
		return true
	}
	lo := max(alo, blo)
	n := min(ahi, bhi) - lo
	if n > exactLimit {
		return true
	}
	used := make([]bool, n)
	mark := func(t *tensor.Tensor, touch func(at int64) bool) bool {
		size := t.DType().Size()
		return visit(t, func(at int64) bool {
			for i := at*size - lo; i < (at+1)*size-lo; i++ {
				if i >= 0 && i < n && !touch(i) {
					return false
				}
			}
			return true
		})
	}
	mark(a, func(i int64) bool { used[i] = true; return true })
	return !mark(b, func(i int64) bool { return !used[i] })
}

func byteSpan(t *tensor.Tensor) (lo, hi int64) {
	lo, hi, _ = shape.Span("", t.Sizes(), t.Strides(), t.Offset())
	return lo * t.DType().Size(), (hi + 1) * t.DType().Size()
}

// visit calls f with the storage position of every element until f returns false, and reports whether it never did. Tensors
// too large to visit count as if f had returned false.
func visit(t *tensor.Tensor, f func(at int64) bool) bool {
	if t.Numel() > exactLimit {
		return false
	}
	index := make([]int64, t.Dim())
	at := t.Offset()
	for {
		if !f(at) {
			return false
		}
		d := t.Dim() - 1
		for ; d >= 0; d-- {
			index[d]++
			at += t.Strides()[d]
			if index[d] < t.Sizes()[d] {
				break
			}
			at -= index[d] * t.Strides()[d]
			index[d] = 0
		}
		if d < 0 {
			return true
		}
	}
}
