// Package sparse is the backend of the sparse layouts COO, CSR, CSC, BSR and BSC. A sparse tensor consists of dense tensors of indices and
// values (tensor.SparseComponents), and its operators call dense operators on these through the dispatcher, so that they support the same
// autograd, devices and dtypes. Operators on indices use coordinates, to which every layout is converted.
package sparse

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// isSparse reports whether a tensor has parts.
func isSparse(t *tensor.Tensor) bool { return t != nil && t.Components() != nil }

// writeResult returns t, or writes it to out if out is not nil: the entries of a sparse out are replaced.
func writeResult(b *build.Builder, out, t *tensor.Tensor) (*tensor.Tensor, error) {
	switch {
	case out == nil:
		return b.Return(t)
	case !isSparse(out) && !isSparse(t):
		return build.WriteResult(b, out, t)
	case isSparse(out) && isSparse(t):
		if out.DType() != t.DType() && dtype.CanCast(t.DType(), out.DType()) {
			t = b.CastTo(t, out.DType())
		}
		if out.Layout() != t.Layout() {
			t = asForm(b, t, formOf(out))
		}
		b.Check(out.Replace(b.Op, t.Sizes(), *t.Components()))
		return out, nil
	}
	b.Failf("the result has layout %v and cannot be written to a tensor of layout %v", t.Layout(), out.Layout())
	return nil, nil
}

// mulInt returns a * v, or a itself if v is 1.
func mulInt(b *build.Builder, a *tensor.Tensor, v int64) *tensor.Tensor {
	if v == 1 {
		return a
	}
	return b.Mul(a, b.IntNumber(v))
}

// makeZeros returns zeros of the dtype and device of like.
func makeZeros(b *build.Builder, like *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	return b.ZerosWith(sizes, like.DType(), tensor.NoLayout, like.Device())
}

// makeRange returns the vector of integers from 0 to n - 1.
func makeRange(b *build.Builder, n int64, dev device.Device) *tensor.Tensor {
	return b.ArangeWith(dtype.IntScalar(n), dtype.Int64, tensor.NoLayout, dev)
}

// sumByIndex sums the entries of source at n positions, selected by index, with 16-bit floats accumulated in a wider dtype.
func sumByIndex(b *build.Builder, n int64, index, source *tensor.Tensor) *tensor.Tensor {
	d := source.DType()
	source = b.CastTo(source, d.Compute())
	to := makeZeros(b, source, append([]int64{n}, source.Sizes()[1:]...)...)
	return b.CastTo(b.IndexAdd(to, 0, index, source), d)
}

// floorDivInt returns t / by for integers that are not negative.
func floorDivInt(b *build.Builder, t *tensor.Tensor, by int64) *tensor.Tensor {
	if by == 1 {
		return t
	}
	return b.FloorDivide(t, b.IntNumber(by))
}

// remainderInt returns t modulo by for integers that are not negative.
func remainderInt(b *build.Builder, t *tensor.Tensor, by int64) *tensor.Tensor {
	return b.Remainder(t, b.IntNumber(by))
}

// sortVector returns a vector in ascending order and the former position of each element. The sort is stable.
func sortVector(b *build.Builder, t *tensor.Tensor) (inOrder, positions *tensor.Tensor) {
	return b.SortStableWith(t, ops.True, 0, false)
}

// readInt returns the only element of t; it is unknown on meta.
func readInt(b *build.Builder, t *tensor.Tensor) (v int64, known bool) {
	if !backend.Known(t) {
		return 0, false
	}
	x, err := b.C.Item(t)
	b.Check(err)
	return x.Position(), true
}

// isAllTrue reports whether a tensor of bools has no false; it returns true without data.
func isAllTrue(b *build.Builder, t *tensor.Tensor) bool {
	v, known := readInt(b, b.CastTo(b.All(t, nil, false), dtype.Int64))
	return !known || v != 0
}
