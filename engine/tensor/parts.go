package tensor

import (
	"slices"
	"sync"

	"github.com/libtensor/libtensor/engine/status"
)

// Keys of the tensors with a layout.
func (l Layout) Keys() DispatchKeys {
	if l <= Strided {
		return 0
	}
	return SparseCOO << (l - COO)
}

var layoutNames = [...]string{"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"}

func (l Layout) String() string {
	if l < 0 || int(l) >= len(layoutNames) {
		return "none"
	}
	return layoutNames[l]
}

// SparseComponents are the components of a sparse tensor: dense tensors, which it owns.
type SparseComponents struct {
	Indices   []*Tensor // COO: a matrix with a column for each entry; else the compressed indices and the plain ones
	Values    *Tensor
	Coalesced bool // of COO: the entries are in row-major order, each place once
	peers     *peerList
}

// peerList holds the handles of one sparse tensor: Replace changes the parts of all of them.
type peerList struct {
	sync.Mutex
	all []*Tensor
}

// firstPeerLock is held while a tensor gets its first peer.
var firstPeerLock sync.Mutex

// Peer returns another handle of a sparse tensor: an Alias whose parts change with those of t. Of other tensors it returns an Alias.
func (t *Tensor) Peer() *Tensor {
	p := t.Components()
	if p == nil {
		return t.Alias()
	}
	p.startPeers(t)
	a := t.Alias()
	p.peers.Lock()
	defer p.peers.Unlock()
	a.Components().peers = p.peers
	p.peers.all = append(p.peers.all, a)
	return a
}

// startPeers makes t, whose parts are p, the first of its peers.
func (p *SparseComponents) startPeers(t *Tensor) {
	firstPeerLock.Lock()
	defer firstPeerLock.Unlock()
	if p.peers == nil {
		p.peers = &peerList{all: []*Tensor{t}}
	}
}

// IsPeer returns whether t and other are handles of one sparse tensor, made by Peer.
func (t *Tensor) IsPeer(other *Tensor) bool {
	p, q := t.Components(), other.Components()
	return p != nil && q != nil && p.peers != nil && p.peers == q.peers
}

// peerHandles returns the handles of t that change with it, including t.
func (t *Tensor) peerHandles() []*Tensor {
	if s := t.Components().peers; s != nil {
		return s.all
	}
	return []*Tensor{t}
}

// releaseComponents releases the parts of a tensor that is being released.
func (t *Tensor) releaseComponents() {
	p := t.Components()
	if s := p.peers; s != nil {
		s.Lock()
		defer s.Unlock()
		s.all = slices.DeleteFunc(s.all, func(h *Tensor) bool { return h == t })
		p = t.Components() // which a peer may have replaced
	}
	t.kind.state = nil
	p.release()
}

// Components returns the components of a sparse tensor, which the tensor owns, or nil for other tensors.
func (t *Tensor) Components() *SparseComponents {
	if t.kind.state == nil {
		return nil
	}
	p, _ := t.kind.state.(*SparseComponents)
	return p
}

// alias returns parts with new references to the same tensors.
func (p *SparseComponents) alias() *SparseComponents {
	if s := p.peers; s != nil {
		s.Lock()
		defer s.Unlock()
		if len(s.all) > 0 {
			p = s.all[0].Components() // a peer may have replaced the ones that the caller read
		}
	}
	q := &SparseComponents{Values: p.Values.Alias(), Coalesced: p.Coalesced}
	for _, t := range p.Indices {
		q.Indices = append(q.Indices, t.Alias())
	}
	return q
}

func (p *SparseComponents) release() {
	p.Values.Release()
	for _, t := range p.Indices {
		t.Release()
	}
}

// Assemble creates a sparse tensor of parts that fit, of which it has aliases.
func Assemble(op string, l Layout, sizes []int64, p SparseComponents) (*Tensor, error) {
	if p.Values.Quantizer() != nil {
		return nil, status.NotImplementedf("%s is not implemented for quantized tensors; call dequantize() first", op)
	}
	t, err := Wrapper(op, sizes, p.Values.dtype, p.Values.device, l)
	if err != nil {
		return nil, err
	}
	t.SetKeys(l.Keys(), p.alias())
	return t, nil
}

// Replace replaces the sizes and parts of a sparse tensor by the given ones: aliases of p's, of the tensor's dtype.
func (t *Tensor) Replace(op string, sizes []int64, p SparseComponents) error {
	if p.Values.dtype != t.dtype {
		return status.Runtimef("%s: result type %v can't be cast to the desired output type %v", op, p.Values.dtype, t.dtype)
	}
	if s := t.Components().peers; s != nil {
		s.Lock()
		defer s.Unlock()
	}
	p.peers = nil
	handles := t.peerHandles()
	for _, h := range handles {
		h.changing.Add(1)
		defer h.changing.Add(-1)
	}
	for _, h := range handles {
		if err := h.checkUnused(op, "change its entries"); err != nil {
			return err
		}
	}
	if err := t.setWrapperSizes(op, sizes); err != nil {
		return err
	}
	for _, h := range handles {
		h.numel, h.reach = t.numel, t.reach
		h.setGeometry(t.sizes, t.strides)
		h.contiguous = false
		old := h.Components()
		defer old.release() // p may have the same tensors
		made := p.alias()
		made.peers = old.peers
		h.kind.state = made
		made.Values.notifyMoved(true)
	}
	return nil
}

// replaceComponents replaces the entries of a sparse tensor by those of another one of its dtype. Its values keep their autograd metadata.
func (t *Tensor) replaceComponents(op string, other *Tensor) error {
	p := *other.Components()
	p.Values = p.Values.Alias()
	defer func() { p.Values.Release() }()
	h := t.AutogradMeta()
	if h != nil {
		h.Retain()
	}
	p.Values.SetAutogradMeta(h)
	return t.Replace(op, other.sizes, p)
}

// CheckComponents returns an error for a sparse tensor whose parts do not fit, such as one that a file claims to have. The layer of sparse
// tensors sets it.
var CheckComponents = func(op string, t *Tensor) error {
	return status.NotImplementedf("%s: layout %v is not implemented", op, t.Layout())
}
