package tensoriter

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// LayPooling returns the arguments of a kernel on windows, without scratch memory and the range of units, and the number of planes of
// images.
func LayPooling(w backend.Pooling) (k kernelapi.Pooling, planes int64) {
	k = kernelapi.Pooling{Image: startOf(w.Images), Result: startOf(w.Results), Indices: startOf(w.Indices), Samples: startOf(w.Samples),
		Divisor: w.Divisor, Dims: int64(w.Images.Dim() - 2)}
	if w.Padded {
		k.Padded = 1
	}
	images, results := w.Images.Sizes(), w.Results.Sizes()
	planes, channels := images[0], images[1]
	if w.Images.IsContiguous() && w.Results.IsContiguous() {
		planes *= channels
	} else {
		k.Channels = channels
	}
	step := max(k.Channels, 1)
	k.ImagePlane, k.ResultPlane = shape.Product(images[2:])*step, shape.Product(results[2:])*step
	if w.Kernel == kernelapi.Columns || w.Kernel == kernelapi.FromColumns {
		k.ResultPlane *= shape.Product(w.Taps)
	}
	first := len(k.Windows) - (len(images) - 2)
	for i := range k.Windows {
		k.Windows[i] = kernelapi.Windows{Size: 1, Positions: 1, Taps: 1, Stride: 1, Step: 1}
		d := i - first
		if d < 0 {
			continue
		}
		k.Windows[i].Size, k.Windows[i].Positions, k.Windows[i].Taps = images[d+2], results[d+2], 0
		if len(w.Taps) == 0 {
			continue
		}
		k.Windows[i].Taps = w.Taps[d]
		if len(w.Stride) > 0 {
			k.Windows[i].Stride, k.Windows[i].Step, k.Windows[i].Origin = w.Stride[d], w.Dilation[d], -w.Padding[d]
		}
	}
	return k, planes
}

// LaySampling returns the arguments of a kernel that samples images, without scratch memory and the range of units.
func LaySampling(w backend.Sampling) kernelapi.Sampling {
	sizes, strides := w.Images.Sizes(), w.Images.Strides()
	k := kernelapi.Sampling{
		Image: startOf(w.Images), Grid: startOf(w.Grid), Along: startOf(w.Along), Values: startOf(w.Values), Slope: startOf(w.Slope),
		Channels: sizes[1], Points: shape.Product(w.Values.Sizes()[2:]), Dims: int64(len(sizes) - 2), Mode: w.Mode, Padding: w.Padding,
		ExampleStride: strides[0], ChannelStride: strides[1],
	}
	if w.AlignCorners {
		k.Align = 1
	}
	copy(k.Sizes[:], sizes[2:])
	copy(k.Strides[:], strides[2:])
	return k
}

// startOf returns the address of an operand, or 0 for nil.
func startOf(t *tensor.Tensor) uintptr {
	if t == nil {
		return 0
	}
	return uintptr(t.Data())
}
