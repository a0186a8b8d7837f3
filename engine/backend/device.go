package backend

import "github.com/libtensor/libtensor/engine/tensor"

// Device is a type of device: a function for every kind of kernel launch. op is the operator's name in errors. Functions that return values
// in addition to an error depend on elements and are not supported by meta tensors: operators that call them have the tag syncs in their
// schema.
type Device struct {
	Elementwise func(op string, w Elementwise) error
	Any         func(op string, w Elementwise) (bool, error) // whether a kernel without outputs finds a match

	Copy     func(op string, w Copying) error
	Fill     func(op string, w Filling) error
	Join     func(op string, w Joining) error
	Triangle func(op string, w Triangle) error
	Read     func(op string, t *tensor.Tensor) ([]byte, error) // the bytes of a contiguous tensor, not to be written
	Write    func(op string, w Writing) error
	Use      func(op string, w Using) error

	Reduce func(op string, w Reduction) error
	Scan   func(op string, w Lanes) error
	Sort   func(op string, w Sorting) error
	Search func(op string, w Searching) error
	Unique func(op string, w Distinct) (Groups, error)
	IsIn   func(op string, w Membership) error

	Indexed     func(op string, w Indexed) error
	CheckBounds func(op string, w Bounds) error
	Select      func(op string, w Selection) (*tensor.Tensor, error)
	Place       func(op string, w Placement) error
	Unravel     func(op string, w Coordinates) error

	Product          func(op string, w Product) error
	QuantizedProduct func(op string, w QuantizedProduct) error
	PackQuantized    func(op string, b *tensor.Tensor) (*tensor.Tensor, error) // packs B for QuantizedProduct
	BlockLinear      func(op string, w BlockLinear) error
	WeightLinear     func(op string, w WeightLinear) error
	Dequantize       func(op string, w Dequantization) error
	Dot              func(op string, w Dot) error
	Distance         func(op string, w Distance) error
	Convolution      func(op string, w Convolution) error
	Pooling          func(op string, w Pooling) error
	Resample         func(op string, w Resampling) error
	Sample           func(op string, w Sampling) error
	Pad              func(op string, w Padding) error // on the CPU only
	LinearAlgebra    func(op string, w LinearAlgebra) error

	Group        func(op string, w Grouping) (Grouped, error)
	Lines        func(op string, w Lines) error
	Expand       func(op string, w Expansion) error
	SparseDense  func(op string, w SparseDense) error
	SparseSparse func(op string, w SparseSparse) (CSR, error)
	SparseSum    func(op string, w SparseSum) (CSR, error)
	Sampled      func(op string, w Sampled) error

	Fourier func(op string, w Fourier) error

	Normalize func(op string, w Normalization) error
	Attend    func(op string, w Attention) error

	Recur func(op string, w Recurrence) error
	Align func(op string, w Alignment) error

	Update func(op string, w Updating) error

	Range     func(op string, w Range) error
	Draw      func(op string, w Drawing) error
	Count     func(op string, w Counting) error
	Histogram func(op string, w Histogram) error
}
