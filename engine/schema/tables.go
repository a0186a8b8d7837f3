package schema

import "github.com/libtensor/libtensor/engine/dtype"

// Layouts are the names of tensor layouts, in the order of their numbers.
var Layouts = []string{"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"}

// MemoryFormats are the names of memory formats, in the order of their numbers.
var MemoryFormats = []string{"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"}

// DTypes are all dtypes in the order of their numbers: those of tensors, then the quantized ones that storages alone have.
func DTypes() []dtype.DType {
	var all []dtype.DType
	for d := dtype.DType(0); d.String() != dtype.None.String(); d++ {
		all = append(all, d)
	}
	return all
}
