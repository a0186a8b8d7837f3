package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

func init() { dispatch.RecordCustom(callCustom) }

// callCustom calls a custom operator, and adds a node for it if an argument requires grad. An operator that writes to arguments has no
// derivative, also for its other arguments, which the written values may depend on.
func callCustom(c dispatch.Context, given []*tensor.Tensor, x dispatch.Custom) ([]*tensor.Tensor, error) {
	writes := false
	for i, t := range given {
		if !x.Writes(i) {
			continue
		}
		writes = true
		if err := checkWritable(c, x.Name(), t); err != nil {
			return nil, err
		}
	}
	if writes && isRecording(c, given...) {
		return nil, status.NotImplementedf("%s: an argument requires grad, but the operator writes to an argument, and so has no derivative; call it under no_grad(), or on detach()ed tensors",
			x.Name())
	}
	made, err := c.Excluding(tensor.Gradient).CallCustom(given, x)
	if err != nil || !isRecording(c, given...) {
		return made, err
	}
	if err = recordCustom(c, given, made, x); err != nil {
		for _, t := range made {
			t.Release()
		}
		return nil, err
	}
	return made, nil
}

func recordCustom(c dispatch.Context, given, made []*tensor.Tensor, x dispatch.Custom) error {
	derivative, err := x.Derivative()
	if err != nil {
		return err
	}
	kept := slices.Concat(given, made)
	for i := range kept {
		isResult := i >= len(given)
		at := i
		if isResult {
			at -= len(given)
		}
		if !x.Saves(at, isResult) {
			kept[i] = nil
		}
	}
	at := newContext(0, 0)
	at.derivative = derivative
	n, err := recordCall(c, x.Name(), given, made, nil, kept, true, at, func(s *steps, at *context) ([]*tensor.Tensor, error) {
		saved := make([]*tensor.Tensor, len(kept))
		for i := range saved {
			saved[i] = s.saved(i)
		}
		return derivative.Backward(s.C, s.gradsForCallback(at, len(given)), saved)
	})
	if err != nil {
		at.release()
		return err
	}
	n.Release()
	return nil
}
