package sparse

import (
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// The *_like functions: with the indices of self and other values, or strided.

// randLike has random entries where a tensor has entries.
func randLike(c dispatch.Context, self *tensor.Tensor, g *random.Generator, d dtype.DType, l tensor.Layout, dev device.Device,
	f shape.MemoryFormat) (*tensor.Tensor, error) {
	return makeFilledLike("rand_like", func(c dispatch.Context, v *tensor.Tensor, d dtype.DType, dev device.Device,
		f shape.MemoryFormat) (*tensor.Tensor, error) {
		return c.RandLike(v, g, d, tensor.NoLayout, dev, f)
	})(c, self, d, l, dev, f)
}

func randnLike(c dispatch.Context, self *tensor.Tensor, g *random.Generator, d dtype.DType, l tensor.Layout, dev device.Device,
	f shape.MemoryFormat) (*tensor.Tensor, error) {
	return makeFilledLike("randn_like", func(c dispatch.Context, v *tensor.Tensor, d dtype.DType, dev device.Device,
		f shape.MemoryFormat) (*tensor.Tensor, error) {
		return c.RandnLike(v, g, d, tensor.NoLayout, dev, f)
	})(c, self, d, l, dev, f)
}

func randintLike(c dispatch.Context, self *tensor.Tensor, low, high int64, g *random.Generator, d dtype.DType, l tensor.Layout,
	dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
	return makeFilledLike("randint_like", func(c dispatch.Context, v *tensor.Tensor, d dtype.DType, dev device.Device,
		f shape.MemoryFormat) (*tensor.Tensor, error) {
		return c.RandintLike(v, low, high, g, d, tensor.NoLayout, dev, f)
	})(c, self, d, l, dev, f)
}

func randintLikeHigh(c dispatch.Context, self *tensor.Tensor, high int64, g *random.Generator, d dtype.DType, l tensor.Layout,
	dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
	return randintLike(c, self, 0, high, g, d, l, dev, f)
}

// newOnes and newFull are strided.
func newOnes(c dispatch.Context, self *tensor.Tensor, size []int64, d dtype.DType, l tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeStridedFactory("new_ones", func(c dispatch.Context, plain *tensor.Tensor, size []int64, d dtype.DType,
		dev device.Device) (*tensor.Tensor, error) {
		return c.NewOnes(plain, size, d, tensor.NoLayout, dev)
	})(c, self, size, d, l, dev)
}

func newFull(c dispatch.Context, self *tensor.Tensor, size []int64, value dtype.Scalar, d dtype.DType, l tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return makeStridedFactory("new_full", func(c dispatch.Context, plain *tensor.Tensor, size []int64, d dtype.DType,
		dev device.Device) (*tensor.Tensor, error) {
		return c.NewFull(plain, size, value, d, tensor.NoLayout, dev)
	})(c, self, size, d, l, dev)
}
