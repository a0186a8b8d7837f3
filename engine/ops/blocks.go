package ops

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/serial/gguf"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// GgufLoadFile reads or maps the tensors of a GGUF file.
func GgufLoadFile(path string, names []string, mmap bool) ([]string, []*tensor.Tensor, []string, string, error) {
	const op = "gguf_load_file"
	source, err := file.Open(op, path)
	if err != nil {
		return nil, nil, nil, "", err
	}
	defer source.Close()
	return ggufLoad(op, source, names, mmap)
}

// GgufLoad is GgufLoadFile from memory.
func GgufLoad(data *tensor.Tensor) ([]string, []*tensor.Tensor, []string, string, error) {
	source, err := fileSource("gguf_load", data)
	if err != nil {
		return nil, nil, nil, "", err
	}
	return ggufLoad("gguf_load", source, nil, false)
}

func ggufLoad(op string, source *file.Source, names []string, mmap bool) ([]string, []*tensor.Tensor, []string, string, error) {
	budget := source.Budget(op)
	defer budget.Close()
	f, err := gguf.Open(op, source, budget)
	if err != nil {
		return nil, nil, nil, "", err
	}
	found, tensors, kinds, err := f.Select(names, mmap)
	return found, tensors, kinds, f.Metadata, err
}

// checkBlocks returns the type of a tensor of blocks and its sizes in values.
func (s *scope) checkBlocks(name string, t *tensor.Tensor, kind string) (gguf.Type, []int64) {
	known, ok := gguf.TypeOf(kind)
	switch {
	case !ok || !known.Computed:
		s.Check(status.NotImplementedf("%s: type must be one of %s, but is %.100q", s.Op, gguf.ComputedNames(), kind))
	case t.DType() != dtype.Uint8:
		s.Failf("%s must be a uint8 tensor of blocks, but has dtype %v", name, t.DType())
	case t.Dim() < 1 || t.Sizes()[t.Dim()-1]%known.Bytes != 0:
		s.Failf("%s must have rows of blocks of %s, which take %d bytes each, but has sizes %v", name, kind, known.Bytes, t.Sizes())
	}
	sizes := slices.Clone(t.Sizes())
	last, err := shape.Larger(s.Op, sizes[len(sizes)-1]/known.Bytes, known.Values, 0)
	s.Check(err)
	sizes[len(sizes)-1] = last
	return known, sizes
}

// GgufDequantize returns the values of blocks.
func GgufDequantize(self *tensor.Tensor, kind string, d dtype.DType) (_ *tensor.Tensor, err error) {
	s := newScope("gguf_dequantize")
	defer s.Close(&err)
	known, sizes := s.checkBlocks("self", self, kind)
	if d == dtype.None {
		d = dtype.Float32
	}
	if !d.IsFloatingPoint() {
		s.Failf("dtype must be a floating-point dtype, but is %v", d)
	}
	in := s.castRowMajor(self, dtype.Uint8)
	to := s.Track(tensor.Empty(s.Op, sizes, dtype.Float32, self.Device()))
	s.Check(backend.On(in).Dequantize(s.Op, backend.Dequantization{To: to, Blocks: in, Type: known.Number, Values: known.Values,
		Bytes: known.Bytes}))
	return s.Return(s.castRowMajor(to, d))
}

// GgufLinear returns the product of self and the transposed weight, which is in blocks, plus bias.
func GgufLinear(self, weight *tensor.Tensor, kind string, bias *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope("gguf_linear")
	defer s.Close(&err)
	known, sizes := s.checkBlocks("weight", weight, kind)
	s.checkBlockLinear(self, weight, bias, sizes)
	k, n, m := sizes[1], sizes[0], int64(1)
	out := append(slices.Clone(self.Sizes()[:self.Dim()-1]), n)
	for _, size := range self.Sizes()[:self.Dim()-1] {
		m *= size
	}
	w := backend.BlockLinear{A: s.castRowMajor(s.reshapeTo(self, m, k), dtype.Float32), Blocks: s.castRowMajor(weight, dtype.Uint8),
		Type: known.Number}
	if bias != nil {
		w.Bias = s.castRowMajor(bias, dtype.Float32)
	}
	w.To = s.newEmpty(self, dtype.Float32, m, n)
	s.Check(backend.On(w.To).BlockLinear(s.Op, w))
	return s.Return(s.reshapeTo(s.castRowMajor(w.To, self.DType()), out...))
}

// checkBlockLinear returns an error unless the operands of a linear layer fit a weight of the given sizes.
func (s *scope) checkBlockLinear(self, weight, bias *tensor.Tensor, sizes []int64) {
	err := checkSameDevice(s.Op, self, weight, bias)
	switch {
	case err != nil:
		s.Check(err)
	case len(sizes) != 2:
		s.Failf("weight must have two dimensions, out x bytes, but has sizes %v", weight.Sizes())
	case !self.DType().IsFloatingPoint() || self.DType() == dtype.Float64:
		s.Failf("self must be float32, float16 or bfloat16, but is %v", self.DType())
	case self.Dim() < 1 || self.Sizes()[self.Dim()-1] != sizes[1]:
		s.Failf("the last dimension of sizes %v must have the %d values of a row of weight", self.Sizes(), sizes[1])
	case bias == nil:
	case bias.DType() != self.DType():
		s.Failf("bias must have the dtype of self, %v, but has %v", self.DType(), bias.DType())
	case !slices.Equal(bias.Sizes(), sizes[:1]):
		s.Failf("bias must have one dimension of %d elements, but has sizes %v", sizes[0], bias.Sizes())
	}
}
