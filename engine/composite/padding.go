package composite

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// NnPad pads the last dimensions with a constant, by reflection, by replication of the edges, or circularly.
func NnPad(c dispatch.Context, self *tensor.Tensor, pad []int64, mode string, value *float64) (_ *tensor.Tensor, err error) {
	const op = "nn_pad"
	if err := checkPad(op, self, pad); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"constant", "reflect", "replicate", "circular"}, mode) {
		return nil, status.NotImplementedf("%s: mode must be constant, reflect, replicate or circular, but is %s", op, mode)
	}
	if mode == "constant" {
		with := 0.0
		if value != nil {
			with = *value
		}
		result, err := c.ConstantPadNd(self, pad, dtype.FloatScalar(with))
		return wrapError(op, result, err)
	}
	if value != nil && *value != 0 {
		return nil, status.Runtimef("%s: value is only supported with mode constant, but mode is %s and value is %v", op, mode, *value)
	}
	if l := self.Layout(); l != tensor.Strided { // parts of a sparse result are no views that borders could be written to
		return nil, status.NotImplementedf("%s: mode %s is not implemented for %v tensors; convert with to_dense()", op, mode, l)
	}
	padded := len(pad) / 2
	if padded == 0 || padded > 3 || self.Dim() < padded+1 || self.Dim() > padded+2 {
		return nil,
			status.NotImplementedf("%s: mode %s pads the last 1 to 3 dimensions of a tensor of shape (C, ...) or (N, C, ...), but self has sizes %v and pad is %v",
				op, mode, self.Sizes(), pad)
	}
	if mode != "circular" && self.DType() == dtype.Bool {
		return nil, status.NotImplementedf("%s: mode %s is not implemented for bool", op, mode)
	}
	for _, n := range self.Sizes()[self.Dim()-padded-1:] {
		if n == 0 && mode != "circular" {
			return nil,
				status.Runtimef("%s: Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: %v",
					op, padded+1, padded+2, self.Sizes())
		}
	}
	for i := range padded {
		dim := int64(self.Dim() - 1 - i)
		if err := checkPadding(op, mode, dim, self.Sizes()[dim], pad[2*i], pad[2*i+1]); err != nil {
			return nil, err
		}
	}
	b := build.New(c, op)
	defer b.Close(&err)
	y := b.NnPadInside(self, pad, mode)
	if mode != "circular" {
		y = matchFormat(b, self, y)
	}
	return build.WriteResult(b, nil, y)
}

func checkPadding(op, mode string, dim, n, before, after int64) error {
	widest := max(before, after)
	switch {
	case mode == "reflect" && widest >= n:
		return status.Runtimef("%s: Padding size should be less than the corresponding input dimension, but got: padding (%d, %d) at dimension %d of size %d",
			op, before, after, dim, n)
	case mode == "circular" && widest > n:
		return status.Runtimef("%s: Padding value causes wrapping around more than once: mode circular pads dimension %d of size %d by (%d, %d)",
			op, dim, n, before, after)
	case mode == "circular" && widest > 0 && n+min(before, 0)+min(after, 0) < 1:
		return status.Runtimef("%s: dimension %d of size %d has no elements left after padding by (%d, %d), so nothing can be replicated",
			op, dim, n, before, after)
	case before < -n || after < -n || n+before+after < 0 || mode != "circular" && n+before+after < 1:
		return status.Runtimef("%s: dimension %d of size %d has a negative size after padding by (%d, %d)", op, dim, n, before, after)
	}
	return nil
}

// checkPad returns an error unless pad has two numbers for each of the last dimensions of t, whose negation is representable.
func checkPad(op string, t *tensor.Tensor, pad []int64) error {
	switch {
	case len(pad)%2 != 0 || len(pad) > 2*t.Dim():
		return status.Runtimef("%s: pad must have two values for each of the last dimensions, but is %v for self of sizes %v", op, pad,
			t.Sizes())
	case slices.Contains(pad, math.MinInt64):
		return status.Runtimef("%s: pad must have values greater than %d, but is %v", op, math.MinInt64, pad)
	}
	return nil
}

// splitPad returns the widths of pad that are added, and the negative ones, which are cropped.
func splitPad(pad []int64) (added, cut []int64) {
	for _, v := range pad {
		added, cut = append(added, max(v, 0)), append(cut, min(v, 0))
	}
	return added, cut
}

// padWithZeros pads t with zeros, or crops it for negative widths, and multiplies it by sign.
func padWithZeros(b *build.Builder, t *tensor.Tensor, widths []int64, sign int64) *tensor.Tensor {
	around := slices.Clone(widths)
	for i := range around {
		around[i] *= sign
	}
	return b.ConstantPadNd(t, around, dtype.IntScalar(0))
}

// border is a part of a dimension that padding adds: where it begins, its width, and where the part that it continues begins.
type border struct{ at, width, from int64 }

// listBorders returns the borders of a dimension of size n in the padded tensor. A circular border wider than n consists of several.
func listBorders(mode string, n, before, after int64) (list []border) {
	switch mode {
	case "reflect":
		list = []border{{0, before, before + 1}, {before + n, after, before + n - 1 - after}}
	case "replicate":
		list = []border{{0, before, before}, {before + n, after, before + n - 1}}
	default:
		n := max(n, 1)
		for end := before; end > 0; end -= n {
			width := min(end, n)
			list = append(list, border{end - width, width, end - width + n})
		}
		for at := before + n; at < before+n+after; at += n {
			list = append(list, border{at, min(before+n+after-at, n), at - n})
		}
	}
	return slices.DeleteFunc(list, func(b border) bool { return b.width == 0 })
}

// splitLines splits a border of few lines, so that copies run along each of them, and not across rows of few elements.
func (b border) splitLines(mode string) []border {
	const few = 3
	if b.width > few {
		return []border{b}
	}
	list := make([]border, b.width)
	for i := range b.width {
		from := b.from + i
		switch mode {
		case "reflect":
			from = b.from + b.width - 1 - i
		case "replicate":
			from = b.from
		}
		list[i] = border{b.at + i, 1, from}
	}
	return list
}

// NnPadInside copies self to the inside of the result and fills the borders from there. Cropped elements still count for reflection, but
// not for circular padding.
func NnPadInside(c dispatch.Context, self *tensor.Tensor, pad []int64, mode string) (_ *tensor.Tensor, err error) {
	b := build.New(c, "nn_pad")
	defer b.Close(&err)
	b.Check(checkPad(b.Op, self, pad))
	added, cut := splitPad(pad)
	cuts := slices.ContainsFunc(cut, func(v int64) bool { return v < 0 })
	plain := self.Device().Type == device.CPU && self.IsContiguous() && self.Lazy() == 0 && b.C.Plain(self)
	if plain && ops.PadsRows(self, pad, mode) {
		return build.WriteResult(b, nil, b.NnPadRows(self, pad, mode))
	}
	if cuts && mode == "circular" {
		self = padWithZeros(b, self, cut, 1)
	}
	sizes := slices.Clone(self.Sizes())
	for i, n := range added {
		size, err := shape.Larger("nn_pad", sizes[len(sizes)-1-i/2], 1, n)
		b.Check(err)
		sizes[len(sizes)-1-i/2] = size
	}
	y := b.EmptyBeside(self, self.DType(), sizes...)
	parts := []*tensor.Tensor{y} // that have borders along more and more of the dimensions
	for dim := self.Dim() - len(pad)/2; dim < self.Dim(); dim++ {
		parts = append(parts, b.Narrow(parts[len(parts)-1], int64(dim), added[2*(self.Dim()-1-dim)], self.Sizes()[dim]))
	}
	b.Copy(parts[len(parts)-1], self, false)
	for i, part := range slices.Backward(parts[:len(parts)-1]) {
		dim := self.Dim() - len(pad)/2 + i
		before, after := added[2*(self.Dim()-1-dim)], added[2*(self.Dim()-1-dim)+1]
		for _, whole := range listBorders(mode, self.Sizes()[dim], before, after) {
			for _, edge := range whole.splitLines(mode) {
				b.Copy(b.Narrow(part, int64(dim), edge.at, edge.width), borderValues(b, part, mode, int64(dim), edge), false)
			}
		}
	}
	if cuts && mode != "circular" {
		y = padWithZeros(b, y, cut, 1)
	}
	return build.WriteResult(b, nil, y)
}

// borderValues returns the values of a border of y. In mode replicate, they broadcast to it.
func borderValues(b *build.Builder, y *tensor.Tensor, mode string, dim int64, edge border) *tensor.Tensor {
	switch {
	case mode == "replicate":
		return b.Narrow(y, dim, edge.from, 1)
	case mode == "reflect" && edge.width > 1:
		mirrored := b.Narrow(y, dim, edge.from, edge.width)
		return b.Flip(mirrored, dim)
	}
	return b.Narrow(y, dim, edge.from, edge.width)
}

// accumulateBorder adds a border of the gradient y to the elements that it was copied from.
func accumulateBorder(b *build.Builder, y *tensor.Tensor, mode string, dim int64, edge border) {
	given := b.Narrow(y, dim, edge.at, edge.width)
	width := edge.width
	switch mode {
	case "replicate":
		width, given = 1, sumDims(b, given, []int64{dim}, y.DType())
	case "reflect":
		transposed := given
		given = b.Flip(transposed, dim)
	}
	to := b.Narrow(y, dim, edge.from, width)
	b.CheckWritten(b.C.Add(to, to, given, one))
}

// NnPadGradient sums the gradients of the padded tensor at the elements that they were copied from.
func NnPadGradient(c dispatch.Context, given *tensor.Tensor, pad []int64, mode string) (_ *tensor.Tensor, err error) {
	b := build.New(c, "nn_pad")
	defer b.Close(&err)
	b.Check(checkPad(b.Op, given, pad))
	added, cut := splitPad(pad)
	y := given
	if mode != "circular" {
		y = padWithZeros(b, y, cut, -1)
	}
	y = b.CloneWith(y, shape.Contiguous)
	for i := range len(pad) / 2 {
		dim, before, after := y.Dim()-1-i, added[2*i], added[2*i+1]
		size := y.Sizes()[dim]
		if before > size || after > size-before {
			b.Failf("dimension %d of the gradient has size %d, which is too small for padding of %d and %d", dim, size, before, after)
		}
		n := size - before - after
		for _, edge := range slices.Backward(listBorders(mode, n, before, after)) {
			accumulateBorder(b, y, mode, int64(dim), edge)
		}
		y = b.Narrow(y, int64(dim), before, n)
	}
	y = b.AsContiguous(y)
	if mode == "circular" {
		y = padWithZeros(b, y, cut, -1)
	}
	return build.WriteResult(b, nil, y)
}
