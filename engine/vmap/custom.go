package vmap

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// callCustom calls a user-defined operator by its vmap rule, or once for each batch element if it has none.
func (b *batch) callCustom() {
	x, given := b.Custom(), dispatch.Value[[]*tensor.Tensor](b.Call, 0)
	if !x.IsPlain() {
		b.Check(status.NotImplementedf("%s: inside vmap: results that are not tensors are not supported, because they differ between batch elements",
			b.Name))
	}
	values, mapped := make([]*tensor.Tensor, len(given)), make([]bool, len(given))
	for i, t := range given {
		if mapped[i] = b.isMapped(t); !mapped[i] && x.Writes(i) {
			b.Check(status.Runtimef("%s: inside vmap: the operator writes to a tensor of sizes %v, which is not batched; create it from a batched tensor, for example with zeros_like",
				b.Name, t.Sizes()))
		}
		values[i] = b.unwrapBatch(t)
		if mapped[i] && x.Writes(i) && b.level.Size > 1 && values[i].Numel() > 0 && values[i].Strides()[0] == 0 {
			b.Check(status.Runtimef("%s: inside vmap: unsupported operation: more than one element of the written-to tensor refers to a single memory location, because its batch was expanded; clone() it before the operation",
				b.Name))
		}
	}
	c := b.C.Around(b.level)
	made, batched, done, err := x.Batched(c, values, mapped, b.level.Size)
	b.Check(err)
	if !done {
		b.loopOverBatch(c)
		return
	}
	for _, t := range made {
		b.Track(t, nil)
	}
	results := make([]*tensor.Tensor, len(made))
	for i, t := range made {
		switch {
		case t == nil:
			continue
		case !batched[i]:
			results[i], err = b.Return(t)
		case t.Dim() == 0 || t.Sizes()[0] != b.level.Size:
			err = status.Runtimef("%s: the vmap rule returned result %d of sizes %v; its first dimension must be the batch of %d elements", b.Name,
				i, t.Sizes(), b.level.Size)
		default:
			results[i], err = tensor.Wrap(b.Name, t, b.level)
		}
		if err != nil {
			for _, t := range results[:i] {
				t.Release()
			}
			b.Check(err)
		}
	}
	b.setListResult(results, nil)
}
