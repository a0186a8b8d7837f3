// Package dtype holds libtensor's element types: their sizes, categories, promotion lattice and scalar values.
package dtype

import (
	"math"
	"math/bits"
)

// DType is the type of a tensor's elements. The numbers are those of tensor_dtype in tensor.h and never change.
type DType int8

// The element types. Complex32 and BComplex32 are pairs of 16-bit floats: they exist because promotion names them.
const (
	None       DType = -1
	Bool       DType = 0
	Uint8      DType = 1
	Int8       DType = 2
	Int16      DType = 3
	Int32      DType = 4
	Int64      DType = 5
	Float16    DType = 6
	BFloat16   DType = 7
	Float32    DType = 8
	Float64    DType = 9
	Complex64  DType = 10
	Complex128 DType = 11
	Complex32  DType = 12
	BComplex32 DType = 13

	Uint16 DType = 19
	Uint32 DType = 20
	Uint64 DType = 21

	Count = 17 // of plain tensors with kernels
)

// The eight-bit floats, of tensors that are created, converted, moved and compared, and not computed with. Their formats are in float8.go.
const (
	Float8E4M3FN   DType = 22
	Float8E5M2     DType = 23
	Float8E4M3FNUZ DType = 24
	Float8E5M2FNUZ DType = 25
	Float8E8M0FNU  DType = 26
)

// The dtypes of quantized tensors, which have integers and a quantizer. Those with several elements per byte are supported for storages only.
const (
	QUint8   DType = 14
	QInt8    DType = 15
	QInt32   DType = 16
	QUint4x2 DType = 17 // two elements a byte
	QUint2x4 DType = 18 // four
)

// Unpromoted is the dtype that an eight-bit float and another dtype promote to: no tensor has it.
const (
	Unpromoted DType = 27

	named = 28
)

// Category orders dtypes for promotion: a higher category always wins over a lower one.
type Category uint8

// The categories, lowest first.
const (
	Boolean Category = iota
	Integral
	Floating
	Complex
)

// All are the dtypes of plain tensors, in the order of their rows.
var All = [Count]DType{Bool, Uint8, Int8, Int16, Int32, Int64, Uint16, Uint32, Uint64, Float16, BFloat16, Float32, Float64, Complex64, Complex128, Complex32,
	BComplex32}

// The properties of a dtype. The numbers of dtypes are names: their order has no meaning.
type facts struct {
	name     string
	size     int64
	category Category
	signed   bool
	real     DType  // of the parts of a complex dtype, or the dtype itself
	complex  DType  // whose parts have this dtype, or None
	wide     DType  // in which kernels work on it
	scalar   string // PyTorch's ScalarType
}

var table = [named]facts{
	Bool:           {"bool", 1, Boolean, false, Bool, None, Bool, "Bool"},
	Uint8:          {"uint8", 1, Integral, false, Uint8, None, Uint8, "Byte"},
	Int8:           {"int8", 1, Integral, true, Int8, None, Int8, "Char"},
	Int16:          {"int16", 2, Integral, true, Int16, None, Int16, "Short"},
	Int32:          {"int32", 4, Integral, true, Int32, None, Int32, "Int"},
	Int64:          {"int64", 8, Integral, true, Int64, None, Int64, "Long"},
	Uint16:         {"uint16", 2, Integral, false, Uint16, None, Uint16, "UInt16"},
	Uint32:         {"uint32", 4, Integral, false, Uint32, None, Uint32, "UInt32"},
	Uint64:         {"uint64", 8, Integral, false, Uint64, None, Uint64, "UInt64"},
	Float16:        {"float16", 2, Floating, true, Float16, Complex32, Float32, "Half"},
	BFloat16:       {"bfloat16", 2, Floating, true, BFloat16, BComplex32, Float32, "BFloat16"},
	Float32:        {"float32", 4, Floating, true, Float32, Complex64, Float32, "Float"},
	Float64:        {"float64", 8, Floating, true, Float64, Complex128, Float64, "Double"},
	Complex64:      {"complex64", 8, Complex, true, Float32, Complex64, Complex64, "ComplexFloat"},
	Complex128:     {"complex128", 16, Complex, true, Float64, Complex128, Complex128, "ComplexDouble"},
	Complex32:      {"complex32", 4, Complex, true, Float16, Complex32, Complex64, "ComplexHalf"},
	BComplex32:     {"bcomplex32", 4, Complex, true, BFloat16, BComplex32, Complex64, "ComplexBFloat16"},
	QUint8:         {"quint8", 1, Integral, false, QUint8, None, QUint8, "QUInt8"},
	QInt8:          {"qint8", 1, Integral, true, QInt8, None, QInt8, "QInt8"},
	QInt32:         {"qint32", 4, Integral, true, QInt32, None, QInt32, "QInt32"},
	QUint4x2:       {"quint4x2", 1, Integral, false, QUint4x2, None, QUint4x2, "QUInt4x2"},
	QUint2x4:       {"quint2x4", 1, Integral, false, QUint2x4, None, QUint2x4, "QUInt2x4"},
	Float8E4M3FN:   {"float8_e4m3fn", 1, Floating, true, Float8E4M3FN, None, Float8E4M3FN, "Float8_e4m3fn"},
	Float8E5M2:     {"float8_e5m2", 1, Floating, true, Float8E5M2, None, Float8E5M2, "Float8_e5m2"},
	Float8E4M3FNUZ: {"float8_e4m3fnuz", 1, Floating, true, Float8E4M3FNUZ, None, Float8E4M3FNUZ, "Float8_e4m3fnuz"},
	Float8E5M2FNUZ: {"float8_e5m2fnuz", 1, Floating, true, Float8E5M2FNUZ, None, Float8E5M2FNUZ, "Float8_e5m2fnuz"},
	Float8E8M0FNU:  {"float8_e8m0fnu", 1, Floating, false, Float8E8M0FNU, None, Float8E8M0FNU, "Float8_e8m0fnu"},
	Unpromoted:     {"none", 1, Floating, true, Unpromoted, None, Unpromoted, "Undefined"},
}

// rows are the indices of dtypes in tables with one row for each of All; the other dtypes share the row after these.
var rows = func() (r [named]uint8) {
	for d := range r {
		r[d] = Count
	}
	for i, d := range All {
		r[d] = uint8(i)
	}
	return r
}()

// Row returns the dtype's index in All, or Count for others.
func (d DType) Row() int { return int(rows[d]) }

// IsQuantized reports whether d is one of the quantized types.
func (d DType) IsQuantized() bool { return d >= QUint8 && d <= QUint2x4 }

// IntegerRange returns the range of bool and of the integers of an integral dtype, that of int64 for others.
func (d DType) IntegerRange() (lo int64, hi uint64) {
	if d == Bool {
		return 0, 1
	}
	unused := 0 // bits of 64
	if d != None && d.IsIntegral() {
		unused = int(64 - 8*d.Size())
	}
	if d.IsSigned() {
		return math.MinInt64 >> unused, math.MaxInt64 >> unused
	}
	return 0, math.MaxUint64 >> unused
}

// StoredRange returns the range of the integers that a quantized dtype keeps.
func (d DType) StoredRange() (lo, hi int64) {
	lo, most := d.Stored().IntegerRange()
	return lo, int64(most)
}

// IsFloat8 reports whether d is one of the eight-bit floats.
func (d DType) IsFloat8() bool { return d >= Float8E4M3FN && d <= Float8E8M0FNU }

// Valid reports whether d is a dtype of plain tensors that kernels compute with.
func (d DType) Valid() bool { return d >= 0 && d < named && rows[d] < Count }

// String returns the dtype's name, such as "float32".
func (d DType) String() string {
	if d < 0 || d >= named {
		return "none"
	}
	return table[d].name
}

// ScalarType is PyTorch's name of the dtype in errors and types, such as "Float".
func (d DType) ScalarType() string {
	if d < 0 || d >= named {
		return "Undefined"
	}
	return table[d].scalar
}

// Stored returns the dtype of the integers that a quantized type keeps, and d itself otherwise.
func (d DType) Stored() DType {
	switch d {
	case QUint8, QUint4x2, QUint2x4:
		return Uint8
	case QInt8:
		return Int8
	case QInt32:
		return Int32
	}
	return d
}

// Size returns the number of bytes of one element.
func (d DType) Size() int64 { return table[d].size }

// Elements returns how many elements nbytes hold. Sizes are powers of two, and a division would take a small call 3 ns.
func (d DType) Elements(nbytes int64) int64 {
	return nbytes >> bits.TrailingZeros64(uint64(table[d].size))
}

// Category of the dtype.
func (d DType) Category() Category { return table[d].category }

// IsFloatingPoint is true for the real floating-point dtypes.
func (d DType) IsFloatingPoint() bool { return table[d].category == Floating }

// IsComplex is true for the complex dtypes.
func (d DType) IsComplex() bool { return table[d].category == Complex }

// IsIntegral is true for the integer dtypes, bool not among them.
func (d DType) IsIntegral() bool { return table[d].category == Integral }

// Summed returns the dtype of sums and products of elements: int64 of bool and integers, but of uint64 this, which int64 does not hold.
func (d DType) Summed() DType {
	if d.Category() < Floating && d != Uint64 {
		return Int64
	}
	return d
}

// IsReducedFloat is true for the 16-bit floats and their complex pairs, which are computed on in 32 bits.
func (d DType) IsReducedFloat() bool { return d.Compute() != d }

// IsSigned is true for the dtypes that have negative numbers.
func (d DType) IsSigned() bool { return d == None || table[d].signed }

// ToReal returns the dtype of the real and imaginary parts of a complex dtype, and d itself otherwise.
func (d DType) ToReal() DType {
	if d == None {
		return None
	}
	return table[d].real
}

// ToComplex returns the complex dtype whose parts are d; integers and bool use float32's.
func (d DType) ToComplex() DType {
	if d == None || table[d].complex == None {
		return Complex64
	}
	return table[d].complex
}

// Alignment of an element in memory, in bytes: that of its real parts.
func (d DType) Alignment() int64 { return d.ToReal().Size() }

// Raw returns the dtype under which elements of d move as plain bytes.
func (d DType) Raw() DType {
	switch d.Size() {
	case 1:
		return Uint8
	case 2:
		return Int16
	case 4:
		return Int32
	case 8:
		return Int64
	}
	return Complex128
}

// Compute returns the dtype in which kernels work on d: 16-bit floats widen to 32 bits, everything else stays.
func (d DType) Compute() DType {
	if d == None {
		return None
	}
	return table[d].wide
}

// Parse finds a dtype by its name or one of PyTorch's aliases ("float", "half", "long", ...).
func Parse(name string) (DType, bool) {
	if d, ok := byName[name]; ok {
		return d, true
	}
	return None, false
}

var byName = func() map[string]DType {
	m := map[string]DType{
		"float": Float32, "double": Float64, "half": Float16, "short": Int16, "int": Int32, "long": Int64,
		"chalf": Complex32, "cfloat": Complex64, "cdouble": Complex128,
	}
	for _, d := range All {
		m[d.String()] = d
	}
	for d := Float8E4M3FN; d <= Float8E8M0FNU; d++ {
		m[d.String()] = d
	}
	return m
}()

// SmallestNormal returns the smallest positive normal number of a floating dtype, or of the parts of a complex one.
func (d DType) SmallestNormal() float64 {
	if d.IsFloat8() {
		return d.float8().smallestNormal()
	}
	switch d.ToReal() {
	case Float64:
		return 0x1p-1022
	case Float16:
		return 0x1p-14
	}
	return 0x1p-126
}

// Epsilon returns the distance from 1 to the next larger number of a floating dtype, or of the parts of a complex one.
func (d DType) Epsilon() float64 {
	if d.IsFloat8() {
		return d.float8().epsilon()
	}
	switch d.ToReal() {
	case Float64:
		return 0x1p-52
	case Float16:
		return 0x1p-10
	case BFloat16:
		return 0x1p-7
	}
	return 0x1p-23
}
