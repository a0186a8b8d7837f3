package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Diff is the n-th difference of neighbours along dim, prepend and append joined to self before.
func Diff(out, self *tensor.Tensor, n, dim int64, prepend, append *tensor.Tensor) (*tensor.Tensor, error) {
	s := &scope{op: "diff"}
	defer s.close()
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
		t = s.joined(at, prepend, self, append)
	}
	if s.err != nil {
		return nil, s.err
	}
	size := t.Sizes()[at]
	n = min(n, size)
	if n == 0 {
		return copyOf("diff", out, t)
	}
	if t.Numel() == 0 { // nobody takes differences of nothing n times
		return s.result(out, s.empty(t, t.DType(), s.part(t, at, 0, size-n).Sizes()...))
	}
	for range n {
		size--
		if size < 0 {
			break
		}
		hi, lo := s.part(t, at, min(1, t.Sizes()[at]), size), s.part(t, at, 0, size)
		switch {
		case s.err != nil:
		case t.DType() == dtype.Bool:
			t = s.keep(LogicalXor(nil, hi, lo))
		default:
			t = s.sub(hi, lo)
		}
		if s.err != nil {
			return nil, s.err
		}
	}
	return s.result(out, t)
}

// joined is a copy of the given tensors, nil ones left out, behind one another along dim.
func (s *scope) joined(dim int, parts ...*tensor.Tensor) *tensor.Tensor {
	parts = slices.DeleteFunc(parts, func(t *tensor.Tensor) bool { return t == nil })
	first := parts[0]
	if s.err = oneDevice(s.op, first, parts[1:]...); s.err != nil {
		return nil
	}
	var r dtype.Result
	sizes := slices.Clone(first.Sizes())
	total := int64(0)
	for _, p := range parts {
		if p.Dim() != first.Dim() || dim >= p.Dim() {
			s.err = status.Runtimef("%s: expects prepend and append to be the same dimension as input, got %d and %d dimensions", s.op, p.Dim(), first.Dim())
			return nil
		}
		for d, size := range p.Sizes() {
			if d != dim && size != sizes[d] {
				s.err = status.Runtimef("%s: expects the shape of tensor to prepend or append to match that of input except along the differencing dimension; got %v and %v", s.op, p.Sizes(), first.Sizes())
				return nil
			}
		}
		r.Add(p.DType(), p.Rank())
		total += p.Sizes()[dim]
	}
	sizes[dim] = total
	whole := s.empty(first, r.DType(), sizes...)
	if s.err != nil {
		return nil
	}
	start := int64(0)
	for _, p := range parts {
		if slot := s.part(whole, dim, start, p.Sizes()[dim]); s.err == nil {
			s.copy(slot, p)
		}
		start += p.Sizes()[dim]
	}
	return whole
}

// Trapezoid integrates y along dim by the trapezoidal rule with spacing dx.
func Trapezoid(y *tensor.Tensor, dx dtype.Scalar, dim int64) (*tensor.Tensor, error) {
	return trapezoid("trapezoid", y, nil, dx, dim, false)
}

// TrapezoidX is Trapezoid at the points x.
func TrapezoidX(y, x *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	return trapezoid("trapezoid", y, x, dtype.IntScalar(1), dim, false)
}

// CumulativeTrapezoid is the running integral of y along dim.
func CumulativeTrapezoid(y *tensor.Tensor, dx dtype.Scalar, dim int64) (*tensor.Tensor, error) {
	return trapezoid("cumulative_trapezoid", y, nil, dx, dim, true)
}

// CumulativeTrapezoidX is CumulativeTrapezoid at the points x.
func CumulativeTrapezoidX(y, x *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
	return trapezoid("cumulative_trapezoid", y, x, dtype.IntScalar(1), dim, true)
}

func trapezoid(op string, y, x *tensor.Tensor, dx dtype.Scalar, dim int64, cumulative bool) (*tensor.Tensor, error) {
	s := &scope{op: op}
	defer s.close()
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
		return tensor.Zeros(op, slices.Delete(slices.Clone(y.Sizes()), at, at+1), y.DType(), y.Device())
	}
	var steps *tensor.Tensor
	if x != nil {
		if steps, err = s.spacing(x, y, at); err != nil {
			return nil, err
		}
	}
	if steps == nil && !cumulative {
		// As in PyTorch: all values less half of the outer ones.
		outer := s.add(s.at(y, at, 0), s.at(y, at, n-1))
		inner := s.sub(s.sum(y, int64(at)), s.mul(outer, s.float(0.5)))
		return s.result(nil, s.mul(inner, s.number(dx)))
	}
	m := max(n-1, 0)
	pairs := s.add(s.part(y, at, min(1, n), m), s.part(y, at, 0, m))
	half := dtype.FloatScalar(dx.Float() / 2)
	if dx.Kind == dtype.KindComplex {
		half = dtype.ComplexScalar(dx.Complex() / 2)
	}
	switch {
	case s.err != nil:
		return nil, s.err
	case steps != nil:
		pairs = s.mul(steps, pairs)
	}
	if s.err != nil {
		return nil, s.err
	}
	if cumulative {
		total := s.keep(Cumsum(nil, pairs, int64(at), dtype.None))
		if s.err != nil {
			return nil, s.err
		}
		if steps != nil {
			return s.result(nil, s.div(total, s.float(2)))
		}
		return s.result(nil, s.mul(total, s.number(half)))
	}
	return s.result(nil, s.div(s.sum(pairs, int64(at)), s.float(2)))
}

// spacing is the distances between the points x, in the dimensions of y.
func (s *scope) spacing(x, y *tensor.Tensor, at int) (*tensor.Tensor, error) {
	if x.Dim() == 0 {
		return nil, status.Indexf("%s: x must have at least one dimension", s.op)
	}
	d, sizes := at, slices.Clone(x.Sizes())
	switch {
	case x.Dim() == 1:
		if x.Numel() != y.Sizes()[at] {
			return nil, status.Runtimef("%s: there must be one x value for each sample point; got %d and %d", s.op, x.Numel(), y.Sizes()[at])
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
	default:
		d = at + x.Dim() - y.Dim()
	}
	points := s.reshape(x, sizes...)
	if s.err != nil {
		return nil, s.err
	}
	n := sizes[d]
	if n == 0 {
		return points, nil
	}
	steps := s.sub(s.part(points, d, 1, n-1), s.part(points, d, 0, n-1))
	return steps, s.err
}

// Cross is the cross product of vectors of three elements along dim, the first dimension of size 3 unless given.
func Cross(out, self, other *tensor.Tensor, dim Int) (*tensor.Tensor, error) {
	if err := oneDevice("cross", self, other); err != nil {
		return nil, err
	}
	s := &scope{op: "cross"}
	defer s.close()
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
	sizes, err := shape.Broadcast("cross", self.Sizes(), other.Sizes())
	if err != nil {
		return nil, err
	}
	whole := s.empty(self, resultType(self, other), sizes...)
	if s.err != nil {
		return nil, s.err
	}
	for i := range int64(3) {
		j, k := (i+1)%3, (i+2)%3
		v := s.sub(s.mul(s.at(self, at, j), s.at(other, at, k)), s.mul(s.at(self, at, k), s.at(other, at, j)))
		slot := s.at(whole, at, i)
		if s.err != nil {
			return nil, s.err
		}
		s.copy(slot, v)
	}
	return s.result(out, whole)
}

// Trace is the sum of a matrix's diagonal.
func Trace(self *tensor.Tensor) (*tensor.Tensor, error) {
	if self.Dim() != 2 {
		return nil, status.Runtimef("trace: expected a matrix, but got tensor with dim %d", self.Dim())
	}
	if self.DType() == dtype.Bool {
		return nil, status.NotImplementedf("trace: not implemented for dtype bool")
	}
	s := &scope{op: "trace"}
	defer s.close()
	n := min(self.Sizes()[0], self.Sizes()[1])
	diagonal := s.keep(self.View("trace", []int64{n}, []int64{self.Strides()[0] + self.Strides()[1]}, self.Offset()))
	return s.result(nil, s.sum(diagonal))
}

// Dist is the p-norm of self - other.
func Dist(self, other *tensor.Tensor, p dtype.Scalar) (*tensor.Tensor, error) {
	s := &scope{op: "dist"}
	defer s.close()
	d := s.sub(self, other)
	if s.err != nil {
		return nil, s.err
	}
	return vectorNorm("dist", nil, d, p.Float(), nil, false, dtype.None)
}
