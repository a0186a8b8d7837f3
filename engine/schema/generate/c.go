package main

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strconv"
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

// cKind returns the kind of argument i in this form, which capi/export.h defines.
func (f cForm) cKind(i int) string {
	a := f.op.Args[i]
	base := f.baseType(i)
	kind := schema.Camel(base, true)
	switch {
	case a.Type.Function != "":
		return a.Type.Function
	case a.Type.List:
		return kind + "s"
	case base == "pointer" && a.Type.Const:
		return "ConstPointer"
	case (base == "Tensor" || base == "Storage") && (a.Mutated || f.mode == "inplace" && i == 0):
		return "Mutable" + kind
	case (base == "bool" || base == "float") && a.Type.Optional:
		return "Optional" + kind
	}
	return kind
}

// returnsHandle reports whether the form has one result, which is a handle.
func (f cForm) returnsHandle() bool {
	return f.returnsResults() && len(f.op.Returns) == 1 && !f.op.Returns[0].Type.List &&
		slices.Contains([]string{"Tensor", "Storage", "Generator", "Node"}, f.op.Returns[0].Type.Base)
}

// cMode returns the name of the form in capi/value.h.
func (f cForm) cMode() string { return "LT_" + strings.ToUpper(f.mode) }

// cDefinition returns the definition of the C function: a line with a macro of capi/export.h.
func (f cForm) cDefinition() string {
	var params, results []string
	for i, a := range f.op.Args {
		params = append(params, fmt.Sprintf("(%s, %s)", f.cKind(i), cArgName(a.Name)))
	}
	for _, r := range f.op.Returns {
		kind := schema.Camel(r.Type.Base, true)
		if r.Type.List {
			kind += "s"
		}
		results = append(results, fmt.Sprintf("(%s, %s)", kind, cArgName(r.Name)))
		if f.mode == "out" {
			params = append(params, fmt.Sprintf("(MutableTensor, %s)", cArgName(r.Name)))
		}
	}
	scalar := strconv.FormatBool(f.scalar)
	all := "(" + strings.Join(results, ", ") + ")"
	fields := []string{f.cName(), f.op.CName(), scalar, all}
	macro := "LT_RETURN_RESULTS"
	switch {
	case !f.returnsResults():
		macro, fields = "LT_RUN", []string{f.cName(), f.op.CName(), f.cMode(), scalar}
		if len(params) == 0 {
			macro = "LT_RUN_ALONE"
		}
	case len(params) == 0:
		macro = "LT_RETURN_WITHOUT_ARGUMENTS"
	case f.returnsHandle():
		macro, fields[3] = "LT_RETURN_HANDLE", results[0]
	case len(results) == 1 && f.op.Returns[0].Type.List:
		macro, fields[3] = "LT_RETURN_LIST", results[0]
	}
	return fmt.Sprintf("%s(%s)\n", macro, strings.Join(append(fields, params...), ", "))
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
