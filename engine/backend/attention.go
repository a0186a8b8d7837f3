package backend

import "github.com/libtensor/libtensor/engine/tensor"

// FewQueries is the number of queries up to which an attention reads keys and values in the dtype that they are stored in.
const FewQueries = 8

// Attention makes Result (..., L, V) of Query (..., L, E), Key (..., S, E) and Value (..., S, V), all with the same leading dimensions: the
// values weighted by the softmax over the keys of Scale * Query Key^T + Mask. Mask is (..., L, S), or nil; with Causal, query i has weights for the first i + 1 keys alone. LSE gets the logarithms to base 2 of the sums of exponentials.
//
// With Given, the gradient of Result, gradients are added to Of: those of Query, Key, Value and Mask, where these are not nil. Along has the sums
// of Given * Result over the last dimension.
//
// LSE, Along and Of are contiguous, rows of the others have adjacent elements, except for those of Mask. All are of one dtype, except that without
// Given, and with at most FewQueries queries, Key and Value can have a 16-bit dtype that is computed in that of the others.
type Attention struct {
	Query, Key, Value, Mask, Result, LSE, Given, Along *tensor.Tensor
	Of                                                 [4]*tensor.Tensor
	Scale                                              float64
	Causal                                             bool
}
