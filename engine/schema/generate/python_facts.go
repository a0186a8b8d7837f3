package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// schemaParagraphs returns the paragraphs of help() that follow from the schema of an overload: the in-place form and the dtypes.
func (v *pyOverload) schemaParagraphs() string {
	argument := pythonSpelling(v.op, nil).argument
	types := dtypeSentences(v.op, v.inplace, argument)
	if v.op.Python.Tuple {
		types = strings.Replace(types, "Results: ", "Results, as a plain tuple: ", 1)
	}
	return joinParagraphs(inPlaceParagraph(v.op, v.inplace, argument), types)
}

// docText returns the documentation of an overload.
func (v *pyOverload) docText() string {
	return joinParagraphs(pythonSpelling(v.op, v.paths).writeDoc(v.op, v.inplace))
}

// joinParagraphs returns the paragraphs that are not empty, wrapped and separated by blank lines.
func joinParagraphs(list ...string) string {
	var kept []string
	for _, text := range list {
		if text = strings.TrimSpace(text); text != "" {
			kept = append(kept, strings.Join(wrapText(text, commentWidth-4), "\n"))
		}
	}
	return strings.Join(kept, "\n\n")
}

// joinTexts joins the strings that are not empty with blank lines.
func joinTexts(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return strings.TrimSpace(text) == "" })
	for i, text := range texts {
		texts[i] = strings.TrimRight(text, "\n")
	}
	return strings.Join(texts, "\n\n")
}

// sharedParagraph returns a paragraph about the arguments that have the same meaning in all operators, and about the methods.
func (f *pyFunction) sharedParagraph() string {
	if f.replaced {
		return ""
	}
	var list []string
	is := func(property func(*pyOverload) bool) bool { return slices.ContainsFunc(f.overloads, property) }
	single := !is(func(v *pyOverload) bool { return len(v.op.Returns) > 1 })
	if is((*pyOverload).isFactory) {
		defaults := "`layout` defaults to strided, and `device` to the default device"
		if like := func(v *pyOverload) bool { return len(v.op.Args) > 0 && v.op.Args[0].Name == "self" }; is(like) {
			defaults = "`layout` and `device` default to those of `input`"
		}
		list = append(list, defaults+"; `requires_grad` makes the result require grad, `pin_memory` allocates page-locked memory, "+
			"and `names` are the names of the dimensions.")
	}
	if name := f.variadicArgument(); name != "" {
		list = append(list, "The items of `"+name+"` can be separate arguments.")
	}
	if is(func(v *pyOverload) bool { return v.op.Tagged("random") }) {
		list = append(list, "`generator` defaults to the default generator of the device.")
	}
	if f.switches {
		list = append(list, "`inplace` modifies `"+f.mergeParameters()[0].name+"` and returns it, as `"+f.name+"_` does.")
	}
	switch out := is((*pyOverload).takesOut); {
	case out && single:
		list = append(list, "`out` is the tensor that the result is written to.")
	case out:
		list = append(list, "`out` are the tensors that the results are written to.")
	}
	return strings.Join(append(list, f.methodSentence()), " ")
}

// variadicArgument returns the list argument whose items can be separate arguments, the *more of the signature.
func (f *pyFunction) variadicArgument() string {
	for _, v := range f.overloads {
		for _, a := range v.op.Args {
			if v.variadicSize() && a.Type.List && !a.KwOnly {
				return pyName(a.Name)
			}
		}
	}
	return ""
}

// methodSentence returns a sentence about the methods of a function.
func (f *pyFunction) methodSentence() string {
	inplace := slices.ContainsFunc(f.overloads, func(v *pyOverload) bool {
		return v.op.Has("inplace") && (&pyOverload{op: v.op, inplace: true}).hasVariant("method")
	})
	if method := f.hasVariant("method"); !f.hasVariant("function") || f.overloads[0].inplace || f.isInternal() || !method && !inplace {
		return ""
	} else if inplace && !method {
		return "The in-place form is " + f.methodCall(f.name+"_") + "."
	} else if inplace {
		return "The method is " + f.methodCall(f.name) + ", and the in-place form " + f.methodCall(f.name+"_") + "."
	}
	return "The method is " + f.methodCall(f.name) + "."
}

// methodCall returns a call of a method with the parameters of the function other than the first.
func (f *pyFunction) methodCall(name string) string {
	list := slices.DeleteFunc(f.mergeParameters()[1:], func(p pyParameter) bool { return p.name == "out" })
	for i := range list {
		list[i].value = strings.TrimPrefix(list[i].value, "_")
	}
	return fmt.Sprintf("`Tensor.%s(%s)`", name, pyParameters(list))
}

// exampleText returns the example of help(). That of an in-place form is the one of the function, with calls of the form, unless the
// schema has its own.
func (v *pyOverload) exampleText(module string) string {
	o, leaf := v.op, v.op.Name[strings.LastIndex(v.op.Name, ".")+1:]
	if o.Name == leaf && module == functional && !o.Python.Tuple { // functions of nn.functional may return only the first of several results
		nn := *v
		nn.op = &schema.Operator{Name: "nn." + leaf, Category: o.Category, Variants: o.Variants,
			Example: strings.ReplaceAll(o.Example, "torch."+leaf+"(", "torch.nn.functional."+leaf+"("), ExampleInPlace: o.ExampleInPlace}
		return nn.exampleText(module)
	}
	switch {
	case !v.inplace || o.Example == "":
		return o.Example
	case o.ExampleInPlace != "":
		return o.ExampleInPlace
	}
	var lines []string
	for line := range strings.Lines(o.Example) {
		lines = append(lines, callInPlace(line, leaf, v.hasVariant("method")))
	}
	return strings.Join(lines, "")
}

// checkExample returns an error for the example of an in-place form without a call of it.
func (f *pyFunction) checkExample() error {
	for _, v := range f.overloads {
		if example := v.exampleText(f.module); v.inplace && example != "" && !strings.Contains(example, "."+f.name+"(") {
			return v.op.Wrong(fmt.Errorf("the example of %s has no call of it; example_inplace is missing", f.name))
		}
	}
	return nil
}

// callInPlace rewrites the first call of a function or method in a line to its in-place form: torch.add(x, y) to x.add_(y) if that is a
// method.
func callInPlace(line, leaf string, method bool) string {
	at := strings.Index(line, "."+leaf+"(")
	if at < 0 || !strings.HasPrefix(line, ">>>") && !strings.HasPrefix(line, "...") {
		return line
	}
	const module = "torch"
	start, rest := at-len(module), line[at+len(leaf)+2:]
	if !method || start < 0 || line[start:at] != module {
		return line[:at] + "." + leaf + "_(" + rest
	}
	depth := 0
	for i, c := range rest {
		switch {
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c) && depth > 0:
			depth--
		case depth == 0 && (c == ',' || c == ')'):
			after := strings.TrimPrefix(rest[i:], ", ")
			return line[:start] + rest[:i] + "." + leaf + "_(" + after
		}
	}
	return line
}
