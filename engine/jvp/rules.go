package jvp

import (
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// dropTangents is the rule of operators whose results have no tangents.
func (p *jvpCall) dropTangents() bool {
	p.callConstant()
	return true
}

// createLike is the rule of operators that create a tensor like another one, which is written to later: its tangent is zero.
func (p *jvpCall) createLike() bool {
	made := p.computePrimals()
	var slopes []*tensor.Tensor
	if t := made[0]; isDifferentiable(t) {
		slopes = append(slopes, p.newZeroTangent(t))
		p.zeroState = new(tensor.ZeroTangent)
	}
	p.setResults(made, slopes)
	return true
}

// reshapeLike is the rule of reshape_as, which uses only the sizes of the other tensor.
func (p *jvpCall) reshapeLike() bool {
	t, err := p.C.Reshape(p.self, slices.Clone(p.Operands()[1].Sizes()))
	p.Check(err)
	*p.Results[0].(**tensor.Tensor) = t
	return true
}

// checkSameLayout is the rule of operators that take storage positions of elements: it raises an error unless the tangent has the layout
// of the primal.
func (p *jvpCall) checkSameLayout() bool {
	primal, tangent := p.primalOf(p.self), p.tangentOf(p.self)
	if tangent != nil && (primal.Offset() != tangent.Offset() || !slices.Equal(primal.Strides(), tangent.Strides()) ||
		primal.Behind().Storage().Nbytes() != tangent.Behind().Storage().Nbytes()) {
		p.Check(status.NotImplementedf("%s: inside jvp: the memory layout of the tensor differs from that of its tangent; clone() the tensor first",
			p.Name))
	}
	return false
}

// addProduct is the rule of products that are added to a tensor: linear in that, and in each of the factors.
func (p *jvpCall) addProduct() bool {
	p.callWithRule(func() (made, slopes []*tensor.Tensor) {
		made = p.computePrimals()
		operands := p.Operands()
		addend, factors := operands[0], operands[1:]
		pass := func(addend *tensor.Tensor, factors ...*tensor.Tensor) {
			at := -1
			all := append([]*tensor.Tensor{addend}, factors...)
			slopes = p.addTangents(slopes, p.runReplaced(p.C, func(int, *tensor.Tensor) *tensor.Tensor {
				at++
				return all[at]
			}))
		}
		slope, first, second := p.tangentOf(addend), p.tangentOf(factors[0]), p.tangentOf(factors[1])
		if first == nil && second == nil {
			beta := p.Track(tensor.WrappedNumber(dispatch.Given(p.Call, "beta", dtype.IntScalar(1))))
			scaled := p.Mul(slope, beta)
			return made, []*tensor.Tensor{p.Expand(scaled, slices.Clone(made[0].Sizes())...)}
		}
		zero := p.zeroTangent(p.primalOf(addend))
		if slope == nil {
			slope = zero
		}
		if first != nil {
			pass(slope, first, p.primalOf(factors[1]))
			slope = zero
		}
		if second != nil {
			pass(slope, p.primalOf(factors[0]), second)
		}
		return made, slopes
	})
	return true
}

// formatPair returns the printed form: the primal, followed by the tangent.
func (p *jvpCall) formatPair() bool {
	text := func(part func(t *tensor.Tensor) *tensor.Tensor) string {
		p.runReplaced(p.C, func(_ int, t *tensor.Tensor) *tensor.Tensor { return part(t) })
		return *p.Results[0].(*string)
	}
	tangent := ""
	if !p.level.Over() && p.tangentOf(p.self) != nil {
		tangent = text(p.tangentOf)
	}
	primal := text(p.primalOf)
	if tangent != "" {
		primal = strings.TrimSuffix(primal, ")") + ", tangent=" + tangent + ")"
	}
	*p.Results[0].(*string) = primal
	return true
}
