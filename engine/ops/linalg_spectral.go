package ops

import (
	"cmp"
	"strings"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// LinalgEigh returns the eigenvalues, in rising order, and the eigenvectors of matrices of which one triangle is read.
func LinalgEigh(outValues, outVectors, self *tensor.Tensor, uplo string) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "linalg.eigh"
	if err := cmp.Or(CheckSquare(op, "A", self), checkTriangle(op, uplo)); err != nil {
		return nil, nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	values, vectors := s.eigenHermitian(self, uplo, true)
	r, err := s.writeResults([]string{"eigenvalues", "eigenvectors"}, []*tensor.Tensor{outValues, outVectors},
		s.castPreservingLayout(values, self.DType().ToReal()), s.castPreservingLayout(vectors, self.DType()))
	return r[0], r[1], err
}

// LinalgEigvalsh is LinalgEigh without the vectors.
func LinalgEigvalsh(out, self *tensor.Tensor, uplo string) (_ *tensor.Tensor, err error) {
	const op = "linalg.eigvalsh"
	if err := cmp.Or(CheckSquare(op, "A", self), checkTriangle(op, uplo)); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	values, _ := s.eigenHermitian(self, uplo, false)
	r, err := s.writeResults([]string{"out"}, []*tensor.Tensor{out}, s.castPreservingLayout(values, self.DType().ToReal()))
	return r[0], err
}

func checkTriangle(op, uplo string) error { return CheckWord(op, "UPLO", uplo, "L", "U", "l", "u") }

// eigenHermitian returns eigenvalues and, if vectors is set, eigenvectors of Hermitian matrices.
func (s *scope) eigenHermitian(self *tensor.Tensor, uplo string, vectors bool) (values, a *tensor.Tensor) {
	a = s.copyInColumns(self)
	values = s.newEmpty(self, self.DType().Compute().ToReal(), self.Sizes()[:self.Dim()-1]...)
	info := s.newInfos(self, shape.Batch(self.Sizes()))
	w := backend.LinearAlgebra{Task: backend.EigenHermitian, A: a, Values: values, Info: info, Upper: strings.EqualFold(uplo, "U")}
	if vectors {
		w.V = a
	}
	s.runLinearAlgebra(w)
	s.checkInfo(true, info, NoConvergence)
	return values, a
}

// LinalgEig returns eigenvalues and eigenvectors, which are complex.
func LinalgEig(outValues, outVectors, self *tensor.Tensor) (_ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "linalg.eig"
	if err := CheckSquare(op, "A", self); err != nil {
		return nil, nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	values, vectors := s.eigenGeneral(self, true)
	d := self.DType().ToComplex()
	r, err := s.writeResultsCast([]string{"eigenvalues", "eigenvectors"}, []*tensor.Tensor{outValues, outVectors},
		s.castPreservingLayout(values, d), s.castPreservingLayout(vectors, d))
	return r[0], r[1], err
}

// LinalgEigvals is LinalgEig without the vectors.
func LinalgEigvals(out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	const op = "linalg.eigvals"
	if err := CheckSquare(op, "A", self); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	values, _ := s.eigenGeneral(self, false)
	return FinishCast(&s.Scope, out, s.castPreservingLayout(values, self.DType().ToComplex()))
}

// eigenGeneral returns eigenvalues and, if wanted is set, eigenvectors of general matrices.
func (s *scope) eigenGeneral(self *tensor.Tensor, wanted bool) (values, vectors *tensor.Tensor) {
	d := self.DType().Compute().ToComplex()
	a := s.copyInColumns(self)
	values = s.newEmpty(self, d, self.Sizes()[:self.Dim()-1]...)
	if wanted {
		vectors = s.newColumns(self, d, self.Sizes())
	}
	info := s.newInfos(self, shape.Batch(self.Sizes()))
	s.runLinearAlgebra(backend.LinearAlgebra{Task: backend.EigenGeneral, A: a, Values: values, V: vectors, Info: info})
	s.checkInfo(true, info, NoConvergence)
	return values, vectors
}

// checkDriver returns an error for a way to compute singular values: there is one.
func checkDriver(op, driver string) error {
	if driver != "" {
		return status.Runtimef("%s: driver is only supported on CUDA, but got %q; omit it", op, driver)
	}
	return nil
}

// LinalgSvd factors A = U diag(S) Vh.
func LinalgSvd(outU, outS, outVh, a *tensor.Tensor, fullMatrices bool,
	driver string) (_ *tensor.Tensor, _ *tensor.Tensor, _ *tensor.Tensor, err error) {
	const op = "linalg.svd"
	if err := CheckMatrices(op, "A", a); err != nil {
		return nil, nil, nil, err
	}
	if err := checkDriver(op, driver); err != nil {
		return nil, nil, nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	rows, columns := shape.Matrix(a.Sizes())
	left, right := min(rows, columns), min(rows, columns)
	if fullMatrices {
		left, right = rows, columns
	}
	d := a.DType().Compute()
	u := s.newColumns(a, d, shape.Append(shape.Batch(a.Sizes()), rows, left))
	vh := s.newColumns(a, d, shape.Append(shape.Batch(a.Sizes()), right, columns))
	if a.Numel() == 0 {
		for _, t := range []*tensor.Tensor{u, vh} {
			s.fillIdentity(t)
		}
	}
	values := s.singularValues(a, u, vh)
	r, err := s.writeResults([]string{"U", "S", "Vh"}, []*tensor.Tensor{outU, outS, outVh}, s.castPreservingLayout(u, a.DType()),
		s.castPreservingLayout(values, a.DType().ToReal()), s.castPreservingLayout(vh, a.DType()))
	return r[0], r[1], r[2], err
}

// LinalgSvdvals returns the singular values, in falling order.
func LinalgSvdvals(out, a *tensor.Tensor, driver string) (_ *tensor.Tensor, err error) {
	const op = "linalg.svdvals"
	if err := CheckMatrices(op, "A", a); err != nil {
		return nil, err
	}
	if err := checkDriver(op, driver); err != nil {
		return nil, err
	}
	s := newScope(op)
	defer s.Close(&err)
	values := s.singularValues(a, nil, nil)
	r, err := s.writeResults([]string{"out"}, []*tensor.Tensor{out}, s.castPreservingLayout(values, a.DType().ToReal()))
	return r[0], err
}

func (s *scope) singularValues(a, u, vh *tensor.Tensor) *tensor.Tensor {
	rows, columns := shape.Matrix(a.Sizes())
	d := a.DType().Compute()
	values := s.newEmpty(a, d.ToReal(), shape.Append(shape.Batch(a.Sizes()), min(rows, columns))...)
	info := s.newInfos(a, shape.Batch(a.Sizes()))
	s.runLinearAlgebra(backend.LinearAlgebra{Task: backend.SingularValues, A: s.copyInColumns(a), Values: values, U: u, V: vh, Info: info})
	s.checkInfo(true, info, NoConvergence)
	return values
}
