package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
)

// checkFields returns an error for an invalid schema.
func (o *Operator) checkFields(kernels map[string]string) error {
	for _, check := range []func() error{o.checkWords, o.checkIntegers, o.checkNames, o.checkAliasMarks, o.checkVariants, o.checkTags,
		o.checkBindings, o.checkDerivatives, o.checkNameRule, o.checkQuantizedRule, o.checkExamples} {
		if err := check(); err != nil {
			return err
		}
	}
	for _, a := range o.Args {
		if !a.defaultFits() {
			return fmt.Errorf("default %q of argument %s is not a %s", a.Default, a.Name, a.Type)
		}
	}
	return o.checkKernel(kernels)
}

// unclearTerms matches terms that the documentation of operators must express otherwise: "is treated as", "returns", "defaults to".
var unclearTerms = regexp.MustCompile(`\b(?:taken\s+as|counts?\s+as|as\s+many\s+\w+\s+as|as\s+many\s+as|stands?\s+for|what\s+is|gives?|tells?|beside)\b`)

// checkWords holds every field to its set of words.
func (o *Operator) checkWords() error {
	if o.Doc == "" || o.Since == "" && !o.Private {
		return fmt.Errorf("since and doc are required")
	}
	if term := unclearTerms.FindString(o.Doc); term != "" {
		return fmt.Errorf("doc: %q is not a term of the field", term)
	}
	if !slices.Contains(Categories, o.Category) {
		return fmt.Errorf("category %q is not one of %v", o.Category, Categories)
	}
	if o.Runtime && (o.Kernel != "" || o.Derivatives.Composed != "" || len(o.Derivatives.Of) > 0 ||
		!slices.Equal(o.Variants, []string{"function"})) {
		return fmt.Errorf("a function of the runtime has no kernel, no derivatives and no variant but function")
	}
	if _, ok := DTypeSets[o.DTypes]; !ok {
		return fmt.Errorf("dtypes %q is not a known set", o.DTypes)
	}
	if rules := o.Results(); o.Promotion != "" && len(rules) != 1+strings.Count(o.Promotion, ", ") {
		return fmt.Errorf("promotion %q is not a known rule, or a list of them", o.Promotion)
	} else if len(rules) > 1 && len(rules) != len(o.Returns) {
		return fmt.Errorf("promotion %q has a rule for each result, and there are %d results", o.Promotion, len(o.Returns))
	}
	for i, tag := range o.Tags {
		if _, ok := Tags[tag]; !ok {
			return fmt.Errorf("tag %q is not a known one", tag)
		}
		if slices.Contains(o.Tags[:i], tag) {
			return fmt.Errorf("tag %q is there twice", tag)
		}
	}
	return nil
}

// checkNames checks the names of arguments and results, and the fields that refer to arguments by name.
func (o *Operator) checkNames() error {
	optional := ""
	names := map[string]bool{}
	for _, a := range o.Args {
		switch {
		case names[a.Name]:
			return fmt.Errorf("two arguments are called %s", a.Name)
		case !a.KwOnly && a.Default == "" && optional != "":
			return fmt.Errorf("argument %s needs a default, since %s before it has one", a.Name, optional)
		case !a.KwOnly && a.Default != "":
			optional = a.Name
		}
		names[a.Name] = true
	}
	results := map[string]bool{}
	for _, r := range o.Returns {
		if results[r.Name] || names[r.Name] {
			return fmt.Errorf("an argument or result beside the result %s has its name", r.Name)
		}
		if r.Default != "" {
			return fmt.Errorf("result %s has a default", r.Name)
		}
		results[r.Name] = true
	}
	for name, words := range o.Words {
		i := slices.IndexFunc(o.Args, func(a Arg) bool { return a.Name == name && a.Type.Base == "str" })
		if i < 0 {
			return fmt.Errorf("words: no str argument is called %s", name)
		}
		if d := strings.Trim(o.Args[i].Default, "'"); d != "" && d != "None" && !slices.Contains(words, d) {
			return fmt.Errorf("words: the default %s of %s is not among them", d, name)
		}
	}
	for name := range o.Python.Names {
		if !names[name] {
			return fmt.Errorf("python: no argument is called %s", name)
		}
	}
	return nil
}

// checkAliasMarks holds the marks of results to those of arguments, and the tags view and maybe_view to the marks.
func (o *Operator) checkAliasMarks() error {
	shares := false
	for _, r := range o.Returns {
		if r.AliasSet == "" {
			continue
		}
		shares = true
		if !slices.ContainsFunc(o.Args, func(a Arg) bool { return a.AliasSet == r.AliasSet && !a.Mutated }) {
			return fmt.Errorf("result %s has the mark (%s) of no argument that is only read", r.Name, r.AliasSet)
		}
	}
	for _, a := range o.Args {
		marked := func(r Arg) bool { return r.AliasSet == a.AliasSet }
		if a.AliasSet != "" && !a.Mutated && !slices.ContainsFunc(o.Returns, marked) {
			return fmt.Errorf("argument %s has the mark (%s) of no result", a.Name, a.AliasSet)
		}
	}
	view, maybe := o.Tagged("view"), o.Tagged("maybe_view")
	switch {
	case view && maybe:
		return fmt.Errorf("a result is either always or sometimes a view: tags view and maybe_view contradict each other")
	case (view || maybe) && !shares:
		return fmt.Errorf("the result of a view has the alias mark of an argument: Tensor(a)")
	case shares && !view && !maybe:
		return fmt.Errorf("the result has an alias mark; the tag view or maybe_view is missing")
	}
	return nil
}

func (o *Operator) checkVariants() error {
	if o.Private != (len(o.Variants) == 0) {
		return fmt.Errorf("variants are missing, or the operator is private and has none")
	}
	for _, v := range o.Variants {
		if !slices.Contains(variants, v) {
			return fmt.Errorf("variant %q is not one of %v", v, variants)
		}
	}
	if (o.Has("method") || o.Has("inplace")) && (len(o.Args) == 0 || o.Args[0].Name != "self") {
		return fmt.Errorf("the first argument of a method, and of the variant inplace, is called self")
	}
	tensors := len(o.Returns) > 0 && !slices.ContainsFunc(o.Returns, func(r Arg) bool { return r.Type != Type{Base: "Tensor"} })
	if o.Has("out") && !tensors {
		return fmt.Errorf("the variant out needs results that are tensors")
	}
	if o.Has("inplace") && (!tensors || len(o.Returns) != 1) {
		return fmt.Errorf("the variant inplace needs one result that is a tensor")
	}
	inplace := strings.HasSuffix(o.Name, "_")
	if inplace != (len(o.Args) > 0 && o.Args[0].Mutated) {
		return fmt.Errorf("a name ends in _ where the operator changes its first argument, Tensor(a!), and only there")
	}
	return nil
}

// checkExamples checks that the examples of an operator that users call have calls of it.
func (o *Operator) checkExamples() error {
	leaf := o.Name[strings.LastIndex(o.Name, ".")+1:]
	switch {
	case o.Python.Internal:
	case o.Example != "" && !strings.Contains(o.Example, leaf+"("):
		return fmt.Errorf("the example has no call of %s", leaf)
	case o.ExampleInPlace != "" && (!o.Has("inplace") || !strings.Contains(o.ExampleInPlace, "."+leaf+"_(")):
		return fmt.Errorf("example_inplace goes with the variant inplace, and has a call of %s_", leaf)
	}
	return nil
}

// contradictions are pairs of tags that no operator can have.
var contradictions = [][2]string{{"elementwise", "reduction"}, {"metadata", "syncs"}, {"metadata", "random"}, {"view", "random"},
	{"view", "reduction"}}

func (o *Operator) checkTags() error {
	for _, pair := range contradictions {
		if o.Tagged(pair[0]) && o.Tagged(pair[1]) {
			return fmt.Errorf("tags %s and %s contradict each other", pair[0], pair[1])
		}
	}
	generator := slices.ContainsFunc(o.Args, func(a Arg) bool { return a.Type.Base == "Generator" && a.Name == "generator" })
	if o.Tagged("random") != generator {
		return fmt.Errorf("the tag random goes with an argument Generator generator")
	}
	if o.Tagged("moves") && (len(o.Args) == 0 || !o.Args[0].Mutated) {
		return fmt.Errorf("the tag moves goes with a first argument that is changed: Tensor(a!)")
	}
	if o.Tagged("observed") && !o.Runtime {
		return fmt.Errorf("the tag observed goes with functions of the runtime; calls of operators are observed without it")
	}
	return nil
}

// checkBindings checks the fields for the Python and Node packages against the variants.
func (o *Operator) checkBindings() error {
	for language, wrapped := range map[string][]string{"python": o.Python.Wrapped, "node": o.Node.Wrapped} {
		for _, form := range wrapped {
			if form != "function" && form != "method" || !o.Has(form) {
				return fmt.Errorf("%s: wrapped names the form %q, which the operator does not have", language, form)
			}
		}
	}
	if o.Python.Variadic && !slices.ContainsFunc(o.Args, func(a Arg) bool { return a.Type == Type{Base: "Tensor", List: true} && !a.KwOnly }) {
		return fmt.Errorf("python: variadic needs a list of tensors")
	}
	if o.Python.Commutes && o.Python.Dunder == "" {
		return fmt.Errorf("python: commutes is about a dunder")
	}
	return nil
}

// checkAll returns an error for schemas that contradict each other.
func checkAll(all []*Operator) error {
	byName, byGo, byC := map[string]*Operator{}, map[string]*Operator{}, map[string]*Operator{}
	for _, o := range all {
		if other := byC[o.CName()]; other != nil {
			return o.Wrong(fmt.Errorf("tensor_%s is also the C name of %s in %s", o.CName(), other.ID(), other.file))
		}
		byC[o.CName()] = o
		if other := byGo[o.GoName()]; o.AliasOf == "" && other != nil {
			return o.Wrong(fmt.Errorf("%s runs the same Go function %s: one is alias_of the other", other.ID(), o.GoName()))
		}
		if o.AliasOf == "" {
			byGo[o.GoName()] = o
		}
		first := byName[o.Name]
		if first == nil {
			byName[o.Name] = o
		} else if first.Python.Internal != o.Python.Internal {
			return o.Wrong(fmt.Errorf("python: the overload %s in %s is not internal as well", first.ID(), first.file))
		}
	}
	return nil
}

var integerList = regexp.MustCompile(`^\[(-?\d+(, ?-?\d+)*)?\]$`)

// defaultFits reports whether the text of a default is a value of the argument's type.
func (a Arg) defaultFits() bool {
	d := a.Default
	switch {
	case d == "":
		return true
	case d == "None":
		return a.Type.Optional || slices.Contains(typesWithNone, a.Type.Base)
	case a.Type.List:
		return d == "[]" || a.Type.Base == "int" && integerList.MatchString(d)
	}
	switch a.Type.Base {
	case "int":
		_, err := strconv.ParseInt(d, 10, 64)
		return err == nil
	case "float":
		_, err := strconv.ParseFloat(d, 64)
		return err == nil
	case "Scalar", "Operand":
		_, err := strconv.ParseFloat(d, 64)
		return err == nil || d == "True" || d == "False"
	case "bool":
		return d == "True" || d == "False"
	case "str":
		return len(d) >= 2 && d[0] == '\'' && d[len(d)-1] == '\''
	case "dtype":
		_, ok := dtype.Parse(d)
		return ok
	case "memory_format":
		return slices.Contains(MemoryFormats, d)
	case "layout":
		return slices.Contains(Layouts, d)
	}
	return false
}

// typesWithNone lists the types that have a value for an argument that is not given.
var typesWithNone = []string{"Generator", "dtype", "layout", "device", "memory_format"}
