package ops

import (
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// isMask tells whether an index tensor selects by truth: bool, and uint8 as PyTorch has it.
func isMask(t *tensor.Tensor) bool { return t.DType() == dtype.Bool || t.DType() == dtype.Uint8 }

// onlyMasks tells whether all tensors of an index are masks.
func onlyMasks(tensors []*tensor.Tensor) bool {
	return !slices.ContainsFunc(tensors, func(t *tensor.Tensor) bool { return t != nil && t != absorbed && !isMask(t) })
}

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
// the dimension of that view which they index; nil where there are none. Whatever the error, releaseMade takes the tensors.
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
				return nil, tensors, err
			}
		case IndexSlice:
			step := Int(item.Step).Or(1)
			begin, n, err := sliceRange(op, g.sizes[d], Int(item.Start), Int(item.Stop), step)
			if err != nil {
				return nil, tensors, err
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
				return nil, tensors, err
			}
			g.insert(d)
			record(mask, 1)
		case IndexTensor:
			t := item.Tensor
			if t.Dim() == 0 && t.DType().IsIntegral() && !isMask(t) && !t.IsMeta() {
				if err := g.drop(d, t.Item().I); err != nil {
					return nil, tensors, err
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

// axis is an index tensor with the dimensions of the view that it indexes: one, or the several that a mask covers, where these
// make up one line of memory.
type axis struct {
	first, dims  int
	size, stride int64
	positions    *tensor.Tensor
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
	var axes []axis
	for d, t := range tensors {
		switch {
		case t == nil || t == absorbed:
		case t.Device() != view.Device() && t.Device().Type != device.CPU:
			return a, status.Runtimef("%s: indices should be either on cpu or on the same device as the indexed tensor (%v), but an index is on %v", op, view.Device(), t.Device())
		case isMask(t):
			found, err := a.expandMask(op, view, d, t)
			if err != nil {
				return a, err
			}
			axes = append(axes, found...)
		case t.DType() != dtype.Int64 && t.DType() != dtype.Int32:
			return a, status.Indexf("%s: tensors used as indices must be long, int, byte or bool tensors, but got %v", op, t.DType())
		default:
			dim, size := d, view.Sizes()[d]
			p, err := a.hold(positions(op, t, size, true, func(i int64) error {
				return status.Indexf("index %d is out of bounds for dimension %d with size %d", i, dim, size)
			}))
			if err != nil {
				return a, err
			}
			axes = append(axes, axis{d, 1, size, view.Strides()[d], p})
		}
	}
	common := axes[0].positions.Sizes()
	for _, x := range axes[1:] {
		if common, err = shape.Broadcast(op, common, x.positions.Sizes()); err != nil {
			return a, status.Indexf("%s: shape mismatch: indexing tensors could not be broadcast together with shapes %s", op, shapesOf(axes))
		}
	}
	before, together := axes[0].first, true // the dimensions that stay before those of the positions
	for i, x := range axes[1:] {
		together = together && x.first == axes[i].first+axes[i].dims
	}
	if !together {
		before = 0
	}
	a.sizes, a.strides = append(a.sizes, common...), make([]int64, len(common))
	place := 0
	for d := range view.Dim() {
		if slices.ContainsFunc(axes, func(x axis) bool { return d >= x.first && d < x.first+x.dims }) {
			continue
		}
		if place < before {
			a.sizes, a.strides = slices.Insert(a.sizes, place, view.Sizes()[d]), slices.Insert(a.strides, place, view.Strides()[d])
			place++
			continue
		}
		a.sizes, a.strides = append(a.sizes, view.Sizes()[d]), append(a.strides, view.Strides()[d])
	}
	return a, a.locate(op, view, axes, common, before)
}

// locate joins the positions along all axes into one index.
func (a *advanced) locate(op string, view *tensor.Tensor, axes []axis, common []int64, before int) error {
	from, err := a.hold(tensor.EmptyStrided(op, a.sizes, a.strides, view.DType(), device.Device{Type: device.Meta, Index: -1}))
	if err != nil {
		return err
	}
	a.inputs = append(a.inputs, from)
	spread := func(t *tensor.Tensor) (*tensor.Tensor, error) {
		full, err := expand(op, t, common)
		if err != nil {
			return nil, err
		}
		defer full.Release()
		strides := make([]int64, len(a.sizes))
		copy(strides[before:], full.Strides())
		return a.hold(full.View(op, a.sizes, strides, full.Offset()))
	}
	for _, x := range axes {
		t, err := spread(x.positions)
		if err != nil {
			return err
		}
		a.inputs = append(a.inputs, t)
	}
	if len(axes) == 1 || view.IsMeta() {
		a.step, a.size, a.index = axes[0].stride, axes[0].size, a.inputs[1]
		return nil
	}
	sum, err := a.hold(tensor.Zeros(op, common, dtype.Int64, device.Host))
	if err != nil {
		return err
	}
	a.step, a.size = 1, 1
	for _, x := range axes {
		if err := iter.RunIndexed(op, locateKernel, dtype.Int64, []*tensor.Tensor{sum, sum, x.positions}, x.stride, x.size); err != nil {
			return err
		}
		a.size += (x.size - 1) * x.stride
	}
	a.index, err = spread(sum)
	return err
}

// expandMask finds the positions of the elements that are set in a mask of view's dimensions from d on: along one axis where
// these dimensions make up one line of memory, and otherwise along each.
func (a *advanced) expandMask(op string, view *tensor.Tensor, d int, mask *tensor.Tensor) ([]axis, error) {
	for k, n := range mask.Sizes() {
		if n != view.Sizes()[d+k] {
			return nil, status.Indexf("%s: the shape of the mask %v at index %d does not match the shape of the indexed tensor %v at index %d", op, mask.Sizes(), k, view.Sizes(), d+k)
		}
	}
	dims := max(mask.Dim(), 1)
	line := true
	for k := d; k+1 < d+dims; k++ {
		line = line && view.Strides()[k] == view.Strides()[k+1]*view.Sizes()[k+1]
	}
	if line {
		flat, err := a.hold(flatNonzero(op, mask))
		return []axis{{d, dims, shape.Product(view.Sizes()[d : d+dims]), view.Strides()[d+dims-1], flat}}, err
	}
	found, err := nonzeroColumns(op, mask)
	if err != nil {
		return nil, err
	}
	var axes []axis
	for k, t := range found {
		a.held = append(a.held, t)
		axes = append(axes, axis{d + k, 1, view.Sizes()[d+k], view.Strides()[d+k], t})
	}
	return axes, nil
}

func shapesOf(axes []axis) string {
	var shapes []string
	for _, x := range axes {
		shapes = append(shapes, formatShape(x.positions.Sizes()))
	}
	return strings.Join(shapes, ", ")
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
	if len(tensors) == 0 || tensors[0] == nil || !isMask(tensors[0]) || !slices.Equal(tensors[0].Sizes(), view.Sizes()) || view.IsMeta() || tensors[0].IsMeta() {
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
	return withIndex(self, items, func(view *tensor.Tensor, tensors []*tensor.Tensor) error {
		check := checkFits
		if len(tensors) == 0 && view.Dim() == 0 {
			check = checkOne
		}
		if err := check("index_put_", value, self.DType()); err != nil {
			return err
		}
		if len(tensors) == 0 {
			if err := fillable("index_put_", view); err != nil {
				return err
			}
			return fillWith(view, value)
		}
		t, err := single("index_put_", value, self.DType())
		if err != nil {
			return err
		}
		defer t.Release()
		return putAdvanced("index_put_", view, tensors, t, false)
	})
}

// withIndex gives change what basic makes of an index.
func withIndex(self *tensor.Tensor, items []IndexItem, change func(view *tensor.Tensor, tensors []*tensor.Tensor) error) error {
	view, tensors, err := basic("index_put_", self, items)
	defer releaseMade(tensors, items)
	if err != nil {
		return err
	}
	defer view.Release()
	return change(view, tensors)
}

func assignIndex(self *tensor.Tensor, items []IndexItem, value *tensor.Tensor) error {
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
	return withIndex(self, items, func(view *tensor.Tensor, tensors []*tensor.Tensor) error {
		if len(tensors) == 0 {
			return assign("index_put_", view, stripped)
		}
		return putAdvanced("index_put_", view, tensors, stripped, false)
	})
}

// putAdvanced writes, or adds, value to the elements of view that tensors name.
func putAdvanced(op string, view *tensor.Tensor, tensors []*tensor.Tensor, value *tensor.Tensor, accumulate bool) error {
	if err := oneDevice(op, view, value); err != nil {
		return err
	}
	check := writable
	if value.Numel() == 1 && !accumulate {
		check = fillable
	}
	if err := check(op, view); err != nil {
		return err
	}
	if mask := soleMask(view, tensors); mask != nil && value.Dim() == 0 && !accumulate && mask.DType() == dtype.Bool && mask.Dim() > 0 {
		return fillByMask(op, view, mask, value)
	}
	if value.DType() != view.DType() && value.Numel() == 1 && !value.IsMeta() && !accumulate && onlyMasks(tensors) {
		// As in PyTorch, one element is converted.
		if err := checkFits(op, value.Item(), view.DType()); err != nil {
			return err
		}
		one, err := single(op, value.Item(), view.DType())
		if err != nil {
			return err
		}
		defer one.Release()
		value = one
	}
	if value.DType() != view.DType() {
		return status.Runtimef("%s: index put requires the source and destination dtypes match, got %v for the destination and %v for the source; convert the source with to(%v)",
			op, view.DType(), value.DType(), view.DType())
	}
	tensors = slices.Clone(tensors)
	for i, t := range tensors {
		if t == nil || t == absorbed {
			continue
		}
		held, err := apartFrom(op, view, t)
		if err != nil {
			return err
		}
		defer held.Release()
		tensors[i] = held
	}
	mismatch := func(sizes []int64) error {
		return status.Runtimef("%s: shape mismatch: value tensor of shape %v cannot be broadcast to indexing result of shape %v", op, value.Sizes(), sizes)
	}
	if mask := soleMask(view, tensors); mask != nil && view.IsContiguous() && value.Dim() == 1 && value.Numel() != 1 && !accumulate {
		return scatterByMask(op, view, mask, value, func(set int64) error {
			if set != value.Numel() {
				return mismatch([]int64{set})
			}
			return nil
		})
	}
	a, err := resolve(op, view, tensors)
	if err != nil {
		return err
	}
	defer a.release()
	if value, err = apartFrom(op, view, value); err != nil {
		return err
	}
	defer value.Release()
	full, err := shape.Broadcast(op, value.Sizes(), a.sizes)
	if err != nil || !slices.Equal(full, a.sizes) {
		return mismatch(a.sizes)
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
	return modified("index_put", out, self, fillable, shape.Preserve, func(to *tensor.Tensor) error {
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

// modified runs change on out, when it is self in place and passes check, and otherwise on a copy of self in a memory format: a
// fresh one, or out.
func modified(op string, out, self *tensor.Tensor, check func(string, *tensor.Tensor) error, f shape.MemoryFormat, change func(*tensor.Tensor) error) (*tensor.Tensor, error) {
	if out == self {
		if err := check(op, out); err != nil {
			return nil, err
		}
		return out, change(out)
	}
	to, err := cloned(op, self, self.DType(), self.Device(), f)
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
