package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

type operation struct {
	name string
	run  func(x *tensor.Tensor) (*tensor.Tensor, error)
}

// alongDims returns the operation for the first dimension, the last one, and (if all is set) both together.
func alongDims(name string, all bool, f func(x *tensor.Tensor, dim ...int64) (*tensor.Tensor, error)) []operation {
	ops := []operation{
		{name + " over dim 0", func(x *tensor.Tensor) (*tensor.Tensor, error) { return f(x, 0) }},
		{name + " over dim 1", func(x *tensor.Tensor) (*tensor.Tensor, error) { return f(x, 1) }},
	}
	if all {
		ops = append(ops, operation{name + " of all", func(x *tensor.Tensor) (*tensor.Tensor, error) { return f(x, 0, 1) }})
	}
	return ops
}

// Results are the same bit for bit for any number of threads, where the work is shared out.
func TestResultsDoNotDependOnThreads(t *testing.T) {
	none := dtype.None
	cases := slices.Concat(
		alongDims("sum", true, func(x *tensor.Tensor, dim ...int64) (*tensor.Tensor, error) { return ctx.Sum(nil, x, dim, false, none) }),
		alongDims("sum in float64", true, func(x *tensor.Tensor, dim ...int64) (*tensor.Tensor, error) {
			return ctx.Sum(nil, x, dim, false, dtype.Float64)
		}),
		alongDims("mean", true, func(x *tensor.Tensor, dim ...int64) (*tensor.Tensor, error) { return ctx.Mean(nil, x, dim, true, none) }),
		alongDims("prod", false, func(x *tensor.Tensor, dim ...int64) (*tensor.Tensor, error) {
			return ctx.Prod(nil, x, ops.Int(dim[0]), false, none)
		}),
		alongDims("norm", true, func(x *tensor.Tensor, dim ...int64) (*tensor.Tensor, error) {
			return ctx.Norm(nil, x, dtype.IntScalar(2), dim, false, none)
		}),
		alongDims("var", true, func(x *tensor.Tensor, dim ...int64) (*tensor.Tensor, error) {
			variance, mean, err := ctx.VarMeanDim(x, dim, true, false)
			if err == nil {
				mean.Release()
			}
			return variance, err
		}),
		alongDims("logsumexp", true, func(x *tensor.Tensor, dim ...int64) (*tensor.Tensor, error) { return ctx.Logsumexp(nil, x, dim, false) }),
		alongDims("cumsum", false, func(x *tensor.Tensor, dim ...int64) (*tensor.Tensor, error) { return ctx.Cumsum(nil, x, dim[0], none) }),
		alongDims("logcumsumexp", false, func(x *tensor.Tensor, dim ...int64) (*tensor.Tensor, error) {
			return ctx.Logcumsumexp(nil, x, dim[0])
		}),
		alongDims("softmax", false, func(x *tensor.Tensor, dim ...int64) (*tensor.Tensor, error) { return ctx.Softmax(nil, x, dim[0], none) }),
		alongDims("log_softmax", false, func(x *tensor.Tensor, dim ...int64) (*tensor.Tensor, error) {
			return ctx.LogSoftmax(nil, x, dim[0], none)
		}),
		[]operation{
			{"mm", func(x *tensor.Tensor) (*tensor.Tensor, error) {
				y, err := x.View("test", []int64{x.Sizes()[1], x.Sizes()[0]}, []int64{1, x.Sizes()[1]}, 0)
				if err != nil {
					return nil, err
				}
				defer y.Release()
				return ctx.Mm(nil, x, y)
			}},
			{"mv", func(x *tensor.Tensor) (*tensor.Tensor, error) {
				row, err := x.View("test", x.Sizes()[1:], x.Strides()[1:], 0)
				if err != nil {
					return nil, err
				}
				defer row.Release()
				return ctx.Mv(nil, x, row)
			}},
			{"dot", func(x *tensor.Tensor) (*tensor.Tensor, error) {
				line, err := x.View("test", []int64{x.Numel()}, []int64{1}, 0)
				if err != nil {
					return nil, err
				}
				defer line.Release()
				return ctx.Dot(nil, line, line)
			}},
		})
	defer parallel.SetThreads(parallel.Threads())
	for _, d := range []dtype.DType{dtype.Float16, dtype.BFloat16, dtype.Float32, dtype.Float64} {
		for _, sizes := range [][]int64{{211, 1021}, {3, 100_003}, {50_021, 5}, {16_387, 4}, {701, 100}, {307, 300}} {
			x := ramp(t, d, sizes...)
			for _, c := range cases {
				if c.name == "mm" && sizes[0] > 1000 {
					continue // the product would take gigabytes
				}
				var want []float64
				for threads := 1; threads <= 4; threads++ {
					parallel.SetThreads(threads)
					y, err := c.run(x)
					require.NoError(t, err, c.name)
					got := flat(t, y)
					y.Release()
					if threads == 1 {
						want = got
					}
					assert.True(t, sameBits(want, got), "%s of %v %v with %d threads", c.name, d, sizes, threads)
				}
			}
		}
	}
}

// Reductions over the middle of three dimensions are split over threads along the first one, or, if that is short, along the last.
func TestMiddleReductionsDoNotDependOnThreads(t *testing.T) {
	defer parallel.SetThreads(parallel.Threads())
	for _, d := range []dtype.DType{dtype.Float16, dtype.Float32, dtype.Float64, dtype.Complex64} {
		for _, sizes := range [][]int64{{2, 300, 200}, {5, 200, 100}, {8, 100, 700}, {40, 50, 100}, {700, 20, 9}, {9, 20, 700}} {
			x := ramp(t, d, sizes...)
			var want []float64
			for threads := 1; threads <= 4; threads++ {
				parallel.SetThreads(threads)
				y, err := ctx.Mean(nil, x, []int64{1}, false, dtype.None)
				require.NoError(t, err)
				if got := flat(t, y); threads == 1 {
					want = got
				} else {
					assert.True(t, sameBits(want, got), "mean of %v %v with %d threads", d, sizes, threads)
				}
				y.Release()
			}
		}
	}
}
