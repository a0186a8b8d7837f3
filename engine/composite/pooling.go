package composite

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// MaxPool1d returns the largest element of each window of signals.
func MaxPool1d(c dispatch.Context, self *tensor.Tensor, kernel, stride, padding, dilation []int64, ceil bool) (*tensor.Tensor, error) {
	return maxPool(c, "max_pool1d", 1, self, kernel, stride, padding, dilation, ceil)
}

// MaxPool2d returns the largest element of each window of images.
func MaxPool2d(c dispatch.Context, self *tensor.Tensor, kernel, stride, padding, dilation []int64, ceil bool) (*tensor.Tensor, error) {
	return maxPool(c, "max_pool2d", 2, self, kernel, stride, padding, dilation, ceil)
}

// MaxPool3d returns the largest element of each window of volumes.
func MaxPool3d(c dispatch.Context, self *tensor.Tensor, kernel, stride, padding, dilation []int64, ceil bool) (*tensor.Tensor, error) {
	return maxPool(c, "max_pool3d", 3, self, kernel, stride, padding, dilation, ceil)
}

// MaxPool1dWithIndices returns MaxPool1d and the positions of the elements.
func MaxPool1dWithIndices(c dispatch.Context, self *tensor.Tensor, kernel, stride, padding, dilation []int64,
	ceil bool) (values, indices *tensor.Tensor, err error) {
	return maxPoolWithIndices(c, "max_pool1d_with_indices", 1, self, kernel, stride, padding, dilation, ceil)
}

// NnMaxPool2dWithIndices returns MaxPool2d and the positions of the elements.
func NnMaxPool2dWithIndices(c dispatch.Context, self *tensor.Tensor, kernel, stride, padding, dilation []int64,
	ceil bool) (values, indices *tensor.Tensor, err error) {
	return maxPoolWithIndices(c, "nn_max_pool2d_with_indices", 2, self, kernel, stride, padding, dilation, ceil)
}

// NnMaxPool3dWithIndices computes MaxPool3d and the indices of the elements.
func NnMaxPool3dWithIndices(c dispatch.Context, self *tensor.Tensor, kernel, stride, padding, dilation []int64,
	ceil bool) (values, indices *tensor.Tensor, err error) {
	return maxPoolWithIndices(c, "nn_max_pool3d_with_indices", 3, self, kernel, stride, padding, dilation, ceil)
}

// AvgPool1d returns the mean of each window of signals.
func AvgPool1d(c dispatch.Context, out, self *tensor.Tensor, kernel, stride, padding []int64, ceil,
	includePad bool) (*tensor.Tensor, error) {
	return avgPool(c, "avg_pool1d", 1, out, self, kernel, stride, padding, ceil, includePad, ops.NoInt)
}

// NnAvgPool2d returns the mean of each window of images.
func NnAvgPool2d(c dispatch.Context, out, self *tensor.Tensor, kernel, stride, padding []int64, ceil, includePad bool,
	divisor ops.Int) (*tensor.Tensor, error) {
	return avgPool(c, "nn_avg_pool2d", 2, out, self, kernel, stride, padding, ceil, includePad, divisor)
}

// NnAvgPool3d returns the mean of each window of volumes.
func NnAvgPool3d(c dispatch.Context, out, self *tensor.Tensor, kernel, stride, padding []int64, ceil, includePad bool,
	divisor ops.Int) (*tensor.Tensor, error) {
	return avgPool(c, "nn_avg_pool3d", 3, out, self, kernel, stride, padding, ceil, includePad, divisor)
}

// AdaptiveAvgPool1d returns the mean of each of the windows that cover signals.
func AdaptiveAvgPool1d(c dispatch.Context, self *tensor.Tensor, sizes []int64) (*tensor.Tensor, error) {
	return adaptiveAvgPool(c, "adaptive_avg_pool1d", 1, self, sizes)
}

// NnAdaptiveAvgPool2d returns the mean of each of the windows that cover images.
func NnAdaptiveAvgPool2d(c dispatch.Context, self *tensor.Tensor, sizes []int64) (*tensor.Tensor, error) {
	return adaptiveAvgPool(c, "nn_adaptive_avg_pool2d", 2, self, sizes)
}

// NnAdaptiveAvgPool3d returns the mean of each of the windows that cover volumes.
func NnAdaptiveAvgPool3d(c dispatch.Context, self *tensor.Tensor, sizes []int64) (*tensor.Tensor, error) {
	return adaptiveAvgPool(c, "nn_adaptive_avg_pool3d", 3, self, sizes)
}

// AdaptiveMaxPool1d returns the largest element of each of the windows that cover signals, and their positions.
func AdaptiveMaxPool1d(c dispatch.Context, self *tensor.Tensor, sizes []int64) (values, indices *tensor.Tensor, err error) {
	return adaptiveMaxPool(c, "adaptive_max_pool1d", 1, self, sizes)
}

// NnAdaptiveMaxPool2dWithIndices returns the largest element of each of the windows that cover images, and their positions.
func NnAdaptiveMaxPool2dWithIndices(c dispatch.Context, self *tensor.Tensor, sizes []int64) (values, indices *tensor.Tensor, err error) {
	return adaptiveMaxPool(c, "nn_adaptive_max_pool2d_with_indices", 2, self, sizes)
}

// NnAdaptiveMaxPool3dWithIndices returns the largest element of each of the windows that cover volumes, and their indices.
func NnAdaptiveMaxPool3dWithIndices(c dispatch.Context, self *tensor.Tensor, sizes []int64) (values, indices *tensor.Tensor, err error) {
	return adaptiveMaxPool(c, "nn_adaptive_max_pool3d_with_indices", 3, self, sizes)
}

// NnLpPool1d returns the norm of each window of signals.
func NnLpPool1d(c dispatch.Context, self *tensor.Tensor, p float64, kernel, stride []int64, ceil bool) (*tensor.Tensor, error) {
	return lpPool(c, "nn_lp_pool1d", 1, self, p, kernel, stride, ceil)
}

// NnLpPool2d returns the norm of each window of images.
func NnLpPool2d(c dispatch.Context, self *tensor.Tensor, p float64, kernel, stride []int64, ceil bool) (*tensor.Tensor, error) {
	return lpPool(c, "nn_lp_pool2d", 2, self, p, kernel, stride, ceil)
}

// NnLpPool3d returns the norm of each window of volumes.
func NnLpPool3d(c dispatch.Context, self *tensor.Tensor, p float64, kernel, stride []int64, ceil bool) (*tensor.Tensor, error) {
	return lpPool(c, "nn_lp_pool3d", 3, self, p, kernel, stride, ceil)
}

func maxPool(c dispatch.Context, op string, n int, self *tensor.Tensor, kernel, stride, padding, dilation []int64,
	ceil bool) (_ *tensor.Tensor, err error) {
	p := pooling{Builder: build.New(c, op), n: n, kernel: kernel, stride: stride, padding: padding, dilation: dilation, ceil: ceil,
		volumes: true}
	defer p.Close(&err)
	images := p.prepareImages(self)
	if self.Keys()&tensor.Gradient != 0 && c.Recording() { // the backward pass needs the indices
		values, indices, err := p.poolMax(self, images)
		p.Track(indices, err)
		return build.WriteResult(p.Builder, nil, p.Track(values, err))
	}
	return build.WriteResult(p.Builder, nil, p.removeBatchDim(self, p.NnLargest(images, p.sizes, p.kernel, p.stride, p.padding, p.dilation,
		p.format)))
}

func maxPoolWithIndices(c dispatch.Context, op string, n int, self *tensor.Tensor, kernel, stride, padding, dilation []int64,
	ceil bool) (values, indices *tensor.Tensor, err error) {
	p := pooling{Builder: build.New(c, op), n: n, kernel: kernel, stride: stride, padding: padding, dilation: dilation, ceil: ceil,
		volumes: true}
	defer p.Close(&err)
	return p.poolMax(self, p.prepareImages(self))
}

// poolMax returns the largest elements and their indices.
func (p *pooling) poolMax(self, images *tensor.Tensor) (values, indices *tensor.Tensor, err error) {
	images = p.viewAsRows(images)
	values, indices = p.NnLargestPlaces(images, p.sizes, p.kernel, p.stride, p.padding, p.dilation, p.format)
	return p.ReturnBoth(p.removeBatchDim(self, values), p.removeBatchDim(self, indices))
}

func avgPool(c dispatch.Context, op string, n int, out, self *tensor.Tensor, kernel, stride, padding []int64, ceil, includePad bool,
	divisor ops.Int) (_ *tensor.Tensor, err error) {
	p := pooling{Builder: build.New(c, op), n: n, kernel: kernel, stride: stride, padding: padding, ceil: ceil, counted: n == 2}
	defer p.Close(&err)
	if divisor == 0 {
		p.Failf("divisor_override must not be 0")
	}
	images := p.viewAsRows(p.prepareImages(self))
	return build.WriteResult(p.Builder, out, p.removeBatchDim(self, p.NnAverage(images, p.sizes, p.kernel, p.stride, p.padding, includePad,
		divisor.Or(0), p.format)))
}

func adaptiveAvgPool(c dispatch.Context, op string, n int, self *tensor.Tensor, sizes []int64) (_ *tensor.Tensor, err error) {
	p := pooling{Builder: build.New(c, op), n: n, sizes: sizes}
	defer p.Close(&err)
	p.Check(checkFloating(op, self))
	first := self.Dim() - n
	if n == 3 {
		first = 1
	}
	images := p.prepareAdaptive(self, first)
	if !slices.ContainsFunc(p.sizes, func(n int64) bool { return n != 1 }) {
		var dims []int64
		for d := range n {
			dims = append(dims, int64(d-n))
		}
		mean := p.Mean(self, dims, true)
		return build.WriteResult(p.Builder, nil, matchFormat(p.Builder, self, mean))
	}
	images = p.viewAsRows(images)
	return build.WriteResult(p.Builder, nil, p.removeBatchDim(self, p.NnAverage(images, p.sizes, nil, nil, nil, false, 0, p.format)))
}

func adaptiveMaxPool(c dispatch.Context, op string, n int, self *tensor.Tensor, sizes []int64) (values, indices *tensor.Tensor, err error) {
	p := pooling{Builder: build.New(c, op), n: n, sizes: sizes}
	defer p.Close(&err)
	return p.poolMax(self, p.prepareAdaptive(self, 1))
}

// lpPool returns a root of means of powers times the number of elements that windows have.
func lpPool(c dispatch.Context, op string, n int, self *tensor.Tensor, power float64, kernel, stride []int64,
	ceil bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	if power == 0 {
		return nil, status.Valuef("%s: norm_type must not be 0", op)
	}
	if math.IsInf(power, 0) {
		size := b.Abs(self)
		if power < 0 {
			size = b.Neg(size)
		}
		size = b.Track(maxPool(c, op, n, size, kernel, stride, nil, nil, ceil))
		if power < 0 {
			size = b.Neg(size)
		}
		return build.WriteResult(b, nil, size)
	}
	powers := b.Pow(self, b.FloatNumber(power))
	means := b.Track(avgPool(c, op, n, nil, powers, kernel, stride, nil, ceil, true, ops.NoInt))
	taps := 1.0
	for i := range n {
		taps *= float64(kernel[i%len(kernel)])
	}
	// The root has no derivative at 0: the gradient there is 0.
	sums := b.Mul(means, b.FloatNumber(taps))
	none := b.Eq(sums, b.FloatNumber(0))
	put := func(t *tensor.Tensor, value float64) *tensor.Tensor {
		v := b.FloatNumber(value)
		return b.Where(none, v, t)
	}
	roots := b.Pow(put(sums, 1), b.FloatNumber(1/power))
	return build.WriteResult(b, nil, put(roots, math.Pow(0, 1/power)))
}

// pooling holds the arguments of a pooling in n dimensions. If volumes is set, results in three dimensions keep the layout of self; if row
// is set, signals are images of one row.
type pooling struct {
	*build.Builder
	n                                 int
	kernel, stride, padding, dilation []int64
	ceil, volumes, row                bool
	counted                           bool // too few dimensions are an index error, as PyTorch counts them from the end
	sizes                             []int64
	format                            shape.MemoryFormat
}

// prepareImages checks the arguments and returns images with a batch dimension.
func (p *pooling) prepareImages(self *tensor.Tensor) *tensor.Tensor {
	p.expandArguments()
	images := p.addBatchDim(self)
	p.sizes = make([]int64, p.n)
	for i := range p.n {
		size, taps, stride, padding := self.Sizes()[self.Dim()-p.n+i], p.kernel[i], p.stride[i], p.padding[i]
		const most = 1 << 60
		if float64(taps-1)*float64(p.dilation[i]) > most || padding > most || stride > most {
			p.Failf("kernel_size %v, stride %v, padding %v and dilation %v overflow a 64-bit integer", p.kernel, p.stride, p.padding,
				p.dilation)
			return nil
		}
		reach := (taps-1)*p.dilation[i] + 1
		if padding > taps/2 {
			p.Failf("pad should be at most half of kernel size, but got pad=%d and kernel_size=%d", padding, taps)
		}
		room := size + 2*padding - reach
		if p.ceil {
			room += stride - 1
		}
		p.sizes[i] = room/stride + 1
		if p.ceil && room/stride*stride >= size+padding {
			p.sizes[i]--
		}
		if room < 0 || p.sizes[i] < 1 {
			p.Failf("output size is too small: input size %v, kernel_size %v, stride %v, padding %v, dilation %v", self.Sizes(), p.kernel,
				p.stride, p.padding, p.dilation)
			return nil
		}
	}
	return images
}

// prepareAdaptive checks the sizes of results, and of self from dimension first on.
func (p *pooling) prepareAdaptive(self *tensor.Tensor, first int) *tensor.Tensor {
	if len(p.sizes) == 1 {
		p.sizes = slices.Repeat(p.sizes, p.n)
	}
	if len(p.sizes) != p.n || slices.Min(p.sizes) < 0 {
		p.Failf("output_size must be an int or %d ints, none of them negative, but is %v", p.n, p.sizes)
	}
	return p.addBatchDimFrom(self, first)
}

// expandArguments repeats single values for every dimension and returns an error for invalid ones.
func (p *pooling) expandArguments() {
	if len(p.stride) == 0 {
		p.stride = p.kernel
	}
	if p.padding == nil {
		p.padding = []int64{0}
	}
	if p.dilation == nil {
		p.dilation = []int64{1}
	}
	for _, list := range []struct {
		name   string
		values *[]int64
		least  int64
		want   string
	}{
		{"kernel_size", &p.kernel, 1, "should be greater than zero"},
		{"stride", &p.stride, 1, "must be greater than zero"},
		{"padding", &p.padding, 0, "should be non-negative"},
		{"dilation", &p.dilation, 1, "should be greater than zero"},
	} {
		v := *list.values
		if len(v) != 1 && len(v) != p.n {
			p.Failf("%s must be an int or %d ints, but is %v", list.name, p.n, v)
		}
		if slices.Min(v) < list.least {
			p.Failf("%s %s, but got %v", list.name, list.want, v)
		}
		*list.values = slices.Repeat(v, p.n/len(v))
	}
}

// addBatchDim returns self with a dimension for examples, the only one that may have no elements, and finds the format of results.
func (p *pooling) addBatchDim(self *tensor.Tensor) *tensor.Tensor {
	return p.addBatchDimFrom(self, self.Dim()-p.n-1)
}

// addBatchDimFrom is addBatchDim for tensors whose dimensions before `first` may have no elements.
func (p *pooling) addBatchDimFrom(self *tensor.Tensor, first int) *tensor.Tensor {
	dim := self.Dim()
	if p.counted && dim <= p.n {
		p.Check(status.Indexf("%s: dimension out of range (expected to be in range of [%d, %d], but got %d): input must have %d or %d dimensions",
			p.Op, -max(dim, 1), max(dim, 1)-1, -p.n-1, p.n+1, p.n+2))
		return nil
	}
	if dim != p.n+1 && dim != p.n+2 || slices.Contains(self.Sizes()[first:], 0) {
		p.Failf("Expected %dD or %dD (batch mode) tensor with optional 0 dim batch size for input, but got: %v", p.n+1, p.n+2, self.Sizes())
	}
	images := self
	if dim == p.n+1 {
		images = p.Unsqueeze(self, 0)
	}
	if p.n == 2 && images == self || p.n == 3 && p.volumes {
		p.format = shape.SuggestFormat(images.Sizes(), images.Strides())
	}
	return images
}

// viewAsRows takes signals as images of one row where their channels are adjacent, for which images have a format.
func (p *pooling) viewAsRows(signals *tensor.Tensor) *tensor.Tensor {
	if p.n != 1 {
		return signals
	}
	sizes, strides := signals.Sizes(), signals.Strides()
	p.format = shape.SuggestFormat([]int64{sizes[0], sizes[1], 1, sizes[2]}, []int64{strides[0], strides[1], sizes[2] * strides[2],
		strides[2]})
	if p.format == shape.Contiguous {
		return signals
	}
	p.row = true
	for _, list := range []*[]int64{&p.sizes, &p.kernel, &p.stride, &p.dilation} {
		if *list != nil {
			*list = append([]int64{1}, *list...)
		}
	}
	if p.padding != nil {
		p.padding = append([]int64{0}, p.padding...)
	}
	return p.Unsqueeze(signals, 2)
}

// removeBatchDim returns t without the dimensions that self does not have.
func (p *pooling) removeBatchDim(self, t *tensor.Tensor) *tensor.Tensor {
	if p.row {
		t = p.SqueezeDim(t, 2)
	}
	if self.Dim() == p.n+2 {
		return t
	}
	return p.SqueezeDim(t, 0)
}
