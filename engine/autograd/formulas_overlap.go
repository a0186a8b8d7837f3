package autograd

import (
	"cmp"
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// accumulateInView returns a tensor of zeros to which grad is added where see has a view of it, whose elements may share memory. Sums of
// 16-bit floats are computed in float32.
func (s *steps) accumulateInView(l like, grad *tensor.Tensor,
	see func(c dispatch.Context, t *tensor.Tensor) (*tensor.Tensor, error)) *tensor.Tensor {
	grad = s.toStrided(grad)
	r, err := beginCall(s.C, "backward", "ViewBackwardBackward0", nil, grad)
	s.Check(err)
	defer r.dropUnfinished()
	inner := &steps{Builder: build.Builder{C: r.c}}
	defer inner.Close()
	wide := l
	wide.dtype = l.dtype.Compute()
	made, grad := s.zerosOf(wide), inner.castTo(grad, wide.dtype)
	if !inner.addParts(inner.Track(see(r.c, made)), grad) {
		positions := inner.Track(see(r.c, inner.arangeLike(l.device, l.sizes()...)))
		_, err := r.c.Put(made, made, positions, grad, true)
		s.Check(err)
	}
	if wide.dtype != l.dtype {
		made = s.Track(r.c.ToOptions(made, l.dtype, tensor.NoLayout, device.None, false, false, shape.Preserve))
	}
	if r.setGradFns(nil, made) {
		r.node.formula = func(s *steps, _ int) *tensor.Tensor {
			return s.Track(see(s.C, s.Contiguous(s.grad(0))))
		}
	}
	return made
}

// addParts adds grad to a view by parts whose elements do not share memory: false where there would be more of them than elements in
// each.
func (s *steps) addParts(to, grad *tensor.Tensor) bool {
	var repeated []int64
	sizes := slices.Clone(to.Sizes())
	for d, stride := range to.Strides() {
		if stride == 0 && sizes[d] > 1 {
			repeated, sizes[d] = append(repeated, int64(d)), 1
		}
	}
	if repeated != nil {
		to = s.Track(to.View("backward", sizes, to.Strides(), to.Offset()))
		grad = s.Sum(grad, repeated, true)
	}
	over, parts := s.overlappingDims(to)
	if parts > 1 && parts > to.Numel()/parts {
		return false
	}
	s.addAlong(over, to, grad)
	return true
}

// overlappingDims returns the fewest and smallest dimensions of t along which elements share memory with others, and how many parts these
// make.
func (s *steps) overlappingDims(t *tensor.Tensor) (over []bool, parts int64) {
	over, parts = make([]bool, t.Dim()), 1
	shares := func() bool {
		var sizes, strides []int64
		for d := range over {
			if !over[d] {
				sizes, strides = append(sizes, t.Sizes()[d]), append(strides, t.Strides()[d])
			}
		}
		return tensoriter.SelfOverlaps(s.Track(t.View("backward", sizes, strides, t.Offset())))
	}
	order := make([]int, t.Dim())
	for d := range order {
		order[d] = d
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.Sizes()[a], t.Sizes()[b]) })
	for _, d := range order {
		over[d] = shares()
	}
	for _, d := range order {
		if over[d] {
			over[d] = false
			if over[d] = shares(); over[d] {
				parts *= t.Sizes()[d]
			}
		}
	}
	return over, parts
}

// addAlong adds grad to a view part by part along some dimensions.
func (s *steps) addAlong(over []bool, to, grad *tensor.Tensor) {
	d := slices.Index(over, true)
	if d < 0 {
		_, err := s.C.Add(to, to, grad, one)
		s.Check(err)
		return
	}
	rest := slices.Delete(slices.Clone(over), d, d+1)
	for i := range to.Sizes()[d] {
		s.addAlong(rest, s.selectAt(to, int64(d), i), s.selectAt(grad, int64(d), i))
	}
}
