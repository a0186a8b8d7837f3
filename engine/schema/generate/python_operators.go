package main

import "slices"

// pyComparisons are the dunder methods that Python reflects itself, and that have no in-place form.
var pyComparisons = []string{"eq", "ne", "lt", "le", "gt", "ge"}

// pyOperators are Python's operator methods over the functions, which are attributes of Tensor from then on.
func pyOperators(list []*pyFunction) string {
	c := &code{}
	c.WriteString(pythonBanner + "# ruff: noqa\n")
	c.line("from . import gen_functions as _f")
	c.line("from ._call import *")
	c.line("from ._dlpack import other as _other, other_array as _other_array")
	method := func(dunder, direct, other, result string) {
		c.WriteString("\n\n")
		c.line("@%s", direct)
		c.line("def __%s__(self, other):", dunder)
		c.indent++
		c.line("if other.__class__ is not _Tensor:")
		c.indent++
		c.line("other = %s(other)", other)
		c.when("other is NotImplemented", "return other")
		c.indent--
		c.line("return %s", result)
		c.indent--
		c.line("_Tensor.__%s__ = __%s__", dunder, dunder)
	}
	for _, f := range list {
		o := f.overloads[0].op
		switch {
		case o.Python.Dunder == "" || f.overloads[0].inplace:
		case len(o.Args) == 1:
			c.unary(o.Python.Dunder, "_f."+f.name)
		default:
			dunder, direct, call := o.Python.Dunder, "_first(_f."+f.name+")", "_f."+f.name+"(self, other)"
			other := map[bool]string{true: "_other_array", false: "_other"}[o.Args[1].Type.Base == "Tensor"]
			method(dunder, direct, other, call)
			if slices.Contains(pyComparisons, dunder) {
				continue
			}
			if o.Python.Commutes {
				method("r"+dunder, direct, other, call)
			} else {
				method("r"+dunder, "_reflected(_f."+f.name+")", other, "_f."+f.name+"(other, self)")
			}
			if o.Has("inplace") {
				method("i"+dunder, "_first(_f."+f.name+"_)", other, "_f."+f.name+"_(self, other)")
			}
		}
	}
	return c.String()
}

// unary writes a dunder method without an operand.
func (c *code) unary(dunder, name string) {
	c.WriteString("\n\n")
	inverts := dunder == "invert" // which Python's users know to need integers, so that others get a TypeError
	if inverts {
		c.line("@_first(%s, explains=True)", name)
	} else {
		c.line("@_first(%s)", name)
	}
	c.line("def __%s__(self):", dunder)
	c.indent++
	if inverts {
		c.line("_invertible(self)")
	}
	c.line("return %s(self)", name)
	c.indent--
	c.line("_Tensor.__%s__ = __%s__", dunder, dunder)
}
