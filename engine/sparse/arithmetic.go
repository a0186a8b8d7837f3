package sparse

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// isNumber reports whether an operand is one value for all entries.
func isNumber(t *tensor.Tensor) bool { return !isSparse(t) && t.Dim() == 0 }

// peer returns a scalar operand for the entries of t. For a zero-dim t it has one dimension, so that its dtype counts in promotion as much as that of
// the entries.
func (s *scope) peer(t, number *tensor.Tensor) *tensor.Tensor {
	if t.Dim() > 0 || number.IsWrappedNumber() {
		return number
	}
	return s.AsShape(number, 1)
}

// plus returns a + alpha*b, or a - alpha*b.
func plus(op string, does func(c dispatch.Context, out, a, b *tensor.Tensor, alpha dtype.Scalar) (*tensor.Tensor, error)) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, *tensor.Tensor, dtype.Scalar) (*tensor.Tensor, error) {
	return func(c dispatch.Context, out, a, b *tensor.Tensor, alpha dtype.Scalar) (_ *tensor.Tensor, err error) {
		s := newScope(c, op)
		defer s.Close(&err)
		if a.DType() == dtype.Bool || b.DType() == dtype.Bool { // operators that do not support bool also reject it without entries
			x, y := s.zeroOf(a, a.DType()), s.zeroOf(b, b.DType())
			s.Track(does(c, nil, x, y, alpha))
		}
		if isSparse(a) && isSparse(b) {
			return s.result(out, s.joined(a, b, func(zero, v *tensor.Tensor) *tensor.Tensor {
				return s.Track(does(c, nil, zero, v, alpha))
			}))
		}
		switch {
		case isSparse(a) && isNumber(b):
			s.Failf("adding a scalar to a sparse tensor is not supported, because the result is dense; convert with to_dense()")
		case isSparse(out):
			s.Failf("the sum of a sparse and a strided tensor is strided, and cannot be written to a tensor of layout %v", out.Layout())
		}
		if d, err := c.ResultType(a, b); err == nil && !isSparse(a) && denseDim(b) < b.Dim() && slices.Equal(a.Sizes(), b.Sizes()) && (out == nil || out == a && a.DType() == d) {
			return s.added(out, a, b, d, func(zero, v *tensor.Tensor) *tensor.Tensor {
				return s.Track(does(c, nil, zero, v, alpha))
			})
		}
		x, y := s.dense(a), s.dense(b)
		return s.ReturnNew(does(c, out, x, y, alpha))
	}
}

// added is a, dense, in a dtype with the entries of b added, which pass through scaled with a zero first: out is nil or a.
func (s *scope) added(out, a, b *tensor.Tensor, d dtype.DType, scaled func(zero, v *tensor.Tensor) *tensor.Tensor) (*tensor.Tensor, error) {
	y := s.converted(s.coalesced(s.coordinatesOf(b)), d)
	at := s.inside(y.indices, y.sizes[:y.sparse()])
	values := scaled(s.zeroOf(y.values, d), y.values)
	places := make([]*tensor.Tensor, y.sparse())
	for i := range places {
		places[i] = s.Select(at, 0, int64(i))
	}
	a = s.CastTo(a, d)
	return s.ReturnNew(s.C.IndexPut(out, a, places, values, true))
}

// zeroOf returns a zero of a dtype that broadcasts to values.
func (s *scope) zeroOf(values *tensor.Tensor, d dtype.DType) *tensor.Tensor {
	return s.CastTo(s.zeros(values, slices.Repeat([]int64{1}, values.Dim())...), d)
}

// joined returns the entries of a and those of b: sum has the sum, in the common dtype, of those at one place, or of zero and an entry of b.
func (s *scope) joined(a, b *tensor.Tensor, sum func(v, w *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	if s.together(a, b) {
		return s.onValues(a, func(v *tensor.Tensor) *tensor.Tensor { return sum(v, b.Parts().Values) })
	}
	if a.Layout() == tensor.COO && b.Layout() == tensor.COO && entries(a) == 0 && slices.Equal(a.Sizes(), b.Sizes()) { // with the dimension split of the operand that has entries
		a = s.as(a, formOf(b))
	}
	if plainLines(a) && isSparse(b) && formOf(b).dense == 0 && slices.Equal(a.Sizes(), b.Sizes()) && backend.Known(a.Parts().Values) {
		return s.merged(a, s.as(b, formOf(a)), sum)
	}
	x, y, d := s.alike(a, b)
	x, y = s.converted(x, d), s.converted(y, d)
	values, f := s.Cat([]*tensor.Tensor{x.values, sum(s.zeroOf(x.values, d), y.values)}, 0), formOf(a)
	if f.layout != tensor.COO || x.coalesced && y.coalesced {
		return s.from(s.grouped(values, x.sizes, x.sparse(), x.indices, y.indices), f)
	}
	return s.from(coordinates{s.Cat([]*tensor.Tensor{s.wide(x.indices), s.wide(y.indices)}, 1), values, x.sizes, false}, f)
}

// plainLines reports whether t is a matrix in the layout CSR or CSC.
func plainLines(t *tensor.Tensor) bool {
	return t.Dim() == 2 && (t.Layout() == tensor.CSR || t.Layout() == tensor.CSC)
}

// merged adds two matrices of the same form, line by line.
func (s *scope) merged(a, b *tensor.Tensor, sum func(v, w *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	p, q := a.Parts(), b.Parts()
	d, err := s.C.ResultType(p.Values, q.Values)
	s.Check(err)
	v, w := s.CastTo(p.Values, d), sum(s.zeroOf(q.Values, d), s.CastTo(q.Values, d))
	minor := a.Sizes()[1]
	if a.Layout() == tensor.CSC {
		minor = a.Sizes()[0]
	}
	compressed, plain, values, err := s.C.CsrSpadd(p.Indices[0], p.Indices[1], v, q.Indices[0], q.Indices[1], w, minor)
	compressed, plain, values = s.Track(compressed, err), s.Track(plain, nil), s.Track(values, nil)
	if index := p.Indices[0].DType(); index == q.Indices[0].DType() && plain.Numel() <= math.MaxInt32 {
		compressed, plain = s.CastTo(compressed, index), s.CastTo(plain, index)
	}
	return s.assemble(a.Layout(), a.Sizes(), compressed, plain, values)
}

// alike returns the coordinates of two tensors of the same sizes, with as many dense dimensions, and their common dtype.
func (s *scope) alike(a, b *tensor.Tensor) (x, y coordinates, d dtype.DType) {
	if !slices.Equal(a.Sizes(), b.Sizes()) {
		s.Failf("the sizes of sparse tensors must be the same, but got %v and %v", a.Sizes(), b.Sizes())
		return
	}
	x = s.coordinatesOf(a)
	y = s.withDense(s.coordinatesOf(b), denseDim(a))
	return x, y, s.ResultType(x.values, y.values)
}

// linear is an operator of a sparse tensor and a number that works on the entries alone, and has a result of the dtype d.
func (s *scope) linear(out, self *tensor.Tensor, d dtype.DType, each func(out, v *tensor.Tensor) (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	if out == self {
		v := self.Parts().Values
		_, err := each(v, v)
		s.Check(err)
		return self, nil
	}
	return s.result(out, s.onValues(s.convertible(self, d), func(v *tensor.Tensor) *tensor.Tensor {
		return s.Track(each(nil, v))
	}))
}

// mul multiplies entries: where both operands have one, of sparse tensors, and where the sparse one has, of another.
func mul(c dispatch.Context, out, a, b *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "mul")
	defer s.Close(&err)
	switch {
	case !isSparse(a) && !isSparse(b):
		return nil, mixed(s.Op, out)
	case isSparse(a) && a.Dim() == 0 && b.Dim() > 0:
		if out == a {
			s.Failf("the output is 0-dimensional, but the result has sizes %v", b.Sizes())
			return nil, nil
		}
		return mul(c, out, b, a)
	case isSparse(a) && isSparse(b) && a.Dim() == 0 && b.Dim() == 0 && entries(a) < entries(b) && out != a:
		return mul(c, out, b, a)
	case isSparse(b) && b.Dim() == 0 && (isSparse(a) || a.Dim() > 0): // a number, which makes nothing dense
		number := s.dense(b)
		switch {
		case isSparse(a):
			return mul(c, out, a, number)
		case out != nil && !isSparse(out):
			return c.Mul(out, a, number)
		}
		return s.result(out, s.Mul(s.as(a, form{tensor.COO, [2]int64{1, 1}, 0}), number))
	case isSparse(a) && isNumber(b):
		d, err := c.ResultType(a, b)
		s.Check(err)
		number := s.peer(a, b)
		return s.linear(out, a, d, func(to, v *tensor.Tensor) (*tensor.Tensor, error) { return c.Mul(to, v, number) })
	case isSparse(b) && isNumber(a):
		d, err := c.ResultType(a, b)
		s.Check(err)
		number := s.peer(b, a)
		return s.result(out, s.onValues(s.convertible(b, d), func(v *tensor.Tensor) *tensor.Tensor { return s.Mul(number, v) }))
	}
	sizes := a.Sizes()
	if !slices.Equal(sizes, b.Sizes()) {
		both, err := shape.Broadcast(s.Op, sizes, b.Sizes())
		if s.Check(err); out == a && !slices.Equal(both, sizes) {
			s.Failf("the output has sizes %v, but the result has sizes %v", sizes, both)
		}
		sizes = both
	}
	if isSparse(a) && isSparse(b) {
		return s.result(out, s.common(s.broadcast(a, sizes), s.broadcast(b, sizes)))
	}
	t := s.masked(a, b, sizes)
	if out != nil && !isSparse(out) {
		t = s.dense(t)
	}
	return s.result(out, t)
}

// common has the products of the entries that both tensors have.
func (s *scope) common(a, b *tensor.Tensor) *tensor.Tensor {
	if s.together(a, b) {
		return s.onValues(a, func(v *tensor.Tensor) *tensor.Tensor { return s.Mul(v, b.Parts().Values) })
	}
	x, y, _ := s.alike(a, b)
	x, y = s.coalesced(x), s.coalesced(y)
	f := formOf(a)
	places := x.sizes[:x.sparse()]
	in, of := s.meeting(s.keys(x.indices, places), s.keys(y.indices, places))
	made := coordinates{s.take(x.indices, 1, in), s.Mul(s.take(x.values, 0, in), s.take(y.values, 0, of)), x.sizes, true}
	return s.from(made, f)
}

// meeting returns the positions of equal entries in two vectors that rise.
func (s *scope) meeting(a, b *tensor.Tensor) (in, of *tensor.Tensor) {
	if b.Numel() == 0 {
		none := s.arange(0, a.Device())
		return none, none
	}
	at := s.Searchsorted(b, a)
	last := s.IntNumber(b.Numel() - 1)
	at = s.Minimum(at, last)
	in = s.AsShape(s.Nonzero(s.Eq(s.take(b, 0, at), a)), -1)
	return in, s.take(at, 0, in)
}

// masked returns the products of a sparse tensor's entries and the elements of a dense one at their positions. Both expand to sizes.
func (s *scope) masked(a, b *tensor.Tensor, sizes []int64) *tensor.Tensor {
	t, other := a, b
	if !isSparse(a) {
		t, other = b, a
	}
	t = s.broadcast(t, sizes)
	x := s.coordinatesOf(t)
	d, err := s.C.ResultType(x.values, other)
	s.Check(err)
	x = s.converted(x, d)
	at := s.elements(other, x)
	f := formOf(t)
	x.values = s.Mul(x.values, at)
	return s.from(x, f)
}

// elements returns the elements of a dense tensor, broadcast to the sizes of x, at the positions of x's entries.
func (s *scope) elements(t *tensor.Tensor, x coordinates) *tensor.Tensor {
	sizes := make([]int64, len(x.sizes))
	pad := len(sizes) - t.Dim()
	for i := range sizes {
		sizes[i] = 1
		if i >= pad {
			sizes[i] = t.Sizes()[i-pad]
		}
	}
	sparse, indices := x.sparse(), s.wide(x.indices)
	key := s.zeros(indices, x.count())
	for d := range sparse { // dimensions that broadcast have one place
		key = s.times(key, sizes[d])
		if sizes[d] != 1 {
			key = s.Add(key, s.Select(indices, 0, int64(d)))
		}
	}
	flat := s.AsShape(t, append([]int64{shape.Product(sizes[:sparse])}, sizes[sparse:]...)...)
	return s.take(flat, 0, key)
}

// div divides the entries by a number.
func div(c dispatch.Context, out, a, b *tensor.Tensor, rounding string) (_ *tensor.Tensor, err error) {
	s := newScope(c, "div")
	defer s.Close(&err)
	if !isSparse(a) || !isNumber(b) {
		s.Failf("sparse division requires a sparse tensor and a number or zero-dim strided divisor, got shape %v of layout %v for divisor; convert with to_dense()", b.Sizes(), b.Layout())
		return nil, nil
	}
	b = s.peer(a, b)
	if rounding == "" {
		return s.linear(out, a, dtype.Float32, func(to, v *tensor.Tensor) (*tensor.Tensor, error) { return c.Div(to, v, b, rounding) })
	}
	return onElements(s.Op, func(c dispatch.Context, to, v *tensor.Tensor) (*tensor.Tensor, error) {
		return c.Div(to, v, b, rounding)
	})(c, out, a)
}

// onEntries is onElements or keepsZero.
type onEntries = func(op string, does func(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error)) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor) (*tensor.Tensor, error)

// byNumber is an operator of a sparse tensor and a number that makes 0 of 0.
func byNumber(op string, does func(c dispatch.Context, out, a, b *tensor.Tensor) (*tensor.Tensor, error), on onEntries) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor, *tensor.Tensor) (*tensor.Tensor, error) {
	return func(c dispatch.Context, out, a, b *tensor.Tensor) (_ *tensor.Tensor, err error) {
		s := newScope(c, op)
		defer s.Close(&err)
		if !isSparse(a) || !isNumber(b) {
			s.Failf("the other operand must be a scalar or a 0-dim strided tensor, but has shape %v and layout %v; convert with to_dense()", b.Sizes(), b.Layout())
			return nil, nil
		}
		b = s.peer(a, b)
		return on(op, func(c dispatch.Context, to, v *tensor.Tensor) (*tensor.Tensor, error) { return does(c, to, v, b) })(c, out, a)
	}
}

// pow raises the entries to a power, which is positive: others are not 0 at 0.
func pow(c dispatch.Context, out, a, b *tensor.Tensor) (*tensor.Tensor, error) {
	return byNumber("pow", func(c dispatch.Context, out, v, b *tensor.Tensor) (*tensor.Tensor, error) { return c.Pow(out, v, b) }, keepsZero)(c, out, a, b)
}
