package forward

import (
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
		zeros := p.Keep(p.c.ZerosLike(t, t.DType(), tensor.NoLayout, t.Device(), shape.Preserve))
		p.Check(t.BecomePair(p.Name, zeros, p.level))
	}
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
