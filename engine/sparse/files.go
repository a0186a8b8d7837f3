package sparse

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/tensor"
)

// every has the keys of all sparse layouts.
const every = tensor.SparseCOO | tensor.SparseCSR | tensor.SparseCSC | tensor.SparseBSR | tensor.SparseBSC

// Operators on sparse tensors as parts of files: the writer passes on to the operator.

func save(c dispatch.Ctx, path, structure string, tensors []*tensor.Tensor, compact bool) error {
	return c.Past(every).Save(path, structure, tensors, compact)
}

func saveBytes(c dispatch.Ctx, structure string, tensors []*tensor.Tensor, compact bool) (*tensor.Tensor, error) {
	return c.Past(every).SaveBytes(structure, tensors, compact)
}

func saveDict(c dispatch.Ctx, path string, names []string, tensors []*tensor.Tensor, compact bool) error {
	return c.Past(every).SaveDict(path, names, tensors, compact)
}
