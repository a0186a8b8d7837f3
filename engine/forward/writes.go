package forward

import (
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
		if !t.Alone() {
			p.check(status.Runtimef("%s: inside jvp: the function attempted to call in-place operation (%s) that would mutate a tensor of sizes %v without a tangent, whose memory others see; "+
				"make it of one that has a tangent, as by zeros_like, or call %s out of place", p.Name, p.Name, t.Sizes(), p.Name))
		}
		zeros := p.keep(p.c.ZerosLike(t, t.DType(), tensor.NoLayout, t.Device(), shape.Preserve))
		p.check(t.BecomePair(p.Name, zeros, p.level))
	}
}
