package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// listsFile has the compositions of the operators that apply another one to each tensor of lists.
const listsFile = compositeDir + "/gen_lists.go"

// generateLists returns the text of listsFile.
func generateLists(ops []*schema.Operator, declared map[string]*function) (string, error) {
	byID := map[string]*schema.Operator{}
	for _, o := range ops {
		byID[o.ID()] = o
	}
	var b strings.Builder
	for _, o := range ops {
		if o.EachOf == "" {
			continue
		}
		of := byID[o.EachOf]
		if of == nil || declared[of.GoName()] == nil {
			return "", o.Wrong(fmt.Errorf("each_of %q is not an entry with a function", o.EachOf))
		}
		text, err := eachFunction(o, of, declared[of.GoName()])
		if err != nil {
			return "", o.Wrong(err)
		}
		b.WriteString(text)
	}
	imports := "import (\n"
	for _, name := range []string{"dispatch", "dtype", "shape", "tensor"} {
		if strings.Contains(b.String(), name+".") {
			imports += "\t\"" + module + "engine/" + name + "\"\n"
		}
	}
	return goBanner + "package composite\n\n" + imports + ")\n" + b.String(), nil
}

// eachTypes are the types of parameters in Go.
var eachTypes = map[string]string{"Tensor": "*tensor.Tensor", "Tensor[]": "[]*tensor.Tensor", "Scalar": "dtype.Scalar",
	"Scalar[]": "[]dtype.Scalar",
	"dtype":    "dtype.DType", "memory_format": "shape.MemoryFormat", "bool": "bool", "int": "int64"}

// eachFunction returns the function of an operator that applies of, whose function is f, to each item of lists.
func eachFunction(o, of *schema.Operator, f *function) (string, error) {
	var params, tensors, checks []string
	values := map[string]string{} // of each parameter, for the item i
	for _, a := range o.Args {
		typ, name := eachTypes[a.Type.String()], schema.Camel(a.Name, false)
		if typ == "" {
			return "", fmt.Errorf("each_of: argument %s has a type that no item is made of", a.Name)
		}
		if name == "dtype" {
			name = "d"
		}
		params = append(params, name+" "+typ)
		values[a.Name] = name
		switch typ {
		case "[]*tensor.Tensor":
			values[a.Name] = fmt.Sprintf("t[%d]", len(tensors))
			tensors = append(tensors, name)
		case "[]dtype.Scalar":
			values[a.Name] = name + "[i]"
			checks = append(checks, fmt.Sprintf("\tl.checkScalars(len(%s))\n", name))
		}
	}
	outs := len(f.params) - len(of.Args)
	args := make([]string, len(f.params))
	for i := range outs {
		args[i] = "out"
	}
	rest := []string{} // arguments of o whose names of does not have, in their order
	for _, a := range o.Args {
		if !hasArg(of, a.Name) {
			rest = append(rest, a.Name)
		}
	}
	hasNumber := false // whether items take a number as a tensor
	for i, a := range of.Args {
		p, name := f.params[outs+i], a.Name
		if values[name] == "" {
			if len(rest) == 0 || a.Default != "" && len(rest) > 0 && !takesRest(o, rest[0], p) {
				args[outs+i] = eachDefault(p.typ)
				continue
			}
			name, rest = rest[0], rest[1:]
		}
		args[outs+i] = values[name]
		if read, used := eachNumber(o, name, schema.Camel(name, false), p.typ); read != "" {
			checks, args[outs+i] = append(checks, "\t"+read+"\n"), used
			hasNumber = hasNumber || p.typ == "*tensor.Tensor"
		}
		if typ := argType(o, name); typ == "Tensor" && p.typ == "*tensor.Tensor" {
			checks = append(checks, fmt.Sprintf("\tl.setZeroDim(%s)\n", values[name]))
			args[outs+i] = "l.shared"
		}
	}
	// Other operators cast a number to the dtype of each item, which allocates.
	if hasNumber && !slices.Contains(of.Runs, "unrounded") && of.Name != "add" {
		checks = append(checks, "\tl.allocates = true\n")
	}
	call := fmt.Sprintf("c.%s(%s)", of.GoName(), strings.Join(args, ", "))
	result, run := "(_ []*tensor.Tensor, err error)", "collectResults"
	if len(o.Returns) == 0 {
		result, run = "(err error)", "writeInPlace"
	}
	closure := "func(out *tensor.Tensor, t []*tensor.Tensor, i int) (*tensor.Tensor, error) {\nreturn " + call + "\n}"
	if len(of.Returns) == 0 {
		run = "overwriteItems"
		closure = "func(_ *tensor.Tensor, t []*tensor.Tensor, i int) (*tensor.Tensor, error) { return t[0], " + call + " }"
	}
	return fmt.Sprintf("\n// %s applies %s to each item.\nfunc %s(c dispatch.Context, %s) %s {\n\tl := newList(c, %q, %s)\n\tdefer l.Close(&err)\n\tl.checkLengths()\n%s\treturn l.%s(%s)\n}\n",
		o.GoName(), of.Name, o.GoName(), strings.Join(params, ", "), result, o.Called, strings.Join(tensors, ", "), strings.Join(checks, ""), run,
		closure), nil
}

func hasArg(o *schema.Operator, name string) bool { return argType(o, name) != "" }

func argType(o *schema.Operator, name string) string {
	for _, a := range o.Args {
		if a.Name == name {
			return a.Type.String()
		}
	}
	return ""
}

// takesRest reports whether a parameter can take an argument of another name.
func takesRest(o *schema.Operator, name string, p param) bool {
	typ := argType(o, name)
	return p.typ == "*tensor.Tensor" || p.typ == "dtype.Scalar" && (strings.HasPrefix(typ, "Scalar") || typ == "Tensor")
}

// eachNumber returns code for the case that the call for an item takes a tensor and the list operator a scalar, or the reverse: a statement
// before the first item is written, and its use in item i. Both are "" otherwise.
func eachNumber(o *schema.Operator, name, value, typ string) (read, used string) {
	switch given := argType(o, name); {
	case typ == "*tensor.Tensor" && given == "Scalar":
		return "number := l.Number(" + value + ")", "number"
	case typ == "*tensor.Tensor" && given == "Scalar[]":
		return "numbers := l.wrapScalars(" + value + ")", "numbers[i]"
	case typ == "dtype.Scalar" && given == "Tensor":
		return "numbers := l.readFactors(" + value + ")", "numbers[i]"
	}
	return "", ""
}

// eachDefault returns the default of a parameter that items do not set.
func eachDefault(typ string) string {
	switch typ {
	case "dtype.Scalar":
		return "dtype.IntScalar(1)"
	case "string":
		return `""`
	case "bool":
		return "false"
	case "int64":
		return "0"
	}
	return "nil"
}
