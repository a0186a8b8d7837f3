package composite

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// attention has the operands of one, whose leading dimensions become the same.
type attention struct {
	*build.Builder
	query, key, value, mask *tensor.Tensor
	causal                  bool
	scale                   float64
	grouped                 bool // whether heads are in groups, which one more dimension counts
}

// NnScaledDotProductAttention returns means of values, weighted by the softmax of products of queries and keys.
func NnScaledDotProductAttention(c dispatch.Context, q, k, v, mask *tensor.Tensor, dropout float64, causal bool, scale *float64,
	grouped bool) (_ *tensor.Tensor, err error) {
	a := attention{Builder: build.New(c, "nn_scaled_dot_product_attention"), query: q, key: k, value: v, mask: mask, causal: causal}
	defer a.Close(&err)
	a.checkOperands(dropout)
	a.scale = 1 / math.Sqrt(float64(max(q.Sizes()[q.Dim()-1], 1)))
	if scale != nil {
		a.scale = *scale
	}
	laid := a.hasQueryLayout(grouped)
	a.castOperands(q.DType().Compute(), dropout == 0 && q.Device().Type == device.CPU && backend.ReadsStored(q.DType(),
		q.Sizes()[q.Dim()-2]) && c.Plain(q, k, v, mask))
	if grouped {
		a.groupHeads()
	}
	a.broadcastBatch()
	var result *tensor.Tensor
	if dev := q.Device().Type; dropout > 0 || dev != device.CPU && dev != device.Meta {
		weights := build.AttentionWeights(a.Builder, a.query, a.key, a.mask, causal, a.scale)
		kept := a.Dropout(weights, dropout, true)
		result = a.Matmul(kept, a.value)
	} else {
		made, lse, err := c.NnAttention(a.query, a.key, a.value, a.mask, causal, a.scale, laid)
		result = a.Track(made, err)
		a.Track(lse, nil)
	}
	if a.grouped {
		result = a.Flatten(result, -4, -3)
	}
	return build.WriteResult(a.Builder, nil, a.CastTo(result, q.DType()))
}

// checkOperands returns an error for operands that do not fit each other.
func (a *attention) checkOperands(dropout float64) {
	d := a.query.DType()
	a.Check(checkFloating(a.Op, a.query))
	q, k, v := a.query.Sizes(), a.key.Sizes(), a.value.Sizes()
	switch {
	case a.key.DType() != d || a.value.DType() != d:
		a.Failf("query, key and value must have the same dtype, but have %v, %v and %v", d, a.key.DType(), a.value.DType())
	case min(len(q), len(k), len(v)) < 2:
		a.Failf("query, key and value must have at least 2 dimensions, but have sizes %v, %v and %v", q, k, v)
	case q[len(q)-1] != k[len(k)-1]:
		a.Failf("query and key must have the same last size, but have sizes %v and %v", q, k)
	case k[len(k)-2] != v[len(v)-2]:
		a.Failf("key and value must have the same size in dimension -2, but have sizes %v and %v", k, v)
	case !(dropout >= 0 && dropout <= 1):
		a.Failf("dropout_p must be from 0 to 1, but is %v", dropout)
	case a.mask == nil:
	case a.causal:
		a.Failf("attn_mask must be None when is_causal=True")
	case a.mask.DType() != d && a.mask.DType() != dtype.Bool && a.mask.DType() != dtype.Float32:
		a.Failf("attn_mask must be of bool, of float32 or of the dtype of query, %v, but is of %v", d, a.mask.DType())
	case a.mask.Dim() < 2:
		a.Failf("attn_mask must have shape (..., queries, keys), but has sizes %v", a.mask.Sizes())
	}
}

// hasQueryLayout reports whether the result has the memory layout of query. This holds for shapes that PyTorch's kernel takes, which does
// not broadcast.
func (a *attention) hasQueryLayout(grouped bool) bool {
	q, k, v := a.query.Sizes(), a.key.Sizes(), a.value.Sizes()
	first := len(q) - 2
	if grouped {
		first--
	}
	return len(q) <= 4 && len(k) == len(q) && slices.Equal(k[:len(k)-1], v[:len(v)-1]) && first >= 0 && slices.Equal(q[:first], k[:first])
}

// castOperands casts the operands to the compute dtype d, and converts the mask to one that is added. Keys and values can be read in the
// dtype that they are stored in.
func (a *attention) castOperands(d dtype.DType, stored bool) {
	if a.query = a.CastTo(a.query, d); !stored {
		a.key, a.value = a.CastTo(a.key, d), a.CastTo(a.value, d)
	}
	switch {
	case a.mask == nil:
	case a.mask.DType() == dtype.Bool:
		a.mask = a.Where(a.mask, a.ZerosBeside(a.query, d), a.FloatNumber(math.Inf(-1)))
	default:
		a.mask = a.CastTo(a.mask, d)
	}
}

// groupHeads splits the heads of query into groups that share a head of key and value.
func (a *attention) groupHeads() {
	heads := func(t *tensor.Tensor) int64 { return t.Sizes()[t.Dim()-3] }
	if min(a.query.Dim(), a.key.Dim(), a.value.Dim()) < 3 {
		a.Check(status.Indexf("%s: query, key and value must have shape (..., heads, length, features) with enable_gqa, but have sizes %v, %v and %v",
			a.Op, a.query.Sizes(), a.key.Sizes(), a.value.Sizes()))
		return
	}
	n := heads(a.query)
	for _, t := range []*tensor.Tensor{a.key, a.value} {
		if heads(t) == 0 || n%heads(t) != 0 {
			a.Failf("the number of heads of query, %d, must be divisible by those of key and value, %d and %d", n, heads(a.key),
				heads(a.value))
			return
		}
	}
	if heads(a.key) != heads(a.value) {
		for _, t := range []**tensor.Tensor{&a.key, &a.value} {
			*t = a.RepeatInterleaveSelf(*t, n/heads(*t), -3)
		}
	}
	shared := heads(a.key)
	if shared == n {
		return
	}
	a.grouped = true
	a.query = a.splitHeads(a.query, shared)
	a.key, a.value = a.Unsqueeze(a.key, -3), a.Unsqueeze(a.value, -3)
}

// splitHeads splits the dimension of heads into groups and heads per group.
func (a *attention) splitHeads(t *tensor.Tensor, groups int64) *tensor.Tensor {
	return a.Unflatten(t, -3, groups, t.Sizes()[t.Dim()-3]/groups)
}

// broadcastBatch broadcasts the leading dimensions of all operands; those of a mask may stay 1.
func (a *attention) broadcastBatch() {
	first := func(t *tensor.Tensor) []int64 { return t.Sizes()[:t.Dim()-2] }
	all, err := shape.Broadcast(a.Op, first(a.query), first(a.key))
	a.Check(err)
	all, err = shape.Broadcast(a.Op, all, first(a.value))
	a.Check(err)
	spread := func(t *tensor.Tensor, lead []int64, rows, columns int64) *tensor.Tensor {
		sizes := append(slices.Clone(lead), rows, columns)
		if slices.Equal(sizes, t.Sizes()) {
			return t
		}
		return a.Expand(t, sizes...)
	}
	if a.mask != nil {
		lead := all
		groups := int64(0)
		if a.grouped {
			groups = all[len(all)-2]
			lead = append(slices.Clone(all[:len(all)-2]), groups*all[len(all)-1])
		}
		a.mask = spread(a.mask, lead, a.query.Sizes()[a.query.Dim()-2], a.key.Sizes()[a.key.Dim()-2])
		if a.grouped {
			a.mask = a.splitHeads(a.mask, groups)
		}
	}
	for _, t := range []**tensor.Tensor{&a.query, &a.key, &a.value} {
		n := (*t).Dim()
		*t = spread(*t, all, (*t).Sizes()[n-2], (*t).Sizes()[n-1])
	}
}
