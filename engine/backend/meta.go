package backend

import (
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// meta is the device of tensors without data: launches do nothing, except that those with results that depend on values return an error.
var meta = Device{
	Elementwise: nothing[Elementwise],
	Any:         unknown[Elementwise, bool],

	Copy:     copyMeta,
	Fill:     nothing[Filling],
	Join:     nothing[Joining],
	Triangle: nothing[Triangle],
	Read:     unknown[*tensor.Tensor, []byte],
	Write:    nothing[Writing],

	Reduce: nothing[Reduction],
	Scan:   nothing[Lanes],
	Sort:   nothing[Sorting],
	Search: nothing[Searching],
	Unique: unknown[Distinct, Groups],
	IsIn:   nothing[Membership],

	Indexed:     nothing[Indexed],
	CheckBounds: nothing[Bounds],
	Select:      unknown[Selection, *tensor.Tensor],
	Place:       nothing[Placement],
	Unravel:     nothing[Coordinates],

	Product:          nothing[Product],
	QuantizedProduct: nothing[QuantizedProduct],
	PackQuantized:    packMeta,
	BlockLinear:      nothing[BlockLinear],
	WeightLinear:     nothing[WeightLinear],
	Dequantize:       nothing[Dequantization],
	Dot:              nothing[Dot],
	Distance:         nothing[Distance],
	Convolution:      nothing[Convolution],
	Pooling:          nothing[Pooling],
	Resample:         nothing[Resampling],
	Sample:           nothing[Sampling],
	LinearAlgebra:    nothing[LinearAlgebra],

	Group:        unknown[Grouping, Grouped],
	Lines:        nothing[Lines],
	Expand:       nothing[Expansion],
	SparseDense:  nothing[SparseDense],
	Sampled:      nothing[Sampled],
	SparseSparse: unknown[SparseSparse, CSR],

	Fourier: nothing[Fourier],

	Normalize: nothing[Normalization],
	Attend:    nothing[Attention],

	Recur: nothing[Recurrence],
	Align: nothing[Alignment],

	Update: nothing[Updating],

	Range:     nothing[Range],
	Draw:      drawMeta,
	Count:     nothing[Counting],
	Histogram: nothing[Histogram],
}

func nothing[Work any](string, Work) error { return nil }

func unknown[Work, Result any](op string, _ Work) (r Result, err error) {
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

// Known reports whether the elements of t have values, which those of meta tensors lack. Operators call it before they check values on which their
// results do not depend.
func Known(t *tensor.Tensor) bool { return t.Device().Type != device.Meta }
