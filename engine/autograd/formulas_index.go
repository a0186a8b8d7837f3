package autograd

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// arangeLike returns a tensor of the given sizes with the number of each element.
func (s *steps) arangeLike(dev device.Device, sizes ...int64) *tensor.Tensor {
	all := s.ArangeWith(dtype.IntScalar(shape.Product(sizes)), dtype.Int64, tensor.NoLayout, dev)
	return s.Reshape(all, slices.Clone(sizes)...)
}

// allOf is the index item `:`, which selects a whole dimension.
var allOf = ops.IndexItem{Kind: ops.IndexSlice, Start: int64(ops.NoInt), Stop: int64(ops.NoInt), Step: int64(ops.NoInt)}

// indexItems returns the indices of index_put as an index.
func (s *steps) indexItems(indices []*tensor.Tensor) []ops.IndexItem {
	list := make([]ops.IndexItem, len(indices))
	for i, t := range indices {
		list[i] = ops.IndexItem{Kind: ops.IndexTensor, Tensor: t}
		if t == nil {
			list[i] = allOf
		}
	}
	return list
}

// recordIndexGet records self[index], which is a view where no tensor is among the items.
func recordIndexGet(c dispatch.Context, self *tensor.Tensor, items []ops.IndexItem) (*tensor.Tensor, error) {
	r, err := beginCall(c, "index_get", indexName(items), nil, self)
	if err != nil {
		return nil, err
	}
	kept := r.saveIndex("indices", items, r.node != nil)
	if err := r.err; err != nil {
		r.releaseNode()
		return nil, err
	}
	result, err := r.c.IndexGet(self, items)
	if isView(items) {
		if r.finishViews(err, result) {
			items := slices.Clone(items)
			r.markViews(self, func(c dispatch.Context, base *tensor.Tensor) ([]*tensor.Tensor, error) {
				return singleView(c.IndexGet(base, items))
			}, result)
		}
		return result, err
	}
	if r.setGradFns(err, result) {
		origin := likeOf(self)
		r.node.formula = func(s *steps, _ int) *tensor.Tensor {
			return s.addAtIndex(origin, s.savedIndex(kept), s.grad(0))
		}
	}
	return result, err
}

// addAtIndex returns a tensor of zeros to which grad is added where an index with tensors leads.
func (s *steps) addAtIndex(l like, items []ops.IndexItem, grad *tensor.Tensor) *tensor.Tensor {
	grad = s.toStrided(grad)
	r, err := beginCall(s.C, "backward", "IndexPutBackward0", nil, grad)
	s.Check(err)
	defer r.dropUnfinished()
	kept := r.saveIndex("indices", items, r.node != nil)
	s.Check(r.err)
	made := s.zerosOf(l)
	inner := &steps{Builder: build.Builder{C: r.c}}
	defer inner.Close()
	part, indices, repeats := inner.byDimension(made, items)
	if indices == nil {
		s.Check(r.c.Copy(part, grad, false))
	} else {
		_, err = r.c.IndexPut(part, part, indices, grad, repeats)
		s.Check(err)
	}
	if r.setGradFns(nil, made) {
		r.node.formula = func(s *steps, _ int) *tensor.Tensor { return s.IndexGet(s.grad(0), s.savedIndex(kept)) }
	}
	return made
}

// byDimension returns an index in two steps: a view of t, and the tensors that index its dimensions, none where the view is all. Masks
// alone name no element twice.
func (s *steps) byDimension(t *tensor.Tensor, items []ops.IndexItem) (part *tensor.Tensor, indices []*tensor.Tensor, repeats bool) {
	var basic []ops.IndexItem
	dims, ellipsis, tensors := 0, -1, false
	for _, item := range items {
		if position, ok := item.Position(); ok {
			basic = append(basic, ops.IndexItem{Kind: ops.IndexInt, Start: position})
			continue
		}
		by, covers, step := item.Tensor, 1, item
		switch item.Kind {
		case ops.IndexEllipsis:
			ellipsis = len(indices)
			basic = append(basic, item)
			continue
		case ops.IndexBool:
			by = s.fullOf(chooseValue(item.Start != 0, 1.0, 0), dtype.Bool, device.Host)
			step.Kind = ops.IndexNewAxis
		case ops.IndexTensor:
			step = allOf
			if ops.IsMask(by) {
				covers = by.Dim()
			} else {
				repeats = true
			}
			if covers == 0 {
				step.Kind, covers = ops.IndexNewAxis, 1
			}
		}
		tensors = tensors || by != nil
		indices = append(indices, by)
		basic = append(basic, slices.Repeat([]ops.IndexItem{step}, covers)...)
		dims += covers
	}
	part = s.IndexGet(t, basic)
	if !tensors {
		return part, nil, false
	}
	if ellipsis >= 0 {
		indices = slices.Insert(indices, ellipsis, make([]*tensor.Tensor, part.Dim()-dims)...)
	}
	return part, indices, repeats
}

// indexName returns the name of a call with an index: of the last step that changes anything, where steps take the items by turns.
func indexName(items []ops.IndexItem) string {
	if !isView(items) {
		return "IndexBackward0"
	}
	for _, item := range slices.Backward(items) {
		switch item.Kind {
		case ops.IndexInt:
			return "SelectBackward0"
		case ops.IndexNewAxis:
			return "UnsqueezeBackward0"
		case ops.IndexSlice:
			if item.Start != int64(ops.NoInt) || item.Stop != int64(ops.NoInt) || item.Step != int64(ops.NoInt) && item.Step != 1 {
				return "SliceBackward0"
			}
		}
	}
	return "AliasBackward0"
}

// putName returns the name of the node of an indexed assignment.
func putName(items []ops.IndexItem) string {
	return chooseValue(isView(items), "CopySlices", "IndexPutBackward0")
}

// isView reports whether an index results in a view.
func isView(items []ops.IndexItem) bool {
	return !slices.ContainsFunc(items, func(i ops.IndexItem) bool { return i.Kind == ops.IndexTensor || i.Kind == ops.IndexBool })
}

// recordIndexSet records self[index] = value, whose leading dimensions of size 1 do not count.
func recordIndexSet(c dispatch.Context, self *tensor.Tensor, items []ops.IndexItem, value *tensor.Tensor) error {
	if lead := shape.LeadingOnes(value.Sizes()); lead > 0 {
		stripped, err := c.View(value, slices.Clone(value.Sizes()[lead:]))
		if err != nil {
			return err
		}
		defer stripped.Release()
		value = stripped
	}
	if isRecording(c, self, value) {
		set := func(t *tensor.Tensor, items []ops.IndexItem) error { return c.IndexSet(t, items, value) }
		if done, err := setShared(c, self, items, value.Numel() == 1 && (!isView(items) || value.IsWrappedNumber()), set); done {
			return err
		}
	}
	r, err := beginCall(c, "index_put_", putName(items), self, self, value)
	if err != nil {
		return err
	}
	kept := r.saveIndex("indices", items, r.node != nil)
	if err := r.err; err != nil {
		r.releaseNode()
		return err
	}
	err = r.c.IndexSet(self, items, value)
	if r.setGradFns(err, self) {
		r.node.formula = func(s *steps, i int) *tensor.Tensor {
			if i == 1 {
				return s.IndexGet(s.grad(0), s.savedIndex(kept))
			}
			return s.zeroAtIndex(s.grad(0), s.savedIndex(kept))
		}
		r.setInplaceGradFn()
	}
	return err
}

// recordIndexSetScalar records self[index] = number.
func recordIndexSetScalar(c dispatch.Context, self *tensor.Tensor, items []ops.IndexItem, value dtype.Scalar) error {
	if isRecording(c, self) {
		set := func(t *tensor.Tensor, items []ops.IndexItem) error { return c.IndexSetScalar(t, items, value) }
		if done, err := setShared(c, self, items, true, set); done {
			return err
		}
	}
	r, err := beginCall(c, "index_put_", putName(items), self, self)
	if err != nil {
		return err
	}
	kept := r.saveIndex("indices", items, r.node != nil)
	if err := r.err; err != nil {
		r.releaseNode()
		return err
	}
	err = r.c.IndexSetScalar(self, items, value)
	if r.setGradFns(err, self) {
		r.node.formula = func(s *steps, _ int) *tensor.Tensor { return s.zeroAtIndex(s.grad(0), s.savedIndex(kept)) }
		r.setInplaceGradFn()
	}
	return err
}

// sharedPart returns the indexed part of a tensor with overlapping elements, and the index to assign to in it. An assignment also changes
// the overlapping elements, so that it is recorded for all of self. With one set, a single value is assigned, and elements of the part may
// overlap; otherwise sharedPart returns nil for such a part, which is rejected.
func (s *steps) sharedPart(self *tensor.Tensor, items []ops.IndexItem, one bool) (*tensor.Tensor, []ops.IndexItem) {
	if isView(items) {
		if part := s.IndexGet(self, items); !tensoriter.SelfOverlaps(part) {
			return part, []ops.IndexItem{{Kind: ops.IndexEllipsis}}
		}
	}
	if !one {
		return nil, nil
	}
	length := int64(1)
	for d, size := range self.Sizes() {
		length += (size - 1) * self.Strides()[d]
	}
	places := s.AsStrided(s.arangeLike(self.Device(), length), slices.Clone(self.Sizes()), slices.Clone(self.Strides()), ops.Int(0))
	at := ops.IndexItem{Kind: ops.IndexTensor, Tensor: s.Contiguous(s.IndexGet(places, items))}
	if self.Device().Type != device.Meta { // each place once, where the value's gradient is added up
		mask := s.fullOf(0, dtype.Bool, self.Device(), length)
		s.Check(s.C.IndexSetScalar(mask, []ops.IndexItem{at}, dtype.IntScalar(1)))
		at.Tensor = mask
	}
	return s.AsStrided(self, []int64{length}, []int64{1}, ops.Int(self.Offset())), []ops.IndexItem{at}
}

// setShared assigns to the indexed part of a tensor with overlapping elements. It returns false if the assignment can be recorded as one to
// self.
func setShared(c dispatch.Context, self *tensor.Tensor, items []ops.IndexItem, one bool,
	set func(t *tensor.Tensor, items []ops.IndexItem) error) (done bool, err error) {
	if !tensoriter.SelfOverlaps(self) {
		return false, nil
	}
	s := &steps{Builder: build.Builder{C: c}}
	defer s.Close()
	part, err := s.Evaluate(func() (part *tensor.Tensor) {
		part, items = s.sharedPart(self, items, one)
		return part
	})
	if part == nil || err != nil {
		return err != nil, err
	}
	defer part.Release()
	return true, set(part, items)
}

// zeroAtIndex returns t with zeros at an index.
func (s *steps) zeroAtIndex(t *tensor.Tensor, items []ops.IndexItem) *tensor.Tensor {
	made := s.CloneWith(t, shape.Preserve)
	s.Check(s.C.IndexSetScalar(made, items, dtype.IntScalar(0)))
	return made
}

func (s *steps) maskedSelectGradient(grad *tensor.Tensor, l like, mask *tensor.Tensor) *tensor.Tensor {
	sizes, err := shape.Broadcast("backward", l.sizes(), mask.Sizes())
	s.Check(err)
	zeros := s.fullOf(0, l.dtype, l.device, sizes...)
	return s.runOver(zeros, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.C.MaskedScatter(out, zeros, mask, grad) })
}

func (s *steps) maskedScatterGradient(grad, mask *tensor.Tensor, sizes []int64) *tensor.Tensor {
	taken := s.MaskedSelect(grad, mask)
	missing := shape.Product(sizes) - taken.Numel()
	return s.Reshape(s.ConstantPadNd(taken, []int64{0, missing}, dtype.IntScalar(0)), sizes...)
}

// gatherGradient adds the gradients of the gathered elements up; with sparse it returns a COO tensor with an entry for each of them.
func (s *steps) gatherGradient(grad *tensor.Tensor, l like, dim int64, index *tensor.Tensor, sparse bool) *tensor.Tensor {
	if sparse && componentsOf(grad) == nil && !hasWrapper([]*tensor.Tensor{grad, index}) {
		return s.gatheredEntries(grad, l, dim, index)
	}
	zeros := s.zerosOf(l)
	return s.runOver(zeros, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.C.ScatterAdd(out, zeros, dim, index, grad) })
}

// gatheredEntries returns the sparse gradient of gather.
func (s *steps) gatheredEntries(grad *tensor.Tensor, l like, dim int64, index *tensor.Tensor) *tensor.Tensor {
	d, err := shape.WrapDim("gather", dim, index.Dim())
	s.Check(err)
	n, flat := index.Numel(), []int64{index.Numel()}
	rows := make([]*tensor.Tensor, index.Dim())
	for k, size := range index.Sizes() {
		at := s.castTo(index, dtype.Int64)
		if k != d {
			line := make([]int64, index.Dim())
			for i := range line {
				line[i] = 1
			}
			line[k] = size
			at = s.Expand(s.arangeLike(index.Device(), line...), slices.Clone(index.Sizes())...)
		}
		rows[k] = s.Reshape(at, flat...)
	}
	indices := s.fullOf(0, dtype.Int64, index.Device(), 0, n)
	if len(rows) > 0 {
		indices = s.Stack(rows, 0)
	}
	return s.SparseCooTensorWith(indices, s.Reshape(grad, flat...), slices.Clone(l.sizes()), dtype.None, l.device, ops.NoBool)
}

// takeAlongDim is take_along_dim.
func (s *steps) takeAlongDim(self, indices *tensor.Tensor, dim ops.Int) *tensor.Tensor {
	if dim.IsNone() {
		all := []int64{-1}
		indices = s.wrapNegative(indices, self.Numel())
		return s.Gather(s.Reshape(self, all...), 0, s.Reshape(indices, all...))
	}
	if self.Dim() != indices.Dim() || self.Dim() == 0 {
		return s.Track(ops.TakeAlongDim(nil, self, indices, dim)) // which returns an error for them
	}
	d, err := shape.WrapDim("take_along_dim", int64(dim), self.Dim())
	s.Check(err)
	of, at := slices.Clone(self.Sizes()), slices.Clone(indices.Sizes())
	of[d], at[d] = 1, 1
	sizes, err := shape.Broadcast("take_along_dim", of, at)
	s.Check(err)
	indices = s.wrapNegative(indices, self.Sizes()[d])
	wide := func(t *tensor.Tensor) *tensor.Tensor {
		sizes := slices.Clone(sizes)
		sizes[d] = t.Sizes()[d]
		return s.Expand(t, sizes...)
	}
	return s.Gather(wide(self), int64(d), wide(indices))
}

// wrapNegative returns indices of n elements, with negative ones counted from the end.
func (s *steps) wrapNegative(indices *tensor.Tensor, n int64) *tensor.Tensor {
	negative := func() *tensor.Tensor { return s.Lt(indices, s.int(0)) }
	if backend.Known(indices) && !s.anyTrue(negative()) {
		return indices
	}
	mask, above := negative(), s.add(indices, s.int(n))
	return s.releaseUsed(mask, s.releaseUsed(above, s.Where(mask, above, indices)))
}

// takeGradient returns the gradient of the tensor that elements were taken from.
func (s *steps) takeGradient(grad, index *tensor.Tensor, l like) *tensor.Tensor {
	zeros := s.zerosOf(l)
	return s.runOver(zeros, func(out *tensor.Tensor) (*tensor.Tensor, error) { return s.C.Put(out, zeros, index, grad, true) })
}

// scatterSourceGradient returns the gradient of the source of a scatter, which is zero beyond the index.
func (s *steps) scatterSourceGradient(grad *tensor.Tensor, dim int64, index *tensor.Tensor, sizes []int64) *tensor.Tensor {
	taken := s.Gather(grad, dim, index)
	if slices.Equal(taken.Sizes(), sizes) {
		return taken
	}
	if taken.Dim() != len(sizes) { // reshaped by hooks of saved tensors
		s.Check(status.Runtimef("backward: the index has sizes %v, but the tensor that was scattered to has sizes %v", index.Sizes(), sizes))
	}
	var pad []int64
	for d := len(sizes) - 1; d >= 0; d-- {
		pad = append(pad, 0, sizes[d]-taken.Sizes()[d])
	}
	return s.ConstantPadNd(taken, pad, dtype.IntScalar(0))
}

// scatterIndex returns the index of index_reduce as one of scatter_reduce.
func (s *steps) scatterIndex(index *tensor.Tensor, dim int64, sizes []int64) *tensor.Tensor {
	if len(sizes) == 0 {
		return s.Reshape(index)
	}
	d, err := shape.WrapDim("backward", dim, len(sizes))
	s.Check(err)
	wide := slices.Repeat([]int64{1}, len(sizes))
	wide[d] = index.Numel()
	return s.Expand(s.Reshape(index, wide...), sizes...)
}

func (s *steps) scatterReduceSelf(grad, self *tensor.Tensor, dim int64, index, src *tensor.Tensor, reduce string, includeSelf bool,
	result *tensor.Tensor) *tensor.Tensor {
	return s.scatterPieces(self, self, dim, index, src, func(s *steps, part func(t *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
		return s.scatterReduceKept(part(grad), part(self), dim, part(index), part(src), reduce, includeSelf, part(result))
	})
}

func (s *steps) scatterReduceSource(grad, self *tensor.Tensor, dim int64, index, src *tensor.Tensor, reduce string, includeSelf bool,
	result *tensor.Tensor) *tensor.Tensor {
	return s.scatterPieces(src, self, dim, index, src, func(s *steps, part func(t *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
		return s.scatterReduceTaken(part(grad), part(self), dim, part(index), part(src), reduce, includeSelf, part(result))
	})
}

// scatterPieces is inPieces for the gradient of an operand of a scatter reduction, with independent rows.
func (s *steps) scatterPieces(of, self *tensor.Tensor, dim int64, index, src *tensor.Tensor,
	f func(s *steps, part func(t *tensor.Tensor) *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	if of.Dim() == 0 {
		return f(s, func(t *tensor.Tensor) *tensor.Tensor { return t })
	}
	return s.inPieces(of, of.DType(), s.uncutAlong(of, dim, self, index, src), f)
}

func (s *steps) scatterReduceKept(grad, self *tensor.Tensor, dim int64, index, src *tensor.Tensor, reduce string, includeSelf bool,
	result *tensor.Tensor) *tensor.Tensor {
	var made *tensor.Tensor
	switch reduce {
	case "sum":
		made = grad
	case "prod":
		filled := s.MaskedFill(self, s.isZero(self), s.int(1))
		product := s.ScatterReduceWith(filled, dim, index, src, reduce, includeSelf)
		made = s.div(s.mul(grad, product), filled)
	case "mean":
		made = s.div(grad, s.scatterCount(self, dim, index, src, includeSelf))
	default:
		made = s.div(s.Where(s.Eq(self, result), grad, s.int(0)), s.scatterTies(self, dim, index, src, result))
	}
	if includeSelf {
		return made
	}
	return s.ScatterValue(made, dim, index, dtype.IntScalar(0))
}

func (s *steps) scatterReduceTaken(grad, self *tensor.Tensor, dim int64, index, src *tensor.Tensor, reduce string, includeSelf bool,
	result *tensor.Tensor) *tensor.Tensor {
	gather := func(t *tensor.Tensor) *tensor.Tensor { return s.scatterSourceGradient(t, dim, index, src.Sizes()) }
	switch reduce {
	case "sum":
		return gather(grad)
	case "prod":
		zero := s.isZero(src)
		zeros := gather(s.ScatterAdd(s.zerosLike(self), dim, index, s.castTo(zero, self.DType())))
		alone := s.LogicalAnd(zero, s.Eq(zeros, s.int(1)))
		product := s.ScatterReduceWith(self, dim, index, s.MaskedFill(src, alone, s.int(1)), reduce, includeSelf)
		others := s.div(gather(s.mul(grad, result)), s.MaskedFill(src, zero, s.int(1)))
		return s.Where(alone, gather(s.mul(grad, product)), others)
	case "mean":
		return gather(s.div(grad, s.scatterCount(self, dim, index, src, includeSelf)))
	}
	ties := s.scatterTies(self, dim, index, src, result)
	ties = gather(s.Where(s.isZero(ties), s.float(math.NaN()), ties)) // of a NaN, which is equal to nothing
	ties = s.oneWhereZero(ties, s.isZero(ties))                       // for elements without a position
	return s.div(s.Where(s.Eq(src, gather(result)), gather(grad), s.int(0)), ties)
}

// scatterCount returns how many values each mean is of.
func (s *steps) scatterCount(self *tensor.Tensor, dim int64, index, src *tensor.Tensor, includeSelf bool) *tensor.Tensor {
	start := s.fullOf(chooseValue(includeSelf, 1.0, 0.0), self.DType(), self.Device(), self.Sizes()...)
	counts := s.ScatterAdd(start, dim, index, s.fullOf(1, self.DType(), self.Device(), src.Sizes()...))
	return s.MaskedFill(counts, s.isZero(counts), s.int(1))
}

// scatterTies returns how many values each extreme is shared by.
func (s *steps) scatterTies(self *tensor.Tensor, dim int64, index, src, result *tensor.Tensor) *tensor.Tensor {
	equal := s.Eq(src, s.scatterSourceGradient(result, dim, index, src.Sizes()))
	return s.ScatterAdd(s.castTo(s.Eq(self, result), self.DType()), dim, index, s.castTo(equal, self.DType()))
}

// recordSegmentReduce records min and max as one node. Their gradient is shared by NaNs and elements equal to the result, and not by the
// initial values. Other reductions are recorded as their decomposition.
func recordSegmentReduce(c dispatch.Context, data *tensor.Tensor, reduce string, lengths, indices, offsets *tensor.Tensor, axis int64,
	unsafe bool, initial dtype.Scalar) (*tensor.Tensor, error) {
	const name = "SegmentReduceBackward0"
	if !slices.Contains([]string{"max", "min", "amax", "amin"}, reduce) {
		since := numbers.Load()
		result, err := dispatch.CompositeOps().SegmentReduce(c, data, reduce, lengths, indices, offsets, axis, unsafe, initial)
		if err == nil {
			renameNodes(since, name, result)
		}
		return result, err
	}
	r, err := beginCall(c, "segment_reduce", name, nil, data)
	if err != nil {
		return nil, err
	}
	data_, lengths_, offsets_ := r.saveOperand("data", data, r.needsGrad(0)), r.saveOperand("lengths", lengths, r.needsGrad(0)),
		r.saveOperand("offsets", offsets, r.needsGrad(0))
	if r.err != nil {
		r.releaseNode()
		return nil, r.err
	}
	result, err := dispatch.CompositeOps().SegmentReduce(r.c, data, reduce, lengths, indices, offsets, axis, unsafe, initial)
	if !r.setGradFns(err, result) {
		return result, err
	}
	result_ := r.saveResult("result", result, 0, true)
	if err := r.releaseResults(result); err != nil {
		return nil, err
	}
	r.node.formula = func(s *steps, _ int) *tensor.Tensor {
		return s.segmentExtremes(s.grad(0), s.saved(data_), s.saved(lengths_), s.saved(offsets_), s.saved(result_))
	}
	return result, nil
}

// segmentExtremes returns the gradient of the largest or smallest element of each segment, which those that are it share.
func (s *steps) segmentExtremes(grad, data, lengths, offsets, result *tensor.Tensor) *tensor.Tensor {
	ends, first := offsets, int64(0) // the ends of segments, and the number of positions before the first one
	if lengths != nil {
		ends, first = s.CumsumWith(lengths, -1, dtype.Int64), 1
	}
	at := ends.Dim() - 1
	places := s.ArangeWith(dtype.IntScalar(data.Sizes()[at]), ends.DType(), tensor.NoLayout, data.Device())
	places = s.Contiguous(s.Expand(places, data.Sizes()[:at+1]...))
	number := s.add(s.SearchsortedWith(ends, places, false, true, "", nil), s.int(first))
	for number.Dim() < data.Dim() {
		number = s.Unsqueeze(number, -1)
	}
	number = s.Expand(number, data.Sizes()...)
	around := make([]int64, 2*(data.Dim()-at)) // one position before the segments and one after them
	around[len(around)-2], around[len(around)-1] = 1, 1
	gather := func(t *tensor.Tensor) *tensor.Tensor {
		return s.scatterSourceGradient(t, int64(at), number, data.Sizes())
	}
	padded := func(t *tensor.Tensor) *tensor.Tensor {
		return s.ConstantPadNd(t, around, dtype.IntScalar(0))
	}
	is := s.LogicalOr(s.Eq(data, gather(padded(result))), s.Isnan(data))
	none := s.zerosLike(padded(grad))
	ties := s.ScatterAdd(none, int64(at), number, s.castTo(is, data.DType()))
	ties = s.MaskedFill(ties, s.isZero(ties), s.int(1)) // the initial value is the extreme of the segment
	return s.Where(is, s.div(gather(padded(grad)), gather(ties)), s.zerosLike(data))
}
