package backend

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/tensor"
)

// MaxOperands is the largest number of operands of an elementwise kernel. Launches are passed by value, so a small number keeps them cheap.
const MaxOperands = 4

// Elementwise runs a kernel in dtype Compute over operands, outputs first, which broadcast to the shape of the first. Their dtypes may
// differ from the kernel's, except for operands that must be passed in place.
type Elementwise struct {
	Kernel   kernelapi.Kernel
	Compute  dtype.DType
	Operands [MaxOperands]*tensor.Tensor
	Params   *Params // nil are zeros
}

// Params are the values that a kernel reads in addition to its operands, each in 16 bytes.
type Params [64]byte

// Set writes s as dtype d to the n-th slot.
func (p *Params) Set(n int, d dtype.DType, s dtype.Scalar) {
	tensor.Put(unsafe.Pointer(&p[16*n]), d, s)
}

// Copying copies From to To with broadcasting and conversion, or, for equal shapes and dtypes, with the dimensions in Flipped reversed.
// They do not overlap; either may be on the CPU. With Async the caller does not wait for copies between a device and pinned memory.
type Copying struct {
	To, From *tensor.Tensor
	Flipped  []bool
	Async    bool
}

// Filling fills To with one value, or with the element of the zero-dim tensor From if it is not nil, converted as in a cast. Elements of To
// may overlap each other and From.
type Filling struct {
	To    *tensor.Tensor
	Value dtype.Scalar
	From  *tensor.Tensor
}

// Joining writes the elements of From, one tensor after the other, to To; all are contiguous and of one dtype.
type Joining struct {
	To   *tensor.Tensor
	From []*tensor.Tensor
}

// Triangle zeroes the elements above or below a diagonal of contiguous matrices.
type Triangle struct {
	To       *tensor.Tensor
	Diagonal int64
	Below    bool
}

// Writing hands the bytes of a contiguous tensor to a function that sets them all.
type Writing struct {
	To  *tensor.Tensor
	Set func(bytes []byte)
}

// Using notes that a stream uses the memory of a tensor.
type Using struct {
	Of     *tensor.Tensor
	Stream device.Stream
}

// Reduction reduces In over the dimensions in Mask by a kernel that computes in dtype Compute, and writes Out, whose sizes are In's
// without these dimensions or with 1 in their place. A nil output is not written.
type Reduction struct {
	Kernel  kernelapi.Kernel
	Compute dtype.DType
	Out     [2]*tensor.Tensor
	In      *tensor.Tensor
	Mask    []bool
	Params  [2]float64
}

// Lanes runs a kernel along the middle dimension of the contiguous In, seen as Outer x N x Inner. Out, of its dtype, has as many
// elements, or one for each lane; Indices, of int64, is like Out or nil, and With a second operand like In or nil.
type Lanes struct {
	Kernel                 kernelapi.Kernel
	In, With, Out, Indices *tensor.Tensor
	Outer, N, Inner        int64
}

// Sorting runs a sorting kernel on every line of In along Dim. It writes Keep elements and their indices to Values and Indices, of In's
// shape with Track in place of Dim's size. Values may be In. The kernel needs scratch memory for some entries, for which it may use the
// memory of Indices, too; if Shared is set, other threads may write to that concurrently.
type Sorting struct {
	Kernel              kernelapi.Kernel
	In, Values, Indices *tensor.Tensor
	Dim                 int
	Keep, Entries       int64
	Params              [2]int64
	Shared              bool
}

// Searching finds the insertion position of each of Values in Keys, sorted along the last dimension, before or after equal ones. If Keys
// are not sorted, Order has their positions in sorted order. All are contiguous, Keys and Values of one dtype. Keys has one dimension, or
// those of Values except for the last.
type Searching struct {
	Found, Keys, Values, Order *tensor.Tensor
	Right                      bool
}

// Distinct groups equal rows of the contiguous In: all of them, in order, or with the kernel unique_consecutive only adjacent ones.
// Inverse, if not nil, receives the group of every row.
type Distinct struct {
	Kernel      kernelapi.Kernel
	In, Inverse *tensor.Tensor
	Counts      bool
}

// Groups are one row of each group, and the sizes of groups; nil if not requested.
type Groups struct{ Rows, Counts *tensor.Tensor }

// Membership writes to Found, of bool, which of Values are among Sorted. All are contiguous.
type Membership struct{ Found, Values, Sorted *tensor.Tensor }

// Indexed is Elementwise for a kernel with an index operand. The first operand is the output; Step is the byte stride of the indexed
// operand, Size the number of positions. An index out of range is an error. Check holds the bounds to check in the index; if it is nil, the
// index was checked already, and negative elements count from the end. On devices, kernels that write at the index write nothing after a
// failed check.
type Indexed struct {
	Kernel     kernelapi.Kernel
	Compute    dtype.DType
	Operands   [3]*tensor.Tensor
	Step, Size int64
	Check      *Bounds
}

// Bounds returns an error for an int64 index with an element that is not in [0, Size), or, where Wrap is set, not in [-Size, Size).
type Bounds struct {
	Index      *tensor.Tensor
	Size       int64
	Wrap       bool
	OutOfRange OutOfRange
}

// OutOfRange describes the error of an index out of range. Its types are comparable and refer to no tensor: a device that reports the error
// after the call keeps them.
type OutOfRange interface {
	At(index int64) error
}

// Selection takes the elements of From whose Mask is set, in row-major order; without From, their row-major numbers. Both are
// contiguous.
type Selection struct{ Mask, From *tensor.Tensor }

// Placement writes the elements of Values, one after another, where Mask is set in To; all are contiguous. Fits rejects numbers of set
// elements that Values is not for.
type Placement struct {
	To, Mask, Values *tensor.Tensor
	Fits             func(set int64) error
}

// Coordinates writes the coordinates of row-major numbers in a shape to the columns of To, one for each of Sizes, or to Columns, which
// are tensors of one dimension.
type Coordinates struct {
	Numbers *tensor.Tensor // contiguous
	Sizes   []int64
	To      *tensor.Tensor
	Columns []*tensor.Tensor
}

// Padding copies elements of From to the larger To in the last dimensions, Dims[0] of which is the last. Both are contiguous and of one
// dtype, and share no memory.
type Padding struct {
	To, From *tensor.Tensor
	Dims     []PaddedDim
}

// PaddedDim is a dimension of a padded tensor: Sources has the index in From of each index in To. The elements of From are adjacent in To
// from Before on.
type PaddedDim struct {
	Sources      []int64
	Before, Size int64 // Size is that of From
}

// Product is To = Alpha*A*B + Beta*Self for matrices or batches of them, all of one dtype. The others share no memory with To, which
// Self broadcasts to; but Self may be To, or nil, and then Beta does not count. Where Turned is set, B is one matrix that is multiplied
// transposed, as the weights of a linear layer are. A and B may be conjugated when they are read (tensor.Conjugate). B can have a dtype
// that RoundsProducts, if the others are of float32.
type Product struct {
	To, Self, A, B *tensor.Tensor
	Alpha, Beta    dtype.Scalar
	Turned         bool
}

// QuantizedProduct computes To = (A - AZero) * (B - BZeros) + Bias for matrices of quantized integers. A (M, K) is uint8 or int8, and B (K,
// N) is int8 (weights stored as (N, K) are passed transposed); they and To have any strides. The sums are int32 and wrap around. An int32
// To receives them. A float32 To receives them in float32 times Scales. A uint8 or int8 To receives that rounded to the nearest integer,
// ties to even, plus Zero, clamped to [Low, High]; NaN becomes High. Relu is Low = Zero. BZeros and Scales have one item for all columns or
// one for each; empty BZeros are zeros. Bias is nil or has N adjacent elements in units of the sums: int32 is added to the sums, float32
// after their conversion. It is int32 if To is int32. To overlaps none of the others. Packed is nil, or B packed by the device's
// PackQuantized, which is read instead of B: bytes in an order that depends on the CPU.
type QuantizedProduct struct {
	To, A, B, Bias  *tensor.Tensor
	Packed          *tensor.Tensor
	AZero           int32
	BZeros          []int32
	Scales          []float32
	Zero, Low, High int32
}

// BlockLinear is To = A * W^T + Bias for a matrix A (M, K) and a matrix of weights W (N, K) in blocks of a GGUF file: Blocks (N, bytes per
// row) is of uint8. To (M, N), A and Bias (N), which may be nil, are float32; all are contiguous. Type is the number of the blocks' type in
// files.
type BlockLinear struct {
	To, A, Blocks, Bias *tensor.Tensor
	Type                uint32
}

// WeightLinear is To = A * W^T for a float32 matrix A (M, K) and weights W (N, K) of 8 or 4 bits. Without Group, Weight (N, K) is int8 and
// Scales (N) has the scale of each row. With it, Weight is (N, K / 2) of uint8, packed as by _convert_weight_to_int4pack_for_cpu, and
// Scales (K / Group, N, 2) the scale and the zero of each group of a row. To, A and Scales are float32, and all are contiguous.
type WeightLinear struct {
	To, A, Weight, Scales *tensor.Tensor
	Group                 int64
}

// Dequantization writes the values of the blocks of a GGUF file, a contiguous tensor of uint8, to the contiguous float32 tensor To. A block
// of Type, the number of its type in files, has Values values in Bytes bytes.
type Dequantization struct {
	To, Blocks    *tensor.Tensor
	Type          uint32
	Values, Bytes int64
}

// Dot sums the products of two vectors of one dtype into a zero-dim tensor.
type Dot struct {
	To, A, B  *tensor.Tensor
	Conjugate bool
}

// Distance writes the P-norms of the differences of the rows of A to those of B, matrix by matrix, to To, or with the kernel euclidean the
// roots of the sum of their squares and To. Without B it compares the rows of A, a matrix, with later rows. All are contiguous.
type Distance struct {
	Kernel   kernelapi.Kernel
	To, A, B *tensor.Tensor
	P        float64
}

// Normalization subtracts the mean from the elements of each unit of In, divides by the standard deviation, or by the root mean square if
// Centred is not set, multiplies by Weight and adds Bias, unless they are nil. Units are Runs of Span adjacent elements, in Strips strips
// interleaved with those of other units. With Columns they are Runs adjacent columns of a matrix of Strips rows, which has Groups of them.
// A unit has one element of Weight for each of its Runs, from unit % Groups * Runs on. Mean, Rstd and Variance, one for each unit, are
// outputs; with Fixed the first two are inputs, one for each of Groups. With Rounded they are rounded to the precision of In. With Given,
// the gradient of the result, it computes the gradients: of In to Out, and of Bias and Weight to Sums, unless these are nil. Sums hold one
// element for each of a unit's Runs, or with Columns, and if Strips and Span are 1, for each element of Weight. In, Out and Given are
// contiguous and of one dtype; the others have the compute dtype of the kernels.
type Normalization struct {
	In, Out, Given, Weight, Bias, Mean, Rstd, Variance *tensor.Tensor
	Sums                                               [2]*tensor.Tensor
	Units, Strips, Runs, Span, Groups                  int64
	Columns, Centred, Fixed, Rounded                   bool
	Eps                                                float64
}

// Fourier transforms From along Dims, one after another, and multiplies by Scale: complex numbers to complex ones, real ones to the
// first half or to all of the complex results along the first of Dims, or half of the Hermitian numbers along the only one to real
// ones. To may not share memory with From.
type Fourier struct {
	To, From *tensor.Tensor
	Dims     []int
	Inverse  bool
	Scale    float64
}

// Range fills To with numbers from Start by Step: the kernel range's are exact where dtypes are, linspace's end with Stop. Base,
// where not nil, is raised to them.
type Range struct {
	Kernel      kernelapi.Kernel
	To          *tensor.Tensor
	Start, Step dtype.Scalar
	Stop        complex128
	Base        *float64
}

// Exponents returns the dtype in which powers are computed: real if all operands are.
func (w Range) Exponents() dtype.DType {
	if imag(w.Start.Complex()) != 0 || imag(w.Stop) != 0 || w.To.DType().IsComplex() && *w.Base < 0 {
		return dtype.Complex128
	}
	return dtype.Float64
}

// Drawing fills To with random values of the distribution From: by the elements' row-major indices with a counter-based generator,
// otherwise in memory order. Each, if not nil, holds the parameters of the elements, with To's strides but without its gaps. Invalid
// parameters are an error for empty tensors, too.
type Drawing struct {
	To, Each  *tensor.Tensor
	Generator *random.Generator
	From      random.Distribution
}

// Counting counts how often each integer from 0 on occurs in In, or adds up Weights; all are contiguous.
type Counting struct{ To, In, Weights *tensor.Tensor }

// Histogram adds up the number of points of In (points, dimensions), or their Weights, in each bin of a grid of edges. All are contiguous,
// To of float64.
type Histogram struct {
	To, In, Weights *tensor.Tensor
	Edges           []*tensor.Tensor
	Bin             Bin
}

// Bin is the search method for the bin of a value.
type Bin int64

// The ways to find a bin.
const (
	BySearch            Bin = iota // in the edges
	ByDivision                     // of the range into equal parts
	ByDivisionAndSearch            // the same, corrected by the edges nearby
)
