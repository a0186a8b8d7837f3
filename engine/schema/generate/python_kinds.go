package main

import (
	"fmt"

	"github.com/libtensor/libtensor/engine/schema"
)

// pyKind is how Python gives C the arguments of one type: past ctypes in a word form (words.go, bindings/python/direct/arguments.c),
// or through it, after functions of _convert.py and _match.py.
type pyKind struct {
	letter   string // in a word form; "" where word forms have the default alone
	field    string // of lt_value, which holds the argument
	ctype    string // of the C function's parameter
	fits     string // tells whether a value can be such an argument; "" where no overload is told apart by it
	class    string // of the values that are right as they are; "" where every value is converted
	convert  string // gives what C takes, or refuses the value
	handle   bool   // C takes the handle of what `convert` gives
	none     string // what C takes for None
	nullable bool   // None is left to C even where the schema does not allow it
	optional string // takes the place of `convert` where None is allowed
}

var pyKinds = map[string]pyKind{
	"Tensor":        {letter: "T", field: "pointer", ctype: "P", fits: "_is_tensor", class: "_Tensor", convert: "_tensor", handle: true, none: "None"},
	"Operand":       {letter: "P", field: "pointer", ctype: "P", fits: "_is_operand", class: "_Tensor", convert: "_operand", handle: true},
	"Generator":     {ctype: "P", class: "_Generator", convert: "_generator", handle: true, none: "None"},
	"Storage":       {ctype: "P", fits: "_is_storage", class: "_Storage", convert: "_storage", handle: true},
	"Scalar":        {letter: "S", field: "scalar", ctype: "_Scalar", fits: "_is_number", class: "_Scalar", convert: "_scalar", none: "_NO_SCALAR"},
	"int":           {letter: "I", field: "i", ctype: "P", fits: "_is_int", class: "_Int", convert: "_integer", optional: "_optional_integer"},
	"float":         {letter: "F", field: "f", ctype: "D", fits: "_is_real", class: "_Float", convert: "_real", none: "None", optional: "_double"},
	"bool":          {letter: "B", field: "i", ctype: "P", fits: "_is_bool", class: "_Bool", convert: "_flag", none: "-1"},
	"str":           {letter: "U", field: "text", ctype: "T", fits: "_is_text", convert: "_text", none: "None"},
	"dtype":         {letter: "D", field: "i", ctype: "P", fits: "_is_dtype", convert: "_dtype_code", none: "-1", nullable: true},
	"layout":        {ctype: "P", convert: "_layout_code", none: "-1", nullable: true},
	"memory_format": {ctype: "P", convert: "_memory_format_code", none: "-1", nullable: true},
	"device":        {ctype: "_Device", convert: "_device", none: "_NO_DEVICE", nullable: true},
	"pointer":       {ctype: "P"},
	"Index":         {letter: "X", field: "list", ctype: "P", convert: "_index"},
	"Tensor[]":      {letter: "A", field: "list", ctype: "P", fits: "_is_tensors", convert: "_tensors", optional: "_optional_tensors"},
	"int[]":         {letter: "L", field: "list", ctype: "P", fits: "_is_ints", convert: "_ints"},
	"float[]":       {ctype: "P", fits: "_is_reals", convert: "_floats"},
	"bool[]":        {ctype: "P", convert: "_bools"},
	"Scalar[]":      {ctype: "P", fits: "_is_numbers", convert: "_scalars"},
	"str[]":         {ctype: "P", convert: "_texts"},
}

func pyKindOf(t schema.Type) pyKind { return pyKinds[schema.Type{Base: t.Base, List: t.List}.String()] }

// several tells whether C takes an address and a number for an argument.
func several(t schema.Type) bool { return t.List || t.Base == "Index" }

// convert writes the lines that check argument a and returns the expressions to pass to C. function is the public name.
func (c *code) convert(a schema.Arg, function string, lastOperand bool) (pass []string) {
	p, t, k := pyName(a.Name), a.Type, pyKindOf(a.Type)
	where := fmt.Sprintf(`%s, "%s", "%s"`, p, function, p)
	optional := t.Optional || t.Base == "Generator" && a.Default == "None"
	helper := k.convert
	switch {
	case optional && k.optional != "":
		helper = k.optional
	case lastOperand:
		helper = "_number"
	}
	switch {
	case t.Base == "Index" || t.List && t.Base == "Tensor":
		// The argument keeps its name, and so its tensors alive, until the call is done.
		if t.Base == "Index" {
			where = p
		}
		c.line("%s_list, %s_len = %s(%s)", p, p, helper, where)
		return []string{p + "_list", p + "_len"}
	case t.List && optional:
		c.line("%s, %s_len = (None, 0) if %s is None else %s(%s)", p, p, p, helper, where)
		return []string{p, p + "_len"}
	case t.List:
		if noneIsDefault(a) {
			c.when(p+" is None", p+" = "+pyDefault(a))
		}
		c.line("%s, %s_len = %s(%s)", p, p, helper, where)
		return []string{p, p + "_len"}
	case t.Base == "int":
		c.when(fmt.Sprintf("%s.__class__ is not _Int or not _LOW <= %s <= _HIGH", p, p), fmt.Sprintf("%s = %s(%s)", p, helper, where))
	case k.handle && optional:
		c.when(fmt.Sprintf("%s is not None and %s.__class__ is not %s", p, p, k.class), fmt.Sprintf("%s = %s(%s)", p, helper, where))
		return []string{fmt.Sprintf("%s if %s is None else %s._h", k.none, p, p)}
	case k.nullable || optional && k.none != "":
		c.line("%s = %s if %s is None else %s(%s)", p, k.none, p, helper, where)
	case k.class != "":
		c.when(fmt.Sprintf("%s.__class__ is not %s", p, k.class), fmt.Sprintf("%s = %s(%s)", p, helper, where))
	case helper != "":
		c.line("%s = %s(%s)", p, helper, where)
	}
	if k.handle {
		return []string{p + "._h"}
	}
	return []string{p}
}
