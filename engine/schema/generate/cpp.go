package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// cppParam is a parameter in C++: one argument of the entry, or dtype, layout and device as one.
type cppParam struct {
	name, kind string // the type without const and &
	def        string // "" if it is required
	c          string // the expression for C
	callers    string // letters of the argument types, which distinguish overloads (cppKinds)
}

// cppKind describes a parameter type: its declaration, and letters for the arguments that callers may write: number, truth value, tensor,
// braces, text, dtype or device, index, generator, other. A text counts as braces, so that an overload with a text in place of a list gets
// C's name.
type cppKind struct{ kind, callers string }

var cppKinds = map[string]cppKind{
	"Tensor": {"Tensor", "t"}, "Tensor[]": {"Tensors", "{"}, "Operand": {"Operand", "ntv"}, "Scalar": {"Scalar", "nv"},
	"Scalar[]": {"Scalars", "{"},
	"int":      {"Int", "n"}, "int[]": {"Ints", "n{"}, "float": {"Real", "n"}, "float[]": {"Doubles", "n{"}, "bool": {"Bool", "v"},
	"str": {"Text", "s{"}, "str[]": {"Strings", "{"}, "dtype": {"Constant<Dtype>", "d"}, "layout": {"Constant<Layout>", "d"},
	"device":        {"Device", "d"},
	"memory_format": {"Constant<MemoryFormat>", "d"}, "Index": {"Indices", "{"}, "Generator": {"Generator", "g"}, "Storage": {"Storage", "o"},
	"Node":    {"Node", "o"},
	"pointer": {"void *", "o"},
}

// cppByValue are the types that are passed by value.
var cppByValue = []string{"Int", "Real", "Bool", "Constant<Dtype>", "Constant<Layout>", "Constant<MemoryFormat>", "void *", "const void *"}

// cppResults maps a result's type to its type in C++.
var cppResults = map[string]string{"int": "int64_t", "float": "double", "str": "std::string", "dtype": "Dtype", "device": "Device",
	"pointer": "void *"}

func (p cppParam) declaration(withDefault bool) string {
	text := "const " + p.kind + " &" + p.name
	if slices.Contains(cppByValue, p.kind) || strings.HasPrefix(p.kind, "tensor_") {
		text = p.kind + " " + p.name
	}
	if withDefault && p.def != "" {
		text += " = " + p.def
	}
	return text
}

func cppParameter(o *schema.Operator, a schema.Arg) cppParam {
	t := a.Type
	optional := t.Optional || a.Default == "None" && !t.List
	t.Optional = false
	known := cppKinds[t.String()]
	p := cppParam{name: cArgName(a.Name), kind: known.kind, callers: known.callers}
	what := strconv.Quote(o.Name + ": " + a.Name)
	switch {
	case t.Function != "":
		p.kind, p.c = t.Function, p.name
	case t.Const:
		p.kind, p.c = "const void *", p.name
	case t.Base == "str" && t.List:
		p.c = fmt.Sprintf("%s.data(%s), %s.size()", p.name, what, p.name)
	case t.List || t.Base == "Index":
		p.c = fmt.Sprintf("%s.data(), %s.size()", p.name, p.name)
	case optional && t.Base == "str":
		p.kind, p.c = "std::optional<"+p.kind+">", "detail::text("+what+", "+p.name+")"
	case optional:
		p.kind, p.c = "std::optional<"+strings.TrimSuffix(strings.TrimPrefix(p.kind, "Constant<"), ">")+">", "detail::get("+p.name+")"
	case t.Base == "str":
		p.c = "detail::text(" + what + ", " + p.name + ")"
	case slices.Contains([]string{"Tensor", "Operand", "Scalar", "Storage", "Generator", "Node"}, t.Base):
		p.c = p.name + ".get()"
	default:
		p.c = p.name
	}
	p.def = cppDefault(a)
	return p
}

func cppDefault(a schema.Arg) string {
	switch d := a.Default; {
	case d == "" || d[0] >= '0' && d[0] <= '9' || d[0] == '-':
		return d
	case d == "None":
		return "std::nullopt"
	case d == "True" || d == "False":
		return strings.ToLower(d)
	case d[0] == '[':
		return strings.NewReplacer("[", "{", "]", "}").Replace(d)
	case d[0] == '\'':
		return "\"" + strings.Trim(d, "'") + "\""
	default: // the word of an enumeration
		return "TENSOR_" + strings.ToUpper(strings.TrimSuffix(d, "_format"))
	}
}

// cppFunction is an operator in one of its forms, for all kinds of its last operand.
type cppFunction struct {
	op      *schema.Operator
	mode    string
	params  []cppParam
	given   []string // the parameters' names in C's order
	options bool     // the parameter of that name makes the result
	name    string
}

func newCppFunction(o *schema.Operator, mode string) *cppFunction {
	f := &cppFunction{op: o, mode: mode, name: cppName(o.Name)}
	for i := 0; i < len(o.Args); i++ {
		if i+2 < len(o.Args) && o.Args[i].Name == "dtype" && o.Args[i+1].Name == "layout" && o.Args[i+2].Name == "device" {
			f.params = append(f.params, cppParam{"options", "Options", "{}", "options.dtype, options.layout, options.device", "d"})
			f.options = true
			i += 2
			continue
		}
		f.params = append(f.params, cppParameter(o, o.Args[i]))
	}
	for _, p := range f.params {
		f.given = append(f.given, p.name)
	}
	// Dtypes are passed more often than generators.
	slices.SortStableFunc(f.params, func(a, b cppParam) int { return cmp.Compare(rankGenerator(a), rankGenerator(b)) })
	// Only trailing parameters can be left out.
	required := false
	for i := len(f.params) - 1; i >= 0; i-- {
		if required = required || f.params[i].def == ""; required {
			f.params[i].def = ""
		}
	}
	switch mode {
	case "inplace":
		f.name += "_"
		f.params[0].kind, f.params[0].c = "Tensor", f.params[0].name+".get()"
	case "out":
		f.name += "_out"
	}
	return f
}

// rankGenerator returns 1 for an optional generator, which callers rarely pass, and 0 for other parameters.
func rankGenerator(p cppParam) int {
	if p.kind == "std::optional<Generator>" {
		return 1
	}
	return 0
}

// cppName returns the last part of a name; the words of C++ get an underscore.
func cppName(name string) string {
	return cArgName(name[strings.LastIndex(name, ".")+1:])
}

func (f *cppFunction) namespaceOf() string {
	i := strings.LastIndex(f.op.Name, ".")
	if i < 0 {
		return ""
	}
	return strings.ReplaceAll(f.op.Name[:i], ".", "::")
}

func (f *cppFunction) countRequired() int {
	n := slices.IndexFunc(f.params, func(p cppParam) bool { return p.def != "" })
	if n < 0 {
		return len(f.params)
	}
	return n
}

// isAmbiguous reports whether a call with n arguments may mean either of two functions.
func isAmbiguous(f, g *cppFunction, n int) bool {
	for i := range n {
		if !strings.ContainsAny(f.params[i].callers, g.params[i].callers) {
			return false
		}
	}
	return true
}

// separateOverloads makes overloads of one name callable: an overload that no argument distinguishes from an earlier one gets its overload
// name, and a later one that shares a prefix with an earlier one can be called only with further arguments.
func separateOverloads(overloads []*cppFunction) {
	for i, f := range overloads {
		earlier := func(yield func(*cppFunction) bool) {
			for _, g := range overloads[:i] {
				if g.name == f.name && !yield(g) {
					return
				}
			}
		}
		all := len(f.params)
		for g := range earlier {
			if all >= g.countRequired() && all <= len(g.params) && isAmbiguous(f, g, all) {
				f.name = strings.Replace(f.name, cppName(f.op.Name), cppName(f.op.Name)+"_"+f.op.Overload, 1)
				break
			}
		}
		for g := range earlier {
			for n := max(f.countRequired(), g.countRequired()); n <= min(all-1, len(g.params)); n++ {
				if isAmbiguous(f, g, n) {
					for k := range n + 1 {
						f.params[k].def = ""
					}
				}
			}
		}
	}
}

func (f *cppFunction) declaredParams(from int, withDefaults bool) string {
	var params []string
	if f.mode == "out" {
		for _, r := range f.op.Returns {
			params = append(params, "const Tensor &"+f.resultName(r))
		}
	}
	for _, p := range f.params[from:] {
		params = append(params, p.declaration(withDefaults))
	}
	return strings.Join(params, ", ")
}

// resultName returns the name of a result that no parameter has.
func (f *cppFunction) resultName(r schema.Arg) string {
	name := cArgName(r.Name)
	if slices.ContainsFunc(f.params, func(p cppParam) bool { return p.name == name }) {
		return name + "_out"
	}
	return name
}

func cppResultType(r schema.Arg) string {
	t := cppResults[r.Type.Base]
	if t == "" {
		t = r.Type.Base
	}
	if r.Type.Optional {
		t = "std::optional<" + t + ">"
	}
	if r.Type.List {
		t = "std::vector<" + t + ">"
	}
	return t
}

// structName returns the name of the struct of several results.
func (f *cppFunction) structName() string {
	return schema.Camel(f.op.ID(), true) + "Result"
}

// changesFirst reports whether the function returns its first argument, which it modifies.
func (f *cppFunction) changesFirst() bool {
	return f.mode == "inplace" || f.mode == "function" && len(f.op.Returns) == 0 && len(f.op.Args) > 0 && f.op.Args[0].Mutated &&
		f.op.Args[0].Type.String() == "Tensor"
}

func (f *cppFunction) returnType() string {
	switch {
	case f.changesFirst():
		return "Tensor"
	case f.mode == "out" || len(f.op.Returns) == 0:
		return "void"
	case len(f.op.Returns) == 1:
		return cppResultType(f.op.Returns[0])
	}
	if space := f.namespaceOf(); space != "" {
		return space + "::" + f.structName()
	}
	return f.structName()
}

// callC returns the name and the arguments of the C function, without destinations of results: the form that takes a number if scalar is
// set, and the other one otherwise.
func (f *cppFunction) callC(scalar bool) (function string, args []string) {
	form := cForm{f.op, f.mode, scalar}
	operands := f.op.Operands()
	for _, name := range f.given {
		p := f.params[slices.IndexFunc(f.params, func(p cppParam) bool { return p.name == name })]
		text := p.c
		if scalar && p.name == cArgName(f.op.Args[operands[len(operands)-1]].Name) {
			text = p.name + ".number()"
		}
		args = append(args, text)
	}
	if f.mode == "out" {
		for _, r := range f.op.Returns {
			args = append(args, f.resultName(r)+".get()")
		}
	}
	return "::" + form.cName(), args
}

// resultOf returns the expression of the result of a form's call, or of its status if the function returns nothing or an argument.
func (f *cppFunction) resultOf(scalar bool) string {
	function, args := f.callC(scalar)
	if f.mode != "function" || len(f.op.Returns) == 0 {
		return fmt.Sprintf("%s(%s)", function, strings.Join(args, ", "))
	}
	maker := "make"
	if f.op.Returns[0].Type.List {
		maker = "make_list"
	}
	return fmt.Sprintf("detail::%s<%s>(%s)", maker, cppResultType(f.op.Returns[0]), strings.Join(slices.Insert(args, 0, function), ", "))
}

// gatherResults returns the body of a function with several results. A template of several Result would make the header slow to compile.
func (f *cppFunction) gatherResults() string {
	var b strings.Builder
	var taken []string
	function, args := f.callC(false)
	for _, r := range f.op.Returns {
		name := f.resultName(r)
		fmt.Fprintf(&b, "  detail::Result<%s> %s;\n", cppResultType(r), name)
		taken, args = append(taken, name+".take()"), append(args, name+".put()")
		if r.Type.List {
			args = append(args, name+".length()")
		}
	}
	return fmt.Sprintf("%s  detail::check(%s(%s));\n  return {%s};\n", b.String(), function, strings.Join(args, ", "),
		strings.Join(taken, ", "))
}

func (f *cppFunction) cppDefinition() string {
	head := fmt.Sprintf("inline %s %s(%s) {", f.returnType(), f.name, f.declaredParams(0, true))
	if f.mode == "function" && len(f.op.Returns) > 1 {
		return head + "\n" + f.gatherResults() + "}\n"
	}
	result := f.resultOf(false)
	if forms := listForms(f.op); slices.ContainsFunc(forms, func(g cForm) bool { return g.mode == f.mode && g.scalar }) {
		operands := f.op.Operands()
		result = fmt.Sprintf("%s.is_number() ? %s : %s", cArgName(f.op.Args[operands[len(operands)-1]].Name), f.resultOf(true), result)
	}
	switch {
	case f.changesFirst():
		result = fmt.Sprintf("return detail::checked(%s, %s)", f.params[0].name, result)
	case f.mode == "out" || len(f.op.Returns) == 0:
		result = fmt.Sprintf("detail::check(%s)", result)
	case f.options && len(f.op.Returns) == 1:
		result = fmt.Sprintf("return detail::tracked(%s, options)", result)
	default:
		result = "return " + result
	}
	return fmt.Sprintf("%s %s; }\n", head, result)
}

// isMethod reports whether the function is a method of Tensor, too.
func (f *cppFunction) isMethod() bool {
	first := len(f.op.Args) > 0 && (f.op.Args[0].Type.Base == "Tensor" || f.op.Args[0].Type.Base == "Operand") && !f.op.Args[0].Type.List
	return first && f.namespaceOf() == "" && (f.mode == "inplace" || f.mode == "function" && f.op.Has("method"))
}

func (f *cppFunction) methodText() (declared, defined string) {
	var args []string
	for _, p := range f.params[1:] {
		args = append(args, p.name)
	}
	declared = fmt.Sprintf("  %s %s(%s) const;\n", f.returnType(), f.name, f.declaredParams(1, true))
	defined = fmt.Sprintf("template <>\ninline %s Methods<Tensor>::%s(%s) const { return tensor::%s(%s); }\n", f.returnType(), f.name,
		f.declaredParams(1, false), f.name,
		strings.Join(append([]string{"self()"}, args...), ", "))
	return declared, defined
}

// cppOperators are the operators of C++ by Python's word for them; those that have one operand, and those that assign.
var cppOperators = []struct{ dunder, sign string }{{"add", "+"}, {"sub", "-"}, {"mul", "*"}, {"truediv", "/"}, {"mod", "%"}, {"and", "&"},
	{"or", "|"}, {"xor", "^"},
	{"lshift", "<<"}, {"rshift", ">>"}, {"eq", "=="}, {"ne", "!="}, {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}, {"neg", "-"},
	{"invert", "~"}}

func cppOperatorsOf(ops []*schema.Operator) string {
	var b strings.Builder
	for _, c := range cppOperators {
		o := ops[slices.IndexFunc(ops, func(o *schema.Operator) bool { return o.Python.Dunder == c.dunder })]
		name := cppName(o.Name)
		if len(o.Args) == 1 {
			fmt.Fprintf(&b, "inline Tensor operator%s(const Tensor &self) { return %s(self); }\n", c.sign, name)
			continue
		}
		// All three, since C++20 also tries == with exchanged operands, and would find the overloads ambiguous.
		for _, other := range []string{"Tensor", "Operand"} {
			fmt.Fprintf(&b, "inline Tensor operator%s(const Tensor &self, const %s &other) { return %s(self, other); }\n", c.sign, other, name)
		}
		first := "self"
		if o.Args[0].Type.Base != "Operand" {
			first = "self.tensor()"
		}
		fmt.Fprintf(&b, "inline Tensor operator%s(const Operand &self, const Tensor &other) { return %s(%s, other); }\n", c.sign, name, first)
		if strings.Contains("+-*/%&|^", c.sign) {
			fmt.Fprintf(&b, "inline Tensor &Tensor::operator%s=(const Operand &other) & { return %s_(other), *this; }\n", c.sign, name)
		}
	}
	return b.String()
}

// cppFunctions returns all functions, under names by which calls find them.
func cppFunctions(ops []*schema.Operator) (all []*cppFunction) {
	byName := map[string][]*cppFunction{}
	for _, o := range ops {
		for _, mode := range []string{"function", "inplace", "out"} {
			if slices.ContainsFunc(listFunctions(o), func(f cForm) bool { return f.mode == mode }) {
				f := newCppFunction(o, mode)
				all = append(all, f)
				byName[o.Name] = append(byName[o.Name], f)
			}
		}
	}
	for _, overloads := range byName {
		separateOverloads(overloads)
	}
	return all
}

// inNamespaces returns the declarations of functions, each in the namespace of its function, those without one first.
func inNamespaces(functions []*cppFunction, write func(f *cppFunction) string) string {
	texts := map[string]*strings.Builder{}
	for _, f := range functions {
		space := f.namespaceOf()
		if texts[space] == nil {
			texts[space] = &strings.Builder{}
		}
		texts[space].WriteString(write(f))
	}
	var b strings.Builder
	for _, space := range slices.Sorted(maps.Keys(texts)) {
		switch text := texts[space].String(); {
		case text == "":
		case space == "":
			b.WriteString(text)
		default:
			fmt.Fprintf(&b, "\nnamespace %s {\n%s}  // namespace %s\n", space, text, space)
		}
	}
	return b.String()
}

// generateCpp writes the operators of the C++ headers.
func generateCpp(out *output, ops []*schema.Operator) {
	var declared, methods strings.Builder
	functions := cppFunctions(ops)
	hasStruct := func(f *cppFunction) bool { return f.mode == "function" && len(f.op.Returns) > 1 }
	structs := inNamespaces(functions, func(f *cppFunction) string {
		if !hasStruct(f) {
			return ""
		}
		return fmt.Sprintf("struct %s;\n", f.structName())
	})
	results := inNamespaces(functions, func(f *cppFunction) string {
		if !hasStruct(f) {
			return ""
		}
		fields := ""
		for _, r := range f.op.Returns {
			fields += "  " + cppResultType(r) + " " + cArgName(r.Name) + ";\n"
		}
		return fmt.Sprintf("struct %s {\n%s};\n", f.structName(), fields)
	})
	defined := inNamespaces(functions, func(f *cppFunction) string {
		if f.mode != "function" && slices.ContainsFunc(listForms(f.op), func(g cForm) bool { return g.mode == "function" }) {
			return f.cppDefinition() // below the documented form
		}
		return "\n" + formatComment("// ", f.op.Doc) + f.cppDefinition()
	})
	for _, f := range functions {
		if f.isMethod() {
			head, body := f.methodText()
			declared.WriteString(head)
			methods.WriteString(body)
		}
	}
	out.write("include/tensor/gen_methods.hpp", hppFile("GEN_METHODS", "#include \"handle.hpp\"\n",
		"class Tensors;\nclass Operand;\nclass Indices;\n"+structs+
			"\n// The operators that Python has as methods: x.NAME(...) is tensor::NAME(x, ...).\n// A template, since it has default arguments of types that need Tensor.\ntemplate <class Tensor>\nclass Methods {\n public:\n"+
			declared.String()+"\n private:\n  const Tensor &self() const { return static_cast<const Tensor &>(*this); }\n};\n"))
	out.write("include/tensor/gen_operators.hpp", hppFile("GEN_OPERATORS", "#include \"class.hpp\"\n",
		results+defined+"\n// ----------------------------------------------------------------------------------------------------- methods\n\n"+
			methods.String()+
			"\n// --------------------------------------------------------------------------------------------------- operators\n\n"+
			cppOperatorsOf(ops)))
}

// hppFile returns a header of the C++ interface.
func hppFile(name, includes, body string) string {
	return fmt.Sprintf("%s#ifndef LIBTENSOR_%s_HPP\n#define LIBTENSOR_%s_HPP\n\n%s\nnamespace tensor {\n\n%s\n}  // namespace tensor\n\n#endif\n",
		cBanner, name, name, includes, body)
}
