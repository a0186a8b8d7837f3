package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/schema"
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
			dtype.QUint8.String(): "quantized dtypes, to TENSOR_QUINT2X4", dtype.Float8E4M3FN.String(): "8-bit floats support storage and conversion only",
		}),
		"Devices": formatEnum("TENSOR_", schema.Devices, map[string]string{"meta": "shape, strides and dtype without data", "mps": "this and the following types have no backend"}),
		"Layouts": formatEnum("TENSOR_", schema.Layouts, nil),
		"Formats": formatEnum("TENSOR_", schema.MemoryFormats, nil),
	}
}

// cNames returns a header with the names behind the enumerations, for initializers.
func cNames() string {
	var dtypes []string
	for _, d := range schema.DTypes {
		dtypes = append(dtypes, fmt.Sprintf("{%q, %d}", d.String(), d.Size()))
	}
	text := cBanner + "// Names by number, and how many they are; dtypes have the bytes of an element too.\n"
	for _, t := range []struct {
		name  string
		items []string
	}{{"DTYPES", dtypes}, {"DEVICES", quoteNames(`"`, schema.Devices)}, {"LAYOUTS", quoteNames(`"`, schema.Layouts)}, {"FORMATS", quoteNames(`"`, schema.MemoryFormats)}} {
		text += fmt.Sprintf("#define LT_%s_BY_NUMBER {%s}\nenum { LT_%[1]s = %[3]d };\n", t.name, strings.Join(t.items, ", "), len(t.items))
	}
	return text
}

// pythonNames returns the module of the same names; dtypes have the bytes of an element and a letter for their kind.
func pythonNames() string {
	text := pythonBanner + "# Names by number. Dtypes: name, bytes of an element, kind (bool, unsigned, int, float, complex, quantized).\nDTYPES = (\n"
	var real []string
	for _, d := range schema.DTypes {
		kind := map[dtype.Category]string{dtype.Boolean: "b", dtype.Integral: "i", dtype.Floating: "f", dtype.Complex: "c"}[d.Category()]
		switch {
		case d.IsQuantized():
			kind = "q"
		case !d.IsSigned() && kind == "i":
			kind = "u"
		}
		text += fmt.Sprintf("    (%q, %d, %q),\n", d.String(), d.Size(), kind)
		real = append(real, fmt.Sprint(int(d.ToReal())))
	}
	text += fmt.Sprintf(")\n# The dtypes of the real parts.\nREAL = (%s)\n", strings.Join(real, ", "))
	for _, t := range []struct {
		name  string
		items []string
	}{{"DEVICES", schema.Devices}, {"LAYOUTS", schema.Layouts}, {"FORMATS", schema.MemoryFormats}} {
		text += fmt.Sprintf("%s = (%s)\n", t.name, strings.Join(quoteNames(`"`, t.items), ", "))
	}
	return text
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
func nodeConstantTypes() map[string]string {
	union := func(names []string) string { return strings.Join(quoteNames("'", names), " | ") }
	text := ""
	for _, name := range nodeConstants() {
		text += fmt.Sprintf("export const %s: '%s';\n", schema.Camel(name, false), name)
	}
	return map[string]string{"DTypes": union(nodeDTypes()), "Layouts": union(schema.Layouts), "Formats": union(schema.MemoryFormats), "Constants": strings.TrimSuffix(text, "\n")}
}

// generateNames writes the tables of names of every language.
func generateNames(out *output) {
	out.write("capi/gen_names.h", cNames())
	out.write("bindings/node/src/gen_names.h", cNames())
	out.write(pythonDir+"_base/gen_names.py", pythonNames())
	out.write("bindings/node/lib/gen_constants.js", nodeConstantsModule())
}
