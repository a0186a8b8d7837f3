package main

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/template"

	"github.com/libtensor/libtensor/engine/schema"
)

// readVersion returns the version of the library, which the Makefile defines.
func readVersion() (major, minor, patch int, err error) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		return 0, 0, 0, err
	}
	_, after, _ := strings.Cut(string(text), "\nVERSION := ")
	_, err = fmt.Sscanf(after, "%d.%d.%d\n", &major, &minor, &patch)
	return major, minor, patch, err
}

// leastStack is how many KiB of stack a calling thread must have, which capi/test/stack.c holds the library to.
const leastStack = 256

//go:embed tensor.h.tmpl
var headerTemplate string

// sections are the headings of the operator reference, in the order of schema.Categories.
var sections = map[string]string{
	"creation": "creation", "random": "random numbers", "copy": "copies and casts", "view": "views", "pointwise": "pointwise",
	"comparison": "comparison", "reduction": "reductions", "scan": "scans", "index": "indexing", "join": "joining",
	"sort":   "sorting and searching",
	"matrix": "matrix products", "linalg": "linear algebra", "fft": "Fourier transforms", "special": "special functions",
	"nn": "neural network functions", "sparse": "sparse tensors", "quantized": "quantized tensors",
	"gradient": "gradients",
	"storage":  "storages and memory", "file": "files", "query": "queries and settings",
}

// cForm is one C function of an operator.
type cForm struct {
	op     *schema.Operator
	mode   string // function, inplace, out
	scalar bool   // the last operand is a number
}

// listFunctions lists the functions that the header declares. It declares none for deprecated operators, which are for programs in Python.
func listFunctions(o *schema.Operator) []cForm {
	if o.Deprecated != "" {
		return nil
	}
	return listForms(o)
}

// listForms lists the forms of an operator.
func listForms(o *schema.Operator) []cForm {
	var out []cForm
	operands := o.Operands()
	add := func(mode string) {
		out = append(out, cForm{o, mode, false})
		if len(operands) > 0 && !(mode == "inplace" && operands[len(operands)-1] == 0) {
			out = append(out, cForm{o, mode, true})
		}
	}
	if o.Has("function") || o.Has("method") {
		add("function")
	}
	if o.Has("inplace") {
		add("inplace")
	}
	if o.Has("out") {
		add("out")
	}
	return out
}

// cName returns the name of the C function: tensor_add, tensor_add_scalar, tensor_add_, tensor_add_scalar_, tensor_add_out, ...
func (f cForm) cName() string {
	name := "tensor_" + f.op.CName()
	if f.scalar {
		name += "_scalar"
	}
	switch f.mode {
	case "inplace":
		name += "_"
	case "out":
		name += "_out"
	}
	return name
}

// isScalar reports whether argument i is a number in this form.
func (f cForm) isScalar(i int) bool {
	operands := f.op.Operands()
	return f.scalar && operands[len(operands)-1] == i
}

// baseType returns the type of argument i in this form: operands are tensors unless the form takes a number.
func (f cForm) baseType(i int) string {
	b := f.op.Args[i].Type.Base
	if b != "Operand" {
		return b
	}
	if f.isScalar(i) {
		return "Scalar"
	}
	return "Tensor"
}

// cParams returns the C parameters of an argument.
func (f cForm) cParams(i int) []string {
	a := f.op.Args[i]
	name := cArgName(a.Name)
	mutated := a.Mutated || (f.mode == "inplace" && i == 0)
	if a.Type.List {
		element := map[string]string{"Tensor": "const tensor_t *const *", "int": "const int64_t *", "float": "const double *",
			"Scalar": "const tensor_scalar *", "bool": "const bool *", "str": "const char *const *"}[f.baseType(i)]
		return []string{element + name, "int64_t " + name + "_len"}
	}
	switch f.baseType(i) {
	case "Index":
		return []string{"const tensor_index *" + name, "int64_t " + name + "_len"}
	case "Tensor":
		if mutated {
			return []string{"tensor_t *" + name}
		}
		return []string{"const tensor_t *" + name}
	case "Storage":
		if mutated {
			return []string{"tensor_storage_t *" + name}
		}
		return []string{"const tensor_storage_t *" + name}
	case "Generator":
		return []string{"tensor_generator_t *" + name}
	case "Node":
		return []string{"tensor_node_t *" + name}
	case "Scalar":
		return []string{"tensor_scalar " + name}
	case "int":
		return []string{"int64_t " + name}
	case "bool":
		if a.Type.Optional {
			return []string{"int32_t " + name}
		}
		return []string{"bool " + name}
	case "float":
		if a.Type.Optional {
			return []string{"const double *" + name}
		}
		return []string{"double " + name}
	case "str":
		return []string{"const char *" + name}
	case "pointer":
		if a.Type.Function != "" {
			return []string{a.Type.Function + " " + name}
		}
		if a.Type.Const {
			return []string{"const void *" + name}
		}
		return []string{"void *" + name}
	}
	return []string{map[string]string{"dtype": "tensor_dtype ", "device": "tensor_device ", "layout": "tensor_layout ",
		"memory_format": "tensor_memory_format "}[f.baseType(i)] + name}
}

// cArgName avoids the reserved words of C and C++, and the name of the values of a call.
func cArgName(name string) string {
	switch name {
	case "a", "double", "float", "int", "bool", "default", "signed", "register", "this", "new", "operator":
		return name + "_"
	}
	return name
}

// resultTypes maps a result's type to the C type that its out parameter points to.
var resultTypes = map[string]string{
	"Tensor": "tensor_t *", "Storage": "tensor_storage_t *", "Generator": "tensor_generator_t *", "Node": "tensor_node_t *",
	"Scalar": "tensor_scalar ", "int": "int64_t ",
	"bool": "bool ", "float": "double ", "str": "char *", "dtype": "tensor_dtype ", "device": "tensor_device ", "pointer": "void *",
}

// returnsResults is false for in-place and out forms, and for operators that return nothing new.
func (f cForm) returnsResults() bool { return f.mode == "function" && len(f.op.Returns) > 0 }

func (f cForm) cSignature() string {
	var params []string
	for i := range f.op.Args {
		params = append(params, f.cParams(i)...)
	}
	for _, r := range f.op.Returns {
		name := cArgName(r.Name)
		switch {
		case f.mode == "out":
			params = append(params, "tensor_t *"+name)
		case f.mode == "inplace":
		case r.Type.List:
			params = append(params, resultTypes[r.Type.Base]+"**"+name, "int64_t *"+name+"_len")
		default:
			params = append(params, resultTypes[r.Type.Base]+"*"+name)
		}
	}
	if len(params) == 0 {
		params = []string{"void"}
	}
	return fmt.Sprintf("tensor_status %s(%s)", f.cName(), strings.Join(params, ", "))
}

// headerDeclarations returns the operator part of the header: a section for each category, and a comment above each function.
func headerDeclarations(ops []*schema.Operator) string {
	var b strings.Builder
	spelling := cSpelling(ops)
	for _, category := range schema.Categories {
		first := true
		for _, o := range ops {
			if o.Category != category {
				continue
			}
			if first {
				title := sections[category]
				fmt.Fprintf(&b, "\n// %s %s\n", strings.Repeat("-", commentWidth-4-len(title)), title)
				first = false
			}
			b.WriteString("\n")
			for i, f := range listFunctions(o) {
				text := f.variantLine()
				if i == 0 {
					text = spelling.writeDoc(o, false) + "\n" +
						strings.Join([]string{dtypeSentences(o, false, cArgName), listDefaults(o.Args, cDefault), f.freeingSentence()}, " ")
				}
				b.WriteString(formatComment("// ", text) + "TENSOR_API " + f.cSignature() + ";\n")
			}
		}
	}
	return b.String()
}

// cValue returns the initializer of argument i in the array that an operator runs on.
func (f cForm) cValue(i int) string {
	a, name := f.op.Args[i], cArgName(f.op.Args[i].Name)
	field := kinds[unqualifiedType(schema.Type{Base: f.baseType(i), List: a.Type.List})].field
	switch {
	case field == "list":
		return fmt.Sprintf("{.list = {%s, %s_len}}", name, name)
	case field == "pointer", a.Type.Base == "float" && a.Type.Optional: // by address, as NULL is none
		return fmt.Sprintf("{.pointer = (void *)%s}", name)
	}
	return fmt.Sprintf("{.%s = %s}", field, name)
}

// cResult returns the code that hands result i to the caller.
func (f cForm) cResult(i int) (check, store string) {
	r := f.op.Returns[i]
	name := cArgName(r.Name)
	check = fmt.Sprintf("LT_RESULT(%s, \"%s\", \"%s\");", name, f.op.ID(), r.Name)
	if r.Type.List {
		check += fmt.Sprintf(" LT_RESULT(%s_len, \"%s\", \"%s_len\");", name, f.op.ID(), r.Name)
		return check, fmt.Sprintf("*%s = (%s*)a[%d].list.data, *%s_len = a[%d].list.length;", name, resultTypes[r.Type.Base], i, name, i)
	}
	field := kinds[unqualifiedType(r.Type)].field
	cast := ""
	if field == "text" {
		field = "pointer"
	}
	if field == "pointer" || field == "i" {
		cast = "(" + strings.TrimSpace(resultTypes[r.Type.Base]) + ")"
	}
	return check, fmt.Sprintf("*%s = %sa[%d].%s;", name, cast, i, field)
}

// returnsHandle reports whether the form has one result, which is a handle.
func (f cForm) returnsHandle() bool {
	return f.returnsResults() && len(f.op.Returns) == 1 && !f.op.Returns[0].Type.List &&
		slices.Contains([]string{"Tensor", "Storage", "Generator", "Node"}, f.op.Returns[0].Type.Base)
}

// cMode returns the name of the form in capi/value.h.
func (f cForm) cMode() string { return "LT_" + strings.ToUpper(f.mode) }

// cDefinition returns the definition of the C function.
func (f cForm) cDefinition() string {
	var values []string
	for i := range f.op.Args {
		values = append(values, f.cValue(i))
	}
	size := len(f.op.Args)
	if f.mode == "out" {
		for _, r := range f.op.Returns {
			values = append(values, fmt.Sprintf("{.pointer = %s}", cArgName(r.Name)))
		}
		size = len(values)
	}
	if f.returnsResults() {
		size = max(size, len(f.op.Returns))
	}
	if len(values) == 0 {
		values = []string{"{0}"}
	}
	array := fmt.Sprintf("  lt_value a[%d] = {%s};\n", max(size, 1), strings.Join(values, ", "))
	op := fmt.Sprintf("LT_OP(%s)", f.op.CName())
	run := fmt.Sprintf("lt_run(%s, %s, %t, a)", op, f.cMode(), f.scalar)
	head := fmt.Sprintf("TENSOR_API %s {\n", f.cSignature())
	switch {
	case f.returnsHandle():
		return head + array + fmt.Sprintf("  return lt_give(%s, %t, a, %s);\n}\n\n", op, f.scalar, cArgName(f.op.Returns[0].Name))
	case !f.returnsResults():
		return head + array + fmt.Sprintf("  return %s;\n}\n\n", run)
	case len(f.op.Returns) == 1 && f.op.Returns[0].Type.List:
		name := cArgName(f.op.Returns[0].Name)
		return head + array + fmt.Sprintf("  return lt_give_list(%s, %t, a, %s, %s_len);\n}\n\n", op, f.scalar, name, name)
	}
	var stores []string
	for i := range f.op.Returns {
		check, store := f.cResult(i)
		head += "  " + check + "\n"
		stores = append(stores, store)
	}
	return head + array + fmt.Sprintf("  const tensor_status status = %s;\n  if (status == TENSOR_OK) {\n    %s\n  }\n  return status;\n}\n\n",
		run, strings.Join(stores, "\n    "))
}

// generateC writes the header, the exports and the version script.
func generateC(out *output, ops []*schema.Operator) error {
	var header strings.Builder
	t, err := template.New("header").Parse(headerTemplate)
	if err != nil {
		return err
	}
	major, minor, patch, err := readVersion()
	if err != nil {
		return fmt.Errorf("the Makefile's VERSION: %w", err)
	}
	data := struct {
		Major, Minor, Patch, Stack int
		Operators                  string
		Enums                      map[string]string
	}{major, minor, patch, leastStack, headerDeclarations(ops), headerEnums()}
	if err := t.Execute(&header, data); err != nil {
		return err
	}
	out.write("include/tensor.h", header.String())
	for _, category := range schema.Categories {
		var b strings.Builder
		for _, o := range ops {
			if o.Category == category {
				for _, f := range listFunctions(o) {
					b.WriteString(f.cDefinition())
				}
			}
		}
		if b.Len() > 0 {
			out.write("capi/gen_exports_"+category+".c", cBanner+"#include \"export.h\"\n\n"+b.String())
		}
	}
	sorted := slices.Clone(ops)
	slices.SortFunc(sorted, func(a, b *schema.Operator) int { return strings.Compare(a.ID(), b.ID()) })
	out.write("capi/gen_numbers.h", operatorNumbers(sorted))
	out.write("capi/gen_operators.c", operatorTable(ops, sorted))
	out.write("capi/gen_calls.go", goCalls(out, sorted))
	return nil
}
