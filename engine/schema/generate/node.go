package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/schema"
)

// nodeEntry is a name in JavaScript and the overloads behind it.
type nodeEntry struct {
	path      string // "add", "linalg.norm"
	overloads []*schema.Operator
}

// nodeName turns a_name into aName, keeping underscores at the end, which mark operators that work in place.
func nodeName(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		core := strings.Trim(part, "_")
		at := strings.Index(part, core)
		parts[i] = part[:at] + schema.Camel(core, false) + part[at+len(core):]
	}
	return strings.Join(parts, ".")
}

// nodeArgName is the argument's name in options and declarations. Functions show self as input.
func nodeArgName(name string) string {
	if name == "self" {
		return "input"
	}
	return schema.Camel(strings.Trim(name, "_"), false)
}

// nodeHas tells whether an operator can be called from JavaScript: it has no addresses but those of a function. Hooks on what is
// saved, which asynchronous calls take along, are pushed and popped by the addon itself.
func nodeHas(o *schema.Operator) bool {
	isPointer := func(a schema.Arg) bool { return a.Type.Base == "pointer" && !nodeIsCallback(a) }
	return !slices.ContainsFunc(nodeArgs(o), isPointer) && !slices.ContainsFunc(o.Returns, isPointer) && o.Name != "pop_saved_tensors_hooks"
}

func nodeIsCallback(a schema.Arg) bool { return a.Type.Function == "tensor_callback" }

// nodeArgs are the arguments in JavaScript, where a function stands for a callback with its context and its deleter, which come last.
func nodeArgs(o *schema.Operator) []schema.Arg {
	if i := slices.IndexFunc(o.Args, nodeIsCallback); i >= 0 {
		return o.Args[:i+1]
	}
	return o.Args
}

// owner is the class, beside Tensor, that an operator is a method of: storage_nbytes of Storage, generator_seed of Generator.
func nodeOwner(o *schema.Operator) string {
	if len(o.Args) > 0 && o.Args[0].Name == "self" {
		switch base := o.Args[0].Type.Base; base {
		case "Storage", "Generator":
			return base
		}
	}
	return ""
}

func nodeEntries(ops []*schema.Operator) []*nodeEntry {
	var entries []*nodeEntry
	byPath := map[string]*nodeEntry{}
	for _, o := range ops {
		if !nodeHas(o) {
			continue
		}
		e := byPath[o.Name]
		if e == nil {
			name := o.Name
			if owner := nodeOwner(o); owner != "" {
				name = strings.TrimPrefix(name, strings.ToLower(owner)+"_")
			}
			e = &nodeEntry{path: nodeName(name)}
			byPath[o.Name] = e
			entries = append(entries, e)
		}
		e.overloads = append(e.overloads, o)
	}
	return entries
}

func (e *nodeEntry) has(variant string) bool {
	return slices.ContainsFunc(e.overloads, func(o *schema.Operator) bool { return o.Has(variant) })
}

// wrapped tells whether the package declares the form, a function or method, itself.
func (e *nodeEntry) wrapped(form string) bool {
	return slices.Contains(e.overloads[0].Node.Wrapped, form)
}

// internal tells whether the package does not show the operator as it is, but has it in a form of its own (lib/grad.js, lib/names.js).
func (e *nodeEntry) internal() bool {
	first := e.overloads[0]
	return first.Category == "gradient" || first.Node.Internal
}

func (e *nodeEntry) owner() string { return nodeOwner(e.overloads[0]) }

func (e *nodeEntry) last() string { return e.path[strings.LastIndex(e.path, ".")+1:] }

func (e *nodeEntry) isFunction() bool { return e.owner() == "" && e.has("function") }

func (e *nodeEntry) isMethod() bool { return e.owner() != "" || e.has("method") }

// isAsync tells whether the function also exists off the event loop: when it gives tensors, runs backward, or works on files.
func (e *nodeEntry) isAsync() bool {
	return e.isFunction() && slices.ContainsFunc(e.overloads, takesTime)
}

func takesTime(o *schema.Operator) bool {
	return o.Category == "file" || o.Name == "backward" || slices.ContainsFunc(o.Returns, func(r schema.Arg) bool { return r.Type.Base == "Tensor" })
}

var nodeTypes = map[string]string{
	"Tensor": "LT_TENSOR", "Storage": "LT_STORAGE", "Generator": "LT_GENERATOR", "Node": "LT_NODE", "pointer": "LT_CALLBACK", "Operand": "LT_OPERAND", "Scalar": "LT_SCALAR", "int": "LT_INT", "float": "LT_FLOAT",
	"bool": "LT_BOOL", "str": "LT_STR", "dtype": "LT_DTYPE", "device": "LT_DEVICE", "layout": "LT_LAYOUT", "memory_format": "LT_FORMAT", "Index": "LT_INDEX",
}

// nodeValue is an argument in the call of a C function: the members of lt_value that hold it.
func (f form) nodeValue(i int) string {
	a := f.op.Args[i]
	if nodeIsCallback(a) {
		return fmt.Sprintf("lt_call_back, a[%d].kept, lt_let_go", i)
	}
	if a.Type.List || a.Type.Base == "Index" {
		return fmt.Sprintf("a[%d].list.data, a[%d].list.length", i, i)
	}
	member := map[string]string{"Tensor": "tensor", "Storage": "storage", "Generator": "generator", "Node": "node", "Scalar": "scalar", "float": "f", "str": "text", "device": "device"}[f.base(i)]
	cast := map[string]string{"dtype": "(tensor_dtype)", "layout": "(tensor_layout)", "memory_format": "(tensor_memory_format)"}[f.base(i)]
	switch {
	case f.base(i) == "bool" && a.Type.Optional:
		cast = "(int32_t)"
	case f.base(i) == "float" && a.Type.Optional:
		member = "number"
	}
	if member == "" {
		member = "i"
	}
	return fmt.Sprintf("%sa[%d].%s", cast, i, member)
}

// nodeCall is the C function that calls one form.
func (f form) nodeCall() string {
	var args []string
	for i := range nodeArgs(f.op) {
		args = append(args, f.nodeValue(i))
	}
	for i, r := range f.op.Returns {
		switch {
		case f.mode == "out":
			args = append(args, fmt.Sprintf("r[%d].tensor", i))
		case f.mode == "inplace":
		case r.Type.List:
			list := map[string]string{"Tensor": "tensors", "str": "strings"}[r.Type.Base]
			args = append(args, fmt.Sprintf("&r[%d].%s.items, &r[%d].%s.length", i, list, i, list))
		default:
			member := map[string]string{"Tensor": "tensor", "Storage": "storage", "Generator": "generator", "Node": "node", "Scalar": "scalar", "float": "f", "bool": "b", "str": "string", "dtype": "dtype", "device": "device"}[r.Type.Base]
			if member == "" {
				member = "i"
			}
			args = append(args, fmt.Sprintf("&r[%d].%s", i, member))
		}
	}
	unused := ""
	if len(f.op.Args) == 0 {
		unused += "(void)a; "
	}
	if len(f.op.Returns) == 0 || f.mode == "inplace" {
		unused += "(void)r; "
	}
	return fmt.Sprintf("static tensor_status %s(const lt_value *a, lt_value *r) { %sreturn %s(%s); }\n", f.nodeSymbol(), unused, f.name(), strings.Join(args, ", "))
}

func (f form) nodeSymbol() string { return "call_" + strings.TrimPrefix(f.name(), "tensor_") }

// nodeNumber is a number in C.
func nodeNumber(text string) (string, error) {
	switch text {
	case "inf":
		return "INFINITY", nil
	case "-inf":
		return "-INFINITY", nil
	case "nan":
		return "NAN", nil
	}
	_, err := strconv.ParseFloat(text, 64)
	return text, err
}

// nodeScalar is the initializer of a tensor_scalar.
func nodeScalar(text string) (string, error) {
	switch text {
	case "None":
		return "{TENSOR_SCALAR_NONE, {0}}", nil
	case "True", "False":
		return fmt.Sprintf("{TENSOR_SCALAR_BOOL, {%d}}", boolInt(text)), nil
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return "{TENSOR_SCALAR_INT, {" + text + "}}", nil
	}
	number, err := nodeNumber(text)
	return "{TENSOR_SCALAR_FLOAT, {.f = {" + number + ", 0}}}", err
}

func boolInt(text string) int {
	if text == "True" {
		return 1
	}
	return 0
}

// nodeDefault is the initializer of an argument's default.
func nodeDefault(a schema.Arg) (string, error) {
	text := a.Default
	wrong := fmt.Errorf("default %q of %s %s is not understood", text, a.Type, a.Name)
	none := text == "None"
	if a.Type.List || a.Type.Base == "Index" {
		if none {
			return "{0}", nil
		}
		items := []string{text}
		if inner, ok := strings.CutPrefix(text, "["); ok {
			items = strings.FieldsFunc(strings.TrimSuffix(inner, "]"), func(r rune) bool { return r == ',' || r == ' ' })
		}
		element := map[string]string{"int": "int64_t", "float": "double", "bool": "bool"}[a.Type.Base]
		if element == "" && len(items) > 0 {
			return "", wrong
		}
		if len(items) == 0 {
			return "{.list = {(const int64_t[]){0}, 0}}", nil
		}
		return fmt.Sprintf("{.list = {(const %s[]){%s}, %d}}", element, strings.Join(items, ", "), len(items)), nil
	}
	switch a.Type.Base {
	case "Tensor", "Storage", "Generator":
		if none {
			return "{0}", nil
		}
	case "Scalar", "Operand":
		s, err := nodeScalar(text)
		return "{.scalar = " + s + "}", err
	case "int":
		if none {
			return "{.i = TENSOR_NONE}", nil
		}
		_, err := strconv.ParseInt(text, 10, 64)
		return "{.i = " + text + "}", err
	case "float":
		if none {
			return "{0}", nil
		}
		number, err := nodeNumber(text)
		if a.Type.Optional {
			return "{.number = (const double[]){" + number + "}}", err
		}
		return "{.f = " + number + "}", err
	case "bool":
		if none {
			return "{.i = -1}", nil
		}
		return fmt.Sprintf("{.i = %d}", boolInt(text)), nil
	case "str":
		if none {
			return "{0}", nil
		}
		return "{.text = " + strconv.Quote(strings.Trim(text, `'"`)) + "}", nil
	case "device":
		if none {
			return "{.device = {TENSOR_DEVICE_NONE, -1}}", nil
		}
		if strings.Trim(text, `'"`) == "cpu" {
			return "{.device = {TENSOR_CPU, -1}}", nil
		}
	default:
		if none {
			return "{.i = -1}", nil
		}
		if d, ok := dtype.Parse(text); ok && a.Type.Base == "dtype" {
			return "{.i = TENSOR_" + strings.ToUpper(d.String()) + "}", nil
		}
		if slices.Contains(schema.Layouts, text) || slices.Contains(schema.MemoryFormats, text) {
			return "{.i = TENSOR_" + strings.ToUpper(strings.TrimSuffix(text, "_format")) + "}", nil
		}
	}
	return "", wrong
}

// nodeVariadic tells whether the items of an operator's last positional argument can be given one by one, as in zeros(2, 3) and
// reshape(2, 3): it is a list of sizes or dimensions, it must be given, and nothing but a tensor comes before it.
func nodeVariadic(o *schema.Operator) int {
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

// nodeArgument is the description of an argument or a result.
func nodeArgument(a schema.Arg, dimOf int, result, moved, variadic bool) (string, error) {
	var flags []string
	flag := func(is bool, name string) {
		if is {
			flags = append(flags, name)
		}
	}
	flag(a.Type.List || a.Type.Base == "Index", "LT_IS_LIST")
	flag(a.Type.Optional || a.Default == "None", "LT_IS_OPTIONAL")
	flag(a.KwOnly, "LT_IS_KEYWORD")
	flag(a.Default != "", "LT_HAS_DEFAULT")
	flag(a.Mutated, "LT_IS_MUTATED")
	flag(result && a.AliasSet != "", "LT_IS_ALIAS")
	flag(moved, "LT_IS_MOVED")
	flag(variadic, "LT_IS_VARIADIC")
	if len(flags) == 0 {
		flags = []string{"0"}
	}
	value := "{0}"
	if a.Default != "" {
		var err error
		if value, err = nodeDefault(a); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("{\"%s\", %s, %s, %d, %s}", nodeArgName(a.Name), nodeTypes[a.Type.Base], strings.Join(flags, " | "), dimOf, value), nil
}

func nodeArguments(b *strings.Builder, symbol string, o *schema.Operator, result bool) error {
	args, variadic, moved := nodeArgs(o), nodeVariadic(o), o.Tagged("moves")
	if result {
		args, variadic, moved = o.Returns, -1, false
	}
	if len(args) == 0 {
		return nil
	}
	fmt.Fprintf(b, "static const lt_argument %s[] = {\n", symbol)
	for i, a := range args {
		dimOf := -1
		if !result {
			dimOf = o.DimOf(i)
		}
		text, err := nodeArgument(a, dimOf, result, moved && i == 0, i == variadic)
		if err != nil {
			return err
		}
		b.WriteString("    " + text + ",\n")
	}
	b.WriteString("};\n")
	return nil
}

// nodeOperator writes an operator's calls and argument tables, and returns its description.
func nodeOperator(b *strings.Builder, o *schema.Operator) (string, error) {
	table := map[string][2]string{"function": {"NULL", "NULL"}, "inplace": {"NULL", "NULL"}, "out": {"NULL", "NULL"}}
	for _, f := range forms(o) {
		b.WriteString(f.nodeCall())
		calls := table[f.mode]
		calls[map[bool]int{false: 0, true: 1}[f.scalar]] = f.nodeSymbol()
		table[f.mode] = calls
	}
	symbols := [2]string{"NULL", "NULL"}
	for i, list := range [][]schema.Arg{nodeArgs(o), o.Returns} {
		symbol := []string{"arguments_", "results_"}[i] + o.CName()
		if err := nodeArguments(b, symbol, o, i == 1); err != nil {
			return "", fmt.Errorf("%s: %w", o.ID(), err)
		}
		if len(list) > 0 {
			symbols[i] = symbol
		}
	}
	positional, operand := 0, -1
	for i, a := range nodeArgs(o) {
		if !a.KwOnly {
			positional++
		}
		if a.Type.Base == "Operand" {
			operand = i
		}
	}
	var calls []string
	for _, mode := range []string{"function", "inplace", "out"} {
		calls = append(calls, fmt.Sprintf("{%s, %s}", table[mode][0], table[mode][1]))
	}
	flags := "0"
	if (&pyOverload{op: o}).factory() {
		flags = "LT_MAKES"
	}
	if o.Tagged("view") && len(o.Returns) == 1 && o.Args[0].Type.Base == "Tensor" && !o.Args[0].Type.List {
		flags = "LT_VIEWS"
	}
	return fmt.Sprintf("{\"%s\", %s, %s, %d, %d, %d, %d, %s, {%s}}", nodeName(o.Name), symbols[0], symbols[1], len(nodeArgs(o)), positional, len(o.Returns), operand, flags, strings.Join(calls, ", ")), nil
}

func (e *nodeEntry) flags() string {
	var flags []string
	for _, f := range []struct {
		is   bool
		name string
	}{
		{e.isFunction(), "LT_AS_FUNCTION"}, {e.isMethod(), "LT_AS_METHOD"}, {e.has("inplace"), "LT_AS_INPLACE"}, {e.isAsync(), "LT_AS_ASYNC"},
		{e.owner() == "Storage", "LT_AS_STORAGE"}, {e.owner() == "Generator", "LT_AS_GENERATOR"},
	} {
		if f.is {
			flags = append(flags, f.name)
		}
	}
	return strings.Join(append(flags, "0")[:max(len(flags), 1)], " | ")
}

// nodeTables is the C source that describes every operator.
func nodeTables(entries []*nodeEntry) (string, error) {
	var b, table strings.Builder
	b.WriteString(cBanner + "#include <math.h>\n\n#include \"addon.h\"\n\n")
	for _, e := range entries {
		symbol := "overloads_" + e.overloads[0].CName()
		var described []string
		for _, o := range e.overloads {
			text, err := nodeOperator(&b, o)
			if err != nil {
				return "", err
			}
			described = append(described, "    "+text+",\n")
		}
		fmt.Fprintf(&b, "static const lt_operator %s[] = {\n%s};\n\n", symbol, strings.Join(described, ""))
		fmt.Fprintf(&table, "    {\"%s\", %s, %d, %s},\n", e.path, symbol, len(e.overloads), e.flags())
	}
	b.WriteString("const lt_entry lt_entries[] = {\n" + table.String() + "};\nconst size_t lt_entry_count = sizeof lt_entries / sizeof *lt_entries;\n")
	return b.String(), nil
}

// nodeInternals are the names of the addon's functions that the package does not export.
func nodeInternals(entries []*nodeEntry) string {
	text := cBanner + "'use strict';\n\n// What lib/grad.js and lib/names.js have in a form of their own.\nmodule.exports = {\n  internal: [\n"
	for _, e := range entries {
		if e.internal() {
			text += fmt.Sprintf("    '%s',\n", e.path)
			if e.isAsync() {
				text += fmt.Sprintf("    '%sAsync',\n", e.path)
			}
		}
	}
	return text + "  ],\n};\n"
}

// generateNode writes the addon's tables, the ES module's exports and the type declarations.
func generateNode(out *output, ops []*schema.Operator) error {
	entries := nodeEntries(ops)
	tables, err := nodeTables(entries)
	if err != nil {
		return err
	}
	out.write("bindings/node/src/gen_operators.c", tables)
	out.write("bindings/node/lib/gen_internal.js", nodeInternals(entries))
	out.write("bindings/node/gen_index.mjs", nodeModule(entries))
	declarations, err := nodeDeclarations(entries)
	out.write("bindings/node/gen_index.d.ts", declarations)
	return err
}
