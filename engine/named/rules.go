package named

import (
	"slices"

	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Names are lists as tensors have them: "" for an unnamed dimension, nil if none is named. Lists are immutable, so that tensors share them.

// unifyNames matches the names of the operands from the right.
func unifyNames(op string, operands ...*tensor.Tensor) (names []string, err error) {
	for _, t := range operands {
		if t == nil {
			continue
		}
		if names, err = matchNames(op, names, t.Names()); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// matchNames matches two lists from the right: a dimension without a name takes the other's.
func matchNames(op string, a, b []string) ([]string, error) {
	switch {
	case a == nil, b == nil:
		return slices.Concat(a, b), nil
	case slices.Equal(a, b):
		return a, nil
	}
	names := slices.Clone(a)
	if len(b) > len(a) {
		names = slices.Clone(b)
	}
	for i := 1; i <= min(len(a), len(b)); i++ {
		x, y := a[len(a)-i], b[len(b)-i]
		switch {
		case x == "":
			x = y
		case y != "" && x != y:
			return nil, status.Runtimef("%s: Error when attempting to broadcast dims %s and dims %s: dim '%s' and dim '%s' are at the same position from the right but do not match",
				op, tensor.NamesText(a), tensor.NamesText(b), x, y)
		}
		names[len(names)-i] = x
	}
	if name := tensor.RepeatedName(names); name != "" {
		return nil, status.Runtimef("%s: Misaligned dims when attempting to broadcast dims %s and dims %s: dim '%s' appears in a different position from the right across both lists; "+
			"use align_as() to align them", op, tensor.NamesText(a), tensor.NamesText(b), name)
	}
	return names, nil
}

// batchNames returns the names of t without those of its last two dimensions.
func batchNames(t *tensor.Tensor) []string {
	names := t.Names()
	return names[:max(len(names)-2, 0)]
}

// removeReduced removes dims, by default all, from the names of t. The operator reports invalid dims.
func removeReduced(t *tensor.Tensor, dims []int64, keepdim bool) []string {
	switch {
	case keepdim:
		return t.Names()
	case len(dims) == 0:
		return nil
	}
	return removeDims(t.Names(), dims)
}

// removeDims returns names without those of some dimensions.
func removeDims(names []string, dims []int64) (left []string) {
	for i, name := range names {
		if !slices.Contains(dims, int64(i)) && !slices.Contains(dims, int64(i-len(names))) {
			left = append(left, name)
		}
	}
	return left
}

// removeSqueezed removes the names of squeezed dimensions. A single dimension of another size than 1 removes all names.
func removeSqueezed(t *tensor.Tensor, dims []int64) []string {
	var left []int64
	for _, dim := range dims {
		i, err := shape.WrapDim("squeeze", dim, t.Dim())
		if err == nil && t.Dim() > 0 && t.Sizes()[i] == 1 {
			left = append(left, int64(i))
		}
	}
	if len(dims) == 1 && len(left) == 0 {
		return nil
	}
	return removeDims(t.Names(), left)
}

// insertDim is unifyNames, with an unnamed dimension inserted at position dim of the result.
func insertDim(op string, dim int64, operands ...*tensor.Tensor) ([]string, error) {
	names, err := unifyNames(op, operands...)
	if err != nil || names == nil {
		return nil, err
	}
	at, err := shape.WrapDim(op, dim, len(names)+1)
	if err != nil {
		return nil, err
	}
	return slices.Insert(slices.Clone(names), at, ""), nil
}

// matmulNames returns the names of the matrix product of the last two operands, unified with those of the first of three.
func matmulNames(op string, operands ...*tensor.Tensor) ([]string, error) {
	a, b := operands[len(operands)-2], operands[len(operands)-1]
	names, err := matrixProductNames(op, Of(a), Of(b))
	if err != nil || len(operands) == 2 {
		return names, err
	}
	return matchNames(op, names, operands[0].Names())
}

// matrixProductNames returns the names of the product of matrices with the names a and b.
func matrixProductNames(op string, a, b []string) ([]string, error) {
	batch, err := matchNames(op, a[:max(len(a)-2, 0)], b[:max(len(b)-2, 0)])
	if err != nil {
		return nil, err
	}
	names := slices.Concat(make([]string, max(len(a)-2, len(b)-2, 0)-len(batch)), batch)
	if len(a) > 1 {
		names = append(names, a[len(a)-2])
	}
	if len(b) > 1 {
		names = append(names, b[len(b)-1])
	}
	return checkDistinct(op, names, a, b)
}

// outerNames returns the names of the outer product of the last two operands, which are vectors, unified with those of the first of
// three.
func outerNames(op string, operands ...*tensor.Tensor) ([]string, error) {
	a, b := Of(operands[len(operands)-2]), Of(operands[len(operands)-1])
	names, err := checkDistinct(op, slices.Concat(a, b), a, b)
	if err != nil || len(operands) == 2 {
		return names, err
	}
	return matchNames(op, names, operands[0].Names())
}

// innerNames returns the names of a product over the last dimension of both operands.
func innerNames(op string, a, b *tensor.Tensor) ([]string, error) {
	x, y := Of(a), Of(b)
	return checkDistinct(op, slices.Concat(x[:max(len(x)-1, 0)], y[:max(len(y)-1, 0)]), x, y)
}

// checkDistinct returns names, or an error if the product of dims a and b has a name twice.
func checkDistinct(op string, names, a, b []string) ([]string, error) {
	if name := tensor.RepeatedName(names); name != "" {
		return nil, status.Runtimef("%s: the product of dims %s and dims %s would have the name '%s' twice; rename() one of them", op,
			tensor.NamesText(a), tensor.NamesText(b), name)
	}
	return names, nil
}

// Of returns the names of t as a list of the length of its dimensions.
func Of(t *tensor.Tensor) []string {
	if names := t.Names(); names != nil {
		return names
	}
	return make([]string, t.Dim())
}

// checkResize returns the names of t, or an error if a named tensor would be resized to other sizes.
func checkResize(op string, t *tensor.Tensor, sizes []int64) ([]string, error) {
	if t.Names() != nil && !slices.Equal(t.Sizes(), sizes) {
		return nil, status.Runtimef("%s: a tensor with names, %s, of sizes %v keeps them: it cannot have the sizes %v; use rename(None) to drop the names",
			op, tensor.NamesText(t.Names()), t.Sizes(), sizes)
	}
	return t.Names(), nil
}

// checkOutputs returns an error if results with names would be written to tensors with other names.
func checkOutputs(op string, names []string, err error, outputs ...*tensor.Tensor) error {
	if err != nil || names == nil {
		return err
	}
	for _, t := range outputs {
		if t != nil && t.Names() != nil && !slices.Equal(t.Names(), names) && len(t.Names()) >= len(names) {
			return status.Runtimef("%s: the result has dims %s, but the output has dims %s; use rename_() to rename the output", op,
				tensor.NamesText(names), tensor.NamesText(t.Names()))
		}
	}
	return nil
}

// setNames sets the names of results, aligned from the right.
func setNames(names []string, err error, results ...*tensor.Tensor) {
	if err != nil {
		return
	}
	for _, t := range results {
		if t != nil {
			t.SetNames(padNames(names, t.Dim()))
		}
	}
}

// checkOutputsLeft and setNamesLeft do the same for names aligned at the left.
func checkOutputsLeft(op string, names []string, err error, outputs ...*tensor.Tensor) error {
	for _, t := range outputs {
		if t != nil {
			err = checkOutputs(op, padNamesRight(names, t.Dim()), err, t)
		}
	}
	return err
}

func setNamesLeft(names []string, err error, results ...*tensor.Tensor) {
	for _, t := range results {
		if err == nil && t != nil {
			t.SetNames(padNamesRight(names, t.Dim()))
		}
	}
}

// padNamesRight appends unnamed dimensions up to n.
func padNamesRight(names []string, n int) []string {
	if names == nil {
		return nil
	}
	return slices.Concat(names, make([]string, max(n-len(names), 0)))
}

// padNames prepends unnamed dimensions up to n.
func padNames(names []string, n int) []string {
	if len(names) >= n {
		return names
	}
	return slices.Concat(make([]string, n-len(names)), names)
}
