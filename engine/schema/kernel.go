package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Units is the folder of the kernels' sources below engine.
const Units = "kernel/src/units"

// Runs are the words that an entry's runs may have: the fields of its kernel's row other than the promotion. Each is a field of engine/ops'
// pointwise.
var Runs = map[string]string{
	"beside":    "out may share any memory with the operands, as that of a composition may in PyTorch",
	"exact":     "out must have the result's dtype",
	"swapped":   "the kernel takes the two operands in the other order",
	"unrounded": "operands without dimensions are not rounded to a 16-bit dtype before they are computed with",
	"wide":      "complex results have parts of at least 32 bits",
}

// readSignatures returns the signatures of the kernels of a folder of units, by name.
func readSignatures(units string) (map[string]string, error) {
	all, err := ReadKernels(units)
	if err != nil {
		return nil, err
	}
	signatures := map[string]string{}
	for _, k := range all {
		signatures[k.Name] = k.Signature
	}
	return signatures, nil
}

// checkKernel checks the kernel of a schema against its signature, and against that of the schema.
func (o *Operator) checkKernel(kernels map[string]string) error {
	if o.Kernel == "" {
		if o.Runs != nil {
			return fmt.Errorf("runs is about a kernel")
		}
		return nil
	}
	for i, word := range o.Runs {
		if _, ok := Runs[word]; !ok {
			return fmt.Errorf("runs %q is not one of %v", word, slices.Sorted(maps.Keys(Runs)))
		}
		if slices.Contains(o.Runs[:i], word) {
			return fmt.Errorf("runs %q is there twice", word)
		}
	}
	signature, ok := kernels[o.Kernel]
	if !ok {
		return fmt.Errorf("kernel %q is in no table of engine/%s", o.Kernel, Units)
	}
	if !o.Tagged("elementwise") || len(o.Returns) != 1 || o.Returns[0].Type != (Type{Base: "Tensor"}) {
		return fmt.Errorf("kernel goes with the tag elementwise and one result that is a tensor")
	}
	promotion := Promotions[o.Promotion]
	if promotion.Rule == "" {
		return fmt.Errorf("promotion %q is not one that the row of a kernel follows: %s", o.Promotion, strings.Join(promotionRules(), ", "))
	}
	output, inputs, whole := strings.Cut(signature, ">")
	switch n := o.countTensors(); {
	case !whole || output != promotion.Writes:
		return fmt.Errorf("kernel %q has the signature %q, and the promotion %s wants one that begins with \"%s>\"", o.Kernel, signature,
			o.Promotion, promotion.Writes)
	case len(inputs) != n:
		return fmt.Errorf("kernel %q has the signature %q, which reads %d tensors, and the operator has %d", o.Kernel, signature, len(inputs), n)
	case slices.Contains(o.Runs, "swapped") && n != 2:
		return fmt.Errorf("runs swapped goes with two tensors, and the operator has %d", n)
	}
	return nil
}

// promotionRules returns the promotions that the row of a kernel can follow.
func promotionRules() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(Promotions)), func(name string) bool { return Promotions[name].Rule == "" })
}

// countTensors counts the arguments that the kernel of the operator reads.
func (o *Operator) countTensors() int {
	n := 0
	for _, a := range o.Args {
		if a.isTensor() {
			n++
		}
	}
	return n
}

// isTensor reports whether the argument is a tensor, or a scalar instead.
func (a Arg) isTensor() bool {
	return !a.Type.List && (a.Type.Base == "Tensor" || a.Type.Base == "Operand")
}

// Plain reports whether the arguments are the tensors that the kernel reads, and nothing else.
func (o *Operator) Plain() bool {
	return !slices.ContainsFunc(o.Args, func(a Arg) bool { return !a.isTensor() || a.Type.Optional || a.Mutated })
}
