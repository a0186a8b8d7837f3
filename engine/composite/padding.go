package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// NnPad continues the last dimensions: with a number, with reflections, with what lies at the ends, or with the other ends.
func NnPad(c aten.Ctx, self *tensor.Tensor, pad []int64, mode string, value *float64) (*tensor.Tensor, error) {
	const op = "nn_pad"
	if len(pad)%2 != 0 || len(pad) > 2*self.Dim() {
		return nil, status.Runtimef("%s: pad must have two numbers for each of the last dimensions, but is %v, and self has sizes %v", op, pad, self.Sizes())
	}
	if !slices.Contains([]string{"constant", "reflect", "replicate", "circular"}, mode) {
		return nil, status.NotImplementedf("%s: mode must be constant, reflect, replicate or circular, but is %s", op, mode)
	}
	if mode == "constant" {
		with := 0.0
		if value != nil {
			with = *value
		}
		made, err := c.ConstantPadNd(self, pad, dtype.FloatScalar(with))
		return only(op, made, err)
	}
	if value != nil && *value != 0 {
		return nil, status.Runtimef("%s: the mode %s takes no value, but it is %v", op, mode, *value)
	}
	padded := len(pad) / 2
	if padded == 0 || padded > 3 || self.Dim() < padded+1 || self.Dim() > padded+2 {
		return nil, status.NotImplementedf("%s: the mode %s pads 1 to 3 dimensions behind those of channels and, where there is one, of examples; self has sizes %v, and pad is %v", op, mode, self.Sizes(), pad)
	}
	if mode != "circular" && self.DType() == dtype.Bool {
		return nil, status.NotImplementedf("%s: the mode %s is not implemented for bool", op, mode)
	}
	for _, n := range self.Sizes()[self.Dim()-padded-1:] {
		if n == 0 && mode != "circular" {
			return nil, status.Runtimef("%s: self must have elements, or no examples, but has sizes %v", op, self.Sizes())
		}
	}
	for i := range padded {
		dim := int64(self.Dim() - 1 - i)
		if err := checkPadding(op, mode, dim, self.Sizes()[dim], pad[2*i], pad[2*i+1]); err != nil {
			return nil, err
		}
	}
	s := within(c, op)
	defer s.Close()
	y := s.Step(func() (*tensor.Tensor, error) { return c.NnPadInside(self, pad, mode) })
	if mode != "circular" {
		y = s.laidLike(self, y)
	}
	return s.result(nil, y)
}

func checkPadding(op, mode string, dim, n, before, after int64) error {
	widest := max(before, after)
	switch {
	case mode == "reflect" && widest >= n, mode == "circular" && widest > n:
		return status.Runtimef("%s: the mode %s pads dimension %d, whose size is %d, by less than that, but pad has %d and %d", op, mode, dim, n, before, after)
	case before < -n || after < -n || n+before+after < 0 || mode != "circular" && n+before+after < 1:
		return status.Runtimef("%s: of dimension %d, whose size is %d, nothing is left with a padding of %d and %d", op, dim, n, before, after)
	}
	return nil
}

// padIndex says where each element along a dimension comes from that is continued by before and after, which are not negative.
func (s *scope) padIndex(like *tensor.Tensor, mode string, n, before, after int64) *tensor.Tensor {
	c := s.C
	at := s.Keep(c.ArangeStart(nil, dtype.IntScalar(-before), dtype.IntScalar(n+after), dtype.Int64, tensor.NoLayout, like.Device()))
	switch mode {
	case "circular":
		return s.Binary(c.Remainder, at, s.Int(max(n, 1)))
	case "replicate":
		return s.Step(func() (*tensor.Tensor, error) { return c.Clamp(nil, at, dtype.IntScalar(0), dtype.IntScalar(n-1)) })
	}
	last := s.Int(n - 1)
	return s.Sub(last, s.Unary(c.Abs, s.Sub(last, s.Unary(c.Abs, at))))
}

// widths are the numbers of pad that are added, and those that are cut off.
func widths(pad []int64) (added, cut []int64) {
	for _, v := range pad {
		added, cut = append(added, max(v, 0)), append(cut, min(v, 0))
	}
	return added, cut
}

// bordered is a copy of t with a border of zeros, or without one where widths are negative, times a sign.
func (s *scope) bordered(t *tensor.Tensor, widths []int64, sign int64) *tensor.Tensor {
	around := slices.Clone(widths)
	for i := range around {
		around[i] *= sign
	}
	return s.Step(func() (*tensor.Tensor, error) { return s.C.ConstantPadNd(t, around, dtype.IntScalar(0)) })
}

// NnPadInside copies what is inside to its place, and fills the borders from there. What is cut off is there to be mirrored, but does not come
// back from the other end.
func NnPadInside(c aten.Ctx, self *tensor.Tensor, pad []int64, mode string) (*tensor.Tensor, error) {
	s := within(c, "nn_pad")
	defer s.Close()
	added, cut := widths(pad)
	cuts := slices.ContainsFunc(cut, func(v int64) bool { return v < 0 })
	if cuts && mode == "circular" {
		self = s.bordered(self, cut, 1)
	}
	y := s.bordered(self, added, 1)
	for i := range len(pad) / 2 {
		before, after := added[2*i], added[2*i+1]
		if s.Err != nil || before+after == 0 {
			continue
		}
		dim := int64(self.Dim() - 1 - i)
		n := self.Sizes()[dim]
		inside := s.Add(s.padIndex(self, mode, n, before, after), s.Int(before))
		for _, border := range [][2]int64{{0, before}, {before + n, after}} {
			from := s.Narrow(inside, 0, border[0], border[1])
			filled := s.Step(func() (*tensor.Tensor, error) { return c.IndexSelect(nil, y, dim, from) })
			to := s.Narrow(y, dim, border[0], border[1])
			s.Do(func() error { return c.Copy(to, filled, false) })
		}
	}
	if cuts && mode != "circular" {
		y = s.bordered(y, cut, 1)
	}
	return s.result(nil, y)
}

// NnPadGradient adds the gradients of what is padded up where it comes from.
func NnPadGradient(c aten.Ctx, given *tensor.Tensor, pad []int64, mode string) (*tensor.Tensor, error) {
	s := within(c, "nn_pad")
	defer s.Close()
	added, cut := widths(pad)
	y := given
	if mode != "circular" {
		y = s.bordered(y, cut, -1)
	}
	for i := range len(pad) / 2 {
		before, after := added[2*i], added[2*i+1]
		if s.Err != nil || before+after == 0 {
			continue
		}
		dim, padded := y.Dim()-1-i, y
		whole := slices.Clone(y.Sizes())
		whole[dim] -= before + after
		from, zeros := s.padIndex(y, mode, whole[dim], before, after), s.Zeros(y, y.DType(), whole...)
		y = s.Step(func() (*tensor.Tensor, error) { return c.IndexAdd(nil, zeros, int64(dim), from, padded, one) })
	}
	if mode == "circular" {
		y = s.bordered(y, cut, -1)
	}
	return s.result(nil, y)
}
