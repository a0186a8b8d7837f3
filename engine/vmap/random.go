package vmap

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// drawRandom is the rule of random operators. They are called outside of the level, with a context that determines which outer levels draw
// separately.
func (b *batch) drawRandom() {
	outside := b.C.Around(b.level)
	switch {
	case b.Composed() && !b.Is(dispatch.Derived) && b.level.Randomness != "different":
		b.runDecomposition() // whose ops may be random
	case b.level.Randomness == "error":
		b.Check(status.Runtimef("%s: inside vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on vmap or perform the randomness operation out of vmap",
			b.Name))
	case b.level.Randomness == "different":
		b.drawEach(outside)
	default:
		b.drawOnce(outside)
	}
}

// drawEach draws other numbers for each batch element: by one call for all of them, as in PyTorch, so that the streams agree.
func (b *batch) drawEach(outside dispatch.Context) {
	switch {
	case b.Composed() && b.isInPlace():
		b.runOnTemporary(func() { b.drawSteps(outside) })
	case b.Composed():
		b.drawSteps(outside)
	case b.Name == "multinomial" && b.self.Dim() != 1:
		b.loopOverBatch(outside)
	case len(b.Operands()) > 0:
		b.C = outside
		b.drawElements()
	case b.Place("size") >= 0:
		b.C = outside
		b.prependBatchSize()
	default:
		b.loopOverBatch(outside)
	}
}

// drawElements draws one number for each element of the operands, which broadcast.
func (b *batch) drawElements() {
	operands := b.Operands()
	if slices.ContainsFunc(operands, b.isMapped) {
		if !b.callPointwise() {
			b.loopOverBatch(b.C)
		}
		return
	}
	rank := 0
	for _, t := range operands {
		rank = max(rank, t.Dim())
	}
	b.callReplaced(func(t *tensor.Tensor) *tensor.Tensor { return b.insertDims(b.expandToBatch(t), rank-t.Dim()) })
}

// drawSteps runs the decomposition of a composite operator with random in-place ops: in each level with different randomness, the operands
// are first expanded to all batch elements.
func (b *batch) drawSteps(outside dispatch.Context) {
	back := b.Call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor {
		if t.IsWrappedNumber() {
			return t
		}
		return b.Track(dispatch.Spread(b.C, t, func(l *tensor.Level) bool { return l.Number <= b.level.Number && l.Randomness == "different" }))
	})
	err := b.Steps(b.C)
	back.Restore()
	if err != nil {
		b.loopOverBatch(outside)
	}
}

// drawOnce draws the same numbers for all batch elements.
func (b *batch) drawOnce(outside dispatch.Context) {
	mapped := b.hasMappedTensor()
	others := slices.DeleteFunc(b.Operands(), func(t *tensor.Tensor) bool { return t == b.self })
	switch {
	case mapped && b.level.Size == 0:
		if len(b.Written()) == 0 {
			b.loopOverBatch(outside)
		} else if len(b.Results) > 0 {
			b.setResult(b.self, nil)
		}
	case !mapped:
		b.Check(b.Run(outside))
	// like self, whose elements it does not read
	case len(b.Operands()) == 1 && len(b.Written()) == 0 && (b.Place("dtype") >= 0 || b.Place("p") >= 0):
		back := b.Call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor { return b.selectElement(t, 0) })
		err := b.Run(outside)
		back.Restore()
		b.Check(err)
	case len(b.Written()) == 1 && !slices.ContainsFunc(others, b.isMapped):
		row := b.CloneWith(b.selectElement(b.self, 0), shape.Contiguous)
		back := b.Call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor {
			if t == b.self {
				return row
			}
			return t
		})
		err := b.Run(outside)
		back.Restore()
		b.Check(err)
		b.Check(b.C.Copy(b.self, row, false))
		if len(b.Results) > 0 {
			b.setResult(b.self, nil)
		}
	default:
		b.Check(status.Runtimef("%s: Vmap does not currently support same randomness with a batched tensor input, whose batch elements have different distributions; use randomness='different'",
			b.Name))
	}
}
