package sparse

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

func init() {
	tensor.CheckComponents = checkComponents
	table := newBackend()
	errors := map[string]func(string, ...any) error{"index_put_": status.Typef} // x[i] = y, of types that have no parts to assign to
	for l := tensor.COO; l <= tensor.BSC; l++ {
		of := table
		if l == tensor.COO { // may have several entries at one position; sparse_resize_() distinguishes sparse and dense dimensions
			of.Fill, of.Resize = nil, nil
		}
		dispatch.Register(l.Keys(), &dispatch.TensorKind{Name: l.String(), Instead: "convert with to_dense()", Errors: errors, Backend: of})
	}
}

// newBackend returns the kernels of operators on sparse tensors, for all layouts.
func newBackend() dispatch.Backend {
	table := newUnaryBackend()
	table.ToString = toString
	table.Clone = clone
	table.Detach = detach
	table.ToOptions = toOptions
	table.Zeros, table.Empty = zeros, empty
	table.Zero = zero
	table.ZerosLike = zerosLike
	table.OnesLike = makeFilledLike("ones_like",
		func(c dispatch.Context, v *tensor.Tensor, d dtype.DType, dev device.Device, f shape.MemoryFormat) (*tensor.Tensor, error) {
			return c.OnesLike(v, d, tensor.NoLayout, dev, f)
		})
	table.EmptyLike, table.FullLike, table.Fill = emptyLike, fullLike, fill
	table.NewZeros, table.NewEmpty = makeEmptyFactory("new_zeros"), makeEmptyFactory("new_empty")
	table.RandLike, table.RandnLike, table.RandintLike, table.RandintLikeHigh = randLike, randnLike, randintLike, randintLikeHigh
	table.NewOnes, table.NewFull = newOnes, newFull
	table.Copy = copyEntries
	table.Save, table.SaveBytes, table.SaveDict = save, saveBytes, saveDict
	table.IsContiguous, table.IsSetTo = isContiguous, isSetTo
	table.IsConj, table.IsNeg, table.IsPinned = makeValuesQuery(dispatch.Context.IsConj), makeValuesQuery(dispatch.Context.IsNeg),
		makeValuesQuery(dispatch.Context.IsPinned)
	table.Conj = func(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
		return c.ConjPhysical(nil, self)
	}
	table.Equal, table.Allclose = equal, allclose
	table.IndexGet = indexGet

	table.Add = makeAddition("add", dispatch.Context.Add)
	table.Sub = makeAddition("sub", dispatch.Context.Sub)
	table.Mul = mul
	table.Div = div
	table.TrueDivide = func(c dispatch.Context, out, self, other *tensor.Tensor) (*tensor.Tensor, error) {
		return div(c, out, self, other, "")
	}
	table.Pow = pow
	table.FloorDivide = makeScalarOperator("floor_divide", dispatch.Context.FloorDivide, makeEntrywise)
	table.FloatPower = makeScalarOperator("float_power", dispatch.Context.FloatPower, makeZeroPreserving)
	table.Remainder = makeScalarOperator("remainder", dispatch.Context.Remainder, makeEntrywise)
	table.Fmod = makeScalarOperator("fmod", dispatch.Context.Fmod, makeEntrywise)

	table.Clamp = clamp
	table.ClampMin, table.ClampMax = makeScalarOperator("clamp_min", dispatch.Context.ClampMin, makeZeroPreserving),
		makeScalarOperator("clamp_max", dispatch.Context.ClampMax, makeZeroPreserving)

	table.Mm, table.Mv, table.Bmm, table.Matmul = mm, mv, bmm, matmul
	table.Addmm, table.Addmv = addmm, addmv
	table.TriangularSolve = triangularSolve
	table.Resize, table.ResizeAs = resizeCompressed, resizeAs

	table.Sum, table.Mean, table.Norm, table.LinalgVectorNorm = sum, mean, norm, vectorNorm
	table.Any, table.All = makeExtremum("any", "amax", dispatch.Context.Any), makeExtremum("all", "amin", dispatch.Context.All)
	table.Amax, table.Amin = makeExtremum("amax", "amax", dispatch.Context.Amax), makeExtremum("amin", "amin", dispatch.Context.Amin)
	table.Argmax, table.Argmin = makeArgExtremum("argmax", "amax", dispatch.Context.Argmax),
		makeArgExtremum("argmin", "amin", dispatch.Context.Argmin)
	table.Max, table.Min = makeFullReduction("max", dispatch.Context.Max), makeFullReduction("min", dispatch.Context.Min)
	table.CountNonzero, table.Round, table.NanToNum = countNonzero, round, nanToNum
	table.Transpose, table.Permute, table.TransposeMatrix = transpose, permute, transpose2d
	table.TransposeLast, table.TransposeAll, table.Adjoint, table.AdjointMatrix = transposeLast, transposeAll, adjoint, adjointMatrix
	table.MovedimList = moveDims
	table.Movedim = func(c dispatch.Context, self *tensor.Tensor, source, destination int64) (*tensor.Tensor, error) {
		return moveDims(c, self, []int64{source}, []int64{destination})
	}
	table.Reshape, table.View, table.Flatten, table.Unflatten = makeReshape("reshape"), makeReshape("view"), flatten, unflatten
	table.Squeeze = func(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error) {
		return squeeze(c, out, self, nil, true)
	}
	table.SqueezeDim = func(c dispatch.Context, out, self *tensor.Tensor, dim int64) (*tensor.Tensor, error) {
		return squeeze(c, out, self, []int64{dim}, false)
	}
	table.SqueezeDims = func(c dispatch.Context, out, self *tensor.Tensor, dims []int64) (*tensor.Tensor, error) {
		return squeeze(c, out, self, dims, false)
	}
	table.Expand, table.Flip, table.Roll = expand, flip, roll
	table.BroadcastTo = func(c dispatch.Context, self *tensor.Tensor, size []int64) (*tensor.Tensor, error) {
		return expand(c, self, size, false)
	}
	table.Split, table.SplitWithSizes, table.Chunk, table.Unbind = split, splitWithSizes, chunk, unbind
	table.UnsafeSplit, table.UnsafeSplitWithSizes, table.UnsafeChunk = split, splitWithSizes, chunk
	table.Unsqueeze, table.Select, table.Narrow, table.Slice = unsqueeze, selectIndex, narrow, slice
	table.IndexSelect, table.Cat, table.Stack = indexSelect, cat, stack
	table.Item = item
	return table
}

// item returns the only element of a tensor.
func item(c dispatch.Context, self *tensor.Tensor) (_ dtype.Scalar, err error) {
	b := build.New(c, "item")
	defer b.Close(&err)
	return c.Item(asDense(b, self))
}

// mapComponents returns t with its parts mapped by index and value.
func mapComponents(b *build.Builder, t *tensor.Tensor, index, value func(*tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	p := t.Components()
	q := tensor.SparseComponents{Values: value(p.Values), Coalesced: p.Coalesced}
	for _, i := range p.Indices {
		q.Indices = append(q.Indices, index(i))
	}
	return b.Track(tensor.Assemble(b.Op, t.Layout(), t.Sizes(), q))
}

func returnSame(t *tensor.Tensor) *tensor.Tensor { return t }

// mapValues returns t with its values mapped and the same indices.
func mapValues(b *build.Builder, t *tensor.Tensor, value func(*tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	return mapComponents(b, t, returnSame, value)
}

// makeValuesQuery returns the kernel of a predicate that is true of a sparse tensor if it is true of its values.
func makeValuesQuery(query func(dispatch.Context, *tensor.Tensor) (bool, error)) func(dispatch.Context, *tensor.Tensor) (bool, error) {
	return func(c dispatch.Context, self *tensor.Tensor) (bool, error) { return query(c, self.Components().Values) }
}

func clone(c dispatch.Context, self *tensor.Tensor, f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	b := build.New(c, "clone")
	defer b.Close(&err)
	checkMemoryFormat(b, tensor.NoLayout, f)
	return b.Return(mapComponents(b, self, b.Clone, b.Clone))
}

func detach(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	b := build.New(c, "detach")
	defer b.Close(&err)
	return b.Return(mapValues(b, self, func(t *tensor.Tensor) *tensor.Tensor {
		return b.Detach(t)
	}))
}

func toOptions(c dispatch.Context, self *tensor.Tensor, d dtype.DType, l tensor.Layout, dev device.Device, busy, forced bool,
	f shape.MemoryFormat) (_ *tensor.Tensor, err error) {
	b := build.New(c, "to")
	defer b.Close(&err)
	switch {
	case l != tensor.NoLayout && l != self.Layout():
		b.Failf("options with a different layout are not supported; convert layouts with to_sparse() or to_dense()")
	case !forced && (d == dtype.None || d == self.DType()) && (dev.IsNone() || dev == self.Device()):
		return self.Alias(), nil
	}
	to := func(d dtype.DType) func(*tensor.Tensor) *tensor.Tensor {
		return func(t *tensor.Tensor) *tensor.Tensor {
			return b.ToOptionsWith(t, d, tensor.NoLayout, dev, busy, forced, shape.Preserve)
		}
	}
	return b.Return(mapComponents(b, coalesceToCast(b, self, d), to(dtype.None), to(d)))
}

func zeros(c dispatch.Context, out *tensor.Tensor, size []int64, d dtype.DType, l tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return createWithoutEntries(c, "zeros", out, size, d, l, dev)
}

// empty has no entries either, so that nothing in it is arbitrary.
func empty(c dispatch.Context, out *tensor.Tensor, size []int64, d dtype.DType, l tensor.Layout, dev device.Device,
	f shape.MemoryFormat) (*tensor.Tensor, error) {
	if f != shape.NoFormat && f != shape.Contiguous {
		return nil, status.Runtimef("empty: memory format %v is only supported for strided tensors, not for sparse ones", f)
	}
	return createWithoutEntries(c, "empty", out, size, d, l, dev)
}

// createWithoutEntries returns a tensor without entries, or drops those of out.
func createWithoutEntries(c dispatch.Context, op string, out *tensor.Tensor, size []int64, d dtype.DType, l tensor.Layout,
	dev device.Device) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	if out != nil && l != tensor.NoLayout && l != out.Layout() {
		return nil, status.Runtimef("%s: layout %v does not match the layout of out, %v", op, l, out.Layout())
	}
	if out != nil {
		l = out.Layout()
	}
	if out != nil && d == dtype.None {
		d = out.DType()
	}
	return writeResult(b, out, makeEmpty(b, l, size, d, dev, len(size)))
}

// additive lists the operators that commute with the sum of duplicate entries.
var additive = map[string]bool{"neg": true, "positive": true, "conj": true, "conj_physical": true, "real": true, "imag": true,
	"resolve_conj": true, "resolve_neg": true}

// makeUnary returns the kernel of a unary operator that maps 0 to 0. In place it requires a coalesced tensor, unless the operator commutes
// with the sum of duplicate entries.
func makeUnary(
	op string, apply func(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error),
) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor) (*tensor.Tensor, error) {
	on := makeEntrywise(op, apply)
	return func(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error) {
		if out == self && !canApplyToEntries(op, self) {
			return nil, status.Runtimef("%s_ requires a coalesced tensor; call coalesce() first", op)
		}
		return on(c, out, self)
	}
}

// canApplyToEntries reports whether an elementwise operator on t can be applied to its entries.
func canApplyToEntries(op string, t *tensor.Tensor) bool {
	return t.Layout() != tensor.COO || t.Components().Coalesced || additive[op]
}

// makeEntrywise returns the kernel of an operator that maps 0 to 0: it is applied to the values of the coalesced tensor.
func makeEntrywise(
	op string, apply func(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error),
) func(dispatch.Context, *tensor.Tensor, *tensor.Tensor) (*tensor.Tensor, error) {
	return func(c dispatch.Context, out, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
		b := build.New(c, op)
		defer b.Close(&err)
		if !isSparse(self) {
			return nil, stridedOperandsError(op, out)
		}
		x, entrywise := self, canApplyToEntries(op, self)
		if out == self && entrywise { // the memory of the values stays
			_, err := apply(c, self.Components().Values, self.Components().Values)
			b.Check(err)
			return self, nil
		}
		if !entrywise {
			x = assembleCoo(b, coalesceCoordinates(b, coordinatesOf(b, self)))
		}
		return writeResult(b, out, mapValues(b, x, func(t *tensor.Tensor) *tensor.Tensor {
			if out == self { // in place, on the entries that coalesce() has made
				b.CheckWritten(apply(c, t, t))
				return t
			}
			return b.Track(apply(c, nil, t))
		}))
	}
}

// stridedOperandsError returns the error of strided operands with a sparse out.
func stridedOperandsError(op string, out *tensor.Tensor) error {
	return status.Runtimef("%s: the result of strided tensors cannot be written to a tensor of layout %v", op, out.Layout())
}

// makeUnaryWithoutOut is makeUnary for operators without out.
func makeUnaryWithoutOut(
	op string, apply func(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error),
) func(dispatch.Context, *tensor.Tensor) (*tensor.Tensor, error) {
	on := makeUnary(op, func(c dispatch.Context, _, self *tensor.Tensor) (*tensor.Tensor, error) { return apply(c, self) })
	return func(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) { return on(c, nil, self) }
}
