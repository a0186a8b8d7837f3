package launch

import (
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Pooling runs a kernel on Images (N, C, ...) and Results (N, C, ...), which belong to windows of them in up to three dimensions: tap t
// of window i is element i * Stride + t * Dilation - Padding, where the image has it. Without Taps there are as many windows as results
// that are about as long as each other and cover all. The kernel max_pool writes Results and, where not nil, the places of the elements
// in their images to Indices, -1 where a window meets nothing, and max_pool_gradient writes Images: zeros to which Results are added at
// Indices; fractional_pool is max_pool of windows that begin where Samples say; average_pool writes Results, and average_pool_gradient Images. The kernels columns and
// from_columns, which writes Images, have all taps of a channel as channels of Results, one after the other, row-major. All have elements, and are row-major, or all in a channels-last
// format.
type Pooling struct {
	Kernel                          *kernel.Kernel
	Images, Results, Indices        *tensor.Tensor
	Samples                         *tensor.Tensor // (N, C, D), contiguous, from 0 to 1
	Taps, Stride, Padding, Dilation []int64
	Divisor                         int64 // of sums, where not 0, in place of the number of elements
	Padded                          bool  // padding counts among the elements
}
