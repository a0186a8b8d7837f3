package kernelapi

// MaxOperands is the largest number of operands of an elementwise kernel.
const MaxOperands = 8

// TotalBytes is the size of a reduction's running total, and SortIndex that of an index while lines are sorted.
const (
	TotalBytes = 32
	SortIndex  = 4
)

// SortEntry returns the scratch, in bytes, for the entry of an element of size bytes: its key and its index.
func SortEntry(size int64) int64 { return size + SortIndex }

// The kinds of updates of a parameter.
const (
	SGD = iota
	Adam
	AdamW
	Adagrad
)

// AlignmentRoom is the number of scratch elements for each part of an alignment, in addition to the states.
const AlignmentRoom = 16

// PoolDims is the number of dimensions of planes.
const PoolDims = 3
