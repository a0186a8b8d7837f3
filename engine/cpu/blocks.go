package cpu

import (
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	blocksInputKernel  = kernel.Of(kernelapi.BlocksInput)
	blocksLinearKernel = kernel.Of(kernelapi.BlocksLinear)
	blocksValuesKernel = kernel.Of(kernelapi.BlocksValues)
	weightsBytes       = kernel.Of(kernelapi.WeightsBytes)
	weightsNibbles     = kernel.Of(kernelapi.WeightsNibbles)
)

// blockGrain is the number of multiplications below which a product is not divided among threads.
const blockGrain = 1 << 18

// blockLinear multiplies activations, rounded to 8 bits, with rows of blocks. Threads share the rows of weights, so that each is read once.
func blockLinear(op string, w backend.BlockLinear) (err error) {
	m, k, n := w.A.Sizes()[0], w.A.Sizes()[1], w.Blocks.Sizes()[0]
	if m == 0 || n == 0 {
		return nil
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	each := (k + kernel.ActivationValues - 1) / kernel.ActivationValues * kernel.ActivationBytes
	room := s.Track(tensor.Empty(op, []int64{m, each}, dtype.Uint8, device.Host))
	parallel.For(m, max(Grain/max(k, 1), 1), func(begin, end int64) {
		input := kernel.BlockInput{Values: at(w.A, begin*k), Activations: at(room, begin*each), Rows: end - begin, K: k}
		kernel.Call(blocksInputKernel.Row(0), unsafe.Pointer(&input))
	})
	parallel.ForInterruptible(n, max(blockGrain/max(m*k, 1), 1), func(begin, end int64) {
		row := w.Blocks.Sizes()[1]
		product := kernel.BlockLinear{Weight: at(w.Blocks, begin*row), Activations: at(room, 0), Out: at(w.To, begin),
			M: m, N: end - begin, K: k, Row: row, OutRow: n, Type: int32(w.Type)}
		if w.Bias != nil {
			product.Bias = at(w.Bias, begin)
		}
		kernel.Call(blocksLinearKernel.Row(0), unsafe.Pointer(&product))
	})
	return nil
}

// dequantizeBlocks converts blocks to float32. Each part but the last has a multiple of kernel.ActivationValues values.
func dequantizeBlocks(_ string, w backend.Dequantization) error {
	count := w.To.Numel()
	parts := (count + kernel.ActivationValues - 1) / kernel.ActivationValues
	parallel.ForInterruptible(parts, max(Grain/kernel.ActivationValues, 1), func(begin, end int64) {
		first, last := begin*kernel.ActivationValues, min(end*kernel.ActivationValues, count)
		values := kernelapi.BlockValues{Blocks: at(w.Blocks, first/w.Values*w.Bytes), Out: at(w.To, first), Count: last - first,
			Type: int32(w.Type)}
		kernel.Call(blocksValuesKernel.Row(0), unsafe.Pointer(&values))
	})
	return nil
}

// nibblePanel is the number of rows that weights of 4 bits are packed in.
const nibblePanel = 32

// weightLinear multiplies activations with weights of 8 or 4 bits. Threads share the rows of weights.
func weightLinear(_ string, w backend.WeightLinear) error {
	m, k, n := w.A.Sizes()[0], w.A.Sizes()[1], w.To.Sizes()[1]
	if m == 0 || n == 0 {
		return nil
	}
	run, panel, row, scale := weightsBytes, int64(1), k, int64(1)
	if w.Group > 0 {
		run, panel, row, scale = weightsNibbles, nibblePanel, k/2, 2
	}
	panels := (n + panel - 1) / panel
	parallel.ForInterruptible(panels, max(blockGrain/max(m*k*panel, 1), 1), func(begin, end int64) {
		first := begin * panel
		product := kernel.WeightLinear{Input: at(w.A, 0), Weight: at(w.Weight, first*row), Scales: at(w.Scales, first*scale),
			Out: at(w.To, first),
			M:   m, N: min(end*panel, n) - first, K: k, OutRow: n, Group: w.Group, ScaleRow: n}
		kernel.Call(run.Row(0), unsafe.Pointer(&product))
	})
	return nil
}
