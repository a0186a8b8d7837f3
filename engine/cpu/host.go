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
		Elementwise: anyElementwise,
		Any:         anyAnywhere,

		Copy:     copyTo,
		Fill:     fill,
		Join:     join,
		Triangle: triangle,
		Read:     read,
		Write:    write,

		Reduce: anyReduce,
		Scan:   scan,
		Sort:   sort,
		Search: search,
		Unique: unique,
		IsIn:   isIn,

		Indexed:     indexed,
		CheckBounds: checkBounds,
		Select:      selectSet,
		Place:       place,
		Unravel:     unravel,

		Product:          product,
		QuantizedProduct: quantizedProduct,
		PackQuantized:    packQuantized,
		BlockLinear:      blockLinear,
		WeightLinear:     weightLinear,
		Dequantize:       dequantizeBlocks,
		Dot:              dot,
		Distance:         distance,
		Convolution:      convolution,
		Pooling:          pooling,
		Resample:         resample,
		Sample:           sample,
		LinearAlgebra:    linearAlgebra,

		Group:        group,
		Lines:        lines,
		Expand:       expand,
		SparseDense:  sparseDense,
		Sampled:      sampled,
		SparseSum:    sparseSum,
		SparseSparse: sparseSparse,

		Fourier: fourier,

		Normalize: normalize,
		Attend:    attend,

		Recur: recur,
		Align: align,

		Update: update,

		Range:     fillRange,
		Draw:      draw,
		Count:     count,
		Histogram: histogram,
	})
}

// Unusable returns the reason why no kernel of this build can run on this CPU, or nil. It must be called before anything is computed.
func Unusable() error { return kernel.Unusable() }
