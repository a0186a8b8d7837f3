package ops

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Repeat joins copies of self along every dimension; leading dimensions are added where there are more repeats.
func Repeat(self *tensor.Tensor, repeats []int64) (*tensor.Tensor, error) {
	return repeat("repeat", self, repeats)
}

func repeat(op string, self *tensor.Tensor, repeats []int64) (*tensor.Tensor, error) {
	lead := len(repeats) - self.Dim()
	if lead < 0 {
		return nil, status.Runtimef("%s: number of dimensions of repeat dims %v can not be smaller than number of dimensions of tensor %v", op, repeats, self.Sizes())
	}
	// The copies are written through a view of the result with a dimension of its own for every repeat.
	sizes := make([]int64, len(repeats))
	var split, from []int64
	for i, n := range repeats {
		if n < 0 {
			return nil, status.Runtimef("%s: trying to create tensor with negative dimension: repeats %v", op, repeats)
		}
		size := int64(1)
		if i >= lead {
			size = self.Sizes()[i-lead]
		}
		sizes[i] = n * size
		split, from = append(split, n, size), append(from, 1, size)
	}
	if _, err := shape.Numel(op, sizes); err != nil {
		return nil, err
	}
	out, err := tensor.Empty(op, sizes, self.DType(), self.Device())
	if err != nil || out.IsMeta() || out.Numel() == 0 {
		return out, err
	}
	to, err := out.View(op, split, shape.ContiguousStrides(split), 0)
	if err != nil {
		return made(out, nil, err)
	}
	defer to.Release()
	strides, ok := shape.ViewStrides(self.Sizes(), self.Strides(), from)
	if !ok {
		return made(out, nil, status.Runtimef("%s: shape %v cannot be split", op, self.Sizes()))
	}
	source, err := self.View(op, from, strides, self.Offset())
	if err != nil {
		return made(out, nil, err)
	}
	defer source.Release()
	iter.Copy(to, source)
	return out, nil
}

// Tile is Repeat in which missing leading repeats are 1.
func Tile(self *tensor.Tensor, dims []int64) (*tensor.Tensor, error) {
	for len(dims) < self.Dim() {
		dims = slices.Insert(slices.Clone(dims), 0, 1)
	}
	return repeat("tile", self, dims)
}

// RepeatInterleaveSelf repeats every element of a dimension, or of the flattened tensor.
func RepeatInterleaveSelf(self *tensor.Tensor, repeats int64, dim Int, outputSize Int) (*tensor.Tensor, error) {
	if repeats < 0 {
		return nil, status.Runtimef("repeat_interleave: repeats must be non-negative, got %d", repeats)
	}
	times, err := fromInts("repeat_interleave", []int64{repeats}, []int64{1})
	if err != nil {
		return nil, err
	}
	defer times.Release()
	return RepeatInterleaveTensor(self, times, dim, outputSize)
}

// RepeatInterleaveTensor repeats every element of a dimension as often as the vector repeats says.
func RepeatInterleaveTensor(self, repeats *tensor.Tensor, dim Int, outputSize Int) (*tensor.Tensor, error) {
	const op = "repeat_interleave"
	from := self
	if dim.IsNone() {
		flat, err := reshape(op, self, []int64{self.Numel()})
		if err != nil {
			return nil, err
		}
		defer flat.Release()
		from, dim = flat, 0
	}
	d, err := shape.WrapDim(op, int64(dim), from.Dim())
	if err != nil {
		return nil, err
	}
	if from.Dim() == 0 {
		return nil, status.Indexf("%s: dimension %d was given, but the tensor has no dimensions", op, int64(dim))
	}
	n := sizeAt(from, d)
	times := repeats
	if repeats.Dim() == 0 || repeats.Dim() == 1 && repeats.Sizes()[0] == 1 {
		one, err := repeats.View(op, []int64{n}, []int64{0}, repeats.Offset())
		if err != nil {
			return nil, err
		}
		defer one.Release()
		times = one
	}
	if times.Dim() != 1 || times.Sizes()[0] != n {
		return nil, status.Runtimef("%s: repeats must have the same size as input along dim, but got repeats of shape %v and size %d along dim %d", op, repeats.Sizes(), n, d)
	}
	index, err := RepeatInterleave(times, outputSize)
	if err != nil {
		return nil, err
	}
	defer index.Release()
	return IndexSelect(nil, from, int64(d), index)
}

// RepeatInterleave lists every position of the vector repeats as often as its value there says.
func RepeatInterleave(repeats *tensor.Tensor, outputSize Int) (*tensor.Tensor, error) {
	const op = "repeat_interleave"
	switch {
	case repeats.Dim() != 1:
		return nil, status.Runtimef("%s: only accept 1D vector as repeat, but got shape %v", op, repeats.Sizes())
	case !repeats.DType().IsIntegral():
		return nil, status.NotImplementedf("%s: not implemented for repeats of dtype %v; give integers", op, repeats.DType())
	case repeats.IsMeta():
		return nil, status.NotImplementedf("%s: the shape of the result depends on values, which tensors on the meta device do not have", op)
	}
	times, err := cloned(op, repeats, dtype.Int64, repeats.Device(), shape.Contiguous)
	if err != nil {
		return nil, err
	}
	defer times.Release()
	total := int64(0)
	for _, n := range int64s(times) {
		if n < 0 {
			return nil, status.Runtimef("%s: repeats can not be negative, but got %d", op, n)
		}
		if total += n; total < 0 {
			return nil, status.Runtimef("%s: the repeats add up to more than a 64-bit integer counts", op)
		}
	}
	if !outputSize.IsNone() && int64(outputSize) != total {
		return nil, status.Runtimef("%s: allocated size %d does not match required size %d", op, int64(outputSize), total)
	}
	index, err := tensor.Empty(op, []int64{total}, dtype.Int64, repeats.Device())
	if err != nil {
		return nil, err
	}
	to := int64s(index)
	for i, n := range int64s(times) {
		for k := range to[:n] {
			to[k] = int64(i)
		}
		to = to[n:]
	}
	if repeats.DType() == dtype.Int64 {
		return index, nil
	}
	defer index.Release()
	return cloned(op, index, repeats.DType(), repeats.Device(), shape.Contiguous)
}

// Flip reverses the order of positions in the listed dimensions.
func Flip(self *tensor.Tensor, dims []int64) (*tensor.Tensor, error) { return flip("flip", self, dims) }

func flip(op string, self *tensor.Tensor, dims []int64) (*tensor.Tensor, error) {
	mask, err := shape.WrapDims(op, dims, self.Dim(), false)
	if err != nil {
		return nil, err
	}
	out, err := emptyLike(op, self, self.DType(), self.Device(), shape.Preserve)
	if err != nil || out.IsMeta() || out.Numel() == 0 {
		return out, err
	}
	iter.CopyReversed(out, self, mask)
	return out, nil
}

// Fliplr reverses the order of columns.
func Fliplr(self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Dim() < 2 {
		return nil, status.Runtimef("fliplr: input must be >= 2-d, but got %d", self.Dim())
	}
	return flip("fliplr", self, []int64{1})
}

// Flipud reverses the order of rows.
func Flipud(self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Dim() < 1 {
		return nil, status.Runtimef("flipud: input must be >= 1-d, but got %d", self.Dim())
	}
	return flip("flipud", self, []int64{0})
}

// Rot90 turns the plane of two dimensions by k quarters.
func Rot90(self *tensor.Tensor, k int64, dims []int64) (*tensor.Tensor, error) {
	const op = "rot90"
	switch {
	case len(dims) != 2:
		return nil, status.Runtimef("%s: expected total rotation dims == 2, but got dims = %v", op, dims)
	case self.Dim() < 2:
		return nil, status.Runtimef("%s: expected total dims >= 2, but got total dims = %d", op, self.Dim())
	}
	if _, err := shape.WrapDims(op, dims, self.Dim(), false); err != nil {
		return nil, err
	}
	switch ((k % 4) + 4) % 4 {
	case 1, 3:
		turned := dims[1:]
		if ((k%4)+4)%4 == 3 {
			turned = dims[:1]
		}
		flipped, err := flip(op, self, turned)
		if err != nil {
			return nil, err
		}
		return Transpose(flipped, flipped, dims[0], dims[1])
	case 2:
		return flip(op, self, dims)
	}
	return Clone(self, shape.Contiguous)
}

// Roll moves elements along dimensions; those that leave at the end come in at the start.
func Roll(self *tensor.Tensor, shifts, dims []int64) (*tensor.Tensor, error) {
	const op = "roll"
	if len(dims) == 0 && len(shifts) == 1 {
		flat, err := rowMajor(op, self)
		if err != nil {
			return nil, err
		}
		defer flat.Release()
		line, err := flat.View(op, []int64{flat.Numel()}, []int64{1}, flat.Offset())
		if err != nil {
			return nil, err
		}
		defer line.Release()
		out, err := Roll(line, shifts, []int64{0})
		if err != nil {
			return nil, err
		}
		return out, out.SetGeometry(op, self.Sizes(), shape.ContiguousStrides(self.Sizes()), 0)
	}
	if len(shifts) == 0 || len(shifts) != len(dims) {
		return nil, status.Runtimef("%s: shifts and dimensions must align. shifts: %d, dims: %d", op, len(shifts), len(dims))
	}
	if self.Dim() == 0 {
		return nil, status.Indexf("%s: dimension specified as %d but tensor has no dimensions", op, dims[0])
	}
	at := self.Alias()
	for i, dim := range dims {
		d, err := shape.WrapDim(op, dim, self.Dim())
		if err != nil {
			at.Release()
			return nil, err
		}
		next, err := rolled(op, at, d, shifts[i])
		at.Release()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

func rolled(op string, self *tensor.Tensor, d int, shift int64) (*tensor.Tensor, error) {
	n := sizeAt(self, d)
	if self.Numel() == 0 || self.IsMeta() {
		return Clone(self, shape.Contiguous)
	}
	start := ((-shift)%n + n) % n
	head, err := narrowed(op, self, d, start, n-start)
	if err != nil {
		return nil, err
	}
	defer head.Release()
	tail, err := narrowed(op, self, d, 0, start)
	if err != nil {
		return nil, err
	}
	defer tail.Release()
	return cat(op, nil, []*tensor.Tensor{head, tail}, int64(d))
}

// Tril keeps the elements on and below a diagonal of matrices and zeroes the others.
func Tril(out, self *tensor.Tensor, diagonal int64) (*tensor.Tensor, error) {
	return triangle("tril", out, self, diagonal, func(i, columns int64) (int64, int64) { return min(max(i+1, 0), columns), columns })
}

// Triu keeps the elements on and above a diagonal of matrices and zeroes the others.
func Triu(out, self *tensor.Tensor, diagonal int64) (*tensor.Tensor, error) {
	return triangle("triu", out, self, diagonal, func(i, columns int64) (int64, int64) { return 0, min(max(i, 0), columns) })
}

// triangle copies self and zeroes, in each row, the columns that zeroed gives for where the diagonal crosses the row.
func triangle(op string, out, self *tensor.Tensor, diagonal int64, zeroed func(i, columns int64) (from, to int64)) (*tensor.Tensor, error) {
	if self.Dim() < 2 {
		return nil, status.Runtimef("%s: input tensor must have at least 2 dimensions, but got %d", op, self.Dim())
	}
	if out == nil || out != self {
		result, err := cloned(op, self, self.DType(), self.Device(), shape.Contiguous)
		if err != nil {
			return nil, err
		}
		if err := clearRows(op, result, diagonal, zeroed); err != nil || out == nil {
			return made(result, nil, err)
		}
		defer result.Release()
		if _, err := target(op, out, self.Sizes(), self.DType(), self.Device()); err != nil {
			return nil, err
		}
		return out, assign(op, out, result)
	}
	if err := writable(op, out); err != nil {
		return nil, err
	}
	if out.IsContiguous() {
		return out, clearRows(op, out, diagonal, zeroed)
	}
	work, err := triangle(op, nil, self, diagonal, zeroed)
	if err != nil {
		return nil, err
	}
	defer work.Release()
	return out, assign(op, out, work)
}

func clearRows(op string, t *tensor.Tensor, diagonal int64, zeroed func(i, columns int64) (from, to int64)) error {
	if t.IsMeta() || t.Numel() == 0 {
		return nil
	}
	rows, columns := t.Sizes()[t.Dim()-2], t.Sizes()[t.Dim()-1]
	diagonal = min(max(diagonal, -rows), columns) // beyond the matrix, all diagonals are alike
	size := t.DType().Size()
	bytes := unsafe.Slice((*byte)(t.Data()), t.Numel()*size)
	for r := range t.Numel() / columns {
		from, to := zeroed(r%rows+diagonal, columns)
		clear(bytes[(r*columns+from)*size : (r*columns+max(from, to))*size])
	}
	return nil
}

// SumToSize adds up dimensions until self has a shape that broadcasts to its own.
func SumToSize(self *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
	const op = "sum_to_size"
	full, err := shape.Broadcast(op, size, self.Sizes())
	if err != nil || !slices.Equal(full, self.Sizes()) {
		return nil, status.Runtimef("%s: size %v is not expandable to size %v", op, size, self.Sizes())
	}
	lead := self.Dim() - len(size)
	var dims []int64
	for i, n := range self.Sizes() {
		if i < lead || size[i-lead] == 1 && n != 1 {
			dims = append(dims, int64(i))
		}
	}
	if len(size) == 0 {
		return Sum(nil, self, nil, false, dtype.None)
	}
	if len(dims) == 0 {
		return self.Alias(), nil
	}
	sum, err := Sum(nil, self, dims, true, dtype.None)
	if err != nil {
		return nil, err
	}
	return sum, sum.SetGeometry(op, size, shape.ContiguousStrides(size), 0)
}

// ConstantPadNd adds a border of one value, or takes one away where a width is negative; widths come in pairs for the
// last dimension first.
func ConstantPadNd(self *tensor.Tensor, pad []int64, value dtype.Scalar) (*tensor.Tensor, error) {
	const op = "constant_pad_nd"
	if len(pad)%2 != 0 || len(pad) > 2*self.Dim() {
		return nil, status.Runtimef("%s: length of pad must be even and no more than twice the number of dimensions of the input, but got %v for %d dimensions", op, pad, self.Dim())
	}
	sizes := slices.Clone(self.Sizes())
	inner, offset := slices.Clone(self.Sizes()), self.Offset()
	shift := int64(0) // elements of the result before the first copied one
	begins := make([]int64, self.Dim())
	for i := range len(pad) / 2 {
		d := self.Dim() - 1 - i
		before, after := pad[2*i], pad[2*i+1]
		sizes[d] += before + after
		if sizes[d] < 0 {
			return nil, status.Runtimef("%s: the input size %d, plus negative padding %d and %d, resulted in a negative output size for dimension %d", op, self.Sizes()[d], before, after, d)
		}
		inner[d] += min(before, 0) + min(after, 0)
		offset -= min(before, 0) * self.Strides()[d]
		begins[d] = max(before, 0)
	}
	f := shape.SuggestFormat(self.Sizes(), self.Strides())
	strides, err := shape.FormatStrides(op, sizes, f)
	if err != nil {
		return nil, err
	}
	if err := checkFits(op, value, self.DType()); err != nil {
		return nil, err
	}
	out, err := tensor.EmptyStrided(op, sizes, strides, self.DType(), self.Device())
	if err != nil || out.IsMeta() || out.Numel() == 0 {
		return out, err
	}
	if err := fillWith(out, value); err != nil {
		return made(out, nil, err)
	}
	if slices.ContainsFunc(inner, func(n int64) bool { return n <= 0 }) {
		return out, nil
	}
	for d, begin := range begins {
		shift += begin * strides[d]
	}
	from, err := self.View(op, inner, self.Strides(), offset)
	if err != nil {
		return made(out, nil, err)
	}
	defer from.Release()
	to, err := out.View(op, inner, strides, shift)
	if err != nil {
		return made(out, nil, err)
	}
	defer to.Release()
	iter.Copy(to, from)
	return out, nil
}
