package serial

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial/pickle"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Quantized tensors are calls of a maker with (scheme, scale, zero point), or (scheme, scales, zero points, axis), whose numbers are lists
// or tensors.

// newScheme returns the name of a quantization scheme.
func newScheme(name string) pickle.Global { return pickle.Global{Module: "torch", Name: name} }

var perTensor, perChannel = newScheme("per_tensor_affine"), newScheme("per_channel_affine")

// encodeQuantizer returns the value of a quantizer: (scheme, scale, zero point), or (scheme, scales, zero points, axis).
func encodeQuantizer(q *tensor.Quantizer) *pickle.Tuple {
	if !q.PerChannel() {
		return newTuple(perTensor, q.Scales[0], q.Zeros[0])
	}
	scales, zeros := &pickle.List{}, &pickle.List{}
	for i := range q.Scales {
		scales.Items, zeros.Items = append(scales.Items, q.Scales[i]), append(zeros.Items, q.Zeros[i])
	}
	return newTuple(perChannel, scales, zeros, int64(q.Axis))
}

// encodeQuantized returns the value of a quantized tensor.
func (s *saver) encodeQuantized(t *tensor.Tensor) (any, error) {
	if t.IsMeta() {
		return nil, status.NotImplementedf("%s: a quantized tensor on device meta cannot be saved: the format has no quantized tensors without elements; save its int_repr() instead",
			s.op)
	}
	k := s.storages[t.Storage()]
	if k.dtype != t.DType() {
		return nil, status.NotImplementedf("%s: the storage of a tensor of dtype %v is shared with a saved tensor of another dtype; clone() one of them",
			s.op, t.DType())
	}
	return newCall(rebuildQuantized, k.toPersistent(), k.computeOffset(t), newIntTuple(t.Sizes()), newIntTuple(t.Strides()),
		encodeQuantizer(t.Quantizer()), false, newCall(orderedDict)), nil
}

// pendingQuantized is a tensor of integers that becomes a quantized tensor when the bytes have been read.
type pendingQuantized struct {
	number        int // among the loader's tensors
	dtype         dtype.DType
	scales, zeros any
	axis          int64
}

// buildQuantized creates the integers of (storage, offset, size, stride, parameters, requires_grad, hooks).
func (l *loader) buildQuantized(c *pickle.Call) (*tensor.Tensor, pendingQuantized, error) {
	args := c.Args.Items
	var q pendingQuantized
	if len(args) < 5 {
		return nil, q, l.newValueError("a quantized tensor", c.Args)
	}
	given, _ := args[4].(*pickle.Tuple)
	_, d, err := l.resolveStorage(args[0])
	if err != nil {
		return nil, q, err
	}
	switch {
	case given == nil || len(given.Items) < 3:
		return nil, q, l.newValueError("how a tensor is quantized", args[4])
	case given.Items[0] == perTensor && len(given.Items) == 3:
		q = pendingQuantized{dtype: d, scales: given.Items[1], zeros: given.Items[2], axis: -1}
	case given.Items[0] == perChannel && len(given.Items) == 4:
		axis, ok := given.Items[3].(int64)
		if !ok || axis < 0 {
			return nil, q, l.newValueError("the axis of a quantized tensor", given.Items[3])
		}
		q = pendingQuantized{dtype: d, scales: given.Items[1], zeros: given.Items[2], axis: axis}
	default:
		return nil, q, l.newValueError("how a tensor is quantized", args[4])
	}
	if err := tensor.CheckQuantized(l.op, d); err != nil {
		return nil, q, err
	}
	for _, value := range []any{q.scales, q.zeros} { // tensors whose bytes are going to be read too
		if _, err := l.resolveTensor(value); err != nil {
			return nil, q, err
		}
	}
	t, err := l.buildStrided(d.Stored(), args)
	return t, q, err
}

// finishQuantized replaces a tensor of integers by the quantized tensor, once the bytes have been read.
func (l *loader) finishQuantized(w pendingQuantized) error {
	scales, err := l.readScalars(w.scales)
	if err != nil {
		return err
	}
	zeros, err := l.readScalars(w.zeros)
	if err != nil {
		return err
	}
	q := &tensor.Quantizer{Axis: int(w.axis)}
	for _, v := range scales {
		q.Scales = append(q.Scales, v.Float())
	}
	for _, v := range zeros {
		if v.Kind != dtype.KindInt {
			return l.newValueError("the zero point of a quantized tensor", w.zeros)
		}
		q.Zeros = append(q.Zeros, v.I)
	}
	quantized, err := l.tensors[w.number].AsQuantized(l.op, w.dtype, q)
	if err == nil {
		l.tensors[w.number].Release()
		l.tensors[w.number] = quantized
	}
	return err
}

// readScalars returns the scalars of a value: one, a list of them, or a tensor.
func (l *loader) readScalars(value any) ([]dtype.Scalar, error) {
	switch v := value.(type) {
	case int64:
		return []dtype.Scalar{dtype.IntScalar(v)}, nil
	case float64:
		return []dtype.Scalar{dtype.FloatScalar(v)}, nil
	case *pickle.List:
		var all []dtype.Scalar
		for _, item := range v.Items {
			if _, nested := item.(*pickle.List); nested {
				return nil, l.newValueError("how a tensor is quantized", value)
			}
			one, err := l.readScalars(item)
			if err != nil {
				return nil, err
			}
			all = append(all, one...)
		}
		return all, nil
	case *pickle.Call:
		i, err := l.resolveTensor(v)
		if err != nil {
			return nil, err
		}
		if i < 0 || l.tensors[i].Dim() != 1 || l.tensors[i].IsMeta() || l.tensors[i].Components() != nil {
			break
		}
		t := l.tensors[i]
		all := make([]dtype.Scalar, t.Numel())
		for k := range all {
			all[k] = tensor.Get(unsafe.Add(t.Data(), int64(k)*t.Strides()[0]*t.DType().Size()), t.DType())
		}
		return all, nil
	}
	return nil, l.newValueError("how a tensor is quantized", value)
}
