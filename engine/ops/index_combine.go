package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	scatterAdd   = kernelapi.ScatterAdd
	scatterMul   = kernelapi.ScatterMul
	uniqueKernel = kernelapi.Unique
)

// longSum is the number of terms from which a float32 sum is computed in float64: at 2^24 ones a float32 sum stops growing.
const longSum = 1 << 23

// combineSource combines source, of self's dtype or of the dtype that its sums are computed in, into the indexed elements of self by k.
func (a *indexed) combineSource(s *scope, k kernelapi.Kernel, self, source *tensor.Tensor) {
	join := a.prepareCombine(s, k, self, source)
	join()
}

// prepareCombine allocates all memory of combineSource and returns a function that does the rest.
func (a *indexed) prepareCombine(s *scope, k kernelapi.Kernel, self, source *tensor.Tensor) (join func()) {
	d := a.sumDType(k, self.DType())
	switch {
	case d == self.DType() || self.Device().Type != device.CPU: // devices accumulate in d, and round once
		return a.prepareCombineIn(s, k, d, self, source)
	case a.isSparse(self):
		return a.prepareCombineRows(s, k, self, source, d)
	}
	return a.prepareCombineCopy(s, k, self, source, d)
}

// prepareCombineIn is prepareCombine in place, computed in dtype d. On the CPU that is the dtype of self and source.
func (a *indexed) prepareCombineIn(s *scope, k kernelapi.Kernel, d dtype.DType, self, source *tensor.Tensor) func() {
	from := s.expandTo(source, a.sizes)
	to := s.Track(self.View(s.Op, a.sizes, a.strides, self.Offset()))
	return func() { a.runKernelIn(s, k, d, [3]*tensor.Tensor{to, a.index, from}) }
}

// sumDType returns the dtype in which k accumulates elements of d: 16-bit floats are summed and multiplied in float32 and rounded once.
func (a *indexed) sumDType(k kernelapi.Kernel, d dtype.DType) dtype.DType {
	switch {
	case k != scatterAdd && k != scatterMul:
		return d
	case d.IsReducedFloat():
		return d.Compute()
	case k == scatterMul || a.countMaxTerms() < longSum:
		return d
	case d == dtype.Float32:
		return dtype.Float64
	case d == dtype.Complex64:
		return dtype.Complex128
	}
	return d
}

// countMaxTerms returns the largest number of source elements that one element of the indexed tensor can receive.
func (a *indexed) countMaxTerms() int64 {
	n := int64(1)
	for i, size := range a.sizes {
		if a.strides[i] == 0 {
			n *= size
		}
	}
	return n
}

// isSparse reports whether a copy of the positions in index is smaller than a copy of self. It requires that no index dimension is also one
// of self, as it is in scatter.
func (a *indexed) isSparse(self *tensor.Tensor) bool {
	named := int64(1)
	for i, size := range a.index.Sizes() {
		switch {
		case a.index.Strides()[i] == 0 || size == 1:
		case a.strides[i] != 0:
			return false
		default:
			named *= size
		}
	}
	return named*2 <= a.size || !shape.IsDense(self.Sizes(), self.Strides())
}

// prepareCombineCopy is prepareCombine in a copy of self in dtype d.
func (a *indexed) prepareCombineCopy(s *scope, k kernelapi.Kernel, self, source *tensor.Tensor, d dtype.DType) func() {
	wide := s.Track(tensor.EmptyStrided(s.Op, self.Sizes(), self.Strides(), d, self.Device()))
	join := a.prepareCombineIn(s, k, d, wide, s.convertTo(source, d))
	return func() {
		s.copyTensor(wide, self)
		join()
		s.copyTensor(self, wide)
	}
}

// prepareCombineRows is prepareCombine in a copy, in dtype d, of those elements of self that index selects.
func (a *indexed) prepareCombineRows(s *scope, k kernelapi.Kernel, self, source *tensor.Tensor, d dtype.DType) func() {
	positions, numbers := a.distinctPositions(s)
	named := &indexed{sizes: []int64{positions.Numel()}, strides: []int64{0}, step: a.step, size: a.size}
	for i := range a.sizes {
		if a.strides[i] != 0 {
			named.sizes, named.strides = append(named.sizes, a.sizes[i]), append(named.strides, a.strides[i])
		}
	}
	named.index = s.viewAlong(positions, named.sizes, 0)
	rows, wide := s.newEmpty(self, self.DType(), named.sizes...), s.newEmpty(self, d, named.sizes...)
	b := &indexed{sizes: a.sizes, strides: make([]int64, len(a.sizes)), step: wide.Strides()[0], size: named.sizes[0], index: numbers}
	for i, d := 0, 1; i < len(a.sizes); i++ {
		if a.strides[i] != 0 {
			b.strides[i] = wide.Strides()[d]
			d++
		}
	}
	in, to := s.viewRaw(self, named.sizes, named.strides), s.viewRaw(rows, rows.Sizes(), rows.Strides())
	join := b.prepareCombineIn(s, k, d, wide, s.convertTo(source, d))
	return func() {
		named.runKernel(s, gatherKernel, [3]*tensor.Tensor{to, in, named.index})
		s.copyTensor(wide, rows)
		join()
		s.copyTensor(rows, wide)
		named.runKernel(s, putKernel, [3]*tensor.Tensor{in, named.index, to})
	}
}

// distinctPositions returns the positions in index, each once, and the number of each element of index among them, expanded as index is.
func (a *indexed) distinctPositions(s *scope) (positions, numbers *tensor.Tensor) {
	sizes := slices.Clone(a.index.Sizes())
	for i, stride := range a.index.Strides() {
		if stride == 0 {
			sizes[i] = 1
		}
	}
	// Index elements of any sign become positions, in memory that no other thread writes to.
	zero := s.expandTo(s.newScalarTensor(dtype.IntScalar(0), dtype.Int64, a.index.Device()), sizes)
	named := s.Track(tensor.Empty(s.Op, sizes, dtype.Int64, a.index.Device()))
	from := s.Track(a.index.View(s.Op, sizes, a.index.Strides(), a.index.Offset()))
	s.Check(backend.On(named).Indexed(s.Op, backend.Indexed{Kernel: locateKernel, Compute: dtype.Int64,
		Operands: [3]*tensor.Tensor{named, zero, from}, Step: 1, Size: a.size, Check: a.check}))
	numbers = s.newEmpty(named, dtype.Int64, sizes...)
	column := s.reshapeTo(named, named.Numel(), 1)
	groups, err := backend.On(named).Unique(s.Op, backend.Distinct{Kernel: uniqueKernel, In: column, Inverse: numbers})
	positions = s.Track(groups.Rows, err)
	s.Track(groups.Counts, nil)
	return s.reshapeTo(positions, positions.Numel()), s.expandTo(numbers, a.sizes)
}

// convertTo returns t in dtype d.
func (s *scope) convertTo(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	return s.Track(convertDType(s.Op, t, d))
}
