package jvp

import (
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// rules override, by operator name, the JVP derived from an operator's properties. A rule returns false to fall back to it.
var rules = map[string]func(p *pushed) bool{
	"detach": (*pushed).cut, "to_string": (*pushed).text, "item": (*pushed).cut,
	"zeros_like": (*pushed).alike, "ones_like": (*pushed).alike, "full_like": (*pushed).alike, "empty_like": (*pushed).alike,
	"new_zeros": (*pushed).alike, "new_ones": (*pushed).alike, "new_full": (*pushed).alike, "new_empty": (*pushed).alike,
	"reshape_as": (*pushed).likeOther, "as_strided": (*pushed).strided, "as_strided_scatter": (*pushed).strided,
	"addmm": (*pushed).added, "addmv": (*pushed).added, "addbmm": (*pushed).added, "baddbmm": (*pushed).added, "addr": (*pushed).added,
}

// cut is the rule of operators that leave tangents behind.
func (p *pushed) cut() bool {
	p.constant()
	return true
}

// alike is the rule of operators that make a tensor like another one, which is to be written to: it has a tangent, of zeros.
func (p *pushed) alike() bool {
	made := p.primals()
	var slopes []*tensor.Tensor
	if t := made[0]; differentiable(t) {
		slopes = append(slopes, p.unwritten(t))
		p.still = new(tensor.Still)
	}
	p.give(made, slopes)
	return true
}

// likeOther is the rule of reshape_as, which uses only the sizes of the other tensor.
func (p *pushed) likeOther() bool {
	t, err := p.C.Reshape(p.self, slices.Clone(p.Operands()[1].Sizes()))
	p.Check(err)
	*p.Results[0].(**tensor.Tensor) = t
	return true
}

// strided is the rule of operators that return storage positions of elements. They differ for the tangent unless both have the same layout.
func (p *pushed) strided() bool {
	primal, tangent := p.primal(p.self), p.tangent(p.self)
	if tangent != nil && (primal.Offset() != tangent.Offset() || !slices.Equal(primal.Strides(), tangent.Strides()) || primal.Behind().Storage().Nbytes() != tangent.Behind().Storage().Nbytes()) {
		p.Check(status.NotImplementedf("%s: inside jvp: the memory layout of the tensor differs from that of its tangent; clone() the tensor first", p.Name))
	}
	return false
}

// added is the rule of products that are added to a tensor: linear in that, and in each of the factors.
func (p *pushed) added() bool {
	p.tangents(func() (made, slopes []*tensor.Tensor) {
		made = p.primals()
		operands := p.Operands()
		addend, factors := operands[0], operands[1:]
		pass := func(addend *tensor.Tensor, factors ...*tensor.Tensor) {
			at := -1
			all := append([]*tensor.Tensor{addend}, factors...)
			slopes = p.sum(slopes, p.run(p.C, func(int, *tensor.Tensor) *tensor.Tensor {
				at++
				return all[at]
			}))
		}
		slope, first, second := p.tangent(addend), p.tangent(factors[0]), p.tangent(factors[1])
		if first == nil && second == nil {
			beta := p.Track(tensor.WrappedNumber(dispatch.Given(p.Call, "beta", dtype.IntScalar(1))))
			scaled := p.Mul(slope, beta)
			return made, []*tensor.Tensor{p.Expand(scaled, slices.Clone(made[0].Sizes())...)}
		}
		zero := p.zeros(p.primal(addend))
		if slope == nil {
			slope = zero
		}
		if first != nil {
			pass(slope, first, p.primal(factors[1]))
			slope = zero
		}
		if second != nil {
			pass(slope, p.primal(factors[0]), second)
		}
		return made, slopes
	})
	return true
}

// text returns the printed form: the primal, followed by the tangent.
func (p *pushed) text() bool {
	text := func(part func(t *tensor.Tensor) *tensor.Tensor) string {
		p.run(p.C, func(_ int, t *tensor.Tensor) *tensor.Tensor { return part(t) })
		return *p.Results[0].(*string)
	}
	tangent := ""
	if !p.level.Over() && p.tangent(p.self) != nil {
		tangent = text(p.tangent)
	}
	primal := text(p.primal)
	if tangent != "" {
		primal = strings.TrimSuffix(primal, ")") + ", tangent=" + tangent + ")"
	}
	*p.Results[0].(*string) = primal
	return true
}
