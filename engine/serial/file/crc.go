package file

// polynomial is CRC-32's, bits reflected: the highest bit is the coefficient of x^0.
const polynomial = 0xedb88320

// multiplyPolynomials returns the product of two polynomials modulo the CRC-32 polynomial.
func multiplyPolynomials(a, b uint32) uint32 {
	var product uint32
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			product ^= b
		}
		b = b>>1 ^ polynomial&-(b&1)
	}
	return product
}

// powerOfX returns x^(8n) modulo the CRC-32 polynomial, the factor that appends n bytes to a checksum.
func powerOfX(n int64) uint32 {
	result, square := uint32(1<<31), uint32(1<<23) // x^0 and x^8
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			result = multiplyPolynomials(result, square)
		}
		square = multiplyPolynomials(square, square)
	}
	return result
}

// Combine returns the CRC-32 of two runs of bytes one after the other, from the checksums of each and the second's length (the method of
// zlib's crc32_combine).
func Combine(first, second uint32, length int64) uint32 {
	return multiplyPolynomials(powerOfX(length), first) ^ second
}
