package composite

import (
	"cmp"
	"math"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// fused is a call that updates lists of parameters, their gradients and their states at once.
type fused struct {
	c     dispatch.Context
	op    string
	rows  [][5]*tensor.Tensor
	parts []backend.Update
	skip  bool // a gradient was not finite
}

// newFused checks the lists and reads the results of a gradient scaler. all has the fields that every part shares.
func newFused(c dispatch.Context, op string, all backend.Update, gradScale, foundInf *tensor.Tensor,
	lists ...[]*tensor.Tensor) (*fused, error) {
	f := &fused{c: c, op: op, rows: make([][5]*tensor.Tensor, len(lists[0]))}
	for _, list := range lists {
		if err := f.checkLength(list); err != nil {
			return nil, err
		}
	}
	for k, list := range lists {
		for i, t := range list {
			f.rows[i][k] = t
			if err := f.checkTensor(t, lists[0][i].Device(), k != 1); err != nil {
				return nil, err
			}
		}
	}
	all.Scale = 1
	if gradScale != nil {
		scale, err := f.readNumber(gradScale)
		if err != nil {
			return nil, err
		}
		all.Scale = 1 / scale
	}
	if foundInf != nil {
		found, err := f.readNumber(foundInf)
		if err != nil {
			return nil, err
		}
		f.skip = found != 0
	}
	for range f.rows {
		f.parts = append(f.parts, all)
	}
	return f, nil
}

// checkLength returns an error unless list has a tensor for each parameter.
func (f *fused) checkLength(list []*tensor.Tensor) error {
	if len(list) != len(f.rows) {
		return status.Runtimef("%s: Tensor lists must have the same number of tensors, got %d and %d", f.op, len(f.rows), len(list))
	}
	return nil
}

// checkTensor returns an error for tensors with dispatch keys other than Gradient, on other devices than their parameter, and for updates
// that would have to be differentiated.
func (f *fused) checkTensor(t *tensor.Tensor, at device.Device, written bool) error {
	if key := t.Keys() &^ tensor.Gradient; key != 0 {
		return dispatch.Unsupported(f.op, key&-key)
	}
	if t.Device() != at {
		return tensoriter.TwoDevices(f.op, at, t.Device())
	}
	if !written || !f.c.Recording() {
		return nil
	}
	if wanted, err := dispatch.Autograd.RequiresGrad(f.c, t); err != nil || wanted {
		return cmp.Or(err,
			status.Runtimef("%s: a leaf Variable that requires grad is being used in an in-place operation; do so under no_grad()", f.op))
	}
	return nil
}

// readNumber reads a tensor of one element, which is 1 on the meta device.
func (f *fused) readNumber(t *tensor.Tensor) (float64, error) {
	if !backend.Known(t) {
		return 1, nil
	}
	n, err := f.c.Item(t)
	if err != nil {
		return 0, status.In(f.op, err)
	}
	return n.Float(), nil
}

// forEachStep calls set with the count of steps of each parameter.
func (f *fused) forEachStep(counts []*tensor.Tensor, set func(p *backend.Update, step float64)) error {
	if err := f.checkLength(counts); err != nil {
		return err
	}
	for i, t := range counts {
		step, err := f.readNumber(t)
		if err != nil {
			return err
		}
		set(&f.parts[i], step)
	}
	return nil
}

// updateAll updates all parameters, and bumps the versions of the written tensors.
func (f *fused) updateAll() error {
	if f.skip {
		return nil
	}
	if err := ops.UpdateAll(f.op, f.rows, f.parts); err != nil {
		return err
	}
	for i, row := range f.rows {
		for k, t := range row {
			if t != nil && (k != 1 || f.parts[i].Scale != 1) {
				dispatch.BumpVersion(nil, t)
			}
		}
	}
	return nil
}

// FusedSgd updates parameters by stochastic gradient descent.
func FusedSgd(c dispatch.Context, self, grads, momentumBufferList []*tensor.Tensor, weightDecay, momentum, lr, dampening float64, nesterov,
	maximize, isFirstStep bool, gradScale, foundInf *tensor.Tensor) error {
	all := backend.Update{Kind: backend.SGD, Maximize: dtype.FromBool[int32](maximize), Nesterov: dtype.FromBool[int32](nesterov),
		First: dtype.FromBool[int32](isFirstStep), Decay: weightDecay, Step: lr, Beta1: momentum, Rate: 1 - dampening}
	lists := [][]*tensor.Tensor{self, grads}
	if momentum != 0 {
		if len(momentumBufferList) == 0 {
			return status.Runtimef("_fused_sgd_: momentum_buffer_list must have a tensor for each parameter if momentum is not 0")
		}
		lists = append(lists, momentumBufferList)
	}
	f, err := newFused(c, "_fused_sgd_", all, gradScale, foundInf, lists...)
	if err != nil {
		return err
	}
	return f.updateAll()
}

// FusedAdam updates parameters by Adam.
func FusedAdam(c dispatch.Context, self, grads, expAvgs, expAvgSqs, maxExpAvgSqs, stateSteps []*tensor.Tensor, lr, beta1, beta2,
	weightDecay, eps float64, amsgrad, maximize bool, gradScale, foundInf *tensor.Tensor) error {
	return fusedAdam(c, "_fused_adam_", backend.Update{Kind: backend.Adam, Maximize: dtype.FromBool[int32](maximize), Decay: weightDecay,
		Beta1: beta1, Beta2: beta2, Eps: eps}, lr, amsgrad, gradScale, foundInf, stateSteps, self, grads, expAvgs, expAvgSqs, maxExpAvgSqs)
}

// FusedAdamw updates parameters by AdamW.
func FusedAdamw(c dispatch.Context, self, grads, expAvgs, expAvgSqs, maxExpAvgSqs, stateSteps []*tensor.Tensor, lr, beta1, beta2,
	weightDecay, eps float64, amsgrad, maximize bool, gradScale, foundInf *tensor.Tensor) error {
	return fusedAdam(c, "_fused_adamw_", backend.Update{Kind: backend.AdamW, Maximize: dtype.FromBool[int32](maximize),
		Decoupled: lr * weightDecay, Beta1: beta1, Beta2: beta2, Eps: eps}, lr, amsgrad,
		gradScale, foundInf, stateSteps, self, grads, expAvgs, expAvgSqs, maxExpAvgSqs)
}

// fusedAdam has the parameters, gradients, and the states in lists.
func fusedAdam(c dispatch.Context, op string, all backend.Update, lr float64, amsgrad bool, gradScale, foundInf *tensor.Tensor,
	steps []*tensor.Tensor, lists ...[]*tensor.Tensor) error {
	needed := 4
	if amsgrad {
		needed = 5
	}
	f, err := newFused(c, op, all, gradScale, foundInf, lists[:needed]...)
	if err != nil {
		return err
	}
	err = f.forEachStep(steps, func(p *backend.Update, step float64) {
		p.Step, p.Root = lr/(1-math.Pow(p.Beta1, step)), math.Sqrt(1-math.Pow(p.Beta2, step))
	})
	if err != nil {
		return err
	}
	return f.updateAll()
}

// FusedAdagrad updates parameters by Adagrad.
func FusedAdagrad(c dispatch.Context, self, grads, stateSums, stateSteps []*tensor.Tensor, lr, lrDecay, weightDecay, eps float64,
	maximize bool, gradScale, foundInf *tensor.Tensor) error {
	f, err := newFused(c, "_fused_adagrad_", backend.Update{Kind: backend.Adagrad, Maximize: dtype.FromBool[int32](maximize),
		Decay: weightDecay, Eps: eps}, gradScale, foundInf, self, grads, stateSums)
	if err != nil {
		return err
	}
	err = f.forEachStep(stateSteps, func(p *backend.Update, step float64) { p.Step = lr / (1 + (step-1)*lrDecay) })
	if err != nil {
		return err
	}
	return f.updateAll()
}
