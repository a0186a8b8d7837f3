package backend

import "github.com/libtensor/libtensor/engine/tensor"

// Recurrence runs the cells of a layer in one direction over all steps. Step t has Batches[t] rows, one for each sequence of that length,
// and the rows of steps are stored one after another. Cell is their type: tanh, relu, lstm or gru. X (rows, gates of units), plus the
// products of the previous states and Weight (gates of units, units), plus Bias, becomes Hidden, Cells and Gates. H and C are the initial
// states of the sequences, Last and LastCell the final ones. Bias may be nil; C and LastCell are nil for cells without cell states.
// Gates, and Cells of a GRU, are nil if no backward pass follows. With Slopes it computes the backward pass: Given is the gradient of
// Hidden; Last and LastCell are the gradients of the final states, and are overwritten with those of the initial states. Slopes are the
// gradients of the gates' sums. For a GRU a fourth comes first, that of the states' part of the last gate. Previous are the states before
// each step. All are contiguous and of one dtype, float32 or float64, except that without Slopes, Weight can have a dtype that
// RoundsProducts, if the others are of float32.
type Recurrence struct {
	Cell                    string
	X, H, C, Weight, Bias   *tensor.Tensor
	Gates, Cells, Hidden    *tensor.Tensor
	Last, LastCell          *tensor.Tensor
	Given, Slopes, Previous *tensor.Tensor
	Batches                 []int64
	Reverse                 bool
}
