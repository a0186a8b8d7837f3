package composite

import (
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// finished hands results over, or writes them to outs.
func (s *scope) finished(names []string, outs []*tensor.Tensor, made ...*tensor.Tensor) (r [4]*tensor.Tensor, err error) {
	for i, out := range outs {
		made[i] = s.MatchLazyBits(made[i], out)
	}
	r, err = ops.Finish(s.Scope(), names, outs, made...)
	dispatch.BumpVersion(err, outs...)
	return r, err
}

// finishedCast hands a result over, or writes it to an out of any dtype that it can be cast to.
func (s *scope) finishedCast(out, t *tensor.Tensor) (*tensor.Tensor, error) {
	t = s.MatchLazyBits(t, out)
	r, err := ops.FinishCast(s.Scope(), out, t)
	dispatch.BumpVersion(err, out)
	return r, err
}

// checkInfo returns an error for matrices that could not be factored or solved.
func (s *scope) checkInfo(info *tensor.Tensor, why ops.Failure) {
	s.Check(ops.CheckInfo(s.Op, info, why))
}

// two and three track the results of intermediate ops with several results.
func (s *scope) two(f func() (*tensor.Tensor, *tensor.Tensor, error)) (a, b *tensor.Tensor) {
	a, b, err := f()
	return s.Track(a, err), s.Track(b, nil)
}

func (s *scope) three(f func() (*tensor.Tensor, *tensor.Tensor, *tensor.Tensor, error)) (a, b, c *tensor.Tensor) {
	a, b, c, err := f()
	return s.Track(a, err), s.Track(b, nil), s.Track(c, nil)
}

// turned views matrices with rows for columns, adjoint conjugates them too.
func (s *scope) turned(t *tensor.Tensor) *tensor.Tensor {
	return s.Transpose(t, -2, -1)
}

func (s *scope) adjoint(t *tensor.Tensor) *tensor.Tensor {
	if t.DType().IsComplex() {
		t = s.Conj(t)
	}
	return s.turned(t)
}

func (s *scope) matmul(a, b *tensor.Tensor) *tensor.Tensor { return s.Matmul(a, b) }

// firsts views the first n positions along dim.
func (s *scope) firsts(t *tensor.Tensor, dim int, n int64) *tensor.Tensor {
	return s.Narrow(t, int64(dim), 0, n)
}

func (s *scope) diagonalOf(t *tensor.Tensor) *tensor.Tensor {
	return s.Diagonal(t, 0, -2, -1)
}

// identity returns the n x n matrix with ones on the diagonal.
func (s *scope) identity(d dtype.DType, dev device.Device, n int64) *tensor.Tensor {
	return s.EyeWith(n, d, tensor.NoLayout, dev)
}

// wideEnough casts t to its compute dtype. Operators of several intermediate ops begin with it, so that 16-bit floats are rounded once.
func (s *scope) wideEnough(t *tensor.Tensor) *tensor.Tensor {
	return s.CastTo(t, t.DType().Compute())
}

// bothWide is wideEnough for two tensors of one dtype. Tensors of different dtypes are returned unchanged; later ops reject them.
func (s *scope) bothWide(a, b *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor) {
	if a.DType() != b.DType() {
		return a, b
	}
	return s.wideEnough(a), s.wideEnough(b)
}

// rounded converts t, computed from tensors of dtype d, back to d if d is below the compute precision.
func (s *scope) rounded(t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if d.Compute() == d {
		return t
	}
	return s.CastTo(t, d)
}

func (s *scope) greater(a, b *tensor.Tensor) *tensor.Tensor { return s.Gt(a, b) }

func (s *scope) largest(t *tensor.Tensor, keepdim bool, dims ...int64) *tensor.Tensor {
	return s.Amax(t, dims, keepdim)
}

func (s *scope) least(t *tensor.Tensor, keepdim bool, dims ...int64) *tensor.Tensor {
	return s.Amin(t, dims, keepdim)
}
