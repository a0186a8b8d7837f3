package forward

import (
	"slices"

	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// receive gives what the call writes to a tangent, of zeros so far, where it has none. Others that see the memory would not see the tangent.
func (p *pushed) receive() {
	for _, t := range p.Written() {
		if !differentiable(t) || p.tangent(t) != nil {
			continue
		}
		if w := t.Wrapped(); w != nil && w.Level == p.level {
			w.Still.Move()
			continue
		}
		if !t.Alone() {
			p.Check(status.Runtimef("%s: inside jvp: the function attempted to call in-place operation (%s) that would mutate a tensor of sizes %v without a tangent, whose memory others see; "+
				"make it of one that has a tangent, as by zeros_like, or call %s out of place", p.Name, p.Name, t.Sizes(), p.Name))
		}
		p.Check(t.BecomePair(p.Name, p.unwritten(t), p.level))
	}
}

// unwritten are the zeros of a tangent that is to be written to. In transforms around each example has its own: what is written may be
// another number for each, though the primal is the same for all.
func (p *pushed) unwritten(primal *tensor.Tensor) *tensor.Tensor {
	each := p.Keep(p.c.Around(p.level).VmapSpread(primal))
	return p.Keep(p.c.ZerosLike(each, each.DType(), tensor.NoLayout, each.Device(), shape.Preserve))
}

// keepRead has a call that is recorded read copies of the operands that it writes to: their history needs them as they were. The function
// that it gives ends that.
func (p *pushed) keepRead(outs []*tensor.Tensor) (end func()) {
	operands := p.Operands()
	if !p.c.Recording() || !slices.ContainsFunc(operands, (*tensor.Tensor).SlopeWanted) {
		return func() {}
	}
	p.read = map[*tensor.Tensor]*tensor.Tensor{}
	for _, t := range operands {
		if !slices.Contains(outs, t) || p.read[t] != nil {
			continue
		}
		copied := func(t *tensor.Tensor) *tensor.Tensor { return p.Keep(p.c.Clone(t, shape.Preserve)) }
		primal, tangent := copied(p.primal(t)), p.tangent(t)
		if tangent == nil {
			p.read[t] = primal
			continue
		}
		pair, err := tensor.Pair(p.Name, primal, copied(tangent), nil, p.level)
		p.read[t] = p.Keep(pair, err)
	}
	return func() { p.read = nil }
}

// rest makes a call on tangents that are zeros. Results that share the memory of the operand share its tangent, which may be written to.
func (p *pushed) rest() {
	if rule := rules[p.Name]; rule != nil && rule(p) {
		return
	}
	made := p.primals()
	w := p.self.Wrapped()
	if w == nil || w.Level != p.level || len(p.Written()) > 0 || !p.Is(aten.Linear) && !p.Is(aten.View) {
		p.give(made, nil)
		return
	}
	p.still = w.Still
	slopes := p.run(p.c, func(_ int, t *tensor.Tensor) *tensor.Tensor {
		if t == p.self {
			return w.Tangent
		}
		return p.primal(t)
	})
	for k, t := range made {
		if t == nil || !differentiable(t) || t.Behind().Storage() != w.Value.Behind().Storage() {
			slopes[k] = nil
		}
	}
	p.give(made, slopes)
}
