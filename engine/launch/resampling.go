package launch

import "github.com/libtensor/libtensor/engine/tensor"

// Resampling makes To of From: images (N, C, ...) with up to three dimensions, all of which have elements, both row-major or in a
// channels-last format. With Transposed From has what belongs to elements that Filter makes of images as To is.
type Resampling struct {
	To, From                            *tensor.Tensor
	Filter                              string    // nearest, nearest-exact, linear, cubic, lanczos
	Scales                              []float64 // how many elements are made of one, in place of what the sizes tell, where there are any
	AlignCorners, Antialias, Transposed bool
}
