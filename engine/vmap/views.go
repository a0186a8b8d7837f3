package vmap

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// sizesOf returns the argument with the sizes of the result.
func (b *batch) sizesOf() *[]int64 { return b.Args[max(b.Place("size"), b.Place("shape"))].(*[]int64) }

// sized is the rule of operators that are given the sizes of the result.
func (b *batch) sized() bool {
	size := b.sizesOf()
	*size = append([]int64{b.level.Size}, *size...)
	return b.direct()
}

// reshaped is the rule of view and reshape. A size that is to be found is that for one example.
func (b *batch) reshaped() bool {
	if b.Place("dtype") >= 0 {
		return b.self.Dim() > 0 && b.direct()
	}
	size := b.sizesOf()
	known, at := int64(1), -1
	for i, n := range *size {
		switch {
		case n >= 0:
			known *= n
		case n == -1 && at < 0:
			at = i
		default:
			return false
		}
	}
	numel := b.self.Numel()
	if at < 0 && known != numel || at >= 0 && (known == 0 || numel%known != 0) {
		return false
	}
	if at >= 0 {
		*size = slices.Clone(*size)
		(*size)[at] = numel / known
	}
	return b.sized()
}

// expanded is the rule of expand: new dimensions follow the batch dimension.
func (b *batch) expanded() bool {
	size := b.sizesOf()
	pads := len(*size) - b.self.Dim()
	if pads < 0 || slices.Contains((*size)[:pads], -1) {
		return false
	}
	*size = append([]int64{b.level.Size}, *size...)
	b.call(func(t *tensor.Tensor) *tensor.Tensor { return b.padded(b.all(t), pads) })
	return true
}

// strided is the rule of as_strided. The offset is that of the first batch element; the other batch elements have the distances that they have in self.
// A view covers elements of one batch element only.
func (b *batch) strided() bool {
	size, stride := b.Args[b.Place("size")].(*[]int64), b.Args[b.Place("stride")].(*[]int64)
	if len(*size) != len(*stride) {
		return false
	}
	all := b.self.Wrapped().Value
	first := all.Behind().Offset()
	begin := b.Args[b.Place("storage_offset")].(*ops.Int).Or(first)
	last, end := first+furthest(b.self.Sizes(), b.self.Strides()), begin+furthest(*size, *stride)
	if !slices.Contains(*size, 0) && (begin < first || end > last || b.self.Numel() == 0) {
		b.Check(status.Runtimef("%s: sizes %v, strides %v and offset %d access memory outside of a batch element, whose %d elements are at %d to %d of the storage. This is not supported inside of vmap", b.Name, *size, *stride, begin, b.self.Numel(), first, last))
	}
	*size, *stride = append([]int64{b.level.Size}, *size...), append([]int64{all.Strides()[0]}, *stride...)
	return b.direct()
}

// furthest returns the distance of the last element from the first one.
func furthest(size, stride []int64) (n int64) {
	for i, s := range size {
		n += (s - 1) * stride[i]
	}
	return n
}

// permuted is the rule of permute.
func (b *batch) permuted() bool {
	dims := b.Args[b.Place("dims")].(*[]int64)
	n := int64(b.self.Dim())
	moved := []int64{0}
	for _, d := range *dims {
		if d < -n || d >= n {
			return false
		}
		moved = append(moved, (d+n)%n+1)
	}
	*dims = moved
	return b.direct()
}

// viewed is the rule of views that correspond to another view of one batch element.
func (b *batch) viewed() bool {
	sizes, n := b.self.Sizes(), b.self.Dim()
	switch b.Name {
	case "reshape_as":
		return b.set(b.C.Reshape(b.self, b.Operands()[1].Sizes()))
	case "ravel":
		return b.set(b.C.Reshape(b.self, []int64{b.self.Numel()}))
	case "flatten":
		return n == 0 && b.set(b.C.Reshape(b.self, []int64{1}))
	case "squeeze":
		left := slices.DeleteFunc(slices.Clone(sizes), func(n int64) bool { return n == 1 })
		return b.Place("dim") < 0 && b.set(b.C.View(b.self, left))
	case "t":
		if n == 2 {
			return b.set(b.C.Transpose(nil, b.self, 0, 1))
		}
		return n < 2 && b.set(b.C.View(b.self, sizes))
	case "T":
		dims := make([]int64, n)
		for i := range dims {
			dims[i] = int64(n - 1 - i)
		}
		return b.set(b.C.Permute(b.self, dims))
	}
	return n == 2 && b.set(b.C.Adjoint(b.self)) // H
}

// scalar is the rule of views of an example that is a number.
func (b *batch) scalar() bool {
	for i, v := range b.Args {
		if d, ok := v.(*int64); ok && b.IsDim(i) && *d != 0 && *d != -1 {
			return false
		}
	}
	switch b.Name {
	case "transpose", "squeeze", "movedim":
		return b.set(b.C.View(b.self, nil))
	case "unfold":
		return dispatch.Given(b.Call, "size", int64(1)) == 1 && b.set(b.C.View(b.self, []int64{1}))
	}
	return false
}

// parted is the rule of hsplit, vsplit and dsplit.
func (b *batch) parted() bool {
	dim := map[string]int64{"hsplit": 1, "vsplit": 0, "dsplit": 2}[b.Name]
	n := int64(b.self.Dim())
	if b.Name == "hsplit" && n == 1 {
		dim = 0
	}
	switch at := b.Args[b.First()+1].(type) {
	case *int64:
		return n > dim && *at > 0 && b.self.Sizes()[dim]%*at == 0 && b.setAll(b.C.TensorSplit(b.self, *at, dim))
	case *[]int64:
		return n > dim && b.setAll(b.C.TensorSplitIndices(b.self, *at, dim))
	}
	return false
}
