package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/parallel"
)

var convolutionWeightKernel = kernel.Of(kernelapi.ConvolutionWeight)

// computeKernels computes kernels from images and results, boxes of positions being summed one after the other. Their size depends on the
// shapes alone.
func (c *convolver) computeKernels() {
	const leastChannels, fewRows = 16, 8
	mostLanes := int64(512)
	run := convolutionWeightKernel.Row(c.d)
	images, kernels, results := c.Images, c.Kernels, c.Results
	channels, rows := kernels.Sizes()[1], kernels.Sizes()[0]/c.Groups
	k := kernel.ConvolutionWeight{Images: c.apart, Channels: channels, Rows: rows, AllRows: rows,
		ImageImage: images.Strides()[0], ImageChannel: images.Strides()[1], PositionsImage: results.Strides()[0],
		PositionsRow: results.Strides()[1],
		ResultRow:    kernels.Strides()[0], ResultChannel: kernels.Strides()[1]}
	work := k.Images * c.Groups * channels * rows * c.taps
	for i, a := range c.axes {
		k.Axes[i] = kernel.Axis{Size: a.image, Taps: a.taps, Stride: a.stride, Step: a.dilation, Origin: -a.padding,
			End: a.positions, ImageStep: a.imageStep, PositionStep: a.positionStep}
		k.Box[i], k.TapSteps[i] = a.positions, a.tapStep
		work *= a.positions
	}
	if channels == 1 && rows == 1 && c.depthwiseKernels(k, run, work) {
		return
	}
	if rows < fewRows { // which use no packed panels
		mostLanes = 4096
	}
	for k.Box[0]*k.Box[1]*k.Box[2] > mostLanes && halveBox(&k.Box) {
	}
	roomOf := func(rows, channels int64) int64 {
		part := k
		part.Rows, part.Channels, part.Room = rows, channels, 0
		kernel.Call(run, unsafe.Pointer(&part))
		return part.Bytes
	}
	room := func() int64 { // the last rows and channels can take more than others
		most := int64(0)
		for _, r := range listSizes(rows, k.Rows) {
			for _, c := range listSizes(channels, k.Channels) {
				most = max(most, roomOf(r, c))
			}
		}
		return most
	}
	wanted := int64(1)
	if threads := int64(parallel.Threads()); threads > 1 && work > convolutionGrain {
		wanted = threads
	}
	count := func() int64 { return c.Groups * ceilDiv(channels, k.Channels) * ceilDiv(rows, k.Rows) }
	smaller := func() bool {
		crowded := room() > roomBytes
		switch {
		case !crowded && count() >= wanted:
			return false
		case k.Channels > leastChannels || crowded && k.Channels > 1:
			k.Channels = (k.Channels + 1) / 2
		case k.Rows > leastRows || crowded && k.Rows > 1:
			k.Rows = partOf(k.Rows, 2, min(k.Rows/2, leastRows))
		default:
			return false
		}
		return true
	}
	for smaller() {
	}
	total := count()
	shareRooms(&c.Scope, room(), total, max(convolutionGrain*total/max(work, 1), 1), func(begin, end int64, room uintptr) {
		for t := begin; t < end; t++ {
			part := k
			down, across := ceilDiv(rows, k.Rows), ceilDiv(channels, k.Channels)
			group, row, channel := t/(down*across), t/across%down*k.Rows, t%across*k.Channels
			part.Rows, part.Channels, part.Room = min(k.Rows, rows-row), min(k.Channels, channels-channel), room
			part.Image = at(images, (group*channels+channel)*images.Strides()[1])
			part.Positions = at(results, (group*rows+row)*results.Strides()[1])
			part.Result = at(kernels, (group*rows+row)*kernels.Strides()[0]+channel*kernels.Strides()[1])
			kernel.Call(run, unsafe.Pointer(&part))
		}
	})
}

// depthwiseKernels is computeKernels for groups of one channel and one row whose elements are adjacent, as in channels_last. It reports
// whether there are such.
func (c *convolver) depthwiseKernels(k kernel.ConvolutionWeight, run uintptr, work int64) bool {
	const leastGroups = 16 // that share cache lines
	x, size := c.axes[2], c.d.Size()
	if c.Groups == 1 || c.unit != c.d || !c.d.IsFloatingPoint() || c.Images.Strides()[1] != 1 || c.Results.Strides()[1] != 1 ||
		x.imageStep == 1 || x.positionStep == 1 || c.taps*leastGroups*size > roomBytes {
		return false
	}
	each := min(c.Groups, roomBytes/(c.taps*size))
	if threads := int64(parallel.Threads()); threads > 1 && work > convolutionGrain {
		each = min(each, partOf(c.Groups, threads, leastGroups))
	}
	k.ResultGroup = c.Kernels.Strides()[0]
	total := ceilDiv(c.Groups, each)
	shareRooms(&c.Scope, c.taps*each*size, total, max(convolutionGrain*total/max(work, 1), 1), func(begin, end int64, room uintptr) {
		for t := begin; t < end; t++ {
			part, group := k, t*each
			part.Groups, part.Room = min(each, c.Groups-group), room
			part.Image, part.Positions, part.Result = at(c.Images, group), at(c.Results, group), at(c.Kernels, group*k.ResultGroup)
			kernel.Call(run, unsafe.Pointer(&part))
		}
	})
	return true
}
