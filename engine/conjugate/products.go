package conjugate

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// Matrix products pass conjugated matrices on without resolving them, because BLAS can conjugate a transposed operand. Devices whose BLAS
// cannot resolve them.

// resolveFactor returns t if only its conjugate bit is set, and t resolved otherwise.
func (s *scope) resolveFactor(t *tensor.Tensor) *tensor.Tensor {
	if t.Lazy() == tensor.Conjugate {
		return t
	}
	return s.resolveOperand(t)
}

// runWithOut executes an operator with the output out. If out has a key, the operator writes to a resolved copy, which is then copied
// back.
func (s *scope) runWithOut(out *tensor.Tensor, run func(out *tensor.Tensor) (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	if out == nil || out.Lazy() == 0 {
		return run(out)
	}
	s.Check(tensoriter.Fillable(s.Op, out))
	made := s.resolveOperand(out)
	s.CheckWritten(run(made))
	s.writeBack(out, made)
	return out, nil
}

// runProduct executes a matrix product of a and b.
func runProduct(c dispatch.Context, op string, out, a, b *tensor.Tensor,
	run func(c dispatch.Context, out, a, b *tensor.Tensor) (*tensor.Tensor, error)) (_ *tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	a, b = s.resolveFactor(a), s.resolveFactor(b)
	return s.runWithOut(out, func(out *tensor.Tensor) (*tensor.Tensor, error) { return run(c.Excluding(tensor.Lazy), out, a, b) })
}

func mm(c dispatch.Context, out, self, mat2 *tensor.Tensor) (*tensor.Tensor, error) {
	return runProduct(c, "mm", out, self, mat2, dispatch.Context.Mm)
}

func bmm(c dispatch.Context, out, self, mat2 *tensor.Tensor) (*tensor.Tensor, error) {
	return runProduct(c, "bmm", out, self, mat2, dispatch.Context.Bmm)
}

// runAddedProduct executes a matrix product of a and b with an added tensor self, such as addmm.
func runAddedProduct(c dispatch.Context, op string, out, self, a, b *tensor.Tensor,
	run func(c dispatch.Context, out, self, a, b *tensor.Tensor) (*tensor.Tensor, error)) (_ *tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	a, b = s.resolveFactor(a), s.resolveFactor(b)
	read := s.resolveOperand(self)
	return s.runWithOut(out, func(to *tensor.Tensor) (*tensor.Tensor, error) {
		if out != nil && out == self {
			read = to
		}
		return run(c.Excluding(tensor.Lazy), to, read, a, b)
	})
}

func addmm(c dispatch.Context, out, self, mat1, mat2 *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	return runAddedProduct(c, "addmm", out, self, mat1, mat2,
		func(c dispatch.Context, out, self, a, b *tensor.Tensor) (*tensor.Tensor, error) {
			return c.Addmm(out, self, a, b, beta, alpha)
		})
}

func baddbmm(c dispatch.Context, out, self, batch1, batch2 *tensor.Tensor, beta, alpha dtype.Scalar) (*tensor.Tensor, error) {
	return runAddedProduct(c, "baddbmm", out, self, batch1, batch2,
		func(c dispatch.Context, out, self, a, b *tensor.Tensor) (*tensor.Tensor, error) {
			return c.Baddbmm(out, self, a, b, beta, alpha)
		})
}

// mv implements Mv with a resolved vector.
func mv(c dispatch.Context, out, self, vec *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "mv")
	defer s.Close(&err)
	vec = s.resolveOperand(vec)
	return runProduct(c, "mv", out, self, vec, dispatch.Context.Mv)
}

// dot is Dot. If exactly one vector is conjugated, it computes Vdot of the unconjugated ones.
func dot(c dispatch.Context, out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return runInnerProduct(c, "dot", out, self, other, false)
}

// vdot is Vdot, which conjugates its first vector.
func vdot(c dispatch.Context, out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return runInnerProduct(c, "vdot", out, self, other, true)
}

// runInnerProduct returns the dot product of two vectors, the first of which is conjugated if first is true.
func runInnerProduct(c dispatch.Context, op string, out, a, b *tensor.Tensor, first bool) (_ *tensor.Tensor, err error) {
	run := dispatch.Context.Dot
	if first {
		run = dispatch.Context.Vdot
	}
	s := newScope(c, op)
	defer s.Close(&err)
	isConjugated := func(t *tensor.Tensor) bool { return t.Lazy() == tensor.Conjugate }
	if out != nil || a.DType() != b.DType() || isConjugated(a) == isConjugated(b) || (a.Lazy()|b.Lazy())&tensor.Negative != 0 || first &&
		isConjugated(b) {
		a, b = s.resolveOperand(a), s.resolveOperand(b)
		return s.runWithOut(out, func(out *tensor.Tensor) (*tensor.Tensor, error) { return run(c.Excluding(tensor.Lazy), out, a, b) })
	}
	if isConjugated(b) { // dot(a, conj(b)) = vdot(b, a)
		a, b = b, a
	}
	run = dispatch.Context.Vdot
	if first {
		run = dispatch.Context.Dot
	}
	a = s.Track(a.WithLazy(0), nil)
	return run(c.Excluding(tensor.Lazy), nil, a, b)
}

// matmul is Matmul. For vectors, matrices and batches of matrices of equal size it calls dot, mv, mm or bmm, which do not resolve
// conjugated operands.
func matmul(c dispatch.Context, out, self, other *tensor.Tensor) (_ *tensor.Tensor, err error) {
	switch [2]int{self.Dim(), other.Dim()} {
	case [2]int{1, 1}:
		return dot(c, out, self, other)
	case [2]int{2, 1}:
		return mv(c, out, self, other)
	case [2]int{2, 2}:
		return mm(c, out, self, other)
	case [2]int{3, 3}:
		if self.Sizes()[0] == other.Sizes()[0] {
			return bmm(c, out, self, other)
		}
	}
	s := newScope(c, "matmul")
	defer s.Close(&err)
	self, other = s.resolveOperand(self), s.resolveOperand(other)
	return s.runWithOut(out, func(out *tensor.Tensor) (*tensor.Tensor, error) {
		return c.Excluding(tensor.Lazy).Matmul(out, self, other)
	})
}
