package ops

import (
	"math"

	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// viewRanges views n ranges of dimension d, which rangeOf returns.
func viewRanges(op string, self *tensor.Tensor, d int, n int, rangeOf func(i int) (start, length int64)) ([]*tensor.Tensor, error) {
	if err := checkChunks(op, int64(n)); err != nil {
		return nil, err
	}
	return owner.List(n, func(i int) (*tensor.Tensor, error) {
		start, length := rangeOf(i)
		return view.Narrow(op, self, int64(d), start, length)
	})
}

// MaxTensors is how many tensors a program can have handles of.
const MaxTensors = 1 << 24

func checkChunks(op string, n int64) error {
	if n > MaxTensors {
		return status.Memoryf("%s: %d chunks exceed the maximum of %d tensors in a list", op, n, MaxTensors)
	}
	return nil
}

func splitDim(op string, self *tensor.Tensor, dim int64) (int, error) {
	if self.Dim() == 0 {
		return 0, status.Runtimef("%s: expects at least a 1-dimensional tensor", op)
	}
	return shape.WrapDim(op, dim, self.Dim())
}

// Split splits a dimension into chunks of one size, the last of which may be smaller.
func Split(self *tensor.Tensor, splitSize, dim int64) ([]*tensor.Tensor, error) {
	return splitBySize("split", self, splitSize, dim)
}

func splitBySize(op string, self *tensor.Tensor, splitSize, dim int64) ([]*tensor.Tensor, error) {
	d, err := splitDim(op, self, dim)
	if err != nil {
		return nil, err
	}
	size := self.Sizes()[d]
	if splitSize < 0 || splitSize == 0 && size != 0 {
		return nil, status.Runtimef("%s: split_size must be positive, but got %d for dimension %d with size %d", op, splitSize, d, size)
	}
	n := int64(1)
	if splitSize > 0 {
		n = max((size-1)/splitSize+1, 1)
	}
	return viewRanges(op, self, d, int(n), func(i int) (int64, int64) {
		start := int64(i) * splitSize
		return start, min(splitSize, size-start)
	})
}

// SplitWithSizes splits a dimension into chunks of the listed sizes, which must add up to its size.
func SplitWithSizes(self *tensor.Tensor, sizes []int64, dim int64) ([]*tensor.Tensor, error) {
	return splitWithSizes("split_with_sizes", self, sizes, dim)
}

func splitWithSizes(op string, self *tensor.Tensor, sizes []int64, dim int64) ([]*tensor.Tensor, error) {
	d, err := splitDim(op, self, dim)
	if err != nil {
		return nil, err
	}
	size, total := self.Sizes()[d], int64(0)
	for _, s := range sizes {
		if s < 0 || s > size-total {
			total = -1
			break
		}
		total += s
	}
	if total != size {
		return nil, status.Runtimef("%s: expects split_sizes to be non-negative and to sum exactly to %d (input tensor's size at dimension %d), but got %v",
			op, size, d, sizes)
	}
	at := int64(0)
	return viewRanges(op, self, d, len(sizes), func(i int) (int64, int64) {
		at += sizes[i]
		return at - sizes[i], sizes[i]
	})
}

// Chunk splits a dimension into at most the given number of equal chunks.
func Chunk(self *tensor.Tensor, chunks, dim int64) ([]*tensor.Tensor, error) {
	return splitIntoChunks("chunk", self, chunks, dim)
}

func splitIntoChunks(op string, self *tensor.Tensor, chunks, dim int64) ([]*tensor.Tensor, error) {
	d, err := splitDim(op, self, dim)
	if err != nil {
		return nil, err
	}
	if chunks <= 0 {
		return nil, status.Runtimef("%s: expects `chunks` to be greater than 0, got: %d", op, chunks)
	}
	size := self.Sizes()[d]
	if size == 0 {
		return viewRanges(op, self, d, int(chunks), func(int) (start, length int64) { return 0, 0 })
	}
	return splitBySize(op, self, (size-1)/chunks+1, dim)
}

// UnsafeSplit, UnsafeSplitWithSizes and UnsafeChunk do the same, with a separate gradient for each chunk.
func UnsafeSplit(self *tensor.Tensor, splitSize, dim int64) ([]*tensor.Tensor, error) {
	return splitBySize("unsafe_split", self, splitSize, dim)
}

func UnsafeSplitWithSizes(self *tensor.Tensor, sizes []int64, dim int64) ([]*tensor.Tensor, error) {
	return splitWithSizes("unsafe_split_with_sizes", self, sizes, dim)
}

func UnsafeChunk(self *tensor.Tensor, chunks, dim int64) ([]*tensor.Tensor, error) {
	return splitIntoChunks("unsafe_chunk", self, chunks, dim)
}

// Unbind views every position of a dimension and removes the dimension.
func Unbind(self *tensor.Tensor, dim int64) ([]*tensor.Tensor, error) {
	if self.Dim() == 0 {
		return nil, status.Indexf("unbind: cannot be applied to a 0-dim tensor")
	}
	d, err := shape.WrapDim("unbind", dim, self.Dim())
	if err != nil {
		return nil, err
	}
	if err := checkChunks("unbind", self.Sizes()[d]); err != nil {
		return nil, err
	}
	return owner.List(int(self.Sizes()[d]), func(i int) (*tensor.Tensor, error) {
		return view.Select("unbind", self, int64(d), int64(i))
	})
}

func tensorSplitSections(op string, self *tensor.Tensor, sections int64, d int) ([]*tensor.Tensor, error) {
	if sections <= 0 {
		return nil, status.Runtimef("%s: number of sections must be larger than 0, got %d", op, sections)
	}
	each, more := self.Sizes()[d]/sections, self.Sizes()[d]%sections
	return viewRanges(op, self, d, int(sections), func(i int) (int64, int64) {
		k := int64(i)
		if k < more {
			return k * (each + 1), each + 1
		}
		return k*each + more, each
	})
}

func tensorSplitIndices(op string, self *tensor.Tensor, indices []int64, d int) ([]*tensor.Tensor, error) {
	start := int64(0)
	return owner.List(len(indices)+1, func(i int) (*tensor.Tensor, error) {
		from, stop := start, int64(math.MaxInt64)
		if i < len(indices) {
			stop = indices[i]
		}
		start = stop
		return view.Slice(op, self, int64(d), from, stop, 1)
	})
}

// TensorSplit splits a dimension into sections with sizes that differ by at most 1.
func TensorSplit(self *tensor.Tensor, sections, dim int64) ([]*tensor.Tensor, error) {
	d, err := splitDim("tensor_split", self, dim)
	if err != nil {
		return nil, err
	}
	return tensorSplitSections("tensor_split", self, sections, d)
}

// TensorSplitIndices cuts a dimension before each of the listed positions.
func TensorSplitIndices(self *tensor.Tensor, indices []int64, dim int64) ([]*tensor.Tensor, error) {
	d, err := splitDim("tensor_split", self, dim)
	if err != nil {
		return nil, err
	}
	return tensorSplitIndices("tensor_split", self, indices, d)
}

// alignedSplit is hsplit, vsplit and dsplit: a cut along the dimension that stacking in that direction joins.
func alignedSplit(op string, self *tensor.Tensor, d, least int) (int, error) {
	if self.Dim() < least {
		return 0, status.Runtimef("%s: requires a tensor with at least %d dimension, but got a tensor with %d dimensions", op, least, self.Dim())
	}
	if op == "hsplit" && self.Dim() == 1 {
		d = 0
	}
	return d, nil
}

func splitIntoSections(op string, self *tensor.Tensor, sections int64, d, least int) ([]*tensor.Tensor, error) {
	d, err := alignedSplit(op, self, d, least)
	if err != nil {
		return nil, err
	}
	if sections <= 0 || self.Sizes()[d]%sections != 0 {
		return nil, status.Runtimef("%s: attempted to split along dimension %d, but the size of the dimension %d is not divisible by the split_size %d",
			op, d, self.Sizes()[d], sections)
	}
	return tensorSplitSections(op, self, sections, d)
}

func splitAt(op string, self *tensor.Tensor, indices []int64, d, least int) ([]*tensor.Tensor, error) {
	d, err := alignedSplit(op, self, d, least)
	if err != nil {
		return nil, err
	}
	return tensorSplitIndices(op, self, indices, d)
}

// Hsplit cuts columns (the only dimension of a vector) into equal sections.
func Hsplit(self *tensor.Tensor, sections int64) ([]*tensor.Tensor, error) {
	return splitIntoSections("hsplit", self, sections, 1, 1)
}

// HsplitIndices cuts columns before the listed positions.
func HsplitIndices(self *tensor.Tensor, indices []int64) ([]*tensor.Tensor, error) {
	return splitAt("hsplit", self, indices, 1, 1)
}

// Vsplit cuts rows into equal sections.
func Vsplit(self *tensor.Tensor, sections int64) ([]*tensor.Tensor, error) {
	return splitIntoSections("vsplit", self, sections, 0, 2)
}

// VsplitIndices cuts rows before the listed positions.
func VsplitIndices(self *tensor.Tensor, indices []int64) ([]*tensor.Tensor, error) {
	return splitAt("vsplit", self, indices, 0, 2)
}

// Dsplit cuts depth, dimension 2, into equal sections.
func Dsplit(self *tensor.Tensor, sections int64) ([]*tensor.Tensor, error) {
	return splitIntoSections("dsplit", self, sections, 2, 3)
}

// DsplitIndices cuts depth before the listed positions.
func DsplitIndices(self *tensor.Tensor, indices []int64) ([]*tensor.Tensor, error) {
	return splitAt("dsplit", self, indices, 2, 3)
}
