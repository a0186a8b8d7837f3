package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// The layer sees no tensor of a transform, but for those that its own operators are given: it is all examples whose calls are recorded.

func isTransformed(t *tensor.Tensor) bool { return t != nil && t.Keys()&tensor.Transformed != 0 }

// transformed tells whether one of the tensors is a transform's.
func transformed(list []*tensor.Tensor) bool { return slices.ContainsFunc(list, isTransformed) }

// seeded is the innermost transform in which gradients to begin with are others for each example, though what they are of is the same for
// all; nil for none.
func seeded(outputs, grads []*tensor.Tensor) *tensor.Level {
	for i, grad := range grads {
		for w := grad.Wrapped(); w != nil && i < len(outputs); w = w.Value.Wrapped() {
			if !outputs[i].MappedBy(int64(w.Level.Number)) {
				return w.Level
			}
		}
	}
	return nil
}

// forEach is AutogradGrad in a run for each example of l, of whose gradients a graph that all share is given others.
func forEach(c aten.Ctx, l *tensor.Level, outputs, inputs, grads []*tensor.Tensor, retain ops.Bool, create, unused, zeros bool) (made []*tensor.Tensor, err error) {
	s := &steps{c: c}
	defer s.Close()
	_, err = s.try(func() *tensor.Tensor {
		seeds := make([]*tensor.Tensor, len(grads))
		for i, t := range outputs {
			if t.MappedBy(int64(l.Number)) {
				s.check(status.NotImplementedf("autograd.grad inside vmap: number %d of outputs is another one for each example, and others, with gradients of which each has its own, are the same for all", i))
			}
			if grads[i] != nil {
				seeds[i] = s.keep(aten.Take(c, grads[i], l))
			}
		}
		columns := make([][]*tensor.Tensor, len(inputs))
		for k := range l.Size {
			row := make([]*tensor.Tensor, len(seeds))
			for i, t := range seeds {
				if t != nil {
					row[i] = s.keep(c.Select(t, 0, k))
				}
			}
			again := ops.True
			if k == l.Size-1 {
				again = retain
			}
			for i, t := range s.keepAll(AutogradGrad(c, outputs, inputs, row, again, create, unused, zeros)) {
				columns[i] = append(columns[i], t)
			}
		}
		for i, column := range columns {
			var t *tensor.Tensor
			switch {
			case l.Size == 0:
				t = s.keep(aten.Take(c, inputs[i], l))
			case slices.Contains(column, nil):
				made = append(made, nil)
				continue
			default:
				t = s.keep(c.Stack(nil, column, 0))
			}
			made = append(made, s.keep(aten.Give("grad", c, t, l)))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.GiveAll(made)
}

// covered refuses inputs that are the same for examples of which outputs are not: the run would add the examples' gradients up.
func covered(outputs, inputs []*tensor.Tensor) error {
	for _, t := range outputs {
		for w := t.Wrapped(); w != nil; w = w.Value.Wrapped() {
			for i, input := range inputs {
				if !input.MappedBy(int64(w.Level.Number)) {
					return status.NotImplementedf("autograd.grad inside vmap: number %d of inputs is the same for all examples, of which each has a gradient of its own; func.grad gives these", i)
				}
			}
		}
	}
	return nil
}
