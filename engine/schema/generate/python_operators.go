package main

import "slices"

// pyComparisons are the dunder methods that Python reflects itself, and that have no in-place form.
var pyComparisons = []string{"eq", "ne", "lt", "le", "gt", "ge"}

// pyOperators are Python's operator methods over the functions, which are attributes of Tensor from then on.
func pyOperators(list []*pyFunction) string {
	c := &codeWriter{}
	c.WriteString(pythonBanner + "# ruff: noqa\n")
	c.writeLine("from .._gen import gen_functions as _f")
	c.writeLine("from .operators import binary as _binary, unary as _unary")
	c.WriteString("\n")
	for _, f := range list {
		o := f.overloads[0].op
		if o.Python.Dunder == "" || f.overloads[0].inplace {
			continue
		}
		if len(o.Args) == 1 {
			c.writeLine(`_unary("__%s__", _f.%s)`, o.Python.Dunder, f.name)
			continue
		}
		numbers := ""
		if o.Args[1].Type.Base == "Tensor" {
			numbers = ", numbers=False"
		}
		method := func(prefix, function, reflected string) {
			c.writeLine(`_binary("__%s%s__", _f.%s%s%s)`, prefix, o.Python.Dunder, function, numbers, reflected)
		}
		method("", f.name, "")
		if slices.Contains(pyComparisons, o.Python.Dunder) {
			continue
		}
		method("r", f.name, map[bool]string{false: ", reflected=True"}[o.Python.Commutes])
		if o.Has("inplace") {
			method("i", f.name+"_", "")
		}
	}
	return c.String()
}
