package cuda

import (
	"unsafe"

	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

const (
	targetTile = 4096 // kTile of kernels/targets.h
	mergedRuns = 32   // kMergedRuns of kernels/targets.h
)

// scatterSources reduces sources into the elements of the output that an index selects. The positions are sorted, so that the sources of
// one position are adjacent and in the order of the index. Sources with an index out of range are skipped. The output and the sources may
// have smaller floating-point dtypes than the one that the kernel accumulates in.
func scatterSources(op string, w backend.Indexed) error {
	operands := w.Operands[:]
	dev, err := sharedDevice(op, w.Kernel.Outputs(), operands)
	if err != nil || operands[0].Numel() == 0 {
		return err
	}
	var c combination
	if w.Check != nil {
		c.check = numberCheck(op, w.Check.OutOfRange)
	}
	*(*kernelapi.PlaceParams)(unsafe.Pointer(&c.loop.params)) = indexParams(w)
	if err = c.loop.setDTypes(op, w.Kernel, w.Compute, operands); err != nil {
		return err
	}
	accumulates := w.Compute.IsFloatingPoint() || w.Compute.IsComplex()
	if c.loop.converts != convertNone && !accumulates || isHost(operands[1]) || isHost(operands[2]) {
		return status.NotImplementedf("%s is not implemented on cuda for operands of dtype %v and %v; move the tensors to the cpu", op,
			operands[0].DType(), operands[2].DType())
	}
	var rows kernelapi.Loop
	tensoriter.Arrange(&rows, w.Kernel.Outputs(), operands)
	if err = c.divideDims(op, &rows); err != nil {
		return err
	}
	return withLaunches(op, dev, func(s *launchSequence) {
		n := c.loop.numel
		c.fault = s.faultRecord()
		c.sortIndices(s, n)
		launchStep(s, findEntry(w.Kernel, w.Compute), n*c.columns, &c)
	})
}

// sortIndices sorts the targets of n sources, into c.from.
func (c *combination) sortIndices(s *launchSequence, n int64) {
	c.to = s.allocateTemporary(n * sortItemSize(8))
	launchStep(s, kernels.Alone("target_tiles"), (n+targetTile-1)/targetTile*blockThreads, c)
	var other uintptr
	if n > targetTile {
		other = s.allocateTemporary(n * sortItemSize(8))
	}
	for c.run = targetTile; c.run < n; c.run *= mergedRuns {
		c.from, c.to, other = c.to, other, c.to
		launchStep(s, kernels.Alone("target_merge"), n, c)
	}
	c.from = c.to
}

// divideDims divides the dimensions of rows: those with a constant index and a nonzero output stride are columns.
func (c *combination) divideDims(op string, rows *kernelapi.Loop) error {
	l := &c.loop
	l.numel, c.columns = 1, 1
	for k := range rows.Operands {
		l.data[k] = rows.Data[k]
	}
	for d, size := range rows.Sizes[:rows.Ndim] {
		self, index, source := rows.Strides[0][d], rows.Strides[1][d], rows.Strides[2][d]
		if l.ndim == loopDims || c.columnDims == loopDims {
			return status.NotImplementedf("%s is not implemented on cuda for more than %d dimensions that cannot be merged; move the tensors to the cpu",
				op, loopDims)
		}
		if index == 0 && self != 0 {
			c.columnSizes[c.columnDims], c.columnSelf[c.columnDims], c.columnSource[c.columnDims] = size, self, source
			c.columnDims++
			c.columns *= size
			continue
		}
		l.sizes[l.ndim] = size
		l.strides[0][l.ndim], l.strides[1][l.ndim], l.strides[2][l.ndim] = self, index, source
		l.ndim++
		l.numel *= size
	}
	l.computeDivisors()
	if l.numel > maxSorted {
		return status.NotImplementedf("%s is not implemented on cuda for more than %d indices; move the tensors to the cpu", op,
			int64(maxSorted))
	}
	return nil
}
