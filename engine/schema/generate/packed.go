package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// The table of operators (capi/value.h) holds the data with which a binding converts a call of its language to a call of the library.

// kinds are the letters of the types of parameters and results in the table, and the field of lt_value that holds a value.
var kinds = map[string]struct{ letter, field string }{
	"Tensor":        {"T", "pointer"},
	"Operand":       {"P", "pointer"},
	"Generator":     {"G", "pointer"},
	"Storage":       {"W", "pointer"},
	"Node":          {"J", "pointer"},
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

func unqualifiedType(t schema.Type) string { return schema.Type{Base: t.Base, List: t.List}.String() }

// nullable lists the types with a C value for none, regardless of the schema.
var nullable = []string{"dtype", "layout", "memory_format", "device"}

// kindOf returns the letter of a parameter, a small one where None may be given.
func (v *pyOverload) kindOf(i int) string {
	a := v.op.Args[i]
	kind := kinds[unqualifiedType(a.Type)].letter
	operands := v.op.Operands()
	last := i == len(v.positionalArgs())-1
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

// cNone returns the initializer that represents None.
func cNone(a schema.Arg) string {
	switch unqualifiedType(a.Type) {
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

// cAbsent returns the initializer of the default of a parameter.
func cAbsent(a schema.Arg) string {
	if a.Default == "None" {
		return cNone(a)
	}
	if a.Default == "[]" {
		return "{0}"
	}
	d := strings.NewReplacer("True", "true", "False", "false").Replace(a.Default)
	switch unqualifiedType(a.Type) {
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
		return fmt.Sprintf("{.list = {(const int64_t[]){%s}, %d}}", items, strings.Count(items, ",")+1)
	}
	return fmt.Sprintf("{.i = %s}", d) // int, bool
}

// parameterArray collects the parameters of all operators in one array. Operators with the same parameters share them.
type parameterArray struct {
	lines  []string
	starts map[string]int // by the text of the parameters
}

// addParameters returns the address of an operator's first parameter.
func (p *parameterArray) addParameters(parameters []string, operator string) string {
	if len(parameters) == 0 {
		return "NULL"
	}
	text := strings.Join(parameters, "")
	start, known := p.starts[text]
	if !known {
		start = len(p.lines)
		p.starts[text] = start
		p.lines = append(p.lines, parameters...)
		p.lines[start] += "  // " + operator
	}
	return fmt.Sprintf("lt_parameters + %d", start)
}

// parameterRow returns the line of argument i in the array of parameters.
func (v *pyOverload) parameterRow(i int) string {
	o, a := v.op, v.op.Args[i]
	absent := "{0}"
	if a.Default != "" {
		absent = cAbsent(a)
	}
	flags := formatFlags([]cFlag{
		{a.KwOnly, "LT_BY_NAME"}, {a.Default != "", "LT_DEFAULT"}, {noneIsDefault(a), "LT_NONE_IS_DEFAULT"},
		{a.Type.Base == "dtype" && (o.Args[0].Type.Base == "Storage" || o.Category == "quantized"), "LT_ANY_DTYPE"},
		{a.Type.Optional || a.Default == "None", "LT_OPTIONAL"}, {a.Mutated, "LT_MUTATED"}, {i == 0 && o.Tagged("moves"), "LT_MOVED"},
		{i == spreadPosition(o), "LT_SPREAD"}, {a.Type.Function == "tensor_callback", "LT_CALLS_BACK"}, {a.Indices, "LT_INTEGERS"},
	})
	shown := "NULL"
	if name := pyName(renameForPython(o).Args[i].Name); name != a.Name && (a.Name != "self" || name != "input") {
		shown = strconv.Quote(name)
	}
	return fmt.Sprintf("    {\"%s\", %s, '%s', %d, %s, %s},", a.Name, shown, v.kindOf(i), o.DimOf(i), flags, absent)
}

// formatResults returns the letters of the results' types, and the names of the results with NUL characters between them.
func formatResults(o *schema.Operator) (letters, names string) {
	var all []string
	for _, r := range o.Returns {
		letters += kinds[unqualifiedType(r.Type)].letter
		all = append(all, r.Name)
	}
	return letters, strings.Join(all, "\\0")
}

// operatorFlags returns the flags of the operator's line of the table.
func (v *pyOverload) operatorFlags(results string) string {
	o := v.op
	aliased := o.Returns != nil && o.Returns[0].AliasSet != ""
	return formatFlags([]cFlag{
		{aliased && o.Category == "view" || results == "S", "LT_BRIEF"},
		// The result of detach() must keep neither the tensor nor its autograd graph.
		{aliased && !o.Args[0].Mutated && o.Name != "detach", "LT_VIEWS"},
		{o.Tagged("itself"), "LT_ITSELF"}, {v.isFactory(), "LT_FACTORY"}, {o.Category == "gradient" || o.Python.Internal, "LT_RUNS"},
		{o.Tagged("view") && len(o.Returns) == 1 && o.Args[0].Type.Base == "Tensor" && !o.Args[0].Type.List, "LT_A_VIEW"},
		{o.Has("function"), "LT_NAMED"}, {o.Has("method"), "LT_METHOD"}, {o.Category == "file" || o.Name == "backward", "LT_LENGTHY"},
		{!isObserved(o), "LT_UNOBSERVED"},
	})
}

// aliasedResults returns a mask of the results that share memory with an argument.
func aliasedResults(o *schema.Operator) int {
	mask := 0
	for i, r := range o.Returns {
		if r.AliasSet != "" {
			mask |= 1 << i
		}
	}
	return mask
}

// tableRow returns the operator's line of the table.
func (v *pyOverload) tableRow(order int, array *parameterArray) string {
	o := v.op
	var parameters []string
	for i := range o.Args {
		parameters = append(parameters, v.parameterRow(i))
	}
	var has []string
	for _, f := range listForms(o) {
		has = append(has, fmt.Sprintf("LT_HAS(%s, %d)", f.cMode(), map[bool]int{true: 1}[f.scalar]))
	}
	inplace := "NULL"
	if o.Has("inplace") {
		inplace = strconv.Quote(o.Name + "_")
	}
	results, named := formatResults(o)
	changed := slices.IndexFunc(o.Args, func(a schema.Arg) bool { return a.Mutated && !a.Type.List })
	return fmt.Sprintf("    {lt_run_operator, \"%s\", \"%s\", %s, %s, %d, \"%s\", \"%s\", %q, %d, %s, %s, %d, %d, LT_OP_%s},\n",
		o.ID(), o.Name, inplace, array.addParameters(parameters, o.ID()), len(o.Args), results, named,
		"("+(&pyOverload{op: renameForPython(o)}).formatSignature()+")", changed, v.operatorFlags(results), joinFlags(has),
		aliasedResults(o), order, o.CName())
}

// isObserved returns whether observers are notified of calls of an entry: of operators, except those that return the memory of a tensor,
// and of tagged functions of the runtime.
func isObserved(o *schema.Operator) bool {
	returnsMemory := slices.ContainsFunc(o.Returns, func(r schema.Arg) bool { return r.Type.Base == "Storage" || r.Type.Base == "pointer" })
	return o.Tagged("observed") || !o.Runtime && !returnsMemory
}

// spreadPosition returns the position of the argument whose items can be passed as separate arguments, as in zeros(2, 3) and reshape(2,
// 3), or -1: a required list of sizes or dimensions, preceded by at most a tensor.
func spreadPosition(o *schema.Operator) int {
	last := -1
	for i, a := range o.Args {
		if !a.KwOnly {
			last = i
		}
	}
	if last < 0 || last > 1 || last == 1 && o.Args[0].Type.Base != "Tensor" {
		return -1
	}
	if a := o.Args[last]; a.Type.Base != "int" || !a.Type.List || a.Default != "" || a.Name == "indices" {
		return -1
	}
	return last
}

// cFlag is the name of a flag in C, and whether it is set.
type cFlag struct {
	is   bool
	name string
}

// formatFlags returns the C text of the flags that are set.
func formatFlags(choices []cFlag) string {
	var names []string
	for _, f := range choices {
		if f.is {
			names = append(names, f.name)
		}
	}
	return joinFlags(names)
}

// joinFlags returns the C text of flags.
func joinFlags(flags []string) string {
	if len(flags) == 0 {
		return "0"
	}
	return strings.Join(flags, " | ")
}

// operatorNumbers returns the names of the indices in the table.
func operatorNumbers(sorted []*schema.Operator) string {
	text := cBanner + "// An operator's place in the table, and in the engine's (gen_calls.go).\nenum {\n"
	for _, o := range sorted {
		text += "  LT_OP_" + o.CName() + ",\n"
	}
	return text + "};\n"
}

// operatorTable returns the table, in the order of the operators' names. That of the entries is that of a name's overloads.
func operatorTable(ops, sorted []*schema.Operator) string {
	array := parameterArray{starts: map[string]int{}}
	var rows strings.Builder
	order, overloads := map[*schema.Operator]int{}, map[string]int{}
	for _, o := range ops {
		order[o] = overloads[o.Name]
		overloads[o.Name]++
	}
	for _, o := range sorted {
		rows.WriteString((&pyOverload{op: o}).tableRow(order[o], &array))
	}
	return cBanner + "#include \"export.h\"\n\n// The parameters of all operators, with the first operator that has them.\nstatic const lt_parameter lt_parameters[] = {\n" +
		strings.Join(array.lines, "\n") + "\n};\n\nlt_operator lt_operators[] = {\n" + rows.String() +
		"};\nconst int lt_operator_count = sizeof lt_operators / sizeof *lt_operators;\n"
}
