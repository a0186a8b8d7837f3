package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/schema"
)

// commentWidth is the longest line of a generated comment, in characters.
const commentWidth = 100

// wrapText breaks the paragraphs of a text into lines of at most width characters. Blank lines separate paragraphs; a line that begins
// with "- " starts an item of a list, and an indented line continues it.
func wrapText(text string, width int) []string {
	var lines []string
	line, indent := "", ""
	flush := func() {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
		line, indent = "", ""
	}
	for source := range strings.Lines(strings.TrimSpace(text)) {
		source = strings.TrimRight(source, "\n")
		switch {
		case strings.TrimSpace(source) == "":
			flush()
			lines = append(lines, "")
			continue
		case strings.HasPrefix(source, "- "):
			flush()
			indent = "  "
		}
		for word := range strings.FieldsSeq(source) {
			switch {
			case line == "":
				line = word
			case len(line)+1+len(word) > width:
				lines = append(lines, line)
				line = indent + word
			default:
				line += " " + word
			}
		}
	}
	flush()
	return lines
}

// formatComment returns a text as lines that begin with a prefix such as "// ".
func formatComment(prefix, text string) string {
	var b strings.Builder
	for _, line := range wrapText(text, commentWidth-len(prefix)) {
		b.WriteString(strings.TrimRight(prefix+line, " ") + "\n")
	}
	return b.String()
}

// spelling is how a language writes the names that the documentation of an operator mentions.
type spelling struct {
	operators map[string]string        // by the schema's name
	argument  func(name string) string // of an argument or a result
	word      func(name string) string // of any other name, such as grad_fn
}

var (
	codeSpan   = regexp.MustCompile("`[^`]+`")
	identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
)

// writeDoc returns the documentation of an operator in a language's spelling: a code span that is the name of an operator, and the names
// of arguments in code spans.
func (s spelling) writeDoc(o *schema.Operator, inplace bool) string {
	arguments := map[string]bool{}
	for _, a := range append(append([]schema.Arg{}, o.Args...), o.Returns...) {
		arguments[a.Name] = true
	}
	for name := range o.Python.Names {
		arguments[name] = true
	}
	space := ""
	if at := strings.LastIndex(o.Name, "."); at >= 0 {
		space = o.Name[:at+1]
	}
	doc := o.Doc
	if inplace {
		doc = o.DocInPlace()
	}
	return codeSpan.ReplaceAllStringFunc(doc, func(span string) string {
		name := strings.Trim(span, "`")
		if name == o.AliasOf || strings.HasPrefix(o.AliasOf, name+".") { // not the operator of that name in its namespace
			if spelled, ok := s.operators[name]; ok {
				return "`" + spelled + "`"
			}
		}
		if !arguments[name] {
			for _, full := range []string{space + name, name, "nn." + name} {
				if spelled, ok := s.operators[full]; ok {
					return "`" + spelled + "`"
				}
			}
		}
		return identifier.ReplaceAllStringFunc(span, func(name string) string {
			if arguments[name] {
				return s.argument(name)
			}
			return s.word(name)
		})
	})
}

// keepName returns a name unchanged.
func keepName(name string) string { return name }

// cSpelling names operators by their first C function.
func cSpelling(ops []*schema.Operator) spelling {
	s := spelling{operators: map[string]string{}, argument: cArgName, word: keepName}
	for _, o := range ops {
		if list := listFunctions(o); len(list) > 0 && s.operators[o.Name] == "" {
			s.operators[o.Name] = list[0].cName()
		}
	}
	return s
}

// pythonPaths returns the names of operators in Python by the schema's: torch.add, torch.linalg.det, Tensor.view.
func pythonPaths(ops []*schema.Operator) map[string]string {
	paths := map[string]string{}
	for _, o := range ops {
		switch module, leaf := pyModule(o.Name); {
		case o.Python.Internal || paths[o.Name] != "" && !o.Has("function"):
		case !o.Has("function"):
			paths[o.Name] = "Tensor." + o.Name
		case module == functional:
			paths[o.Name] = "torch.nn.functional." + leaf
		default:
			paths[o.Name] = "torch." + o.Name
		}
	}
	return paths
}

// pythonSpelling shows the first argument of functions and methods as input, as their signatures do, and other operators with their module
// unless it is that of the operator.
func pythonSpelling(o *schema.Operator, paths map[string]string) spelling {
	operators := map[string]string{}
	module := func(name string) string { return paths[name][:strings.LastIndex(paths[name], ".")+1] }
	home := module(o.Name)
	for name, path := range paths {
		if there := module(name); there == home || there == "torch." && home == "Tensor." {
			path = strings.TrimPrefix(path, there)
		}
		operators[name] = path
	}
	return spelling{operators: operators, argument: func(name string) string {
		if renamed, ok := o.Python.Names[name]; ok {
			name = renamed
		}
		return pyName(name)
	}, word: keepName}
}

// nodeSpelling writes names in camel case.
func nodeSpelling(ops []*schema.Operator) spelling {
	s := spelling{operators: map[string]string{}, argument: nodeArgName, word: func(name string) string {
		if strings.ToLower(name) != name || !strings.Contains(strings.Trim(name, "_"), "_") {
			return name
		}
		return schema.Camel(name, false)
	}}
	for _, o := range ops {
		s.operators[o.Name] = nodeName(o.Name)
	}
	return s
}

// inPlaceParagraph returns a paragraph about the in-place form of an operator: which dtypes it excludes, because the result has the dtype
// of the first argument.
func inPlaceParagraph(o *schema.Operator, inplace bool, argument func(string) string) string {
	if !inplace {
		return ""
	}
	name := argument(o.Args[0].Name)
	if o.Tagged("view") {
		return "\nModifies the shape and strides of `" + name + "` in place, and returns it.\n"
	}
	var facts []string
	switch rule := o.Promotion; {
	case canRound(o):
		facts = append(facts, "Without `"+argument("rounding_mode")+"`, an integer `"+name+
			"` is an error, because the result is floating-point. A bool `"+name+"` is an error.")
	case strings.HasSuffix(rule, "_float") && o.Accepts(dtype.Int64):
		facts = append(facts, "An integer or bool `"+name+"` is an error, because the result is floating-point.")
	case rule == "promote_int" && o.Accepts(dtype.Bool):
		facts = append(facts, "A bool `"+name+"` is an error, because the result is an integer.")
	case rule == "real" && o.Accepts(dtype.Complex64):
		facts = append(facts, "A complex `"+name+"` is an error, because the result is real.")
	case rule == "bool":
		facts = append(facts, "The result is converted to that dtype, with 1 for true.")
	}
	if n := len(promotedOperands(o)); n > 1 && o.Tagged("elementwise") {
		promotes := o.Promotion == "promote" || o.Promotion == "promote_float"
		if promotes && !strings.Contains(strings.Join(strings.Fields(o.Doc), " "), "dtypes must be equal") {
			facts = append(facts, "The promoted dtype must not be of a higher category (bool < integer < floating-point < complex) than the dtype of `"+name+"`.")
		}
		if others := listBroadcastOperands(o, argument); others != "" {
			facts = append(facts, others+" must be broadcastable to the shape of `"+name+"`.")
		}
	}
	text := "\nModifies `" + name + "` in place, and returns it."
	if len(facts) > 0 {
		text += " Its dtype and shape do not change. " + strings.Join(facts, " ")
	}
	return text + "\n"
}

// canRound returns whether an operator rounds quotients to integers on request.
func canRound(o *schema.Operator) bool {
	return slices.ContainsFunc(o.Args, func(a schema.Arg) bool { return a.Name == "rounding_mode" })
}

// listBroadcastOperands lists the operands of an in-place form, other than the first, that may be tensors.
func listBroadcastOperands(o *schema.Operator, argument func(string) string) string {
	var names []string
	for _, a := range promotedOperands(o)[1:] {
		if a.Type.Base != "Scalar" {
			names = append(names, "`"+argument(a.Name)+"`")
		}
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}

// promotedOperands returns the arguments whose dtypes determine that of the result: tensors that are no indices, masks or coordinates, and
// bounds.
func promotedOperands(o *schema.Operator) []schema.Arg {
	var list []schema.Arg
	integral := o.DTypes == "integral" || o.DTypes == "bits"
	for _, a := range o.Args {
		if a.Indices && !integral || slices.Contains([]string{"mask", "condition", "spacing"}, a.Name) {
			continue
		}
		bound := a.Type.Base == "Scalar" && (a.Name == "min" || a.Name == "max")
		if bound || a.Type.Base == "Tensor" || a.Type.Base == "Operand" {
			list = append(list, a)
		}
	}
	return list
}

// dtypeSentences returns sentences about the dtypes that an operator accepts, and those of its results unless it is in place.
func dtypeSentences(o *schema.Operator, inplace bool, argument func(string) string) string {
	if o.DTypes == "none" {
		return ""
	}
	set := o.DTypes
	switch {
	case inplace && canRound(o):
		set = "numbers"
	case inplace:
		set = o.DTypesInPlace()
	}
	accepted, remark, _ := strings.Cut(schema.DTypeSets[set].Text, ";")
	if o.Tagged("wide_complex") && schema.DTypeSets[set].Has(dtype.Complex32) {
		accepted += " except complex32"
	}
	if remark != "" && !inplace {
		accepted += ";" + remark
	}
	text := "Dtypes: " + accepted + "."
	if !inplace && o.Promotion != "" {
		text += " " + resultDTypes(o, argument)
	}
	if o.Tagged("syncs") {
		text += " Meta tensors are an error, because the result depends on values."
	}
	return text
}

// resultDTypes returns a sentence about the dtypes of the results.
func resultDTypes(o *schema.Operator, argument func(string) string) string {
	list, rules := promotedOperands(o), o.Results()
	first := ""
	if len(list) > 0 {
		first = "the dtype of `" + argument(list[0].Name) + "`"
	}
	describe := func(rule schema.Promotion) string {
		text := strings.Replace(rule.Text, "the dtype of the first operand", first, 1)
		if len(list) == 1 && !list[0].Type.List {
			text = strings.Replace(text, "the promoted dtype", first, 1)
		}
		return acceptedOnly(o, text)
	}
	unless := ""
	if slices.ContainsFunc(o.Args, func(a schema.Arg) bool { return a.Name == "dtype" && a.Type.Base == "dtype" }) {
		unless = ", unless `" + argument("dtype") + "` is given"
	}
	if len(rules) == 1 {
		word := "Result: "
		if len(o.Returns) > 1 {
			word = "Results: "
		}
		return word + describe(rules[0]) + unless + "."
	}
	var parts []string
	for i, rule := range rules {
		parts = append(parts, "`"+argument(o.Returns[i].Name)+"`: "+strings.Replace(describe(rule), "; ", ", ", 1))
	}
	return "Results: " + strings.Join(parts, "; ") + unless + "."
}

// acceptedOnly removes the dtypes that an operator does not accept from a sentence about its results.
func acceptedOnly(o *schema.Operator, text string) string {
	if !o.Accepts(dtype.Bool) {
		text = strings.Replace(text, "integers and bool", "integers", 1)
		text = strings.Replace(text, "; int64 for bool", "", 1)
	}
	if !o.Accepts(dtype.Int64) && !o.Accepts(dtype.Bool) {
		text = ofIntegers.ReplaceAllString(text, "")
	}
	if !o.Accepts(dtype.Complex64) {
		text = strings.NewReplacer("; the corresponding real dtype for complex, the default", "; the default",
			"; the corresponding real dtype for complex", "").Replace(text)
	}
	return text
}

// ofIntegers matches the dtype of the result for integers, after those for other dtypes.
var ofIntegers = regexp.MustCompile(`[;,] (?:that of )?(?:the default dtype|int64) for integers.*`)

// listDefaults lists the default of each argument that has one, in a language's notation.
func listDefaults(args []schema.Arg, value func(schema.Arg) string) string {
	var list []string
	for _, a := range args {
		if !a.Type.Optional && a.Default == "" {
			continue
		}
		if v := value(a); v != "" {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "Default: " + strings.Join(list, ", ") + "."
}

// cDefault returns the default of an argument in C, such as "`dim` NULL with `dim_len` 0".
func cDefault(a schema.Arg) string {
	name := cArgName(a.Name)
	if a.Type.Optional && a.Default == "" || a.Default == "None" {
		none := map[string]string{"Scalar": "tensor_none()", "Operand": "tensor_none()", "int": "TENSOR_NONE", "bool": "-1",
			"dtype": "TENSOR_DTYPE_NONE", "device": "tensor_device_default()",
			"layout": "TENSOR_LAYOUT_NONE", "memory_format": "TENSOR_FORMAT_NONE"}[a.Type.Base]
		switch {
		case a.Type.List && a.Type.Base == "Tensor":
			return fmt.Sprintf("`%s[i]` NULL", name)
		case a.Type.List:
			return fmt.Sprintf("`%s` NULL with `%s_len` 0", name, name)
		case none == "":
			none = "NULL"
		}
		return fmt.Sprintf("`%s` %s", name, none)
	}
	value := strings.ReplaceAll(a.Default, "'", `"`)
	switch {
	case a.Type.List && value == "[]":
		return fmt.Sprintf("`%s` NULL with `%s_len` 0", name, name)
	case a.Type.List:
		value = "{" + strings.Trim(value, "[]") + "}"
	case value == "True" || value == "False":
		value = strings.ToLower(value)
	case a.Type.Base == "memory_format":
		value = "TENSOR_" + strings.ToUpper(strings.TrimSuffix(value, "_format"))
	}
	return fmt.Sprintf("`%s` %s", name, value)
}

// nodeDefault returns the default of an argument in JavaScript; null is omitted.
func nodeDefault(a schema.Arg) string {
	if a.Default == "" || a.Default == "None" {
		return ""
	}
	value := a.Default
	if value == "True" || value == "False" {
		value = strings.ToLower(value)
	}
	if a.Type.Base == "memory_format" {
		value = "'" + value + "'"
	}
	return fmt.Sprintf("`%s` %s", nodeArgName(a.Name), value)
}

// freeingSentence returns a sentence about the results that a C caller frees, other than tensors with tensor_free.
func (f cForm) freeingSentence() string {
	if !f.returnsResults() {
		return ""
	}
	var list []string
	for _, r := range f.op.Returns {
		function := map[string]string{"Storage": "tensor_storage_free", "Generator": "tensor_generator_free", "Node": "tensor_node_free",
			"str": "tensor_string_free"}[r.Type.Base]
		switch {
		case r.Type.List && r.Type.Base == "Tensor":
			function = "tensor_list_free"
		case r.Type.List && r.Type.Base == "str":
			function = "tensor_string_list_free"
		}
		if function != "" {
			list = append(list, fmt.Sprintf("`%s` with %s", cArgName(r.Name), function))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "Free " + strings.Join(list, ", ") + "."
}

// variantLine returns the comment of a C function other than the first of an operator: its difference from another one.
func (f cForm) variantLine() string {
	of := f
	switch {
	case f.scalar:
		of.scalar = false
		operands := f.op.Operands()
		return fmt.Sprintf("`%s` with a scalar `%s`.", of.cName(), cArgName(f.op.Args[operands[len(operands)-1]].Name))
	case f.mode == "inplace":
		of.mode = listForms(f.op)[0].mode
		return fmt.Sprintf("`%s` in place, in `%s`.", of.cName(), cArgName(f.op.Args[0].Name))
	}
	of.mode = listForms(f.op)[0].mode
	var results []string
	for _, r := range f.op.Returns {
		results = append(results, "`"+cArgName(r.Name)+"`")
	}
	return fmt.Sprintf("`%s` writing to %s.", of.cName(), strings.Join(results, " and "))
}
