package ops

import (
	"cmp"
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/iter"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// nuclearNorm is the sum of the singular values of the matrices in two dimensions.
func nuclearNorm(out, self *tensor.Tensor, dim []int64, keepdim bool, d dtype.DType) (*tensor.Tensor, error) {
	const op = "norm"
	if d == dtype.None {
		d = self.DType()
	}
	if self.DType().Category() < dtype.Floating || self.DType().IsReducedFloat() || d.Category() < dtype.Floating || self.DType().IsComplex() && !d.IsComplex() {
		return nil, status.NotImplementedf("%s: the nuclear norm of %v in %v is not supported; give float32, float64 or complex dtypes", op, self.DType(), d)
	}
	if len(dim) == 0 && self.Dim() == 2 {
		dim = []int64{0, 1}
	}
	if len(dim) != 2 {
		return nil, status.Runtimef("%s: the nuclear norm needs two dimensions, got %v of a tensor of shape %v", op, dim, self.Sizes())
	}
	mask, err := shape.WrapDims(op, dim, self.Dim(), false)
	if err = cmp.Or(err, iter.SameDType(op, out, d.ToReal())); err != nil {
		return nil, err
	}
	// The vectors to make orthogonal are the fewer ones of rows and columns.
	order, sizes := freeDims(self, mask)
	var both []int
	for i, reduced := range mask {
		if reduced {
			both = append(both, i)
		}
	}
	if self.Sizes()[both[0]] > self.Sizes()[both[1]] {
		slices.Reverse(both)
	}
	s := within(op)
	defer s.Close()
	matrices := s.Keep(view.Permute(op, self, append(slices.Clone(order), both...)...))
	matrices = s.cast(matrices, dtype.Complex128)
	norms := s.empty(self, dtype.Float64, sizes...)
	s.Do(func() error { return launch.On(norms).Singular(op, launch.SingularSums{To: norms, Matrices: matrices}) })
	return s.result(out, s.reshape(s.cast(norms, d.ToReal()), reducedSizes(self.Sizes(), mask, keepdim)...))
}
