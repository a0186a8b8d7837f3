package shape

import "slices"

// Matrix returns the sizes of the matrices that the last two dimensions make.
func Matrix(sizes []int64) (rows, columns int64) { return sizes[len(sizes)-2], sizes[len(sizes)-1] }

// Batch returns the sizes before those of matrices.
func Batch(sizes []int64) []int64 { return sizes[:len(sizes)-2] }

// Append returns a copy of sizes with others behind.
func Append(sizes []int64, last ...int64) []int64 { return append(slices.Clone(sizes), last...) }
