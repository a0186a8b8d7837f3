package ops

import (
	"math"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// isMask tells whether an index tensor selects by truth: bool, and uint8 as PyTorch has it.
func isMask(t *tensor.Tensor) bool { return t.DType() == dtype.Bool || t.DType() == dtype.Uint8 }

// selector is an index tensor with the first of the dimensions that it indexes and their number: a mask has those that it covers.
type selector struct {
	*tensor.Tensor
	first, dims int
}

// newSelector is t as an index of the dimensions from first on. A zero-dim mask has one of its own.
func newSelector(t *tensor.Tensor, first int) selector {
	if isMask(t) {
		return selector{t, first, max(t.Dim(), 1)}
	}
	return selector{t, first, 1}
}

// onlyMasks tells whether all tensors of an index are masks.
func onlyMasks(selectors []selector) bool {
	return !slices.ContainsFunc(selectors, func(x selector) bool { return !isMask(x.Tensor) })
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

// number is the position that an item selects: an integer's, or that of a zero-dim tensor of integers.
func (item IndexItem) number() (position int64, ok bool) {
	switch t := item.Tensor; item.Kind {
	case IndexInt:
		return item.Start, true
	case IndexTensor:
		if t.Dim() == 0 && t.DType().IsIntegral() && !isMask(t) && !t.IsMeta() {
			return t.Item().I, true
		}
	}
	return 0, false
}

// unindexed is the number of self's dimensions that no item of an index takes up.
func unindexed(op string, self *tensor.Tensor, items []IndexItem) (int, error) {
	consumed, ellipses := 0, 0
	for _, item := range items {
		consumed += item.consumes()
		if item.Kind == IndexEllipsis {
			ellipses++
		}
	}
	switch {
	case self.Dim() == 0 && consumed == 1 && items[0].Kind == IndexInt:
		return 0, status.Indexf("%s: invalid index of a 0-dim tensor; use item() to convert a 0-dim tensor to a number", op)
	case consumed > self.Dim():
		return 0, status.Indexf("%s: too many indices for tensor of dimension %d: the index takes %d", op, self.Dim(), consumed)
	case ellipses > 1:
		return 0, status.Indexf("%s: an index can only have a single ellipsis ('...'), but got %d", op, ellipses)
	}
	return self.Dim() - consumed, nil
}

// basic applies the integers, slices, new axes and the ellipsis of an index, which give a view, and lists the index tensors,
// which index dimensions of that view. Those that stand for plain bools are temporaries of s.
func basic(s *owner.Scope, self *tensor.Tensor, items []IndexItem) (seen *tensor.Tensor, selectors []selector, err error) {
	rest, err := unindexed(s.Op, self, items)
	if err != nil {
		return nil, nil, err
	}
	g := view.Of(self)
	d, taken := 0, 0 // the next dimension of g, and of self
	for _, item := range items {
		if position, ok := item.number(); ok {
			at, ok := shape.WrapIndex(position, g.Sizes[d])
			if !ok {
				return nil, nil, status.Indexf("index %d is out of bounds for dimension %d with size %d", position, taken, g.Sizes[d])
			}
			g.Select(d, at)
			taken++
			continue
		}
		switch item.Kind {
		case IndexSlice:
			if err := g.Slice(s.Op, d, Int(item.Start).Or(0), Int(item.Stop).Or(math.MaxInt64), Int(item.Step).Or(1)); err != nil {
				return nil, nil, err
			}
			d++
		case IndexNewAxis:
			g = g.Insert(d)
			d++
		case IndexEllipsis:
			d, taken = d+rest, taken+rest
		default:
			t := item.Tensor
			if item.Kind == IndexBool {
				if t = s.Keep(single(s.Op, dtype.BoolScalar(item.Start != 0), dtype.Bool)); s.Err != nil {
					return nil, nil, s.Err
				}
			}
			x := newSelector(t, d)
			if x.Dim() == 0 && isMask(x.Tensor) {
				g = g.Insert(d)
			}
			selectors = append(selectors, x)
			d += x.dims
		}
		taken += item.consumes()
	}
	seen, err = view.As(s.Op, self, g)
	return seen, selectors, err
}

// advanced is an index with tensors, resolved against the view that it indexes.
type advanced struct {
	indexed
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

// resolve turns index tensors into the elements of base that they name: masks become positions, positions are checked and broadcast, and the dimensions of the positions stand where the index tensors stood,
// or first where those stood apart.
func resolve(op string, base *tensor.Tensor, selectors []selector) (a *advanced, err error) {
	a = new(advanced)
	defer func() {
		if err != nil {
			a.release()
		}
	}()
	var axes []axis
	for _, x := range selectors {
		t, d := x.Tensor, x.first
		switch {
		case t.Device() != base.Device() && t.Device().Type != device.CPU:
			return a, status.Runtimef("%s: indices should be either on cpu or on the same device as the indexed tensor (%v), but an index is on %v", op, base.Device(), t.Device())
		case isMask(t):
			found, err := a.expandMask(op, base, d, t)
			if err != nil {
				return a, err
			}
			axes = append(axes, found...)
		case t.DType() != dtype.Int64 && t.DType() != dtype.Int32:
			return a, status.Indexf("%s: tensors used as indices must be long, int, byte or bool tensors, but got %v", op, t.DType())
		default:
			size := base.Sizes()[d]
			p, err := a.hold(positions(op, t, size, true, func(i int64) error {
				return status.Indexf("index %d is out of bounds for dimension %d with size %d", i, d, size)
			}))
			if err != nil {
				return a, err
			}
			axes = append(axes, axis{d, 1, size, base.Strides()[d], p})
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
	for d := range base.Dim() {
		if slices.ContainsFunc(axes, func(x axis) bool { return d >= x.first && d < x.first+x.dims }) {
			continue
		}
		if place < before {
			a.sizes, a.strides = slices.Insert(a.sizes, place, base.Sizes()[d]), slices.Insert(a.strides, place, base.Strides()[d])
			place++
			continue
		}
		a.sizes, a.strides = append(a.sizes, base.Sizes()[d]), append(a.strides, base.Strides()[d])
	}
	return a, a.locate(op, base, axes, common, before)
}

// locate joins the positions along all axes into one index.
func (a *advanced) locate(op string, base *tensor.Tensor, axes []axis, common []int64, before int) error {
	from, err := a.hold(tensor.EmptyStrided(op, a.sizes, a.strides, base.DType(), device.Device{Type: device.Meta, Index: -1}))
	if err != nil {
		return err
	}
	a.inputs = append(a.inputs, from)
	spread := func(t *tensor.Tensor) (*tensor.Tensor, error) {
		full, err := view.Expand(op, t, common)
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
	if len(axes) == 1 || base.IsMeta() {
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
func (a *advanced) expandMask(op string, base *tensor.Tensor, d int, mask *tensor.Tensor) ([]axis, error) {
	for k, n := range mask.Sizes() {
		if n != base.Sizes()[d+k] {
			return nil, status.Indexf("%s: the shape of the mask %v at index %d does not match the shape of the indexed tensor %v at index %d", op, mask.Sizes(), k, base.Sizes(), d+k)
		}
	}
	dims := max(mask.Dim(), 1)
	line := true
	for k := d; k+1 < d+dims; k++ {
		line = line && base.Strides()[k] == base.Strides()[k+1]*base.Sizes()[k+1]
	}
	if line {
		flat, err := a.hold(flatNonzero(op, mask))
		return []axis{{d, dims, shape.Product(base.Sizes()[d : d+dims]), base.Strides()[d+dims-1], flat}}, err
	}
	found, err := nonzeroColumns(op, mask)
	if err != nil {
		return nil, err
	}
	var axes []axis
	for k, t := range found {
		a.held = append(a.held, t)
		axes = append(axes, axis{d + k, 1, base.Sizes()[d+k], base.Strides()[d+k], t})
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
	s := owner.Scope{Op: "index"}
	defer s.Close()
	base, selectors, err := basic(&s, self, items)
	if err != nil || len(selectors) == 0 {
		return base, err
	}
	defer base.Release()
	return readAdvanced(s.Op, base, selectors)
}

func readAdvanced(op string, base *tensor.Tensor, selectors []selector) (*tensor.Tensor, error) {
	if mask := soleMask(base, selectors); mask != nil && mask.Dim() > 0 {
		return selectByMask(op, base, mask)
	}
	a, err := resolve(op, base, selectors)
	if err != nil {
		return nil, err
	}
	defer a.release()
	out, err := iter.Allocate(op, a.sizes, base.DType(), base.Device(), a.inputs...)
	if err != nil || out.IsMeta() {
		return out, err
	}
	return made(out, nil, a.read(op, out, base))
}

// soleMask is the mask when a mask of all dimensions is all there is to an index.
func soleMask(base *tensor.Tensor, selectors []selector) *tensor.Tensor {
	if len(selectors) == 0 || base.IsMeta() {
		return nil
	}
	if x := selectors[0]; isMask(x.Tensor) && slices.Equal(x.Sizes(), base.Sizes()) && !x.IsMeta() {
		return x.Tensor
	}
	return nil
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
	return withIndex(self, items, func(base *tensor.Tensor, selectors []selector) error {
		check := checkFits
		if len(selectors) == 0 && base.Dim() == 0 {
			check = checkOne
		}
		if err := check("index_put_", value, self.DType()); err != nil {
			return err
		}
		if len(selectors) == 0 {
			if err := fillable("index_put_", base); err != nil {
				return err
			}
			return fillWith(base, value)
		}
		t, err := single("index_put_", value, self.DType())
		if err != nil {
			return err
		}
		defer t.Release()
		return putAdvanced("index_put_", base, selectors, t, false)
	})
}

// withIndex gives change what basic makes of an index.
func withIndex(self *tensor.Tensor, items []IndexItem, change func(base *tensor.Tensor, selectors []selector) error) error {
	s := owner.Scope{Op: "index_put_"}
	defer s.Close()
	base, selectors, err := basic(&s, self, items)
	if err != nil {
		return err
	}
	defer base.Release()
	return change(base, selectors)
}

func assignIndex(self *tensor.Tensor, items []IndexItem, value *tensor.Tensor) error {
	// As in PyTorch, leading dimensions of size 1 of the value do not count.
	lead := 0
	for lead < value.Dim() && value.Sizes()[lead] == 1 {
		lead++
	}
	stripped, err := view.Squeeze("index_put_", nil, value, func(d int) bool { return d < lead })
	if err != nil {
		return err
	}
	defer stripped.Release()
	return withIndex(self, items, func(base *tensor.Tensor, selectors []selector) error {
		if len(selectors) == 0 {
			return assign("index_put_", base, stripped)
		}
		return putAdvanced("index_put_", base, selectors, stripped, false)
	})
}

// putAdvanced writes, or adds, value to the elements of view that tensors name.
func putAdvanced(op string, base *tensor.Tensor, selectors []selector, value *tensor.Tensor, accumulate bool) error {
	if err := oneDevice(op, base, value); err != nil {
		return err
	}
	check := writable
	if value.Numel() == 1 && !accumulate {
		check = fillable
	}
	if err := check(op, base); err != nil {
		return err
	}
	if mask := soleMask(base, selectors); mask != nil && value.Dim() == 0 && !accumulate && mask.DType() == dtype.Bool && mask.Dim() > 0 {
		return fillByMask(op, base, mask, value)
	}
	if value.DType() != base.DType() && value.Numel() == 1 && !value.IsMeta() && !accumulate && onlyMasks(selectors) {
		// As in PyTorch, one element is converted.
		if err := checkFits(op, value.Item(), base.DType()); err != nil {
			return err
		}
		one, err := single(op, value.Item(), base.DType())
		if err != nil {
			return err
		}
		defer one.Release()
		value = one
	}
	if value.DType() != base.DType() {
		return status.Runtimef("%s: index put requires the source and destination dtypes match, got %v for the destination and %v for the source; convert the source with to(%v)",
			op, base.DType(), value.DType(), base.DType())
	}
	selectors = slices.Clone(selectors)
	for i, x := range selectors {
		held, err := apartFrom(op, base, x.Tensor)
		if err != nil {
			return err
		}
		defer held.Release()
		selectors[i].Tensor = held
	}
	mismatch := func(sizes []int64) error {
		return status.Runtimef("%s: shape mismatch: value tensor of shape %v cannot be broadcast to indexing result of shape %v", op, value.Sizes(), sizes)
	}
	if mask := soleMask(base, selectors); mask != nil && base.IsContiguous() && value.Dim() == 1 && value.Numel() != 1 && !accumulate {
		return scatterByMask(op, base, mask, value, func(set int64) error {
			if set != value.Numel() {
				return mismatch([]int64{set})
			}
			return nil
		})
	}
	a, err := resolve(op, base, selectors)
	if err != nil {
		return err
	}
	defer a.release()
	if value, err = apartFrom(op, base, value); err != nil {
		return err
	}
	defer value.Release()
	full, err := shape.Broadcast(op, value.Sizes(), a.sizes)
	if err != nil || !slices.Equal(full, a.sizes) {
		return mismatch(a.sizes)
	}
	if base.IsMeta() || shape.Product(a.sizes) == 0 {
		return nil
	}
	if accumulate {
		return a.combine(op, scatterAdd, base, value)
	}
	return a.write(op, base, value)
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

// byDimension lists the index tensors of self's dimensions, each of which nil leaves alone.
func byDimension(op string, self *tensor.Tensor, indices []*tensor.Tensor) ([]selector, error) {
	var selectors []selector
	d := 0
	for _, t := range indices {
		if t == nil {
			d++
			continue
		}
		x := newSelector(t, d)
		selectors = append(selectors, x)
		d += x.dims
	}
	if d > self.Dim() {
		return nil, status.Indexf("%s: too many indices for tensor of dimension %d (got %d)", op, self.Dim(), d)
	}
	return selectors, nil
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
