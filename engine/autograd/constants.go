package autograd

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// beginConstant begins a call whose result does not depend differentiably on any operand. In place, the gradient of the previous value of
// self is zero.
func beginConstant(c dispatch.Context, op, name string, out, self *tensor.Tensor) (recordedOp, error) {
	if out != self {
		return beginCall(c, op, name, out)
	}
	return beginCall(c, op, name, out, self)
}

// endConstant ends a call that beginConstant has begun.
func (r *recordedOp) endConstant(err error) {
	if r.setGradFns(err, r.out) {
		r.node.formula = func(s *steps, _ int) *tensor.Tensor { return s.zerosLike(s.grad(0)) }
		r.setInplaceGradFn()
	}
}

// endUndifferentiable ends a call of an operator without derivatives: a backward pass that reaches its node returns an error.
func (r *recordedOp) endUndifferentiable(op string, err error, results ...*tensor.Tensor) {
	if r.setGradFns(err, results...) {
		r.node.formula = func(s *steps, _ int) *tensor.Tensor { return s.missingDerivative(op) }
		r.setInplaceGradFn()
	}
}

// missingDerivative returns the error of a backward pass that needs a missing derivative.
func (s *steps) missingDerivative(what string) *tensor.Tensor {
	s.Check(status.NotImplementedf("the derivative for '%s' is not implemented: it is not differentiable; use detach() on its arguments",
		what))
	return nil
}

// recordResize and recordResizeAs return an error if a tensor that requires grad would get another size, in any grad mode, because its
// gradient would no longer have the same size.
func recordResize(c dispatch.Context, self *tensor.Tensor, size []int64, f shape.MemoryFormat) error {
	if err := checkResizable(c, "resize_", self); err != nil {
		return err
	}
	return c.Excluding(tensor.Gradient).Resize(self, size, f)
}

func recordResizeAs(c dispatch.Context, self, template *tensor.Tensor, f shape.MemoryFormat) error {
	if err := checkResizable(c, "resize_as_", self); err != nil {
		return err
	}
	return c.Excluding(tensor.Gradient).ResizeAs(self, template, f)
}

func checkResizable(c dispatch.Context, op string, self *tensor.Tensor) error {
	if !requiresGrad(self) || c.Inferring() && isInference(self) {
		return nil
	}
	return status.Runtimef("%s: cannot resize variables that require grad; resize a detach() of them", op)
}

// recordShareMemory changes neither the elements nor the autograd metadata.
func recordShareMemory(c dispatch.Context, self *tensor.Tensor) error {
	return c.Excluding(tensor.Gradient).ShareMemory(self)
}
