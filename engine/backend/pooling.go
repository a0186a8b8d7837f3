package backend

import (
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Pooling runs a kernel on Images (N, C, ...) and Results (N, C, ...), for windows in up to three dimensions: element t of window i is
// image element i * Stride + t * Dilation - Padding, if it is inside. Without kernel sizes, there is one window for each result; the
// windows have about the same size and cover all of the image. max_pool writes Results and, if not nil, the positions of the elements in
// their images to Indices, -1 for an empty window. max_pool_gradient writes Images: zeros to which Results are added at Indices.
// fractional_pool is max_pool with windows that begin at Samples. average_pool writes Results, and average_pool_gradient Images. columns
// and from_columns, which writes Images, store the window elements of a channel as adjacent channels of Results, row-major. The tensors are
// not empty, and are all contiguous or all in a channels-last format.
type Pooling struct {
	Kernel                          kernelapi.Kernel
	Images, Results, Indices        *tensor.Tensor
	Samples                         *tensor.Tensor // (N, C, D), contiguous, from 0 to 1
	Taps, Stride, Padding, Dilation []int64
	Divisor                         int64 // of sums, where not 0, in place of the number of elements
	Padded                          bool  // padding counts among the elements
}
