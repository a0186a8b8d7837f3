package dtype

import (
	"math"
	"sync"
	"unsafe"
)

// The formats: E4M3FN, E5M2 and E8M0FNU of the OCP specifications, and the variants without infinity and negative zero of
// https://arxiv.org/abs/2206.02915. Numbers beyond the range become the largest one in E4M3FN, infinity in E5M2, and NaN in the others.
var float8Formats = [...]Float8Format{
	{Fraction: 3, Bias: 7, Largest: 0x7e, Overflow: 0x7e, NaN: 0x7f, IsSigned: 1},
	{Fraction: 2, Bias: 15, Largest: 0x7b, Overflow: 0x7c, NaN: 0x7f, IsSigned: 1},
	{Fraction: 3, Bias: 8, Largest: 0x7f, Overflow: 0x80, NaN: 0x80},
	{Fraction: 2, Bias: 16, Largest: 0x7f, Overflow: 0x80, NaN: 0x80},
	{Fraction: 0, Bias: 127, Largest: 0xfe, Overflow: 0xff, NaN: 0xff, Powers: 1},
}

func (d DType) float8() *Float8Format { return &float8Formats[d-Float8E4M3FN] }

// Float8 returns the format of an eight-bit float.
func (d DType) Float8() Float8Format { return *d.float8() }

func (f *Float8Format) smallestNormal() float64 {
	return math.Ldexp(1, 1-int(f.Bias)-int(f.Powers))
}

func (f *Float8Format) largest() float64 {
	return float64(math.Float32frombits(f.toFloat32Bits(uint8(f.Largest))))
}

// canHold reports whether a number that is not NaN is in the range of the format. Integers may be negative, or 0, in exponents alone,
// whose sign is dropped.
func (f *Float8Format) canHold(x float64, integer bool) bool {
	switch {
	case math.IsInf(x, 0):
		return f.IsSigned != 0 && f.Overflow > f.Largest
	case f.Powers != 0 && !integer:
		return x >= f.smallestNormal() && x <= f.largest()
	}
	return math.Abs(x) <= f.largest()
}

// Encode rounds x to the nearest number of the format, ties to even; those of exponents alone round up.
func (f *Float8Format) Encode(x float32) uint8 {
	bits := math.Float32bits(x)
	magnitude := bits &^ (1 << 31)
	if f.Powers != 0 {
		return f.encodePower(magnitude)
	}
	sign := bits >> 31 << 7
	drop := 23 - f.Fraction // bits of the fraction that are rounded away
	var code uint32
	switch {
	case magnitude > 0x7f800000:
		code = f.NaN
	case magnitude < uint32(128-f.Bias)<<23: // subnormal: adding a power of two rounds at the last place
		power := uint32(128-f.Bias+drop) << 23
		code = math.Float32bits(math.Float32frombits(magnitude)+math.Float32frombits(power)) - power
	default:
		rounded := magnitude + 1<<(drop-1) - 1 + magnitude>>drop&1
		code = rounded>>drop - uint32(127-f.Bias)<<f.Fraction
		if code > f.Largest {
			code = f.Overflow
		}
	}
	if f.IsSigned != 0 || code != 0 && code < f.Overflow {
		code |= sign
	}
	return uint8(code)
}

// encodePower is Encode for exponents alone. Numbers below the smallest one become it, and those above it round away from it.
func (f *Float8Format) encodePower(magnitude uint32) uint8 {
	if magnitude >= 0x7f800000 {
		return uint8(f.NaN)
	}
	if magnitude < 1<<23 {
		if magnitude > 1<<22 {
			return 1
		}
		return 0
	}
	return uint8((magnitude + 1<<22) >> 23)
}

// toFloat32Bits returns the number of a code as the bits of a float32.
func (f *Float8Format) toFloat32Bits(code uint8) uint32 {
	sign, magnitude := uint32(code&0x80)<<24, uint32(code&0x7f)
	if f.Powers != 0 {
		sign, magnitude = 0, uint32(code)
	}
	switch {
	case f.IsSigned == 0 && uint32(code) == f.NaN:
		return 0x7f800001
	case f.Powers != 0:
		return max(magnitude<<23, 1<<22)
	case magnitude == f.Overflow && f.Overflow > f.Largest:
		return sign | 0x7f800000
	case magnitude > f.Largest && f.Overflow > f.Largest:
		return sign | 0x7fc00000 | magnitude<<(23-f.Fraction)
	case magnitude > f.Largest:
		return sign | 0x7ff00000
	}
	number := float32(math.Ldexp(float64(magnitude), 1-int(f.Bias)-int(f.Fraction)))
	if exponent := magnitude >> f.Fraction; exponent != 0 {
		number = float32(math.Ldexp(float64(magnitude&(1<<f.Fraction-1)|1<<f.Fraction), int(exponent)-int(f.Bias)-int(f.Fraction)))
	}
	return sign | math.Float32bits(number)
}

// float8Numbers are the values of all codes of a format, as the bits of a float32. NaNs keep their payload.
var float8Numbers [len(float8Formats)]func() *[256]uint32

func init() {
	for i := range float8Formats {
		float8Numbers[i] = sync.OnceValue(func() *[256]uint32 {
			numbers := new([256]uint32)
			for code := range numbers {
				numbers[code] = float8Formats[i].toFloat32Bits(uint8(code))
			}
			return numbers
		})
	}
}

// Float8Numbers points to the numbers of all codes of an eight-bit float, as float32. They are never moved or freed.
func (d DType) Float8Numbers() unsafe.Pointer {
	return unsafe.Pointer(float8Numbers[d-Float8E4M3FN]())
}

// float8Codes are the codes of one format for those of another.
var float8Codes [len(float8Formats)][len(float8Formats)]func() *[256]uint8

func init() {
	for from := range float8Codes {
		for to := range float8Codes[from] {
			float8Codes[from][to] = sync.OnceValue(func() *[256]uint8 {
				codes := new([256]uint8)
				for code, bits := range float8Numbers[from]() {
					codes[code] = float8Formats[to].Encode(math.Float32frombits(bits))
				}
				return codes
			})
		}
	}
}

// Float8Codes points to the codes in another eight-bit float of the numbers of all codes of d. They are never moved or freed.
func (d DType) Float8Codes(to DType) unsafe.Pointer {
	return unsafe.Pointer(float8Codes[d-Float8E4M3FN][to-Float8E4M3FN]())
}

// Float8ToFloat32 returns the number of a code.
func (d DType) Float8ToFloat32(code uint8) float32 {
	return math.Float32frombits(float8Numbers[d-Float8E4M3FN]()[code])
}

// Float8FromFloat32 returns the code of the number of d nearest to x.
func (d DType) Float8FromFloat32(x float32) uint8 { return d.float8().Encode(x) }
