// Package dtype holds libtensor's element types: their sizes, categories, promotion lattice and scalar values.
package dtype

import (
	"math"
	"math/bits"
)

// DType is the type of a tensor's elements. The numbers are those of tensor_dtype in tensor.h and never change.
type DType int8

// Count is the number of dtypes of plain tensors with kernels. Among them are pairs of 16-bit floats, since promotion names
// them. The others are the eight-bit floats, of tensors that are created, converted, moved and compared, and not computed with
// (float8.go), and the dtypes of quantized tensors, which have integers and a quantizer; of those with several elements per
// byte there are storages only.
const Count = 17

// Unpromoted is the dtype that an eight-bit float and another dtype promote to: no tensor has it.
const Unpromoted DType = named

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
var All = [Count]DType{Bool, Uint8, Int8, Int16, Int32, Int64, Uint16, Uint32, Uint64, Float16, BFloat16, Float32, Float64, Complex64,
	Complex128, Complex32,
	BComplex32}

// The properties of a dtype. The numbers of dtypes are names: their order has no meaning.
type facts struct {
	name                    string
	size                    int64
	category                Category
	signed                  bool
	real                    DType  // of the parts of a complex dtype, or the dtype itself
	complex                 DType  // whose parts have this dtype, or None
	compute                 DType  // in which kernels compute
	scalar                  string // PyTorch's ScalarType
	storage                 bool   // PyTorch's files have a storage class of it
	epsilon, smallestNormal float64
	numpy, safetensors      string // names in the formats, or ""
	exported                int64  // number in exported programs, or 0
}

// rows are the indices of dtypes in tables with one row for each of All; the other dtypes share the row after these.
var rows = func() (r [named + 1]uint8) {
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
	if d < 0 || d > named {
		return "none"
	}
	return table[d].name
}

// ScalarType is PyTorch's name of the dtype in errors and types, such as "Float".
func (d DType) ScalarType() string {
	if d < 0 || d > named {
		return "Undefined"
	}
	return table[d].scalar
}

// StorageClass returns the name of PyTorch's class of storages of the dtype, such as "FloatStorage"; "" for dtypes of untyped storages.
func (d DType) StorageClass() string {
	if d == None || !table[d].storage {
		return ""
	}
	return table[d].scalar + "Storage"
}

// NumPyType returns NumPy's type string without the byte order, such as "f4"; "" for dtypes that NumPy does not have.
func (d DType) NumPyType() string { return table[d].numpy }

// SafetensorsName returns the name of the dtype in the safetensors format, such as "F32"; "" for dtypes that the format does not have.
func (d DType) SafetensorsName() string { return table[d].safetensors }

// OfExported returns the dtype of a number in PyTorch's exported programs.
func OfExported(number int64) (DType, bool) {
	for d := range table {
		if number > 0 && table[d].exported == number {
			return DType(d), true
		}
	}
	return None, false
}

// Named returns all dtypes, in the order of their numbers.
func Named() []DType {
	all := make([]DType, named)
	for i := range all {
		all[i] = DType(i)
	}
	return all
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
	return table[d].compute
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
	for d := range DType(named) {
		if d.IsFloat8() {
			m[d.String()] = d
		}
	}
	return m
}()

// SmallestNormal returns the smallest positive normal number of a floating dtype, or of the parts of a complex one.
func (d DType) SmallestNormal() float64 { return table[d.ToReal()].smallestNormal }

// Epsilon returns the distance from 1 to the next larger number of a floating dtype, or of the parts of a complex one.
func (d DType) Epsilon() float64 { return table[d.ToReal()].epsilon }
