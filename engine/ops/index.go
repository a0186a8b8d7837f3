package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// isMask tells whether an index tensor selects by truth: bool, and uint8 as PyTorch has it.
func isMask(t *tensor.Tensor) bool { return t.DType() == dtype.Bool || t.DType() == dtype.Uint8 }

// consumes is the number of dimensions that an index item takes up.
func (item IndexItem) consumes() int {
	switch item.Kind {
	case IndexInt, IndexSlice:
		return 1
	case IndexTensor:
		if isMask(item.Tensor) {
			return item.Tensor.Dim()
		}
		return 1
	}
	return 0
}

// geometry is a view in the making.
type geometry struct {
	sizes, strides []int64
	offset         int64
}

func (g *geometry) insert(d int) {
	stride := int64(1)
	if d < len(g.sizes) {
		stride = g.sizes[d] * g.strides[d]
	}
	g.sizes, g.strides = slices.Insert(g.sizes, d, 1), slices.Insert(g.strides, d, stride)
}

func (g *geometry) drop(d int, index int64) error {
	n := g.sizes[d]
	if index < -n || index >= n {
		return status.Indexf("index %d is out of bounds for dimension %d with size %d", index, d, n)
	}
	if index < 0 {
		index += n
	}
	g.offset += index * g.strides[d]
	g.sizes, g.strides = slices.Delete(g.sizes, d, d+1), slices.Delete(g.strides, d, d+1)
	return nil
}

// basic applies the ints, slices, new axes and the ellipsis of an index, which give a view, and collects index tensors by
// the dimension of that view which they index; nil where there are none.
func basic(op string, self *tensor.Tensor, items []IndexItem) (view *tensor.Tensor, tensors []*tensor.Tensor, err error) {
	consumed, ellipses := 0, 0
	for _, item := range items {
		consumed += item.consumes()
		if item.Kind == IndexEllipsis {
			ellipses++
		}
	}
	if consumed > self.Dim() {
		if self.Dim() == 0 && consumed == 1 && items[0].Kind == IndexInt {
			return nil, nil, status.Indexf("%s: invalid index of a 0-dim tensor; use item() to convert a 0-dim tensor to a number", op)
		}
		return nil, nil, status.Indexf("%s: too many indices for tensor of dimension %d: the index takes %d", op, self.Dim(), consumed)
	}
	if ellipses > 1 {
		return nil, nil, status.Indexf("%s: an index can only have a single ellipsis ('...'), but got %d", op, ellipses)
	}
	g := geometry{append(make([]int64, 0, 8), self.Sizes()...), append(make([]int64, 0, 8), self.Strides()...), self.Offset()}
	d := 0
	record := func(t *tensor.Tensor, dims int) {
		for len(tensors) < d {
			tensors = append(tensors, nil)
		}
		tensors = append(tensors, t)
		d += dims
		for len(tensors) < d {
			tensors = append(tensors, absorbed)
		}
	}
	for _, item := range items {
		switch item.Kind {
		case IndexInt:
			if err := g.drop(d, item.Start); err != nil {
				return nil, nil, err
			}
		case IndexSlice:
			step := Int(item.Step).Or(1)
			begin, n, err := sliceRange(op, g.sizes[d], Int(item.Start), Int(item.Stop), step)
			if err != nil {
				return nil, nil, err
			}
			g.offset += begin * g.strides[d]
			g.sizes[d] = n
			g.strides[d] *= step
			d++
		case IndexNewAxis:
			g.insert(d)
			d++
		case IndexEllipsis:
			d += self.Dim() - consumed
		case IndexBool:
			mask, err := boolTensor(op, item.Start != 0)
			if err != nil {
				return nil, nil, err
			}
			g.insert(d)
			record(mask, 1)
		case IndexTensor:
			t := item.Tensor
			if t.Dim() == 0 && t.DType().IsIntegral() && !isMask(t) && !t.IsMeta() {
				if err := g.drop(d, t.Item().I); err != nil {
					return nil, nil, err
				}
				continue
			}
			if isMask(t) && t.Dim() == 0 {
				g.insert(d)
			}
			record(t, max(item.consumes(), 1))
		}
	}
	view, err = self.View(op, g.sizes, g.strides, g.offset)
	return view, tensors, err
}

// absorbed fills the places of the dimensions that a mask of several dimensions takes up beside its first.
var absorbed = new(tensor.Tensor)

func boolTensor(op string, value bool) (*tensor.Tensor, error) {
	t, err := tensor.Empty(op, []int64{}, dtype.Bool, device.Host)
	if err == nil {
		tensor.Put(t.Data(), dtype.Bool, dtype.BoolScalar(value))
	}
	return t, err
}

// advanced is an index with tensors, resolved against the view that it indexes.
type advanced struct {
	at
	inputs []*tensor.Tensor // what the layout of a fresh result follows
	held   []*tensor.Tensor
}

func (a *advanced) release() { releaseAll(a.held) }

func (a *advanced) hold(t *tensor.Tensor, err error) (*tensor.Tensor, error) {
	if err == nil {
		a.held = append(a.held, t)
	}
	return t, err
}

// resolve turns index tensors, one for each of view's dimensions or nil, into the elements that they name: masks become
// positions, positions are checked and broadcast, and the dimensions of the positions stand where the index tensors stood,
// or first where those stood apart.
func resolve(op string, view *tensor.Tensor, tensors []*tensor.Tensor) (a *advanced, err error) {
	a = new(advanced)
	defer func() {
		if err != nil {
			a.release()
		}
	}()
	perDim := make([]*tensor.Tensor, view.Dim())
	for d, t := range tensors {
		switch {
		case t == nil || t == absorbed:
		case t.Device() != view.Device() && t.Device().Type != device.CPU:
			return a, status.Runtimef("%s: indices should be either on cpu or on the same device as the indexed tensor (%v), but an index is on %v", op, view.Device(), t.Device())
		case isMask(t):
			if err := a.expandMask(op, view, perDim, d, t); err != nil {
				return a, err
			}
		case !t.DType().IsIntegral():
			return a, status.Indexf("%s: tensors used as indices must be long, int, byte or bool tensors, but got %v", op, t.DType())
		default:
			dim, size := d, view.Sizes()[d]
			p, err := a.hold(positions(op, t, size, true, func(i int64) error {
				return status.Indexf("index %d is out of bounds for dimension %d with size %d", i, dim, size)
			}))
			if err != nil {
				return a, err
			}
			perDim[d] = p
		}
	}
	var dims []int
	var common []int64
	for d, t := range perDim {
		if t == nil {
			continue
		}
		dims = append(dims, d)
		if len(dims) == 1 {
			common = t.Sizes()
			continue
		}
		if common, err = shape.Broadcast(op, common, t.Sizes()); err != nil {
			return a, status.Indexf("%s: shape mismatch: indexing tensors could not be broadcast together with shapes %s", op, shapesOf(perDim))
		}
	}
	before := 0
	if dims[len(dims)-1]-dims[0] == len(dims)-1 {
		before = dims[0]
	}
	indexed := make([]int64, len(common))
	a.sizes = append(a.sizes, common...)
	a.strides = append(a.strides, indexed...)
	place := 0
	for d := range perDim {
		if perDim[d] != nil {
			continue
		}
		if place < before {
			a.sizes, a.strides = slices.Insert(a.sizes, place, view.Sizes()[d]), slices.Insert(a.strides, place, view.Strides()[d])
			place++
			continue
		}
		a.sizes, a.strides = append(a.sizes, view.Sizes()[d]), append(a.strides, view.Strides()[d])
	}
	return a, a.locate(op, view, perDim, dims, common, before)
}

// locate joins the positions of all indexed dimensions into one index.
func (a *advanced) locate(op string, view *tensor.Tensor, perDim []*tensor.Tensor, dims []int, common []int64, before int) error {
	after := len(a.sizes) - before - len(common)
	ones := func(n int) []int64 { return slices.Repeat([]int64{1}, n) }
	shaped := slices.Concat(ones(before), common, ones(after))
	from, err := a.hold(tensor.EmptyStrided(op, a.sizes, a.strides, view.DType(), device.Device{Type: device.Meta, Index: -1}))
	if err != nil {
		return err
	}
	a.inputs = append(a.inputs, from)
	for _, d := range dims {
		full, err := a.hold(expand(op, perDim[d], common))
		if err != nil {
			return err
		}
		strides := slices.Concat(make([]int64, before), full.Strides(), make([]int64, after))
		t, err := a.hold(full.View(op, a.sizes, strides, full.Offset()))
		if err != nil {
			return err
		}
		a.inputs = append(a.inputs, t)
	}
	if len(dims) == 1 {
		a.step = view.Strides()[dims[0]]
		index, err := a.hold(perDim[dims[0]].View(op, shaped, shape.ContiguousStrides(shaped), 0))
		a.index = index
		return err
	}
	a.step = 1
	index, err := a.hold(tensor.Zeros(op, shaped, dtype.Int64, device.Host))
	if err != nil {
		return err
	}
	a.index = index
	sum := int64s(index)
	for _, d := range dims {
		full, err := expand(op, perDim[d], common)
		if err != nil {
			return err
		}
		p, err := rowMajor(op, full)
		full.Release()
		if err != nil {
			return err
		}
		stride := view.Strides()[d]
		for i, x := range int64s(p) {
			sum[i] += x * stride
		}
		p.Release()
	}
	return nil
}

// expandMask replaces a mask by the positions of its set elements, one tensor for each of its dimensions.
func (a *advanced) expandMask(op string, view *tensor.Tensor, perDim []*tensor.Tensor, d int, mask *tensor.Tensor) error {
	if mask.IsMeta() {
		return status.NotImplementedf("%s: a mask on the meta device has no values to select by", op)
	}
	for k, n := range mask.Sizes() {
		if n != view.Sizes()[d+k] {
			return status.Indexf("%s: the shape of the mask %v at index %d does not match the shape of the indexed tensor %v at index %d", op, mask.Sizes(), k, view.Sizes(), d+k)
		}
	}
	if mask.Dim() == 0 {
		one, err := mask.View(op, []int64{1}, []int64{1}, mask.Offset())
		if err != nil {
			return err
		}
		defer one.Release()
		mask = one
	}
	found, err := nonzeroColumns(op, mask)
	if err != nil {
		return err
	}
	for k, t := range found {
		a.held = append(a.held, t)
		perDim[d+k] = t
	}
	return nil
}

func shapesOf(tensors []*tensor.Tensor) string {
	var s string
	for _, t := range tensors {
		if t != nil {
			s += formatShape(t.Sizes()) + ", "
		}
	}
	return s[:max(len(s)-2, 0)]
}

// IndexGet reads self[index].
func IndexGet(self *tensor.Tensor, items []IndexItem) (*tensor.Tensor, error) {
	view, tensors, err := basic("index", self, items)
	if err != nil || len(tensors) == 0 {
		releaseMade(tensors, items)
		return view, err
	}
	defer releaseMade(tensors, items)
	defer view.Release()
	return readAdvanced("index", view, tensors)
}

// releaseMade gives up the masks that stand for plain bools.
func releaseMade(tensors []*tensor.Tensor, items []IndexItem) {
	for _, t := range tensors {
		if t != nil && t != absorbed && !slices.ContainsFunc(items, func(i IndexItem) bool { return i.Tensor == t }) {
			t.Release()
		}
	}
}

func readAdvanced(op string, view *tensor.Tensor, tensors []*tensor.Tensor) (*tensor.Tensor, error) {
	if mask := soleMask(view, tensors); mask != nil && mask.Dim() > 0 {
		return selectByMask(op, view, mask)
	}
	a, err := resolve(op, view, tensors)
	if err != nil {
		return nil, err
	}
	defer a.release()
	out, err := iter.Allocate(op, a.sizes, view.DType(), view.Device(), a.inputs...)
	if err != nil || out.IsMeta() {
		return out, err
	}
	return made(out, nil, a.read(op, out, view))
}

// soleMask is the mask when a mask of all dimensions is all there is to an index.
func soleMask(view *tensor.Tensor, tensors []*tensor.Tensor) *tensor.Tensor {
	if len(tensors) == 0 || tensors[0] == nil || !isMask(tensors[0]) || !slices.Equal(tensors[0].Sizes(), view.Sizes()) || view.IsMeta() {
		return nil
	}
	return tensors[0]
}

// IndexSet writes self[index] = value.
func IndexSet(self *tensor.Tensor, items []IndexItem, value *tensor.Tensor) error {
	if value.IsNumber() {
		return IndexSetScalar(self, items, value.Item())
	}
	return assignIndex(self, items, value)
}

// IndexSetScalar writes one number to self[index].
func IndexSetScalar(self *tensor.Tensor, items []IndexItem, value dtype.Scalar) error {
	if err := checkFits("index_put_", value, self.DType()); err != nil {
		return err
	}
	t, err := single("index_put_", value, self.DType())
	if err != nil {
		return err
	}
	defer t.Release()
	return assignIndex(self, items, t)
}

func assignIndex(self *tensor.Tensor, items []IndexItem, value *tensor.Tensor) error {
	view, tensors, err := basic("index_put_", self, items)
	if err != nil {
		releaseMade(tensors, items)
		return err
	}
	defer releaseMade(tensors, items)
	defer view.Release()
	// As in PyTorch, leading dimensions of size 1 of the value do not count.
	lead := 0
	for lead < value.Dim() && value.Sizes()[lead] == 1 {
		lead++
	}
	stripped, err := value.View("index_put_", value.Sizes()[lead:], value.Strides()[lead:], value.Offset())
	if err != nil {
		return err
	}
	defer stripped.Release()
	if len(tensors) == 0 {
		return assign("index_put_", view, stripped)
	}
	return putAdvanced("index_put_", view, tensors, stripped, false)
}

// putAdvanced writes, or adds, value to the elements of view that tensors name.
func putAdvanced(op string, view *tensor.Tensor, tensors []*tensor.Tensor, value *tensor.Tensor, accumulate bool) error {
	if err := oneDevice(op, view, value); err != nil {
		return err
	}
	if err := writable(op, view); err != nil {
		return err
	}
	if mask := soleMask(view, tensors); mask != nil && value.Dim() == 0 && !accumulate && mask.DType() == dtype.Bool && mask.Dim() > 0 {
		return fillByMask(op, view, mask, value.Item())
	}
	if value.DType() != view.DType() {
		return status.Runtimef("%s: index put requires the source and destination dtypes match, got %v for the destination and %v for the source; convert the source with to(%v)",
			op, view.DType(), value.DType(), view.DType())
	}
	for i, t := range tensors {
		if t != nil && t != absorbed && t.Storage() == view.Storage() {
			held, err := Clone(t, shape.Preserve)
			if err != nil {
				return err
			}
			defer held.Release()
			tensors[i] = held
		}
	}
	a, err := resolve(op, view, tensors)
	if err != nil {
		return err
	}
	defer a.release()
	if value.Storage() == view.Storage() {
		if value, err = Clone(value, shape.Preserve); err != nil {
			return err
		}
		defer value.Release()
	}
	full, err := shape.Broadcast(op, value.Sizes(), a.sizes)
	if err != nil || !slices.Equal(full, a.sizes) {
		return status.Runtimef("%s: shape mismatch: value tensor of shape %v cannot be broadcast to indexing result of shape %v", op, value.Sizes(), a.sizes)
	}
	if view.IsMeta() || shape.Product(a.sizes) == 0 {
		return nil
	}
	if accumulate {
		return a.combine(op, scatterAdd, view, value)
	}
	return a.write(op, view, value)
}

// IndexPut writes values to the elements that one index tensor for each leading dimension, or nil, names.
func IndexPut(out, self *tensor.Tensor, indices []*tensor.Tensor, values *tensor.Tensor, accumulate bool) (*tensor.Tensor, error) {
	given, err := byDimension("index_put", self, indices)
	if err != nil {
		return nil, err
	}
	return modified("index_put", out, self, func(to *tensor.Tensor) error {
		if len(given) == 0 {
			return assign("index_put", to, values)
		}
		return putAdvanced("index_put", to, given, values, accumulate)
	})
}

// byDimension lays out index tensors by the dimension at which each starts.
func byDimension(op string, self *tensor.Tensor, indices []*tensor.Tensor) ([]*tensor.Tensor, error) {
	var given []*tensor.Tensor
	any := false
	for _, t := range indices {
		given = append(given, t)
		if t != nil {
			any = true
			if isMask(t) {
				for range t.Dim() - 1 {
					given = append(given, absorbed)
				}
			}
		}
	}
	if len(given) > self.Dim() {
		return nil, status.Indexf("%s: too many indices for tensor of dimension %d (got %d)", op, self.Dim(), len(given))
	}
	if !any {
		return nil, nil
	}
	return given, nil
}

// modified runs change on out, when it is self in place, and otherwise on a copy of self: a fresh one, or out.
func modified(op string, out, self *tensor.Tensor, change func(*tensor.Tensor) error) (*tensor.Tensor, error) {
	if out == self {
		if err := writable(op, out); err != nil {
			return nil, err
		}
		return out, change(out)
	}
	to, err := cloned(op, self, self.DType(), self.Device(), shape.Preserve)
	if err != nil {
		return nil, err
	}
	if err := change(to); err != nil || out == nil {
		return made(to, nil, err)
	}
	defer to.Release()
	if _, err := target(op, out, self.Sizes(), self.DType(), self.Device()); err != nil {
		return nil, err
	}
	return out, assign(op, out, to)
}
