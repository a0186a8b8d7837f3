package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/schema"
	"github.com/libtensor/libtensor/engine/schema/dtypes"
)

// quoteNames puts each name between quotes.
func quoteNames(quote string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = quote + name + quote
	}
	return out
}

// dtypeNames returns the names of the dtypes that tensors have; count leaves out the last ones.
func dtypeNames(count int) []string {
	var names []string
	for _, d := range schema.DTypes[:count] {
		names = append(names, d.String())
	}
	return names
}

// formatEnum returns the constants of a C enumeration, one per line, with notes on some.
func formatEnum(prefix string, names []string, notes map[string]string) string {
	var b strings.Builder
	for i, name := range names {
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		line := fmt.Sprintf("  %s%s = %d%s", prefix, strings.ToUpper(strings.TrimSuffix(name, "_format")), i, comma)
		if note := notes[name]; note != "" {
			line += "  // " + note
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// headerEnums returns the enumerations of tensor.h.
func headerEnums() map[string]string {
	return map[string]string{
		"DTypes": formatEnum("TENSOR_", dtypeNames(len(schema.DTypes)), map[string]string{
			dtype.QUint8.String():       "quantized dtypes, to TENSOR_QUINT2X4",
			dtype.Float8E4M3FN.String(): "8-bit floats support storage and conversion only",
		}),
		"Devices": formatEnum("TENSOR_", schema.Devices,
			map[string]string{"meta": "shape, strides and dtype without data", "mps": "this and the following types have no backend"}),
		"Layouts": formatEnum("TENSOR_", schema.Layouts, nil),
		"Formats": formatEnum("TENSOR_", schema.MemoryFormats, nil),
	}
}

// cNames returns a header with the names behind the enumerations, for initializers.
func cNames() string {
	var names []string
	for _, d := range schema.DTypes {
		names = append(names, fmt.Sprintf("{%q, %d}", d.String(), d.Size()))
	}
	text := cBanner + "// Names by number, and how many they are; dtypes have the bytes of an element too.\n"
	for _, t := range []struct {
		name  string
		items []string
	}{{"DTYPES", names}, {"DEVICES", quoteNames(`"`, schema.Devices)}, {"LAYOUTS", quoteNames(`"`, schema.Layouts)},
		{"FORMATS", quoteNames(`"`, schema.MemoryFormats)}} {
		text += fmt.Sprintf("#define LT_%s_BY_NUMBER {%s}\nenum { LT_%[1]s = %[3]d };\n", t.name, strings.Join(t.items, ", "), len(t.items))
	}
	return text
}

// cExchange returns a header with the dtypes of formats in which C programs exchange arrays.
func cExchange(rows []dtypes.DType) string {
	var codes, formats []string
	for _, d := range rows {
		code, format := "{0, 0}", "NULL"
		if d.DLPack != nil {
			code = fmt.Sprintf("{%d, %d}", *d.DLPack, 8*d.Size)
		}
		if d.Arrow != "" {
			format = strconv.Quote(d.Arrow)
		}
		codes, formats = append(codes, code), append(formats, format)
	}
	const comment = "// By dtype: the type codes and bits of DLPack, 0 bits where it has no type, and the formats of Arrow's C data interface, or NULL.\n"
	return cBanner + comment + fmt.Sprintf("#define LT_DLPACK_TYPES {%s}\n#define LT_ARROW_FORMATS {%s}\n", strings.Join(codes, ", "),
		strings.Join(formats, ", "))
}

// hppDTypes returns a header with the constants of the dtypes for C++.
func hppDTypes(rows []dtypes.DType) string {
	text := ""
	for i, d := range rows {
		end := ","
		if i == len(rows)-1 {
			end = ";"
		}
		text += fmt.Sprintf("                       %s = TENSOR_%s%s\n", constantName(d), strings.ToUpper(d.Name), end)
	}
	return hppFile("GEN_DTYPES", "#include \"../tensor.h\"\n",
		"using Dtype = tensor_dtype;\n\ninline constexpr Dtype "+strings.TrimLeft(text, " "))
}

// constantName returns the name of the constant of a dtype in languages where bool is a keyword or a type.
func constantName(d dtypes.DType) string {
	if d.Name == dtype.Bool.String() {
		return "bool_"
	}
	return d.Name
}

// goDTypes returns the constants of the dtypes of the Go package.
func goDTypes(rows []dtypes.DType) string {
	text := goBanner + `package program

// #include "library.h"
import "C"

// The dtypes. NewTensorOf and Bytes take and return the bytes of elements for which Go has no type, such as those of Float16.
const (
	NoDType DType = C.TENSOR_DTYPE_NONE
`
	for _, d := range rows {
		name := d.Go
		if name == "Bool" {
			name = "BoolType" // Bool returns an argument
		}
		text += fmt.Sprintf("\t%s DType = C.TENSOR_%s\n", name, strings.ToUpper(d.Name))
	}
	return text + ")\n"
}

// kindLetters are the letters of kinds of dtypes that NumPy uses, and "q" of quantized ones.
var kindLetters = map[string]string{"bool": "b", "unsigned": "u", "int": "i", "float": "f", "complex": "c", "quantized": "q"}

// formatLimits returns the limits of a float between brackets, and none without limits.
func formatLimits(d dtypes.DType, open, end, none string) string {
	var items []string
	for i, value := range d.Values() {
		text := strconv.FormatFloat(value, 'g', -1, 64)
		if i < 3 && open == "(" && !strings.ContainsAny(text, ".e") {
			text += ".0" // a float in Python
		}
		items = append(items, text)
	}
	if items == nil {
		return none
	}
	return open + strings.Join(items, ", ") + end
}

// pythonNames returns the module of the same names, and of the properties of dtypes.
func pythonNames(rows []dtypes.DType) string {
	word := func(text string) string {
		if text == "" {
			return "None"
		}
		return strconv.Quote(text)
	}
	text := pythonBanner + `# Names by number. Dtypes: name, bytes of an element, kind (bool, unsigned, int, float, complex, quantized), whether it is signed,
# the number of the dtype of its real parts, PyTorch's ScalarType, NumPy's type string, number in exported programs (0: none), and
# eps, smallest normal, largest value and decimal digits of floats.
DTYPES = (
`
	for i, d := range rows {
		signed := map[bool]string{true: "True", false: "False"}[d.IsSigned()]
		text += fmt.Sprintf("    (%q, %d, %q, %s, %d, ", d.Name, d.Size, kindLetters[d.Kind], signed, int(schema.DTypes[i].ToReal()))
		text += fmt.Sprintf("%q, %s, %d, %s),\n", d.ScalarType, word(d.NumPy), d.Exported, formatLimits(d, "(", ")", "None"))
	}
	text += ")\n"
	for _, t := range []struct {
		name  string
		items []string
	}{{"DEVICES", schema.Devices}, {"LAYOUTS", schema.Layouts}, {"FORMATS", schema.MemoryFormats}} {
		text += fmt.Sprintf("%s = (%s)\n", t.name, strings.Join(quoteNames(`"`, t.items), ", "))
	}
	return text
}

// pythonDTypes returns the stub that declares the constants of the dtypes, except bool_, which is named bool in the public package.
func pythonDTypes(rows []dtypes.DType) string {
	text := pythonBanner + "from .dtypes import dtype\n\n"
	var names []string
	for _, d := range rows {
		if constantName(d) == d.Name {
			text += d.Name + ": dtype\n"
			names = append(names, d.Name)
		}
	}
	return text + fmt.Sprintf("\n__all__ = [%s]\n", strings.Join(quoteNames(`"`, names), ", "))
}

// nodeTable returns a module with the properties of dtypes.
func nodeTable(rows []dtypes.DType) string {
	text := cBanner + `'use strict';

// The dtypes by name. array: the typed array of the elements, their bits or their parts; kind: bool, unsigned, int, float, complex
// or quantized; part: the dtype of the parts of a complex dtype; wide: the dtype that has a typed array of numbers, of floats of 8
// and 16 bits; limits: eps, smallest normal, largest value and decimal digits.
module.exports = {
`
	for _, d := range rows {
		text += fmt.Sprintf("  %s: { kind: '%s', signed: %t", d.Name, d.Kind, d.IsSigned())
		if d.Array != "" {
			text += ", array: " + d.Array
		}
		if d.Real != "" {
			text += ", part: '" + d.Real + "'"
		}
		if wide := nodeWide(d); wide != "" {
			text += ", wide: '" + wide + "'"
		}
		text += formatLimits(d, ", limits: [", "]", "") + " },\n"
	}
	return text + "};\n"
}

// nodeWide returns the dtype to which Node widens elements to read them as numbers: floats of 8 and 16 bits, and complex numbers of such.
func nodeWide(d dtypes.DType) string {
	switch {
	case d.Kind == "float" && d.Size < 4:
		return "float32"
	case d.Kind == "complex" && d.Size < 8:
		return "complex64"
	}
	return ""
}

// nodeElements returns the declarations of the typed arrays and JavaScript's types of elements by dtype.
func nodeElements(rows []dtypes.DType) (arrays, items string) {
	for _, d := range rows {
		if d.Array == "" || d.Name == dtype.BComplex32.String() {
			continue
		}
		item := "number"
		switch {
		case d.Kind == "bool":
			item = "boolean"
		case d.Kind == "complex":
			item = "Complex"
		case d.Size == 8 && d.Kind != "float":
			item = "Int"
		}
		arrays += fmt.Sprintf("  %s: %s;\n", d.Name, d.Array)
		items += fmt.Sprintf("  %s: %s;\n", d.Name, item)
	}
	return strings.TrimSuffix(arrays, "\n"), strings.TrimSuffix(items, "\n")
}

// nodeDTypes returns the names of the dtypes in the Node package, which lacks pairs of bfloat16.
func nodeDTypes() []string {
	return slices.DeleteFunc(dtypeNames(len(schema.DTypes)), func(name string) bool { return name == dtype.BComplex32.String() })
}

// nodeConstants returns the strings that the Node package exports under their names in camel case.
func nodeConstants() []string {
	return slices.Concat(nodeDTypes(), schema.Layouts[:1], schema.MemoryFormats)
}

func nodeConstantsModule() string {
	text := cBanner + "'use strict';\n\n// Dtypes, layouts and memory formats are strings; these are their names.\nmodule.exports = {\n"
	for _, name := range nodeConstants() {
		text += fmt.Sprintf("  %s: '%s',\n", schema.Camel(name, false), name)
	}
	return text + "};\n"
}

// nodeConstantTypes returns the declarations of the constants and of their types.
func nodeConstantTypes(rows []dtypes.DType) map[string]string {
	union := func(names []string) string { return strings.Join(quoteNames("'", names), " | ") }
	text := ""
	for _, name := range nodeConstants() {
		text += fmt.Sprintf("export const %s: '%s';\n", schema.Camel(name, false), name)
	}
	arrays, items := nodeElements(rows)
	return map[string]string{"DTypes": union(nodeDTypes()), "Layouts": union(schema.Layouts), "Formats": union(schema.MemoryFormats),
		"Arrays": arrays, "Items": items,
		"Constants": strings.TrimSuffix(text, "\n")}
}

// generateNames writes the tables of names of every language.
func generateNames(out *output, rows []dtypes.DType) {
	out.write("capi/gen_names.h", cNames())
	out.write("capi/gen_exchange.h", cExchange(rows))
	out.write("bindings/node/src/gen_names.h", cNames())
	out.write(pythonDir+"_base/gen_names.py", pythonNames(rows))
	out.write("bindings/node/lib/gen_constants.js", nodeConstantsModule())
	out.write("bindings/node/lib/gen_dtypes.js", nodeTable(rows))
	out.write(pythonDir+"_base/gen_dtypes.pyi", pythonDTypes(rows))
	out.write("include/tensor/gen_dtypes.hpp", hppDTypes(rows))
	out.write("bindings/go/program/gen_dtypes.go", goDTypes(rows))
}
