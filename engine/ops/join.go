package ops

import (
	"math"
	"math/bits"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// isSkipped reports whether cat skips a tensor: one-dimensional and empty, which fits any shape.
func isSkipped(t *tensor.Tensor) bool { return t.Dim() == 1 && t.Numel() == 0 }

// Cat joins tensors along a dimension; their other sizes are equal.
func Cat(out *tensor.Tensor, tensors []*tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	if len(tensors) == 0 {
		return nil, status.Valuef("cat: expected a non-empty list of Tensors")
	}
	return concatTensors("cat", out, tensors, dim)
}

func concatTensors(op string, out *tensor.Tensor, tensors []*tensor.Tensor, dim int64) (_ *tensor.Tensor, err error) {
	if len(tensors) == 0 {
		return nil, status.Valuef("%s: expected a non-empty list of Tensors", op)
	}
	first, r, err := checkOperandsToJoin(op, tensors)
	if err != nil {
		return nil, err
	}
	sizes, d, err := joinedSizes(op, tensors, first, dim)
	if err != nil {
		return nil, err
	}
	if r.DType() == dtype.Unpromoted {
		return nil, newPromotionError(op, tensors...)
	}
	to := tensoriter.Output{Op: op, Out: out, Sizes: sizes, DType: r.DType(), Device: tensors[0].Device()}
	if err := setJoinedStrides(&to, tensors); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	lines := shape.Product(sizes[:d]) == 1 && haveSameLayout(tensors) && to.Strides == nil
	if out != nil && !lines && !slices.Equal(out.Sizes(), sizes) { // preparations that can fail come before out is resized
		made := s.Track(concatTensors(op, nil, tensors, dim))
		return s.ReturnNew(writeOutput(to, made, tensors))
	}
	if err := to.Open(tensors...); err != nil {
		return to.Done(err)
	}
	if lines && to.To.IsContiguous() && to.To.DType() == tensors[0].DType() {
		return to.Done(backend.On(to.To).Join(op, backend.Joining{To: to.To, From: tensors}))
	}
	return to.Done(s.Try(func() { s.copyAlongDim(to.To, tensors, d) }))
}

// checkOperandsToJoin returns the first tensor that is not skipped, nil if all are, and the promoted dtype, or an error for tensors without
// dimensions and for those on different devices.
func checkOperandsToJoin(op string, tensors []*tensor.Tensor) (first *tensor.Tensor, r dtype.Result, err error) {
	for i, t := range tensors {
		if t.Dim() == 0 {
			return nil, r, status.Runtimef("%s: zero-dimensional tensor (at position %d) cannot be concatenated", op, i)
		}
		if t.Device() != tensors[0].Device() {
			return nil, r, tensoriter.TwoDevices(op, tensors[0].Device(), t.Device())
		}
		if first == nil && !isSkipped(t) {
			first = t
		}
		r.Add(t.DType(), dtype.Dimensioned)
	}
	return first, r, nil
}

// joinedSizes returns the sizes of tensors joined along dim, and dim as a nonnegative index. first is the first tensor that is not skipped.
func joinedSizes(op string, tensors []*tensor.Tensor, first *tensor.Tensor, dim int64) (sizes []int64, d int, err error) {
	if first == nil {
		return []int64{0}, 0, nil
	}
	if d, err = shape.WrapDim(op, dim, first.Dim()); err != nil {
		return nil, 0, err
	}
	sizes = slices.Clone(first.Sizes())
	sizes[d] = 0
	for i, t := range tensors {
		if isSkipped(t) {
			continue
		}
		if err := checkJoinable(op, first, t, d, i); err != nil {
			return nil, 0, err
		}
		if sizes[d], err = shape.Larger(op, sizes[d], 1, t.Sizes()[d]); err != nil {
			return nil, 0, err
		}
	}
	return sizes, d, nil
}

// copyAlongDim copies tensors to adjacent ranges of to along dimension d.
func (s *scope) copyAlongDim(to *tensor.Tensor, tensors []*tensor.Tensor, d int) {
	parts := make([]*tensor.Tensor, len(tensors)) // all of them before the first is written to
	begin := int64(0)
	for i, t := range tensors {
		if !isSkipped(t) {
			parts[i] = s.narrowRange(to, d, begin, t.Sizes()[d])
			begin += t.Sizes()[d]
		}
	}
	for i, t := range tensors {
		if t.Numel() > 0 {
			s.copyTensor(parts[i], t)
		}
	}
}

// haveSameLayout reports whether the tensors are contiguous and share one dtype and device.
func haveSameLayout(tensors []*tensor.Tensor) bool {
	for _, t := range tensors {
		if t.DType() != tensors[0].DType() || t.Device() != tensors[0].Device() || !t.IsContiguous() {
			return false
		}
	}
	return true
}

func checkJoinable(op string, first, t *tensor.Tensor, d, at int) error {
	if t.Dim() != first.Dim() {
		return status.Runtimef("%s: tensors must have same number of dimensions: got %d and %d", op, first.Dim(), t.Dim())
	}
	for i, n := range t.Sizes() {
		if i != d && n != first.Sizes()[i] {
			return status.Runtimef("%s: sizes of tensors must match except in dimension %d. Expected size %d in dimension %d but got size %d for tensor number %d in the list",
				op, d, first.Sizes()[i], i, n, at)
		}
	}
	return nil
}

// setJoinedStrides sets the strides of the result of cat to channels-last order if all tensors are.
func setJoinedStrides(to *tensoriter.Output, tensors []*tensor.Tensor) (err error) {
	f := shape.SuggestFormat(tensors[0].Sizes(), tensors[0].Strides())
	for _, t := range tensors[1:] {
		if f == shape.Contiguous {
			break
		}
		if shape.SuggestFormat(t.Sizes(), t.Strides()) != f {
			f = shape.Contiguous
		}
	}
	if f != shape.Contiguous {
		to.Strides, err = shape.FormatStrides(to.Op, to.Sizes, f)
	}
	return err
}

// Stack joins tensors of one shape along a new dimension.
func Stack(out *tensor.Tensor, tensors []*tensor.Tensor, dim int64) (_ *tensor.Tensor, err error) {
	if len(tensors) == 0 {
		return nil, status.Runtimef("stack: expects a non-empty list of tensors")
	}
	d, err := shape.WrapDim("stack", dim, tensors[0].Dim()+1)
	if err != nil {
		return nil, err
	}
	for i, t := range tensors {
		if !slices.Equal(t.Sizes(), tensors[0].Sizes()) {
			return nil, status.Runtimef("stack: expects each tensor to be equal size, but got %v at entry 0 and %v at entry %d", tensors[0].Sizes(),
				t.Sizes(), i)
		}
	}
	if out == nil && d == 0 && haveSameLayout(tensors) {
		sizes := append([]int64{int64(len(tensors))}, tensors[0].Sizes()...)
		to := tensoriter.Output{Op: "stack", Sizes: sizes, DType: tensors[0].DType(), Device: tensors[0].Device()}
		err := to.Open()
		if err == nil {
			err = backend.On(to.To).Join("stack", backend.Joining{To: to.To, From: tensors})
		}
		return to.Done(err)
	}
	s := newScope("stack")
	defer s.Close(&err)
	views := make([]*tensor.Tensor, len(tensors))
	for i, t := range tensors {
		views[i] = s.Track(Unsqueeze(nil, t, int64(d)))
	}
	return concatTensors(s.Op, out, views, int64(d))
}

// countChoices returns the number of ways to choose r of n, saturated at the largest integer.
func countChoices(n, r int64) int64 {
	if r > n {
		return 0
	}
	count := int64(1)
	for i := int64(1); i <= min(r, n-r); i++ {
		hi, lo := bits.Mul64(uint64(count), uint64(n-i+1))
		if hi >= uint64(i) {
			return math.MaxInt64
		}
		quotient, _ := bits.Div64(hi, lo, uint64(i))
		if quotient > math.MaxInt64 {
			return math.MaxInt64
		}
		count = int64(quotient)
	}
	return count
}

// Combinations lists the combinations of r elements of a vector.
func Combinations(self *tensor.Tensor, r int64, withReplacement bool) (_ *tensor.Tensor, err error) {
	const op = "combinations"
	if self.Dim() != 1 {
		return nil, status.Runtimef("%s: expect a 1D vector, but got shape %v", op, self.Sizes())
	}
	if r < 0 {
		return nil, status.Runtimef("%s: expect a non-negative number, but got %d", op, r)
	}
	if r == 0 {
		return tensor.Empty(op, []int64{0}, self.DType(), self.Device())
	}
	n := self.Numel()
	gap, from := int64(1), n // between adjacent values; there are choices(from, r) rows
	if withReplacement {
		if gap, from = 0, n+r-1; from < 0 {
			from = math.MaxInt64
		}
	}
	if n == 0 {
		from = 0
	}
	s := newScope(op)
	defer s.Close(&err)
	index := s.Track(tensor.Empty(op, []int64{countChoices(from, r), r}, dtype.Int64, self.Device()))
	s.Check(backend.WriteInts(op, index, func(rows []int64) { listCombinations(rows, n, r, gap) }))
	out := s.newEmpty(self, self.DType(), index.Sizes()...)
	place := &indexed{sizes: index.Sizes(), strides: []int64{0, 0}, step: self.Strides()[0], size: n, index: index}
	place.readIndexed(s, out, self)
	return s.Return(out)
}

// listCombinations writes the combinations of r of n indices, with adjacent indices at least gap apart.
func listCombinations(rows []int64, n, r, gap int64) {
	pick := make([]int64, r)
	for i := range pick {
		pick[i] = int64(i) * gap
	}
	for ; len(rows) > 0; rows = rows[r:] {
		copy(rows, pick)
		i := r - 1
		for i >= 0 && pick[i] == n-1-(r-1-i)*gap {
			i--
		}
		if i < 0 {
			break
		}
		pick[i]++
		for j := i + 1; j < r; j++ {
			pick[j] = pick[j-1] + gap
		}
	}
}
