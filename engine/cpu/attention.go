package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	attentionKernel         = kernel.Of(kernelapi.Attention)
	attentionGradientKernel = kernel.Of(kernelapi.AttentionGradient)
)

const (
	// A tile holds the weights of queryBlock queries for keyBlock keys. A gap between its rows keeps its columns from mapping to few cache
	// lines.
	queryBlock, keyBlock, tileGap = 128, 256, 16
	// Keys and values of a block are packed for many queries if a thread's tiles and packed panels, of at most panelColumns columns each,
	// fit attentionBytes.
	panelColumns, attentionBytes = 32, 1 << 20
)

// isEmptyAttention reports whether there is nothing to make, of however many heads.
func isEmptyAttention(w backend.Attention) bool {
	wanted := w.Given == nil
	for _, t := range w.Of {
		wanted = wanted || t != nil && t.Numel() > 0
	}
	return !wanted || w.LSE.Numel() == 0
}

// runAttention makes results, or adds gradients: threads share heads, and blocks of their queries or keys.
func runAttention(op string, w backend.Attention) (err error) {
	if isEmptyAttention(w) {
		return nil
	}
	a, err := newAttention(op, w)
	if err != nil {
		return err
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	queries, keys := ceilDiv(a.rows, queryBlock), ceilDiv(a.keys, keyBlock)
	each := max(queries*keys, 1) // work items per head
	grain := func(share int64) int64 {
		return max(productGrain/(min(a.rows, queryBlock)*min(a.keys, keyBlock)*(a.width+a.valueWidth)*share+matrixCost), 1)
	}
	total := a.heads * max(queries, keys, 1)
	a.rooms = newScratchPool(&s, a.planWorkspace(w.Given != nil), total)
	switch {
	case w.Given == nil:
		a.shareHeads(a.attentionArgs, queries, grain(keys), true)
	case a.heads >= int64(parallel.Threads()) || each == 1:
		a.shareHeads(a.attentionArgs, 1, grain(each), true)
	default: // the same sums in the same order, of which each thread makes those of its keys, and then those of its queries
		part := a.attentionArgs
		part.ofQuery, part.ofMask = 0, 0
		if part.ofKey != 0 || part.ofValue != 0 {
			a.shareHeads(part, keys, grain(queries), false)
		}
		part = a.attentionArgs
		part.ofKey, part.ofValue = 0, 0
		if part.ofQuery != 0 || part.ofMask != 0 {
			a.shareHeads(part, queries, grain(keys), true)
		}
	}
	return nil
}

// planWorkspace returns the scratch memory per thread in bytes. It sets packs for the kernels.
func (a *attention) planWorkspace(gradient bool) int64 {
	if a.rounded != 0 && a.rows > backend.FewQueries {
		return a.rowBlock*a.stride*a.size + roundedBytes(a.width, keyBlock) + roundedBytes(keyBlock, a.valueWidth)
	}
	tiles, panels := int64(1), ceilDiv(a.width, panelColumns)+ceilDiv(a.valueWidth, panelColumns)
	if gradient { // keys are there in rows, too
		tiles, panels = 2, panels+ceilDiv(a.width, panelColumns)
	}
	bytes := tiles * a.rowBlock * a.stride * a.size
	whole := bytes + panels*panelColumns*keyBlock*a.size
	if a.packs = dtype.FromBool[int32](whole <= attentionBytes && (gradient || a.rows > backend.FewQueries)); a.packs != 0 {
		return whole
	}
	return bytes
}

// roundedBytes returns the size of a k by n matrix of bfloat16 that is packed for rounded products.
func roundedBytes(k, n int64) int64 {
	p := kernel.GemmPacking{K: k, N: n}
	kernel.Call(packRoundedKernel(), unsafe.Pointer(&p))
	return p.Bytes
}

// attention holds the arguments that the calls for all heads share.
type attention struct {
	attentionArgs
	fn          uintptr
	heads, size int64
	rooms       chan uintptr
	moves       []motion
}

// motion is the stride of an address between heads.
type motion struct {
	of    func(*attentionArgs) *uintptr
	sizes []int64 // of the leading dimensions
	steps []int64 // in bytes
}

// queryDim returns the dimension of the queries that share keys and values: that of the heads of a group with one query each, and otherwise
// the one before the last.
func queryDim(w backend.Attention) int {
	queries := w.Query.Dim() - 2
	if heads := queries - 1; w.Given == nil && !w.Causal && heads >= 0 && w.Query.Sizes()[queries] == 1 && w.Key.Strides()[heads] == 0 &&
		w.Value.Strides()[heads] == 0 {
		return heads
	}
	return queries
}

// newAttention describes w for the kernels.
func newAttention(op string, w backend.Attention) (a attention, err error) {
	k := attentionKernel
	if w.Given != nil {
		k = attentionGradientKernel
	}
	d := w.Query.DType()
	if a.fn, err = k.For(op, w.Key.DType()); err != nil {
		return a, err
	}
	last := w.Query.Dim() - 1
	row := queryDim(w)
	n := row
	lead := w.Query.Sizes()[:n]
	a.heads, a.size = shape.Product(lead), int64(d.Size())
	a.tiles, a.dots = gemmKernel.Row(d), dotsKernel.Row(d)
	if w.Key.DType() == dtype.BFloat16 {
		a.rounded, a.roundedPack = roundedKernel(), packRoundedKernel()
	}
	a.rows, a.width = w.Query.Sizes()[row], w.Query.Sizes()[last]
	a.keys, a.valueWidth = w.Value.Sizes()[last-1], w.Value.Sizes()[last]
	a.rowBlock, a.keyBlock, a.stride = min(a.rows, queryBlock), keyBlock, (ceilDiv(min(a.keys, keyBlock), tileGap)+1)*tileGap
	a.scale, a.causal = w.Scale, dtype.FromBool[int32](w.Causal)
	for _, m := range []struct {
		t         *tensor.Tensor
		of        func(*attentionArgs) *uintptr
		at        int
		row, step *int64
	}{
		{w.Query, func(p *attentionArgs) *uintptr { return &p.query }, row, &a.queryStep, nil},
		{w.Key, func(p *attentionArgs) *uintptr { return &p.key }, last - 1, &a.keyStep, nil},
		{w.Value, func(p *attentionArgs) *uintptr { return &p.value }, last - 1, &a.valueStep, nil},
		{w.Mask, func(p *attentionArgs) *uintptr { return &p.mask }, row, &a.maskStep, &a.maskColumn},
		{w.Result, func(p *attentionArgs) *uintptr { return &p.result }, row, &a.resultStep, nil},
		{w.LSE, func(p *attentionArgs) *uintptr { return &p.lse }, row, nil, nil},
		{w.Given, func(p *attentionArgs) *uintptr { return &p.given }, row, &a.givenStep, nil},
		{w.Along, func(p *attentionArgs) *uintptr { return &p.along }, row, nil, nil},
		{w.Of[0], func(p *attentionArgs) *uintptr { return &p.ofQuery }, row, nil, nil},
		{w.Of[1], func(p *attentionArgs) *uintptr { return &p.ofKey }, row, nil, nil},
		{w.Of[2], func(p *attentionArgs) *uintptr { return &p.ofValue }, row, nil, nil},
		{w.Of[3], func(p *attentionArgs) *uintptr { return &p.ofMask }, row, nil, nil},
	} {
		if m.t == nil {
			continue
		}
		*m.of(&a.attentionArgs) = uintptr(m.t.Data())
		strides := m.t.Strides()
		if m.row != nil {
			*m.row = strides[m.at]
		}
		if m.step != nil {
			*m.step = strides[last]
		}
		steps := make([]int64, n)
		for i := range steps {
			steps[i] = strides[i] * int64(m.t.DType().Size())
		}
		a.moves = append(a.moves, motion{m.of, lead, steps})
	}
	return a, nil
}

// shareHeads calls the kernel for all heads, each in blocks of queries or of keys.
func (a *attention) shareHeads(args attentionArgs, blocks, grain int64, byQueries bool) {
	parallel.ForInterruptible(a.heads*blocks, grain, func(begin, end int64) {
		room := <-a.rooms
		defer func() { a.rooms <- room }()
		for t := begin; t < end; {
			head, block := t/blocks, t%blocks
			last := min(blocks, block+end-t)
			part := args
			part.room = room
			part.lastRow, part.lastKey = a.rows, a.keys
			switch {
			case blocks == 1:
			case byQueries:
				part.firstRow, part.lastRow = block*queryBlock, min(last*queryBlock, a.rows)
			default:
				part.firstKey, part.lastKey = block*keyBlock, min(last*keyBlock, a.keys)
			}
			for _, m := range a.moves {
				if p := m.of(&part); *p != 0 {
					*p += uintptr(m.ofHead(head))
				}
			}
			kernel.Call(a.fn, unsafe.Pointer(&part))
			t += last - block
		}
	})
}

// ofHead returns that of a head, in bytes.
func (m motion) ofHead(head int64) (bytes int64) {
	for i := len(m.sizes) - 1; i >= 0; i-- {
		bytes += head % m.sizes[i] * m.steps[i]
		head /= m.sizes[i]
	}
	return bytes
}
