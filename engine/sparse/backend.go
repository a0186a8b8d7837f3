package sparse

import (
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

func init() {
	tensor.CheckParts = check
	b := newBackend()
	errors := map[string]func(string, ...any) error{"index_put_": status.Typef} // x[i] = y, of types that have no parts to assign to
	for l := tensor.COO; l <= tensor.BSC; l++ {
		of := b
		if l == tensor.COO { // may have several entries at one position; sparse_resize_() distinguishes sparse and dense dimensions
			of.Fill, of.Resize = nil, nil
		}
		dispatch.Register(l.Keys(), &dispatch.Kind{Name: l.String(), Instead: "convert with to_dense()", Errors: errors, Backend: of})
	}
}

// backend returns the kernels of operators on sparse tensors, for all layouts.
func newBackend() dispatch.Backend {
	b := unary()
	b.ToString = toString
	b.Clone = cloned
	b.Detach = detached
	b.ToOptions = toOptions
	b.Zeros, b.Empty = zeros, empty
	b.Zero = zero
	b.ZerosLike = zerosLike
	b.OnesLike = filledLike("ones_like", func(c dispatch.Context, v *tensor.Tensor, d dtype.DType, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
		return c.OnesLike(v, d, tensor.NoLayout, dev, f)
	})
	b.EmptyLike, b.FullLike, b.Fill = emptyLike, fullLike, fill
	b.NewZeros, b.NewEmpty = newOf("new_zeros"), newOf("new_empty")
	b.RandLike, b.RandnLike, b.RandintLike, b.RandintLikeHigh = randLike, randnLike, randintLike, randintLikeHigh
	b.NewOnes, b.NewFull = newOnes, newFull
	b.Copy = copied
	b.Save, b.SaveBytes, b.SaveDict = save, saveBytes, saveDict
	b.IsContiguous, b.IsSetTo = isContiguous, isSetTo
	b.IsConj, b.IsNeg, b.IsPinned = ofValues(dispatch.Context.IsConj), ofValues(dispatch.Context.IsNeg), ofValues(dispatch.Context.IsPinned)
	b.Conj = func(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
		return c.ConjPhysical(nil, self)
	}
	b.Equal, b.Allclose = equal, allclose
	b.IndexGet = indexGet

	b.Add = plus("add", dispatch.Context.Add)
	b.Sub = plus("sub", dispatch.Context.Sub)
	b.Mul = mul
	b.Div = div
	b.TrueDivide = func(c dispatch.Context, out, a, b *tensor.Tensor) (*tensor.Tensor, error) {
		return div(c, out, a, b, "")
	}
	b.Pow = pow
	b.FloorDivide = byNumber("floor_divide", dispatch.Context.FloorDivide, onElements)
	b.FloatPower = byNumber("float_power", dispatch.Context.FloatPower, keepsZero)
	b.Remainder = byNumber("remainder", dispatch.Context.Remainder, onElements)
	b.Fmod = byNumber("fmod", dispatch.Context.Fmod, onElements)

	b.Clamp = clamp
	b.ClampMin, b.ClampMax = byNumber("clamp_min", dispatch.Context.ClampMin, keepsZero), byNumber("clamp_max", dispatch.Context.ClampMax, keepsZero)

	b.Mm, b.Mv, b.Bmm, b.Matmul = mm, mv, bmm, matmul
	b.Addmm, b.Addmv = addmm, addmv
	b.TriangularSolve = triangularSolve
	b.Resize, b.ResizeAs = resizeTo, resizeAs

	b.Sum, b.Mean, b.Norm, b.LinalgVectorNorm = total, mean, norm, vectorNorm
	b.Any, b.All = extreme("any", "amax", dispatch.Context.Any), extreme("all", "amin", dispatch.Context.All)
	b.Amax, b.Amin = extreme("amax", "amax", dispatch.Context.Amax), extreme("amin", "amin", dispatch.Context.Amin)
	b.Argmax, b.Argmin = position("argmax", "amax", dispatch.Context.Argmax), position("argmin", "amin", dispatch.Context.Argmin)
	b.Max, b.Min = ofAll("max", dispatch.Context.Max), ofAll("min", dispatch.Context.Min)
	b.CountNonzero, b.Round, b.NanToNum = countNonzero, round, nanToNum
	b.Transpose, b.Permute, b.TransposeMatrix = transpose, permute, turnMatrix
	b.TransposeLast, b.TransposeAll, b.Adjoint, b.AdjointMatrix = transposeLast, transposeAll, adjoint, adjointMatrix
	b.MovedimList = moved
	b.Movedim = func(c dispatch.Context, self *tensor.Tensor, source, destination int64) (*tensor.Tensor, error) {
		return moved(c, self, []int64{source}, []int64{destination})
	}
	b.Reshape, b.View, b.Flatten, b.Unflatten = reshaped("reshape"), reshaped("view"), flatten, unflatten
	b.Squeeze = func(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error) {
		return squeeze(c, out, self, nil, true)
	}
	b.SqueezeDim = func(c dispatch.Context, out, self *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
		return squeeze(c, out, self, []int64{dim}, false)
	}
	b.SqueezeDims = func(c dispatch.Context, out, self *tensor.Tensor, dims []int64) (*tensor.Tensor, error) {
		return squeeze(c, out, self, dims, false)
	}
	b.Expand, b.Flip, b.Roll = expand, flip, roll
	b.BroadcastTo = func(c dispatch.Context, self *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
		return expand(c, self, size, false)
	}
	b.Split, b.SplitWithSizes, b.Chunk, b.Unbind = split, splitWithSizes, chunk, unbind
	b.UnsafeSplit, b.UnsafeSplitWithSizes, b.UnsafeChunk = split, splitWithSizes, chunk
	b.Unsqueeze, b.Select, b.Narrow, b.Slice = unsqueeze, selected, narrow, slice
	b.IndexSelect, b.Cat, b.Stack = indexSelect, cat, stack
	b.Item = func(c dispatch.Context, self *tensor.Tensor) (_ dtype.Scalar, err error) {
		s := newScope(c, "item")
		defer s.Close(&err)
		d := s.dense(self)
		return c.Item(d)
	}
	return b
}

// onParts returns t with its parts mapped by index and value.
func (s *scope) onParts(t *tensor.Tensor, index, value func(*tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	p := t.Parts()
	q := tensor.Parts{Values: value(p.Values), Coalesced: p.Coalesced}
	for _, i := range p.Indices {
		q.Indices = append(q.Indices, index(i))
	}
	return s.Track(tensor.Assemble(s.Op, t.Layout(), t.Sizes(), q))
}

func same(t *tensor.Tensor) *tensor.Tensor { return t }

// onValues returns t with its values mapped and the same indices.
func (s *scope) onValues(t *tensor.Tensor, value func(*tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	return s.onParts(t, same, value)
}

func (s *scope) clone(t *tensor.Tensor) *tensor.Tensor {
	return s.CloneWith(t, shape.Preserve)
}

// ofValues asks about the entries.
func ofValues(asks func(dispatch.Context, *tensor.Tensor) (bool, error)) func(dispatch.Context, *tensor.Tensor) (bool, error) {
	return func(c dispatch.Context, self *tensor.Tensor) (bool, error) { return asks(c, self.Parts().Values) }
}

func cloned(c dispatch.Context, self *tensor.Tensor, f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	s := newScope(c, "clone")
	defer s.Close(&err)
	s.strided(tensor.NoLayout, f)
	return s.Return(s.onParts(self, s.clone, s.clone))
}

func detached(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	s := newScope(c, "detach")
	defer s.Close(&err)
	return s.Return(s.onValues(self, func(t *tensor.Tensor) *tensor.Tensor {
		return s.Detach(t)
	}))
}

func toOptions(c dispatch.Context, self *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device, busy, forced bool, f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	s := newScope(c, "to")
	defer s.Close(&err)
	switch {
	case l != tensor.NoLayout && l != self.Layout():
		s.Failf("options with a different layout are not supported; convert layouts with to_sparse() or to_dense()")
		return nil, nil
	case !forced && (d == dtype.None || d == self.DType()) && (dev.IsNone() || dev == self.Device()):
		return self.Alias(), nil
	}
	to := func(d dtype.DType) func(*tensor.Tensor) *tensor.Tensor {
		return func(t *tensor.Tensor) *tensor.Tensor {
			return s.ToOptionsWith(t, d, tensor.NoLayout, dev, busy, forced, shape.Preserve)
		}
	}
	return s.Return(s.onParts(s.convertible(self, d), to(dtype.None), to(d)))
}

func zeros(c dispatch.Context, out *tensor.Tensor, size []int64, d dtype.DType, l tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	return withoutEntries(c, "zeros", out, size, d, l, dev)
}

// empty has no entries either, so that nothing in it is arbitrary.
func empty(c dispatch.Context, out *tensor.Tensor, size []int64, d dtype.DType, l tensor.Layout, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
	if f != shape.NoFormat && f != shape.Contiguous {
		return nil, status.Runtimef("empty: memory format %v is only supported for strided tensors, not for sparse ones", f)
	}
	return withoutEntries(c, "empty", out, size, d, l, dev)
}

func withoutEntries(c dispatch.Context, op string, out *tensor.Tensor, size []int64, d dtype.DType, l tensor.Layout, dev device.Device) (_ *tensor.Tensor, err error) {
	s := newScope(c, op)
	defer s.Close(&err)
	if out != nil && l != tensor.NoLayout && l != out.Layout() {
		return nil, status.Runtimef("%s: layout %v does not match the layout of out, %v", op, l, out.Layout())
	}
	if out != nil {
		l = out.Layout()
	}
	if out != nil && d == dtype.None {
		d = out.DType()
	}
	return s.result(out, s.empty(l, size, d, dev, len(size)))
}

// additive are operators for which it makes no difference whether entries of one place are added up before or after.
var additive = map[string]bool{"neg": true, "positive": true, "conj": true, "conj_physical": true, "real": true, "imag": true, "resolve_conj": true, "resolve_neg": true}

// unaryOn is an operator of one tensor that makes 0 of 0. In place, entries of one place would have to be added up first, which is for
// coalesce() to do.
func unaryOn(op string, does func(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error)) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor) (*tensor.Tensor, error) {
	on := onElements(op, does)
	return func(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error) {
		if out == self && !elementwise(op, self) {
			return nil, status.Runtimef("%s_ requires a coalesced tensor; call coalesce() first", op)
		}
		return on(c, out, self)
	}
}

// elementwise reports whether an elementwise operator on t can be applied to its entries.
func elementwise(op string, t *tensor.Tensor) bool {
	return t.Layout() != tensor.COO || t.Parts().Coalesced || additive[op]
}

// onElements is an operator that makes 0 of 0: it works on the entries alone, of COO tensors once those of one place are added up.
func onElements(op string, does func(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error)) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor) (*tensor.Tensor, error) {
	return func(c dispatch.Context, out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
		s := newScope(c, op)
		defer s.Close(&err)
		if !isSparse(self) {
			return nil, mixed(op, out)
		}
		x, whole := self, elementwise(op, self)
		if out == self && whole { // the memory of the values stays
			_, err := does(c, self.Parts().Values, self.Parts().Values)
			s.Check(err)
			return self, nil
		}
		if !whole {
			x = s.tensor(s.coalesced(s.coordinatesOf(self)))
		}
		return s.result(out, s.onValues(x, func(t *tensor.Tensor) *tensor.Tensor {
			if out == self { // in place, on the entries that coalesce() has made
				s.CheckWritten(does(c, t, t))
				return t
			}
			return s.Track(does(c, nil, t))
		}))
	}
}

// mixed returns the error of a dense operand whose result was to be sparse.
func mixed(op string, out *tensor.Tensor) error {
	return status.Runtimef("%s: the result of strided tensors cannot be written to a tensor of layout %v", op, out.Layout())
}

// freshOn is unaryOn for operators without an output.
func freshOn(op string, does func(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error)) func(dispatch.Context, *tensor.Tensor) (*tensor.Tensor, error) {
	on := unaryOn(op, func(c dispatch.Context, _, self *tensor.Tensor) (*tensor.Tensor, error) { return does(c, self) })
	return func(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) { return on(c, nil, self) }
}
