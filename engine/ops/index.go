package ops

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/view"
	"github.com/libtensor/libtensor/engine/warning"
)

// IsMask reports whether an index tensor selects by truth: bool, and uint8 as in PyTorch.
func IsMask(t *tensor.Tensor) bool { return t.DType() == dtype.Bool || t.DType() == dtype.Uint8 }

// warnByteMask warns about a uint8 tensor used as a mask.
func warnByteMask(op, argument string, t *tensor.Tensor) error {
	if t.DType() != dtype.Uint8 {
		return nil
	}
	return warning.Uint8Mask.Of(op, "%s of dtype uint8 is interpreted as a mask, which is deprecated; use bool for masks, or int64 for indices",
		argument)
}

// selector is an index tensor with the first of the dimensions that it indexes and their number: a mask has those that it covers.
type selector struct {
	*tensor.Tensor
	first, dims int
}

// newSelector returns t as an index of the dimensions from first on. A zero-dim mask indexes a new dimension.
func newSelector(t *tensor.Tensor, first int) selector {
	if IsMask(t) {
		return selector{t, first, max(t.Dim(), 1)}
	}
	return selector{t, first, 1}
}

// areAllMasks reports whether all tensors of an index are masks.
func areAllMasks(selectors []selector) bool {
	return !slices.ContainsFunc(selectors, func(x selector) bool { return !IsMask(x.Tensor) })
}

// countDims returns the number of dimensions that an index item consumes.
func (item IndexItem) countDims() int {
	switch item.Kind {
	case IndexInt, IndexSlice:
		return 1
	case IndexTensor:
		if IsMask(item.Tensor) {
			return item.Tensor.Dim()
		}
		return 1
	}
	return 0
}

// Position returns where an item selects one element of a dimension: an integer's, or that of a zero-dim tensor of integers.
func (item IndexItem) Position() (position int64, ok bool) {
	switch t := item.Tensor; item.Kind {
	case IndexInt:
		return item.Start, true
	case IndexTensor:
		if t.Dim() == 0 && t.DType().IsIntegral() && !IsMask(t) && backend.Known(t) {
			v, err := backend.Item("index", t)
			return v.Position(), err == nil
		}
	}
	return 0, false
}

// countUnindexed returns the number of self's dimensions that no item of an index consumes.
func countUnindexed(op string, self *tensor.Tensor, items []IndexItem) (int, error) {
	consumed, ellipses := 0, 0
	for _, item := range items {
		consumed += item.countDims()
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

// viewBasicIndex applies the integers, slices, new axes and the ellipsis of an index, which result in a view. It also returns the index
// tensors, with the dimensions of the view that they index.
func (s *scope) viewBasicIndex(self *tensor.Tensor, items []IndexItem) (seen *tensor.Tensor, selectors []selector) {
	rest, err := countUnindexed(s.Op, self, items)
	s.Check(err)
	g := view.Of(self)
	d, taken := 0, 0 // the next dimension of g, and of self
	for _, item := range items {
		if position, ok := item.Position(); ok {
			at, ok := shape.WrapIndex(position, g.Sizes[d])
			if !ok {
				s.Check(status.Indexf("index %d is out of bounds for dimension %d with size %d", position, taken, g.Sizes[d]))
			}
			g.Select(d, at)
			taken++
			continue
		}
		switch item.Kind {
		case IndexSlice:
			s.Check(g.Slice(s.Op, d, Int(item.Start).Or(0), Int(item.Stop).Or(math.MaxInt64), Int(item.Step).Or(1)))
			d++
		case IndexNewAxis:
			g = g.Insert(d)
			d++
		case IndexEllipsis:
			d, taken = d+rest, taken+rest
		default:
			t := item.Tensor
			if item.Kind == IndexBool {
				t = s.newScalarTensor(dtype.BoolScalar(item.Start != 0), dtype.Bool, device.Host)
			}
			s.Check(warnByteMask(s.Op, "tensor as an index", t))
			x := newSelector(t, d)
			if x.Dim() == 0 && IsMask(x.Tensor) {
				g = g.Insert(d)
			}
			selectors = append(selectors, x)
			d += x.dims
		}
		taken += item.countDims()
	}
	s.Check(checkIndexDevices(s.Op, self, selectors))
	return s.Track(view.As(s.Op, self, g)), selectors
}

// checkIndexDevices returns an error for index tensors on a device other than self's. Index tensors of the CPU are compatible with any
// device: their positions are computed there.
func checkIndexDevices(op string, self *tensor.Tensor, selectors []selector) error {
	for _, x := range selectors {
		if at := x.Device(); at != self.Device() && at.Type != device.CPU {
			return status.Runtimef("%s: indices should be either on cpu or on the same device as the indexed tensor (%v), but an index is on %v", op,
				self.Device(), at)
		}
	}
	return nil
}

// advanced is an index with tensors, resolved against the view that it indexes.
type advanced struct {
	indexed
	inputs []*tensor.Tensor // tensors that determine the layout of a new result
}

// axis is an index tensor with the dimensions of the view that it indexes: one, or the several that a mask covers, where these
// make up one line of memory.
type axis struct {
	first, dims  int
	size, stride int64
	positions    *tensor.Tensor
	check        *backend.Bounds // bounds to check in positions when they are used
}

// resolveAdvanced converts index tensors to the elements of base that they select: masks become positions, positions are checked and
// broadcast. The broadcast dimensions replace those of adjacent index tensors, or come first if the index tensors are not adjacent.
func (s *scope) resolveAdvanced(base *tensor.Tensor, selectors []selector) *advanced {
	a := new(advanced)
	var axes []axis
	for _, x := range selectors {
		t, d := x.Tensor, x.first
		switch {
		case IsMask(t):
			axes = append(axes, s.maskAxes(base, d, t)...)
		case !isIndexDType(t.DType()):
			s.Check(status.Indexf("%s: tensors used as indices must be long, int, byte or bool tensors, but got %v", s.Op, t.DType()))
		default:
			size := base.Sizes()[d]
			p, check := s.takePositions(base, t, size, true, outOfAxis{d, size})
			axes = append(axes, axis{d, 1, size, base.Strides()[d], p, check})
		}
	}
	for i := range axes {
		if p := &axes[i].positions; (*p).Device() != base.Device() && backend.Known(base) {
			*p = s.Track(cloneTensor(s.Op, *p, dtype.Int64, base.Device(), shape.Preserve))
		}
	}
	common := axes[0].positions.Sizes()
	for _, x := range axes[1:] {
		var err error
		if common, err = shape.Broadcast(s.Op, common, x.positions.Sizes()); err != nil {
			s.Check(status.Indexf("%s: shape mismatch: indexing tensors could not be broadcast together with shapes %s", s.Op, formatShapes(axes)))
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
	s.joinPositions(a, base, axes, common, before)
	return a
}

// joinPositions joins the positions along all axes into one index.
func (s *scope) joinPositions(a *advanced, base *tensor.Tensor, axes []axis, common []int64, before int) {
	spread := func(t *tensor.Tensor) *tensor.Tensor {
		full := s.expandTo(t, common)
		strides := make([]int64, len(a.sizes))
		copy(strides[before:], full.Strides())
		return s.Track(full.View(s.Op, a.sizes, strides, full.Offset()))
	}
	a.inputs = append(a.inputs, s.Track(tensor.EmptyStrided(s.Op, a.sizes, a.strides, base.DType(),
		device.Device{Type: device.Meta, Index: -1})))
	for _, x := range axes {
		a.inputs = append(a.inputs, spread(x.positions))
	}
	if len(axes) == 1 {
		a.step, a.size, a.index, a.check = axes[0].stride, axes[0].size, a.inputs[1], axes[0].check
		return
	}
	sum := s.Track(tensor.Zeros(s.Op, common, dtype.Int64, base.Device()))
	a.step, a.size = 1, 1
	for _, x := range axes {
		s.Check(backend.On(sum).Indexed(s.Op, backend.Indexed{Kernel: locateKernel, Compute: dtype.Int64,
			Operands: [3]*tensor.Tensor{sum, sum, x.positions}, Step: x.stride, Size: x.size, Check: x.check}))
		a.size += (x.size - 1) * x.stride
	}
	a.index = spread(sum)
}

// maskAxes finds the positions of the elements that are set in a mask of base's dimensions from d on: along one axis where
// these dimensions make up one line of memory, and otherwise along each.
func (s *scope) maskAxes(base *tensor.Tensor, d int, mask *tensor.Tensor) (axes []axis) {
	for k, n := range mask.Sizes() {
		if n != base.Sizes()[d+k] {
			s.Check(status.Indexf("%s: the shape of the mask %v at index %d does not match the shape of the indexed tensor %v at index %d", s.Op,
				mask.Sizes(), k, base.Sizes(), d+k))
		}
	}
	dims := max(mask.Dim(), 1)
	line := true
	for k := d; k+1 < d+dims; k++ {
		line = line && base.Strides()[k] == base.Strides()[k+1]*base.Sizes()[k+1]
	}
	if line {
		return []axis{{d, dims, shape.Product(base.Sizes()[d : d+dims]), base.Strides()[d+dims-1], s.flatNonzero(mask), nil}}
	}
	for k, t := range s.nonzeroColumns(mask) {
		axes = append(axes, axis{d + k, 1, base.Sizes()[d+k], base.Strides()[d+k], t, nil})
	}
	return axes
}

// formatShapes formats the shapes of index tensors for errors.
func formatShapes(axes []axis) string {
	var shapes []string
	for _, x := range axes {
		shapes = append(shapes, status.Textf("%v", x.positions.Sizes()))
	}
	return strings.Join(shapes, ", ")
}

// IndexGet reads self[index].
func IndexGet(self *tensor.Tensor, items []IndexItem) (_ *tensor.Tensor, err error) {
	s := newScope("index")
	defer s.Close(&err)
	base, selectors := s.viewBasicIndex(self, items)
	if len(selectors) > 0 {
		return s.Return(s.readAdvanced(base, selectors))
	}
	return s.Return(base)
}

func (s *scope) readAdvanced(base *tensor.Tensor, selectors []selector) *tensor.Tensor {
	if mask := findFullMask(base, selectors); mask != nil && mask.Dim() > 0 {
		return s.selectByMask(base, mask)
	}
	a := s.resolveAdvanced(base, selectors)
	out := s.Track(tensoriter.Allocate(s.Op, a.sizes, base.DType(), base.Device(), a.inputs...))
	a.readIndexed(s, out, base)
	return out
}

// findFullMask returns the mask if an index consists of a mask of all dimensions on base's device, and nil otherwise.
func findFullMask(base *tensor.Tensor, selectors []selector) *tensor.Tensor {
	if len(selectors) == 0 || !backend.Known(base) {
		return nil
	}
	if x := selectors[0]; IsMask(x.Tensor) && slices.Equal(x.Sizes(), base.Sizes()) && x.Device() == base.Device() {
		return x.Tensor
	}
	return nil
}

// isFalseIndex reports whether an index is the single value False. As in PyTorch, an assigned value is then ignored.
func isFalseIndex(items []IndexItem) bool {
	return len(items) == 1 && items[0].Kind == IndexBool && items[0].Start == 0
}

// IndexSet writes self[index] = value.
func IndexSet(self *tensor.Tensor, items []IndexItem, value *tensor.Tensor) error {
	if value.IsWrappedNumber() {
		return IndexSetScalar(self, items, value.Item())
	}
	return assignIndex(self, items, value)
}

// IndexSetScalar writes one number to self[index].
func IndexSetScalar(self *tensor.Tensor, items []IndexItem, value dtype.Scalar) (err error) {
	if isFalseIndex(items) {
		return nil
	}
	s := newScope("index_put_")
	defer s.Close(&err)
	base, selectors := s.viewBasicIndex(self, items)
	check := checkFits
	if len(selectors) == 0 && base.Dim() == 0 {
		check = checkConvertedFits
	}
	if err := check(s.Op, value, self.DType()); err != nil {
		return err
	}
	if len(selectors) > 0 {
		s.writeAdvanced(base, selectors, s.newScalarTensor(value, self.DType(), self.Device()), false)
	} else {
		s.Check(tensoriter.Fillable(s.Op, base))
		s.Check(fillWith(base, value))
	}
	return nil
}

func assignIndex(self *tensor.Tensor, items []IndexItem, value *tensor.Tensor) (err error) {
	if isFalseIndex(items) {
		return nil
	}
	s := newScope("index_put_")
	defer s.Close(&err)
	// As in PyTorch, leading dimensions of size 1 of the value do not count.
	lead := shape.LeadingOnes(value.Sizes())
	stripped := s.Track(view.Squeeze(s.Op, nil, value, func(d int) bool { return d < lead }))
	base, selectors := s.viewBasicIndex(self, items)
	s.putValue(base, selectors, stripped, false)
	return nil
}

// putValue writes value, or adds it, to base, or to the elements that tensors select.
func (s *scope) putValue(base *tensor.Tensor, selectors []selector, value *tensor.Tensor, accumulate bool) {
	switch {
	case len(selectors) == 0:
		s.Check(warnDiscardImaginary(s.Op, value.DType(), base.DType()))
		s.Check(assignTensor(s.Op, base, value))
	default:
		s.writeAdvanced(base, selectors, value, accumulate)
	}
}

// writeAdvanced writes value, or adds it, to the elements of base that tensors select.
func (s *scope) writeAdvanced(base *tensor.Tensor, selectors []selector, value *tensor.Tensor, accumulate bool) {
	check := tensoriter.Writable
	if value.Numel() == 1 && !accumulate {
		check = tensoriter.Fillable
	}
	s.Check(cmp.Or(checkDevice(s.Op, base, value), check(s.Op, base)))
	if !accumulate && s.writeMask(base, selectors, value) {
		return
	}
	if value.DType() != base.DType() && value.Numel() == 1 && backend.Known(value) && !accumulate && areAllMasks(selectors) {
		// As in PyTorch, one element is converted.
		v := s.readItem(value)
		s.Check(checkFits(s.Op, v, base.DType()))
		value = s.newScalarTensor(v, base.DType(), base.Device())
	}
	if value.DType() != base.DType() {
		s.Check(status.Runtimef("%s: index put requires the source and destination dtypes match, got %v for the destination and %v for the source; convert the source with to(%v)",
			s.Op, base.DType(), value.DType(), base.DType()))
	}
	selectors = slices.Clone(selectors)
	for i, x := range selectors {
		selectors[i].Tensor = s.copyIfShared(base, x.Tensor)
	}
	a := s.resolveAdvanced(base, selectors)
	from := s.copyIfShared(base, value)
	s.moveToOneDevice(&base, &from)
	switch {
	case !shape.ExpandsTo(value.Sizes(), a.sizes):
		s.Check(checkValueSizes(s.Op, value, a.sizes))
	case shape.Product(a.sizes) == 0:
	case accumulate:
		a.combineSource(s, scatterAdd, base, from)
	default:
		a.writeIndexed(s, base, from)
	}
}

// writeMask assigns value, of one element or one for each selected element, by a mask over all of base, without computing positions. It
// returns true if it has written or failed; for false, the caller uses the general path.
func (s *scope) writeMask(base *tensor.Tensor, selectors []selector, value *tensor.Tensor) bool {
	mask := findFullMask(base, selectors)
	switch {
	case mask == nil:
		return false
	case value.Dim() == 0 && mask.DType() == dtype.Bool && mask.Dim() > 0:
		s.fillByMask(base, mask, value)
		return true
	case value.Dim() == 1 && value.Numel() != 1 && value.DType() == base.DType() && base.IsContiguous():
		s.scatterByMask(base, s.copyIfShared(base, mask), value, func(set int64) error {
			if set != value.Numel() {
				return checkValueSizes(s.Op, value, []int64{set})
			}
			return nil
		})
		return true
	}
	return false
}

// checkValueSizes returns an error for a value that does not expand to sizes.
func checkValueSizes(op string, value *tensor.Tensor, sizes []int64) error {
	return status.Runtimef("%s: shape mismatch: value tensor of shape %v cannot be broadcast to indexing result of shape %v", op,
		value.Sizes(), sizes)
}

// IndexPut writes values to the elements that one index tensor for each leading dimension, or nil, names.
func IndexPut(out, self *tensor.Tensor, indices []*tensor.Tensor, values *tensor.Tensor, accumulate bool) (_ *tensor.Tensor, err error) {
	s := newScope("index_put")
	defer s.Close(&err)
	given, err := byDimension(s.Op, self, indices)
	if err != nil {
		return nil, err
	}
	fillable := func(op string, out *tensor.Tensor) error {
		return cmp.Or(tensoriter.Fillable(op, out), tensoriter.Disjoint(op, out, values), tensoriter.Disjoint(op, out, indices...))
	}
	return s.modifyOutput(out, self, fillable, shape.Preserve, func(to *tensor.Tensor) { s.putValue(to, given, values, accumulate) })
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
		if err := warnByteMask(op, "tensor as an index", t); err != nil {
			return nil, err
		}
		x := newSelector(t, d)
		selectors = append(selectors, x)
		d += x.dims
	}
	if d > self.Dim() {
		return nil, status.Indexf("%s: too many indices for tensor of dimension %d (got %d)", op, self.Dim(), d)
	}
	return selectors, checkIndexDevices(op, self, selectors)
}
