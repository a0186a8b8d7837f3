package autograd

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Autograd works on the tensors inside the wrappers of transforms. Only its own operators, such as AutogradGrad, get wrappers.

func isTransformed(t *tensor.Tensor) bool { return t != nil && t.Keys()&tensor.Transformed != 0 }

// hasWrapper returns whether one of the tensors is a wrapper of a transform.
func hasWrapper(list []*tensor.Tensor) bool { return slices.ContainsFunc(list, isTransformed) }

// seedLevel returns the innermost vmap level in which initial gradients are batched although their outputs are not, or
// nil.
func seedLevel(outputs, grads []*tensor.Tensor) *tensor.Level {
	for i, grad := range grads {
		for w := grad.Wrapped(); w != nil && i < len(outputs); w = w.Value.Wrapped() {
			if !outputs[i].MappedBy(int64(w.Level.Number)) {
				return w.Level
			}
		}
	}
	return nil
}

// forEach computes AutogradGrad by one backward pass for each batch element of l, through an unbatched graph.
func forEach(c dispatch.Context, l *tensor.Level, outputs, inputs, grads []*tensor.Tensor, retain ops.Bool, create, unused,
	zeros bool) (made []*tensor.Tensor, err error) {
	s := &steps{Builder: build.Builder{C: c}}
	defer s.Close()
	_, err = s.Evaluate(func() *tensor.Tensor {
		seeds := make([]*tensor.Tensor, len(grads))
		for i, t := range outputs {
			if t.MappedBy(int64(l.Number)) {
				s.Check(status.NotImplementedf("autograd.grad inside vmap: outputs[%d] is batched, and other outputs are not but have batched gradients",
					i))
			}
			if grads[i] != nil {
				seeds[i] = s.Track(dispatch.Take(c, grads[i], l))
			}
		}
		columns := make([][]*tensor.Tensor, len(inputs))
		for k := range l.Size {
			row := make([]*tensor.Tensor, len(seeds))
			for i, t := range seeds {
				if t != nil {
					row[i] = s.Track(c.Select(t, 0, k))
				}
			}
			again := ops.True
			if k == l.Size-1 {
				again = retain
			}
			for i, t := range s.TrackAll(AutogradGrad(c, outputs, inputs, row, again, create, unused, zeros)) {
				columns[i] = append(columns[i], t)
			}
		}
		for i, column := range columns {
			var t *tensor.Tensor
			switch {
			case l.Size == 0:
				t = s.Track(dispatch.Take(c, inputs[i], l))
			case slices.Contains(column, nil):
				made = append(made, nil)
				continue
			default:
				t = s.Track(c.Stack(nil, column, 0))
			}
			made = append(made, s.Track(dispatch.Return("grad", c, t, l)))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.ReturnAll(made)
}

// checkBatchedInputs returns an error for inputs that are not batched by a vmap level that batches outputs: the backward pass would sum
// their gradients over the batch.
func checkBatchedInputs(outputs, inputs []*tensor.Tensor) error {
	for _, t := range outputs {
		for w := t.Wrapped(); w != nil; w = w.Value.Wrapped() {
			for i, input := range inputs {
				if !input.MappedBy(int64(w.Level.Number)) {
					return status.NotImplementedf("autograd.grad inside vmap: inputs[%d] is not batched, but its gradients are; use func.grad to compute them",
						i)
				}
			}
		}
	}
	return nil
}

// tangentLevel returns the innermost level of forward-mode differentiation in which a tensor has a tangent, or nil.
func tangentLevel(lists ...[]*tensor.Tensor) (l *tensor.Level) {
	for _, list := range lists {
		for _, t := range list {
			if in := t.Dual(); in != nil && (l == nil || in.Number > l.Number) {
				l = in
			}
		}
	}
	return l
}

// gradOfTangents computes AutogradGrad of tensors with tangents. A gradient is J^T v. Its tangent is J^T applied to the tangent of v, plus
// the derivative of v^T t with respect to the inputs, where t is the tangent of the outputs, which accounts for the change of the Jacobian
// J.
func gradOfTangents(c dispatch.Context, l *tensor.Level, outputs, inputs, grads []*tensor.Tensor, retain ops.Bool, create, unused,
	zeros bool) (made []*tensor.Tensor, err error) {
	s := &steps{Builder: build.Builder{C: c}}
	defer s.Close()
	_, err = s.Evaluate(func() *tensor.Tensor {
		primal := func(t *tensor.Tensor) *tensor.Tensor {
			if t == nil {
				return nil
			}
			return s.Track(dispatch.Primal(t, l))
		}
		tangent := func(t *tensor.Tensor) *tensor.Tensor {
			if t == nil || l.Over() {
				return nil
			}
			return s.Track(dispatch.Tangent(t, l))
		}
		var roots, seeds, sloping, vectors []*tensor.Tensor
		for i, t := range outputs {
			value, seed := primal(t), primal(tensorAt(grads, i))
			slope, moving := tangent(t), tangent(tensorAt(grads, i))
			if value.SlopeWanted() {
				roots, seeds = append(roots, value), append(seeds, seed)
			}
			if slope != nil && slope.SlopeWanted() {
				sloping, vectors = append(sloping, slope), append(vectors, seed)
			}
			if moving != nil && value.SlopeWanted() {
				sloping, vectors = append(sloping, value), append(vectors, moving)
			}
		}
		of := make([]*tensor.Tensor, len(inputs))
		for i, t := range inputs {
			of[i] = primal(t)
			if slope := tangent(t); slope != nil && isReachable(slope, of[i]) {
				s.Check(status.NotImplementedf("autograd.grad inside jvp: the gradient with respect to inputs[%d] is not implemented, because its tangent depends on the input; use func.grad",
					i))
			}
		}
		slopes := make([]*tensor.Tensor, len(inputs))
		if len(sloping) > 0 {
			slopes = s.TrackAll(AutogradGrad(c, sloping, of, vectors, ops.True, create, true, false))
		}
		values := make([]*tensor.Tensor, len(inputs))
		if len(roots) > 0 || len(sloping) == 0 {
			if len(roots) == 0 {
				for i, t := range outputs { // whose error is the call's
					roots, seeds = append(roots, primal(t)), append(seeds, primal(tensorAt(grads, i)))
				}
			}
			values = s.TrackAll(AutogradGrad(c, roots, of, seeds, retain, create, unused || len(sloping) > 0, zeros))
		}
		for i, value := range values {
			if slope := slopes[i]; slope != nil {
				if value == nil {
					value = s.Track(c.ZerosLike(of[i], of[i].DType(), tensor.NoLayout, of[i].Device(), shape.Preserve))
				}
				value = s.toStrided(value)
				slope = s.Track(dispatch.Laid(c, s.toStrided(slope), value))
				value = s.Track(dispatch.Pair("grad", c, value, slope, l))
			}
			if value == nil && !unused {
				s.Check(unusedInput(i))
			}
			made = append(made, value)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.ReturnAll(made)
}

// isReachable returns whether the autograd graph of t contains to.
func isReachable(t, to *tensor.Tensor) bool {
	goal := edgeTo(to)
	defer releaseAll([]Edge{goal})
	start := edgeTo(t)
	defer releaseAll([]Edge{start})
	if goal.Node == nil || start.Node == nil {
		return false
	}
	seen, waiting := map[*Node]bool{}, []Edge{start}
	for len(waiting) > 0 {
		e := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		switch {
		case e == goal:
			return true
		case e.Node == nil || seen[e.Node]:
			continue
		}
		seen[e.Node] = true
		waiting = append(waiting, e.Node.edges...)
	}
	return false
}
