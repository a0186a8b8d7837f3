package cpu

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/tensor"
)

// runConvolution creates one of the tensors of a convolution.
func runConvolution(op string, w backend.Convolution) (err error) {
	c := &convolver{Scope: owner.Scope{Op: op}, Convolution: w, d: w.Images.DType()}
	defer c.Close(&err)
	if _, err := convolutionKernel.For(op, c.d); err != nil {
		return err
	}
	c.unit = c.d.Compute()
	if c.d.IsIntegral() && c.d.Size() < dtype.Int32.Size() {
		c.unit = dtype.Int32
	}
	c.alignChannels()
	c.setAxes()
	switch {
	case c.runPointwise():
	case w.Making == backend.Results:
		c.computeResults()
	case w.Making == backend.Images:
		c.computeImages()
	default:
		c.computeKernels()
	}
	return nil
}

// computeResults computes results from images.
func (c *convolver) computeResults() {
	k := kernel.Convolution{Bias: c.biasOf()}
	for i, a := range c.axes {
		k.Axes[i] = kernel.Axis{Size: a.image, Taps: a.taps, Stride: a.stride, Step: a.dilation, Origin: -a.padding,
			End: a.positions, ImageStep: a.imageStep, PositionStep: a.positionStep}
	}
	c.byBoxes(k, boxWeights{
		inRows: func() *tensor.Tensor { return c.Kernels },
		view: func() *tensor.Tensor {
			s, rows := c.Kernels.Strides(), c.Kernels.Sizes()[0]/c.Groups
			return c.viewKernels([]int64{rows * s[0], s[0], s[1]}, rows, c.Kernels.Sizes()[1], k.Axes, [3]phase{{each: 1}, {each: 1}, {each: 1}})
		},
	}, c.Results, c.Images, at(c.Results, 0))
}

// computeImages computes the images from the results (a transposed convolution). The elements at a distance of one stride are themselves
// the results of a convolution.
func (c *convolver) computeImages() {
	if c.imagesByColumns() {
		return
	}
	k := kernel.Convolution{Bias: c.biasOf()}
	var lists [3][]phase
	met := true
	for i, a := range c.axes {
		lists[i] = a.listPhases()
		met = met && int64(len(lists[i])) == min(a.stride, a.image)
	}
	if !met {
		c.fillImages()
	}
	for _, z := range lists[0] {
		for _, y := range lists[1] {
			for _, x := range lists[2] {
				phases, to := [3]phase{z, y, x}, int64(0)
				for i, p := range phases {
					k.Axes[i] = p.axis
					to += p.start * c.axes[i].imageStep
				}
				c.byBoxes(k, boxWeights{
					inRows: func() *tensor.Tensor { return c.transposeKernels(phases) },
					view: func() *tensor.Tensor {
						s, channels := c.Kernels.Strides(), c.Kernels.Sizes()[0]/c.Groups
						return c.viewKernels([]int64{channels * s[0], s[1], s[0]}, c.Kernels.Sizes()[1], channels, k.Axes, phases)
					},
				}, c.Images, c.Results, at(c.Images, to))
			}
		}
	}
}

// fillImages fills images with the value of elements that no kernel element reaches: the bias, or zero.
func (c *convolver) fillImages() {
	if c.Bias == nil {
		c.Check(fillTensor(c.Op, backend.Filling{To: c.Images, Value: dtype.IntScalar(0)}))
		return
	}
	strides := make([]int64, c.Images.Dim())
	strides[1] = c.Bias.Strides()[0]
	bias := c.Track(c.Bias.View(c.Op, c.Images.Sizes(), strides, c.Bias.Offset()))
	c.Check(copyTo(c.Op, backend.Copying{To: c.Images, From: bias}))
}
