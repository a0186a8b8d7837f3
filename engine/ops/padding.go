package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/tensor"
)

// mostPadded bounds the number of indices of each padded dimension that are listed.
const mostPadded = 1 << 24

// PadsRows reports whether NnPadRows takes the widths: none is negative, and each border has its elements in self.
func PadsRows(self *tensor.Tensor, pad []int64, mode string) bool {
	if len(pad) == 0 || len(pad)%2 != 0 || len(pad)/2 > self.Dim() || self.Numel() == 0 {
		return false
	}
	for i := range len(pad) / 2 {
		n, widest := self.Sizes()[self.Dim()-1-i], max(pad[2*i], pad[2*i+1])
		if min(pad[2*i], pad[2*i+1]) < 0 || widest > mostPadded || n > mostPadded || mode == "reflect" && widest >= n {
			return false
		}
	}
	return slices.Contains([]string{"reflect", "replicate", "circular"}, mode)
}

// NnPadRows pads a contiguous tensor.
func NnPadRows(self *tensor.Tensor, pad []int64, mode string) (_ *tensor.Tensor, err error) {
	s := newScope("nn_pad_rows")
	defer s.Close(&err)
	if !self.IsContiguous() || !PadsRows(self, pad, mode) {
		s.Failf("pad %v in mode %s is not supported for self of sizes %v and strides %v", pad, mode, self.Sizes(), self.Strides())
	}
	sizes := slices.Clone(self.Sizes())
	w := backend.Padding{From: self}
	for i := range len(pad) / 2 {
		n := &sizes[len(sizes)-1-i]
		w.Dims = append(w.Dims, paddedDim(*n, pad[2*i], pad[2*i+1], mode))
		*n += pad[2*i] + pad[2*i+1]
	}
	w.To = s.newEmpty(self, self.DType(), sizes...)
	s.Check(backend.On(self).Pad(s.Op, w))
	return s.Return(w.To)
}

// paddedDim returns the sources of a dimension of size n.
func paddedDim(n, before, after int64, mode string) backend.PaddedDim {
	d := backend.PaddedDim{Sources: make([]int64, before+n+after), Before: before, Size: n}
	for i := range d.Sources {
		at := int64(i) - before
		switch {
		case mode == "circular":
			at = (at%n + n) % n
		case mode == "replicate":
			at = min(max(at, 0), n-1)
		case at < 0:
			at = -at
		case at >= n:
			at = 2*(n-1) - at
		}
		d.Sources[i] = at
	}
	return d
}
