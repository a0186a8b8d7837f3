package launch

import "github.com/libtensor/libtensor/engine/tensor"

// Convolution makes one of three tensors of the other two, in which it is linear: images (N, C, ...), kernels (M, C / Groups, ...) and results
// (N, M, ...), which have up to three dimensions more. Position i of Results and tap t of Kernels meet element
// i * Stride + t * Dilation - Padding of Images, which are zero outside; each element of what is made is the sum of the products of the others'
// where the three meet, plus, for images and results, the Bias of its channel. The tensors have one dtype, and elements.
type Convolution struct {
	Images, Kernels, Results  *tensor.Tensor
	Bias                      *tensor.Tensor // nil where there is none
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
