package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// A word form is a C function that takes all its arguments in one array (capi/value.h): bindings call every operator that
// makes one tensor, or changes one, in the same way. Arguments that only rare calls give keep their defaults.

// wordForms are the C functions of an operator that have a word form.
func wordForms(o *schema.Operator, mode string) []form {
	if wordKinds(o, mode) == "" {
		return nil
	}
	var out []form
	for _, f := range forms(o) {
		if f.mode == mode {
			out = append(out, f)
		}
	}
	return out
}

// wordResult tells what a word form does with its result, as the name of the Python decorator.
func wordResult(o *schema.Operator, mode string) string {
	switch {
	case mode == "inplace" || len(o.Returns) == 0 && len(o.Args) > 0 && o.Args[0].Mutated:
		return "_changes"
	case len(o.Returns) == 1 && o.Returns[0].Type == (schema.Type{Base: "Tensor", List: true}):
		return "_lists"
	case len(o.Returns) == 1 && o.Returns[0].Type == (schema.Type{Base: "bool"}):
		return "_tells"
	case len(o.Returns) == 0 || slices.ContainsFunc(o.Returns, func(r schema.Arg) bool { return r.Type != schema.Type{Base: "Tensor"} }):
		return ""
	case len(o.Returns) != 1:
		return "_several"
	case o.Returns[0].AliasSet != "" && o.Category == "view":
		return "_views"
	}
	return "_makes"
}

// wordKinds has a letter for each argument of the word form (bindings/python/direct/direct.c explains them); "" when the
// operator has no such form.
func wordKinds(o *schema.Operator, mode string) string {
	if wordResult(o, mode) == "" || len(o.Args) == 0 {
		return ""
	}
	var kinds strings.Builder
	operands := o.Operands()
	for i, a := range o.Args {
		kind := pyKindOf(a.Type).letter
		switch {
		case a.Type.Base == "Tensor" && a.Type.List && a.Type.Optional:
			kind = ""
		case mode == "inplace" && i == 0:
			kind = "T"
		case a.Type.Base == "Operand" && i == operands[len(operands)-1]:
			kind = "O"
		}
		if a.Type.Base == "int" && (&pyOverload{op: o}).variadicSize() && a.Type.List && !a.KwOnly {
			kind = "V"
		}
		if a.Type.Optional || a.Default == "None" {
			kind = strings.ToLower(kind)
		}
		if kind == "" {
			if a.Default == "" {
				return ""
			}
			kind = "-"
		}
		kinds.WriteString(kind)
	}
	return kinds.String()
}

func (f form) wordName() string { return "tensor_words_" + strings.TrimPrefix(f.name(), "tensor_") }

// wordDefinition is the C function, which calls the form itself.
func (f form) wordDefinition() string {
	var pass []string
	for i, kind := range wordKinds(f.op, f.mode) {
		cell, field := fmt.Sprintf("a[%d].", i), pyKindOf(f.op.Args[i].Type).field
		switch {
		case kind == '-':
			pass = append(pass, cDefault(f.op.Args[i]))
		case kind == 'O' && f.scalar:
			pass = append(pass, cell+"scalar")
		case kind == 'f': // by address, as NULL is none
			pass = append(pass, cell+"pointer")
		case field == "list":
			pass = append(pass, cell+"list.data", cell+"list.length")
		default:
			pass = append(pass, cell+field)
		}
	}
	results := map[string]string{"_changes": "", "_lists": ", (tensor_t ***)&a->list.data, &a->list.length"}
	head := fmt.Sprintf("TENSOR_API intptr_t %s(lt_value *a) {", f.wordName())
	call := fmt.Sprintf("%s(%s", f.name(), strings.Join(pass, ", "))
	switch result := wordResult(f.op, f.mode); result {
	case "_changes", "_lists":
		return fmt.Sprintf("%s return %s%s); }\n\n", head, call, results[result])
	case "_several":
		for i := range f.op.Returns {
			results[result] += fmt.Sprintf(", (tensor_t **)&a[%d].pointer", i)
		}
		return fmt.Sprintf("%s return %s%s); }\n\n", head, call, results[result])
	}
	if wordResult(f.op, f.mode) == "_tells" {
		return fmt.Sprintf("%s\n  bool told = false;\n  tensor_status status = %s, &told);\n  a->i = told;\n  return status;\n}\n\n", head, call)
	}
	return fmt.Sprintf("%s\n  tensor_t *made;\n  tensor_status status = %s, &made);\n  return status ? (intptr_t)status : (intptr_t)made;\n}\n\n", head, call)
}

// cDefault is the C text of the default of an argument that word forms leave out.
func cDefault(a schema.Arg) string {
	if a.Type.List {
		return "NULL, 0"
	}
	switch a.Type.Base {
	case "layout":
		return "TENSOR_LAYOUT_NONE"
	case "memory_format":
		if a.Default != "None" {
			return "TENSOR_" + strings.ToUpper(strings.TrimSuffix(a.Default, "_format"))
		}
		return "TENSOR_FORMAT_NONE"
	case "device":
		return "tensor_device_default()"
	}
	return "NULL"
}
