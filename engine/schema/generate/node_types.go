package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/libtensor/libtensor/engine/schema"
	"github.com/libtensor/libtensor/engine/schema/dtypes"
)

// nodeExports are the values that bindings/node writes by hand, other than operators.
var nodeExports = []string{"Tensor", "Storage", "Generator", "tensor", "asTensor", "float", "slice", "scope", "noGrad", "enableGrad",
	"inferenceMode",
	"autograd", "isTensor", "liveHandles", "call", "operatorSchemas", "defineOperator", "dtypeSize", "version", "setAsyncThreads",
	"getAsyncThreads",
	"settled", "func", "testing", "program", "finfo", "iinfo", "inf", "nan", "pi", "e", "newaxis", "broadcastShapes", "isInference",
	"sparseCsrTensor",
	"sparseCscTensor", "sparseBsrTensor", "sparseBscTensor", "isComplex", "isFloatingPoint", "isSigned", "isStorage", "numel",
	"setPrintoptions", "getPrintoptions", "seed", "initialSeed", "getRngState", "setRngState",
	"saveDictList", "saveDictListAsync", "loadDictList", "loadDictListAsync", "safetensorsSaveFileList", "safetensorsSaveFileListAsync",
	"safetensorsLoadFileList",
	"safetensorsLoadFileListAsync", "safetensorsSaveList", "safetensorsSaveListAsync", "safetensorsLoadList", "safetensorsLoadListAsync",
	"npzSaveList", "npzSaveListAsync",
	"npzLoadList", "npzLoadListAsync", "npzSaveBytesList", "npzSaveBytesListAsync", "npzLoadBytesList", "npzLoadBytesListAsync"}

//go:embed index.d.ts.tmpl
var nodeTypesTemplate string

// tsReserved are the words that cannot name a parameter or a function in TypeScript.
var tsReserved = []string{"var", "in", "new", "this", "function", "default", "delete", "enum", "export", "import", "with", "case", "for",
	"if", "null", "void", "class"}

func tsName(name string) string {
	if slices.Contains(tsReserved, name) {
		return name + "_"
	}
	return name
}

// tsType returns the type of an argument.
func tsType(a schema.Arg) string {
	base := map[string]string{
		"Operand": "TensorLike | Scalar", "int": "Int", "float": "number", "bool": "boolean", "str": "string", "dtype": "DType",
		"device": "Device", "layout": "Layout",
		"memory_format": "MemoryFormat",
	}[a.Type.Base]
	if base == "" {
		base = a.Type.Base
	}
	if base == "string" && !a.Type.List && (a.Name == "path" || a.Name == "filename") {
		base = "Path"
	}
	if base == "Tensor" && !a.Mutated {
		base = "TensorLike"
	}
	if len(a.Words) > 0 {
		base = "'" + strings.Join(a.Words, "' | '") + "'"
	}
	nullable := a.Type.Optional || a.Default == "None"
	if a.Dim && !a.Type.List {
		base += " | string"
	}
	if a.Type.List && a.Type.Base != "Index" {
		switch {
		case a.Dim:
			base = "Ints | string | List<Int | string>"
		case base == "Int":
			base = "Ints"
		case a.Type.Optional && base == "TensorLike":
			base = "List<TensorLike | null>"
		default:
			base = "List<" + base + ">"
		}
	}
	if nullable {
		base += " | null"
	}
	return base
}

func tsResultType(r schema.Arg) string {
	t := map[string]string{"Scalar": "Item", "int": "Int", "float": "number", "bool": "boolean", "str": "string", "dtype": "DType",
		"device": "Device"}[r.Type.Base]
	if t == "" {
		t = r.Type.Base
	}
	if r.Type.Optional {
		t += " | null"
		if r.Type.List {
			t = "(" + t + ")"
		}
	}
	if r.Type.List {
		t += "[]"
	}
	return t
}

// tsResults returns the type of an operator's results.
func tsResults(o *schema.Operator, method bool) string {
	switch len(o.Returns) {
	case 0:
		if len(o.Args) == 0 || !o.Args[0].Mutated || o.Args[0].Type.List {
			return "void"
		}
		if method {
			return "this"
		}
		return o.Args[0].Type.Base
	case 1:
		return tsResultType(o.Returns[0])
	}
	return tsResultObject(o)
}

func tsResultObject(o *schema.Operator) string {
	var fields []string
	for _, r := range o.Returns {
		fields = append(fields, nodeArgName(r.Name)+": "+tsResultType(r))
	}
	return "{ " + strings.Join(fields, "; ") + " }"
}

// tsPlaces counts the positional arguments, and the required ones.
func tsPlaces(args []schema.Arg) (positional, required int) {
	for i, a := range args {
		if !a.KwOnly {
			positional++
			if a.Default == "" {
				required = i + 1
			}
		}
	}
	return positional, required
}

// tsParameters returns the parameter lists of an operator: arguments are positional or, from any position on, properties of the object in
// last position.
func tsParameters(o *schema.Operator, method, out, async bool) []string {
	args, variadic := o.Args, spreadPosition(o)
	if method {
		args = args[1:]
		variadic--
	}
	positional, required := tsPlaces(args)
	prefixes := []int{}
	if least := min(1, required); least < required {
		prefixes = append(prefixes, least)
	}
	for n := required; n <= positional; n++ {
		prefixes = append(prefixes, n)
	}
	var lists []string
	if variadic >= 0 {
		a := args[variadic]
		name := tsName(nodeArgName(a.Name))
		first := ""
		for _, before := range args[:variadic] {
			first += tsName(nodeArgName(before.Name)) + ": " + tsType(before) + ", "
		}
		item := "Int"
		if a.Dim {
			item = "(Int | string)"
		}
		lists = append(lists, first+"..."+name+": "+item+"[]")
		if fields := tsFields(o, args[variadic+1:], out, async); len(fields) > 0 {
			lists = append(lists, first+"..."+name+"AndOptions: [..."+item+"[], { "+strings.Join(fields, "; ")+" }]")
		}
	}
	for _, n := range prefixes {
		var params []string
		optional, untyped := "?", ""
		if o.Category == "file" && n == 1 && args[0].Name == "data" { // the contents of a file
			untyped = " | Untyped"
		}
		for _, a := range args[:n] {
			params = append(params, tsName(nodeArgName(a.Name))+": "+tsType(a)+untyped)
		}
		if slices.ContainsFunc(args[n:], func(a schema.Arg) bool { return a.Default == "" }) {
			optional = ""
		}
		if fields := tsFields(o, args[n:], out, async); len(fields) > 0 {
			params = append(params, "options"+optional+": { "+strings.Join(fields, "; ")+" }")
		}
		lists = append(lists, strings.Join(params, ", "))
	}
	return lists
}

// tsFields returns the members of the object of arguments by name.
func tsFields(o *schema.Operator, args []schema.Arg, out, async bool) []string {
	var fields []string
	for _, a := range args {
		mark := "?"
		if a.Default == "" {
			mark = ""
		}
		fields = append(fields, nodeArgName(a.Name)+mark+": "+tsType(a))
	}
	if out {
		t := "Tensor"
		if len(o.Returns) > 1 {
			t = "readonly Tensor[] | " + tsResultObject(o)
		}
		fields = append(fields, "out?: "+t+" | null")
	}
	if (&pyOverload{op: o}).isFactory() {
		fields = append(fields, "requiresGrad?: boolean | null", "names?: Names | null")
	}
	if async {
		fields = append(fields, "signal?: Signal | null")
	}
	return fields
}

func tsDoc(indent, text string) string {
	var b strings.Builder
	b.WriteString(indent + "/**\n")
	b.WriteString(formatComment(indent+" * ", strings.ReplaceAll(text, "*/", "* /")))
	b.WriteString(indent + " */\n")
	return b.String()
}

// tsSignatures returns the declarations of one form of an entry.
func (e *nodeEntry) tsSignatures(indent, name, variant string) string {
	var b strings.Builder
	owner := e.ownerClass()
	for _, o := range e.overloads {
		as, async := strings.CutSuffix(variant, "async")
		as = strings.TrimSpace(as)
		if as == "" {
			as = "function"
		}
		method := as != "function" && !strings.HasPrefix(name, "export ")
		if !o.Has(as) && !(owner != "" && method) || async && !takesTime(o) {
			continue
		}
		result := tsResults(o, method)
		if as == "inplace" && method {
			result = "this"
		}
		if async {
			result = "Promise<" + result + ">"
			b.WriteString(indent + "/** Asynchronous `" + strings.TrimSuffix(name[strings.LastIndex(name, " ")+1:], "Async") +
				"`, executed off the event loop. */\n")
		} else {
			b.WriteString(tsDoc(indent, e.spelling.writeDoc(o, as == "inplace")+inPlaceParagraph(o, as == "inplace", nodeArgName)+"\n"+
				dtypeSentences(o, as == "inplace", nodeArgName)+" "+listDefaults(o.Args, nodeDefault)))
		}
		for _, params := range tsParameters(o, method, o.Has("out") && as != "inplace", async) {
			fmt.Fprintf(&b, "%s%s(%s): %s;\n", indent, name, params, result)
		}
	}
	return b.String()
}

// tsNamespace collects declarations by their namespace.
type tsNamespace struct {
	body  strings.Builder
	order []string
	inner map[string]*tsNamespace
}

func (n *tsNamespace) findNamespace(path []string) *tsNamespace {
	if len(path) == 0 {
		return n
	}
	if n.inner == nil {
		n.inner = map[string]*tsNamespace{}
	}
	next := n.inner[path[0]]
	if next == nil {
		next = new(tsNamespace)
		n.inner[path[0]] = next
		n.order = append(n.order, path[0])
	}
	return next.findNamespace(path[1:])
}

func (n *tsNamespace) formatNamespace(indent string) string {
	b := n.body.String()
	for _, name := range n.order {
		b += indent + "export namespace " + name + " {\n" + n.inner[name].formatNamespace(indent+"  ") + indent + "}\n"
	}
	return b
}

// nodeDeclarations returns the text of gen_index.d.ts.
func nodeDeclarations(entries []*nodeEntry, rows []dtypes.DType) (string, error) {
	var functions tsNamespace
	methods := map[string]*strings.Builder{"": {}, "Storage": {}, "Generator": {}}
	var renamed []string
	for _, e := range entries {
		if e.isInternal() {
			continue
		}
		if e.isFunction() && !e.isWrapped("function") {
			path := strings.Split(e.path, ".")
			name := tsName(e.lastName())
			if name != e.lastName() {
				renamed = append(renamed, name+" as "+e.lastName())
			}
			declare := func(path []string) {
				space, indent := functions.findNamespace(path), strings.Repeat("  ", len(path))
				space.body.WriteString(e.tsSignatures(indent, "export function "+name, "function"))
				if e.isAsync() {
					space.body.WriteString(e.tsSignatures(indent, "export function "+e.lastName()+"Async", "async"))
				}
			}
			declare(path[:len(path)-1])
			if e.functional {
				declare([]string{"nn"})
			}
		}
		if e.isMethod() && !e.isWrapped("method") {
			methods[e.ownerClass()].WriteString(e.tsSignatures("  ", e.lastName(), "method"))
		}
		if e.hasVariant("inplace") {
			// The in-place form is in the namespace of the function: a method of its name could be another operator's.
			body, indent, name := methods[""], "  ", e.lastName()+"_"
			if path := strings.Split(e.path, "."); len(path) > 1 {
				body, indent, name = &functions.findNamespace(path[:len(path)-1]).body, strings.Repeat("  ", len(path)-1), "export function "+name
			}
			body.WriteString(e.tsSignatures(indent, name, "inplace"))
			if e.isAsync() {
				body.WriteString(e.tsSignatures(indent, name+"Async", "inplace async"))
			}
		}
	}
	text := functions.formatNamespace("")
	if len(renamed) > 0 {
		// A function whose name is a word of the language is declared under another and exported under its own.
		for _, r := range renamed {
			name, _, _ := strings.Cut(r, " ")
			text = strings.ReplaceAll(text, "export function "+name+"(", "declare function "+name+"(")
		}
		text += "export { " + strings.Join(renamed, ", ") + " };\n"
	}
	t, err := template.New("index.d.ts").Parse(nodeTypesTemplate)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, map[string]any{"Banner": cBanner, "Names": nodeConstantTypes(rows), "Functions": text, "Methods": methods[""].String(),
		"StorageMethods":   methods["Storage"].String(),
		"GeneratorMethods": methods["Generator"].String()})
	return b.String(), err
}

// nodeModule returns the ES module that re-exports the CommonJS module.
func nodeModule(entries []*nodeEntry) string {
	names := slices.Clone(nodeExports)
	for _, name := range nodeConstants() {
		names = append(names, schema.Camel(name, false))
	}
	for _, e := range entries {
		if !e.isFunction() || e.isInternal() {
			continue
		}
		first, _, nested := strings.Cut(e.path, ".")
		names = append(names, first)
		if e.isAsync() && !nested {
			names = append(names, first+"Async")
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var b strings.Builder
	b.WriteString(cBanner + "import libtensor from './index.js';\n\nexport default libtensor;\n")
	names = slices.DeleteFunc(names, func(name string) bool {
		reserved := slices.Contains(tsReserved, name)
		if reserved { // no variable can be called that
			fmt.Fprintf(&b, "const { %s: lt_%s } = libtensor;\nexport { lt_%s as %s };\n", name, name, name, name)
		}
		return reserved
	})
	fmt.Fprintf(&b, "export const {\n  %s,\n} = libtensor;\n", strings.Join(names, ",\n  "))
	return b.String()
}
