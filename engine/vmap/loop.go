package vmap

import (
	"slices"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// loopOverBatch calls the operator for each batch element separately. In-place operators write to views of the whole batch.
func (b *batch) loopOverBatch(c dispatch.Context) {
	if b.level.Size == 0 && len(b.Results) > 0 && !b.writesSelf() {
		b.inferEmptyBatch(c)
		return
	}
	made := make([][]*tensor.Tensor, len(b.Results)) // all results, by result
	var lists []int                                  // their lengths in each example, of results that are lists
	for i := range b.level.Size {
		put := map[*tensor.Tensor]*tensor.Tensor{}
		back := b.Call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor {
			if put[t] == nil {
				put[t] = b.selectElement(t, i)
			}
			return put[t]
		})
		err := b.Run(c)
		back.Restore()
		b.Check(err)
		lists = make([]int, len(b.Results))
		for k, v := range b.Results {
			switch v := v.(type) {
			case **tensor.Tensor:
				made[k] = append(made[k], b.trackNewResult(put, *v))
				*v = nil
			case *[]*tensor.Tensor:
				for _, t := range *v {
					made[k] = append(made[k], b.trackNewResult(put, t))
				}
				lists[k] = len(*v)
				*v = nil
			default:
				b.Check(status.NotImplementedf("%s: inside vmap: a scalar or string argument must be the same for all batch elements", b.Name))
			}
		}
		if i == 0 && b.isFirstSufficient(slices.Concat(made...)) {
			break
		}
	}
	// All are created before one is a result: otherwise an error would leak those before it.
	all := make([][]*tensor.Tensor, len(b.Results))
	for k, v := range b.Results {
		n := 1
		if _, list := v.(*[]*tensor.Tensor); list {
			n = lists[k]
		}
		for j := range n {
			t := b.stackResults(made[k], n, j)
			if t != nil && t != b.self {
				b.Track(t, nil)
			}
			all[k] = append(all[k], t)
		}
	}
	for k, v := range b.Results {
		for j, t := range all[k] {
			if t != nil && t != b.self {
				all[k][j], _ = b.Return(t)
			}
		}
		switch v := v.(type) {
		case **tensor.Tensor:
			*v = all[k][0]
		case *[]*tensor.Tensor:
			*v = append(*v, all[k]...)
		}
	}
}

// isFirstSufficient reports whether the results of the first batch element have no elements, so that they also are those of the others. It
// raises an error if there is no memory for all results: calling the operator for many batch elements first would take long.
func (b *batch) isFirstSufficient(first []*tensor.Tensor) bool {
	elements := len(b.Written()) > 0 || len(first) == 0
	for _, t := range first {
		if t == nil {
			continue
		}
		elements = elements || t.Numel() > 0
		all, err := tensor.Empty(b.Name, append([]int64{b.level.Size}, t.Sizes()...), t.DType(), t.Device())
		b.Check(err)
		all.Release()
	}
	return !elements
}

// inferEmptyBatch returns results for zero batch elements, with the sizes that the operator infers for meta tensors.
func (b *batch) inferEmptyBatch(c dispatch.Context) {
	meta, on := device.Device{Type: device.Meta, Index: -1}, dispatch.Given(b.Call, "device", device.Device{})
	if operands := b.Operands(); len(operands) > 0 {
		on = operands[0].Device()
	}
	back := b.Call.Put(func(_ int, t *tensor.Tensor) *tensor.Tensor {
		return b.Track(tensor.Empty(b.Name, t.Sizes(), t.DType(), meta))
	})
	err := b.Run(c)
	back.Restore()
	if err != nil {
		b.Check(status.NotImplementedf("%s: inside vmap: the operator has no batching rule and is called once for each batch element, so empty batches are not supported (%v)",
			b.Name, err))
	}
	one := func(t *tensor.Tensor) *tensor.Tensor {
		b.Track(t, nil)
		all := b.Track(tensor.Empty(b.Name, append([]int64{0}, t.Sizes()...), t.DType(), on))
		w, err := tensor.Wrap(b.Name, all, b.level)
		b.Check(err)
		return w
	}
	for _, v := range b.Results {
		switch v := v.(type) {
		case **tensor.Tensor:
			*v = one(*v)
		case *[]*tensor.Tensor:
			for i, t := range *v {
				(*v)[i] = one(t)
			}
		}
	}
}

// trackNewResult tracks and returns a result. It returns nil if the result is a tensor that the call wrote to.
func (b *batch) trackNewResult(put map[*tensor.Tensor]*tensor.Tensor, t *tensor.Tensor) *tensor.Tensor {
	for _, p := range put {
		if p == t {
			return nil
		}
	}
	b.Track(t, nil)
	return t
}

// stackResults stacks the results of batch elements, at every step-th position from start on.
func (b *batch) stackResults(made []*tensor.Tensor, step, start int) *tensor.Tensor {
	if len(b.Written()) > 0 && (len(made) == 0 || made[start] == nil) {
		return b.self
	}
	var list []*tensor.Tensor
	for i := start; i < len(made); i += step {
		list = append(list, made[i])
	}
	if len(list) == 0 || list[0] == nil {
		return nil
	}
	if int64(len(list)) < b.level.Size {
		list[0] = b.Track(dispatch.Take(b.C, list[0], b.level))
	} else {
		list[0] = b.Stack(list, 0)
	}
	t, err := tensor.Wrap(b.Name, list[0], b.level)
	b.Check(err)
	return t
}
