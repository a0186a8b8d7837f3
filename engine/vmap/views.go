package vmap

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// sizeArgument returns the argument with the sizes of the result.
func (b *batch) sizeArgument() *[]int64 {
	return b.Args[max(b.Place("size"), b.Place("shape"))].(*[]int64)
}

// prependBatchSize is the rule of operators that take the sizes of the result.
func (b *batch) prependBatchSize() bool {
	size := b.sizeArgument()
	*size = append([]int64{b.level.Size}, *size...)
	return b.callOnBatch()
}

// reshapeBatch is the rule of view and reshape. A size of -1 is inferred for one batch element.
func (b *batch) reshapeBatch() bool {
	if b.Place("dtype") >= 0 {
		return b.self.Dim() > 0 && b.callOnBatch()
	}
	size := b.sizeArgument()
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
	return b.prependBatchSize()
}

// expandBatch is the rule of expand: new dimensions follow the batch dimension.
func (b *batch) expandBatch() bool {
	size := b.sizeArgument()
	pads := len(*size) - b.self.Dim()
	if pads < 0 || slices.Contains((*size)[:pads], -1) {
		return false
	}
	*size = append([]int64{b.level.Size}, *size...)
	b.callReplaced(func(t *tensor.Tensor) *tensor.Tensor { return b.insertDims(b.unwrapBatch(t), pads) })
	return true
}

// viewStrided is the rule of as_strided. The offset is that of the first batch element; the others keep their distance from it. A view
// covers elements of one batch element only.
func (b *batch) viewStrided() bool {
	size, stride := b.Args[b.Place("size")].(*[]int64), b.Args[b.Place("stride")].(*[]int64)
	if len(*size) != len(*stride) {
		return false
	}
	all := b.self.Wrapped().Value
	first := all.Behind().Offset()
	begin := b.Args[b.Place("storage_offset")].(*ops.Int).Or(first)
	last, end := first+lastElementOffset(b.self.Sizes(), b.self.Strides()), begin+lastElementOffset(*size, *stride)
	if !slices.Contains(*size, 0) && (begin < first || end > last || b.self.Numel() == 0) {
		b.Check(status.Runtimef("%s: sizes %v, strides %v and offset %d access memory outside of a batch element, whose %d elements are at %d to %d of the storage. This is not supported inside of vmap",
			b.Name, *size, *stride, begin, b.self.Numel(), first, last))
	}
	*size, *stride = append([]int64{b.level.Size}, *size...), append([]int64{all.Strides()[0]}, *stride...)
	return b.callOnBatch()
}

// lastElementOffset returns the offset of the last element from the first one.
func lastElementOffset(size, stride []int64) (n int64) {
	for i, s := range size {
		n += (s - 1) * stride[i]
	}
	return n
}

// permuteBatch is the rule of permute.
func (b *batch) permuteBatch() bool {
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
	return b.callOnBatch()
}

// rewriteView is the rule of views that correspond to another view of one batch element.
func (b *batch) rewriteView() bool {
	sizes, n := b.self.Sizes(), b.self.Dim()
	switch b.Name {
	case "reshape_as":
		return b.setResult(b.C.Reshape(b.self, b.Operands()[1].Sizes()))
	case "ravel":
		return b.setResult(b.C.Reshape(b.self, []int64{b.self.Numel()}))
	case "flatten":
		return n == 0 && b.setResult(b.C.Reshape(b.self, []int64{1}))
	case "squeeze":
		left := slices.DeleteFunc(slices.Clone(sizes), func(n int64) bool { return n == 1 })
		return b.Place("dim") < 0 && b.setResult(b.C.View(b.self, left))
	case "t":
		if n == 2 {
			return b.setResult(b.C.Transpose(nil, b.self, 0, 1))
		}
		return n < 2 && b.setResult(b.C.View(b.self, sizes))
	case "T":
		dims := make([]int64, n)
		for i := range dims {
			dims[i] = int64(n - 1 - i)
		}
		return b.setResult(b.C.Permute(b.self, dims))
	}
	return n == 2 && b.setResult(b.C.Adjoint(b.self)) // H
}

// viewScalar is the rule of views of zero-dimensional batch elements.
func (b *batch) viewScalar() bool {
	for i, v := range b.Args {
		if d, ok := v.(*int64); ok && b.IsDim(i) && *d != 0 && *d != -1 {
			return false
		}
	}
	switch b.Name {
	case "transpose", "squeeze", "movedim":
		return b.setResult(b.C.View(b.self, nil))
	case "unfold":
		return dispatch.Given(b.Call, "size", int64(1)) == 1 && b.setResult(b.C.View(b.self, []int64{1}))
	}
	return false
}

// splitBatch is the rule of hsplit, vsplit and dsplit.
func (b *batch) splitBatch() bool {
	dim := map[string]int64{"hsplit": 1, "vsplit": 0, "dsplit": 2}[b.Name]
	n := int64(b.self.Dim())
	if b.Name == "hsplit" && n == 1 {
		dim = 0
	}
	switch at := b.Args[b.First()+1].(type) {
	case *int64:
		return n > dim && *at > 0 && b.self.Sizes()[dim]%*at == 0 && b.setListResult(b.C.TensorSplit(b.self, *at, dim))
	case *[]int64:
		return n > dim && b.setListResult(b.C.TensorSplitIndices(b.self, *at, dim))
	}
	return false
}
