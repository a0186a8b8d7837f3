package ops

import "github.com/libtensor/libtensor/engine/tensor"

var (
	bitwiseAnd = newPointwise("bitwise_and", "bitwise_and", promote)
	bitwiseOr  = newPointwise("bitwise_or", "bitwise_or", promote)
	bitwiseXor = newPointwise("bitwise_xor", "bitwise_xor", promote)
	bitwiseNot = newExact("bitwise_not", "bitwise_not", promote)
	shiftLeft  = newPointwise("bitwise_left_shift", "bitwise_left_shift", promote)
	shiftRight = newPointwise("bitwise_right_shift", "bitwise_right_shift", promote)
)

// BitwiseAnd combines the bits of bool and integers.
func BitwiseAnd(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return bitwiseAnd.run(out, nil, self, other)
}

// BitwiseOr combines the bits of bool and integers.
func BitwiseOr(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return bitwiseOr.run(out, nil, self, other)
}

// BitwiseXor combines the bits of bool and integers.
func BitwiseXor(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return bitwiseXor.run(out, nil, self, other)
}

// BitwiseNot inverts the bits of integers, and bool.
func BitwiseNot(out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return bitwiseNot.run(out, nil, self)
}

// BitwiseLeftShift shifts integers by other places.
func BitwiseLeftShift(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return shiftLeft.run(out, nil, self, other)
}

// BitwiseRightShift shifts integers by other places, copying the sign.
func BitwiseRightShift(out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return shiftRight.run(out, nil, self, other)
}
