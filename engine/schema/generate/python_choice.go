package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// receiver tells whether every overload starts with the same tensor, which then has a parameter of its own.
func (f *pyFunction) receiver() bool {
	return !slices.ContainsFunc(f.overloads, func(v *pyOverload) bool {
		return len(v.op.Args) == 0 || v.op.Args[0].Name != "self" || v.op.Args[0].Type.List || v.op.Args[0].Type.Base != "Tensor" && v.op.Args[0].Type.Base != "Operand"
	})
}

// choice writes the function that finds the overload that fits a call, in the schema's order.
func (c *code) choice(f *pyFunction) {
	receiver := f.receiver()
	first, skip := "", 0
	if receiver {
		first, skip = "input, ", 1
	}
	c.WriteString("\n\n")
	arguments := f.direct()
	if len(arguments) < len(f.overloads) {
		var forms []string
		for _, v := range f.overloads {
			forms = append(forms, v.private)
		}
		arguments = append(arguments, "forms=("+strings.Join(forms, ", ")+")")
	}
	c.line("@_first(%s)", strings.Join(arguments, ", "))
	c.line("def %s(%s*args, **kwargs):", f.name, first)
	c.indent++
	c.docstring(f.document())
	if f.aliased() {
		c.when("kwargs", "_rename(kwargs)")
	}
	c.line("n = len(args)")
	c.line("if not kwargs:")
	c.indent++
	for _, v := range f.overloads {
		if conditions := v.positionalConditions(skip); conditions != nil {
			c.line("if %s:", strings.Join(conditions, " and "))
			c.indent++
			c.line("return %s(%s*args)", v.private, first)
			c.indent--
		}
	}
	c.indent--
	c.line("else:")
	c.indent++
	for _, v := range f.overloads {
		if conditions := v.conditions(skip); conditions != nil {
			c.line("if %s:", strings.Join(append(conditions, f.keywordConditions(v)...), " and "))
			c.indent++
			c.line("return %s(%s*args, **kwargs)", v.private, first)
			c.indent--
		}
	}
	c.indent--
	c.line(`raise _no_overload("%s", (%s), args, kwargs)`, f.name, f.signatures())
	c.indent--
}

// direct are the overloads that may be tried in turn, before anything is converted, without ever taking a call from one
// that comes earlier: up to one that has no word form, without those with a Tensor or a bool where an earlier one takes a
// number, since a zero-dim tensor and a bool are numbers too.
func (f *pyFunction) direct() []string {
	var out []string
	for i, v := range f.overloads {
		if v.direct() == "" {
			break
		}
		if !slices.ContainsFunc(f.overloads[:i], v.covered) {
			out = append(out, v.private)
		}
	}
	return out
}

// covered tells whether an argument that only v takes as it is may be converted for w.
func (v *pyOverload) covered(w *pyOverload) bool {
	for i, a := range v.op.Args[:min(len(v.op.Args), len(w.op.Args))] {
		switch b := w.op.Args[i].Type.Base; a.Type.Base {
		case "Tensor", "Operand":
			if b == "Scalar" || b == "float" {
				return true
			}
		case "bool":
			if b == "Scalar" || b == "float" || b == "int" {
				return true
			}
		}
	}
	return false
}

// signatures are the overloads for people, as a list of Python strings.
func (f *pyFunction) signatures() string {
	var out []string
	for _, v := range f.overloads {
		out = append(out, fmt.Sprintf("'(%s)'", v.describe()))
	}
	return strings.Join(out, ", ")
}

// positionalConditions are the tests that a call without keywords fits this overload; nil when none can.
func (v *pyOverload) positionalConditions(skip int) []string {
	positional := v.positional()[skip:]
	if slices.ContainsFunc(v.op.Args, func(a schema.Arg) bool { return a.KwOnly && a.Default == "" }) {
		return nil
	}
	variadic := v.variadicSize() || v.variadicTensors()
	required := 0
	for _, a := range positional {
		if a.Default == "" {
			required++
		}
	}
	count := fmt.Sprintf("%d <= n <= %d", required, len(positional))
	switch {
	case variadic:
		count = fmt.Sprintf("n >= %d", required)
	case required == len(positional):
		count = fmt.Sprintf("n == %d", required)
	case required == 0:
		count = fmt.Sprintf("n <= %d", len(positional))
	}
	out := []string{count}
	for i, a := range positional {
		predicate := pyKindOf(a.Type).fits
		if predicate == "" {
			continue
		}
		value := fmt.Sprintf("args[%d]", i)
		test := fmt.Sprintf("%s(%s)", predicate, value)
		if a.Type.Base == "int" {
			test = fmt.Sprintf("(%s.__class__ is _Int or %s)", value, test)
		}
		if variadic && a.Type.List {
			test = fmt.Sprintf("(%s if n == %d else %s(args[%d:]))", test, i+1, predicate, i)
		}
		if a.Type.Optional || a.Default == "None" || noneIsDefault(a) {
			test = fmt.Sprintf("(%s is None or %s)", value, test)
		}
		if a.Default != "" {
			test = fmt.Sprintf("(n <= %d or %s)", i, test)
		}
		out = append(out, test)
	}
	return out
}

// aliased tells whether a parameter of an overload has another name too.
func (f *pyFunction) aliased() bool {
	return slices.ContainsFunc(f.overloads, func(v *pyOverload) bool {
		return slices.ContainsFunc(v.op.Args, func(a schema.Arg) bool { return pyAliases[a.Name] != "" })
	})
}

// document joins the documentation of all overloads.
func (f *pyFunction) document() *schema.Operator {
	all := &schema.Operator{}
	for _, v := range f.overloads {
		all.Doc += fmt.Sprintf("%s(%s)\n%s\n\n", f.name, v.describe(), strings.TrimSpace(v.op.Doc))
	}
	all.Example = f.overloads[0].op.Example
	return all
}

// describe is the signature for people.
func (v *pyOverload) describe() string {
	var out []string
	kwOnly := false
	for _, a := range v.op.Args {
		if a.KwOnly && !kwOnly {
			kwOnly = true
			out = append(out, "*")
		}
		kind := map[string]string{"Operand": "Tensor|Number", "Scalar": "Number"}[a.Type.Base]
		if kind == "" {
			kind = a.Type.Base
		}
		if a.Type.List {
			kind = "sequence of " + kind
		}
		text := kind + " " + pyName(a.Name)
		if a.Default != "" {
			text += "=" + strings.ReplaceAll(a.Default, "'", `"`)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// conditions are the tests that a call with keywords fits this overload; nil when none can. skip counts the parameters that are not
// in args.
func (v *pyOverload) conditions(skip int) []string {
	var out []string
	positional := v.positional()[skip:]
	variadic := v.variadicSize() || v.variadicTensors()
	if !variadic {
		out = append(out, fmt.Sprintf("n <= %d", len(positional)))
	}
	var names []string
	for _, a := range v.op.Args[skip:] {
		names = append(names, pyName(a.Name))
		if a.KwOnly && a.Default == "" {
			out = append(out, fmt.Sprintf(`"%s" in kwargs`, pyName(a.Name)))
		}
	}
	if v.takesOut() {
		names = append(names, "out")
	}
	if v.factory() {
		names = append(names, "pin_memory", "requires_grad")
	}
	if len(names) == 0 {
		return nil
	}
	out = append(out, fmt.Sprintf(`kwargs.keys() <= {"%s"}`, strings.Join(names, `", "`)))
	for i, a := range positional {
		predicate := pyKindOf(a.Type).fits
		if predicate == "" {
			if a.Default == "" {
				out = append(out, fmt.Sprintf(`(n > %d or "%s" in kwargs)`, i, pyName(a.Name)))
			}
			continue
		}
		value := fmt.Sprintf(`_arg(args, %d, kwargs, "%s", _absent)`, i, pyName(a.Name))
		switch {
		case variadic && a.Type.List:
			out = append(out, fmt.Sprintf(`%s(args[%d:] if n != %d else %s)`, predicate, i, i+1, value))
			continue
		case a.Default == "None" || a.Type.Optional && a.Default != "" || noneIsDefault(a):
			out = append(out, fmt.Sprintf(`_or_none(%s, %s)`, predicate, strings.Replace(value, "_absent", "None", 1)))
			continue
		case a.Default != "":
			value = strings.Replace(value, "_absent", pyDefault(a), 1)
		case a.Type.Optional:
			out = append(out, fmt.Sprintf(`_or_none(%s, %s)`, predicate, value))
			continue
		}
		out = append(out, fmt.Sprintf("%s(%s)", predicate, value))
	}
	return out
}

// keywordConditions are the tests of the keyword-only arguments of v that have another type in another overload.
func (f *pyFunction) keywordConditions(v *pyOverload) []string {
	var out []string
	for _, a := range v.op.Args {
		predicate := pyKindOf(a.Type).fits
		if predicate == "" || !a.KwOnly || !slices.ContainsFunc(f.overloads, func(w *pyOverload) bool {
			return slices.ContainsFunc(w.op.Args, func(b schema.Arg) bool {
				return b.Name == a.Name && (b.Type.Base != a.Type.Base || b.Type.List != a.Type.List)
			})
		}) {
			continue
		}
		test := fmt.Sprintf(`%s(kwargs["%s"])`, predicate, pyName(a.Name))
		if a.Default != "" {
			test = fmt.Sprintf(`_or_none(%s, kwargs.get("%s"))`, predicate, pyName(a.Name))
		}
		out = append(out, test)
	}
	return out
}
