package main

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// pointwiseFile has the rows of the elementwise operators whose entries name a kernel, and the functions of those that no file
// next to it declares.
const pointwiseFile = opsDir + "/gen_pointwise.go"

// generatePointwise returns the text of pointwiseFile.
func generatePointwise(ops []*schema.Operator, declared map[string]*function) (string, error) {
	var rows, functions strings.Builder
	for _, o := range ops {
		if o.Kernel == "" {
			continue
		}
		row := rowName(o)
		if token.IsKeyword(row) || types.Universe.Lookup(row) != nil {
			return "", o.Wrong(fmt.Errorf("a row cannot be called %s in Go; go gives the function, and its row, another name", row))
		}
		fmt.Fprintf(&rows, "\t%s = &pointwise{name: %q, kernel: kernelapi.%s, rule: %s", row, strings.ReplaceAll(o.Name, ".", "_"),
			schema.Camel(o.Kernel, true), schema.Promotions[o.Promotion].Rule)
		for _, word := range o.Runs {
			fmt.Fprintf(&rows, ", %s: true", word)
		}
		rows.WriteString("}\n")
		switch {
		case declared[o.GoName()] != nil:
		case !o.Plain():
			return "", o.Wrong(fmt.Errorf("there is no func %s in %s, which the kernel's other arguments need", o.GoName(), opsDir))
		default:
			functions.WriteString(pointwiseFunction(o))
		}
	}
	return goBanner + "package ops\n\nimport (\n\t\"" + module + "engine/kernelapi\"\n\t\"" + module + "engine/tensor\"\n)\n\nvar (\n" +
		rows.String() + ")\n" + functions.String(), nil
}

// rowName returns the variable of an operator's row.
func rowName(o *schema.Operator) string {
	name := o.GoName()
	return strings.ToLower(name[:1]) + name[1:]
}

// pointwiseFunction runs the row of an operator on its operands.
func pointwiseFunction(o *schema.Operator) string {
	var operands []string
	for _, a := range o.Args {
		name := a.Name
		if token.IsKeyword(name) || name == rowName(o) {
			name += "_"
		}
		operands = append(operands, name)
	}
	params, out := operands, "nil"
	if o.Has("out") || o.Has("inplace") {
		params, out = append([]string{"out"}, operands...), "out"
	}
	doc := "// " + strings.ReplaceAll(strings.TrimSpace(o.Doc), "\n", "\n// ")
	return fmt.Sprintf("\n// %s implements the operator %s.\n//\n%s\nfunc %s(%s *tensor.Tensor) (*tensor.Tensor, error) {\n\treturn %s.runKernel(%s, nil, %s)\n}\n",
		o.GoName(), o.Name, doc, o.GoName(), strings.Join(params, ", "), rowName(o), out, strings.Join(operands, ", "))
}
