package composite

import (
	"math"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// dropoutVariant is one of the operators that leave elements out at random: each by itself, or whole channels; with others scaled up, or
// with all moved so that mean and variance stay.
type dropoutVariant struct {
	op              string
	channels, alpha bool
}

// applyDropout applies dropout to self, with one random factor for each element, or for each channel if k.channels is set.
func (k dropoutVariant) applyDropout(c dispatch.Context, out, self *tensor.Tensor, p float64, train bool,
	g *random.Generator) (_ *tensor.Tensor, err error) {
	if !(p >= 0 && p <= 1) {
		wrong := status.Valuef
		if math.IsNaN(p) {
			wrong = status.Runtimef
		}
		return nil, wrong("%s: p must be from 0 to 1, but is %v", k.op, p)
	}
	if p == 0 || !train || self.Numel() == 0 {
		if out == nil {
			return self.Alias(), nil
		}
		return out, tensoriter.Writable(k.op, out)
	}
	d := self.DType()
	switch {
	case d.Category() < dtype.Floating:
		return nil, unsupportedDType(k.op, d, "convert to a floating-point dtype")
	case k.channels && self.Dim() < 2:
		return nil, status.Runtimef("%s: self must have shape (N, C, ...), but has sizes %v", k.op, self.Sizes())
	}
	b := build.New(c, k.op)
	defer b.Close(&err)
	if p == 1 {
		return build.WriteResult(b, out, b.Mul(self, b.ZerosBeside(self, d.ToReal())))
	}
	transformed := c.Level() != nil
	like, format := self, shape.Preserve
	if k.channels || transformed { // inside vmap PyTorch draws in the order of the batch elements, wherever they are in memory
		format = shape.Contiguous
	}
	if k.channels {
		for dim := 2; dim < self.Dim(); dim++ {
			like = b.Narrow(like, int64(dim), 0, 1)
		}
	}
	noise := b.EmptyLikeWith(like, d.ToReal(), tensor.NoLayout, self.Device(), format)
	if transformed { // out of place, so that each batch element of vmap has its own
		noise = b.BernoulliPWith(noise, 1-p, g)
	} else {
		b.FillBernoulliWith(noise, 1-p, g)
	}
	if !k.alpha {
		return build.WriteResult(b, out, b.Mul(self, b.Div(noise, b.FloatNumber(1-p))))
	}
	const low = 1.7580993408473766 // -selu(-infinity)
	a := 1 / math.Sqrt((low*low*p+1)*(1-p))
	moved := b.Add(b.Mul(b.Sub(noise, b.FloatNumber(1)), b.FloatNumber(low*a)), b.FloatNumber(low*a*p))
	return build.WriteResult(b, out, b.Add(b.Mul(self, b.Mul(noise, b.FloatNumber(a))), moved))
}

// Dropout leaves elements out, and scales the others up.
func Dropout(c dispatch.Context, out, self *tensor.Tensor, p float64, train bool, g *random.Generator) (*tensor.Tensor, error) {
	return dropoutVariant{op: "dropout"}.applyDropout(c, out, self, p, train, g)
}

// FeatureDropout leaves channels out, and scales the others up.
func FeatureDropout(c dispatch.Context, out, self *tensor.Tensor, p float64, train bool, g *random.Generator) (*tensor.Tensor, error) {
	return dropoutVariant{op: "feature_dropout", channels: true}.applyDropout(c, out, self, p, train, g)
}

// AlphaDropout puts the least value of selu in the place of elements.
func AlphaDropout(c dispatch.Context, out, self *tensor.Tensor, p float64, train bool, g *random.Generator) (*tensor.Tensor, error) {
	return dropoutVariant{op: "alpha_dropout", alpha: true}.applyDropout(c, out, self, p, train, g)
}

// FeatureAlphaDropout puts the least value of selu in the place of channels.
func FeatureAlphaDropout(c dispatch.Context, out, self *tensor.Tensor, p float64, train bool, g *random.Generator) (*tensor.Tensor, error) {
	return dropoutVariant{op: "feature_alpha_dropout", channels: true, alpha: true}.applyDropout(c, out, self, p, train, g)
}

// NnDropout1d leaves channels of sequences out.
func NnDropout1d(c dispatch.Context, out, self *tensor.Tensor, p float64, training bool, g *random.Generator) (*tensor.Tensor, error) {
	const op = "nn_dropout1d"
	if n := self.Dim(); n != 2 && n != 3 {
		return nil, status.Runtimef("%s: Expected 2D or 3D input, but received a %dD input of sizes %v", op, n, self.Sizes())
	}
	return dropChannels(c, op, out, self, p, training, self.Dim() == 2, g)
}

// NnDropout2d leaves channels of images out.
func NnDropout2d(c dispatch.Context, out, self *tensor.Tensor, p float64, training bool, g *random.Generator) (*tensor.Tensor, error) {
	return dropChannels(c, "nn_dropout2d", out, self, p, training, false, g)
}

// NnDropout3d leaves channels of volumes out.
func NnDropout3d(c dispatch.Context, out, self *tensor.Tensor, p float64, training bool, g *random.Generator) (*tensor.Tensor, error) {
	return dropChannels(c, "nn_dropout3d", out, self, p, training, self.Dim() != 5, g)
}

// dropChannels applies dropout to whole channels of self, with or without a batch dimension.
func dropChannels(c dispatch.Context, op string, out, self *tensor.Tensor, p float64, training, single bool,
	g *random.Generator) (_ *tensor.Tensor, err error) {
	k := dropoutVariant{op: op, channels: true}
	if !single || !training || p == 0 {
		return k.applyDropout(c, out, self, p, training, g)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	batch := b.Unsqueeze(self, 0)
	dropped := b.Track(k.applyDropout(c, nil, batch, p, training, g))
	return build.WriteResult(b, out, b.SqueezeDim(dropped, 0))
}
