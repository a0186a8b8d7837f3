package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// rule determines the compute and result dtypes of a pointwise operator from its promoted operands.
type rule uint8

const (
	promote      rule = iota // compute in and return the promoted dtype
	promoteFloat             // integers and bool count as the default dtype
	compare                  // compute in the promoted dtype, return bool
	realOf                   // return the real counterpart of the promoted dtype (abs of complex)
	complexOf                // return the complex counterpart of the promoted dtype
)

// pointwise is an elementwise operator: a kernel and its rule.
type pointwise struct {
	name    string
	kernel  kernelapi.Kernel
	rule    rule
	swapped bool // the kernel takes the two inputs in the other order
	exact   bool // out must have the result's dtype
	wide    bool // complex results have parts of at least 32 bits
	beside  bool // out may overlap the inputs
	// Operands without dimensions are not rounded to a 16-bit dtype before they are computed with, as others are.
	unrounded bool
	mixed     func(out, self, other *tensor.Tensor) (*tensor.Tensor, error) // replaces runKernel for operands of two dtypes
}

func newPointwise(name string, k kernelapi.Kernel, r rule) *pointwise {
	return &pointwise{name: name, kernel: k, rule: r}
}

// params fills in kernel parameters once the compute dtype is known.
type params func(dtype.DType, *backend.Params)

// resultType promotes operands.
func resultType(operands ...*tensor.Tensor) dtype.DType {
	first, same := operands[0], true
	for _, t := range operands[1:] {
		same = same && t.DType() == first.DType()
	}
	if same && !first.IsWrappedNumber() {
		return first.DType()
	}
	var r dtype.Result
	for _, t := range operands {
		r.Add(t.DType(), t.Rank())
	}
	return r.DType()
}

// runKernel applies the operator to its inputs.
func (p *pointwise) runKernel(out *tensor.Tensor, values params, inputs ...*tensor.Tensor) (*tensor.Tensor, error) {
	common := inputs[0].DType()
	if len(inputs) > 1 {
		if p.mixed != nil && inputs[0].DType() != inputs[1].DType() {
			return p.mixed(out, inputs[0], inputs[1])
		}
		common = resultType(inputs...)
	}
	return p.runIn(common, out, values, inputs...)
}

// runIn is runKernel with the promoted dtype given.
func (p *pointwise) runIn(common dtype.DType, out *tensor.Tensor, values params, inputs ...*tensor.Tensor) (_ *tensor.Tensor, err error) {
	if p.rule == promoteFloat && common.Category() < dtype.Floating {
		common = dtype.Default()
	}
	result := common
	switch p.rule {
	case compare:
		result = dtype.Bool
	case realOf:
		result = common.ToReal()
	case complexOf:
		result = common.ToComplex()
	}
	compute := p.kernel.Compute(common)
	if !p.kernel.Has(compute) || p.wide && result == dtype.Complex32 || result == dtype.BComplex32 {
		return nil, p.newDTypeError(common, inputs)
	}
	var to tensoriter.Output // not a literal, which Go makes elsewhere and copies: a few percent of a small call
	to.Op, to.Out, to.DType, to.Exact = p.name, out, result, p.exact
	if p.beside {
		to.Sharing = tensoriter.InPlaceOrBeside
	}
	if err := to.Broadcast(inputs...); err != nil {
		return to.Done(err)
	}
	if to.To.DType() != result && result.Compute() != result && p.rule != compare {
		return to.Done(p.runRounded(common, to.To, values, inputs))
	}
	w := backend.Elementwise{Kernel: p.kernel, Compute: compute}
	if values != nil {
		w.Params = new(backend.Params)
		values(compute, w.Params)
	}
	if compute != common {
		s := newScope(p.name)
		defer s.Close(&err)
		if err := s.Try(func() { inputs = p.promoteInputs(s, common, inputs) }); err != nil {
			return to.Done(err)
		}
	}
	w.Operands[0] = to.To
	for i, t := range inputs { // a call of copy takes longer than few operands
		w.Operands[i+1] = t
	}
	if p.swapped {
		w.Operands[1], w.Operands[2] = w.Operands[2], w.Operands[1]
	}
	return to.Done(backend.On(to.To).Elementwise(p.name, w))
}

// newPromotionError returns the error of operands without a common dtype: it names the first two dtypes of which one is an eight-bit
// float.
func newPromotionError(op string, operands ...*tensor.Tensor) error {
	for i, first := range operands {
		for _, other := range operands[i+1:] {
			if a, b := first.DType(), other.DType(); a != b && (a.IsFloat8() || b.IsFloat8()) {
				return errUnpromoted(op, a, b)
			}
		}
	}
	return status.Unpromoted(op)
}

func errUnpromoted(op string, a, b dtype.DType) error {
	return status.Runtimef("%s: Promotion for Float8 Types is not supported, attempted to promote %s and %s; convert one of them to the dtype of the other",
		op, a.ScalarType(), b.ScalarType())
}

// newDTypeError returns the error for a dtype that the operator has no kernel for. If two operands are promoted to a third dtype, the
// error names the dtypes of the operands.
func (p *pointwise) newDTypeError(common dtype.DType, inputs []*tensor.Tensor) error {
	if common == dtype.Unpromoted {
		return newPromotionError(p.name, inputs...)
	}
	if len(inputs) == 2 && common.IsFloatingPoint() && inputs[0].DType().IsIntegral() && inputs[1].DType().IsIntegral() {
		return status.NotImplementedf("%s: not implemented for operands of dtype %v and %v, which promote to %v; convert one of them to the dtype of the other",
			p.name, inputs[0].DType(), inputs[1].DType(), common)
	}
	return p.kernel.Lacks(p.name, common)
}

// promoteInputs converts the inputs of an operator on a 16-bit dtype, which computes in wider numbers, to that dtype.
func (p *pointwise) promoteInputs(s *scope, common dtype.DType, inputs []*tensor.Tensor) []*tensor.Tensor {
	for i, t := range inputs {
		if t.DType() != common && !(p.unrounded && t.Rank() != dtype.Dimensioned) {
			inputs = slices.Clone(inputs)
			inputs[i] = s.castRowMajor(t, common)
		}
	}
	return inputs
}

// runRounded writes results of a 16-bit dtype to an output of another one: computed in wider numbers, they are rounded to their own dtype
// first.
func (p *pointwise) runRounded(common dtype.DType, to *tensor.Tensor, values params, inputs []*tensor.Tensor) (err error) {
	s := newScope(p.name)
	defer s.Close(&err)
	narrow := s.Track(p.runIn(common, nil, values, inputs...))
	s.copyTensor(to, narrow)
	return nil
}

// copyOf copies self to out, or to a new tensor: the result of operators that do not change the dtype.
func copyOf(op string, out, self *tensor.Tensor) (*tensor.Tensor, error) {
	to := tensoriter.Output{Op: op, Out: out, DType: self.DType(), Exact: true}
	err := to.Broadcast(self)
	if err == nil && to.To != self {
		err = to.CopyFrom(self)
	}
	return to.Done(err)
}

// fillResult writes v, converted as a cast does, to out or a new tensor of self's shape.
func fillResult(op string, out, self *tensor.Tensor, result dtype.DType, exact bool, v dtype.Scalar) (*tensor.Tensor, error) {
	to := tensoriter.Output{Op: op, Out: out, DType: result, Exact: exact}
	err := to.Broadcast(self)
	if err == nil {
		err = fillWith(to.To, v)
	}
	return to.Done(err)
}

// requireOrderedTypes returns a TypeError for dtypes without an order.
func requireOrderedTypes(op string, operands ...*tensor.Tensor) error {
	for _, t := range operands {
		if t.DType().IsComplex() {
			return status.Typef("%s: does not support complex inputs, but got %v; use abs() or real() to compare complex numbers", op, t.DType())
		}
	}
	return nil
}

// checkSameDevice returns an error for tensors on another device than self. Tensors of the CPU are compatible with meta tensors; nil
// tensors are ignored.
func checkSameDevice(op string, self *tensor.Tensor, others ...*tensor.Tensor) error {
	for _, t := range others {
		if t == nil || t.Device() == self.Device() || t.Device().Type == device.CPU && !backend.Known(self) {
			continue
		}
		return tensoriter.TwoDevices(op, self.Device(), t.Device())
	}
	return nil
}

// checkDevice is checkSameDevice, except that a zero-dim tensor on the CPU is compatible with any device.
func checkDevice(op string, self, t *tensor.Tensor) error {
	if t.Dim() == 0 && t.Device().Type == device.CPU {
		return nil
	}
	return checkSameDevice(op, self, t)
}
