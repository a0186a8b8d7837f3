package sparse

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// makeReshape implements reshape operators: for COO tensors, with unchanged dense dimensions, and for matrices in CSR and CSC layout.
func makeReshape(op string) func(dispatch.Context, *tensor.Tensor, []int64) (*tensor.Tensor, error) {
	return func(c dispatch.Context, self *tensor.Tensor, size []int64) (_ *tensor.Tensor, err error) {
		b := build.New(c, op)
		defer b.Close(&err)
		sizes, err := shape.InferSize(op, size, shape.Product(self.Sizes()))
		if err != nil {
			return nil, err
		}
		return b.Return(reshapeTo(b, self, sizes))
	}
}

func reshapeTo(b *build.Builder, t *tensor.Tensor, sizes []int64) *tensor.Tensor {
	f := formOf(t)
	sparse := len(sizes) - f.dense
	switch {
	case slices.Equal(sizes, t.Sizes()):
		return t
	case f.layout != tensor.COO && (hasBlocks(f.layout) || t.Dim() != 2 || len(sizes) != 2):
		b.Failf("a tensor of layout %v and sizes %v cannot be reshaped to %v; convert with to_sparse() or to_dense()", f.layout, t.Sizes(), sizes)
	case sparse < 0 || !slices.Equal(sizes[sparse:], t.Sizes()[t.Dim()-f.dense:]):
		b.Failf("the dense dimensions, of sizes %v, must remain the last dimensions of the sizes %v; convert with to_dense()",
			t.Sizes()[t.Dim()-f.dense:], sizes)
	}
	x := coordinatesOf(b, t)
	key := flattenIndices(b, x.indices, x.sizes[:x.sparseDim()])
	x.indices = unflattenIndices(b, key, sizes[:sparse])
	x.sizes = sizes
	return assembleForm(b, x, f)
}

// flatten merges adjacent dimensions.
func flatten(c dispatch.Context, self *tensor.Tensor, start, end int64) (*tensor.Tensor, error) {
	const op = "flatten"
	i, err := shape.WrapDim(op, start, self.Dim())
	if err != nil {
		return nil, err
	}
	j, err := shape.WrapDim(op, end, self.Dim())
	if err != nil {
		return nil, err
	}
	if i > j {
		return nil, status.Runtimef("%s: start_dim %d comes after end_dim %d", op, start, end)
	}
	sizes := slices.Clone(self.Sizes())
	if self.Dim() == 0 {
		return makeReshape(op)(c, self, []int64{1})
	}
	return makeReshape(op)(c, self, slices.Replace(sizes, i, j+1, shape.Product(sizes[i:j+1])))
}

// unflatten splits a dimension.
func unflatten(c dispatch.Context, self *tensor.Tensor, dim int64, into []int64) (*tensor.Tensor, error) {
	const op = "unflatten"
	d, err := wrapDim(op, dim, self.Dim())
	if err != nil {
		return nil, err
	}
	if self.Dim() == 0 {
		return nil, status.Runtimef("%s: cannot be applied to a 0-dim tensor", op)
	}
	inferred, err := shape.InferSize(op, into, self.Sizes()[d])
	if err != nil {
		return nil, err
	}
	return makeReshape(op)(c, self, slices.Replace(slices.Clone(self.Sizes()), d, d+1, inferred...))
}

// squeezeDims drops those dimensions of size 1 that are in mask.
func squeezeDims(b *build.Builder, t *tensor.Tensor, mask []bool) *tensor.Tensor {
	sizes, p, sparse := []int64{}, t.Components(), t.Dim()-denseDim(t)
	var rows, dense []int64 // the rows of indices that stay, and the dense dimensions that go
	for d, n := range t.Sizes() {
		drop := mask[d] && n == 1
		switch {
		case !drop && d < sparse:
			rows = append(rows, int64(d))
		case drop && d >= sparse:
			dense = append(dense, int64(d-sparse))
		}
		if !drop {
			sizes = append(sizes, n)
		}
	}
	if len(sizes) == t.Dim() {
		return t
	}
	values := p.Values
	without := func(part *tensor.Tensor, lead int64) *tensor.Tensor {
		for i := len(dense) - 1; i >= 0; i-- {
			part = b.SqueezeDim(part, dense[i]+lead)
		}
		return part
	}
	if t.Layout() == tensor.COO {
		indices := p.Indices[0]
		if len(rows) < sparse {
			kept := []*tensor.Tensor{b.Narrow(indices, 0, 0, 0)}
			for _, d := range rows {
				kept = append(kept, b.Narrow(indices, 0, d, 1))
			}
			indices = b.Cat(kept, 0)
		}
		return assembleCoo(b, coordinates{indices, without(values, 1), sizes, p.Coalesced})
	}
	batch := batchDim(t)
	if !slices.Contains(rows, int64(batch)) || !slices.Contains(rows, int64(batch)+1) {
		b.Failf("the matrix dimensions, of sizes %v, cannot be changed in layout %v; convert with to_sparse() or to_dense()",
			t.Sizes()[batch:batch+2], t.Layout())
	}
	lead := int64(batch + 1)
	if hasBlocks(t.Layout()) {
		lead += 2
	}
	values = without(values, lead)
	parts := []*tensor.Tensor{p.Indices[0], p.Indices[1], values}
	for d := batch - 1; d >= 0; d-- {
		if slices.Contains(rows, int64(d)) {
			continue
		}
		for i, part := range parts {
			parts[i] = b.SqueezeDim(part, int64(d))
		}
	}
	return assembleCompressed(b, t.Layout(), sizes, parts[0], parts[1], parts[2])
}

// squeeze drops dimensions of size 1: those in dims, or all.
func squeeze(c dispatch.Context, out, self *tensor.Tensor, dims []int64, all bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, "squeeze")
	defer b.Close(&err)
	mask, err := shape.WrapDims(b.Op, dims, self.Dim(), all)
	if err != nil {
		return nil, err
	}
	return writeResult(b, out, squeezeDims(b, self, mask))
}

// moveDims implements movedim.
func moveDims(c dispatch.Context, self *tensor.Tensor, source, destination []int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "movedim")
	defer b.Close(&err)
	order, err := shape.Moved(b.Op, self.Dim(), source, destination)
	if err != nil {
		return nil, err
	}
	dims := make([]int64, len(order))
	for i, d := range order {
		dims[i] = int64(d)
	}
	return b.Return(permuteDims(b, self, dims))
}

// transposeLast is mT.
func transposeLast(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Dim() < 2 {
		return nil, status.Runtimef("mT: only supported on matrices or batches of matrices, got a %dD tensor", self.Dim())
	}
	return transpose(c, nil, self, -2, -1)
}

// adjointMatrix is adjoint of a matrix; a tensor without dimensions is its own.
func adjointMatrix(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	switch self.Dim() {
	case 0:
		return c.Conj(self)
	case 2:
		return adjoint(c, self)
	}
	return nil, status.Runtimef("H: only supported on matrices (2-D tensors), got %d-D tensor; mH takes batches of matrices", self.Dim())
}

// adjoint is mH.
func adjoint(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "adjoint")
	defer b.Close(&err)
	transposed := b.Track(transposeLast(c, self))
	return b.ReturnNew(c.Conj(transposed))
}

// transposeAll is T.
func transposeAll(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	dims := make([]int64, self.Dim())
	for d := range dims {
		dims[d] = int64(self.Dim() - 1 - d)
	}
	return permute(c, self, dims)
}

// expand repeats dimensions of size 1, and adds leading ones, which are sparse.
func expand(c dispatch.Context, self *tensor.Tensor, size []int64, _ bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, "expand")
	defer b.Close(&err)
	sizes, lead := slices.Clone(size), len(size)-self.Dim()
	for d := range sizes {
		if sizes[d] == -1 && d >= lead && lead >= 0 {
			sizes[d] = self.Sizes()[d-lead]
		}
	}
	if slices.ContainsFunc(sizes, func(n int64) bool { return n < 0 }) || !shape.ExpandsTo(self.Sizes(), sizes) {
		b.Failf("a tensor of sizes %v cannot be expanded to %v", self.Sizes(), size)
	}
	return b.Return(broadcastTo(b, self, sizes))
}

// broadcastTo returns t expanded to sizes, in the same layout.
func broadcastTo(b *build.Builder, t *tensor.Tensor, sizes []int64) *tensor.Tensor {
	if slices.Equal(t.Sizes(), sizes) {
		return t
	}
	x, f, lead := coordinatesOf(b, t), formOf(t), len(sizes)-t.Dim()
	sparse := lead + x.sparseDim()
	repeated := func(d int) bool { return d < lead || x.sizes[d-lead] != sizes[d] }
	var along []int64
	for d := range sparse {
		if repeated(d) {
			along = append(along, sizes[d])
		}
	}
	y := coordinates{x.indices, x.values, sizes, x.coalesced}
	if len(along) > 0 {
		n, indices := shape.Product(along), asInt64(b, x.indices)
		each := makeRange(b, x.nnz()*n, x.values.Device())
		of := floorDivInt(b, each, max(n, 1))
		within, rows := unflattenIndices(b, b.Sub(each, mulInt(b, of, n)), along), make([]*tensor.Tensor, sparse)
		k := int64(0)
		for d := range rows {
			if repeated(d) {
				rows[d] = b.Select(within, 0, k)
				k++
			} else {
				rows[d] = b.IndexSelect(b.Select(indices, 0, int64(d-lead)), 0, of)
			}
		}
		y.indices, y.values, y.coalesced = b.Stack(rows, 0), b.IndexSelect(x.values, 0, of), false
	}
	wanted := append([]int64{y.values.Sizes()[0]}, sizes[sparse:]...)
	y.values = b.Expand(y.values, wanted...)
	if x.coalesced {
		y = coalesceCoordinates(b, y)
	}
	return assembleForm(b, y, f)
}

// flip reverses dimensions.
func flip(c dispatch.Context, self *tensor.Tensor, dims []int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "flip")
	defer b.Close(&err)
	mask, err := shape.WrapDims(b.Op, dims, self.Dim(), false)
	if err != nil {
		return nil, err
	}
	x := coordinatesOf(b, self)
	y := coordinates{x.indices, x.values, x.sizes, x.coalesced}
	var rows []*tensor.Tensor
	var dense []int64
	for d, flipped := range mask {
		switch {
		case d >= x.sparseDim() && flipped:
			dense = append(dense, int64(d-x.sparseDim()+1))
		case d < x.sparseDim() && flipped:
			rows = append(rows, b.Sub(b.IntNumber(x.sizes[d]-1), b.Select(x.indices, 0, int64(d))))
		case d < x.sparseDim():
			rows = append(rows, b.Select(x.indices, 0, int64(d)))
		}
	}
	if slices.Contains(mask[:x.sparseDim()], true) {
		y.indices, y.coalesced = b.Stack(rows, 0), false
	}
	if len(dense) > 0 {
		y.values = b.Flip(x.values, dense...)
	}
	if x.coalesced {
		y = coalesceCoordinates(b, y)
	}
	return b.Return(assembleForm(b, y, formOf(self)))
}

// roll shifts dimensions cyclically.
func roll(c dispatch.Context, self *tensor.Tensor, shifts, dims []int64) (_ *tensor.Tensor, err error) {
	b := build.New(c, "roll")
	defer b.Close(&err)
	by, flat, err := ops.RollShifts(self, shifts, dims)
	if err != nil {
		return nil, err
	}
	t := b.Clone(self)
	if flat {
		t = b.Reshape(self, self.Numel())
	}
	for d, first := range by {
		if first == 0 {
			continue
		}
		whole, rest := t, t.Sizes()[d]-first
		end := b.Track(narrow(c, whole, int64(d), rest, first))
		begin := b.Track(narrow(c, whole, int64(d), 0, rest))
		t = b.Cat([]*tensor.Tensor{end, begin}, int64(d))
	}
	if flat {
		t = b.Reshape(t, self.Sizes()...)
	}
	return b.Return(t)
}
