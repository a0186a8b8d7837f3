package shape

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/libtensor/libtensor/engine/status"
)

// MemoryFormat is the memory order of a dense tensor's dimensions. The values are those of tensor_memory_format in tensor.h.
type MemoryFormat int8

// The memory formats.
const (
	NoFormat       MemoryFormat = -1
	Contiguous     MemoryFormat = 0
	Preserve       MemoryFormat = 1
	ChannelsLast   MemoryFormat = 2
	ChannelsLast3d MemoryFormat = 3
)

func (f MemoryFormat) String() string {
	switch f {
	case Contiguous:
		return "torch.contiguous_format"
	case Preserve:
		return "torch.preserve_format"
	case ChannelsLast:
		return "torch.channels_last"
	case ChannelsLast3d:
		return "torch.channels_last_3d"
	}
	return "none"
}

// Strides writes the row-major strides of sizes to dst, which has their length. Sizes of 0 count as 1. Strides beyond int64, which Numel
// rejects for row-major tensors, are the largest integer: the tensor has no elements then.
func Strides(dst, sizes []int64) {
	stride := int64(1)
	for i := len(sizes) - 1; i >= 0; i-- {
		dst[i] = stride
		stride = Times(stride, max(sizes[i], 1))
	}
}

// ContiguousStrides returns the row-major strides of sizes.
func ContiguousStrides(sizes []int64) []int64 {
	strides := make([]int64, len(sizes))
	Strides(strides, sizes)
	return strides
}

// IsRowMajor reports whether the strides are ContiguousStrides, also where they do not matter.
func IsRowMajor(sizes, strides []int64) bool {
	expected := int64(1)
	for d := len(sizes) - 1; d >= 0; d-- {
		if strides[d] != expected {
			return false
		}
		expected *= max(sizes[d], 1)
	}
	return true
}

// channelsLastOrder lists the dimensions of a channels-last format from the fastest to the slowest.
func channelsLastOrder(f MemoryFormat) []int {
	if f == ChannelsLast {
		return []int{1, 3, 2, 0}
	}
	return []int{1, 4, 3, 2, 0}
}

// FormatStrides returns the strides of a dense tensor in the given format. Channels-last formats want 4 or 5 dimensions.
func FormatStrides(op string, sizes []int64, f MemoryFormat) ([]int64, error) {
	if f != ChannelsLast && f != ChannelsLast3d {
		return ContiguousStrides(sizes), nil
	}
	order := channelsLastOrder(f)
	if len(sizes) != len(order) {
		return nil, status.Runtimef("%s: required rank %d tensor to use %v format, but got %d dimensions", op, len(order), f, len(sizes))
	}
	strides := make([]int64, len(sizes))
	stride := int64(1)
	for _, d := range order {
		strides[d] = stride
		stride = Times(stride, max(sizes[d], 1))
	}
	return strides, nil
}

// IsContiguous reports whether strides are row-major for sizes; dimensions of size 1 may have any stride.
func IsContiguous(sizes, strides []int64) bool {
	expected := int64(1)
	for i := len(sizes) - 1; i >= 0; i-- {
		switch sizes[i] {
		case 0:
			return true
		case 1:
			continue
		}
		if strides[i] != expected {
			return hasZero(sizes)
		}
		expected *= sizes[i]
	}
	return true
}

func hasZero(sizes []int64) bool { return slices.Contains(sizes, 0) }

// IsFormat reports whether strides are those of format f for sizes.
func IsFormat(sizes, strides []int64, f MemoryFormat) bool {
	if f != ChannelsLast && f != ChannelsLast3d {
		return IsContiguous(sizes, strides)
	}
	order := channelsLastOrder(f)
	if len(sizes) != len(order) {
		return false
	}
	expected := int64(1)
	for _, d := range order {
		if sizes[d] != 1 && strides[d] != expected {
			return false
		}
		expected *= sizes[d]
	}
	return true
}

// SuggestFormat returns the format that strides order dimensions by, even when there are gaps: channels-last or contiguous.
func SuggestFormat(sizes, strides []int64) MemoryFormat {
	for _, f := range []MemoryFormat{ChannelsLast, ChannelsLast3d} {
		if likesFormat(sizes, strides, f) {
			return f
		}
	}
	return Contiguous
}

// likesFormat is PyTorch's is_channels_last_strides: ties and size-1 dimensions are resolved towards contiguous.
func likesFormat(sizes, strides []int64, f MemoryFormat) bool {
	order := channelsLastOrder(f)
	if len(sizes) != len(order) || strides[1] == 0 {
		return false
	}
	least := int64(0)
	for _, d := range order {
		if sizes[d] == 0 || strides[d] < least {
			return false
		}
		if d == 0 && least == strides[1] {
			return false
		}
		least = strides[d]
		if sizes[d] > 1 {
			least *= sizes[d]
		}
	}
	return true
}

// byStride lists the dimensions from the smallest stride to the largest, keeping the order of equals; sizes of 1 count as slowest.
func byStride(sizes, strides []int64) []int {
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if (sizes[a] < 2) != (sizes[b] < 2) {
			if sizes[a] < 2 {
				return 1
			}
			return -1
		}
		return cmp.Compare(strides[a], strides[b])
	})
	return order
}

// IsDense reports whether the elements fill a block of memory without gaps and without sharing, in any order of dimensions.
func IsDense(sizes, strides []int64) bool {
	if len(sizes) == 1 {
		return sizes[0] < 2 || strides[0] == 1
	}
	expected := int64(1)
	for _, d := range byStride(sizes, strides) {
		if sizes[d] < 2 {
			return true
		}
		if strides[d] != expected {
			return false
		}
		expected *= sizes[d]
	}
	return true
}

// PreserveStrides returns the strides of a new tensor that keeps the memory format of (sizes, strides): the same strides if they are dense,
// otherwise dense strides with the dimensions in the same order.
func PreserveStrides(sizes, strides []int64) []int64 {
	if IsContiguous(sizes, strides) || IsDense(sizes, strides) {
		return slices.Clone(strides)
	}
	return PermutedStrides(sizes, Permutation(sizes, strides))
}

// Permutation sorts the dimensions from slowest to fastest by the operands' strides. The first operand that distinguishes two dimensions
// decides. It is PyTorch's insertion sort: a stride of 0 keeps adjacent dimensions in order, and equal strides put the larger size outside.
func Permutation(sizes []int64, operands ...[]int64) []int {
	n := len(sizes)
	perm := make([]int, n)
	for i := range perm {
		perm[i] = n - 1 - i
	}
	for i := 1; i < n; i++ {
		at := i
		for j := i - 1; j >= 0; j-- {
			c := compareDims(sizes, operands, perm[j], perm[at])
			if c > 0 {
				perm[j], perm[at] = perm[at], perm[j]
				at = j
			} else if c < 0 {
				break
			}
		}
	}
	slices.Reverse(perm)
	return perm
}

// compareDims returns a negative number if dimension a is faster than b, a positive one if it is slower, and 0 if no operand distinguishes
// them.
func compareDims(sizes []int64, operands [][]int64, a, b int) int {
	for _, strides := range operands {
		sa, sb := strides[a], strides[b]
		switch {
		case sa == 0 || sb == 0:
		case sa != sb:
			return cmp.Compare(sa, sb)
		case sizes[a] > sizes[b]:
			return 1
		}
	}
	return 0
}

// BroadcastStrides writes strides times factor, aligned at the last dimension of to, which sizes broadcast to: 0 where they do.
func BroadcastStrides(dst, sizes, strides, to []int64, factor int64) {
	shift := len(to) - len(sizes)
	for i := range dst {
		dst[i] = 0
		if i >= shift && (sizes[i-shift] != 1 || to[i] == 1) {
			dst[i] = strides[i-shift] * factor
		}
	}
}

// PermutedStrides are dense strides of sizes with dimensions laid out from slowest to fastest as order lists them.
func PermutedStrides(sizes []int64, order []int) []int64 {
	strides := make([]int64, len(sizes))
	stride := int64(1)
	for i := len(order) - 1; i >= 0; i-- {
		strides[order[i]] = stride
		stride = Times(stride, max(sizes[order[i]], 1))
	}
	return strides
}

// Span returns the lowest and highest element that (sizes, strides) reach from offset, as lo <= hi; an empty tensor reaches nothing (lo =
// offset, hi = offset-1). Reaches beyond int64 are rejected.
func Span(op string, sizes, strides []int64, offset int64) (lo, hi int64, err error) {
	lo, hi = offset, offset
	for i, s := range sizes {
		if s == 0 {
			return offset, offset - 1, nil
		}
		step := strides[i]
		magnitude := step
		if step < 0 {
			magnitude = -step
		}
		over, reach := bits.Mul64(uint64(s-1), uint64(magnitude))
		if over != 0 || reach > 1<<62 {
			return 0, 0, status.Runtimef("%s: sizes %v with strides %v address more elements than a 64-bit integer can represent", op,
				slices.Clone(sizes), slices.Clone(strides))
		}
		if step < 0 {
			lo -= int64(reach)
		} else {
			hi += int64(reach)
		}
		if hi < 0 || lo < -(1<<62) || hi > 1<<62 {
			return 0, 0, status.Runtimef("%s: sizes %v with strides %v address more elements than a 64-bit integer can represent", op,
				slices.Clone(sizes), slices.Clone(strides))
		}
	}
	return lo, hi, nil
}

// ViewStrides returns the strides with which the elements of (sizes, strides), in row-major order, are a view of the given shape; ok is
// false if that needs a copy. Both shapes have the same number of elements.
func ViewStrides(sizes, strides, view []int64) (out []int64, ok bool) {
	out = make([]int64, len(view))
	if hasZero(sizes) {
		if slices.Equal(sizes, view) {
			return slices.Clone(strides), true
		}
		Strides(out, view)
		return out, true
	}
	at := len(view) - 1
	if len(sizes) == 0 {
		for i := range out {
			out[i] = 1
		}
		return out, true
	}
	// Collect contiguous groups of dimensions; each group must be split exactly by dimensions of the view.
	base := strides[len(strides)-1]
	run, seen := int64(1), int64(1)
	for d := len(sizes) - 1; d >= 0; d-- {
		run *= sizes[d]
		if d > 0 && (sizes[d-1] == 1 || strides[d-1] == run*base) {
			continue
		}
		for at >= 0 && (seen < run || view[at] == 1) {
			out[at] = seen * base
			seen *= view[at]
			at--
		}
		if seen != run {
			return nil, false
		}
		if d > 0 {
			base = strides[d-1]
			run, seen = 1, 1
		}
	}
	return out, at == -1
}
