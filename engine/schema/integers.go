package schema

import (
	"fmt"
	"slices"
)

// integerParameters are the names of parameters that are tensors of integers wherever they occur.
var integerParameters = []string{
	"index", "indices", "compressed_indices", "plain_indices", "crow_indices", "col_indices", "ccol_indices", "row_indices", "inverse_indices",
	"max_indices",
	"tensor_indices_or_sections", "offsets", "repeats", "lengths", "input_lengths", "target_lengths", "batch_sizes", "pivots", "LU_pivots",
	"sorter", "zero_points",
}

// isIndices reports whether argument i is a tensor of integers, such as indices: by its name, by the entry, or since the operator takes
// nothing else. Bindings of languages whose numbers are floats make integers of a list of numbers there.
func (o *Operator) isIndices(i int) bool {
	a := o.Args[i]
	if a.Type.Base != "Tensor" && a.Type.Base != "Operand" {
		return false
	}
	return slices.Contains(integerParameters, a.Name) || slices.Contains(o.Integers, a.Name) ||
		slices.Contains([]string{"integral", "bits"}, o.DTypes)
}

// checkIntegers holds the names of the field integers to the signature.
func (o *Operator) checkIntegers() error {
	for _, name := range o.Integers {
		if !slices.ContainsFunc(o.Args, func(a Arg) bool { return a.Name == name && a.Type.Base == "Tensor" }) {
			return fmt.Errorf("integers: there is no tensor %q", name)
		}
	}
	return nil
}
