package ops

import (
	"cmp"
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/view"
)

var (
	sortKernel      = kernelapi.Sort
	topkKernel      = kernelapi.Topk
	medianKernel    = kernelapi.Median
	nanmedianKernel = kernelapi.Nanmedian
	kthvalueKernel  = kernelapi.Kthvalue
	modeKernel      = kernelapi.Mode
)

// sortLines runs a sorting kernel on every line of self along dim.
func sortLines(op string, k kernelapi.Kernel, values, indices, self *tensor.Tensor, dim int, keep, entries int64, params [2]int64) error {
	return backend.On(self).Sort(op, backend.Sorting{Kernel: k, In: self, Values: values, Indices: indices, Dim: dim, Keep: keep,
		Entries: entries, Params: params})
}

// Sort sorts the elements along dim and returns their former indices. NaN counts as the largest. The sort is always stable.
func Sort(outValues, outIndices, self *tensor.Tensor, dim int64, descending bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return SortStable(outValues, outIndices, self, True, dim, descending)
}

// SortStable is Sort; all sorts here are stable.
func SortStable(outValues, outIndices, self *tensor.Tensor, _ Bool, dim int64, descending bool) (*tensor.Tensor, *tensor.Tensor, error) {
	const op = "sort"
	at, err := shape.WrapDim(op, dim, self.Dim())
	if err = cmp.Or(requireOrderedTypes(op, self), err); err != nil {
		return nil, nil, err
	}
	// No line is written before it is sorted, so that the values may be where the elements are.
	strides := shape.PreserveStrides(self.Sizes(), self.Strides())
	values := tensoriter.Output{Op: op, Name: "values", Out: outValues, Sizes: self.Sizes(), Strides: strides, DType: self.DType(),
		Device: self.Device(), Exact: true, Sharing: tensoriter.InPlace}
	indices := tensoriter.Output{Op: op, Name: "indices", Out: outIndices, Sizes: self.Sizes(), Strides: strides, DType: dtype.Int64,
		Device: self.Device(), Exact: true}
	if err := tensoriter.OpenBoth(&values, &indices, self); err != nil {
		return tensoriter.DoneBoth(&values, &indices, err)
	}
	_, n, _ := splitAround(self.Sizes(), at)
	// Single bytes are sorted by counting; for other elements, half of the entries share the indices' memory if they are not too large.
	entries := n
	switch self.DType().Size() {
	case 1:
		entries = 0
	case 8:
		entries = 2 * n
	}
	err = backend.On(self).Sort(op, backend.Sorting{Kernel: sortKernel, In: self, Values: values.To, Indices: indices.To, Dim: at, Keep: n,
		Entries: entries,
		Params:  [2]int64{dtype.FromBool[int64](descending), n}, Shared: outIndices != nil})
	return tensoriter.DoneBoth(&values, &indices, err)
}

// Topk returns the k largest or smallest elements along dim, in order if sorted is set, and their indices.
func Topk(outValues, outIndices, self *tensor.Tensor, k, dim int64, largest, sorted bool) (*tensor.Tensor, *tensor.Tensor, error) {
	const op = "topk"
	if err := requireOrderedTypes(op, self); err != nil {
		return nil, nil, err
	}
	if self.DType() == dtype.Bool {
		return nil, nil, status.NotImplementedf("%s: not implemented for dtype bool", op)
	}
	at, err := shape.WrapDim(op, dim, self.Dim())
	if err != nil {
		return nil, nil, err
	}
	_, n, _ := splitAround(self.Sizes(), at)
	if k < 0 || k > n {
		return nil, nil, status.Runtimef("topk: k %d is out of range for dimension %d with size %d", k, at, n)
	}
	sizes := slices.Clone(self.Sizes())
	if len(sizes) > 0 {
		sizes[at] = k
	} else {
		k = 1 // the result has one element
	}
	values, indices, err := openPair(op, valuesIndices, outValues, outIndices, self, sizes, dtype.Int64, tensoriter.InPlace)
	if err != nil {
		return tensoriter.DoneBoth(&values, &indices, err)
	}
	entries, heap := n, k*64 <= n // few enough to keep only them, in a heap
	if heap {
		entries = k
	}
	params := [2]int64{dtype.FromBool[int64](largest) | dtype.FromBool[int64](sorted)<<1 | dtype.FromBool[int64](heap)<<2, k}
	return tensoriter.DoneBoth(&values, &indices, sortLines(op, topkKernel, values.To, indices.To, self, at, k, entries, params))
}

// selectElement selects one element of every line along dim.
func selectElement(op string, k kernelapi.Kernel, outValues, outIndices, self *tensor.Tensor, dim int64, keepdim bool,
	param int64) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	if err := requireOrder(op, self); err != nil && (op != "mode" || self.Numel() > 0) {
		return nil, nil, err
	}
	if self.DType() == dtype.Bool && op != "mode" && !(op == "kthvalue" && self.Dim() == 0) {
		return nil, nil, status.NotImplementedf("%s: not implemented for dtype bool", op)
	}
	at, err := shape.WrapDim(op, dim, self.Dim())
	if err != nil {
		return nil, nil, err
	}
	mask, err := markDim(op, self, Int(dim))
	if err = cmp.Or(err, checkNotEmpty(op, self, mask, false)); err != nil {
		return nil, nil, err
	}
	values, indices, err := openPair(op, valuesIndices, outValues, outIndices, self, reducedSizes(self.Sizes(), mask, keepdim), dtype.Int64,
		tensoriter.Apart)
	if err != nil {
		return tensoriter.DoneBoth(&values, &indices, err)
	}
	s := newScope(op)
	defer s.Close(&err)
	return tensoriter.DoneBoth(&values, &indices, s.Try(func() {
		v, i := s.Track(restoreReducedDims(op, values.To, self, mask)), s.Track(restoreReducedDims(op, indices.To, self, mask))
		_, n, _ := splitAround(self.Sizes(), at)
		s.Check(sortLines(op, k, v, i, self, at, 1, n, [2]int64{param, 1}))
	}))
}

// restoreReducedDims views a reduced tensor with its reduced dimensions restored, of size 1.
func restoreReducedDims(op string, t, self *tensor.Tensor, mask []bool) (*tensor.Tensor, error) {
	if t.Dim() == self.Dim() {
		return t.Alias(), nil
	}
	g := view.Of(t)
	for d, reduced := range mask {
		if reduced {
			g = g.Insert(d)
		}
	}
	return view.As(op, t, g)
}

// MedianDim returns the lower median along dim, or NaN if any element is NaN, and its index.
func MedianDim(outValues, outIndices, self *tensor.Tensor, dim int64, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return selectElement("median", medianKernel, outValues, outIndices, self, dim, keepdim, 0)
}

// NanmedianDim returns the lower median along dim of the elements that are not NaN, and its index.
func NanmedianDim(outValues, outIndices, self *tensor.Tensor, dim int64, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return selectElement("nanmedian", nanmedianKernel, outValues, outIndices, self, dim, keepdim, 0)
}

// Median returns the lower median of all elements.
func Median(self *tensor.Tensor) (*tensor.Tensor, error) {
	return medianOfAll("median", medianKernel, self)
}

// Nanmedian returns the lower median of all elements that are not NaN.
func Nanmedian(self *tensor.Tensor) (*tensor.Tensor, error) {
	return medianOfAll("nanmedian", nanmedianKernel, self)
}

func medianOfAll(op string, k kernelapi.Kernel, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(op)
	defer s.Close(&err)
	if self.Numel() == 0 {
		none := s.newEmpty(self, self.DType())
		value := dtype.FloatScalar(math.NaN())
		if self.DType() == dtype.Int32 {
			value = dtype.IntScalar(math.MinInt32) // as the processor converts it
		}
		s.Check(fillWith(none, value))
		return s.Return(none)
	}
	flat := s.reshapeTo(self, self.Numel())
	values, indices, err := selectElement(op, k, nil, nil, flat, 0, false, 0)
	s.Track(indices, nil)
	return s.Return(s.Track(values, err))
}

// Kthvalue returns the k-th smallest element along dim, counted from 1, and its index. NaN counts as the largest.
func Kthvalue(outValues, outIndices, self *tensor.Tensor, k, dim int64, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	at, err := shape.WrapDim("kthvalue", dim, self.Dim())
	if err != nil {
		return nil, nil, err
	}
	mask, err := markDim("kthvalue", self, Int(dim))
	if err = cmp.Or(err, checkNotEmpty("kthvalue", self, mask, false)); err != nil {
		return nil, nil, err
	}
	if _, n, _ := splitAround(self.Sizes(), at); k < 1 || k > n {
		return nil, nil, status.Runtimef("kthvalue: selected number k %d is out of range for dimension %d with size %d; it counts from 1", k, at,
			n)
	}
	return selectElement("kthvalue", kthvalueKernel, outValues, outIndices, self, dim, keepdim, k-1)
}

// Mode returns the most frequent element along dim, the smallest of several, and the index of one occurrence.
func Mode(outValues, outIndices, self *tensor.Tensor, dim int64, keepdim bool) (*tensor.Tensor, *tensor.Tensor, error) {
	return selectElement("mode", modeKernel, outValues, outIndices, self, dim, keepdim, 0)
}
