package ops

import (
	"cmp"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// Searchsorted returns the position in sorted (along its last dimension) before which each element of self could be inserted; after equal
// elements where right is set.
func Searchsorted(out, sorted, self *tensor.Tensor, outInt32, right bool, side string, sorter *tensor.Tensor) (*tensor.Tensor, error) {
	const op = "searchsorted"
	if side != "" && side != "left" && side != "right" {
		return nil, status.Runtimef("%s: side can only be 'left' or 'right' but got %q", op, side)
	}
	if side == "left" && right {
		return nil, status.Runtimef("%s: side and right can't be set to opposites, got side of left while right was True", op)
	}
	if sorted.Dim() == 0 {
		return nil, status.Runtimef("%s: the sorted sequence must have at least 1 dimension", op)
	}
	if sorted.Dim() > 1 && (self.Dim() != sorted.Dim() || !slices.Equal(self.Sizes()[:self.Dim()-1], sorted.Sizes()[:sorted.Dim()-1])) {
		return nil, status.Runtimef("%s: the sorted sequence must be 1-D or agree with the input in all dimensions but the last, got %v and %v",
			op, sorted.Sizes(), self.Sizes())
	}
	if sorter != nil {
		if !slices.Equal(sorter.Sizes(), sorted.Sizes()) {
			return nil, status.Runtimef("%s: sorter must have the shape of the sorted sequence, got %v and %v", op, sorter.Sizes(), sorted.Sizes())
		}
		if sorter.DType() != dtype.Int64 {
			return nil, status.Runtimef("%s: sorter must be a tensor of int64, got %v", op, sorter.DType())
		}
	}
	return searchSorted(op, out, sorted, self, outInt32, right || side == "right", sorter)
}

// Bucketize is Searchsorted in one sequence of boundaries.
func Bucketize(out, self, boundaries *tensor.Tensor, outInt32, right bool) (*tensor.Tensor, error) {
	if boundaries.Dim() != 1 {
		return nil, status.Runtimef("bucketize: boundaries tensor must be 1 dimension, but got dim(%d)", boundaries.Dim())
	}
	return searchSorted("bucketize", out, boundaries, self, outInt32, right, nil)
}

func searchSorted(op string, out, sorted, self *tensor.Tensor, outInt32, right bool, sorter *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if err := cmp.Or(requireOrder(op, self), requireOrder(op, sorted)); err != nil {
		return nil, err
	}
	d := dtype.Int64
	if outInt32 {
		d = dtype.Int32
	}
	if err := tensoriter.SameDType(op, out, d); err != nil {
		return nil, err
	}
	// Everything is found before out, which may be any of the inputs, is touched.
	s := newScope(op)
	defer s.Close(&err)
	found := s.findPositions(sorted, self, right, sorter)
	return s.writeResult(out, s.castRowMajor(found, d))
}

// findPositions returns the positions of self's elements.
func (s *scope) findPositions(sorted, self *tensor.Tensor, right bool, sorter *tensor.Tensor) (found *tensor.Tensor) {
	compute, across := comparisonDType(sorted, self)
	if across { // elements of self outside of the range of sorted are inserted at its ends
		compute = dtype.Int64
		if sorted.DType() == dtype.Uint64 {
			compute = dtype.Uint64
		}
	}
	s.moveToOneDevice(&self, &sorted)
	s.Check(checkSameDevice(s.Op, self, sorter))
	if found = s.newEmpty(self, dtype.Int64, self.Sizes()...); found.Numel() == 0 {
		return found
	}
	keys, values := s.castRowMajor(sorted, compute), s.castRowMajor(self, compute)
	n := sorted.Sizes()[sorted.Dim()-1]
	var order *tensor.Tensor
	if sorter != nil {
		// A copy, which no other thread changes once it is checked.
		order = s.copyContiguous(sorter, dtype.Int64)
		s.Check(backend.On(order).CheckBounds(s.Op, backend.Bounds{Index: order, Size: n, OutOfRange: outOfDim{s.Op, sorter.Dim() - 1, n}}))
	}
	s.Check(backend.On(found).Search(s.Op, backend.Searching{Found: found, Keys: keys, Values: values, Order: order, Right: right}))
	if across {
		end := s.Number(dtype.IntScalar(0))
		if compute.IsSigned() {
			end = s.Number(dtype.IntScalar(n))
		}
		beyond := s.maskNegative(s.castRowMajor(self, dtype.Int64))
		return s.Track(Where(nil, beyond, end, found))
	}
	return found
}
