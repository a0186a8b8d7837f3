package ops

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	gatherKernel     = kernelapi.Gather
	putKernel        = kernelapi.Put
	maskedFillKernel = kernelapi.MaskedFill
	locateKernel     = kernelapi.Locate
)

// indexed describes the elements of an indexed read or write: a view of the indexed tensor with stride 0 along the dimensions of index, the
// stride between positions, and the number of positions.
type indexed struct {
	sizes, strides []int64
	step, size     int64
	index          *tensor.Tensor  // broadcasts to sizes; negative positions count from the end
	check          *backend.Bounds // bounds to check in index when it is used
}

// readIndexed fills out, of shape a.sizes, from self.
func (a *indexed) readIndexed(s *scope, out, self *tensor.Tensor) {
	if out.Numel() == 0 {
		return
	}
	from, to := s.viewRaw(self, a.sizes, a.strides), s.viewRaw(out, out.Sizes(), out.Strides())
	a.runKernel(s, gatherKernel, [3]*tensor.Tensor{to, from, a.index})
}

// writeIndexed stores source, of self's dtype, at the indexed positions of self. The last of several writes to one position wins.
func (a *indexed) writeIndexed(s *scope, self, source *tensor.Tensor) {
	from := s.expandTo(source, a.sizes)
	raw, to := s.viewRaw(from, from.Sizes(), from.Strides()), s.viewRaw(self, a.sizes, a.strides)
	a.runKernel(s, putKernel, [3]*tensor.Tensor{to, a.index, raw})
}

// runKernel runs a kernel with a.index as an operand, the output first, in the dtype of the output.
func (a *indexed) runKernel(s *scope, k kernelapi.Kernel, operands [3]*tensor.Tensor) {
	a.runKernelIn(s, k, operands[0].DType(), operands)
}

// runKernelIn is runKernel, computed in dtype d.
func (a *indexed) runKernelIn(s *scope, k kernelapi.Kernel, d dtype.DType, operands [3]*tensor.Tensor) {
	s.Check(backend.On(operands[0]).Indexed(s.Op, backend.Indexed{Kernel: k, Compute: d, Operands: operands,
		Step: a.step * operands[0].DType().Size(), Size: a.size, Check: a.check}))
}

// newIndexedAlong returns an indexed for an index of positions along dimension d of self, whose sizes are those of the result.
func newIndexedAlong(self *tensor.Tensor, d int, index *tensor.Tensor) *indexed {
	a := &indexed{sizes: index.Sizes(), strides: slices.Clone(self.Strides()), step: 1, size: sizeAt(self, d), index: index}
	if len(a.strides) > 0 {
		a.step, a.strides[d] = a.strides[d], 0
	}
	return a
}

// checkPositions returns index as int64, with all values in [0, size), or in [-size, size) if wrap is set. outOfRange describes the
// error of other values.
func (s *scope) checkPositions(index *tensor.Tensor, size int64, wrap bool, outOfRange backend.OutOfRange) *tensor.Tensor {
	t := s.toInt64Index(index)
	s.Check(backend.On(t).CheckBounds(s.Op, backend.Bounds{Index: t, Size: size, Wrap: wrap, OutOfRange: outOfRange}))
	return t
}

// takePositions is checkPositions for a kernel that reads or writes self at the positions. On a device, that kernel checks them, by the
// bounds that are returned, and the call does not wait for it; otherwise the bounds are nil.
func (s *scope) takePositions(self, index *tensor.Tensor, size int64, wrap bool,
	outOfRange backend.OutOfRange) (at *tensor.Tensor, check *backend.Bounds) {
	if index.Device().Type == device.CPU || self.Numel() == 0 {
		return s.checkPositions(index, size, wrap, outOfRange), nil
	}
	at = s.toInt64Index(index)
	return at, &backend.Bounds{Index: at, Size: size, Wrap: wrap, OutOfRange: outOfRange}
}

// toInt64Index converts an index to int64. Larger numbers become the largest one, which is not a position either.
func (s *scope) toInt64Index(index *tensor.Tensor) *tensor.Tensor {
	if index.DType() == dtype.Uint64 {
		most := s.Number(dtype.IntScalar(math.MaxInt64))
		index = s.Track(minimum.runKernel(nil, nil, index, most))
	}
	return s.Track(convertDType(s.Op, index, dtype.Int64))
}

// isIndexDType reports whether elements of a dtype are positions in every index: uint8 elements are a mask's.
func isIndexDType(d dtype.DType) bool {
	return d == dtype.Int64 || d == dtype.Int32 || d == dtype.Uint16 || d == dtype.Uint32 || d == dtype.Uint64
}

// outOfDim is the error of an index out of range of a dimension.
type outOfDim struct {
	op   string
	dim  int
	size int64
}

func (e outOfDim) At(i int64) error {
	return status.Indexf("%s: index %d is out of bounds for dimension %d with size %d", e.op, i, e.dim, e.size)
}

// outOfDimRuntime is outOfDim of the operators for which PyTorch raises a RuntimeError.
type outOfDimRuntime outOfDim

func (e outOfDimRuntime) At(i int64) error {
	return status.Runtimef("%s: index %d is out of bounds for dimension %d with size %d", e.op, i, e.dim, e.size)
}

// outOfElements is the error of the operators that number the elements of a tensor.
type outOfElements struct {
	op    string
	numel int64
}

func (e outOfElements) At(i int64) error {
	return status.Indexf("%s: out of range: tried to access index %d on a tensor of %d elements", e.op, i, e.numel)
}

// outOfAxis is the error of indexing by a tensor, which PyTorch raises without the name of the operator.
type outOfAxis struct {
	dim  int
	size int64
}

func (e outOfAxis) At(i int64) error {
	return status.Indexf("index %d is out of bounds for dimension %d with size %d", i, e.dim, e.size)
}

// sizeAt returns the size of dimension d; a zero-dim tensor counts as one of size 1.
func sizeAt(t *tensor.Tensor, d int) int64 {
	if t.Dim() == 0 {
		return 1
	}
	return t.Sizes()[d]
}

// requireIndex returns an error for index dtypes other than int64 and, where short is set, other index dtypes.
func requireIndex(op string, index *tensor.Tensor, short bool) error {
	if d := index.DType(); d == dtype.Int64 || short && isIndexDType(d) {
		return nil
	}
	if short {
		return status.Runtimef("%s: expected dtype int32/int64 for index, but got %v", op, index.DType())
	}
	return status.Runtimef("%s: expected dtype int64 for index, but got %v", op, index.DType())
}
