package composite

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// heads is an attention of several heads: of sequences (length, batch, features), of which each head has a part of the features.
type heads struct {
	*build.Builder
	q, k, v, mask, padding   *tensor.Tensor
	embed, count             int64
	rows, keys, batch        int64
	batched, causal, weights bool
}

// NnMultiHeadAttentionForward projects query, key and value for each head, applies scaled dot-product attention, and projects the result.
func NnMultiHeadAttentionForward(c dispatch.Context, query, of, value *tensor.Tensor, embed, count int64, inWeight, inBias, biasK,
	biasV *tensor.Tensor, addZero bool, dropout float64,
	outWeight, outBias *tensor.Tensor, training bool, padding *tensor.Tensor, needWeights bool, mask *tensor.Tensor, separate bool, weightQ,
	weightK, weightV, staticK, staticV *tensor.Tensor,
	average, causal bool) (_, _ *tensor.Tensor, err error) {
	h := heads{Builder: build.New(c, "nn_multi_head_attention_forward"), q: query, k: of, v: value, mask: mask, padding: padding,
		embed: embed, count: count, batched: query.Dim() == 3,
		causal: causal, weights: needWeights}
	defer h.Close(&err)
	h.checkOperands(separate, outWeight)
	projections := []*tensor.Tensor{weightQ, weightK, weightV}
	if !separate {
		projections = h.splitThirds(inWeight)
	}
	h.projectInputs(projections, h.splitThirds(inBias))
	h.convertMasks()
	h.extendKeys(biasK, biasV, staticK, staticV, addZero)
	h.addMasks()
	if !training {
		dropout = 0
	}
	var result, weights *tensor.Tensor
	if needWeights {
		weights = h.computeWeights(dropout)
		result = h.Bmm(weights, h.v)
		if weights = h.AsShape(weights, h.batch, count, h.rows, h.keys); average {
			weights = h.Mean(weights, []int64{1}, false)
		}
	} else {
		result = h.attendHeads(dropout)
	}
	result = h.AsShape(h.ReorderDims(result, 1, 0, 2), h.rows*h.batch, embed)
	result = h.NnLinear(result, outWeight, outBias)
	result = h.AsShape(result, h.rows, h.batch, result.Sizes()[1])
	if !h.batched {
		result = h.SqueezeDim(result, 1)
		if needWeights {
			weights = h.SqueezeDim(weights, 0)
		}
	}
	if !needWeights {
		weights = h.EmptyBeside(result, result.DType(), 0)
	}
	return h.ReturnBoth(result, weights)
}

// checkOperands returns an error for invalid operands. It adds a batch dimension to unbatched ones.
func (h *heads) checkOperands(separate bool, outWeight *tensor.Tensor) {
	n := h.q.Dim()
	if n != 2 && n != 3 {
		h.Failf("query must have 2 dimensions, or 3 with a batch, but has sizes %v", h.q.Sizes())
	}
	switch {
	case h.k.Dim() != n || h.v.Dim() != n:
		h.Failf("key and value must have %d dimensions, as query has, but have sizes %v and %v", n, h.k.Sizes(), h.v.Sizes())
	case outWeight.Dim() != 2:
		h.Failf("out_proj_weight must have 2 dimensions, but has sizes %v", outWeight.Sizes())
	case h.padding != nil && h.padding.Dim() != n-1:
		h.Failf("key_padding_mask must have %d dimensions, one less than query, but has sizes %v", n-1, h.padding.Sizes())
	case h.mask != nil && h.mask.Dim() != 2 && h.mask.Dim() != 3:
		h.Failf("attn_mask must have 2 dimensions, or 3 with heads, but has sizes %v", h.mask.Sizes())
	}
	for i, t := range []*tensor.Tensor{h.padding, h.mask} {
		if t != nil && t.DType() != dtype.Bool && !t.DType().IsFloatingPoint() {
			h.Failf("%s must be of bool or of a floating-point dtype, but is of %v", []string{"key_padding_mask", "attn_mask"}[i],
				t.DType())
		}
	}
	if !h.batched {
		h.q, h.k, h.v = h.Unsqueeze(h.q, 1), h.Unsqueeze(h.k, 1), h.Unsqueeze(h.v, 1)
		if h.padding != nil {
			h.padding = h.Unsqueeze(h.padding, 0)
		}
	}
	h.rows, h.batch, h.keys = h.q.Sizes()[0], h.q.Sizes()[1], h.k.Sizes()[0]
	switch width := h.q.Sizes()[2]; {
	case h.causal && h.mask == nil:
		h.Failf("need attn_mask if specifying the is_causal hint")
	case width != h.embed:
		h.Failf("the last dimension of query must be embed_dim_to_check, %d, but is %d", h.embed, width)
	case h.count <= 0 || h.embed%h.count != 0:
		h.Failf("num_heads must be positive and divide the number of features, %d, but is %d", h.embed, h.count)
	case separate && !slices.Equal(h.k.Sizes()[:2], h.v.Sizes()[:2]):
		h.Failf("key and value must have the same length and batch size, but have sizes %v and %v", h.k.Sizes(), h.v.Sizes())
	case !separate && !slices.Equal(h.k.Sizes(), h.v.Sizes()):
		h.Failf("key and value must have the same sizes without use_separate_proj_weight, but have %v and %v", h.k.Sizes(), h.v.Sizes())
	}
}

// splitThirds returns the parts of a weight or a bias for queries, keys and values.
func (h *heads) splitThirds(t *tensor.Tensor) []*tensor.Tensor {
	if t == nil {
		return make([]*tensor.Tensor, 3)
	}
	parts, err := h.C.Chunk(t, 3, 0)
	for i, part := range parts {
		parts[i] = h.Track(part, err)
	}
	h.Check(err)
	if len(parts) != 3 {
		h.Failf("the size of dimension 0 of the projections of query, key and value must be divisible by 3, but the sizes are %v",
			t.Sizes())
	}
	return parts
}

// projectInputs projects queries, keys and values.
func (h *heads) projectInputs(weights, biases []*tensor.Tensor) {
	for i, t := range []**tensor.Tensor{&h.q, &h.k, &h.v} {
		if weights[i] == nil {
			h.Failf("in_proj_weight is required, or with use_separate_proj_weight q_proj_weight, k_proj_weight and v_proj_weight")
		}
		*t = h.NnLinear(*t, weights[i], biases[i])
	}
}

// convertMasks converts masks to ones that are added to products, the attention mask with a dimension for heads. A mask that is known to be
// causal is dropped.
func (h *heads) convertMasks() {
	added := func(t *tensor.Tensor) *tensor.Tensor {
		if t == nil || t.DType() != dtype.Bool {
			return t
		}
		return h.Where(t, h.FloatNumber(math.Inf(-1)), h.ZerosBeside(h.q, h.q.DType()))
	}
	if h.padding = added(h.padding); h.causal && h.padding == nil && !h.weights {
		h.mask = nil
		return
	}
	h.mask, h.causal = added(h.mask), false
	if h.mask == nil {
		return
	}
	want := []int64{h.rows, h.keys}
	if h.mask.Dim() == 3 {
		want = []int64{h.batch * h.count, h.rows, h.keys}
	}
	if !slices.Equal(h.mask.Sizes(), want) {
		h.Failf("attn_mask must have sizes %v, but has %v", want, h.mask.Sizes())
	}
	if h.mask.Dim() == 2 {
		h.mask = h.Unsqueeze(h.mask, 0)
	}
}

// extendKeys moves the heads of all batch elements to the first dimension, and appends biases and zeros to keys and values.
func (h *heads) extendKeys(biasK, biasV, staticK, staticV *tensor.Tensor, addZero bool) {
	width, all := h.embed/h.count, h.batch*h.count
	if (biasK == nil) != (biasV == nil) {
		h.Failf("bias_k and bias_v must be passed together, or neither of them")
	}
	if biasK != nil && (staticK != nil || staticV != nil) {
		h.Failf("bias cannot be added to static key or static value: bias_k and bias_v must be None with static_k or static_v")
	}
	if biasK != nil {
		for _, t := range []struct{ of, bias **tensor.Tensor }{{&h.k, &biasK}, {&h.v, &biasV}} {
			more := h.Repeat(*t.bias, 1, h.batch, 1)
			*t.of = h.Cat([]*tensor.Tensor{*t.of, more}, 0)
		}
		h.padMasks()
	}
	split := func(t *tensor.Tensor) *tensor.Tensor {
		return h.ReorderDims(h.AsShape(t, t.Sizes()[0], all, width), 1, 0, 2)
	}
	h.q = split(h.q)
	for i, t := range []struct{ of, static **tensor.Tensor }{{&h.k, &staticK}, {&h.v, &staticV}} {
		if *t.static == nil {
			*t.of = split(*t.of)
			continue
		}
		if sizes := (*t.static).Sizes(); len(sizes) != 3 || sizes[0] != all || sizes[2] != width {
			h.Failf("%s must have sizes [%d, n, %d] (batch * heads, length, features of a head), but has %v", []string{"static_k",
				"static_v"}[i], all, width, sizes)
			return
		}
		*t.of = *t.static
	}
	if addZero {
		for _, t := range []**tensor.Tensor{&h.k, &h.v} {
			*t = h.Cat([]*tensor.Tensor{*t, h.ZerosBeside(*t, (*t).DType(), all, 1, width)}, 1)
		}
		h.padMasks()
	}
	h.keys = h.k.Sizes()[1]
}

// padMasks extends the masks by one key, which is visible to all queries.
func (h *heads) padMasks() {
	for _, t := range []**tensor.Tensor{&h.mask, &h.padding} {
		if *t != nil {
			*t = h.ConstantPadNd(*t, []int64{0, 1}, dtype.IntScalar(0))
		}
	}
}

// addMasks adds the key padding mask to the attention mask.
func (h *heads) addMasks() {
	if h.padding == nil {
		return
	}
	if want := []int64{h.batch, h.keys}; !slices.Equal(h.padding.Sizes(), want) {
		h.Failf("key_padding_mask must have sizes %v (batch, keys), but has %v", want, h.padding.Sizes())
	}
	every := h.Expand(h.AsShape(h.padding, h.batch, 1, 1, h.keys), h.batch, h.count, 1, h.keys)
	every = h.AsShape(every, h.batch*h.count, 1, h.keys)
	if h.mask == nil {
		h.mask = every
	} else {
		h.mask = h.Add(h.mask, every)
	}
}

// computeWeights returns the attention weights of all heads.
func (h *heads) computeWeights(dropout float64) *tensor.Tensor {
	scaled := h.Mul(h.q, h.FloatNumber(math.Sqrt(1/float64(h.embed/max(h.count, 1)))))
	transposed := h.ReorderDims(h.k, 0, 2, 1)
	var scores *tensor.Tensor
	if h.mask != nil {
		one := dtype.IntScalar(1)
		scores = h.BaddbmmWith(h.mask, scaled, transposed, one, one)
	} else {
		scores = h.Bmm(scaled, transposed)
	}
	weights := h.Softmax(scores, -1, dtype.None)
	if dropout == 0 {
		return weights
	}
	return h.Dropout(weights, dropout, true)
}

// attendHeads returns the results of all heads, without their weights.
func (h *heads) attendHeads(dropout float64) *tensor.Tensor {
	apart := func(t *tensor.Tensor) *tensor.Tensor {
		return h.AsShape(t, h.batch, h.count, t.Sizes()[1], t.Sizes()[2])
	}
	mask := h.mask
	switch {
	case mask == nil:
	case mask.Sizes()[0] == 1:
		mask = h.Unsqueeze(mask, 0)
	default:
		mask = apart(mask)
	}
	q, k, v := apart(h.q), apart(h.k), apart(h.v)
	result := h.NnScaledDotProductAttention(q, k, v, mask, dropout, h.causal)
	return h.AsShape(result, h.batch*h.count, h.rows, h.embed/max(h.count, 1))
}
