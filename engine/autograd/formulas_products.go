package autograd

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// adjointOf returns a matrix, or each of a stack of them, transposed and conjugated. One number is its own transpose.
func (s *steps) adjointOf(t *tensor.Tensor) *tensor.Tensor {
	if t.Dim() == 0 {
		return s.conj(t)
	}
	return s.conj(s.Transpose(t, -2, -1))
}

// productLike returns the product of two matrices, in columns where an operand with these strides is, such as the weights of a linear
// layer, which are multiplied transposed.
func (s *steps) productLike(a, b *tensor.Tensor, strides []int64) *tensor.Tensor {
	if strides[0] != 1 || strides[1] != a.Sizes()[0] {
		return s.Mm(a, b)
	}
	turned := func(t *tensor.Tensor) *tensor.Tensor { return s.Transpose(t, 0, 1) }
	return turned(s.Mm(turned(b), turned(a)))
}

// productsLike is productLike, or the products of stacks of matrices.
func (s *steps) productsLike(a, b *tensor.Tensor, strides []int64) *tensor.Tensor {
	if len(strides) == 2 && a.Dim() == 2 && b.Dim() == 2 {
		return s.productLike(a, b, strides)
	}
	return s.Matmul(a, b)
}

// crossAlong returns the cross product along dim, the first dimension of size 3 by default.
func (s *steps) crossAlong(a, b *tensor.Tensor, sizes []int64, dim ops.Int) *tensor.Tensor {
	return s.LinalgCrossWith(a, b, dim.Or(int64(slices.Index(sizes, 3))))
}

// matmulLeft and matmulRight are the gradients of the operands of a matrix product; vectors count as matrices of one row or
// column.
func (s *steps) matmulLeft(grad *tensor.Tensor, sizes, strides []int64, other *tensor.Tensor) *tensor.Tensor {
	grad = s.asProduct(grad, len(sizes), other.Dim())
	if other.Dim() == 1 {
		other = s.Unsqueeze(other, 1)
	}
	// all matrices of the batch, concatenated along the columns, form one product, which also sums them
	if len(sizes) <= 2 && other.Dim() > 2 {
		grad, other = s.sideBySide(grad), s.sideBySide(other)
	}
	made := s.productsLike(grad, s.adjointOf(other), strides)
	if len(sizes) > 1 {
		return made
	}
	return s.SumToSize(s.SqueezeDim(made, -2), sizes...)
}

// sideBySide returns one matrix of all columns of a batch.
func (s *steps) sideBySide(t *tensor.Tensor) *tensor.Tensor {
	rows := t.Sizes()[t.Dim()-2]
	columns := shape.Product(t.Sizes()[:t.Dim()-2]) * t.Sizes()[t.Dim()-1]
	return s.Reshape(s.Movedim(t, -2, 0), rows, columns)
}

func (s *steps) matmulRight(grad, self *tensor.Tensor, sizes, strides []int64) *tensor.Tensor {
	grad = s.asProduct(grad, self.Dim(), len(sizes))
	if self.Dim() == 1 {
		self = s.Unsqueeze(self, 0)
	}
	if len(sizes) <= 2 && self.Dim() > 2 {
		rows := shape.Product(self.Sizes()[:self.Dim()-1])
		self = s.Reshape(self, rows, self.Sizes()[self.Dim()-1])
		grad = s.Reshape(grad, rows, grad.Sizes()[grad.Dim()-1])
	}
	made := s.productsLike(s.adjointOf(self), grad, strides)
	if len(sizes) > 1 {
		return made
	}
	return s.SqueezeDim(made, -1)
}

// asProduct returns the gradient of a product the dimensions that it would have had for matrices.
func (s *steps) asProduct(grad *tensor.Tensor, left, right int) *tensor.Tensor {
	if right == 1 {
		grad = s.Unsqueeze(grad, -1)
	}
	if left == 1 {
		grad = s.Unsqueeze(grad, -2)
	}
	return grad
}

// cdistGradient returns the gradient of the distances of the rows of x1 and x2, with respect to x1: from matrix products if the distances
// use them.
func (s *steps) cdistGradient(grad, x1, x2 *tensor.Tensor, p float64, mode string, result *tensor.Tensor) *tensor.Tensor {
	if p == 0 {
		return s.zerosLike(x1)
	}
	x1, x2 = s.castTo(x1, result.DType()), s.castTo(x2, result.DType())
	products, err := ops.ByProducts("cdist", mode, x1.Sizes()[x1.Dim()-2], x2.Sizes()[x2.Dim()-2])
	s.Check(err)
	if p == 2 && products {
		return s.evaluateSeparately(func(s *steps) *tensor.Tensor {
			weights := s.divideByPower(grad, result, 1)
			near := s.Matmul(weights, x2)
			return s.sub(s.mul(x1, s.releaseUsed(weights, s.sumOver(weights, -1))), near)
		})
	}
	batch := grad.Sizes()[:grad.Dim()-2]
	wide := func(t *tensor.Tensor) *tensor.Tensor {
		return s.Expand(t, slices.Concat(batch, t.Sizes()[t.Dim()-2:])...)
	}
	return s.distanceGradient(grad, wide(x1), wide(x2), p, result)
}

// pdistGradient returns that of the distances of the rows of self to each other: of the matrix of all of them, which is symmetric.
func (s *steps) pdistGradient(grad, self *tensor.Tensor, p float64, result *tensor.Tensor) *tensor.Tensor {
	n := self.Sizes()[0]
	if grad.Numel() == 0 {
		return s.dependOn(s.zerosLike(self), self)
	}
	row := s.ArangeWith(dtype.IntScalar(n), dtype.Int64, tensor.NoLayout, self.Device())
	column := s.Unsqueeze(row, 1)
	first, second := s.Minimum(row, column), s.Maximum(row, column)
	twice := s.mul(first, s.sub(s.int(2*n-3), first)) // of the pairs before those of a row, and the excess of second
	place := s.add(s.FloorDivide(twice, s.int(2)), s.sub(second, s.int(1)))
	places := s.Reshape(s.ClampMin(place, s.int(0)), -1)
	square := func(t *tensor.Tensor) *tensor.Tensor {
		all := s.Reshape(s.IndexSelect(t, 0, places), n, n)
		return s.zeroWhere(all, s.Eq(row, column))
	}
	return s.cdistGradient(square(grad), self, self, p, "donot_use_mm_for_euclid_dist", square(result))
}

// distanceGradient is cdistGradient from differences, for blocks of rows, or of matrices of a batch, of limited size.
func (s *steps) distanceGradient(grad, x1, x2 *tensor.Tensor, p float64, result *tensor.Tensor) *tensor.Tensor {
	sizes, rows := grad.Sizes(), grad.Dim()-2
	d := slices.IndexFunc(sizes[:rows+1], func(n int64) bool { return n > 1 })
	all := grad.Numel() * x2.Sizes()[rows+1]
	if d < 0 || all <= slab {
		return s.evaluateSeparately(func(s *steps) *tensor.Tensor { return s.differencesGradient(grad, x1, x2, p, result) })
	}
	step := max(1, slab/(all/sizes[d]))
	var pieces []*tensor.Tensor
	for at := int64(0); at < sizes[d]; at += step {
		some := func(t *tensor.Tensor) *tensor.Tensor { return s.Narrow(t, int64(d), at, min(step, sizes[d]-at)) }
		other := x2
		if d < rows {
			other = some(x2)
		}
		pieces = append(pieces, s.distanceGradient(some(grad), some(x1), other, p, some(result)))
	}
	return s.Cat(pieces, int64(d))
}

func (s *steps) differencesGradient(grad, x1, x2 *tensor.Tensor, p float64, result *tensor.Tensor) *tensor.Tensor {
	slope := s.sub(s.Unsqueeze(x1, -2), s.Unsqueeze(x2, -3))
	weights := grad
	switch {
	case p == 1:
		slope = s.Where(s.Isnan(slope), slope, s.Sgn(slope))
	case p == 2:
		weights = s.divideByPower(grad, result, 1)
	case math.IsInf(p, 0):
		distance := s.Unsqueeze(result, -1)
		none := s.Isnan(distance)
		each := s.mul(s.Unsqueeze(weights, -1), s.Where(none, distance, s.Sgn(slope)))
		return s.Sum(s.Where(s.LogicalOr(none, s.Eq(s.Abs(slope), distance)), each, s.int(0)), []int64{-2}, false)
	default:
		weights = s.divideByPower(grad, result, p-1)
		// The power of zero may have no derivative. Its factor is 0, so that any finite value serves.
		lengths := s.Where(s.isZero(slope), s.int(1), s.Abs(slope))
		slope = s.mul(s.Sgn(slope), s.Pow(lengths, s.float(p-1)))
	}
	return s.SqueezeDim(s.Matmul(s.Unsqueeze(weights, -2), slope), -2)
}

// divideByPower returns a gradient divided by a power of the distances, 0 where these are: for derivatives of this one too.
func (s *steps) divideByPower(grad, distances *tensor.Tensor, power float64) *tensor.Tensor {
	zero := s.isZero(distances)
	divisor := s.oneWhereZero(distances, zero)
	if power != 1 {
		divisor = s.releaseUsed(divisor, s.Pow(divisor, s.float(power)))
	}
	return s.release(1, s.clearedOver(s.binary('/', grad, divisor, right), s.consume(zero)))
}
