package backend

import (
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/tensor"
)

// FewQueries is the number of queries up to which an attention reads keys and values in the dtype that they are stored in.
const FewQueries = 8

// ReadsStored reports whether an attention of so many queries can read keys and values in dtype d, in which they are stored.
func ReadsStored(d dtype.DType, queries int64) bool {
	return queries <= FewQueries || RoundsProducts(d)
}

// RoundsProducts reports whether kernels multiply float32, which they round to bfloat16, with operands of dtype d: keys and values, and the
// weights of recurrences.
func RoundsProducts(d dtype.DType) bool { return d == dtype.BFloat16 && kernelapi.CPU.RoundsProducts() }

// Attention makes Result (..., L, V) of Query (..., L, E), Key (..., S, E) and Value (..., S, V), all with the same leading dimensions: the
// values weighted by the softmax over the keys of Scale * Query Key^T + Mask. Mask is (..., L, S), or nil; with Causal, query i has weights
// for the first i + 1 keys alone. LSE gets the logarithms to base 2 of the sums of exponentials.
//
// With Given, the gradient of Result, gradients are added to Of: those of Query, Key, Value and Mask, where these are not nil. Along has
// the sums of Given * Result over the last dimension.
//
// LSE, Along and Of are contiguous, rows of the others have adjacent elements, except for those of Mask. All are of one dtype, except that
// without Given, and if ReadsStored, Key and Value can have a 16-bit dtype that is computed in that of the others.
type Attention struct {
	Query, Key, Value, Mask, Result, LSE, Given, Along *tensor.Tensor
	Of                                                 [4]*tensor.Tensor
	Scale                                              float64
	Causal                                             bool
}
