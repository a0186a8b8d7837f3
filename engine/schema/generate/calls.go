package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// goArgument returns the expression that reads argument i from the frame.
func goArgument(o *schema.Operator, i int) string {
	a := o.Args[i]
	if a.Type.List {
		return fmt.Sprintf("f.%s(%d)", map[string]string{"Tensor": "readTensors", "int": "readInts", "float": "readFloats",
			"Scalar": "readScalars", "str": "readStrs"}[a.Type.Base], i)
	}
	getter := map[string]string{
		"Tensor": "readTensor", "Operand": "readOperand", "Scalar": "readScalar", "int": "readInt", "float": "readFloat", "bool": "readBool",
		"str": "readStr", "dtype": "readDtype", "device": "readDevice", "layout": "readLayout", "memory_format": "readFormat",
		"Generator": "readGenerator", "Index": "readIndex", "Storage": "readStorage", "Node": "readNode", "pointer": "readPointer",
	}[a.Type.Base]
	if a.Type.Base == "Tensor" && i == 0 && o.Category == "storage" && !returnsAddress(o) {
		getter = "readUnbackedTensor"
	}
	optional := a.Type.Optional
	switch a.Type.Base {
	case "Scalar", "dtype", "device", "layout", "memory_format", "pointer", "Operand":
		optional = false // absence is a value of the type
	case "Generator":
		optional = optional || a.Default == "None"
	}
	if optional {
		getter += "Optional"
	}
	return fmt.Sprintf("f.%s(%d)", getter, i)
}

// returnsAddress reports whether an operator returns the address of a tensor's elements.
func returnsAddress(o *schema.Operator) bool {
	return slices.ContainsFunc(o.Returns, func(r schema.Arg) bool { return r.Type.Base == "pointer" })
}

// goCall returns the function that runs one operator, in one line if it is one statement.
func goCall(out *output, o *schema.Operator) string {
	body := goBody(out, o)
	if o.Tagged("tracks") {
		body = "defer f.freeEagerly(); " + body
	}
	call := "func(c dispatch.Context, f frame) error { " + body + " }"
	if strings.Contains(body, "; ") {
		call = "func(c dispatch.Context, f frame) error {\n" + body + "\n}"
	}
	if o.Deprecated != "" {
		call = fmt.Sprintf("warnDeprecated(%q, %q, %s)", o.Name, o.Deprecated, call)
	}
	return call
}

// goFunction returns the function that implements an operator or a function of the runtime, and adds the context to its arguments if it
// takes one.
func goFunction(out *output, o *schema.Operator, args *[]string) string {
	f := out.runtime[o.GoName()]
	switch {
	case f == nil:
		return "c." + o.GoName()
	case f.table == "":
		return "ops." + f.name
	}
	*args = slices.Insert(*args, 0, "c")
	return f.table + "." + f.name
}

// goBody returns the body of that function.
func goBody(out *output, o *schema.Operator) string {
	var args []string
	writes := o.Has("out") || o.Has("inplace")
	if writes {
		for i := range o.Returns {
			args = append(args, fmt.Sprintf("f.findOutput(%d)", i))
		}
	}
	for i := range o.Args {
		args = append(args, goArgument(o, i))
	}
	call := fmt.Sprintf("%s(%s)", goFunction(out, o, &args), strings.Join(args, ", "))
	if len(o.Returns) == 0 {
		// Only the arguments marked as mutated change.
		refresh := ""
		for i, a := range o.Args {
			if a.Mutated && a.Type.Base == "Tensor" && !a.Type.List {
				refresh += fmt.Sprintf("f.refreshTensor(%d); ", i)
			}
		}
		if refresh == "" {
			return "return " + call
		}
		return fmt.Sprintf("err := %s; %s return err", call, refresh)
	}
	if hasMixedResults(o) {
		var names []string
		for i := range o.Returns {
			names = append(names, fmt.Sprintf("r%d", i))
		}
		results := strings.Join(names, ", ")
		return fmt.Sprintf("%s, err := %s; return f.setMixed(err, %s)", results, call, results)
	}
	base := o.Returns[0].Type.Base
	if o.Returns[0].Type.List {
		base = "list"
	}
	setter := map[string]string{"Tensor": "setTensor", "Storage": "setStorage", "Generator": "setGenerator", "Node": "setNode",
		"Scalar": "setScalar", "int": "setInt",
		"bool": "setBool", "float": "setFloat", "str": "setStr", "dtype": "setDtype", "pointer": "setPointer", "device": "setDevice",
		"list": "setList"}[base]
	if len(o.Returns) == 1 {
		return fmt.Sprintf("return f.%s(%s)", setter, call)
	}
	var names []string
	for i := range o.Returns {
		names = append(names, fmt.Sprintf("r%d", i))
	}
	results := strings.Join(names, ", ")
	return fmt.Sprintf("%s, err := %s; return f.%ss(err, %s)", results, call, setter, results)
}

// hasMixedResults reports whether an operator's results are of several types.
func hasMixedResults(o *schema.Operator) bool {
	for _, r := range o.Returns {
		if r.Type != o.Returns[0].Type || r.Type.List && (len(o.Returns) > 1 || r.Type.Base != "Tensor") {
			return true
		}
	}
	return false
}

// goCalls returns the table through which lt_enter reaches the engine.
func goCalls(out *output, ops []*schema.Operator) string {
	var b strings.Builder
	b.WriteString(goBanner + "package main\n\nimport (\n\t_ \"github.com/libtensor/libtensor/cuda\" // CUDA devices\n\t\"github.com/libtensor/libtensor/engine/dispatch\"\n\t\"github.com/libtensor/libtensor/engine/autograd\"\n\t_ \"github.com/libtensor/libtensor/engine/vmap\" // tensors of vmap\n\t_ \"github.com/libtensor/libtensor/engine/composite\" // registers the composed operators\n\t_ \"github.com/libtensor/libtensor/engine/conjugate\" // conjugated and negated views\n\t_ \"github.com/libtensor/libtensor/engine/jvp\" // tensors with tangents\n\t\"github.com/libtensor/libtensor/engine/ops\"\n\t_ \"github.com/libtensor/libtensor/engine/quantized\" // quantized tensors\n\t_ \"github.com/libtensor/libtensor/engine/sparse\" // sparse tensors\n)\n\n// calls is indexed by lt_frame.op, in the order of gen_numbers.h.\nvar calls = [...]func(dispatch.Context, frame) error{\n")
	for _, o := range ops {
		b.WriteString("\t" + goCall(out, o) + ",\n")
	}
	b.WriteString("}\n")
	return b.String()
}
