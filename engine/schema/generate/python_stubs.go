package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

const pyStubHead = pythonBanner + `# ruff: noqa
# mypy: disable-error-code="overload-overlap,overload-cannot-match"
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

from .._base.device import device as _device
from .._base.dtypes import dtype as _dtype, layout as _layout, memory_format as _memory_format
from .._data.random import Generator as _Generator
from .._storages.storage import UntypedStorage as _Storage
from .._core.tensor import Tensor as _Tensor

_Number: TypeAlias = _bool | _int | _float | _complex
_DTypeLike: TypeAlias = _dtype | type[Any]  # NumPy's scalar types, and bool, int, float, complex
`

// isWrapped reports whether the package declares the form, a function or method, itself.
func (f *pyFunction) isWrapped(form string) bool {
	return slices.Contains(f.overloads[0].op.Python.Wrapped, form)
}

// pyType returns the annotation of an argument, or of a result when result is set.
func pyType(t schema.Type, result bool) string {
	s := map[string]string{"Tensor": "_Tensor", "Operand": "_Tensor | _Number", "Scalar": "_Number", "int": "_int", "float": "_float",
		"bool": "_bool", "str": "_str",
		"dtype": "_DTypeLike", "device": "_device | _str | _int", "layout": "_layout", "memory_format": "_memory_format",
		"Generator": "_Generator", "Index": "Any",
		"Storage": "_Storage", "pointer": "Any"}[t.Base]
	switch {
	case result && t.Base == "Scalar":
		return "Any" // the kind of the number is the tensor's dtype's
	case result && t.List:
		return "tuple[" + s + ", ...]"
	case result && (t.Base == "device" || t.Base == "dtype"):
		return "_" + t.Base
	case t.List && t.Base == "int":
		s = "_int | Sequence[_int]"
	case t.List:
		s = "Sequence[" + s + "]"
	}
	if t.Optional {
		s += " | None"
	}
	return s
}

// pyDims returns the type of an argument, with strings if it is a dimension.
func pyDims(a schema.Arg) string {
	if a.Dim {
		return strings.ReplaceAll(pyType(a.Type, false), "_int", "_int | _str")
	}
	return pyType(a.Type, false)
}

// stubParameters returns the declarations of the operator's arguments, and whether those that follow can only be passed by name.
func (v *pyOverload) stubParameters(method bool) (out []string, star bool) {
	for i, a := range v.op.Args {
		p := pyName(a.Name)
		kind := pyDims(a)
		switch {
		case method && i == 0:
			out = append(out, "self")
			continue
		case v.variadicTensors() && a.Type.List:
			out = append(out, "*"+p+": _Tensor | Sequence[_Tensor]")
			star = true
			continue
		case v.variadicSize() && a.Type.List && !a.KwOnly:
			out = append(out, p+": "+kind, "*more: "+strings.Split(kind, " | Seq")[0])
			star = true
			continue
		case a.KwOnly && !star:
			star = true
			out = append(out, "*")
		}
		if (a.Default == "None" || noneIsDefault(a)) && !strings.HasSuffix(kind, "None") {
			kind += " | None"
		}
		if a.Default != "" {
			kind += " = ..."
		}
		out = append(out, p+": "+kind)
	}
	return out, star
}

// stubOptions returns the declarations of the parameters that Python adds: out, second names of arguments, and those of factories.
func (v *pyOverload) stubOptions() (out []string) {
	if v.takesOut() {
		kind := "_Tensor"
		if len(v.op.Returns) > 1 {
			kind = "Sequence[_Tensor]"
		}
		out = append(out, "out: "+kind+" | None = ...")
	}
	for _, a := range v.aliasedArgs() {
		out = append(out, pyAliases[a.Name]+": "+pyDims(a)+" = ...")
	}
	if v.isFactory() {
		out = append(out, "pin_memory: _bool | None = ...", "requires_grad: _bool = ...", "names: Sequence[_str | None] | None = ...")
	}
	return out
}

// stubResult returns the type of the result.
func (v *pyOverload) stubResult(method bool) string {
	switch returns := v.op.Returns; {
	case v.op.Python.Tuple:
		var types []string
		for _, r := range returns {
			types = append(types, pyType(r.Type, true))
		}
		return "tuple[" + strings.Join(types, ", ") + "]"
	case len(returns) > 1 && method:
		return "_f." + v.resultType()
	case len(returns) > 1:
		return v.resultType()
	case v.inplace || len(returns) == 0 && len(v.op.Args) > 0 && v.op.Args[0].Mutated && !v.op.Args[0].Type.List:
		return "_Tensor"
	case len(returns) == 1:
		return pyType(returns[0].Type, true)
	}
	return "None"
}

// formatStub returns the typed signature of one overload.
func (v *pyOverload) formatStub(name string, method, switches bool) string {
	out, star := v.stubParameters(method)
	if switches {
		at := slices.Index(out, "*")
		if at < 0 {
			at = len(out)
		}
		out = slices.Insert(out, at, "inplace: _bool = ...")
	}
	if options := v.stubOptions(); len(options) > 0 {
		if !star {
			out = append(out, "*")
		}
		out = append(out, options...)
	}
	return fmt.Sprintf("def %s(%s) -> %s: ...", name, strings.Join(out, ", "), v.stubResult(method))
}

// resultStub declares the tuple type of several results.
func (c *codeWriter) resultStub(v *pyOverload) {
	if len(v.op.Returns) < 2 || v.op.Python.Tuple {
		return
	}
	c.writeLine("class %s(NamedTuple):", v.resultType())
	c.indent++
	for _, r := range v.op.Returns {
		c.writeLine("%s: %s", r.Name, pyType(r.Type, true))
	}
	c.indent--
}

// listStubs writes the stubs of operators on lists, whose public names begin with an underscore. Operators that write to a list return it.
func (c *codeWriter) listStubs(functions []*pyFunction) {
	c.writeLine("_List = TypeVar(\"_List\", bound=Sequence[_Tensor])\n")
	var names []string
	for _, f := range functions {
		names = append(names, `"_`+f.name+`"`)
		for _, v := range f.overloads {
			if len(f.overloads) > 1 {
				c.writeLine("@overload")
			}
			stub := strings.ReplaceAll(v.formatStub("_"+f.name, false, false), "-> list[_Tensor]", "-> tuple[_Tensor, ...]")
			stub = strings.Replace(stub, "(input: ", "(self: ", 1)
			if strings.HasPrefix(f.name, "foreach_") && strings.HasSuffix(f.name, "_") {
				stub = strings.Replace(strings.Replace(stub, "self: Sequence[_Tensor]", "self: _List", 1), "-> None", "-> _List", 1)
			} else {
				stub = strings.Replace(stub, "lr: _float", "lr: _float | _Tensor", 1)
			}
			c.writeLine("%s", stub)
		}
	}
	c.writeLine("\n__all__ = [%s]", strings.Join(names, ", "))
}

// privateStubs declares the functions that the package calls and does not offer: `import *` imports the public names alone.
func (c *codeWriter) privateStubs(public, private []string) {
	if len(private) == 0 || len(public) == 0 {
		return
	}
	c.writeLine("def _private(*args: Any, **kwargs: Any) -> Any: ...\n")
	for _, name := range private {
		c.writeLine("%s = _private", name)
	}
	c.writeLine("\n__all__ = [\"%s\"]", strings.Join(public, `", "`))
}

// declaredFunctions returns the names of the functions that a hand-written stub declares. Type checkers ignore a second declaration of a
// name.
func declaredFunctions(path string) (names []string, err error) {
	text, err := os.ReadFile(path)
	for _, found := range regexp.MustCompile(`(?m)^def (\w+)\(`).FindAllSubmatch(text, -1) {
		names = append(names, string(found[1]))
	}
	return names, err
}

// pyStubs writes the stub of every generated module, and one of the methods that Tensor gets from them.
func pyStubs(out *output, byModule map[string][]*pyFunction) error {
	methods := &codeWriter{}
	methods.WriteString(pyStubHead)
	methods.writeLine("from . import gen_functions as _f")
	methods.WriteString("\nclass Methods:\n")
	methods.indent++
	methods.writeLine("__slots__ = ()")
	for _, module := range pyModules {
		c := &codeWriter{}
		c.WriteString(pyStubHead + "\n")
		if module == onLists {
			c.listStubs(byModule[module])
		}
		var public, private []string
		for _, f := range byModule[module] {
			if f.isInternal() || f.isWrapped("function") || f.replaced {
				private = append(private, f.name)
				continue
			}
			for _, v := range f.overloads {
				c.resultStub(v)
				if len(v.op.Returns) > 1 && !v.op.Python.Tuple {
					public = append(public, v.resultType())
				}
			}
			if !f.hasVariant("function") {
				private = append(private, f.name) // a method alone, which the package does not offer as a function
				continue
			}
			public = append(public, f.name)
			for _, v := range f.overloads {
				if len(f.overloads) > 1 {
					c.writeLine("@overload")
				}
				c.writeLine("%s", v.formatStub(f.name, false, f.switches))
			}
		}
		c.privateStubs(public, private)
		out.write(pythonDir+"_gen/gen_"+module+".pyi", c.String())
	}
	for _, f := range byModule["functions"] {
		if !f.hasVariant("method") || f.isInternal() || f.isWrapped("method") {
			continue
		}
		for _, v := range f.overloads {
			if len(f.overloads) > 1 {
				methods.writeLine("@overload")
			}
			methods.writeLine("%s", v.formatStub(f.name, true, false))
		}
	}
	out.write(pythonDir+"_gen/gen_methods.pyi", methods.String())
	return nil
}
