package backend

import "github.com/libtensor/libtensor/engine/tensor"

// Resampling computes To from From: images (N, C, ...) with up to three spatial dimensions, not empty, both contiguous or in a
// channels-last format. With Transposed it computes the gradient: From is the gradient of the images that Filter computes from images
// shaped as To.
type Resampling struct {
	To, From                            *tensor.Tensor
	Filter                              string    // nearest, nearest-exact, linear, cubic, lanczos
	Scales                              []float64 // if not empty, the scale factors, in place of the ratios of the sizes
	AlignCorners, Antialias, Transposed bool
}
