package ops

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// skipped tells whether cat passes over a tensor: one-dimensional and empty, which fits any shape.
func skipped(t *tensor.Tensor) bool { return t.Dim() == 1 && t.Numel() == 0 }

// Cat joins tensors along a dimension; their other sizes are equal.
func Cat(out *tensor.Tensor, tensors []*tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	if len(tensors) == 0 {
		return nil, status.Valuef("cat: expected a non-empty list of Tensors")
	}
	return cat("cat", out, tensors, dim)
}

func cat(op string, out *tensor.Tensor, tensors []*tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	if len(tensors) == 0 {
		return nil, status.Valuef("%s: expected a non-empty list of Tensors", op)
	}
	var r dtype.Result
	var first *tensor.Tensor
	for i, t := range tensors {
		if t.Dim() == 0 {
			return nil, status.Runtimef("%s: zero-dimensional tensor (at position %d) cannot be concatenated", op, i)
		}
		if t.Device() != tensors[0].Device() {
			return nil, status.Runtimef("%s: expected all tensors to be on the same device, but found at least two devices, %v and %v", op, tensors[0].Device(), t.Device())
		}
		if first == nil && !skipped(t) {
			first = t
		}
		r.Add(t.DType(), dtype.Dimensioned)
	}
	sizes, d := []int64{0}, 0
	if first != nil {
		var err error
		if d, err = shape.WrapDim(op, dim, first.Dim()); err != nil {
			return nil, err
		}
		sizes = slices.Clone(first.Sizes())
		sizes[d] = 0
		for i, t := range tensors {
			if skipped(t) {
				continue
			}
			if err := joinable(op, first, t, d, i); err != nil {
				return nil, err
			}
			sizes[d] += t.Sizes()[d]
		}
	}
	to, err := joined(op, out, sizes, r.DType(), tensors)
	if err != nil || to.IsMeta() {
		return to, err
	}
	if shape.Product(sizes[:d]) == 1 && to.IsContiguous() && to.DType() == tensors[0].DType() && alike(tensors) {
		appendBytes(to, tensors)
		return to, nil
	}
	begin := int64(0)
	for _, t := range tensors {
		if t.Numel() == 0 {
			if !skipped(t) {
				begin += t.Sizes()[d]
			}
			continue
		}
		part, err := narrowed(op, to, d, begin, t.Sizes()[d])
		if err != nil {
			return made(to, out, err)
		}
		iter.Copy(part, t)
		part.Release()
		begin += t.Sizes()[d]
	}
	return to, nil
}

// alike tells whether the tensors are contiguous and of one dtype and device.
func alike(tensors []*tensor.Tensor) bool {
	for _, t := range tensors {
		if t.DType() != tensors[0].DType() || t.Device() != tensors[0].Device() || !t.IsContiguous() {
			return false
		}
	}
	return true
}

// appendBytes copies the memory of the tensors, one after the other, to that of to: shared out to threads by bytes, however
// many tensors there are.
func appendBytes(to *tensor.Tensor, tensors []*tensor.Tensor) {
	size := to.DType().Size()
	ends := make([]int64, len(tensors))
	total := int64(0)
	for i, t := range tensors {
		total += t.Numel() * size
		ends[i] = total
	}
	target := unsafe.Slice((*byte)(to.Data()), total)
	parallel.For(total, 4*iter.Grain, func(begin, end int64) {
		at, _ := slices.BinarySearch(ends, begin+1)
		for ; begin < end; at++ {
			start := ends[at] - tensors[at].Numel()*size
			from := unsafe.Slice((*byte)(tensors[at].Data()), ends[at]-start)
			begin += int64(copy(target[begin:end], from[begin-start:]))
		}
	})
}

func joinable(op string, first, t *tensor.Tensor, d, at int) error {
	if t.Dim() != first.Dim() {
		return status.Runtimef("%s: tensors must have same number of dimensions: got %d and %d", op, first.Dim(), t.Dim())
	}
	for i, n := range t.Sizes() {
		if i != d && n != first.Sizes()[i] {
			return status.Runtimef("%s: sizes of tensors must match except in dimension %d. Expected size %d in dimension %d but got size %d for tensor number %d in the list",
				op, d, first.Sizes()[i], i, n, at)
		}
	}
	return nil
}

// joined makes the result of cat: channels-last where all tensors are.
func joined(op string, out *tensor.Tensor, sizes []int64, d dtype.DType, tensors []*tensor.Tensor) (*tensor.Tensor, error) {
	if out != nil {
		if err := iter.CheckOutput(op, out, d, tensors[0].Device()); err != nil {
			return nil, err
		}
		for _, t := range tensors {
			if t == out || t.Storage() == out.Storage() && iter.Overlaps(t, out) {
				return nil, status.Runtimef("%s: unsupported operation: the input tensors cannot refer to any of the output memory locations; clone() them first", op)
			}
		}
		if err := resize(op, out, sizes, shape.NoFormat); err != nil {
			return nil, err
		}
		return out, writable(op, out)
	}
	f := shape.SuggestFormat(tensors[0].Sizes(), tensors[0].Strides())
	for _, t := range tensors[1:] {
		if f == shape.Contiguous {
			break
		}
		if shape.SuggestFormat(t.Sizes(), t.Strides()) != f {
			f = shape.Contiguous
		}
	}
	if f == shape.Contiguous {
		return tensor.Empty(op, sizes, d, tensors[0].Device())
	}
	strides, err := shape.FormatStrides(op, sizes, f)
	if err != nil {
		return nil, err
	}
	return tensor.EmptyStrided(op, sizes, strides, d, tensors[0].Device())
}

// viewed runs use on a view of every tensor.
func viewed[R any](tensors []*tensor.Tensor, view func(*tensor.Tensor) (*tensor.Tensor, error), use func([]*tensor.Tensor) (R, error)) (R, error) {
	views := make([]*tensor.Tensor, 0, len(tensors))
	defer func() { releaseAll(views) }()
	for _, t := range tensors {
		v, err := view(t)
		if err != nil {
			var none R
			return none, err
		}
		views = append(views, v)
	}
	return use(views)
}

// Stack joins tensors of one shape along a new dimension.
func Stack(out *tensor.Tensor, tensors []*tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	if len(tensors) == 0 {
		return nil, status.Runtimef("stack: expects a non-empty list of tensors")
	}
	d, err := shape.WrapDim("stack", dim, tensors[0].Dim()+1)
	if err != nil {
		return nil, err
	}
	for i, t := range tensors {
		if !slices.Equal(t.Sizes(), tensors[0].Sizes()) {
			return nil, status.Runtimef("stack: expects each tensor to be equal size, but got %v at entry 0 and %v at entry %d", tensors[0].Sizes(), t.Sizes(), i)
		}
	}
	if out == nil && d == 0 && alike(tensors) {
		sizes := append([]int64{int64(len(tensors))}, tensors[0].Sizes()...)
		to, err := tensor.Empty("stack", sizes, tensors[0].DType(), tensors[0].Device())
		if err == nil && !to.IsMeta() {
			appendBytes(to, tensors)
		}
		return to, err
	}
	insert := func(t *tensor.Tensor) (*tensor.Tensor, error) { return Unsqueeze(nil, t, int64(d)) }
	return viewed(tensors, insert, func(views []*tensor.Tensor) (*tensor.Tensor, error) {
		return cat("stack", out, views, int64(d))
	})
}

// Atleast1d gives a zero-dim tensor one dimension.
func Atleast1d(self *tensor.Tensor) (*tensor.Tensor, error) { return atLeastVector("atleast_1d", self) }

// Atleast2d gives tensors of fewer dimensions leading ones.
func Atleast2d(self *tensor.Tensor) (*tensor.Tensor, error) {
	switch self.Dim() {
	case 0:
		return View(self, []int64{1, 1})
	case 1:
		return Unsqueeze(nil, self, 0)
	}
	return self.Alias(), nil
}

// Atleast3d gives a vector a leading and a trailing dimension, a matrix a trailing one.
func Atleast3d(self *tensor.Tensor) (*tensor.Tensor, error) {
	switch self.Dim() {
	case 0:
		return View(self, []int64{1, 1, 1})
	case 1:
		return self.View("atleast_3d", []int64{1, self.Sizes()[0], 1}, []int64{self.Sizes()[0] * self.Strides()[0], self.Strides()[0], 1}, self.Offset())
	case 2:
		return Unsqueeze(nil, self, 2)
	}
	return self.Alias(), nil
}

func eachOf(tensors []*tensor.Tensor, view func(*tensor.Tensor) (*tensor.Tensor, error)) ([]*tensor.Tensor, error) {
	views := make([]*tensor.Tensor, len(tensors))
	for i, t := range tensors {
		var err error
		if views[i], err = view(t); err != nil {
			releaseAll(views[:i])
			return nil, err
		}
	}
	return views, nil
}

// Atleast1dSequence is Atleast1d of every tensor.
func Atleast1dSequence(tensors []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return eachOf(tensors, Atleast1d)
}

// Atleast2dSequence is Atleast2d of every tensor.
func Atleast2dSequence(tensors []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return eachOf(tensors, Atleast2d)
}

// Atleast3dSequence is Atleast3d of every tensor.
func Atleast3dSequence(tensors []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return eachOf(tensors, Atleast3d)
}

// Hstack joins tensors side by side.
func Hstack(out *tensor.Tensor, tensors []*tensor.Tensor) (*tensor.Tensor, error) {
	return viewed(tensors, Atleast1d, func(views []*tensor.Tensor) (*tensor.Tensor, error) {
		dim := int64(1)
		if len(views) > 0 && views[0].Dim() == 1 {
			dim = 0
		}
		return cat("hstack", out, views, dim)
	})
}

// Vstack joins tensors below each other.
func Vstack(out *tensor.Tensor, tensors []*tensor.Tensor) (*tensor.Tensor, error) {
	return viewed(tensors, Atleast2d, func(views []*tensor.Tensor) (*tensor.Tensor, error) { return cat("vstack", out, views, 0) })
}

// Dstack joins tensors along the third dimension.
func Dstack(out *tensor.Tensor, tensors []*tensor.Tensor) (*tensor.Tensor, error) {
	return viewed(tensors, Atleast3d, func(views []*tensor.Tensor) (*tensor.Tensor, error) { return cat("dstack", out, views, 2) })
}

// ColumnStack joins tensors side by side; those of fewer than two dimensions are columns.
func ColumnStack(out *tensor.Tensor, tensors []*tensor.Tensor) (*tensor.Tensor, error) {
	column := func(t *tensor.Tensor) (*tensor.Tensor, error) {
		if t.Dim() > 1 {
			return t.Alias(), nil
		}
		return reshape("column_stack", t, []int64{t.Numel(), 1})
	}
	return viewed(tensors, column, func(views []*tensor.Tensor) (*tensor.Tensor, error) { return cat("column_stack", out, views, 1) })
}

// BroadcastTensors expands all tensors to their common shape.
func BroadcastTensors(tensors []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if len(tensors) == 0 {
		return nil, nil
	}
	sizes, err := iter.Shape("broadcast_tensors", tensors...)
	if err != nil {
		return nil, err
	}
	sizes = slices.Clone(sizes)
	return eachOf(tensors, func(t *tensor.Tensor) (*tensor.Tensor, error) { return expand("broadcast_tensors", t, sizes) })
}

// Meshgrid expands vectors to the coordinates of a grid; indexing xy swaps the first two dimensions.
func Meshgrid(tensors []*tensor.Tensor, indexing string) ([]*tensor.Tensor, error) {
	const op = "meshgrid"
	if len(tensors) == 0 {
		return nil, status.Runtimef("%s: expects a non-empty list of tensors", op)
	}
	if indexing != "" && indexing != "ij" && indexing != "xy" {
		return nil, status.Runtimef("%s: expects indexing to be one of \"xy\" or \"ij\", but received %q", op, indexing)
	}
	sizes := make([]int64, len(tensors))
	for i, t := range tensors {
		if t.Dim() > 1 {
			return nil, status.Runtimef("%s: expected 0D or 1D tensor in the tensor list but got: shape %v", op, t.Sizes())
		}
		if t.DType() != tensors[0].DType() || t.Device() != tensors[0].Device() {
			return nil, status.Runtimef("%s: expects all tensors to have the same dtype and device", op)
		}
		sizes[i] = t.Numel()
	}
	swap := indexing == "xy" && len(tensors) > 1
	if swap {
		sizes[0], sizes[1] = sizes[1], sizes[0]
	}
	out := make([]*tensor.Tensor, 0, len(tensors))
	for i, t := range tensors {
		at := i
		if swap && i < 2 {
			at = 1 - i
		}
		strides := make([]int64, len(tensors))
		if t.Dim() == 1 {
			strides[at] = t.Strides()[0]
		}
		v, err := t.View(op, sizes, strides, t.Offset())
		if err != nil {
			releaseAll(out)
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// CartesianProd lists all combinations of one element of each vector.
func CartesianProd(tensors []*tensor.Tensor) (*tensor.Tensor, error) {
	for _, t := range tensors {
		if t.Dim() != 1 {
			return nil, status.Runtimef("cartesian_prod: expect a 1D vector, but got shape %v", t.Sizes())
		}
	}
	if len(tensors) == 1 {
		return tensors[0].Alias(), nil
	}
	grids, err := Meshgrid(tensors, "ij")
	if err != nil {
		return nil, err
	}
	defer releaseAll(grids)
	flat := func(t *tensor.Tensor) (*tensor.Tensor, error) { return reshape("cartesian_prod", t, []int64{-1}) }
	if shape.Product(grids[0].Sizes()) == 0 {
		flat = func(t *tensor.Tensor) (*tensor.Tensor, error) { return reshape("cartesian_prod", t, []int64{0}) }
	}
	return viewed(grids, flat, func(views []*tensor.Tensor) (*tensor.Tensor, error) { return Stack(nil, views, 1) })
}

// choices is the number of ways to choose r of n, or the largest integer where there are more.
func choices(n, r int64) int64 {
	if r > n {
		return 0
	}
	count := int64(1)
	for i := int64(1); i <= min(r, n-r); i++ {
		hi, lo := bits.Mul64(uint64(count), uint64(n-i+1))
		if hi >= uint64(i) {
			return math.MaxInt64
		}
		quotient, _ := bits.Div64(hi, lo, uint64(i))
		if quotient > math.MaxInt64 {
			return math.MaxInt64
		}
		count = int64(quotient)
	}
	return count
}

// Combinations lists the combinations of r elements of a vector.
func Combinations(self *tensor.Tensor, r int64, withReplacement bool) (*tensor.Tensor, error) {
	const op = "combinations"
	if self.Dim() != 1 {
		return nil, status.Runtimef("%s: expect a 1D vector, but got shape %v", op, self.Sizes())
	}
	if r < 0 {
		return nil, status.Runtimef("%s: expect a non-negative number, but got %d", op, r)
	}
	if r == 0 {
		return tensor.Empty(op, []int64{0}, self.DType(), self.Device())
	}
	n := self.Numel()
	gap, from := int64(1), n // between neighbours; rows are as many as ways to choose r of from
	if withReplacement {
		if gap, from = 0, n+r-1; from < 0 {
			from = math.MaxInt64
		}
	}
	if n == 0 {
		from = 0
	}
	index, err := tensor.Empty(op, []int64{choices(from, r), r}, dtype.Int64, device.Host)
	if err != nil {
		return nil, err
	}
	defer index.Release()
	rows := int64s(index)[:0]
	pick := make([]int64, min(r, int64(cap(rows))))
	for i := range pick {
		pick[i] = int64(i) * gap
	}
	for range index.Sizes()[0] {
		rows = append(rows, pick...)
		i := r - 1
		for i >= 0 && pick[i] == n-1-(r-1-i)*gap {
			i--
		}
		if i < 0 {
			break
		}
		pick[i]++
		for j := i + 1; j < r; j++ {
			pick[j] = pick[j-1] + gap
		}
	}
	out, err := tensor.Empty(op, index.Sizes(), self.DType(), self.Device())
	if err != nil || out.IsMeta() || out.Numel() == 0 {
		return out, err
	}
	place := &at{sizes: index.Sizes(), strides: []int64{0, 0}, step: self.Strides()[0], size: n, index: index}
	return made(out, nil, place.read(op, out, self))
}

// BlockDiag puts matrices on the diagonal of a matrix of zeros.
func BlockDiag(tensors []*tensor.Tensor) (*tensor.Tensor, error) {
	const op = "block_diag"
	for i, t := range tensors {
		if t.Dim() > 2 {
			return nil, status.Runtimef("%s: input tensors must have 2 or fewer dimensions. Input %d has %d dimensions", op, i, t.Dim())
		}
	}
	if len(tensors) == 0 {
		return tensor.Zeros(op, []int64{1, 0}, dtype.Default(), device.Host)
	}
	if err := oneDevice(op, tensors[0], tensors[1:]...); err != nil {
		return nil, err
	}
	return viewed(tensors, Atleast2d, func(views []*tensor.Tensor) (*tensor.Tensor, error) {
		var r dtype.Result
		rows, columns := int64(0), int64(0)
		for i, t := range views {
			r.Add(t.DType(), tensors[i].Rank())
			rows, columns = rows+t.Sizes()[0], columns+t.Sizes()[1]
		}
		out, err := tensor.Zeros(op, []int64{rows, columns}, r.DType(), views[0].Device())
		if err != nil || out.IsMeta() {
			return out, err
		}
		row, column := int64(0), int64(0)
		for _, t := range views {
			block, err := out.View(op, t.Sizes(), out.Strides(), row*out.Strides()[0]+column)
			if err != nil {
				return made(out, nil, err)
			}
			iter.Copy(block, t)
			block.Release()
			row, column = row+t.Sizes()[0], column+t.Sizes()[1]
		}
		return out, nil
	})
}
