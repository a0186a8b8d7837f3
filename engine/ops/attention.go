package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// attention holds the operands of one attention; they have the same leading dimensions.
type attention struct {
	*scope
	backend.Attention
	lead, sizes []int64 // of the leading dimensions, and of the result
}

// newAttention starts an attention, whose operands it checks.
func newAttention(s *scope, query, key, value, mask *tensor.Tensor, causal bool, scale float64) *attention {
	a := &attention{scope: s, Attention: backend.Attention{Mask: mask, Causal: causal, Scale: scale}}
	n := query.Dim() - 2
	if min(n, key.Dim()-2, value.Dim()-2) < 0 {
		a.Failf("query, key and value must have at least 2 dimensions, but have sizes %v, %v and %v", query.Sizes(), key.Sizes(), value.Sizes())
	}
	a.lead = query.Sizes()[:n]
	rows, width := query.Sizes()[n], query.Sizes()[n+1]
	keys, valueWidth := value.Sizes()[value.Dim()-2], value.Sizes()[value.Dim()-1]
	with := func(rest ...int64) []int64 { return append(slices.Clone(a.lead), rest...) }
	a.sizes = with(rows, valueWidth)
	stored := query.DType()
	if d := key.DType(); backend.ReadsStored(d, rows) && d.Compute() == stored {
		stored = d
	}
	a.checkOperand("key", key, with(keys, width), stored)
	a.checkOperand("value", value, with(keys, valueWidth), stored)
	a.checkOperand("mask", mask, with(rows, keys), query.DType())
	if d := query.DType(); d != d.Compute() || !d.IsFloatingPoint() {
		a.Failf("not implemented for %v; convert to float32 or float64", d)
	}
	_, err := tensoriter.Device(a.Op, slices.DeleteFunc([]*tensor.Tensor{query, key, value, mask}, func(t *tensor.Tensor) bool {
		return t == nil
	})...)
	a.Check(err)
	a.Query, a.Key, a.Value = a.adjacentRows(query), a.adjacentRows(key), a.adjacentRows(value)
	return a
}

// checkOperand returns an error for a tensor of other sizes, or of another dtype.
func (a *attention) checkOperand(name string, t *tensor.Tensor, sizes []int64, d dtype.DType) {
	if t != nil && (!slices.Equal(t.Sizes(), sizes) || t.DType() != d) {
		a.Failf("%s must have sizes %v, and dtype %v, but has %v, and %v", name, sizes, d, t.Sizes(), t.DType())
	}
}

// adjacentRows returns t, or a copy of it, with rows of adjacent elements.
func (a *attention) adjacentRows(t *tensor.Tensor) *tensor.Tensor {
	if t.Strides()[t.Dim()-1] == 1 {
		return t
	}
	return a.copyContiguous(t, t.DType())
}

// NnAttention returns values weighted by the softmax of products of queries and keys, and the logarithms to base 2 of its denominators.
func NnAttention(query, k, value, mask *tensor.Tensor, causal bool, scale float64, laid bool) (result, lse *tensor.Tensor, err error) {
	s := newScope("nn_attention")
	defer s.Close(&err)
	a := newAttention(s, query, k, value, mask, causal, scale)
	if laid && a.Query == query && a.Key == k && a.Value == value && slices.Equal(a.sizes, query.Sizes()) {
		a.Result = a.Track(emptyLike(a.Op, query, query.DType(), query.Device(), shape.Preserve))
	} else {
		a.Result = a.Track(tensor.Empty(a.Op, a.sizes, query.DType(), query.Device()))
	}
	a.LSE = a.newEmpty(query, query.DType(), a.sizes[:len(a.sizes)-1]...)
	a.Check(backend.On(query).Attend(a.Op, a.Attention))
	return a.ReturnBoth(a.Result, a.LSE)
}

// NnAttentionGradient returns the gradients of query, key, value and mask; those that are not requested are empty.
func NnAttentionGradient(given, query, k, value, mask, result, lse *tensor.Tensor, causal bool, scale float64, ofQuery, ofKey, ofValue,
	ofMask bool) (ofQ, ofK, ofV, ofM *tensor.Tensor, err error) {
	s := newScope("nn_attention_gradient")
	defer s.Close(&err)
	a := newAttention(s, query, k, value, mask, causal, scale)
	d := query.DType()
	a.checkOperand("key", k, k.Sizes(), d)
	a.checkOperand("value", value, value.Sizes(), d)
	a.checkOperand("given", given, a.sizes, d)
	a.checkOperand("result", result, a.sizes, d)
	a.checkOperand("lse", lse, a.sizes[:len(a.sizes)-1], d)
	a.Given, a.Result, a.LSE = a.adjacentRows(given), result, a.castRowMajor(lse, d)
	each := a.Track(Mul(nil, a.Given, result))
	a.Along = a.Track(Sum(nil, each, []int64{-1}, false, dtype.None))
	a.Along = a.castRowMajor(a.Along, d)
	a.Drop(each)
	none := a.newEmpty(query, d, 0)
	gradients := []*tensor.Tensor{none, none, none, none}
	for i, wanted := range []bool{ofQuery, ofKey, ofValue, ofMask && mask != nil} {
		if wanted {
			gradients[i] = a.newEmpty(query, d, []*tensor.Tensor{query, k, value, mask}[i].Sizes()...)
			a.Check(fillWith(gradients[i], zero))
			a.Of[i] = gradients[i]
		}
	}
	a.Check(backend.On(query).Attend(a.Op, a.Attention))
	gradients, err = a.ReturnAll(gradients)
	return gradients[0], gradients[1], gradients[2], gradients[3], err
}
