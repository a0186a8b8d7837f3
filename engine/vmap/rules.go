package vmap

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// decomposeCall is the rule of composite operators whose decomposition has the same derivatives as their formula, or reads elements that
// differ in the batch, such as lengths.
func (b *batch) decomposeCall() bool {
	b.runDecomposition()
	return true
}

// callUnary is the rule of operators that map each element of a tensor to the same element of the result, in any memory format.
func (b *batch) callUnary() bool {
	for _, v := range b.Args {
		if f, ok := v.(*shape.MemoryFormat); ok && *f != shape.Preserve && *f != shape.Contiguous && *f != shape.NoFormat {
			return false
		}
	}
	return b.callOnBatch()
}

// reduceNoDims is the rule of operators that return the elements unreduced for an empty list of dimensions.
func (b *batch) reduceNoDims() bool {
	dim := dispatch.Given[[]int64](b.Call, "dim", nil)
	return dim != nil && len(dim) == 0 && b.callOnBatch()
}

// callOnVectors is the rule of operators on the last dimension.
func (b *batch) callOnVectors() bool { return b.self.Dim() >= 1 && b.callOnBatch() }

// callOnMatrices is the rule of operators on the last two dimensions.
func (b *batch) callOnMatrices() bool { return b.self.Dim() >= 2 && b.callOnBatch() }

// callOnWrapper calls the operator on the batched tensor itself, whose sizes and strides are those of one batch element.
func (b *batch) callOnWrapper() bool {
	b.Check(b.Run(b.C.Excluding(tensor.Transformed)))
	return true
}

// formatBatched returns the printed form of a batched tensor.
func (b *batch) formatBatched() bool {
	back := b.Call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor { return b.unwrapBatch(t) })
	err := b.Run(b.C)
	back.Restore()
	b.Check(err)
	text := b.Results[0].(*string)
	*text = fmt.Sprintf("BatchedTensor(lvl=%d, bdim=0, value=\n    %s\n)", b.level.Depth(), strings.ReplaceAll(*text, "\n", "\n    "))
	return true
}

// callPointwise is the rule of broadcasting operators: operands of fewer dimensions get dimensions of size 1 after the batch dimension. In
// type promotion each counts with the dimensions of one batch element.
func (b *batch) callPointwise() bool {
	rank := 0
	b.AnyTensor(func(t *tensor.Tensor) bool {
		rank = max(rank, t.Dim())
		return false
	})
	for _, t := range b.Written() {
		if t.Dim() < rank {
			return false
		}
	}
	b.callReplaced(func(t *tensor.Tensor) *tensor.Tensor {
		v := b.unwrapBatch(t)
		switch {
		case v != t:
			return b.markZeroDim(b.insertDims(v, rank-t.Dim()), t.Rank() == dtype.ZeroDim && rank > 0)
		// as numbers that are others for each example, which make a vector; the value to fill with has no dimensions and does not affect the
		// dtype
		case rank == 0 && t.Rank() == dtype.ZeroDim && t != dispatch.Given[*tensor.Tensor](b.Call, "value", nil):
			return b.Unsqueeze(t, 0)
		}
		return t
	})
	return true
}

// markZeroDim returns v, marked to count as zero-dimensional in type promotion if zeroDim is set.
func (b *batch) markZeroDim(v *tensor.Tensor, zeroDim bool) *tensor.Tensor {
	if !zeroDim {
		return v
	}
	return b.Track(v.AsZeroDim(), nil)
}

// fillMasked is the rule of masked_fill with a batched value that has one number for each batch element.
func (b *batch) fillMasked() bool {
	operands := b.Operands()
	value := operands[len(operands)-1]
	if !b.isMapped(value) || value.Dim() > 0 {
		return false
	}
	if len(b.Written()) > 0 {
		b.loopOverBatch(b.C)
		return true
	}
	cast := b.ToOptionsWith(value, b.self.DType(), tensor.NoLayout, b.self.Device(), false, false, shape.Preserve)
	return b.setResult(b.C.Where(nil, operands[1], cast, b.self))
}

// fillTensor is the rule of fill with a batched value that has one number for each batch element.
func (b *batch) fillTensor() bool {
	operands := b.Operands()
	value := operands[len(operands)-1]
	if len(operands) < 2 || !b.isMapped(value) || value.Dim() > 0 {
		return b.callPointwise()
	}
	if len(b.Written()) > 0 {
		b.Check(b.C.Copy(b.self, value, false))
		return b.setResult(b.self, nil)
	}
	cast := b.ToOptionsWith(value, b.self.DType(), tensor.NoLayout, b.self.Device(), false, false, shape.Preserve)
	return b.setResult(b.C.Clone(b.Expand(cast, b.self.Sizes()...), shape.Contiguous))
}

// loopCall is the rule of operators that are called once for each batch element, such as linspace, which reads elements and returns as many
// in any case.
func (b *batch) loopCall() bool {
	b.loopOverBatch(b.C)
	return true
}

// lookUpRows is the rule of operators that select rows. Their gradients may differ from those of the decomposition, and are dense for a
// batch.
func (b *batch) lookUpRows() bool {
	if dispatch.Given(b.Call, "padding_idx", int64(-1)) < 0 && !dispatch.Given(b.Call, "scale_grad_by_freq", false) {
		return b.decomposeCall()
	}
	*b.Args[b.Place("sparse")].(*bool) = false
	b.loopOverBatch(b.C)
	return true
}

// rejectCall is the rule of operators that return storage positions of elements, which would be those of the whole batch: an error.
func (b *batch) rejectCall() bool {
	b.Check(b.notImplementedError())
	return false
}

// insertDims returns v with n dimensions of size 1 inserted after the batch dimension.
func (b *batch) insertDims(v *tensor.Tensor, n int) *tensor.Tensor {
	for range n {
		v = b.Unsqueeze(v, 1)
	}
	return v
}

// indexedAlongDim lists operators along a dimension whose other tensors have the rank of the first one; an index vector has another rank.
var indexedAlongDim = []string{"gather", "scatter", "scatter_add", "scatter_reduce", "index_select", "index_add", "index_copy"}

// callAlongDim is the rule of operators along dimensions, which are shifted by one for the batch dimension.
func (b *batch) callAlongDim() bool {
	shared, fits := b.sharedIndex()
	if !fits {
		return false
	}
	s := dimShift{n: int64(b.self.Dim()), reduces: b.Call.Names() == "reduce", keepdim: dispatch.Given(b.Call, "keepdim", false)}
	s.dims = s.n
	if b.Name == "unsqueeze" {
		s.dims++
	}
	s.column = s.n == 0 && s.reduces && !s.keepdim
	if s.dims == 0 && !s.column {
		return b.Is(dispatch.View) && b.viewScalar()
	}
	for i, v := range b.Args {
		if !b.IsDim(i) {
			continue
		}
		if dims, is := v.(*[]int64); is && len(*dims) == 0 && !s.reduces {
			return b.Name == "squeeze" && b.setResult(b.C.View(b.self, b.self.Sizes()))
		}
		if !s.addArg(v) {
			return false
		}
	}
	if len(s.changes) == 0 {
		return false
	}
	for _, change := range s.changes {
		change()
	}
	b.callReplaced(func(t *tensor.Tensor) *tensor.Tensor {
		switch {
		case t == shared:
			return t
		case slices.Contains(indexedAlongDim, b.Name) && !b.isMapped(t):
			return b.expandToBatch(t)
		}
		v := b.unwrapBatch(t)
		switch {
		case s.flat:
			return b.Reshape(v, b.level.Size, t.Numel())
		case s.column:
			return b.Unsqueeze(v, 1)
		}
		return v
	})
	return true
}

// sharedIndex returns the index of an operator whose index is the same for all batch elements, or nil for others. fits is false for
// operands that callAlongDim does not support.
func (b *batch) sharedIndex() (index *tensor.Tensor, fits bool) {
	if !slices.Contains(indexedAlongDim, b.Name) {
		return nil, b.isMapped(b.self) && len(b.Operands()) <= 1
	}
	if !strings.HasPrefix(b.Name, "index") {
		return nil, true
	}
	index = dispatch.Value[*tensor.Tensor](b.Call, b.Place("index"))
	return index, !b.isMapped(index)
}

// dimShift collects the changes of arguments that are dimensions of a batch element of n dimensions.
type dimShift struct {
	n, dims          int64 // dims includes the dimension that unsqueeze adds
	reduces, keepdim bool
	column           bool // batch elements are numbers, which are reduced along a dimension of size 1
	flat             bool // all dimensions are reduced
	changes          []func()
}

// addArg adds the change of an argument. It returns false for values that are out of range, or have no equivalent.
func (s *dimShift) addArg(v any) bool {
	switch v := v.(type) {
	case *int64:
		if !s.isInRange(*v) {
			return false
		}
		s.changes = append(s.changes, func() { *v = shiftDim(*v) })
	case *ops.Int:
		switch {
		case *v == ops.NoInt && (!s.reduces || s.keepdim):
			return false
		case *v == ops.NoInt:
			s.flat = true
			s.changes = append(s.changes, func() { *v = 1 })
		case !s.isInRange(int64(*v)):
			return false
		default:
			s.changes = append(s.changes, func() { *v = ops.Int(shiftDim(int64(*v))) })
		}
	case *[]int64:
		dims := make([]int64, 0, len(*v))
		for _, d := range *v {
			if !s.isInRange(d) {
				return false
			}
			dims = append(dims, shiftDim(d))
		}
		if len(dims) == 0 {
			for d := range max(s.n, 1) {
				dims = append(dims, d+1)
			}
		}
		s.changes = append(s.changes, func() { *v = dims })
	default:
		return false
	}
	return true
}

func (s *dimShift) isInRange(d int64) bool {
	return -s.dims <= d && d < s.dims || s.column && (d == 0 || d == -1)
}

// shiftDim returns the dimension after the batch dimension; negative ones count from the end.
func shiftDim(d int64) int64 {
	if d < 0 {
		return d
	}
	return d + 1
}

// multiplyBatch is the rule of products of matrices and vectors: the vmap dimension is the first batch dimension.
func (b *batch) multiplyBatch() bool {
	operands := b.Operands()
	x, y := operands[len(operands)-2], operands[len(operands)-1]
	ranks := map[string][2]int{"mm": {2, 2}, "bmm": {3, 3}, "mv": {2, 1}, "dot": {1, 1}, "vdot": {1, 1}}
	if want, ok := ranks[b.Name]; ok && want != [2]int{x.Dim(), y.Dim()} || x.Dim() == 0 || y.Dim() == 0 || x.DType() != y.DType() ||
		b.Name == "bmm" && x.Sizes()[0] != y.Sizes()[0] {
		return false
	}
	v, w := b.unwrapBatch(x), b.unwrapBatch(y)
	if b.Name == "vdot" {
		v = b.Conj(v)
	}
	if x.Dim() == 1 {
		v = b.Unsqueeze(v, -2)
	}
	if y.Dim() == 1 {
		w = b.Unsqueeze(w, -1)
	}
	rank := max(x.Dim(), y.Dim(), 2)
	if v != x && b.isMapped(x) {
		v = b.insertDims(v, rank-max(x.Dim(), 2))
	}
	if b.isMapped(y) {
		w = b.insertDims(w, rank-max(y.Dim(), 2))
	}
	made := b.Matmul(v, w)
	if y.Dim() == 1 {
		made = b.SqueezeDim(made, -1)
		if x.Dim() == 1 {
			made = b.SqueezeDim(made, -1)
		}
	} else if x.Dim() == 1 {
		made = b.SqueezeDim(made, -2)
	}
	return b.setResult(tensor.Wrap(b.Name, made, b.level))
}

// addProduct is the rule of a matrix product that is added to a tensor.
func (b *batch) addProduct() bool {
	one := func(name string) bool {
		s := dispatch.Given(b.Call, name, dtype.IntScalar(1))
		return s.Kind != dtype.KindComplex && s.Float() == 1
	}
	operands := b.Operands()
	if operands[0].DType().Size() < 4 || !one("alpha") || !one("beta") || len(b.Written()) > 0 || operands[0].DType() != operands[1].DType() {
		return false
	}
	var made *tensor.Tensor
	switch b.Name {
	case "addmm":
		made = b.Mm(operands[1], operands[2])
	case "addmv":
		made = b.Mv(operands[1], operands[2])
	default:
		made = b.Bmm(operands[1], operands[2])
	}
	if !shape.ExpandsTo(operands[0].Sizes(), made.Sizes()) {
		return false
	}
	return b.setResult(b.C.Add(nil, made, operands[0], dtype.IntScalar(1)))
}

// concatenateBatch is the rule of operators that concatenate tensors of equal rank.
func (b *batch) concatenateBatch() bool {
	room := int64(0)
	if b.Name == "stack" {
		room = 1
	}
	operands := b.Operands()
	at := b.Place("dim")
	dim := b.Args[at].(*int64)
	n := int64(operands[0].Dim())
	for _, t := range operands {
		if int64(t.Dim()) != n {
			return false
		}
	}
	if n+room == 0 || *dim < -n-room || *dim >= n+room {
		return false
	}
	if *dim >= 0 {
		*dim++
	}
	b.callReplaced(b.expandToBatch)
	return true
}

// fullSlice is the index item that selects a whole dimension.
var fullSlice = ops.IndexItem{Kind: ops.IndexSlice, Start: math.MinInt64, Stop: math.MinInt64, Step: math.MinInt64}

// canIndexBatch reports whether an index is the same for all batch elements, and the dimensions that it selects stay in place.
func (b *batch) canIndexBatch(items []ops.IndexItem) bool {
	tensors, parted := 0, false
	for i, item := range items {
		if item.Kind != ops.IndexTensor && item.Kind != ops.IndexBool {
			continue
		}
		if item.Tensor != nil && b.isMapped(item.Tensor) {
			return false
		}
		if tensors++; tensors > 1 && items[i-1].Kind != ops.IndexTensor && items[i-1].Kind != ops.IndexBool {
			parted = true
		}
	}
	return !parted && (tensors == 0 || !slices.ContainsFunc(items, func(item ops.IndexItem) bool { return item.Kind == ops.IndexInt }))
}

// getIndexed is the rule of x[index].
func (b *batch) getIndexed() bool {
	items := b.Args[b.First()+1].(*[]ops.IndexItem)
	for _, item := range *items {
		if item.Kind == ops.IndexTensor && b.isMapped(item.Tensor) && ops.IsMask(item.Tensor) {
			b.Check(status.Runtimef("%s: inside vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a boolean mask; where() keeps the shape",
				b.Name))
		}
	}
	switch {
	case b.isMapped(b.self) && b.canIndexBatch(*items):
		*items = append([]ops.IndexItem{fullSlice}, *items...)
		return b.callOnBatch()
	case !b.isMapped(b.self) && len(*items) == 1: // a table of which each example has other rows
		return b.callOnBatch()
	}
	for _, item := range *items {
		if item.Kind == ops.IndexTensor {
			b.loopOverBatch(b.C)
			return true
		}
	}
	return false
}

// setIndexed is the rule of x[index] = value.
func (b *batch) setIndexed() bool {
	items := b.Args[b.First()+1].(*[]ops.IndexItem)
	if !b.canIndexBatch(*items) {
		return false
	}
	value := b.Operands()[len(b.Operands())-1]
	pads := 0
	if b.Name == "index_set_" && b.isMapped(value) {
		part := b.IndexGet(b.self, *items)
		if pads = part.Dim() - value.Dim(); pads < 0 {
			return false
		}
	}
	*items = append([]ops.IndexItem{fullSlice}, *items...)
	b.callReplaced(func(t *tensor.Tensor) *tensor.Tensor {
		if t == value && t != b.self {
			if b.isMapped(t) {
				return b.insertDims(b.unwrapBatch(t), pads)
			}
			return t
		}
		return b.unwrapBatch(t)
	})
	return true
}

// putIndexed is the rule of index_put whose indices are the same for all batch elements: x[index] = value.
func (b *batch) putIndexed() bool {
	operands := b.Operands()
	values := operands[len(operands)-1]
	if !b.isMapped(b.self) || dispatch.Given(b.Call, "accumulate", false) || values.DType() != b.self.DType() {
		return false
	}
	var items []ops.IndexItem
	for _, t := range dispatch.Given[[]*tensor.Tensor](b.Call, "indices", nil) {
		switch {
		case t == nil:
			items = append(items, fullSlice)
		case b.isMapped(t):
			return false
		default:
			items = append(items, ops.IndexItem{Kind: ops.IndexTensor, Tensor: t})
		}
	}
	to := b.self
	if len(b.Written()) == 0 {
		to = b.CloneWith(to, shape.Preserve)
	}
	b.Check(b.C.IndexSet(to, items, values))
	if to != b.self {
		to, _ = b.Return(to)
	}
	return b.setResult(to, nil)
}
