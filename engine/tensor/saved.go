package tensor

import "slices"

// Saved is the geometry of a tensor that an operator writes, with the size of its storage.
type Saved struct {
	t                *Tensor
	sizes, strides   []int64
	offset           int64
	nbytes, capacity int64
	number           bool
	inline           [2 * inlineDims]int64
}

// Save keeps t's geometry in s.
func (s *Saved) Save(t *Tensor) {
	s.t, s.offset, s.number = t, t.offset, t.kind.wrapped
	s.nbytes, s.capacity = t.storage.Nbytes(), t.storage.Capacity()
	s.sizes = append(s.inline[:0:inlineDims], t.sizes...)
	s.strides = append(s.inline[inlineDims:inlineDims], t.strides...)
}

// Restore returns the tensor its geometry back, and its storage its size. The operator has neither given it another storage nor another
// dtype.
func (s *Saved) Restore() {
	t := s.t
	if !slices.Equal(t.sizes, s.sizes) || !slices.Equal(t.strides, s.strides) || t.offset != s.offset {
		_ = t.SetGeometry("restore", s.sizes, s.strides, s.offset)
		t.kind.wrapped = s.number
	}
	t.storage.Revert(s.nbytes, s.capacity)
}
