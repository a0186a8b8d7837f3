package backend

import (
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// metaDevice is the device of tensors without data: launches do nothing, except that those with results that depend on values return an
// error.
var metaDevice = Device{
	Elementwise: launchNothing[Elementwise],
	Any:         rejectUnknown[Elementwise, bool],

	Copy:     copyMeta,
	Fill:     launchNothing[Filling],
	Join:     launchNothing[Joining],
	Triangle: launchNothing[Triangle],
	Read:     rejectUnknown[*tensor.Tensor, []byte],
	Write:    launchNothing[Writing],

	Reduce: launchNothing[Reduction],
	Scan:   launchNothing[Lanes],
	Sort:   launchNothing[Sorting],
	Search: launchNothing[Searching],
	Unique: rejectUnknown[Distinct, Groups],
	IsIn:   launchNothing[Membership],

	Indexed:     launchNothing[Indexed],
	CheckBounds: launchNothing[Bounds],
	Select:      rejectUnknown[Selection, *tensor.Tensor],
	Place:       launchNothing[Placement],
	Unravel:     launchNothing[Coordinates],

	Product:          launchNothing[Product],
	QuantizedProduct: launchNothing[QuantizedProduct],
	PackQuantized:    packMeta,
	BlockLinear:      launchNothing[BlockLinear],
	WeightLinear:     launchNothing[WeightLinear],
	Dequantize:       launchNothing[Dequantization],
	Dot:              launchNothing[Dot],
	Distance:         launchNothing[Distance],
	Convolution:      launchNothing[Convolution],
	Pooling:          launchNothing[Pooling],
	Resample:         launchNothing[Resampling],
	Sample:           launchNothing[Sampling],
	Pad:              launchNothing[Padding],
	LinearAlgebra:    launchNothing[LinearAlgebra],

	Group:        rejectUnknown[Grouping, Grouped],
	Lines:        launchNothing[Lines],
	Expand:       launchNothing[Expansion],
	SparseDense:  launchNothing[SparseDense],
	Sampled:      launchNothing[Sampled],
	SparseSparse: rejectUnknown[SparseSparse, CSR],

	Fourier: launchNothing[Fourier],

	Normalize: launchNothing[Normalization],
	Attend:    launchNothing[Attention],

	Recur: launchNothing[Recurrence],
	Align: launchNothing[Alignment],

	Update: launchNothing[Updating],

	Range:     launchNothing[Range],
	Draw:      drawMeta,
	Count:     launchNothing[Counting],
	Histogram: launchNothing[Histogram],
}

// launchNothing ignores a launch.
func launchNothing[Work any](string, Work) error { return nil }

// rejectUnknown returns an error for a launch whose result depends on the values of elements.
func rejectUnknown[Work, Result any](op string, _ Work) (r Result, err error) {
	return r, status.NotImplementedf("%s: the result depends on the values of elements, which tensors on the meta device do not have", op)
}

// copyMeta copies between meta tensors and to them.
func copyMeta(op string, w Copying) error {
	if w.From.IsMeta() && !w.To.IsMeta() {
		return status.NotImplementedf("%s: cannot copy out of meta tensor; no data!", op)
	}
	return nil
}

// packMeta returns a packed matrix without bytes.
func packMeta(op string, b *tensor.Tensor) (*tensor.Tensor, error) {
	return tensor.Empty(op, []int64{0}, dtype.Uint8, b.Device())
}

// drawMeta checks the arguments of a distribution.
func drawMeta(_ string, w Drawing) error {
	each := dtype.None
	if w.Each != nil {
		each = w.Each.DType()
	}
	return w.From.Check(w.To.DType(), each)
}

// Known reports whether the elements of t have values, which those of meta tensors lack. Operators call it before they check values on
// which their results do not depend.
func Known(t *tensor.Tensor) bool { return t.Device().Type != device.Meta }
