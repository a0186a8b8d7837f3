package ops

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/view"
)

// CheckInexact returns an error for integers and bool.
func CheckInexact(op, name string, t *tensor.Tensor) error {
	if t.DType().Category() < dtype.Floating {
		return status.NotImplementedf("%s: expected a floating point or complex tensor as %s, got %v", op, name, t.DType())
	}
	return nil
}

// CheckMatrices returns an error unless t is a matrix, or a batch of matrices, of a floating-point or complex dtype.
func CheckMatrices(op, name string, t *tensor.Tensor) error {
	return cmp.Or(checkMatrixShape(op, name, t), CheckInexact(op, name, t))
}

func checkMatrixShape(op, name string, t *tensor.Tensor) error {
	if t.Dim() < 2 {
		return status.Runtimef("%s: the input tensor %s must have at least 2 dimensions, got shape %v", op, name, t.Sizes())
	}
	return nil
}

// CheckSquare is CheckMatrices for square ones.
func CheckSquare(op, name string, t *tensor.Tensor) error {
	if err := CheckMatrices(op, name, t); err != nil {
		return err
	}
	if rows, columns := shape.Matrix(t.Sizes()); rows != columns {
		return status.Runtimef("%s: %s must be batches of square matrices, but they are %d by %d matrices", op, name, rows, columns)
	}
	return nil
}

// CheckWord returns an error for a text that an argument cannot be.
func CheckWord(op, name, word string, words ...string) error {
	if !slices.Contains(words, word) {
		known := "'" + strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), "', '") + "'"
		return status.Runtimef("%s: %s must be one of %s, got %q", op, name, known, word)
	}
	return nil
}

// checkAlike returns an error for tensors of other dtypes or devices than the first one's.
func checkAlike(op string, names []string, tensors ...*tensor.Tensor) error {
	first := tensors[0]
	for i, t := range tensors[1:] {
		if t.DType() != first.DType() {
			return status.Runtimef("%s: expected %s and %s to have the same dtype, but found %v and %v", op, names[0], names[i+1], first.DType(),
				t.DType())
		}
	}
	_, err := tensoriter.Device(op, tensors...)
	return err
}

// CheckPivots returns an error unless pivots is int32, as factorizations return it, and on the same device as the factors.
func CheckPivots(op, name string, factors, pivots *tensor.Tensor) error {
	if pivots.DType() != dtype.Int32 {
		return status.Runtimef("%s: expected %s to be int32, the dtype that factorizations return, but got %v", op, name, pivots.DType())
	}
	_, err := tensoriter.Device(op, factors, pivots)
	return err
}

// columnStrides returns those of matrices in column-major order, one after another.
func columnStrides(sizes []int64) []int64 {
	turned := slices.Clone(sizes)
	n := len(sizes)
	turned[n-1], turned[n-2] = turned[n-2], turned[n-1]
	strides := shape.ContiguousStrides(turned)
	strides[n-1], strides[n-2] = strides[n-2], strides[n-1]
	return strides
}

// newColumns creates matrices of arbitrary values in column-major order.
func (s *scope) newColumns(like *tensor.Tensor, d dtype.DType, sizes []int64) *tensor.Tensor {
	_, err := shape.Numel(s.Op, sizes)
	s.Check(err)
	return s.Track(tensor.EmptyStrided(s.Op, sizes, columnStrides(sizes), d, like.Device()))
}

// copyInColumns returns a copy of matrices in column-major order and in the dtype that they are computed in.
func (s *scope) copyInColumns(t *tensor.Tensor) *tensor.Tensor {
	to := s.newColumns(t, t.DType().Compute(), t.Sizes())
	s.copyTensor(to, t)
	return to
}

// transposeMatrices returns matrices transposed, as a view.
func (s *scope) transposeMatrices(t *tensor.Tensor) *tensor.Tensor {
	return s.Track(view.Transpose(s.Op, nil, t, -2, -1))
}

// newInfos creates an int32 of 0 for each matrix of a batch.
func (s *scope) newInfos(like *tensor.Tensor, batch []int64) *tensor.Tensor {
	return s.Track(tensor.Zeros(s.Op, batch, dtype.Int32, like.Device()))
}

// runLinearAlgebra launches a task.
func (s *scope) runLinearAlgebra(w backend.LinearAlgebra) {
	if w.A.DType().IsFloat8() {
		s.Check(status.NotImplementedf("%s: not implemented for dtype %v; convert to float32 or float64", s.Op, w.A.DType()))
	}
	s.Check(backend.On(w.A).LinearAlgebra(s.Op, w))
}

// clearTriangle zeroes the elements above the diagonal of column-major matrices, or below it.
func (s *scope) clearTriangle(t *tensor.Tensor, below bool) {
	turned := s.transposeMatrices(t)
	s.Check(backend.On(t).Triangle(s.Op, backend.Triangle{To: turned, Below: !below}))
}

// castPreservingLayout returns a result in another dtype, with the same layout.
func (s *scope) castPreservingLayout(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	return s.Track(convertDType(s.Op, t, d))
}

// writeResults returns results, or writes them to outs, which are checked before any of them is written.
func (s *scope) writeResults(names []string, outs []*tensor.Tensor, made ...*tensor.Tensor) (r [4]*tensor.Tensor, err error) {
	return Finish(&s.Scope, names, outs, made...)
}

// Finish hands the results of a scope over, or writes them to outs, which have names in errors and are checked before any of them is
// written.
func Finish(s *owner.Scope, names []string, outs []*tensor.Tensor, made ...*tensor.Tensor) (r [4]*tensor.Tensor, err error) {
	return writeOutputs(s, true, names, outs, made)
}

// writeResultsCast is writeResults for outs of dtypes that numeric results can be cast to; the dtypes of indices and ranks must match.
func (s *scope) writeResultsCast(names []string, outs []*tensor.Tensor, made ...*tensor.Tensor) (r [4]*tensor.Tensor, err error) {
	return writeOutputs(&s.Scope, false, names, outs, made)
}

func writeOutputs(s *owner.Scope, exact bool, names []string, outs, made []*tensor.Tensor) (r [4]*tensor.Tensor, err error) {
	if !slices.ContainsFunc(outs, func(t *tensor.Tensor) bool { return t != nil }) {
		for i, t := range made {
			r[i], _ = s.Return(t)
		}
		return r, nil
	}
	var outputs []*tensoriter.Output
	for i, t := range made {
		if err := checkWritable(s.Op, t); err != nil {
			return r, err
		}
		to := newOutput(s.Op, outs[i], t)
		to.Exact = exact || !t.DType().IsFloatingPoint() && !t.DType().IsComplex()
		if to.Sharing = tensoriter.Beside; shape.IsDense(t.Sizes(), t.Strides()) {
			to.Strides = t.Strides()
		}
		if len(made) > 1 {
			to.Name = names[i]
		}
		outputs = append(outputs, &to)
	}
	err = tensoriter.OpenAll(outputs, made...)
	for i, o := range outputs {
		if err == nil {
			err = o.CopyFrom(made[i])
		}
	}
	err = tensoriter.DoneAll(outputs, err)
	for i, o := range outputs {
		r[i] = o.To
	}
	return r, err
}

// FinishCast hands a result over, or writes it to an out of any dtype that it can be cast to.
func FinishCast(s *owner.Scope, out, t *tensor.Tensor) (*tensor.Tensor, error) {
	if out == nil {
		return s.Return(t)
	}
	to := newOutput(s.Op, out, t)
	to.Exact = false
	if out.Numel() == 0 && out.DType() == t.DType() && shape.IsDense(t.Sizes(), t.Strides()) {
		to.Strides = t.Strides()
	}
	return writeOutput(to, t, nil)
}

// Failure describes a positive info value of a matrix.
type Failure func(info int64) string

// CheckInfo returns LAPACK's error for the first failing matrix of a batch.
func CheckInfo(op string, info *tensor.Tensor, why Failure) error {
	if !backend.Known(info) {
		return nil
	}
	infos, err := backend.Int32s(op, info)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(infos, func(v int32) bool { return v != 0 })
	if at < 0 {
		return nil
	}
	text := "the algorithm failed to converge because the input matrix contained non-finite values"
	if infos[at] != backend.NotFinite {
		text = why(int64(infos[at]))
	}
	if info.Dim() > 0 {
		text = fmt.Sprintf("(batch element %d): %s", at, text)
	}
	return status.Linalgf("%s: %s", op, text)
}

// The failures.
var (
	NotDefinite Failure = func(i int64) string {
		return fmt.Sprintf("the factorization could not be completed because the input is not positive-definite (the leading minor of order %d is not positive-definite)",
			i)
	}
	SingularInverse Failure = func(i int64) string {
		return fmt.Sprintf("the diagonal element %d is zero, the inversion could not be completed because the input matrix is singular", i)
	}
	SingularSolve Failure = func(int64) string { return "the solver failed because the input matrix is singular" }
	SingularLU    Failure = func(i int64) string {
		return fmt.Sprintf("U[%d,%d] is zero and using it on lu_solve would result in a division by zero; if you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
			i, i)
	}
	SingularLDL Failure = func(i int64) string {
		return fmt.Sprintf("D[%d,%d] is zero and using it on ldl_solve would result in a division by zero", i, i)
	}
	NoConvergence Failure = func(i int64) string {
		return fmt.Sprintf("the algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated eigenvalues or singular values (error code: %d)",
			i)
	}
	RankDeficient Failure = func(i int64) string {
		return fmt.Sprintf("the least squares solution could not be computed because the input matrix does not have full rank (error code: %d)",
			i)
	}
)

// checkInfo is CheckInfo if wanted is set.
func (s *scope) checkInfo(wanted bool, info *tensor.Tensor, why Failure) {
	if wanted {
		s.Check(CheckInfo(s.Op, info, why))
	}
}

// commonBatch broadcasts the batches of matrices.
func commonBatch(op string, a, b *tensor.Tensor) ([]int64, error) {
	return shape.Broadcast(op, shape.Batch(a.Sizes()), shape.Batch(b.Sizes()))
}

// expandBatch views matrices, or repeats them, over a larger batch.
func (s *scope) expandBatch(t *tensor.Tensor, batch []int64) *tensor.Tensor {
	if slices.Equal(shape.Batch(t.Sizes()), batch) {
		return t
	}
	rows, columns := shape.Matrix(t.Sizes())
	return s.expandTo(t, shape.Append(batch, rows, columns))
}

// IsVector reports whether b, the right-hand side of matrices a, is a vector or a batch of vectors.
func IsVector(a, b *tensor.Tensor) bool {
	return b.Dim() == 1 || a.Dim()-1 == b.Dim() && slices.Equal(b.Sizes(), a.Sizes()[:a.Dim()-1])
}

// checkPair returns an error unless both tensors are matrices of the same dtype and device, and the first is square.
func checkPair(op, nameA, nameB string, a, b *tensor.Tensor) error {
	return cmp.Or(CheckSquare(op, nameA, a), checkAlike(op, []string{nameA, nameB}, a, b))
}
