package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
	"github.com/libtensor/libtensor/engine/warning"
)

// Diff returns the n-th difference of adjacent elements along dim, after prepend and append are concatenated with self.
func Diff(c dispatch.Context, out, self *tensor.Tensor, n, dim int64, prepend, append *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "diff")
	defer b.Close(&err)
	if self.Dim() == 0 {
		return nil, status.Runtimef("diff: expects input to be at least one-dimensional")
	}
	if n < 0 {
		return nil, status.Runtimef("diff: order must be non-negative but got %d", n)
	}
	at, err := shape.WrapDim("diff", dim, self.Dim())
	if err != nil {
		return nil, err
	}
	t := self
	if prepend != nil || append != nil {
		t = concatPresent(b, at, prepend, self, append)
	}
	if n == 0 {
		t = self
	}
	size := t.Sizes()[at]
	n = min(n, size)
	if n == 0 {
		return build.WriteResult(b, out, b.CloneWith(t, shape.Preserve))
	}
	if t.Numel() == 0 { // the result of n differences of an empty tensor is empty
		sizes := slices.Clone(t.Sizes())
		sizes[at] = size - n
		return build.WriteResultCast(b, out, b.EmptyBeside(t, t.DType(), sizes...))
	}
	for range n {
		size--
		if size < 0 {
			break
		}
		hi, lo := b.Narrow(t, int64(at), min(1, t.Sizes()[at]), size), b.Narrow(t, int64(at), 0, size)
		switch {
		case t.DType() == dtype.Bool:
			t = b.LogicalXor(hi, lo)
		default:
			t = b.Sub(hi, lo)
		}
	}
	return build.WriteResultCast(b, out, t)
}

// concatPresent concatenates the tensors that are not nil along dim.
func concatPresent(b *build.Builder, dim int, parts ...*tensor.Tensor) *tensor.Tensor {
	parts = slices.DeleteFunc(parts, func(t *tensor.Tensor) bool { return t == nil })
	first := parts[0]
	for _, p := range parts {
		if p.Dim() != first.Dim() || dim >= p.Dim() {
			b.Check(status.Runtimef("%s: expects prepend and append to be the same dimension as input, got %d and %d dimensions", b.Op,
				p.Dim(), first.Dim()))
			return nil
		}
		for d, size := range p.Sizes() {
			if d != dim && size != first.Sizes()[d] {
				b.Check(status.Runtimef("%s: expects the shape of tensor to prepend or append to match that of input except along the differencing dimension; got %v and %v",
					b.Op, p.Sizes(), first.Sizes()))
				return nil
			}
		}
	}
	return b.Cat(parts, int64(dim))
}

// Trapezoid integrates y along dim by the trapezoidal rule with spacing dx.
func Trapezoid(c dispatch.Context, y *tensor.Tensor, dx dtype.Scalar, dim int64) (*tensor.Tensor, error) {
	return integrateTrapezoid(c, "trapezoid", y, nil, dx, dim, false)
}

// TrapezoidX is Trapezoid at the points x.
func TrapezoidX(c dispatch.Context, y, x *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	return integrateTrapezoid(c, "trapezoid", y, x, dtype.IntScalar(1), dim, false)
}

// CumulativeTrapezoid returns the running integral of y along dim.
func CumulativeTrapezoid(c dispatch.Context, y *tensor.Tensor, dx dtype.Scalar, dim int64) (*tensor.Tensor, error) {
	return integrateTrapezoid(c, "cumulative_trapezoid", y, nil, dx, dim, true)
}

// CumulativeTrapezoidX is CumulativeTrapezoid at the points x.
func CumulativeTrapezoidX(c dispatch.Context, y, x *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	return integrateTrapezoid(c, "cumulative_trapezoid", y, x, dtype.IntScalar(1), dim, true)
}

func integrateTrapezoid(c dispatch.Context, op string, y, x *tensor.Tensor, dx dtype.Scalar, dim int64,
	cumulative bool) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	at, err := shape.WrapDim(op, dim, y.Dim())
	if err != nil {
		return nil, err
	}
	if y.Dim() == 0 {
		return nil, status.Indexf("%s: y must have at least one dimension", op)
	}
	if y.DType() == dtype.Bool || x != nil && x.DType() == dtype.Bool {
		return nil, status.NotImplementedf("%s: received a bool input, but bool is not supported", op)
	}
	n := y.Sizes()[at]
	if n == 0 && !cumulative {
		return c.NewZeros(y, slices.Delete(slices.Clone(y.Sizes()), at, at+1), y.DType(), tensor.NoLayout, device.None)
	}
	var steps *tensor.Tensor
	if x != nil {
		if steps, err = computeSpacing(b, x, y, at); err != nil {
			return nil, err
		}
	}
	if steps == nil && !cumulative {
		// As in PyTorch: all values less half of the outer ones.
		outer := b.Add(b.Select(y, int64(at), 0), b.Select(y, int64(at), n-1))
		inner := b.Sub(b.Sum(y, []int64{int64(at)}, false), b.Mul(outer, b.FloatNumber(0.5)))
		return build.WriteResult(b, nil, b.Mul(inner, b.Number(dx)))
	}
	m := max(n-1, 0)
	pairs := b.Add(b.Narrow(y, int64(at), min(1, n), m), b.Narrow(y, int64(at), 0, m))
	half := dtype.FloatScalar(dx.Float() / 2)
	if dx.Kind == dtype.KindComplex {
		half = dtype.ComplexScalar(dx.Complex() / 2)
	}
	switch {
	case steps != nil:
		pairs = b.Mul(steps, pairs)
	}
	if cumulative {
		total := b.Cumsum(pairs, int64(at))
		if steps != nil {
			return build.WriteResult(b, nil, b.Div(total, b.FloatNumber(2)))
		}
		return build.WriteResult(b, nil, b.Mul(total, b.Number(half)))
	}
	return build.WriteResult(b, nil, b.Div(b.Sum(pairs, []int64{int64(at)}, false), b.FloatNumber(2)))
}

// computeSpacing returns the distances between the points x, broadcast to the dimensions of y.
func computeSpacing(b *build.Builder, x, y *tensor.Tensor, at int) (*tensor.Tensor, error) {
	if x.Dim() == 0 {
		return nil, status.Indexf("%s: x must have at least one dimension", b.Op)
	}
	sizes := slices.Clone(x.Sizes())
	switch {
	case x.Dim() == 1:
		if x.Numel() != y.Sizes()[at] {
			return nil, status.Runtimef("%s: there must be one x value for each sample point; got %d and %d", b.Op, x.Numel(),
				y.Sizes()[at])
		}
		sizes = make([]int64, y.Dim())
		for i := range sizes {
			sizes[i] = 1
		}
		sizes[at] = x.Numel()
	case x.Dim() < y.Dim():
		for len(sizes) < y.Dim() {
			sizes = slices.Insert(sizes, 0, 1)
		}
	}
	points := b.AsShape(x, sizes...)
	n := sizes[at]
	if n == 0 {
		return points, nil
	}
	steps := b.Sub(b.Narrow(points, int64(at), 1, n-1), b.Narrow(points, int64(at), 0, n-1))
	return steps, nil
}

// Cross returns the cross product of vectors of three elements along dim, the first dimension of size 3 by default.
func Cross(c dispatch.Context, out, self, other *tensor.Tensor, dim ops.Int) (_ *tensor.Tensor, err error) {
	b := build.New(c, "cross")
	defer b.Close(&err)
	b.CheckStrided(self, other)
	if self.Dim() != other.Dim() {
		return nil, status.Runtimef("cross: inputs must have the same number of dimensions, got %v and %v", self.Sizes(), other.Sizes())
	}
	at := -1
	if dim.IsNone() {
		at = slices.Index(self.Sizes(), 3)
		if at < 0 {
			return nil, status.Runtimef("cross: no dimension of size 3 in input %v", self.Sizes())
		}
	} else {
		var err error
		if at, err = shape.WrapDim("cross", int64(dim), self.Dim()); err != nil {
			return nil, err
		}
	}
	if self.Dim() == 0 || self.Sizes()[at] != 3 || other.Sizes()[at] != 3 {
		return nil, status.Runtimef("cross: inputs dimension %d must have length 3, got %v and %v", at, self.Sizes(), other.Sizes())
	}
	if self.Device() != other.Device() {
		return nil, tensoriter.TwoDevices("cross", self.Device(), other.Device())
	}
	if dim.IsNone() {
		if err := warning.CrossDim.Of("cross",
			"without dim the first dimension of size 3 is taken, which is %d here; give dim, or use linalg.cross, which takes the last",
			at); err != nil {
			return nil, err
		}
	}
	sizes, err := shape.Broadcast("cross", self.Sizes(), other.Sizes())
	if err != nil {
		return nil, err
	}
	left, right := b.Unbind(self, int64(at)), b.Unbind(other, int64(at))
	d, err := c.ResultType(self, other)
	b.Check(err)
	result := b.EmptyBeside(self, d, sizes...)
	parts := b.Unbind(result, int64(at))
	for i, part := range parts {
		j, k := (i+1)%3, (i+2)%3
		less := b.Mul(left[k], right[j])
		b.CheckWritten(c.Mul(part, left[j], right[k]))
		b.CheckWritten(c.Sub(part, part, less, dtype.IntScalar(1)))
		b.Drop(less)
	}
	return build.WriteResult(b, out, result)
}

// Trace returns the sum of a matrix's diagonal.
func Trace(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if self.Dim() != 2 {
		return nil, status.Runtimef("trace: expected a matrix, but got tensor with dim %d", self.Dim())
	}
	if self.DType() == dtype.Bool {
		return nil, status.NotImplementedf("trace: not implemented for dtype bool")
	}
	b := build.New(c, "trace")
	defer b.Close(&err)
	return build.WriteResult(b, nil, b.Sum(b.Diagonal(self, 0, 0, 1), nil, false))
}

// Dist returns the p-norm of self - other.
func Dist(c dispatch.Context, self, other *tensor.Tensor, p dtype.Scalar) (_ *tensor.Tensor, err error) {
	b := build.New(c, "dist")
	defer b.Close(&err)
	d := b.Sub(self, other)
	return b.ReturnNew(c.Norm(nil, d, p, nil, false, dtype.None))
}
