package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/schema"
)

// mainDTypes are the columns of the table.
var mainDTypes = []dtype.DType{
	dtype.Bool, dtype.Uint8, dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64, dtype.Uint16, dtype.Uint32, dtype.Uint64, dtype.Float16,
	dtype.BFloat16, dtype.Float32, dtype.Float64,
	dtype.Complex64, dtype.Complex128,
}

// generateDTypes writes the operator × dtype table.
func generateDTypes(out *output, ops []*schema.Operator) {
	var table strings.Builder
	fmt.Fprintf(&table, "%s# Operators, dtypes and dispatch keys\n\nThe dtypes that each operator accepts on the CPU, and its support for sparse, quantized, named and other tensors: kernel, composite (its intermediate ops decide), rule (specific to that kind of tensor), constant (no gradient) or unsupported (an error). `dispatch.table(name)` returns the same. Every operator also infers dtype and shape on the meta device, except those with the tag syncs.\n\n",
		docsBanner)
	for _, tag := range slices.Sorted(maps.Keys(schema.Tags)) {
		fmt.Fprintf(&table, "- **%s**: %s.\n", tag, schema.Tags[tag])
	}
	columns := append(slices.Clone(mainDTypes), dtype.Complex32) // supported by every operator unless its schema says otherwise
	table.WriteString("\n| operator | forms | tags |")
	for _, d := range columns {
		fmt.Fprintf(&table, " %v |", d)
	}
	table.WriteString(" " + strings.Join(kindColumns, " | ") + " |\n|---|---|---|" + strings.Repeat("---|", len(columns)+len(kindColumns)) +
		"\n")
	for _, category := range schema.Categories {
		for _, o := range ops {
			if o.Category != category || o.DTypes == "none" {
				continue
			}
			fmt.Fprintf(&table, "| %s | %s | %s |", o.ID(), strings.Join(o.Variants, " "), strings.Join(o.Tags, " "))
			for _, d := range columns {
				mark := ""
				if o.Accepts(d) {
					mark = "✓"
				}
				fmt.Fprintf(&table, " %s |", mark)
			}
			words := out.kinds[o.ID()]
			if words == nil { // the operator has no tensor among its arguments
				words = make([]string, len(kindColumns))
			}
			table.WriteString(" " + strings.Join(words, " | ") + " |\n")
		}
	}
	out.write("docs/gen_dtypes.md", table.String())
}
