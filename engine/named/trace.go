package named

import (
	"slices"
	"sync"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// strideLabels are strides that identify dimensions: primes between n and 1.5 n, none of them the mean of two others, so that the sum of
// two, the stride of a diagonal, is no multiple of any.
var strideLabels = sync.OnceValue(func() (primes []int64) {
	taken := map[int64]bool{}
	for n := int64(1<<20 + 1); len(primes) < 64; n += 2 {
		if isPrime(n) && !slices.ContainsFunc(primes, func(p int64) bool { return taken[(p+n)/2] }) {
			primes, taken[n] = append(primes, n), true
		}
	}
	return primes
})

func isPrime(n int64) bool {
	for d := int64(2); d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return true
}

// traceDims follows the dimensions of a tensor through a view operator: it calls it on a meta tensor with labels as strides, and
// determines which of them the strides of the results are multiples of.
func traceDims(op string, self *tensor.Tensor, call func(followed *tensor.Tensor) ([]*tensor.Tensor, error)) ([][]string, error) {
	names := Of(self)
	if self.Dim() > len(strideLabels()) {
		return nil, status.NotImplementedf("%s: named tensors support up to %d dimensions, but this one has %d; use rename(None) to drop the names",
			op, len(strideLabels()), self.Dim())
	}
	followed, err := tensor.EmptyStrided(op, self.Sizes(), strideLabels()[:self.Dim()], dtype.Float32,
		device.Device{Type: device.Meta, Index: -1})
	if err != nil {
		return nil, err
	}
	defer followed.Release()
	results, err := call(followed)
	if err != nil {
		return nil, err
	}
	all := make([][]string, len(results))
	for i, t := range results {
		all[i] = make([]string, t.Dim())
		taken := map[int]bool{}
		for k, stride := range t.Strides() {
			if from := findLabel(stride, self.Dim()); from >= 0 && !taken[from] && t.Storage() == followed.Storage() {
				all[i][k], taken[from] = names[from], true
			}
		}
		t.Release()
	}
	return all, nil
}

// findLabel returns the dimension whose label divides a stride, or -1.
func findLabel(stride int64, dims int) int {
	for i := range dims {
		if stride > 0 && stride%strideLabels()[i] == 0 {
			return i
		}
	}
	return -1
}

// setEachNames sets the names of each result.
func setEachNames(names [][]string, err error, results ...*tensor.Tensor) {
	if err != nil {
		return
	}
	for i, t := range results {
		t.SetNames(names[i])
	}
}
