package composite

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// segmentKinds maps the reductions of segment_reduce to those of scatter_reduce, and to the result for no elements.
var segmentKinds = map[string]struct {
	scatter string
	nothing dtype.Scalar
}{
	"sum":  {"sum", dtype.FloatScalar(0)},
	"mean": {"sum", dtype.FloatScalar(0)},
	"prod": {"prod", dtype.FloatScalar(1)},
	"max":  {"amax", dtype.FloatScalar(math.Inf(-1))},
	"min":  {"amin", dtype.FloatScalar(math.Inf(1))},
	"amax": {"amax", dtype.FloatScalar(math.Inf(-1))},
	"amin": {"amin", dtype.FloatScalar(math.Inf(1))},
}

// SegmentReduce reduces each segment of data along axis. Each position is assigned the number of its segment, from 1, for a scatter;
// positions before the first and after the last segment are assigned to two extra segments, which are dropped.
func SegmentReduce(c dispatch.Context, data *tensor.Tensor, reduce string, lengths, indices, offsets *tensor.Tensor, axis int64,
	unchecked bool, initial dtype.Scalar) (_ *tensor.Tensor, err error) {
	const op = "segment_reduce"
	kind, known := segmentKinds[reduce]
	of := lengths
	if of == nil {
		of = offsets
	}
	switch {
	case !known:
		return nil, status.Runtimef("%s: reduce must be one of sum, mean, max, min, prod, amax, amin, got %q", op, reduce)
	case !data.DType().IsFloatingPoint():
		return nil, status.NotImplementedf("%s: data must be floating point, got %v", op, data.DType())
	case indices != nil:
		return nil, status.Runtimef("%s: indices based reduction is not supported; use lengths or offsets", op)
	case of == nil:
		return nil, status.Runtimef("%s: either lengths or offsets must be given", op)
	case of.DType() != dtype.Int64 && of.DType() != dtype.Int32:
		return nil, status.NotImplementedf("%s: lengths and offsets must be int32 or int64, got %v", op, of.DType())
	}
	at, err := shape.WrapDim(op, axis, data.Dim())
	if err != nil {
		return nil, err
	}
	switch {
	case of.Dim() > data.Dim():
		return nil, status.Runtimef("%s: lengths or offsets of shape %v have more dimensions than data, of shape %v", op, of.Sizes(),
			data.Sizes())
	case at != of.Dim()-1:
		return nil, status.Runtimef("%s: axis must be the last dimension of lengths or offsets, which have shape %v, but is %d", op,
			of.Sizes(), at)
	case !slices.Equal(data.Sizes()[:at], of.Sizes()[:at]):
		return nil, status.Runtimef("%s: lengths or offsets of shape %v must have the same first %d dimensions as data of shape %v", op,
			of.Sizes(), at, data.Sizes())
	case lengths == nil && of.Sizes()[at] == 0:
		return nil, status.Runtimef("%s: offsets must have at least one element, the end of the last segment", op)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	n := data.Sizes()[at]
	bounds := b.CastTo(of, dtype.Int64)
	if lengths != nil {
		bounds = computeOffsets(b, bounds, n, unchecked)
	} else if !unchecked {
		checkOffsets(b, bounds, n)
	}
	segments := bounds.Sizes()[at] - 1
	place := b.ArangeWith(dtype.IntScalar(n), dtype.Int64, tensor.NoLayout, data.Device())
	before := append(slices.Clone(data.Sizes()[:at]), n)
	places := b.AsContiguous(b.Expand(place, before...))
	number := b.SearchsortedWith(bounds, places, false, true, "", nil)
	for range data.Dim() - at - 1 {
		number = b.Unsqueeze(number, -1)
	}
	start := kind.nothing
	if !initial.IsNone() {
		start = initial
	}
	sizes := slices.Clone(data.Sizes())
	sizes[at] = segments + 2
	empty := b.FullWith(sizes, start, data.DType(), tensor.NoLayout, data.Device())
	number = b.Expand(number, data.Sizes()...)
	result := b.ScatterReduce(empty, int64(at), number, data, kind.scatter)
	result = b.Narrow(result, int64(at), 1, segments)
	if reduce == "mean" {
		count := b.Diff(bounds, 1, -1, nil, nil)
		if !initial.IsNone() {
			count = b.ClampMin(count, b.Number(dtype.IntScalar(1)))
		}
		for range data.Dim() - at - 1 {
			count = b.Unsqueeze(count, -1)
		}
		result = b.Div(result, b.CastTo(count, data.DType()))
	}
	return build.WriteResult(b, nil, b.AsContiguous(result))
}

// computeOffsets returns the start of each segment of the given lengths, and the end of the last one.
func computeOffsets(b *build.Builder, lengths *tensor.Tensor, n int64, unchecked bool) *tensor.Tensor {
	ends := b.CumsumWith(lengths, -1, dtype.Int64)
	sizes := slices.Clone(lengths.Sizes())
	last := len(sizes) - 1
	sizes[last] = 1
	first := b.FullWith(sizes, dtype.IntScalar(0), dtype.Int64, tensor.NoLayout, lengths.Device())
	result := b.Cat([]*tensor.Tensor{first, ends}, -1)
	if unchecked {
		return result
	}
	if hasAny(b, b.Lt, lengths, 0) {
		b.Failf("lengths contain a negative value")
	}
	total := b.Narrow(result, -1, lengths.Sizes()[last], 1)
	if hasAny(b, b.Ne, total, n) {
		b.Failf("lengths must sum up to the size of data along axis, %d, unless unsafe is set", n)
	}
	return result
}

// checkOffsets returns an error for offsets that decrease, or are outside of [0, n].
func checkOffsets(b *build.Builder, offsets *tensor.Tensor, n int64) {
	steps := b.Diff(offsets, 1, -1, nil, nil)
	if hasAny(b, b.Lt, steps, 0) || hasAny(b, b.Lt, offsets, 0) || hasAny(b, b.Gt, offsets, n) {
		b.Failf("offsets must not decrease, and must be from 0 to %d, the size of data along axis", n)
	}
}

// hasAny reports whether the comparison holds for an element of t. It returns false if the elements are unknown.
func hasAny(b *build.Builder, compare func(x, y *tensor.Tensor) *tensor.Tensor, t *tensor.Tensor, v int64) bool {
	found := compare(t, b.IntNumber(v))
	any, known := b.ReadElement(b.Any(found, nil, false))
	return known && any.Bool()
}
