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

// rules override, by operator name, the rule that follows from an operator's properties. A rule returns false to fall back to that rule, or to the
// loop.
var rules = map[string]func(b *batch) bool{
	"clone": (*batch).unary, "contiguous": (*batch).unary, "to": (*batch).unary, "zero_": (*batch).unary, "detach": (*batch).unary, "constant_pad_nd": (*batch).unary,
	"nn.pad_inside": (*batch).unary, "nn.pad_gradient": (*batch).unary,
	"empty_like": (*batch).unary, "zeros_like": (*batch).unary, "ones_like": (*batch).unary, "full_like": (*batch).unary, "is_conj": (*batch).unary, "is_set_to": (*batch).direct, "is_neg": (*batch).unary,
	"conj": (*batch).unary, "neg_view": (*batch).unary, "real": (*batch).unary, "imag": (*batch).unary, "view_as_real": (*batch).unary,
	"view_as_complex": matrices(1), "mT": matrices(2), "adjoint": matrices(2), "tril": matrices(2), "triu": matrices(2),
	"masked_fill": (*batch).filled, "as_strided_scatter": refused,
	"copy_": (*batch).pointwise, "fill": (*batch).whole,
	"new_empty": (*batch).sized, "new_zeros": (*batch).sized, "new_ones": (*batch).sized, "new_full": (*batch).sized,
	"as_strided": (*batch).strided, "view": (*batch).reshaped, "reshape": (*batch).reshaped, "expand": (*batch).expanded, "broadcast_to": (*batch).expanded, "permute": (*batch).permuted,
	"reshape_as": (*batch).viewed, "flatten": (*batch).viewed, "ravel": (*batch).viewed, "squeeze": (*batch).viewed, "t": (*batch).viewed, "T": (*batch).viewed, "H": (*batch).viewed,
	"hsplit": (*batch).parted, "vsplit": (*batch).parted, "dsplit": (*batch).parted,
	"matmul": (*batch).product, "mm": (*batch).product, "bmm": (*batch).product, "mv": (*batch).product, "dot": (*batch).product, "vdot": (*batch).product,
	"addmm": (*batch).sum, "addmv": (*batch).sum, "baddbmm": (*batch).sum,
	"cat": (*batch).joined, "stack": (*batch).joined,
	"index_get": (*batch).indexed, "index_set_": (*batch).assigned, "index_set_scalar_": (*batch).assigned, "index_put": (*batch).assignedTo,
	"linalg.lstsq": looped, "linspace": looped, "logspace": looped, // they look at elements, and have as many results in any case
	"embedding": (*batch).rows, "nn.bag": (*batch).rows,
	"any": (*batch).ofNone, "all": (*batch).ofNone,
	"ctc_loss": stepped, "nn.ctc_loss": stepped, // whose steps look at lengths
	"pixel_shuffle": stepped, "pixel_unshuffle": stepped, "channel_shuffle": stepped, "block_diag": stepped, "outer": stepped, "cross": stepped, "linalg.cross": stepped, "cholesky_solve": stepped,
	"nn.pick": stepped, "nn.binary_cross_entropy_each": stepped, "nn.linear_losses": stepped,
	"is_contiguous": (*batch).itself, "to_string": (*batch).text,
}

// stepped is the rule of compositions whose steps have the same derivatives as they have themselves.
func stepped(b *batch) bool {
	b.steps()
	return true
}

// unary is the rule of operators of a tensor whose elements, wherever they are, become those of the result.
func (b *batch) unary() bool {
	for _, v := range b.Args {
		if f, ok := v.(*shape.MemoryFormat); ok && *f != shape.Preserve && *f != shape.Contiguous && *f != shape.NoFormat {
			return false
		}
	}
	return b.direct()
}

// ofNone is the rule of operators that reduce nothing for an empty list of dimensions.
func (b *batch) ofNone() bool {
	dim := dispatch.Given[[]int64](b.Call, "dim", nil)
	return dim != nil && len(dim) == 0 && b.direct()
}

// matrices is the rule of operators on the last n dimensions.
func matrices(n int) func(b *batch) bool {
	return func(b *batch) bool { return b.self.Dim() >= n && b.direct() }
}

// itself has the operator look at the tensor for one example.
func (b *batch) itself() bool {
	b.Check(b.Run(b.C.Excluding(tensor.Transformed)))
	return true
}

// text returns the printed form of a batched tensor.
func (b *batch) text() bool {
	back := b.Call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor { return b.all(t) })
	err := b.Run(b.C)
	back.Restore()
	b.Check(err)
	text := b.Results[0].(*string)
	*text = fmt.Sprintf("BatchedTensor(lvl=%d, bdim=0, value=\n    %s\n)", b.level.Depth(), strings.ReplaceAll(*text, "\n", "\n    "))
	return true
}

// pointwise is the rule of broadcasting operators: operands of fewer dimensions get dimensions of size 1 after the batch dimension. In type promotion
// each counts with the dimensions of one batch element.
func (b *batch) pointwise() bool {
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
	b.call(func(t *tensor.Tensor) *tensor.Tensor {
		v := b.all(t)
		switch {
		case v != t:
			return b.ranked(b.padded(v, rank-t.Dim()), t.Rank() == dtype.ZeroDim && rank > 0)
		case rank == 0 && t.Rank() == dtype.ZeroDim && t != dispatch.Given[*tensor.Tensor](b.Call, "value", nil): // as numbers that are others for each example, which make a vector; the value to fill with has no dimensions and does not affect the dtype
			return b.Unsqueeze(t, 0)
		}
		return t
	})
	return true
}

// ranked returns a tensor of all examples, of which each may be one without dimensions.
func (b *batch) ranked(v *tensor.Tensor, zeroDim bool) *tensor.Tensor {
	if !zeroDim {
		return v
	}
	return b.Track(v.AsZeroDim(), nil)
}

// filled is the rule of masked_fill, whose value is a number for each example.
func (b *batch) filled() bool {
	operands := b.Operands()
	value := operands[len(operands)-1]
	if !b.maps(value) || value.Dim() > 0 {
		return false
	}
	if len(b.Written()) > 0 {
		b.loop(b.C)
		return true
	}
	cast := b.ToOptionsWith(value, b.self.DType(), tensor.NoLayout, b.self.Device(), false, false, shape.Preserve)
	return b.set(b.C.Where(nil, operands[1], cast, b.self))
}

// whole is the rule of fill, whose value is a number for each example.
func (b *batch) whole() bool {
	operands := b.Operands()
	value := operands[len(operands)-1]
	if len(operands) < 2 || !b.maps(value) || value.Dim() > 0 {
		return b.pointwise()
	}
	if len(b.Written()) > 0 {
		b.Check(b.C.Copy(b.self, value, false))
		return b.set(b.self, nil)
	}
	cast := b.ToOptionsWith(value, b.self.DType(), tensor.NoLayout, b.self.Device(), false, false, shape.Preserve)
	return b.set(b.C.Clone(b.Expand(cast, b.self.Sizes()...), shape.Contiguous))
}

// looped is the rule of operators that are called for each example.
func looped(b *batch) bool {
	b.loop(b.C)
	return true
}

// rows is the rule of operators that select rows. Their gradients may differ from those of the decomposition, and are dense for a batch.
func (b *batch) rows() bool {
	if dispatch.Given(b.Call, "padding_idx", int64(-1)) < 0 && !dispatch.Given(b.Call, "scale_grad_by_freq", false) {
		return stepped(b)
	}
	*b.Args[b.Place("sparse")].(*bool) = false
	b.loop(b.C)
	return true
}

// refused is the rule of operators that return storage positions of elements, which are those of the whole batch.
func refused(b *batch) bool {
	b.Check(b.missing())
	return false
}

// padded returns the tensor of all examples with n dimensions of size 1 before those of an example.
func (b *batch) padded(v *tensor.Tensor, n int) *tensor.Tensor {
	for range n {
		v = b.Unsqueeze(v, 1)
	}
	return v
}

// others are operators along a dimension with further tensors of the same rank as the first; an index vector has another rank.
var others = []string{"gather", "scatter", "scatter_add", "scatter_reduce", "index_select", "index_add", "index_copy"}

// along is the rule of operators along dimensions, which are one further on in the tensor of all examples.
func (b *batch) along() bool {
	vector := -1 // the place of an index that is the same for all
	if slices.Contains(others, b.Name) {
		if at := b.Place("index"); b.Name[:5] == "index" {
			if vector = at; b.maps(dispatch.Value[*tensor.Tensor](b.Call, at)) {
				return false
			}
		}
	} else if !b.maps(b.self) || len(b.Operands()) > 1 {
		return false
	}
	n, room := int64(b.self.Dim()), int64(0)
	if b.Name == "unsqueeze" {
		room = 1
	}
	column := n == 0 && b.Call.Names() == "reduce" && !dispatch.Given(b.Call, "keepdim", false) // of examples that are numbers
	if n+room == 0 && !column {
		return b.Is(dispatch.View) && b.scalar()
	}
	fits := func(d int64) bool { return -(n+room) <= d && d < n+room || column && (d == 0 || d == -1) }
	moved := func(d int64) int64 {
		if d < 0 {
			return d
		}
		return d + 1
	}
	var changes []func()
	flat := false
	for i, v := range b.Args {
		if !b.IsDim(i) {
			continue
		}
		switch v := v.(type) {
		case *int64:
			if !fits(*v) {
				return false
			}
			changes = append(changes, func() { *v = moved(*v) })
		case *ops.Int:
			switch {
			case *v == ops.NoInt && (b.Call.Names() != "reduce" || dispatch.Given(b.Call, "keepdim", false)):
				return false
			case *v == ops.NoInt:
				flat = true
				changes = append(changes, func() { *v = 1 })
			case !fits(int64(*v)):
				return false
			default:
				changes = append(changes, func() { *v = ops.Int(moved(int64(*v))) })
			}
		case *[]int64:
			dims := make([]int64, 0, len(*v))
			for _, d := range *v {
				if !fits(d) {
					return false
				}
				dims = append(dims, moved(d))
			}
			if len(dims) == 0 {
				if b.Call.Names() != "reduce" {
					return b.Name == "squeeze" && b.set(b.C.View(b.self, b.self.Sizes()))
				}
				for d := range max(n, 1) {
					dims = append(dims, d+1)
				}
			}
			changes = append(changes, func() { *v = dims })
		default:
			return false
		}
	}
	if len(changes) == 0 {
		return false
	}
	for _, change := range changes {
		change()
	}
	index := (*tensor.Tensor)(nil)
	if vector >= 0 {
		index = dispatch.Value[*tensor.Tensor](b.Call, vector)
	}
	b.call(func(t *tensor.Tensor) *tensor.Tensor {
		switch {
		case t == index:
			return t
		case slices.Contains(others, b.Name) && !b.maps(t):
			return b.every(t)
		}
		v := b.all(t)
		switch {
		case flat:
			return b.Reshape(v, b.level.Size, t.Numel())
		case column:
			return b.Unsqueeze(v, 1)
		}
		return v
	})
	return true
}

// product is the rule of products of matrices and vectors: the examples are the first dimension of a batch.
func (b *batch) product() bool {
	operands := b.Operands()
	x, y := operands[len(operands)-2], operands[len(operands)-1]
	ranks := map[string][2]int{"mm": {2, 2}, "bmm": {3, 3}, "mv": {2, 1}, "dot": {1, 1}, "vdot": {1, 1}}
	if want, ok := ranks[b.Name]; ok && want != [2]int{x.Dim(), y.Dim()} || x.Dim() == 0 || y.Dim() == 0 || x.DType() != y.DType() || b.Name == "bmm" && x.Sizes()[0] != y.Sizes()[0] {
		return false
	}
	v, w := b.all(x), b.all(y)
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
	if v != x && b.maps(x) {
		v = b.padded(v, rank-max(x.Dim(), 2))
	}
	if b.maps(y) {
		w = b.padded(w, rank-max(y.Dim(), 2))
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
	return b.set(tensor.Wrap(b.Name, made, b.level))
}

// sum is the rule of a product that is added to a tensor.
func (b *batch) sum() bool {
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
	return b.set(b.C.Add(nil, made, operands[0], dtype.IntScalar(1)))
}

// joined is the rule of operators that concatenate tensors of equal rank.
func (b *batch) joined() bool {
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
	b.call(b.every)
	return true
}

// all of a dimension, as an item of an index.
var whole = ops.IndexItem{Kind: ops.IndexSlice, Start: math.MinInt64, Stop: math.MinInt64, Step: math.MinInt64}

// basic reports whether an index is the same for all batch elements, and the dimensions that it selects stay in place.
func (b *batch) basic(items []ops.IndexItem) bool {
	tensors, parted := 0, false
	for i, item := range items {
		if item.Kind != ops.IndexTensor && item.Kind != ops.IndexBool {
			continue
		}
		if item.Tensor != nil && b.maps(item.Tensor) {
			return false
		}
		if tensors++; tensors > 1 && items[i-1].Kind != ops.IndexTensor && items[i-1].Kind != ops.IndexBool {
			parted = true
		}
	}
	return !parted && (tensors == 0 || !slices.ContainsFunc(items, func(item ops.IndexItem) bool { return item.Kind == ops.IndexInt }))
}

// indexed is the rule of x[index].
func (b *batch) indexed() bool {
	items := b.Args[b.First()+1].(*[]ops.IndexItem)
	for _, item := range *items {
		if item.Kind == ops.IndexTensor && b.maps(item.Tensor) && ops.IsMask(item.Tensor) {
			b.Check(status.Runtimef("%s: inside vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a boolean mask; where() keeps the shape", b.Name))
		}
	}
	switch {
	case b.maps(b.self) && b.basic(*items):
		*items = append([]ops.IndexItem{whole}, *items...)
		return b.direct()
	case !b.maps(b.self) && len(*items) == 1: // a table of which each example has other rows
		return b.direct()
	}
	for _, item := range *items {
		if item.Kind == ops.IndexTensor {
			b.loop(b.C)
			return true
		}
	}
	return false
}

// assigned is the rule of x[index] = value.
func (b *batch) assigned() bool {
	items := b.Args[b.First()+1].(*[]ops.IndexItem)
	if !b.basic(*items) {
		return false
	}
	value := b.Operands()[len(b.Operands())-1]
	pads := 0
	if b.Name == "index_set_" && b.maps(value) {
		part := b.IndexGet(b.self, *items)
		if pads = part.Dim() - value.Dim(); pads < 0 {
			return false
		}
	}
	*items = append([]ops.IndexItem{whole}, *items...)
	b.call(func(t *tensor.Tensor) *tensor.Tensor {
		if t == value && t != b.self {
			if b.maps(t) {
				return b.padded(b.all(t), pads)
			}
			return t
		}
		return b.all(t)
	})
	return true
}

// assignedTo is the rule of index_put whose indices are the same for all batch elements: x[index] = value.
func (b *batch) assignedTo() bool {
	operands := b.Operands()
	values := operands[len(operands)-1]
	if !b.maps(b.self) || dispatch.Given(b.Call, "accumulate", false) || values.DType() != b.self.DType() {
		return false
	}
	var items []ops.IndexItem
	for _, t := range dispatch.Given[[]*tensor.Tensor](b.Call, "indices", nil) {
		switch {
		case t == nil:
			items = append(items, whole)
		case b.maps(t):
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
	return b.set(to, nil)
}
