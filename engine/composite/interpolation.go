package composite

import (
	"fmt"
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// interpolationMode describes a mode of interpolate.
type interpolationMode struct {
	filter            string // of resampled
	dims              int    // that it is for, 0 for any
	positions, smooth bool   // align_corners and antialias apply
	bytes             bool   // it takes uint8
}

var resamplings = map[string]interpolationMode{
	"nearest":       {filter: "nearest", bytes: true},
	"nearest-exact": {filter: "nearest-exact", bytes: true},
	"area":          {},
	"linear":        {filter: "linear", dims: 1, positions: true},
	"bilinear":      {filter: "linear", dims: 2, positions: true, smooth: true, bytes: true},
	"trilinear":     {filter: "linear", dims: 3, positions: true},
	"bicubic":       {filter: "cubic", dims: 2, positions: true, smooth: true, bytes: true},
	"lanczos":       {filter: "lanczos", dims: 2, positions: true, smooth: true, bytes: true},
}

// NnInterpolate returns images other sizes.
func NnInterpolate(c dispatch.Context, self *tensor.Tensor, sizes []int64, scales []float64, mode string, alignCorners, recompute ops.Bool,
	antialias bool) (*tensor.Tensor, error) {
	return interpolate(c, "nn_interpolate", self, sizes, scales, mode, alignCorners, recompute, antialias)
}

// NnUpsample is NnInterpolate by its older name.
func NnUpsample(c dispatch.Context, self *tensor.Tensor, sizes []int64, scales []float64, mode string,
	alignCorners ops.Bool) (*tensor.Tensor, error) {
	return interpolate(c, "nn_upsample", self, sizes, scales, mode, alignCorners, ops.NoBool, false)
}

// NnUpsampleNearest is NnInterpolate with the nearest elements.
func NnUpsampleNearest(c dispatch.Context, self *tensor.Tensor, sizes []int64, scales []float64) (*tensor.Tensor, error) {
	return interpolate(c, "nn_upsample_nearest", self, sizes, scales, "nearest", ops.NoBool, ops.NoBool, false)
}

// NnUpsampleBilinear is NnInterpolate with lines between the corners.
func NnUpsampleBilinear(c dispatch.Context, self *tensor.Tensor, sizes []int64, scales []float64) (*tensor.Tensor, error) {
	return interpolate(c, "nn_upsample_bilinear", self, sizes, scales, "bilinear", ops.True, ops.NoBool, false)
}

// checkInterpolation returns an error if an argument of interpolate does not fit the mode or the dimensions of self.
func checkInterpolation(op string, self *tensor.Tensor, sizes []int64, scales []float64, mode string, alignCorners, recompute ops.Bool,
	antialias bool) error {
	of, known := resamplings[mode]
	n := self.Dim() - 2
	switch {
	case !known:
		return status.NotImplementedf("%s: mode must be nearest, nearest-exact, linear, bilinear, bicubic, trilinear, lanczos or area, but is %q", op,
			mode)
	case n < 1 || n > 3 || of.dims != 0 && of.dims != n:
		want := "3D, 4D or 5D"
		if of.dims != 0 {
			want = status.Textf("%dD", of.dims+2)
		}
		return status.NotImplementedf("%s: got %dD input, but %s mode needs %s input", op, self.Dim(), mode, want)
	case !of.positions && alignCorners != ops.NoBool:
		return status.Valuef("%s: align_corners can only be given with the modes linear, bilinear, bicubic and trilinear, but mode is %s", op,
			mode)
	case antialias && !of.smooth:
		return status.Valuef("%s: antialias can only be given with the modes bilinear, bicubic and lanczos, but mode is %s", op, mode)
	case mode == "lanczos" && (!antialias || alignCorners == ops.True):
		return status.Valuef("%s: mode lanczos needs antialias=True and align_corners=False", op)
	case (sizes == nil) == (scales == nil):
		return status.Valuef("%s: either size or scale_factor must be given, and not both", op)
	case recompute == ops.True && sizes != nil:
		return status.Valuef("%s: recompute_scale_factor requires scale_factor, and cannot be used with size", op)
	}
	if given := max(len(sizes), len(scales)); given != 1 && given != n {
		return status.Valuef("%s: size and scale_factor must have one value, or one for each of the %d dimensions after (N, C), but got %v values for input of sizes %v",
			op, n, given, self.Sizes())
	}
	if d := self.DType(); !d.IsFloatingPoint() && !(d == dtype.Uint8 && of.bytes) {
		return unsupportedDType(op, d, fmt.Sprintf("convert to a floating-point dtype for mode %s", mode))
	}
	return nil
}

// scaledSizes returns the spatial sizes of self multiplied by scales, or an error for scales whose sizes are not representable.
func scaledSizes(op string, self *tensor.Tensor, scales []float64) ([]int64, error) {
	sizes := make([]int64, len(scales))
	for i, scale := range scales {
		size := float64(self.Sizes()[i+2]) * scale
		if !(scale > 0 && size <= math.MaxInt32) {
			return nil, status.Runtimef("%s: scale_factor must be positive, with output sizes of at most %d, but is %v for input of sizes %v",
				op, math.MaxInt32, scale, self.Sizes())
		}
		sizes[i] = int64(size)
	}
	return sizes, nil
}

func interpolate(c dispatch.Context, op string, self *tensor.Tensor, sizes []int64, scales []float64, mode string, alignCorners,
	recompute ops.Bool, antialias bool) (_ *tensor.Tensor, err error) {
	if err := checkInterpolation(op, self, sizes, scales, mode, alignCorners, recompute, antialias); err != nil {
		return nil, err
	}
	n := self.Dim() - 2
	if scales == nil {
		sizes = slices.Repeat(sizes, n/len(sizes))
	} else {
		scales = slices.Repeat(scales, n/len(scales))
		if sizes, err = scaledSizes(op, self, scales); err != nil {
			return nil, err
		}
	}
	if recompute == ops.True || mode == "area" {
		scales = nil
	}
	if mode != "area" && (slices.Contains(self.Sizes()[1:], 0) || slices.Min(sizes) < 1) || slices.Max(sizes) > math.MaxInt32 {
		return nil,
			status.Runtimef("%s: Input and output sizes should be greater than 0, except the batch size, and not greater than %d, but got input %v and output %v",
				op, math.MaxInt32, self.Sizes(), sizes)
	}
	b := build.New(c, op)
	defer b.Close(&err)
	switch {
	case mode != "area":
		return b.ReturnNew(c.NnResampled(self, sizes, resamplings[mode].filter, alignCorners == ops.True, antialias, scales))
	case n == 1:
		return b.ReturnNew(c.AdaptiveAvgPool1d(self, sizes))
	case n == 2:
		return b.ReturnNew(c.NnAdaptiveAvgPool2d(self, sizes))
	}
	return b.ReturnNew(c.NnAdaptiveAvgPool3d(self, sizes))
}
