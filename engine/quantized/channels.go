package quantized

import (
	"errors"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Propagation of channels: an operator applied to a tensor of channel numbers shows which channel each element of the result has. These
// tensors are on the CPU, wherever the operand is.

// makeChannelNumbers returns a tensor of the sizes of t whose elements are the numbers of their channels; the elements of a channel share
// memory.
func makeChannelNumbers(b *build.Builder, t *tensor.Tensor, number func(i int) int64) *tensor.Tensor {
	q := t.Quantizer()
	vector := makeTensor(b, []int64{int64(len(q.Scales))}, dtype.Int64, device.Host, func(i int) dtype.Scalar {
		return dtype.IntScalar(number(i))
	})
	strides := make([]int64, t.Dim())
	strides[q.Axis] = 1
	return b.Track(vector.View(b.Op, t.Sizes(), strides, 0))
}

// findViewQuantizers returns the quantizers of the n views that the function on creates of a tensor of the sizes of t.
func findViewQuantizers(b *build.Builder, t *tensor.Tensor, n int, on func(*tensor.Tensor) []*tensor.Tensor) []*tensor.Quantizer {
	q := t.Quantizer()
	quantizers := slices.Repeat([]*tensor.Quantizer{q}, n)
	if !q.PerChannel() {
		return quantizers
	}
	base := makeChannelNumbers(b, t, func(i int) int64 { return int64(i) })
	var views []*tensor.Tensor
	err := b.Try(func() { views = on(base) })
	if failed := new(status.Error); errors.As(err, &failed) && failed.Code != status.Memory {
		b.Failf("a view of sizes %v of a tensor that is quantized per channel along axis %d mixes channels; call dequantize() first", t.Sizes(),
			q.Axis)
	}
	b.Check(err)
	for i, v := range views {
		axis := -1
		for k, stride := range v.Strides() {
			if stride == 0 {
				continue
			}
			if axis >= 0 && v.Sizes()[axis] > 1 && v.Sizes()[k] > 1 {
				axis = -2
				break
			}
			if axis < 0 || v.Sizes()[k] > 1 {
				axis = k
			}
		}
		last := v.Offset() // the channel of the last index; invalid for an empty tensor
		if axis >= 0 {
			last += (v.Sizes()[axis] - 1) * v.Strides()[axis]
		}
		switch {
		case axis == -2 || v.Storage() != base.Storage() || last >= int64(len(q.Scales)):
			b.Failf("the channels along axis %d of sizes %v are not one dimension of the view of sizes %v; call dequantize() first", q.Axis,
				t.Sizes(), v.Sizes())
		case axis < 0: // of one channel
			quantizers[i] = tensor.PerTensor(q.Scales[v.Offset()], q.Zeros[v.Offset()])
			continue
		}
		quantizers[i] = selectChannels(q, axis, int(v.Sizes()[axis]), func(k int) int64 { return v.Offset() + int64(k)*v.Strides()[axis] })
	}
	return quantizers
}

// findResultQuantizer returns the quantizer of the results that f computed from tensors: that of the first, with channels mapped.
func findResultQuantizer(b *build.Builder, t, results []*tensor.Tensor, f plainOperator) *tensor.Quantizer {
	of := t[0].Quantizer()
	if !of.PerChannel() {
		return of
	}
	all := &tensor.Quantizer{} // the channels of all tensors; those of the same scale and zero point have one number
	numbers := map[channel]int64{}
	number := func(c channel) int64 {
		n, ok := numbers[c]
		if !ok {
			n = int64(len(numbers))
			numbers[c] = n
			all.Scales, all.Zeros = append(all.Scales, c.scale), append(all.Zeros, c.zero)
		}
		return n
	}
	numbered := slices.Clone(t)
	for i := range t {
		if !isQuantized(t[i]) {
			continue
		}
		q := t[i].Quantizer()
		if t[i].DType() != t[0].DType() || !q.PerChannel() {
			b.Failf("all tensors must be quantized per channel with the same dtype, but got %v with %s and %v with %s", t[0].DType(), of.Scheme(),
				t[i].DType(), q.Scheme())
		}
		numbered[i] = makeChannelNumbers(b, t[i], func(k int) int64 { return number(channel{q.Scales[k], q.Zeros[k]}) })
	}
	list := b.TrackAll(f(nil, numbered))
	if list[0].Dim() == 0 { // an element has one channel
		numbers, err := backend.Ints(b.Op, list[0])
		b.Check(err)
		return tensor.PerTensor(all.Scales[numbers[0]], all.Zeros[numbers[0]])
	}
	if list[0].Numel() == 0 && slices.Equal(list[0].Sizes(), t[0].Sizes()) { // no element shows whether a channel moved
		return of
	}
	for k := range list[0].Dim() {
		axis := (of.Axis + k) % list[0].Dim() // its former axis, if the result has it
		if channels, ok := readChannels(b, list[0], axis); ok {
			return selectChannels(all, axis, len(channels), func(k int) int64 { return channels[k] })
		}
	}
	b.Failf("the channels are not one dimension of the result, of sizes %v; call dequantize() first", list[0].Sizes())
	return nil
}

type channel struct {
	scale float64
	zero  int64
}

// selectChannels returns a quantizer of n channels of q, along an axis.
func selectChannels(q *tensor.Quantizer, axis, n int, which func(k int) int64) *tensor.Quantizer {
	result := &tensor.Quantizer{Scales: make([]float64, n), Zeros: make([]int64, n), Axis: axis}
	for k := range n {
		result.Scales[k], result.Zeros[k] = q.Scales[which(k)], q.Zeros[which(k)]
	}
	return result
}

// readChannels returns the channel number at each index of an axis, and false if it also depends on another index.
func readChannels(b *build.Builder, t *tensor.Tensor, axis int) (numbers []int64, ok bool) {
	all := b.RowMajor(t, dtype.Int64)
	elements, err := backend.Ints(b.Op, all)
	b.Check(err)
	n, inner := int(t.Sizes()[axis]), 1
	for _, size := range t.Sizes()[axis+1:] {
		inner *= int(size)
	}
	if len(elements) == 0 && n > 0 {
		return nil, false // undetermined
	}
	for i, number := range elements {
		if k := i / inner % n; k == len(numbers) {
			numbers = append(numbers, number)
		} else if numbers[k] != number {
			return nil, false
		}
	}
	return numbers, true
}
