package dtype

// Promote returns the smallest dtype that holds every value of a and b (PyTorch's promote_types), Unpromoted of an eight-bit float and
// another dtype.
func Promote(a, b DType) DType { return lattice[a][b] }

var lattice = func() (t [named + 1][named + 1]DType) {
	for a := DType(0); a <= named; a++ {
		for b := DType(0); b <= named; b++ {
			t[a][b] = joinDTypes(a, b)
		}
	}
	return t
}()

func joinDTypes(a, b DType) DType {
	if a == b || a.IsQuantized() { // which no operator computes in
		return a
	}
	if b.IsQuantized() {
		return b
	}
	if a.IsFloat8() || b.IsFloat8() || a == Unpromoted || b == Unpromoted {
		return Unpromoted
	}
	ca, cb := a.Category(), b.Category()
	if ca < cb {
		a, b, ca, cb = b, a, cb, ca
	}
	switch {
	case ca == Complex:
		// A real operand must fit the parts; integers fit any.
		if cb < Floating {
			return a
		}
		return joinReal(a.ToReal(), b.ToReal()).ToComplex()
	case ca == Floating && cb == Floating:
		return joinReal(a, b)
	case ca == Integral && cb == Integral:
		return joinIntegral(a, b)
	}
	return a
}

// joinReal joins two floating dtypes; the two 16-bit formats hold each other's values only in 32 bits.
func joinReal(a, b DType) DType {
	switch {
	case a == b:
		return a
	case a.Size() == b.Size():
		return Float32
	}
	return selectWider(a, b)
}

// joinIntegral joins two integer dtypes: a signed one holds unsigned ones of fewer bits. No integer dtype holds uint64 and signed integers,
// which are promoted to float64, as in NumPy.
func joinIntegral(a, b DType) DType {
	if a.IsSigned() == b.IsSigned() {
		return selectWider(a, b)
	}
	if b.IsSigned() {
		a, b = b, a
	}
	if a.Size() > b.Size() {
		return a
	}
	return wideSigned[b]
}

// wideSigned maps unsigned dtypes to the signed ones that hold their values.
var wideSigned = map[DType]DType{Uint8: Int16, Uint16: Int32, Uint32: Int64, Uint64: Float64}

func selectWider(a, b DType) DType {
	if a.Size() < b.Size() {
		return b
	}
	return a
}

// CanCast reports whether a result of dtype from may be written to an output of dtype to: an output of a lower category (complex, floating,
// integral, bool) is rejected.
func CanCast(from, to DType) bool { return from.Category() <= to.Category() }
