package sparse

import (
	"strings"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/format"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// checkLayout returns an error for a tensor that is not sparse, or of another layout.
func checkLayout(op string, t *tensor.Tensor, layouts ...tensor.Layout) error {
	for _, l := range layouts {
		if t.Layout() == l {
			return nil
		}
	}
	var names []string
	for _, l := range layouts {
		names = append(names, l.String())
	}
	return status.Runtimef("%s expected a tensor of layout %s but got %v", op, strings.Join(names, " or "), t.Layout())
}

// coalescedComponents returns the parts of a coalesced COO tensor, and an error for other tensors.
func coalescedComponents(op string, t *tensor.Tensor) (*tensor.SparseComponents, error) {
	if err := checkLayout(op, t, tensor.COO); err != nil {
		return nil, err
	}
	p := t.Components()
	if !p.Coalesced {
		return nil, status.Runtimef("%s: cannot get %s on an uncoalesced tensor, please call .coalesce() first", op, op)
	}
	return p, nil
}

// Indices returns the indices of a coalesced COO tensor's entries, one column for each.
func Indices(_ dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	p, err := coalescedComponents("indices", self)
	if err != nil {
		return nil, err
	}
	return p.Indices[0].Alias(), nil
}

// Values returns the entries of a sparse tensor, which is coalesced if it is COO.
func Values(c dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	if !isSparse(self) || self.Layout() == tensor.COO {
		if _, err := coalescedComponents("values", self); err != nil {
			return nil, err
		}
	}
	return self.Components().Values.Alias(), nil
}

// RawIndices returns the indices of a COO tensor, coalesced or not.
func RawIndices(_ dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	if err := checkLayout("_indices", self, tensor.COO); err != nil {
		return nil, err
	}
	return self.Components().Indices[0].Alias(), nil
}

// RawValues returns the values of a COO tensor, coalesced or not.
func RawValues(_ dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	if err := checkLayout("_values", self, tensor.COO); err != nil {
		return nil, err
	}
	return self.Components().Values.Alias(), nil
}

// aliasIndices returns an alias of the indices i of a tensor in one of the layouts.
func aliasIndices(op string, t *tensor.Tensor, i int, layouts ...tensor.Layout) (*tensor.Tensor, error) {
	if err := checkLayout(op, t, layouts...); err != nil {
		return nil, err
	}
	return t.Components().Indices[i].Alias(), nil
}

// CrowIndices returns the start of each row in the list of entries.
func CrowIndices(_ dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	return aliasIndices("crow_indices", self, 0, tensor.CSR, tensor.BSR)
}

// ColIndices returns the columns of the entries, or blocks.
func ColIndices(_ dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	return aliasIndices("col_indices", self, 1, tensor.CSR, tensor.BSR)
}

// CcolIndices returns the start of each column in the list of entries.
func CcolIndices(_ dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	return aliasIndices("ccol_indices", self, 0, tensor.CSC, tensor.BSC)
}

// RowIndices returns the rows of the entries, or blocks.
func RowIndices(_ dispatch.Context, self *tensor.Tensor) (*tensor.Tensor, error) {
	return aliasIndices("row_indices", self, 1, tensor.CSC, tensor.BSC)
}

// IsCoalesced reports whether the entries of a COO tensor are in order and unique.
func IsCoalesced(_ dispatch.Context, self *tensor.Tensor) (bool, error) {
	if err := checkLayout("is_coalesced", self, tensor.COO); err != nil {
		return false, err
	}
	return self.Components().Coalesced, nil
}

// Coalesce returns a COO tensor with its entries in order, and those of one position summed; it returns a coalesced tensor itself.
func Coalesce(c dispatch.Context, self *tensor.Tensor) (_ *tensor.Tensor, err error) {
	if err := checkLayout("coalesce", self, tensor.COO); err != nil {
		return nil, err
	}
	if self.Components().Coalesced {
		return self.Alias(), nil
	}
	b := build.New(c, "coalesce")
	defer b.Close(&err)
	return b.Return(assembleCoo(b, coalesceCoordinates(b, coordinatesOf(b, self))))
}

// SparseDim returns the number of sparse dimensions, 0 of a dense tensor.
func SparseDim(_ dispatch.Context, self *tensor.Tensor) (int64, error) {
	switch {
	case !isSparse(self):
		return 0, nil
	case self.Layout() == tensor.COO:
		return self.Components().Indices[0].Sizes()[0], nil
	}
	return 2, nil
}

// DenseDim returns the number of dimensions of each entry, which is the number of dimensions of a strided tensor.
func DenseDim(_ dispatch.Context, self *tensor.Tensor) (int64, error) {
	return int64(denseDim(self)), nil
}

// Nnz returns the number of entries, or blocks, in each batch.
func Nnz(_ dispatch.Context, self *tensor.Tensor) (int64, error) {
	if !isSparse(self) {
		return 0, status.Runtimef("_nnz is not implemented for strided tensors; count_nonzero() counts")
	}
	return countEntries(self), nil
}

func toString(c dispatch.Context, self *tensor.Tensor, precision, threshold, edgeItems, lineWidth int64,
	sci ops.Bool) (_ string, err error) {
	o, err := ops.PrintOptions(precision, threshold, edgeItems, lineWidth, sci)
	if err != nil {
		return "", err
	}
	b := build.New(c, "to_string")
	defer b.Close(&err)
	p := self.Components()
	a := ops.Attributes(self)
	a.Layout = "torch." + self.Layout().String()
	called := []string{"indices"}
	if self.Layout() != tensor.COO {
		first, second := indexNames(self.Layout())
		called = []string{first, second}
	}
	var parts []format.Part
	for i, name := range called {
		parts = append(parts, format.Part{Name: name, Source: ops.Shown(&b.Scope, p.Indices[i])})
	}
	values := b.ResolveConj(p.Values)
	values = b.ResolveNeg(values)
	parts = append(parts, format.Part{Name: "values", Source: ops.Shown(&b.Scope, values)})
	return format.Sparse(parts, self.Sizes(), countEntries(self), a, o), nil
}
