package schema

import (
	"fmt"
	"slices"
)

// NameRules are the values of `names:` in a schema: the rule for the names of dimensions. Each but the last three is a function of
// engine/named, which the generator calls.
var NameRules = map[string]string{
	"unify":       "the operands' names, matched from the right; a dimension without a name takes the other's",
	"keep":        "those of the first tensor, from the right",
	"reduce":      "those of the first tensor, without the dimensions `dim`, or without all; `keepdim` keeps them",
	"view":        "a dimension has the name of the one that it steps along in memory",
	"insert":      "those of the operands, unified, with a dimension without a name at `dim`, or at the end",
	"squeeze":     "those of the first tensor without `dim`; none where its size is not 1",
	"product":     "those of the matrix product of the last two tensors, unified with those of the first where there are three",
	"outer":       "the name of either vector, unified with those of the first tensor where there are three",
	"batch":       "those of the first tensor but for its last two dimensions, the matrix; others have none",
	"inner":       "those of both operands without the last",
	"resize":      "an error for other sizes",
	"drop":        "none",
	"own":         "the operator sees to the names itself, or has no tensor to give them to",
	"steps":       "what the steps of a composition make of them",
	"unsupported": "the operator takes no tensor with names",
}

// NameRule returns the rule for the names of dimensions: the schema's, or the one that follows from its other fields.
func (o *Operator) NameRule() string {
	isTensor := func(a Arg) bool { return slices.Contains([]string{"Tensor", "Operand", "Index"}, a.Type.Base) }
	switch {
	case o.Names != "":
		return o.Names
	case !slices.ContainsFunc(o.Returns, isTensor) && !slices.ContainsFunc(o.Args, func(a Arg) bool { return a.Mutated }),
		slices.Contains([]string{"gradient", "storage", "file", "query"}, o.Category):
		return "own"
	case !slices.ContainsFunc(o.Args, isTensor):
		return "drop"
	case o.Tagged("elementwise"):
		return "unify"
	case o.Tagged("reduction"):
		return "reduce"
	case o.Tagged("view") && o.Category == "view":
		return "view"
	case slices.Contains([]string{"copy", "scan", "fft", "random"}, o.Category):
		return "keep"
	}
	return "unsupported"
}

// dimParameters lists the names of integer parameters that are dimensions.
var dimParameters = []string{"dim", "dims", "dim0", "dim1", "dim2", "axis0", "axis1", "start_dim", "end_dim", "dimension", "dims_self"}

// DimOf returns the position of the tensor with the dimensions that argument i selects, possibly by name, or -1 if argument i is not a
// dimension.
func (o *Operator) DimOf(i int) int {
	if o.copied != nil {
		return o.copied.DimOf(i)
	}
	if !o.IsDim(i) || slices.Contains([]string{"insert", "unsupported"}, o.NameRule()) {
		return -1
	}
	self := slices.IndexFunc(o.Args, func(a Arg) bool { return a.Type.Base == "Tensor" })
	if o.Args[i].Name == "dims_other" {
		return self + 1
	}
	return self
}

// IsDim reports whether argument i is a dimension of a tensor, or several.
func (o *Operator) IsDim(i int) bool {
	if o.copied != nil {
		return o.copied.IsDim(i)
	}
	a := o.Args[i]
	// tile's dims are repeats, diag_embed's those of the result, and tensordot's may be how many.
	if a.Type.Base != "int" || o.Name == "tile" || o.Name == "diag_embed" || o.Name == "tensordot" && a.Name == "dims" {
		return false
	}
	return slices.Contains(dimParameters, a.Name) || a.Name == "dims_other" || o.Category == "view" &&
		slices.Contains([]string{"source", "destination"}, a.Name)
}

func (o *Operator) checkNameRule() error {
	if _, ok := NameRules[o.Names]; !ok && o.Names != "" {
		return fmt.Errorf("names %q is not a known rule", o.Names)
	}
	return nil
}
