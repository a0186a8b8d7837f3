package backend

import (
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Grouping sorts entries by their positions: entry e of each of Lists, matrices of int64 with a row for each of Sizes, has its position in
// column e. Indices out of range are an error.
type Grouping struct {
	Lists []*tensor.Tensor
	Sizes []int64
}

// Grouped are the entries in row-major order of their positions, numbered across all lists. The first tensor has a column for each distinct
// position. Order lists the entries, and Starts the index in Order of the first entry of each position, followed by the number of entries.
// All are nil if a single list is already sorted without duplicates.
type Grouped struct{ Places, Order, Starts *tensor.Tensor }

// Lines writes to To, one longer than the number of lines, where the entries of each line begin in From, a vector of int64 that does not
// fall.
type Lines struct{ To, From *tensor.Tensor }

// Expansion expands compressed indices: From holds those of a batch of matrices, and To the row of each entry. Both are contiguous matrices
// of int64. Compressed indices that do not increase from 0 to the number of entries are an error.
type Expansion struct{ To, From *tensor.Tensor }

// CSR is a matrix in compressed rows: Compressed reports where the entries of each row begin and how many there are, Plain the column of
// each. The two are contiguous, and int32 or int64. Without Values these are 1. Indices out of range are rejected.
type CSR struct {
	Compressed, Plain, Values *tensor.Tensor
	Columns                   int64
}

// SparseDense writes the product of A and B, whose rows are dense, to the contiguous To; all are of one dtype. With Maxima it writes for
// each row of A and column of B, in the dtype of A's indices, which of the rows of B at the entries of A has the first maximum or NaN: 0
// without entries.
type SparseDense struct {
	To, B  *tensor.Tensor
	A      CSR
	Maxima bool
}

// Sampled writes to the values of At, contiguous, the elements of the product of A and the transpose of B at At's entries; all are of one
// dtype, and the rows of A and B are dense.
type Sampled struct {
	At   CSR
	A, B *tensor.Tensor
}

// SparseSparse is the product of A and B, whose values are of one dtype, with int64 indices.
type SparseSparse struct{ A, B CSR }

// SparseSum is the sum of A and B, which have as many rows and columns and values of one dtype, with int64 indices.
type SparseSum struct{ A, B CSR }

// The errors for indices that were changed after a tensor was created, when they were checked.

// BadPosition returns the error for an index of a dimension.
func BadPosition(op string, index, dim, size int64) error {
	return status.Indexf("%s: index %d is out of bounds for dimension %d with size %d: the indices were changed after the tensor was created",
		op, index, dim, size)
}

// BadLine returns the error for a line that does not exist.
func BadLine(op string, line, size int64) error {
	return status.Indexf("%s: index %d is out of bounds for size %d: the indices were changed after the tensor was created", op, line, size)
}

// FallingLine returns the error for a line that comes after a larger one.
func FallingLine(op string, line int64) error {
	return status.Runtimef("%s: index %d comes after a larger one: the indices were changed after the tensor was created", op, line)
}

// BadCompressed returns the error for the compressed indices of a line.
func BadCompressed(op string, line int64) error {
	return status.Runtimef("%s: the compressed indices of line %d do not increase from 0 to the number of entries: they were changed after the tensor was created", op, line)
}

// BadPlain returns the error for a plain index.
func BadPlain(op string, index int64) error {
	return status.Indexf("%s: index %d is out of bounds: the plain indices were changed after the tensor was created", op, index)
}
