package launch

import "github.com/libtensor/libtensor/engine/tensor"

// Recurrence runs the cells of a layer in one direction over all steps. Step t has Batches[t] rows, one for each sequence that is as long, and
// rows of steps lie behind one another. Cell is their kind: tanh, relu, lstm or gru.
//
// X (rows, gates of units), to which the products of the states before and of Weight (gates of units, units) and Bias are added, becomes Hidden, Cells and
// Gates; Last and LastCell are the states of sequences after all steps, H and C those before. Bias, and C and LastCell, are nil where the kind has none.
//
// With Slopes it is the way back: Given is the gradient of Hidden; Last and LastCell are those of the states after all steps, and become those
// of the states before. Slopes are the gradients of the sums of gates, with a fourth for a GRU, which comes first: that of the states' part of the
// last gate. Previous are the states that steps began with.
//
// All are contiguous and of one dtype, float32 or float64.
type Recurrence struct {
	Cell                    string
	X, H, C, Weight, Bias   *tensor.Tensor
	Gates, Cells, Hidden    *tensor.Tensor
	Last, LastCell          *tensor.Tensor
	Given, Slopes, Previous *tensor.Tensor
	Batches                 []int64
	Reverse                 bool
}
