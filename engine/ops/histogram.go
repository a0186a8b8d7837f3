package ops

import (
	"cmp"
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// Bincount counts how often each integer from 0 on occurs in a vector, or adds up the weights of its occurrences.
func Bincount(self, weights *tensor.Tensor, minlength int64) (_ *tensor.Tensor, err error) {
	const op = "bincount"
	if err := checkSameDevice(op, self, weights); err != nil {
		return nil, err
	}
	d := self.DType()
	switch {
	case !d.IsIntegral() || d == dtype.Bool:
		return nil, status.NotImplementedf("%s: not implemented for dtype %v; convert to an integer dtype", op, d)
	case minlength < 0:
		return nil, status.Runtimef("%s: minlength should be >= 0, got %d", op, minlength)
	case self.Dim() != 1:
		return nil, status.Runtimef("%s: only supports 1-d non-negative integral inputs, got shape %v", op, self.Sizes())
	case weights != nil && !slices.Equal(weights.Sizes(), self.Sizes()):
		return nil, status.Runtimef("%s: weights should be 1-d and have the same length as input, got shapes %v and %v", op, weights.Sizes(),
			self.Sizes())
	}
	if self.Numel() == 0 {
		return tensor.Zeros(op, []int64{minlength}, dtype.Int64, self.Device())
	}
	s := newScope(op)
	defer s.Close(&err)
	in := s.castRowMajor(self, d)
	least, most := s.minMax(in)
	if least.Float() < 0 {
		return nil, status.Runtimef("%s: only supports 1-d non-negative integral inputs, got the element %v", op, least)
	}
	top := most.I
	if most.Kind == dtype.KindUint || top == math.MaxInt64 {
		return nil, status.Runtimef("%s: the element %v requires more bins than can be allocated", op, most)
	}
	result, compute := dtype.Int64, dtype.Int64
	if weights != nil {
		result, compute = dtype.Float64, dtype.Float64
		if weights.DType() == dtype.Float32 {
			result = dtype.Float32
		}
	}
	counts := s.Track(tensor.Zeros(op, []int64{max(top+1, minlength)}, compute, self.Device()))
	if weights != nil {
		weights = s.castRowMajor(weights, compute)
	}
	s.Check(backend.On(in).Count(op, backend.Counting{To: counts, In: in, Weights: weights}))
	return s.Return(s.castRowMajor(counts, result))
}

// Histc counts the elements in equal bins from low to high, or from the smallest to the largest where both are 0.
func Histc(out, self *tensor.Tensor, bins int64, low, high dtype.Scalar) (_ *tensor.Tensor, err error) {
	const op = "histc"
	d := self.DType()
	if !d.IsFloatingPoint() {
		return nil, status.NotImplementedf("%s: not implemented for dtype %v; convert to a floating-point dtype", op, d)
	}
	if err := tensoriter.SameDType(op, out, d); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	if bins <= 0 {
		return nil, status.Runtimef("%s: bins must be > 0, but got %d", op, bins)
	}
	from, to := low.Float(), high.Float()
	if from > to {
		return nil, status.Runtimef("%s: max must be larger than min, got min %v and max %v", op, low, high)
	}
	values := s.reshapeTo(self, self.Numel(), 1)
	ranges := []float64{from, to}
	if from == to && self.Numel() > 0 {
		ranges = nil
	}
	edges := s.equalEdges(values, []int64{bins}, ranges, d)
	hist := s.countPoints(values, edges, nil, false, backend.ByDivision)
	return s.writeResult(out, s.castRowMajor(hist, d))
}

// Histogram counts the elements, or adds up their weights, in equal bins of a range, or of the elements' range.
func Histogram(outHist, outEdges, self *tensor.Tensor, bins int64, ranges []float64, weight *tensor.Tensor,
	density bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return histogramOfAll(outHist, outEdges, self, weight, density, backend.ByDivisionAndSearch,
		func(s *scope, values *tensor.Tensor) []*tensor.Tensor {
			return s.equalEdges(values, []int64{bins}, ranges, self.DType())
		})
}

// HistogramEdges is Histogram with the edges of the bins given.
func HistogramEdges(outHist, outEdges, self, bins, weight *tensor.Tensor, density bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return histogramOfAll(outHist, outEdges, self, weight, density, backend.BySearch, func(s *scope, values *tensor.Tensor) []*tensor.Tensor {
		return s.checkEdges(values, []*tensor.Tensor{bins})
	})
}

func histogramOfAll(outHist, outEdges, self, weight *tensor.Tensor, density bool, how backend.Bin,
	edges func(*scope, *tensor.Tensor) []*tensor.Tensor) (hist, binEdges *tensor.Tensor, err error) {
	s := newScope("histogram")
	defer s.Close(&err)
	if err := checkHistogram(s.Op, self, weight, self.Sizes()); err != nil {
		return nil, nil, err
	}
	values := s.reshapeTo(self, self.Numel(), 1)
	if weight != nil {
		weight = s.reshapeTo(weight, weight.Numel())
	}
	at := edges(s, values)
	counts := s.countPoints(values, at, weight, density, how)
	toHist, toEdges := newOutput(s.Op, outHist, counts), newOutput(s.Op, outEdges, at[0])
	toHist.Name, toEdges.Name = "hist", "bin_edges"
	toHist.Sharing, toEdges.Sharing = tensoriter.Beside, tensoriter.Beside
	err = tensoriter.OpenBoth(&toHist, &toEdges)
	if err == nil {
		err = cmp.Or(toHist.CopyFrom(counts), toEdges.CopyFrom(at[0]))
	}
	return tensoriter.DoneBoth(&toHist, &toEdges, err)
}

// Histogramdd counts the points in the last dimension of self in a grid of bins[d] equal bins in each dimension d. Returns the counts and
// the edges of every dimension.
func Histogramdd(self *tensor.Tensor, bins []int64, ranges []float64, weight *tensor.Tensor, density bool) ([]*tensor.Tensor, error) {
	return histogramOfPoints(self, weight, density, len(bins), backend.ByDivisionAndSearch,
		func(s *scope, values *tensor.Tensor) []*tensor.Tensor {
			return s.equalEdges(values, bins, ranges, self.DType())
		})
}

// HistogramddEdges is Histogramdd with the edges of the bins given.
func HistogramddEdges(self *tensor.Tensor, bins []*tensor.Tensor, _ []float64, weight *tensor.Tensor,
	density bool) ([]*tensor.Tensor, error) {
	return histogramOfPoints(self, weight, density, len(bins), backend.BySearch, func(s *scope, values *tensor.Tensor) []*tensor.Tensor {
		return s.checkEdges(values, bins)
	})
}

func histogramOfPoints(self, weight *tensor.Tensor, density bool, bins int, how backend.Bin,
	edges func(*scope, *tensor.Tensor) []*tensor.Tensor) (_ []*tensor.Tensor, err error) {
	s := newScope("histogramdd")
	defer s.Close(&err)
	if self.Dim() < 2 {
		return nil, status.Runtimef("%s: input tensor should have at least 2 dimensions, got shape %v", s.Op, self.Sizes())
	}
	dims := self.Sizes()[self.Dim()-1]
	if int64(bins) != dims {
		return nil, status.Runtimef("%s: the size of bins, %d, must be equal to the innermost dimension of the input, %d", s.Op, bins, dims)
	}
	if err := checkHistogram(s.Op, self, weight, self.Sizes()[:self.Dim()-1]); err != nil {
		return nil, err
	}
	values := s.reshapeTo(self, self.Numel()/max(dims, 1), dims)
	if weight != nil {
		weight = s.reshapeTo(weight, weight.Numel())
	}
	at := edges(s, values)
	hist := s.countPoints(values, at, weight, density, how)
	results := []*tensor.Tensor{hist.Alias()}
	for _, e := range at {
		results = append(results, e.Alias())
	}
	return results, nil
}

func checkHistogram(op string, self, weight *tensor.Tensor, points []int64) error {
	switch d := self.DType(); {
	case d != dtype.Float32 && d != dtype.Float64:
		return status.NotImplementedf("%s: not implemented for dtype %v; convert to float32 or float64", op, d)
	case weight != nil && weight.DType() != d:
		return status.Runtimef("%s: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got input %v and weight %v",
			op, d, weight.DType())
	case weight != nil && !slices.Equal(weight.Sizes(), points):
		return status.Runtimef("%s: if weight tensor is provided it should have the same shape as the points of the input, %v, but got shape %v",
			op, points, weight.Sizes())
	}
	return checkSameDevice(op, self, weight)
}

// equalEdges makes the edges of equal bins in every dimension of values (points x dimensions), from and to each dimension's two
// values in ranges, or its smallest and largest element in their absence. Where these two agree, the range is 1 wide.
func (s *scope) equalEdges(values *tensor.Tensor, bins []int64, ranges []float64, d dtype.DType) []*tensor.Tensor {
	edges := make([]*tensor.Tensor, len(bins))
	if ranges != nil && len(ranges) != 2*len(bins) {
		s.Check(status.Runtimef("%s: for a %d-dimensional histogram range should have %d elements, but got %d", s.Op, len(bins), 2*len(bins),
			len(ranges)))
	}
	for i, n := range bins {
		if n <= 0 {
			s.Check(status.Runtimef("%s: bins must be > 0, but got %d for dimension %d", s.Op, n, i))
		}
		from, to := 0.0, 1.0
		switch {
		case ranges != nil:
			from, to = ranges[2*i], ranges[2*i+1]
		case values.Numel() > 0 && backend.Known(values):
			least, most := s.minMax(s.selectPosition(values, 1, int64(i)))
			from, to = least.Float(), most.Float()
		}
		if math.IsNaN(from-from) || math.IsNaN(to-to) {
			s.Check(status.Runtimef("%s: dimension %d's range [%v, %v] is not finite", s.Op, i, from, to))
		}
		if from > to {
			s.Check(status.Runtimef("%s: min should not exceed max, but got min %v max %v for dimension %d", s.Op, from, to, i))
		}
		if from == to {
			wide := 0.5
			if s.Op == "histc" {
				wide = 1
			}
			from, to = from-wide, to+wide
		}
		edges[i] = s.Track(Linspace(nil, dtype.FloatScalar(from), dtype.FloatScalar(to), n+1, d, tensor.Strided, values.Device()))
	}
	return edges
}

// minMax returns the smallest and the largest element of t.
func (s *scope) minMax(t *tensor.Tensor) (from, to dtype.Scalar) {
	least, most, err := Aminmax(nil, nil, t, NoInt, false)
	least, most = s.Track(least, err), s.Track(most, nil)
	return s.readItem(least), s.readItem(most)
}

// checkEdges checks edges and makes them contiguous.
func (s *scope) checkEdges(values *tensor.Tensor, bins []*tensor.Tensor) []*tensor.Tensor {
	edges := make([]*tensor.Tensor, len(bins))
	for i, b := range bins {
		switch {
		case b.DType() != values.DType():
			s.Check(status.Runtimef("%s: input tensor and bins tensors should have the same dtype, but got input %v and bins for dimension %d %v",
				s.Op, values.DType(), i, b.DType()))
		case b.Dim() != 1 || b.Numel() < 2:
			s.Check(status.Runtimef("%s: bins tensor should have one dimension with at least 2 edges, but got shape %v for dimension %d", s.Op,
				b.Sizes(), i))
		default:
			s.Check(checkSameDevice(s.Op, values, b))
		}
		edges[i] = s.copyContiguous(b, b.DType())
	}
	return edges
}

// countPoints counts the points of values (points x dimensions) in the grid of edges, in the dtype of the edges.
func (s *scope) countPoints(values *tensor.Tensor, edges []*tensor.Tensor, weight *tensor.Tensor, density bool,
	how backend.Bin) *tensor.Tensor {
	d := values.DType()
	bins := make([]int64, len(edges))
	for i, e := range edges {
		bins[i] = e.Numel() - 1
	}
	sums := s.Track(tensor.Zeros(s.Op, bins, dtype.Float64, values.Device()))
	in := s.castRowMajor(values, d)
	if weight != nil {
		weight = s.castRowMajor(weight, d)
	}
	s.Check(backend.On(in).Histogram(s.Op, backend.Histogram{To: sums, In: in, Weights: weight, Edges: edges, Bin: how}))
	hist := s.castRowMajor(sums, d)
	if density {
		total := s.Track(Sum(nil, hist, nil, false, dtype.None))
		hist = s.Track(TrueDivide(nil, hist, total))
		for i, e := range edges {
			widths := s.Track(subtractTensors(nil, s.narrowRange(e, 0, 1, bins[i]), s.narrowRange(e, 0, 0, bins[i])))
			along := slices.Repeat([]int64{1}, len(bins))
			along[i] = bins[i]
			hist = s.Track(TrueDivide(nil, hist, s.reshapeTo(widths, along...)))
		}
	}
	return hist
}
