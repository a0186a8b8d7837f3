// Package cuda is the backend for NVIDIA GPUs: streams, events, memory and the launches of all operators. docs/cuda.md describes it.
package cuda

import (
	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/storage"
)

func init() {
	device.Register(device.CUDA, device.Backend{
		Count: count, Absence: absence, Current: driver.CurrentDevice,
		Synchronize: synchronizeAll, Memory: account, Work: work{},
	})
	storage.Register(device.CUDA, memory{})
	storage.RegisterPinning(&pins)
	storage.AddParking(caches{})
	backend.Register(device.CUDA, backend.Device{
		Elementwise: noted(elementwise),
		Any:         noting(anywhere),

		Copy:     noted(copyTo),
		Fill:     noted(fill),
		Join:     noted(join),
		Triangle: noted(triangular),
		Read:     noting(read),
		Write:    noted(write),
		Use:      use,

		Reduce: noted(reduce),
		Scan:   noted(scan),
		Sort:   noted(sort),
		Search: noted(searchSorted),
		Unique: noting(unique),
		IsIn:   noted(isIn),

		Indexed:     noted(indexed),
		CheckBounds: noted(checkBounds),
		Select:      noting(selectSet),
		Place:       noted(placeSet),
		Unravel:     noted(unravel),

		Product:  noted(multiply),
		Dot:      noted(dot),
		Distance: noted(distance),

		Convolution: noted(convolve),
		Pooling:     noted(pooling),
		Normalize:   noted(normalize),
		Recur:       noted(recur),
		Resample:    noted(resample),
		Sample:      noted(sample),
		Align:       noted(align),
		Fourier:     noted(fourier),

		LinearAlgebra: noted(linearAlgebra),

		QuantizedProduct: noted(multiplyQuantized),
		PackQuantized:    noting(packQuantized),
		WeightLinear:     noted(multiplyWeights),
		BlockLinear:      noted(multiplyBlocks),
		Dequantize:       noted(dequantize),

		Group:       noting(group),
		Lines:       noted(compress),
		Expand:      noted(expand),
		SparseDense: noted(multiplySparse),
		Sampled:     noted(sampleProduct),

		SparseSum:    noting(addSparse),
		SparseSparse: noting(multiplySparseMatrices),
		Update:       noted(update),

		Range:     noted(fillRange),
		Draw:      noted(draw),
		Count:     noted(countUp),
		Histogram: noted(histogram),
	})
}

func count() int {
	n, _ := devices()
	return n
}

func absence() string {
	_, why := devices()
	return why
}

// devices returns the number of the driver's devices, or 0 and the reason if there are no kernels for them.
func devices() (int, string) {
	n, why := driver.Devices()
	if why == "" {
		why = kernels.Absence()
	}
	if why != "" {
		return 0, why
	}
	return n, ""
}
