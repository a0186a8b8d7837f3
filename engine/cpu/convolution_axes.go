package cpu

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

var convolutionTurnKernel = kernel.Of(kernelapi.ConvolutionTurn)

// convolutionGrain is the number of multiplications below which work is not split, and roomBytes the scratch of a thread.
const convolutionGrain, roomBytes = 1 << 18, 1 << 20

// convolver computes a convolution in three dimensions. Unused dimensions come first and have a single element, kernel element and
// position.
type convolver struct {
	owner.Scope
	backend.Convolution
	d, unit dtype.DType // of the tensors, and of the factors of products
	axes    [3]axis
	taps    int64
	apart   int64 // examples that are convolved by themselves
}

// axis is a dimension: its sizes and steps in memory of images, kernels and results.
type axis struct {
	image, taps, positions           int64
	imageStep, tapStep, positionStep int64
	stride, padding, dilation        int64
}

// alignChannels copies the results from which a depthwise convolution's images or kernels are made to the channels-last format of the
// images, in which the kernels for adjacent channels read them.
func (c *convolver) alignChannels() {
	if c.Making == backend.Results || c.Groups == 1 || c.Images.Sizes()[1] != c.Groups || c.Kernels.Sizes()[0] != c.Groups ||
		c.Images.Strides()[1] != 1 || c.Results.Strides()[1] == 1 || c.unit != c.d || !c.d.IsFloatingPoint() {
		return
	}
	sizes := c.Results.Sizes()
	strides, step := make([]int64, len(sizes)), sizes[1]
	strides[1] = 1
	for d := len(sizes) - 1; d >= 0; d-- {
		if d != 1 {
			strides[d], step = step, step*sizes[d]
		}
	}
	from := c.Results
	c.Results = c.Track(tensor.EmptyStrided(c.Op, sizes, strides, c.d, device.Host))
	c.Check(copyTo(c.Op, backend.Copying{To: c.Results, From: from}))
}

// setAxes sets the axes. Axes of a single element come first, and the batch replaces the first of them.
func (c *convolver) setAxes() {
	var axes []axis
	for i := range c.Stride {
		d := i + 2
		axes = append(axes, axis{
			image: c.Images.Sizes()[d], taps: c.Kernels.Sizes()[d], positions: c.Results.Sizes()[d],
			imageStep: c.Images.Strides()[d], tapStep: c.Kernels.Strides()[d], positionStep: c.Results.Strides()[d],
			stride: c.Stride[i], padding: c.Padding[i], dilation: c.Dilation[i],
		})
	}
	for len(axes) < len(c.axes) {
		axes = append(axes, axis{image: 1, taps: 1, positions: 1, stride: 1, dilation: 1})
	}
	slices.SortStableFunc(axes, func(a, b axis) int { return a.sortRank() - b.sortRank() })
	c.taps = 1
	for i, a := range axes {
		c.axes[i] = a
		c.taps *= a.taps
	}
	c.apart = c.Images.Sizes()[0]
	if a := &c.axes[0]; a.sortRank() == 0 {
		a.image, a.positions, a.imageStep, a.positionStep = c.apart, c.apart, c.Images.Strides()[0], c.Results.Strides()[0]
		a.stride, a.dilation, c.apart = 1, 1, 1
	}
}

// sortRank returns 0 for an axis with a single element and kernel element, and 1 for others.
func (a axis) sortRank() int {
	if a.image == 1 && a.taps == 1 && a.positions == 1 && a.padding == 0 {
		return 0
	}
	return 1
}

// transposeKernels returns the kernel elements of some phases in the dtype of products, with a row for each channel of images.
func (c *convolver) transposeKernels(phases [3]phase) *tensor.Tensor {
	size, strides := c.Kernels.Sizes(), c.Kernels.Strides()
	m, n := size[0]/c.Groups, size[1]
	t := kernel.ConvolutionTurn{Channels: m, RowStep: strides[1], ChannelStep: strides[0]}
	from, taps := int64(0), int64(1)
	for i, p := range phases {
		t.Taps[i], t.TapSteps[i] = p.axis.Taps, c.axes[i].tapStep*p.each
		from += p.first * c.axes[i].tapStep
		taps *= p.axis.Taps
	}
	made := c.Track(tensor.Empty(c.Op, []int64{c.Groups * n * m * taps}, c.unit, device.Host))
	run := convolutionTurnKernel.Row(c.d)
	parallel.ForInterruptible(c.Groups*n, max(Grain/(m*taps), 1), func(begin, end int64) {
		for begin < end {
			part, group, row := t, begin/n, begin%n
			part.Rows = min(n-row, end-begin)
			part.From = at(c.Kernels, from+group*m*strides[0]+row*strides[1])
			part.To = at(made, begin*m*taps)
			kernel.Call(run, unsafe.Pointer(&part))
			begin += part.Rows
		}
	})
	return made
}

// viewKernels returns a view of the kernel elements of some phases, (groups, rows, kernel elements along each axis, channels), with the
// given strides of groups, rows and channels.
func (c *convolver) viewKernels(strides []int64, rows, channels int64, axes [3]kernel.Axis, phases [3]phase) *tensor.Tensor {
	sizes, steps, from := []int64{c.Groups, rows}, strides[:2:2], c.Kernels.Offset()
	for i, p := range phases {
		sizes, steps = append(sizes, axes[i].Taps), append(steps, c.axes[i].tapStep*p.each)
		from += p.first * c.axes[i].tapStep
	}
	return c.Track(c.Kernels.View(c.Op, append(sizes, channels), append(steps, strides[2]), from))
}

// biasOf returns the bias in the dtype of sums, and its address.
func (c *convolver) biasOf() uintptr {
	if c.Bias == nil {
		return 0
	}
	bias := backend.RowMajor(&c.Scope, c.Bias, c.unit)
	return at(bias, 0)
}

// phase is the set of elements along an axis at a distance of one stride: start is its first element, first the first kernel element that
// reaches it, and each the step to the next such kernel element.
type phase struct {
	start, first, each int64
	axis               kernel.Axis
}

// listPhases returns the phases with kernel elements.
func (a axis) listPhases() (list []phase) {
	common := gcd(a.stride, a.dilation)
	each := a.stride / common
	for t := range min(each, a.taps) {
		// Kernel element t and image element e contribute to position (e + padding - t * dilation) / stride.
		start := floorMod(t*a.dilation-a.padding, a.stride)
		if start >= a.image {
			continue
		}
		list = append(list, phase{start: start, first: t, each: each, axis: kernel.Axis{
			Size: a.positions, Taps: (a.taps - t + each - 1) / each, Stride: 1, Step: -a.dilation / common,
			Origin: (start + a.padding - t*a.dilation) / a.stride,
			End:    (a.image - start + a.stride - 1) / a.stride, ImageStep: a.positionStep, PositionStep: a.imageStep * a.stride,
		}})
	}
	return list
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// floorMod returns the remainder that is not negative.
func floorMod(a, n int64) int64 { return (a%n + n) % n }

// ceilDiv is n divided by size, rounded up.
func ceilDiv(n, size int64) int64 { return (n + size - 1) / max(size, 1) }

// halveBox halves a box along the first axis on which that leaves enough adjacent positions.
func halveBox(box *[3]int64) bool {
	const least = 64
	for i, n := range box {
		if n > 1 && (i < 2 || n > least) {
			box[i] = (n + 1) / 2
			return true
		}
	}
	return false
}
