package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// briefArgs are the arguments of an operator's brief form; nil when it has none. A call through a foreign function
// interface pays for every argument, and more for a result that comes by address: the brief form takes what has no default
// (views also take their integers) and returns the handle of the one result, or the status of the failure, which is smaller
// than any handle.
func briefArgs(o *schema.Operator) []int {
	if !o.Has("function") && !o.Has("method") || len(o.Returns) != 1 || o.Returns[0].Type != (schema.Type{Base: "Tensor"}) {
		return nil
	}
	var at []int
	for i, a := range o.Args {
		view := o.Category == "view" && a.Type.Base == "int" && !a.KwOnly
		switch {
		case a.Default == "" || view:
			at = append(at, i)
		case a.Default != "None" && (a.Type.List || a.Type.Base == "str"):
			return nil
		}
	}
	return at
}

// brief is the operator with the arguments of its brief form alone.
func brief(o *schema.Operator) *schema.Operator {
	short := *o
	short.Args = nil
	for _, i := range briefArgs(o) {
		short.Args = append(short.Args, o.Args[i])
	}
	return &short
}

// briefForms are the brief C functions: one, and one more where the last operand may be a number.
func briefForms(o *schema.Operator) []form {
	if briefArgs(o) == nil {
		return nil
	}
	return slices.DeleteFunc(forms(o), func(f form) bool { return f.mode != "function" })
}

func (f form) briefName() string { return "tensor_brief_" + strings.TrimPrefix(f.name(), "tensor_") }

// briefDefinition is the C function, which calls the whole form with the defaults.
func (f form) briefDefinition() string {
	var params, pass []string
	taken := briefArgs(f.op)
	for i, a := range f.op.Args {
		if !slices.Contains(taken, i) {
			pass = append(pass, cDefault(a))
			continue
		}
		for _, p := range f.cParams(i) {
			params = append(params, p)
			pass = append(pass, p[strings.LastIndexAny(p, " *")+1:])
		}
	}
	if len(params) == 0 {
		params = []string{"void"}
	}
	return fmt.Sprintf("TENSOR_API intptr_t %s(%s) {\n  tensor_t *made;\n  tensor_status status = %s(%s);\n  return status ? (intptr_t)status : (intptr_t)made;\n}\n\n",
		f.briefName(), strings.Join(params, ", "), f.name(), strings.Join(append(pass, "&made"), ", "))
}

// cDefault is the C text of an argument's default.
func cDefault(a schema.Arg) string {
	if a.Type.List {
		return "NULL, 0"
	}
	if a.Default == "None" {
		switch a.Type.Base {
		case "int":
			return "TENSOR_NONE"
		case "bool":
			return "-1"
		case "Scalar":
			return "tensor_none()"
		case "dtype":
			return "TENSOR_DTYPE_NONE"
		case "layout":
			return "TENSOR_LAYOUT_NONE"
		case "memory_format":
			return "TENSOR_FORMAT_NONE"
		case "device":
			return "tensor_device_default()"
		}
		return "NULL"
	}
	switch a.Type.Base {
	case "Scalar":
		if strings.Contains(a.Default, ".") {
			return "tensor_float(" + a.Default + ")"
		}
		return "tensor_int(" + a.Default + ")"
	case "bool":
		return strings.ToLower(a.Default)
	case "memory_format":
		return "TENSOR_" + strings.ToUpper(strings.TrimSuffix(a.Default, "_format"))
	}
	return a.Default
}
