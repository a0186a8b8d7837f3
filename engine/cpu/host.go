// Package cpu executes the kernel launches of operators (engine/backend) on the CPU: it sorts and merges the dimensions of the operands
// into few long rows, divides the rows among threads, and runs kernels (engine/kernel), or OpenBLAS for matrix products.
package cpu

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/random"
)

func init() {
	random.SetTier(kernel.Tier())
	backend.Register(device.CPU, backend.Device{
		Elementwise: runElementwiseAnyDType,
		Any:         hasMatchAnyDType,

		Copy:     copyTo,
		Fill:     fillTensor,
		Join:     joinTensors,
		Triangle: clearTriangle,
		Read:     readBytes,
		Write:    writeBytes,

		Reduce: runReductionAnyDType,
		Scan:   runScan,
		Sort:   runSort,
		Search: searchSorted,
		Unique: groupRows,
		IsIn:   isIn,

		Indexed:     runIndexed,
		CheckBounds: checkBounds,
		Select:      selectSet,
		Place:       placeMasked,
		Unravel:     unravelIndices,

		Product:          runProduct,
		QuantizedProduct: quantizedProduct,
		PackQuantized:    packQuantized,
		BlockLinear:      blockLinear,
		WeightLinear:     weightLinear,
		Dequantize:       dequantizeBlocks,
		Dot:              runDot,
		Distance:         runDistance,
		Convolution:      runConvolution,
		Pooling:          runPooling,
		Resample:         runResampling,
		Sample:           runSampling,
		Pad:              runPadding,
		LinearAlgebra:    linearAlgebra,

		Group:        groupEntries,
		Lines:        compressLines,
		Expand:       expandLines,
		SparseDense:  sparseDense,
		Sampled:      runSampledProduct,
		SparseSum:    sparseSum,
		SparseSparse: sparseSparse,

		Fourier: runFourier,

		Normalize: runNormalization,
		Attend:    runAttention,

		Recur: runRecurrence,
		Align: runAlignment,

		Update: runUpdate,

		Range:     fillRange,
		Draw:      drawSamples,
		Count:     countBins,
		Histogram: runHistogram,
	})
}

// Unusable returns the reason why no kernel of this build can run on this CPU, or nil. It must be called before anything is computed.
func Unusable() error { return kernel.Unusable() }
