package sparse

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/tensor"
)

// sparseKeys are the dispatch keys of all sparse layouts.
const sparseKeys = tensor.SparseCOO | tensor.SparseCSR | tensor.SparseCSC | tensor.SparseBSR | tensor.SparseBSC

// Operators on sparse tensors as parts of files: the writer passes on to the operator.

func save(c dispatch.Context, path, structure string, tensors []*tensor.Tensor, compact bool) error {
	return c.Excluding(sparseKeys).Save(path, structure, tensors, compact)
}

func saveBytes(c dispatch.Context, structure string, tensors []*tensor.Tensor, compact bool) (*tensor.Tensor, error) {
	return c.Excluding(sparseKeys).SaveBytes(structure, tensors, compact)
}

func saveDict(c dispatch.Context, path string, names []string, tensors []*tensor.Tensor, compact bool) error {
	return c.Excluding(sparseKeys).SaveDict(path, names, tensors, compact)
}
