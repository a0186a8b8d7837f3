package file

// polynomial is CRC-32's, bits reflected: the highest bit is the coefficient of x^0.
const polynomial = 0xedb88320

// multiply multiplies two polynomials modulo CRC-32's.
func multiply(a, b uint32) uint32 {
	var product uint32
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			product ^= b
		}
		b = b>>1 ^ polynomial&-(b&1)
	}
	return product
}

// power returns x^(8n), the factor of a checksum for n more bytes.
func power(n int64) uint32 {
	result, square := uint32(1<<31), uint32(1<<23) // x^0 and x^8
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			result = multiply(result, square)
		}
		square = multiply(square, square)
	}
	return result
}

// Combine returns the CRC-32 of two runs of bytes one after the other, from the checksums of each and the second's length (the method of zlib's
// crc32_combine).
func Combine(first, second uint32, length int64) uint32 {
	return multiply(power(length), first) ^ second
}
