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
		Count: countDevices, Absence: explainAbsence, Current: driver.CurrentDevice,
		Synchronize: synchronizeAll, Memory: readMemoryStats, Work: asyncBackend{},
	})
	storage.Register(device.CUDA, storageAllocator{})
	storage.RegisterPinning(&pinnedMemory)
	storage.AddParking(blockCaches{})
	backend.Register(device.CUDA, backend.Device{
		Elementwise: recordingUses(runElementwise),
		Any:         recordingUsesOf(hasMatch),

		Copy:     recordingUses(copyTensor),
		Fill:     recordingUses(fillTensor),
		Join:     recordingUses(concatenateTensors),
		Triangle: recordingUses(zeroTriangle),
		Read:     recordingUsesOf(readTensor),
		Write:    recordingUses(writeTensor),
		Use:      recordStream,

		Reduce: recordingUses(runReduction),
		Scan:   recordingUses(runScan),
		Sort:   recordingUses(sortTensor),
		Search: recordingUses(searchSorted),
		Unique: recordingUsesOf(findUnique),
		IsIn:   recordingUses(isIn),

		Indexed:     recordingUses(runIndexed),
		CheckBounds: recordingUses(checkBounds),
		Select:      recordingUsesOf(selectMasked),
		Place:       recordingUses(scatterMasked),
		Unravel:     recordingUses(unravelIndices),

		Product:  recordingUses(multiplyMatrices),
		Dot:      recordingUses(computeDot),
		Distance: recordingUses(computeDistances),

		Convolution: recordingUses(runConvolution),
		Pooling:     recordingUses(runPooling),
		Normalize:   recordingUses(runNormalization),
		Recur:       recordingUses(runRecurrence),
		Resample:    recordingUses(resampleImages),
		Sample:      recordingUses(sampleGrid),
		Align:       recordingUses(alignLabels),
		Fourier:     recordingUses(runFourier),

		LinearAlgebra: recordingUses(runLinearAlgebra),

		QuantizedProduct: recordingUses(multiplyQuantized),
		PackQuantized:    recordingUsesOf(packQuantized),
		WeightLinear:     recordingUses(multiplyWeights),
		BlockLinear:      recordingUses(multiplyBlocks),
		Dequantize:       recordingUses(dequantizeBlocks),

		Group:       recordingUsesOf(groupEntries),
		Lines:       recordingUses(compressIndices),
		Expand:      recordingUses(expandIndices),
		SparseDense: recordingUses(multiplySparse),
		Sampled:     recordingUses(sampleProduct),

		SparseSum:    recordingUsesOf(addSparse),
		SparseSparse: recordingUsesOf(multiplySparseMatrices),
		Update:       recordingUses(updateParameters),

		Range:     recordingUses(fillRange),
		Draw:      recordingUses(fillRandom),
		Count:     recordingUses(countIntegers),
		Histogram: recordingUses(computeHistogram),
	})
}

func countDevices() int {
	n, _ := findDevices()
	return n
}

func explainAbsence() string {
	_, why := findDevices()
	return why
}

// findDevices returns the number of the driver's devices, or 0 and the reason if there are no kernels for them.
func findDevices() (int, string) {
	n, why := driver.Devices()
	if why == "" {
		why = kernels.Absence()
	}
	if why != "" {
		return 0, why
	}
	return n, ""
}
