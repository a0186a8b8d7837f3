package cpu

import (
	"cmp"
	"container/list"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	fftKernel     = kernel.Of(kernelapi.Fft)
	fftPlanKernel = kernel.Of(kernelapi.FftPlan)
)

// planKey identifies a plan.
type planKey struct {
	d              dtype.DType
	n              int64
	real, adjacent bool
}

// fftPlan is the factorization of a transform, with its roots of unity. It is immutable.
type fftPlan struct {
	key planKey
	kernel.FFTPlan
	memory []uint64
}

// planBytes is the most memory that the plans which are kept take; the one that was used last stays in any case.
const planBytes = 64 << 20

// plans are those that were used last, the latest first.
var plans = struct {
	sync.Mutex
	byKey map[planKey]*list.Element
	order list.List
	bytes int64
}{byKey: map[planKey]*list.Element{}}

// planFor returns the plan of a transform, of which calls share one.
func planFor(op string, key planKey) (*fftPlan, error) {
	plans.Lock()
	if e := plans.byKey[key]; e != nil {
		plans.order.MoveToFront(e)
		plans.Unlock()
		return e.Value.(*fftPlan), nil
	}
	plans.Unlock()
	p, err := makePlan(op, key) // two calls may make the same plan, of which the latter one's is kept
	if err != nil {
		return nil, err
	}
	plans.Lock()
	defer plans.Unlock()
	dropPlan(plans.byKey[key])
	plans.byKey[key] = plans.order.PushFront(p)
	for plans.bytes += p.PlanBytes; plans.bytes > planBytes && plans.order.Len() > 1; {
		dropPlan(plans.order.Back())
	}
	return p, nil
}

// dropPlan drops a plan that is kept.
func dropPlan(e *list.Element) {
	if e == nil {
		return
	}
	p := plans.order.Remove(e).(*fftPlan)
	delete(plans.byKey, p.key)
	plans.bytes -= p.PlanBytes
}

func makePlan(op string, key planKey) (_ *fftPlan, err error) {
	fn, err := fftPlanKernel.For(op, key.d)
	if err != nil {
		return nil, err
	}
	p := &fftPlan{key: key}
	p.N = key.n
	if key.real {
		p.Real = 1
	}
	if key.adjacent {
		p.Adjacent = 1
	}
	kernel.Call(fn, unsafe.Pointer(&p.FFTPlan))
	p.memory = make([]uint64, (p.PlanBytes+7)/8)
	p.Plan = uintptr(unsafe.Pointer(unsafe.SliceData(p.memory)))
	kernel.Call(fn, unsafe.Pointer(&p.FFTPlan))
	if p.Unfinished == 0 {
		return p, nil
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	finish := p.FFTPlan
	finish.Own, finish.Shared = newScratch(&s, p.OwnBytes), newScratch(&s, p.SharedBytes)
	kernel.Call(fn, unsafe.Pointer(&finish))
	return p, nil
}

// newScratch returns the address of some bytes that the scope owns.
func newScratch(s *owner.Scope, bytes int64) uintptr {
	t := s.Track(tensor.Empty(s.Op, []int64{max(bytes, 1)}, dtype.Uint8, device.Host))
	return uintptr(t.Data())
}

// newScratchPool returns the scratch buffers of the threads that share the work items. It returns an error before anything is written.
func newScratchPool(s *owner.Scope, bytes, pieces int64) chan uintptr {
	list := make(chan uintptr, min(int64(parallel.Threads()), pieces))
	for range cap(list) {
		list <- newScratch(s, bytes)
	}
	return list
}

// shareRooms distributes n work items over threads. Each thread has a scratch buffer of the given size.
func shareRooms(s *owner.Scope, bytes, n, grain int64, f func(begin, end int64, room uintptr)) {
	rooms := newScratchPool(s, bytes, n)
	parallel.For(n, grain, func(begin, end int64) {
		room := <-rooms
		defer func() { rooms <- room }()
		f(begin, end, room)
	})
}

// runFourier transforms along one dimension after another: from From to To, and from there on in To.
func runFourier(op string, w backend.Fourier) error {
	if w.To.Numel() == 0 {
		return nil
	}
	from := w.From
	for i, d := range w.Dims {
		scale := 1.0
		if i == len(w.Dims)-1 {
			scale = w.Scale
		}
		if err := fourierAlong(op, w.To, from, d, w.Inverse, scale); err != nil {
			return err
		}
		from = w.To
	}
	return nil
}

// fourierAlong transforms along one dimension.
func fourierAlong(op string, to, from *tensor.Tensor, dim int, inverse bool, scale float64) (err error) {
	f := &kernel.FFT{Kind: kernel.FFTComplex, Scale: scale, N: max(to.Sizes()[dim], from.Sizes()[dim])}
	switch {
	case !to.DType().IsComplex():
		f.Kind, f.N = kernel.FFTReal, to.Sizes()[dim]
	case from.DType().IsComplex():
	case to.Sizes()[dim] == from.Sizes()[dim]:
		f.Kind = kernel.FFTTwosided
	default:
		f.Kind = kernel.FFTOnesided
	}
	if inverse {
		f.Inverse = 1
	}
	lines := linesOf(f, to, from, dim)
	few := int64(8)
	inSize, outSize := from.DType().Size(), to.DType().Size()
	adjacent := f.Ndim > 0 && f.Sizes[0] >= few &&
		(f.InStrides[0] == inSize && f.InStep != inSize || f.OutStrides[0] == outSize && f.OutStep != outSize)
	d := to.DType().ToReal()
	plan, err := planFor(op, planKey{d, f.N, f.Kind != kernel.FFTComplex, adjacent})
	if err != nil {
		return err
	}
	fn, err := fftKernel.For(op, d)
	if err != nil {
		return err
	}
	f.Plan = plan.Plan
	f.Step = kernel.FFTRoom
	kernel.Call(fn, unsafe.Pointer(f))
	f.Step = kernel.FFTAll
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	if threads := int64(parallel.Threads()); plan.Groups[0] > 0 && lines < threads && f.N >= Grain {
		err = sharedLines(&s, fn, plan, f, lines)
	} else {
		err = wholeLines(&s, fn, plan, f, lines)
	}
	// The address of the plan is a number, which keeps nothing.
	runtime.KeepAlive(plan)
	return err
}

// wholeLines distributes the lines over threads.
func wholeLines(s *owner.Scope, fn uintptr, plan *fftPlan, f *kernel.FFT, lines int64) error {
	grain := max(Grain/(8*f.N), 1)
	rooms := make(chan *kernel.FFT, min(int64(parallel.Threads()), (lines-1)/grain+1))
	for range cap(rooms) {
		room := *f
		room.Own = newScratch(s, plan.OwnBytes)
		assignScratch(s, plan, &room)
		rooms <- &room
	}
	parallel.For(lines, grain, func(begin, end int64) {
		room := <-rooms
		defer func() { rooms <- room }()
		room.Begin, room.End = begin, end
		kernel.Call(fn, unsafe.Pointer(room))
	})
	return nil
}

// assignScratch passes the scratch memory of a line to its call.
func assignScratch(s *owner.Scope, plan *fftPlan, f *kernel.FFT) {
	f.Shared = newScratch(s, plan.SharedBytes+f.CopyBytes+f.MadeBytes)
	f.Copy = f.Shared + uintptr(plan.SharedBytes)
	f.Made = f.Copy + uintptr(f.CopyBytes)
}

// sharedLines does one line after another, of which threads share the groups.
func sharedLines(s *owner.Scope, fn uintptr, plan *fftPlan, f *kernel.FFT, lines int64) error {
	assignScratch(s, plan, f)
	rooms := newScratchPool(s, plan.OwnBytes, max(plan.Groups[0], plan.Groups[1], 1))
	step := func(line, step, groups int64) {
		parallel.For(groups, 1, func(begin, end int64) {
			own := <-rooms
			defer func() { rooms <- own }()
			piece := *f
			piece.Own, piece.Line, piece.Step, piece.Begin, piece.End = own, line, step, begin, end
			kernel.Call(fn, unsafe.Pointer(&piece))
		})
	}
	for line := range lines {
		step(line, kernel.FFTPrepare, 1)
		step(line, kernel.FFTColumns, plan.Groups[0])
		step(line, kernel.FFTRows, plan.Groups[1])
		step(line, kernel.FFTFinish, 1)
	}
	return nil
}

// linesOf describes the lines along dim, in an order with consecutive lines close in memory, and returns their number.
func linesOf(f *kernel.FFT, to, from *tensor.Tensor, dim int) int64 {
	in, out := from.DType().Size(), to.DType().Size()
	f.In, f.Out = uintptr(from.Data()), uintptr(to.Data())
	f.InStep, f.OutStep = from.Strides()[dim]*in, to.Strides()[dim]*out
	var order []int
	for d, size := range to.Sizes() {
		if d != dim && size != 1 {
			order = append(order, d)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(min(from.Strides()[a]*in, to.Strides()[a]*out), min(from.Strides()[b]*in, to.Strides()[b]*out))
	})
	lines := int64(1)
	for _, d := range order {
		size, i, o := to.Sizes()[d], from.Strides()[d]*in, to.Strides()[d]*out
		lines *= size
		if n := f.Ndim; n > 0 && i == f.InStrides[n-1]*f.Sizes[n-1] && o == f.OutStrides[n-1]*f.Sizes[n-1] {
			f.Sizes[n-1] *= size
			continue
		}
		f.Sizes[f.Ndim], f.InStrides[f.Ndim], f.OutStrides[f.Ndim] = size, i, o
		f.Ndim++
	}
	return lines
}
