package launch

import "github.com/libtensor/libtensor/engine/tensor"

// Grouping brings places of entries in order: entry e of each of Lists, matrices of int64 with a row for each of Sizes, lies where
// column e says. Indices out of range are refused.
type Grouping struct {
	Lists []*tensor.Tensor
	Sizes []int64
}

// Grouped are entries in row-major order of their places, those of all lists numbered one after another: Places has a column for each
// place, Starts where the entries of each begin in Order, and the number of entries last. All are nil where a single list is in order
// already, each place once.
type Grouped struct{ Places, Order, Starts *tensor.Tensor }

// Lines writes to To, one longer than the number of lines, where the entries of each line begin in From, a vector of int64 that does not fall.
type Lines struct{ To, From *tensor.Tensor }

// Expansion is the reverse: From has compressed indices of matrices beside each other, and To the line of each of their entries. Both are
// contiguous matrices of int64. Compressed indices that do not rise from 0 to the number of entries are refused.
type Expansion struct{ To, From *tensor.Tensor }

// CSR is a matrix in compressed rows: Compressed tells where the entries of each row begin and how many there are, Plain the column of
// each. The two are contiguous, and int32 or int64. Without Values these are 1. Indices out of range are refused.
type CSR struct {
	Compressed, Plain, Values *tensor.Tensor
	Columns                   int64
}

// SparseDense writes the product of A and B, whose rows are dense, to the contiguous To; all are of one dtype.
type SparseDense struct {
	To, B *tensor.Tensor
	A     CSR
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
