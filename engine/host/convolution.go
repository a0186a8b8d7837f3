package host

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	convolutionKernel, convolutionWeightKernel = kernel.Get("convolution"), kernel.Get("convolution_weight")
	convolutionTurnKernel                      = kernel.Get("convolution_turn")
)

const (
	// Boxes of positions are made smaller until what a thread needs for one fits roomBytes, of which the second cache has the sums, up to
	// sumBytes, at hand, and until each thread gets blocksPerThread boxes, but for those of fewer than leastLanes positions.
	roomBytes, sumBytes, leastLanes = 1 << 20, 1 << 19, 192
	// rowBlock is the most rows of weights that share a slab, and leastRows the fewest that it is filled for by several threads.
	rowBlock, leastRows = 256, 32
	// convolutionGrain is the number of multiplications below which work is not split.
	convolutionGrain = 1 << 18
)

// convolver does a convolution in three dimensions, of which the first ones may have nothing but one element, one tap and one position.
type convolver struct {
	owner.Scope
	launch.Convolution
	d, unit dtype.DType // of the tensors, and of what is multiplied
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

// convolution makes one of the tensors of a convolution.
func convolution(op string, w launch.Convolution) error {
	c := &convolver{Scope: owner.Scope{Op: op}, Convolution: w, d: w.Images.DType()}
	defer c.Close()
	if _, err := convolutionKernel.For(op, c.d); err != nil {
		return err
	}
	c.unit = c.d.Compute()
	if c.d.IsIntegral() && c.d.Size() < dtype.Int32.Size() {
		c.unit = dtype.Int32
	}
	c.place()
	switch {
	case c.pointwise():
	case w.Making == launch.Results:
		c.results()
	case w.Making == launch.Images:
		c.images()
	default:
		c.kernels()
	}
	return c.Err
}

// place finds the axes. Those that are nothing but one element come first, and the examples take the place of the first of them.
func (c *convolver) place() {
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
	slices.SortStableFunc(axes, func(a, b axis) int { return a.rank() - b.rank() })
	c.taps = 1
	for i, a := range axes {
		c.axes[i] = a
		c.taps *= a.taps
	}
	c.apart = c.Images.Sizes()[0]
	if a := &c.axes[0]; a.rank() == 0 {
		a.image, a.positions, a.imageStep, a.positionStep = c.apart, c.apart, c.Images.Strides()[0], c.Results.Strides()[0]
		a.stride, a.dilation, c.apart = 1, 1, 1
	}
}

// rank is 0 for an axis that is nothing but one element.
func (a axis) rank() int {
	if a.image == 1 && a.taps == 1 && a.positions == 1 && a.padding == 0 {
		return 0
	}
	return 1
}

// weights are the kernels in the dtype that is multiplied, with a row for each channel of results.
func (c *convolver) weights() *tensor.Tensor {
	return launch.RowMajor(&c.Scope, c.Kernels, c.unit)
}

// turned are the taps of some phases in the dtype that is multiplied, with a row for each channel of images.
func (c *convolver) turned(phases [3]phase) *tensor.Tensor {
	size, strides := c.Kernels.Sizes(), c.Kernels.Strides()
	m, n := size[0]/c.Groups, size[1]
	t := kernel.ConvolutionTurn{Channels: m, RowStep: strides[1], ChannelStep: strides[0]}
	from, taps := int64(0), int64(1)
	for i, p := range phases {
		t.Taps[i], t.TapSteps[i] = p.axis.Taps, c.axes[i].tapStep*p.each
		from += p.first * c.axes[i].tapStep
		taps *= p.axis.Taps
	}
	made := c.Step(func() (*tensor.Tensor, error) {
		return tensor.Empty(c.Op, []int64{c.Groups * n * m * taps}, c.unit, device.Host)
	})
	if c.Err != nil {
		return nil
	}
	run := convolutionTurnKernel.Row(c.d)
	parallel.For(c.Groups*n, max(Grain/(m*taps), 1), func(begin, end int64) {
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

// biasOf is the bias in the dtype of sums, and its address.
func (c *convolver) biasOf() uintptr {
	if c.Bias == nil || c.Err != nil {
		return 0
	}
	bias := launch.RowMajor(&c.Scope, c.Bias, c.unit)
	if c.Err != nil {
		return 0
	}
	return at(bias, 0)
}

// results makes results of images.
func (c *convolver) results() {
	k := kernel.Convolution{Bias: c.biasOf()}
	for i, a := range c.axes {
		k.Axes[i] = kernel.Axis{Size: a.image, Taps: a.taps, Stride: a.stride, Step: a.dilation, Origin: -a.padding,
			End: a.positions, ImageStep: a.imageStep, PositionStep: a.positionStep}
	}
	c.share(k, c.weights(), c.Results, c.Images, at(c.Results, 0))
}

// phase is one of the sets of elements along an axis that are a stride apart: the first element, the first tap that reaches them, and how many taps
// on the next one is.
type phase struct {
	start, first, each int64
	axis               kernel.Axis
}

// phases are those that some taps reach.
func (a axis) phases() (list []phase) {
	common := gcd(a.stride, a.dilation)
	each := a.stride / common
	for t := range min(each, a.taps) {
		// Tap t and element e meet position (e + padding - t * dilation) / stride.
		start := modulo(t*a.dilation-a.padding, a.stride)
		if start >= a.image {
			continue
		}
		list = append(list, phase{start: start, first: t, each: each, axis: kernel.Axis{
			Size: a.positions, Taps: (a.taps - t + each - 1) / each, Stride: 1, Step: -a.dilation / common, Origin: (start + a.padding - t*a.dilation) / a.stride,
			End: (a.image - start + a.stride - 1) / a.stride, ImageStep: a.positionStep, PositionStep: a.imageStep * a.stride,
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

// modulo is the remainder that is not negative.
func modulo(a, n int64) int64 { return (a%n + n) % n }

// images makes images of results: those elements that are a stride apart are results of a convolution themselves.
func (c *convolver) images() {
	k := kernel.Convolution{Bias: c.biasOf()}
	var lists [3][]phase
	met := true
	for i, a := range c.axes {
		lists[i] = a.phases()
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
				c.share(k, c.turned(phases), c.Images, c.Results, at(c.Images, to))
			}
		}
	}
}

// fillImages writes to images what elements are that no tap reaches: the bias, or zero.
func (c *convolver) fillImages() {
	if c.Bias == nil {
		c.Do(func() error { return fill(c.Op, launch.Filling{To: c.Images, Value: dtype.IntScalar(0)}) })
		return
	}
	strides := make([]int64, c.Images.Dim())
	strides[1] = c.Bias.Strides()[0]
	bias := c.Step(func() (*tensor.Tensor, error) { return c.Bias.View(c.Op, c.Images.Sizes(), strides, c.Bias.Offset()) })
	c.Do(func() error { return copyTo(c.Op, launch.Copying{To: c.Images, From: bias}) })
}

// share makes to of from and weights, whose first element it may not begin with: threads share the boxes, blocks, examples and groups.
func (c *convolver) share(k kernel.Convolution, weights, to, from *tensor.Tensor, first uintptr) {
	if c.Err != nil {
		return
	}
	size, unit := c.d.Size(), c.unit.Size()
	p := cutting{Convolution: k, run: convolutionKernel.Row(c.d), images: c.apart, groups: c.Groups, rows: to.Sizes()[1] / c.Groups}
	p.depth = weights.Numel() / max(c.Groups*p.rows, 1)
	p.Image, p.Weight, p.Result = at(from, 0), at(weights, 0), first
	p.Channels = from.Sizes()[1] / c.Groups
	p.ImageGroup, p.ImageChannel = p.Channels*from.Strides()[1], from.Strides()[1]
	p.WeightGroup, p.WeightRow, p.BiasGroup = p.rows*p.depth, p.depth, p.rows
	p.ResultGroup, p.ResultRow = p.rows*to.Strides()[1], to.Strides()[1]
	work := p.cut(unit)
	total := p.calls()
	rooms := c.rooms(p.room(), min(total, int64(parallel.Threads())))
	if c.Err != nil {
		return
	}
	parallel.For(total, max(convolutionGrain*total/max(work, 1), 1), func(begin, end int64) {
		room := <-rooms
		defer func() { rooms <- room }()
		for t := begin; t < end; {
			part, at := p.Convolution, t/c.Groups
			group := t % c.Groups
			part.Groups = min(c.Groups-group, end-t)
			t += part.Groups
			for i := range p.box {
				n := ceiling(p.Axes[i].End, p.box[i])
				part.Axes[i].Begin = at % n * p.box[i]
				part.Axes[i].End = min(part.Axes[i].Begin+p.box[i], p.Axes[i].End)
				at /= n
			}
			blocks := ceiling(p.rows, p.block)
			row, image := at%blocks*p.block, at/blocks
			part.Rows, part.Room = min(p.block, p.rows-row), room
			part.Image += uintptr((image*from.Strides()[0] + group*p.ImageGroup) * size)
			part.Result += uintptr((image*to.Strides()[0] + group*p.ResultGroup + row*p.ResultRow) * size)
			part.Weight += uintptr((group*p.WeightGroup + row*p.WeightRow) * unit)
			if part.Bias != 0 {
				part.Bias += uintptr((group*p.BiasGroup + row) * unit)
			}
			kernel.Call(p.run, unsafe.Pointer(&part))
		}
	})
}

// cutting is a convolution that is cut into boxes of positions and blocks of rows. How does not show in the results.
type cutting struct {
	kernel.Convolution
	run                         uintptr
	images, groups, rows, depth int64 // of all calls, and products for each element
	box                         [3]int64
	block                       int64
}

// cut finds box and block, and counts the multiplications of all calls.
func (p *cutting) cut(unit int64) (work int64) {
	work = p.images * p.groups * p.rows * p.depth
	for i, a := range p.Axes {
		p.box[i] = a.End
		work *= a.End
	}
	p.block = min(p.rows, rowBlock)
	wanted := int64(1)
	if threads := int64(parallel.Threads()); threads > 1 && work > convolutionGrain {
		wanted = threads * blocksPerThread
	}
	for {
		lanes := p.box[0] * p.box[1] * p.box[2]
		crowded := lanes*p.block*unit > sumBytes || p.room() > roomBytes
		if !crowded && (lanes < 2*leastLanes || p.calls() >= wanted) || !halve(&p.box) {
			break
		}
	}
	for p.room() > roomBytes && p.block > 1 || p.calls() < wanted && p.block >= 2*leastRows {
		p.block = partOf(p.block, 2, min(p.block/2, 8))
	}
	return work
}

// room is how many bytes of scratch a call takes.
func (p *cutting) room() int64 {
	part := p.Convolution
	part.Rows, part.Room = p.block, 0
	for i := range p.box {
		part.Axes[i].End = p.box[i]
	}
	kernel.Call(p.run, unsafe.Pointer(&part))
	return part.Bytes
}

// calls counts the boxes and blocks of all examples and groups.
func (p *cutting) calls() int64 {
	n := p.images * p.groups * ceiling(p.rows, p.block)
	for i, a := range p.Axes {
		n *= ceiling(a.End, p.box[i])
	}
	return n
}

// rooms are pieces of scratch, one for each thread that takes part.
func (c *convolver) rooms(bytes, n int64) chan uintptr {
	rooms := make(chan uintptr, n)
	for range n {
		rooms <- scratch(&c.Scope, bytes)
	}
	return rooms
}

// ceiling is n divided by size, rounded up.
func ceiling(n, size int64) int64 { return (n + size - 1) / max(size, 1) }

// halve makes a box half as large along the first axis along which that leaves enough positions next to one another.
func halve(box *[3]int64) bool {
	const least = 64
	for i, n := range box {
		if n > 1 && (i < 2 || n > least) {
			box[i] = (n + 1) / 2
			return true
		}
	}
	return false
}

// kernels makes kernels of images and results, boxes of positions being summed one after the other. Their size depends on the shapes alone.
func (c *convolver) kernels() {
	const leastChannels, fewRows = 16, 8
	mostLanes := int64(512)
	run := convolutionWeightKernel.Row(c.d)
	images, kernels, results := c.Images, c.Kernels, c.Results
	channels, rows := kernels.Sizes()[1], kernels.Sizes()[0]/c.Groups
	k := kernel.ConvolutionWeight{Images: c.apart, Channels: channels, Rows: rows, AllRows: rows,
		ImageImage: images.Strides()[0], ImageChannel: images.Strides()[1], PositionsImage: results.Strides()[0], PositionsRow: results.Strides()[1],
		ResultRow: kernels.Strides()[0], ResultChannel: kernels.Strides()[1]}
	work := k.Images * c.Groups * channels * rows * c.taps
	for i, a := range c.axes {
		k.Axes[i] = kernel.Axis{Size: a.image, Taps: a.taps, Stride: a.stride, Step: a.dilation, Origin: -a.padding,
			End: a.positions, ImageStep: a.imageStep, PositionStep: a.positionStep}
		k.Box[i], k.TapSteps[i] = a.positions, a.tapStep
		work *= a.positions
	}
	if rows < fewRows { // which take no panels
		mostLanes = 4096
	}
	for k.Box[0]*k.Box[1]*k.Box[2] > mostLanes && halve(&k.Box) {
	}
	room := func() int64 {
		part := k
		part.Room = 0
		kernel.Call(run, unsafe.Pointer(&part))
		return part.Bytes
	}
	wanted := int64(1)
	if threads := int64(parallel.Threads()); threads > 1 && work > convolutionGrain {
		wanted = threads
	}
	count := func() int64 { return c.Groups * ceiling(channels, k.Channels) * ceiling(rows, k.Rows) }
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
	rooms := c.rooms(room(), min(total, int64(parallel.Threads())))
	if c.Err != nil {
		return
	}
	parallel.For(total, max(convolutionGrain*total/max(work, 1), 1), func(begin, end int64) {
		room := <-rooms
		defer func() { rooms <- room }()
		for t := begin; t < end; t++ {
			part := k
			down, across := ceiling(rows, k.Rows), ceiling(channels, k.Channels)
			group, row, channel := t/(down*across), t/across%down*k.Rows, t%across*k.Channels
			part.Rows, part.Channels, part.Room = min(k.Rows, rows-row), min(k.Channels, channels-channel), room
			part.Image = at(images, (group*channels+channel)*images.Strides()[1])
			part.Positions = at(results, (group*rows+row)*results.Strides()[1])
			part.Result = at(kernels, (group*rows+row)*kernels.Strides()[0]+channel*kernels.Strides()[1])
			kernel.Call(run, unsafe.Pointer(&part))
		}
	})
}
