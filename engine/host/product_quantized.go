package host

import (
	"math"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/tensor"
)

// quantizedProduct multiplies matrices of integers that stand for numbers.
func quantizedProduct(op string, w launch.QuantizedProduct) error {
	if w.To.Numel() == 0 {
		return nil
	}
	s := products{owner.Scope{Op: op}}
	defer s.Close()
	a, b := launch.RowMajorCopy(&s.Scope, w.A, dtype.Int32), launch.RowMajorCopy(&s.Scope, w.B, dtype.Int32)
	sums := s.Keep(tensor.Empty(op, w.To.Sizes(), dtype.Int32, device.Host))
	if s.Err != nil {
		return s.Err
	}
	for i, v := range elements[int32](a) {
		elements[int32](a)[i] = v - w.AZero
	}
	n := w.To.Sizes()[1]
	for i, v := range elements[int32](b) {
		elements[int32](b)[i] = v - itemOf(w.BZeros, int64(i)%n)
	}
	s.multiply(sums, nil, a, b, dtype.IntScalar(1), dtype.IntScalar(0))
	var results *tensor.Tensor
	if s.Err == nil {
		results = s.Keep(tensor.Empty(op, w.To.Sizes(), w.To.DType(), device.Host))
	}
	if s.Err != nil {
		return s.Err
	}
	for i, sum := range elements[int32](sums) {
		j := int64(i) % n
		if w.Bias != nil && w.Bias.DType() == dtype.Int32 {
			sum += elements[int32](w.Bias)[j]
		}
		scaled := float32(sum)
		if w.Bias != nil && w.Bias.DType() == dtype.Float32 {
			scaled += elements[float32](w.Bias)[j]
		}
		switch scaled *= itemOf(w.Scales, j); w.To.DType() {
		case dtype.Int32:
			elements[int32](results)[i] = sum
		case dtype.Float32:
			elements[float32](results)[i] = scaled
		case dtype.Uint8:
			elements[uint8](results)[i] = uint8(requantized(w, scaled))
		default:
			elements[int8](results)[i] = int8(requantized(w, scaled))
		}
	}
	s.copy(w.To, results)
	return s.Err
}

// itemOf is the item for column j: of one for all, of one for each, or 0 where there are none.
func itemOf[T int32 | float32](items []T, j int64) T {
	switch len(items) {
	case 0:
		return 0
	case 1:
		return items[0]
	}
	return items[j]
}

// requantized is a number as an integer of the result.
func requantized(w launch.QuantizedProduct, x float32) int32 {
	r := math.RoundToEven(float64(x)) + float64(w.Zero)
	switch {
	case r >= float64(w.High):
		return w.High
	case r > float64(w.Low):
		return int32(r)
	}
	return w.Low
}
