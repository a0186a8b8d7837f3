package tensor

import (
	"fmt"
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
)

// Quantizer maps the integers of a quantized tensor to numbers: (integer - zero point) * scale. It is immutable once a tensor has it, so
// that aliases share it.
type Quantizer struct {
	Scales []float64 // one, or one for each index along Axis
	Zeros  []int64
	Axis   int // -1 where one scale is that of all elements
}

// PerTensor returns the quantizer with one scale for all elements.
func PerTensor(scale float64, zero int64) *Quantizer {
	return &Quantizer{Scales: []float64{scale}, Zeros: []int64{zero}, Axis: -1}
}

// PerChannel reports whether each index along an axis has a separate scale.
func (q *Quantizer) PerChannel() bool { return q.Axis >= 0 }

// Scheme returns the name that PyTorch has for the kind of quantizer.
func (q *Quantizer) Scheme() string {
	if q.PerChannel() {
		return "per_channel_affine"
	}
	return "per_tensor_affine"
}

// Equal reports whether two quantizers have the same parameters.
func (q *Quantizer) Equal(other *Quantizer) bool {
	return q.Axis == other.Axis && slices.Equal(q.Scales, other.Scales) && slices.Equal(q.Zeros, other.Zeros)
}

// Quantizer of a quantized tensor; nil of any other.
func (t *Tensor) Quantizer() *Quantizer {
	if t.kind.keys&Quantized == 0 {
		return nil
	}
	q, _ := t.kind.state.(*Quantizer)
	return q
}

// Ints returns the tensor of the integers that a quantized tensor keeps, over the same memory.
func (t *Tensor) Ints() *Tensor {
	a := t.Alias()
	a.dtype = t.dtype.Stored()
	a.SetKeys(t.kind.keys&^Quantized, nil)
	return a
}

// AsQuantized returns a tensor of the quantized dtype d over the integers of t, with quantizer q.
func (t *Tensor) AsQuantized(op string, d dtype.DType, q *Quantizer) (*Tensor, error) {
	if d.Stored() != t.dtype {
		return nil, status.Runtimef("%s: a tensor of dtype %v stores %v, but got %v", op, d, d.Stored(), t.dtype)
	}
	if err := q.checkFor(op, d, t.sizes); err != nil {
		return nil, err
	}
	a := t.Alias()
	a.dtype = d
	a.SetKeys(t.kind.keys|Quantized, q)
	return a, nil
}

// SetQuantizer returns a quantized tensor another quantizer.
func (t *Tensor) SetQuantizer(op string, q *Quantizer) error {
	if err := q.checkFor(op, t.dtype, t.sizes); err != nil {
		return err
	}
	t.kind.state = q
	return nil
}

// checkFor returns an error for a quantizer that tensors of a dtype and sizes cannot have.
func (q *Quantizer) checkFor(op string, d dtype.DType, sizes []int64) error {
	if err := CheckQuantized(op, d); err != nil {
		return err
	}
	lo, hi := d.StoredRange()
	for i, scale := range q.Scales {
		// Kernels compute in float32: the scale and its reciprocal, which replaces a division, must be finite in it.
		if s := float32(scale); !(s > 0) || math.IsInf(float64(s), 0) || math.IsInf(float64(1/s), 0) {
			return status.Runtimef("%s: a scale must be positive, and it and its reciprocal must be finite in float32, but %s%v", op,
				q.channelPrefix(i), scale)
		}
	}
	for i, zero := range q.Zeros {
		if zero < lo || zero > hi {
			return status.Runtimef("%s: a zero point of %v must be in [%d, %d], but %s%d", op, d, lo, hi, q.channelPrefix(i), zero)
		}
	}
	switch {
	case !q.PerChannel():
	case q.Axis >= len(sizes):
		return status.Runtimef("%s: axis %d of the channels is out of range for a tensor of %d dimensions", op, q.Axis, len(sizes))
	case int64(len(q.Scales)) != sizes[q.Axis] || len(q.Zeros) != len(q.Scales):
		return status.Runtimef("%s: expected one scale and one zero point for each of the %d channels along axis %d, but got %d and %d", op,
			sizes[q.Axis], q.Axis, len(q.Scales), len(q.Zeros))
	}
	return nil
}

// CheckQuantized returns an error for dtypes that quantized tensors do not have.
func CheckQuantized(op string, d dtype.DType) error {
	switch {
	case d == dtype.QUint4x2 || d == dtype.QUint2x4:
		return status.Runtimef("%s: dtype %v, which packs several elements into a byte, is not implemented; use quint8, qint8 or qint32", op, d)
	case !d.IsQuantized():
		return status.Runtimef("%s: expected a quantized dtype, quint8, qint8 or qint32, but got %v", op, d)
	}
	return nil
}

// channelPrefix returns the start of an error about channel i.
func (q *Quantizer) channelPrefix(i int) string {
	if !q.PerChannel() {
		return "got "
	}
	return fmt.Sprintf("channel %d has ", i)
}
