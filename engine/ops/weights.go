package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// IntMm returns the product of two matrices of 8-bit integers in int32.
func IntMm(out, self, mat2 *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("_int_mm")
	defer s.Close(&err)
	if err := checkSameDevice(s.Op, self, mat2); err != nil {
		return nil, err
	}
	a, b := self.Sizes(), mat2.Sizes()
	switch {
	case self.DType() != dtype.Int8 && self.DType() != dtype.Uint8:
		s.Failf("Expected self dtype to be of type int8 or uint8 but got %v", self.DType())
	case mat2.DType() != dtype.Int8:
		s.Failf("Expected mat2 dtype to be of type int8 but got %v", mat2.DType())
	case len(a) != 2:
		s.Failf("self must be a matrix, got %d-D tensor", len(a))
	case len(b) != 2:
		s.Failf("mat2 must be a matrix, got %d-D tensor", len(b))
	case a[1] != b[0]:
		s.Failf("mat1 and mat2 shapes cannot be multiplied (%dx%d and %dx%d)", a[0], a[1], b[0], b[1])
	}
	to := s.newEmpty(self, dtype.Int32, a[0], b[1])
	s.Check(backend.On(to).QuantizedProduct(s.Op, backend.QuantizedProduct{To: to, A: self, B: mat2}))
	return s.writeResult(out, to)
}

// WeightInt8packMm returns the product of self and the transposed int8 weight, whose rows have scales.
func WeightInt8packMm(self, mat2, scales *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("_weight_int8pack_mm")
	defer s.Close(&err)
	s.checkWeightOnly(self, mat2, scales)
	switch {
	case mat2.DType() != dtype.Int8 || mat2.Dim() != 2:
		s.Failf("expect B to be int8 tensor of two dimensions, but got %v of sizes %v", mat2.DType(), mat2.Sizes())
	case mat2.Sizes()[1] != self.Sizes()[1]:
		s.Failf("expect B to have the %d columns of A, but it has sizes %v", self.Sizes()[1], mat2.Sizes())
	case !slices.Equal(scales.Sizes(), mat2.Sizes()[:1]):
		s.Failf("expect scales to be 1d tensor with size %d, but it has sizes %v", mat2.Sizes()[0], scales.Sizes())
	}
	return s.weightLinear(self, mat2, scales, 0)
}

// checkWeightOnly returns an error unless self is a matrix of floats, and its scales have the same dtype.
func (s *scope) checkWeightOnly(self, weight, scales *tensor.Tensor) {
	err := checkSameDevice(s.Op, self, weight, scales)
	switch {
	case err != nil:
		s.Check(err)
	case !self.DType().IsFloatingPoint() || self.DType() == dtype.Float64:
		s.Failf("expect A to be either 32-bit or 16-bit float tensor, but got %v", self.DType())
	case self.Dim() != 2:
		s.Failf("expect A to be 2D tensor, but it has sizes %v", self.Sizes())
	case scales.DType() != self.DType():
		s.Failf("expect scales to have the dtype of A, %v, but got %v", self.DType(), scales.DType())
	}
}

func (s *scope) weightLinear(self, weight, scales *tensor.Tensor, group int64) (*tensor.Tensor, error) {
	w := backend.WeightLinear{A: s.castRowMajor(self, dtype.Float32), Weight: s.castRowMajor(weight, weight.DType()),
		Scales: s.castRowMajor(scales, dtype.Float32), Group: group}
	w.To = s.newEmpty(self, dtype.Float32, self.Sizes()[0], weight.Sizes()[0])
	s.Check(backend.On(w.To).WeightLinear(s.Op, w))
	return s.Return(s.castRowMajor(w.To, self.DType()))
}

// ConvertWeightToInt4packForCpu packs integers from 0 to 15.
func ConvertWeightToInt4packForCpu(self *tensor.Tensor, _ int64) (_ *tensor.Tensor, err error) {
	s := newScope("_convert_weight_to_int4pack_for_cpu")
	defer s.Close(&err)
	switch {
	case self.DType() != dtype.Int32:
		s.Failf("expect weight to be int32, but got %v", self.DType())
	case self.Dim() != 2:
		s.Failf("expect weight to be 2D tensor, but it has sizes %v", self.Sizes())
	case self.Sizes()[0]%16 != 0:
		s.Failf("expect N to be dividable by 16, but it is %d", self.Sizes()[0])
	case self.Sizes()[1]%2 != 0:
		s.Failf("expect K to be dividable by 2, but it is %d", self.Sizes()[1])
	}
	n, k := self.Sizes()[0], self.Sizes()[1]
	to := s.newEmpty(self, dtype.Uint8, n, k/2)
	in := s.castRowMajor(self, dtype.Int32)
	if !backend.Known(self) || self.Numel() == 0 {
		return s.Return(to)
	}
	values, err := backend.Int32s(s.Op, in)
	s.Check(err)
	s.Check(backend.On(to).Write(s.Op, backend.Writing{To: to, Set: func(bytes []byte) { packNibbles(bytes, values, n, k) }}))
	return s.Return(to)
}

// packNibbles packs 32 rows at a time, and the last 16 by themselves (engine/kernel/blocks.h).
func packNibbles(to []byte, values []int32, n, k int64) {
	at := 0
	for first := int64(0); first < n; first += 32 {
		rows, step, next := int64(16), int64(1), int64(16)
		if n-first == 16 {
			rows, step, next = 8, 2, 1
		}
		for p := range k {
			for j := range rows {
				row := first + j*step
				to[at] = byte(values[row*k+p]&15 | values[(row+next)*k+p]<<4)
				at++
			}
		}
	}
}

// WeightInt4packMmForCpu returns the product of self and the transposed weight of 4 bits, with scales and zeros of groups.
func WeightInt4packMmForCpu(self, mat2 *tensor.Tensor, group int64, scales *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("_weight_int4pack_mm_for_cpu")
	defer s.Close(&err)
	s.checkWeightOnly(self, mat2, scales)
	switch {
	case mat2.DType() != dtype.Uint8 || mat2.Dim() != 2:
		s.Failf("expect B to be uint8 tensor of two dimensions, but got %v of sizes %v", mat2.DType(), mat2.Sizes())
	case mat2.Sizes()[0]%16 != 0 || 2*mat2.Sizes()[1] != self.Sizes()[1]:
		s.Failf("expect B to have a multiple of 16 rows and %d columns, half those of A, but it has sizes %v", self.Sizes()[1]/2, mat2.Sizes())
	case !slices.Contains([]int64{32, 64, 128, 256}, group):
		s.Failf("expect qGroupSize to be 32, 64, 128 or 256, got %d", group)
	case self.Sizes()[1]%group != 0:
		s.Failf("expect K to be divisible by qGroupSize, got K:%d, qGroupSize:%d", self.Sizes()[1], group)
	case !slices.Equal(scales.Sizes(), []int64{self.Sizes()[1] / group, mat2.Sizes()[0], 2}):
		s.Failf("expect qScaleAndZeros to be 3d tensor with sizes [%d, %d, 2], but it has sizes %v", self.Sizes()[1]/group, mat2.Sizes()[0],
			scales.Sizes())
	}
	return s.weightLinear(self, mat2, scales, group)
}
