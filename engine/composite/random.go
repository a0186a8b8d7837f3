package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// NormalTensors draws normal values, each with its mean and standard deviation: standard normals, scaled and shifted.
func NormalTensors(c dispatch.Context, out, mean, std *tensor.Tensor, g *random.Generator) (_ *tensor.Tensor, err error) {
	const op = "normal"
	sizes, err := tensoriter.Shape(op, mean, std)
	if err != nil {
		return nil, err
	}
	d := mean.DType()
	if mean.IsWrappedNumber() {
		d = std.DType()
	}
	if std.DType().IsComplex() {
		return nil, status.Runtimef("%s: expected the standard deviation to be real, but it is %v", op, std.DType())
	}
	if d.Category() < dtype.Floating {
		return nil, status.NotImplementedf("%s: expected mean and std to be floating-point, but they are %v and %v", op, mean.DType(),
			std.DType())
	}
	b := build.New(c, op)
	defer b.Close(&err)
	dev, err := tensoriter.Device(op, mean, std)
	b.Check(err)
	if std.Behind().Numel() > 0 {
		if low, known := b.ReadElement(b.Min(std.Behind())); known && !(low.Float() >= 0) {
			return nil, status.Runtimef("%s: expected all elements of std >= 0.0, but got %v", op, low)
		}
	}
	if out != nil { // numbers are drawn in its dtype
		d = out.DType()
	}
	if c.Level() != nil { // a factory draws for each batch element of vmap; its results are not written to
		standard := b.NormalSizeWith(0, 1, sizes, g, d, tensor.NoLayout, dev)
		return build.WriteResult(b, out, b.Add(b.Mul(standard, std), mean))
	}
	t := b.EmptyStridedWith(sizes, drawStrides(out, sizes), d, tensor.NoLayout, dev)
	b.FillNormalWith(t, 0, 1, g)
	b.CheckWritten(c.Mul(t, t, std))
	b.CheckWritten(c.Add(t, t, mean, dtype.IntScalar(1)))
	return build.WriteResult(b, out, t)
}

// SampleDirichlet draws gamma random numbers in float64, which concentrations near 0 need, and divides them by their sums.
func SampleDirichlet(c dispatch.Context, self *tensor.Tensor, g *random.Generator) (_ *tensor.Tensor, err error) {
	const op = "_sample_dirichlet"
	d := self.DType()
	if !d.IsFloatingPoint() {
		return nil, status.NotImplementedf("%s: expected concentrations of a floating-point dtype, but got %v", op, d)
	}
	if self.Dim() == 0 {
		return nil, status.Runtimef("%s: expected concentration of shape (..., K), but got a 0-dim tensor", op)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	wide := b.CastTo(self, dtype.Float64)
	gammas := b.StandardGamma(wide, g)
	sums := b.Sum(gammas, []int64{-1}, true)
	parts := b.Div(gammas, sums)
	parts = b.Clamp(parts, dtype.FloatScalar(d.SmallestNormal()), dtype.FloatScalar(1-d.Epsilon()/2))
	return build.WriteResult(b, nil, b.CastTo(parts, d))
}

// drawStrides returns the strides of a tensor with elements in the same memory order as in out. Draws treat adjacent elements differently
// from others, so a non-dense out is represented by strides with gaps of one element.
func drawStrides(out *tensor.Tensor, sizes []int64) []int64 {
	if out == nil || !slices.Equal(out.Sizes(), sizes) || out.IsContiguous() {
		return shape.ContiguousStrides(sizes)
	}
	strides := shape.PreserveStrides(sizes, out.Strides())
	if !shape.IsDense(sizes, out.Strides()) {
		for i := range strides {
			strides[i] *= 2
		}
	}
	return strides
}
