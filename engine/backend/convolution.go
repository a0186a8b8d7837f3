package backend

import "github.com/libtensor/libtensor/engine/tensor"

// Convolution computes one of three tensors from the two others: images (N, C, ...), kernels (M, C / Groups, ...) and results (N, M, ...),
// with up to three spatial dimensions. Position i of Results and kernel element t of Kernels refer to element i * Stride + t * Dilation -
// Padding of Images, which is zero outside. Each element of the computed tensor is the sum of the products of the corresponding elements of
// the others, plus, for images and results, the Bias of its channel. The tensors are not empty and have one dtype.
type Convolution struct {
	Images, Kernels, Results  *tensor.Tensor
	Bias                      *tensor.Tensor // or nil
	Making                    Factor
	Stride, Padding, Dilation []int64
	Groups                    int64
}

// Factor is one of the tensors of a convolution.
type Factor uint8

// The factors.
const (
	Results Factor = iota
	Images
	Kernels
)
