package composite

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// writeResults returns the results, or writes them to outs.
func writeResults(b *build.Builder, names []string, outs []*tensor.Tensor, result ...*tensor.Tensor) (r [4]*tensor.Tensor, err error) {
	for i, out := range outs {
		result[i] = b.MatchLazyBits(result[i], out)
	}
	r, err = ops.Finish(&b.Scope, names, outs, result...)
	dispatch.BumpVersion(err, outs...)
	return r, err
}

// finishCast returns t, or writes it to an out of any dtype that the dtype of t can be cast to. An empty out gets the strides of t.
func finishCast(b *build.Builder, out, t *tensor.Tensor) (*tensor.Tensor, error) {
	t = b.MatchLazyBits(t, out)
	r, err := ops.FinishCast(&b.Scope, out, t)
	dispatch.BumpVersion(err, out)
	return r, err
}

// checkInfo returns an error for matrices that could not be factored or solved.
func checkInfo(b *build.Builder, info *tensor.Tensor, why ops.Failure) {
	b.Check(ops.CheckInfo(b.Op, info, why))
}

// conjTranspose returns the conjugate transpose of matrices.
func conjTranspose(b *build.Builder, t *tensor.Tensor) *tensor.Tensor {
	if t.DType().IsComplex() {
		t = b.Conj(t)
	}
	return b.Transpose(t, -2, -1)
}

// narrowFirst views the first n positions of dimension dim.
func narrowFirst(b *build.Builder, t *tensor.Tensor, dim int, n int64) *tensor.Tensor {
	return b.Narrow(t, int64(dim), 0, n)
}

// makeIdentity returns the n x n matrix with ones on the diagonal.
func makeIdentity(b *build.Builder, d dtype.DType, dev device.Device, n int64) *tensor.Tensor {
	return b.EyeWith(n, d, tensor.NoLayout, dev)
}

// castToCompute casts t to its compute dtype. Operators of several intermediate ops begin with it, so that 16-bit floats are rounded once.
func castToCompute(b *build.Builder, t *tensor.Tensor) *tensor.Tensor {
	return b.CastTo(t, t.DType().Compute())
}

// castBothToCompute is wideEnough for two tensors of one dtype. Tensors of different dtypes are returned unchanged; later ops reject them.
func castBothToCompute(b *build.Builder, x, y *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor) {
	if x.DType() != y.DType() {
		return x, y
	}
	return castToCompute(b, x), castToCompute(b, y)
}

// castFromCompute converts t, computed from tensors of dtype d, back to d if d is below the compute precision.
func castFromCompute(b *build.Builder, t *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	if d.Compute() == d {
		return t
	}
	return b.CastTo(t, d)
}
