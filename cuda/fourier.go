package cuda

import (
	"slices"
	"sync"

	"gorgonia.org/cu"

	"github.com/libtensor/libtensor/cuda/cufft"
	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// runFourier transforms up to three dimensions at a time by cuFFT, as the inner dimensions of contiguous tensors.
var runFourier = makeComposite(func(b *composite, w backend.Fourier) {
	b.Check(needsLibrary(b.Op, &cufft.Library))
	if w.To.Numel() == 0 {
		return
	}
	first := w.Dims[0]
	from, halved := w.From, w.To.Sizes()[first] != w.From.Sizes()[first]
	if !from.DType().IsComplex() && !halved { // all of the Hermitian numbers
		from = b.CastTo(from, w.To.DType())
	}
	for dims := w.Dims; len(dims) > 0; {
		n := min(len(dims), cufft.MaxRank)
		part := slices.Clone(dims[:n])
		dims = dims[n:]
		from = b.transformDims(w, from, part)
	}
	if scale := b.FloatNumber(w.Scale); w.Scale != 1 {
		from = b.Mul(from, scale)
	}
	b.copyResult(w.To, from)
})

// transformDims returns the transform along dims, the fastest first. The first of them is halved, or completed, if the dtypes differ.
func (b *composite) transformDims(w backend.Fourier, from *tensor.Tensor, dims []int) *tensor.Tensor {
	var order []int64
	for d := range from.Dim() {
		if !slices.Contains(dims, d) {
			order = append(order, int64(d))
		}
	}
	for _, d := range slices.Backward(dims) {
		order = append(order, int64(d))
	}
	turned := b.ReorderDims(from, order...)
	in := turned
	// cuFFT overwrites Hermitian numbers, and requires the alignment of complex numbers also for real ones.
	misaligned := uintptr(turned.Data())%uintptr(w.To.DType().ToComplex().Size()) != 0
	if !turned.IsContiguous() || !w.To.DType().IsComplex() || misaligned {
		in = backend.RowMajorCopy(&b.Scope, turned, turned.DType())
	}
	d, last := w.To.DType(), len(order)-1
	sizes := slices.Clone(in.Sizes())
	sizes[last] = w.To.Sizes()[dims[0]]
	p := cufft.Shape{Rank: len(dims), From: in.DType(), To: d, Batch: in.Numel() / shape.Product(in.Sizes()[last+1-len(dims):])}
	copy(p.Sizes[:], in.Sizes()[last+1-len(dims):])
	if !d.IsComplex() {
		p.Sizes[len(dims)-1] = sizes[last]
	}
	out := b.EmptyBeside(in, d, sizes...)
	b.Check(withLaunches(b.Op, in.Device(), func(s *launchSequence) { s.runPlan(p, in, out, w.Inverse) }))
	back := make([]int64, len(order))
	for i, o := range order {
		back[o] = int64(i)
	}
	return b.ReorderDims(out, back...)
}

// maxPlans is the number of plans that a device keeps.
const maxPlans = 256

// planCache is a device's cache of cuFFT plans, the most recently used last. The lock is held while a plan is used.
type planCache struct {
	mu   sync.Mutex
	list []*cufft.Plan
}

// runPlan runs a plan in the stream.
func (s *launchSequence) runPlan(of cufft.Shape, from, to *tensor.Tensor, inverse bool) {
	c := &s.plans
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.list, func(p *cufft.Plan) bool { return p.Shape == of })
	var p *cufft.Plan
	if at >= 0 {
		p = c.list[at]
		c.list = slices.Delete(c.list, at, at+1)
	} else if p, s.err = createObject(s, func() (*cufft.Plan, error) { return cufft.New(of) }); s.err != nil {
		return
	}
	c.list = append(c.list, p)
	if len(c.list) > maxPlans { // of which other streams may use the oldest
		if s.err = makeDriverError(s.op, "cuCtxSynchronize", cu.Synchronize()); s.err != nil {
			return
		}
		s.err = s.makeLibraryError(c.list[0].Forget())
		c.list = slices.Delete(c.list, 0, 1)
	}
	room := s.allocateTemporary(max(p.Bytes, 1))
	if s.err == nil {
		s.err = s.makeLibraryError(p.Transform(driver.StreamHandle(s.stream), room, uintptr(from.Data()), uintptr(to.Data()), inverse))
	}
}
