package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

const quantizedDir = "engine/quantized"

// generateQuantized writes the backend of quantized tensors: for each operator with a rule in its schema, a function that calls the rule,
// of engine/quantized, with the tensor arguments and the operator itself.
func generateQuantized(out *output, ops []*schema.Operator, all []*function, imports map[string]string) error {
	own, err := ownFunctions(quantizedDir)
	if err != nil {
		return err
	}
	byGo := map[string]*function{}
	for _, f := range all {
		byGo[f.name] = f
	}
	var functions, table strings.Builder
	for _, o := range ops {
		f, rule := byGo[o.GoName()], o.QuantizedRule()
		if o.AliasOf != "" || f == nil || f.any || f.keysExpression() == "" || f.isSparse() {
			continue
		}
		switch {
		case own["quantized"+f.name]:
		default:
			if f.table != "" || slices.Contains([]string{"own", "steps", "unsupported"}, rule) {
				continue
			}
			text, err := (&quantizedFunction{o, f}).writeFunction()
			if err != nil {
				return o.Wrong(err)
			}
			functions.WriteString(text)
		}
		fmt.Fprintf(&table, "\t%s: quantized%s,\n", f.name, f.name)
	}
	text := "\n// rules are the operators on quantized tensors.\nvar rules = dispatch.Backend{\n" + table.String() + "}\n" + functions.String()
	out.write(quantizedDir+"/gen_rules.go", fileHeadOf("quantized", text, imports))
	return nil
}

// ownFunctions returns the functions of a package by hand, including those of operators with a separate rule.
func ownFunctions(dir string) (map[string]bool, error) {
	files, err := handwrittenFiles(dir)
	own := map[string]bool{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				own[f.Name.Name] = true
			}
		}
	}
	return own, err
}

// quantizedFunction writes the function of one operator.
type quantizedFunction struct {
	op *schema.Operator
	f  *function
}

// ruleFunction returns the name of the function of engine/quantized that implements a rule.
func ruleFunction(rule string) string {
	return "apply" + strings.ToUpper(rule[:1]) + rule[1:] + "Rule"
}

// resultConversions returns the functions of engine/quantized that make one list of an operator's results, and results of a list.
func (q *quantizedFunction) resultConversions() (list, back string, err error) {
	switch text := strings.Join(q.f.results, " "); text {
	case "error":
		return "wrapNone", "unwrapNone", nil
	case tensorType + " error":
		return "wrapOne", "unwrapOne", nil
	case tensorType + " " + tensorType + " error":
		return "wrapTwo", "unwrapTwo", nil
	case tensorsType + " error":
		return "", "", nil
	default:
		return "", "", fmt.Errorf("quantized: the rule %s is not for the results %s", q.op.QuantizedRule(), text)
	}
}

func (q *quantizedFunction) writeFunction() (string, error) {
	outs := len(q.f.params) - len(q.op.Args)
	var arguments, operands, absent []string
	tensors, out, given := "", "nil", "_"
	alone := !slices.ContainsFunc(q.f.params[outs:], func(p param) bool { return p.typ == tensorType })
	for i, p := range q.f.params {
		switch {
		case i < outs && outs > 1:
			arguments, absent = append(arguments, "nil"), append(absent, p.name)
		case i < outs:
			arguments, out, given = append(arguments, "out"), p.name, "out"
		case p.typ == tensorType:
			arguments, operands = append(arguments, fmt.Sprintf("t[%d]", len(operands))), append(operands, p.name)
		case p.typ == tensorsType && alone: // a list of indices next to tensors is unchanged
			arguments, tensors = append(arguments, "t"), p.name
		default:
			arguments = append(arguments, p.name)
		}
	}
	if tensors == "" {
		tensors = "[]*tensor.Tensor{" + strings.Join(operands, ", ") + "}"
	}
	text := fmt.Sprintf("\nfunc quantized%s(c dispatch.Context, %s {\n", q.f.name, strings.TrimPrefix(q.f.formatSignature(true), "("))
	switch rule := q.op.QuantizedRule(); {
	case rule == "past":
		return text + fmt.Sprintf("\treturn c.Excluding(tensor.Quantized).%s(%s)\n}\n", q.f.name, q.f.argumentList()), nil
	case rule == "answer" && !strings.Contains(q.f.results[0], tensorType):
		return text + fmt.Sprintf("\tb := build.New(c, %q)\n\tdefer b.Close(&err)\n\tt := dequantizeAll(b, %s)\n\treturn c.%s(%s)\n}\n",
			cmp.Or(q.op.Called, q.op.Name), tensors, q.f.name, strings.Join(arguments, ", ")), nil
	}
	list, back, err := q.resultConversions()
	if err != nil {
		return "", err
	}
	if absent != nil {
		text += fmt.Sprintf("\tif err = checkNoOut(%q, %s); err != nil {\n\t\treturn\n\t}\n", q.op.Name, strings.Join(absent, ", "))
	}
	return text + fmt.Sprintf("\treturn %s(%s(c, %q, %s, %s, func(%s *tensor.Tensor, t []*tensor.Tensor) ([]*tensor.Tensor, error) {\n\t\treturn %s(c.%s(%s))\n\t}))\n}\n",
		back, ruleFunction(q.op.QuantizedRule()), cmp.Or(q.op.Called, q.op.Name), out, tensors, given, list, q.f.name,
		strings.Join(arguments, ", ")), nil
}
