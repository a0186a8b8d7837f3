package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// A packed form is a C function that takes all its arguments in one array; the table of operators (capi/value.h) has those of
// every operator, with what a binding needs to turn a call of its language into one of them.

// kinds are the letters of the types of parameters and results in the table, and the field of lt_value that holds a value.
var kinds = map[string]struct{ letter, field string }{
	"Tensor":        {"T", "pointer"},
	"Operand":       {"P", "pointer"},
	"Generator":     {"G", "pointer"},
	"Storage":       {"W", "pointer"},
	"Node":          {"Q", "pointer"},
	"Scalar":        {"S", "scalar"},
	"int":           {"I", "i"},
	"float":         {"F", "f"},
	"bool":          {"B", "i"},
	"str":           {"U", "text"},
	"dtype":         {"D", "i"},
	"layout":        {"Y", "i"},
	"memory_format": {"M", "i"},
	"device":        {"C", "device"},
	"pointer":       {"Q", "pointer"},
	"Index":         {"X", "list"},
	"Tensor[]":      {"A", "list"},
	"int[]":         {"L", "list"},
	"float[]":       {"E", "list"},
	"bool[]":        {"H", "list"},
	"Scalar[]":      {"N", "list"},
	"str[]":         {"K", "list"},
}

func unqualified(t schema.Type) string { return schema.Type{Base: t.Base, List: t.List}.String() }

// nullable are the types of which C has a value for none whatever the schema says.
var nullable = []string{"dtype", "layout", "memory_format", "device"}

// kindOf is the letter of a parameter, a small one where None may be given.
func (v *pyOverload) kindOf(i int) string {
	a := v.op.Args[i]
	kind := kinds[unqualified(a.Type)].letter
	operands := v.op.Operands()
	last := i == len(v.positional())-1
	switch {
	case a.Type.Base == "Operand" && i == operands[len(operands)-1]:
		kind = "O"
	case a.Type.Base == "Tensor" && a.Type.List && a.Type.Optional:
		return "Z"
	case a.Type.List && last && v.variadicSize():
		kind = "V"
	case a.Type.List && last && v.op.Python.Variadic:
		kind = "R"
	}
	if a.Type.Optional || a.Default == "None" || slices.Contains(nullable, a.Type.Base) {
		kind = strings.ToLower(kind)
	}
	return kind
}

// packed is the name of the packed form, within its file.
func (f form) packed() string { return "packed" + strings.TrimPrefix(f.name(), "tensor") }

// packedDefinition is the packed form, which calls the form itself.
func (f form) packedDefinition() string {
	var pass []string
	for i, a := range f.op.Args {
		cell, field := fmt.Sprintf("a[%d].", i), kinds[unqualified(a.Type)].field
		switch {
		case f.isScalar(i):
			pass = append(pass, cell+"scalar")
		case field == "list":
			pass = append(pass, cell+"list.data", cell+"list.length")
		case a.Type.Function != "":
			pass = append(pass, fmt.Sprintf("(%s)(intptr_t)%spointer", a.Type.Function, cell))
		case a.Type.Base == "float" && a.Type.Optional: // by address, as NULL is none
			pass = append(pass, cell+"pointer")
		default:
			pass = append(pass, cell+field)
		}
	}
	head := fmt.Sprintf("static intptr_t %s(lt_value *a) {", f.packed())
	if len(f.op.Args) == 0 && !f.returnsResults() {
		head += "\n  (void)a;\n "
	}
	call := func() string { return fmt.Sprintf("%s(%s)", f.name(), strings.Join(pass, ", ")) }
	if f.mode == "out" {
		for i := range f.op.Returns {
			pass = append(pass, fmt.Sprintf("a[%d].pointer", len(f.op.Args)+i))
		}
	}
	if !f.returnsResults() {
		return fmt.Sprintf("%s return %s; }\n\n", head, call())
	}
	if len(f.op.Returns) == 1 && unqualified(f.op.Returns[0].Type) == "Tensor" {
		pass = append(pass, "&made")
		return fmt.Sprintf("%s\n  tensor_t *made;\n  tensor_status status = %s;\n  return status ? (intptr_t)status : (intptr_t)made;\n}\n\n", head, call())
	}
	var variables, stores strings.Builder
	for i, r := range f.op.Returns {
		field := kinds[unqualified(r.Type)].field
		switch {
		case r.Type.List:
			pass = append(pass, fmt.Sprintf("(%s**)&a[%d].list.data", resultTypes[r.Type.Base], i), fmt.Sprintf("&a[%d].list.length", i))
		case field == "i" && r.Type.Base != "int":
			fmt.Fprintf(&variables, "\n  %sr%d = 0;", resultTypes[r.Type.Base], i)
			fmt.Fprintf(&stores, "\n  a[%d].i = r%d;", i, i)
			pass = append(pass, fmt.Sprintf("&r%d", i))
		default:
			pass = append(pass, fmt.Sprintf("(%s*)&a[%d].%s", resultTypes[r.Type.Base], i, field))
		}
	}
	if variables.Len() == 0 {
		return fmt.Sprintf("%s return %s; }\n\n", head, call())
	}
	return fmt.Sprintf("%s%s\n  tensor_status status = %s;%s\n  return status;\n}\n\n", head, variables.String(), call(), stores.String())
}

// cNone is the initializer of what stands for None.
func cNone(a schema.Arg) string {
	switch unqualified(a.Type) {
	case "Scalar":
		return "{.scalar = {TENSOR_SCALAR_NONE, {0}}}"
	case "int":
		return "{.i = TENSOR_NONE}"
	case "bool", "dtype", "layout", "memory_format":
		return "{.i = -1}"
	case "device":
		return "{.device = {-1, -1}}"
	}
	return "{0}"
}

// cAbsent is the initializer of the default of a parameter.
func cAbsent(a schema.Arg) string {
	if a.Default == "None" {
		return cNone(a)
	}
	d := strings.NewReplacer("True", "true", "False", "false").Replace(a.Default)
	switch unqualified(a.Type) {
	case "Scalar", "Operand":
		switch {
		case d == "true" || d == "false":
			return fmt.Sprintf("{.scalar = {TENSOR_SCALAR_BOOL, {.i = %s}}}", d)
		case strings.ContainsAny(d, ".en"):
			return fmt.Sprintf("{.scalar = {TENSOR_SCALAR_FLOAT, {.f = {%s, 0}}}}", d)
		}
		return fmt.Sprintf("{.scalar = {TENSOR_SCALAR_INT, {.i = %s}}}", d)
	case "float":
		if a.Type.Optional {
			return fmt.Sprintf("{.pointer = (double[]){%s}}", d)
		}
		return fmt.Sprintf("{.f = %s}", d)
	case "str":
		return fmt.Sprintf(`{.text = "%s"}`, strings.Trim(d, `"'`))
	case "dtype", "layout":
		return "{.i = TENSOR_" + strings.ToUpper(d) + "}"
	case "memory_format":
		return "{.i = TENSOR_" + strings.ToUpper(strings.TrimSuffix(d, "_format")) + "}"
	case "int[]":
		items := strings.Trim(d, "[]")
		if items == "" {
			return "{0}"
		}
		return fmt.Sprintf("{.list = {(const int64_t[]){%s}, %d}}", items, strings.Count(items, ",")+1)
	}
	return fmt.Sprintf("{.i = %s}", d) // int, bool
}

// row is the operator's line of the table, and its parameters', which stand before it.
func (v *pyOverload) row() (parameters, row string) {
	o := v.op
	var b strings.Builder
	for i, a := range o.Args {
		var flags []string
		if a.KwOnly {
			flags = append(flags, "LT_BY_NAME")
		}
		absent := "{0}"
		switch {
		case a.Default != "":
			flags = append(flags, "LT_DEFAULT")
			absent = cAbsent(a)
		}
		if noneIsDefault(a) {
			flags = append(flags, "LT_NONE_IS_DEFAULT")
		}
		fmt.Fprintf(&b, "    {\"%s\", '%s', %s, %d, %s},\n", pyName(a.Name), v.kindOf(i), or(flags), o.DimOf(i), absent)
	}
	name := strings.ReplaceAll(o.CName(), ".", "_")
	if len(o.Args) > 0 {
		parameters = fmt.Sprintf("static const lt_parameter of_%s[] = {\n%s};\n\n", name, b.String())
	}
	packed := map[string][]string{"function": {"NULL", "NULL"}, "inplace": {"NULL", "NULL"}, "out": {"NULL", "NULL"}}
	for _, f := range forms(o) {
		at := map[bool]int{true: 1}[f.scalar]
		packed[f.mode][at] = f.packed()
	}
	results := ""
	for _, r := range o.Returns {
		results += kinds[unqualified(r.Type)].letter
	}
	var flags []string
	if o.Returns != nil && o.Returns[0].AliasSet != "" && o.Category == "view" || results == "S" {
		flags = append(flags, "LT_BRIEF")
	}
	// What detach() gives is to keep neither the tensor nor the graph behind it.
	if o.Returns != nil && o.Returns[0].AliasSet != "" && !o.Args[0].Mutated && o.Name != "detach" {
		flags = append(flags, "LT_VIEWS")
	}
	if o.Tagged("itself") {
		flags = append(flags, "LT_ITSELF")
	}
	if v.factory() {
		flags = append(flags, "LT_FACTORY")
	}
	first := "NULL"
	if len(o.Args) > 0 {
		first = "of_" + name
	}
	pair := func(mode string) string { return "{" + strings.Join(packed[mode], ", ") + "}" }
	changed := slices.IndexFunc(o.Args, func(a schema.Arg) bool { return a.Mutated })
	return parameters, fmt.Sprintf("    {\"%s\", {%s, %s, %s}, %s, %d, \"%s\", %q, %d, %s},\n",
		o.ID(), pair("function"), pair("inplace"), pair("out"), first, len(o.Args), results, "("+v.describe()+")", changed, or(flags))
}

// or is the C text of flags.
func or(flags []string) string {
	if len(flags) == 0 {
		return "0"
	}
	return strings.Join(flags, " | ")
}

// operatorTable is the table, in the order of the operators' names, with its packed forms.
func operatorTable(ops []*schema.Operator) string {
	sorted := slices.Clone(ops)
	slices.SortFunc(sorted, func(a, b *schema.Operator) int { return strings.Compare(a.ID(), b.ID()) })
	var packed, parameters, rows strings.Builder
	for _, o := range sorted {
		for _, f := range forms(o) {
			packed.WriteString(f.packedDefinition())
		}
		p, row := (&pyOverload{op: renamed(o)}).row()
		parameters.WriteString(p)
		rows.WriteString(row)
	}
	return cBanner + "#include \"value.h\"\n\n" + packed.String() + parameters.String() +
		"// Not constant, so that a test can put a function of its own before a packed form.\nlt_operator lt_operators[] = {\n" + rows.String() +
		fmt.Sprintf("};\nconst int lt_operator_count = %d;\n", len(sorted))
}
