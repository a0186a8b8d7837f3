package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

const namedDir = "engine/named"

// generateNamed writes the backend of tensors with names: for each operator a function that finds the names of the results by the
// rule of its entry, and calls the operator past the layer.
func generateNamed(out *output, ops []*schema.Operator, all []*function, imports map[string]string) error {
	own, err := ownFunctions(namedDir)
	if err != nil {
		return err
	}
	byGo := map[string]*function{}
	for _, f := range all {
		byGo[f.name] = f
	}
	var functions, table strings.Builder
	for _, o := range ops {
		f := byGo[o.GoName()]
		if o.AliasOf != "" || f == nil || f.any || f.table == "recorded" || f.keys() == "" || o.NameRule() == "steps" {
			continue
		}
		fmt.Fprintf(&table, "\t%s: named%s,\n", f.name, f.name)
		if own["named"+f.name] {
			continue
		}
		text, err := (&naming{o, f}).function()
		if err != nil {
			return o.Wrong(err)
		}
		functions.WriteString(text)
	}
	text := "\n// rules are the operators on tensors with names.\nvar rules = aten.Backend{\n" + table.String() + "}\n" + functions.String()
	out.write(namedDir+"/gen_rules.go", headerOf("named", text, imports))
	return nil
}

// ownFunctions are the functions of a package by hand, among which are those of operators with a rule of their own.
func ownFunctions(dir string) (map[string]bool, error) {
	files, err := handwritten(dir)
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

// naming writes the function of one operator.
type naming struct {
	op *schema.Operator
	f  *function
}

// inputs are the parameters after the outputs.
func (n *naming) inputs() []param { return n.f.params[len(n.f.params)-len(n.op.Args):] }

// tensors is the list of the operands in code, with three dots where they are a list already.
func (n *naming) tensors() (string, error) {
	var names []string
	list := ""
	for _, p := range n.inputs() {
		switch p.typ {
		case tensorType:
			names = append(names, p.name)
		case tensorsType:
			list = p.name + "..."
		}
	}
	switch {
	case list == "":
		return strings.Join(names, ", "), nil
	case len(names) == 0:
		return list, nil
	}
	return "", fmt.Errorf("names: the rule %s is for tensors or for one list of them", n.op.NameRule())
}

// first is the first tensor.
func (n *naming) first() (string, error) {
	for _, p := range n.inputs() {
		if p.typ == tensorType {
			return p.name, nil
		}
	}
	return "", fmt.Errorf("names: the rule %s is for an operator of a tensor", n.op.NameRule())
}

// dims is the parameter dim, or dims, as a list in code: nil for all dimensions.
func (n *naming) dims() string {
	for i, p := range n.inputs() {
		if name := n.op.Args[i].Name; name != "dim" && name != "dims" {
			continue
		}
		switch p.typ {
		case "[]int64":
			return p.name
		case "int64":
			return "[]int64{" + p.name + "}"
		case "ops.Int":
			return "maybe(" + p.name + ")"
		}
	}
	return "nil"
}

// given is the name of a parameter, or what stands for it where the operator has none such.
func (n *naming) given(name, otherwise string) string {
	for i, p := range n.inputs() {
		if n.op.Args[i].Name == name {
			return p.name
		}
	}
	return otherwise
}

// rule is the code that finds the names: an expression of them and an error.
func (n *naming) rule() (code string, err error) {
	list, listed := n.tensors()
	first, single := n.first()
	word := n.op.NameRule()
	switch word {
	case "unify", "product", "outer", "inner":
		return fmt.Sprintf("%s(%q, %s)", word, n.op.Name, list), listed
	case "insert":
		return fmt.Sprintf("insert(%q, %s, %s)", n.op.Name, n.given("dim", "-1"), list), listed
	case "keep":
		return fmt.Sprintf("keep(%s)", first), single
	case "reduce":
		return fmt.Sprintf("reduce(%s, %s, %s)", first, n.dims(), n.given("keepdim", "false")), single
	case "batch":
		return fmt.Sprintf("batch(%s)", first), single
	case "squeeze":
		return fmt.Sprintf("squeeze(%s, %s)", first, n.dims()), single
	case "drop":
		return "drop()", nil
	case "resize":
		p := n.inputs()[1]
		size := p.name
		if p.typ == tensorType {
			size += ".Sizes()"
		}
		return fmt.Sprintf("resize(%q, %s, %s)", n.op.Name, first, size), single
	}
	return "", fmt.Errorf("names: the rule %s is not written", word)
}

// reshapes tells whether the in-place form gives the tensor other dimensions, and with them other names.
func (n *naming) reshapes() bool {
	return slices.Contains([]string{"view", "insert", "squeeze"}, n.op.NameRule()) && n.op.Category == "view"
}

// results are the names of the results.
func (n *naming) results() []string {
	results := make([]string, len(n.f.results))
	for i := range results {
		results[i] = fmt.Sprintf("r%d", i)
	}
	results[len(results)-1] = "err"
	return results
}

func (n *naming) function() (string, error) {
	head := fmt.Sprintf("\nfunc named%s(c aten.Ctx, %s {\n", n.f.name, strings.TrimPrefix(n.f.signature(true), "("))
	call := fmt.Sprintf("c.Past(tensor.Named).%s(%s)", n.f.name, n.f.arguments())
	switch n.op.NameRule() {
	case "own":
		return head + "\treturn " + call + "\n}\n", nil
	case "refuse":
		return head + fmt.Sprintf("\terr = aten.Refused(%q, tensor.Named)\n\treturn\n}\n", n.op.Name), nil
	case "view":
		return n.view(head, call)
	}
	rule, err := n.rule()
	if err != nil {
		return "", err
	}
	var written []string
	for _, p := range n.f.written {
		written = append(written, ", "+p.name)
	}
	checked := strings.Join(written, "")
	if n.reshapes() {
		checked = ""
	}
	given := n.results()[:len(n.f.results)-1]
	switch {
	case len(given) == 0:
		given = nil
		for _, p := range n.f.written {
			given = append(given, p.name)
		}
	case n.f.results[0] == tensorsType:
		given[0] += "..."
	}
	side := "" // where a result of other dimensions than its names begins
	if n.op.NameRule() == "batch" {
		side = "Left"
	}
	text := head + fmt.Sprintf("\tnames, err := %s\n", rule)
	if checked == "" {
		text += "\tif err != nil {\n\t\treturn\n\t}\n"
	} else {
		text += fmt.Sprintf("\tif err = fits%s(%q, names, err%s); err != nil {\n\t\treturn\n\t}\n", side, n.op.Name, checked)
	}
	return text + fmt.Sprintf("\t%s = %s\n\tgive%s(names, err, %s)\n\treturn\n}\n", strings.Join(n.results(), ", "), call, side, strings.Join(given, ", ")), nil
}

// view follows the dimensions of the first tensor through the call.
func (n *naming) view(head, call string) (string, error) {
	self, err := n.first()
	if err != nil {
		return "", err
	}
	past := fmt.Sprintf("c.Past(tensor.Named).%s(%s)", n.f.name, strings.Join(n.traced(self), ", "))
	result, list := "r0", n.f.results[0] == tensorsType
	if list {
		result += "..."
	} else {
		past = "single(" + past + ")"
	}
	return head + fmt.Sprintf("\tnames, err := trace(%q, %s, func(followed *tensor.Tensor) ([]*tensor.Tensor, error) {\n\t\treturn %s\n\t})\n\tif err != nil {\n\t\treturn\n\t}\n",
		n.op.Name, self, past) + fmt.Sprintf("\tr0, err = %s\n\tgiveEach(names, err, %s)\n\treturn\n}\n", call, result), nil
}

// traced are the arguments of the call that follows the tensor: it writes to nothing.
func (n *naming) traced(self string) (arguments []string) {
	outs := len(n.f.params) - len(n.op.Args)
	for i, p := range n.f.params {
		switch {
		case i < outs:
			arguments = append(arguments, "nil")
		case p.name == self:
			arguments = append(arguments, "followed")
		default:
			arguments = append(arguments, p.name)
		}
	}
	return arguments
}
