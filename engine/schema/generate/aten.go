package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// The table of ATen's names (capi/aten.h) has a row for each overload: its name, its schema, and the operator that implements it. Strings
// are in one array, which needs no relocations.

// atenTexts is that array; equal strings are stored once.
type atenTexts struct {
	text   strings.Builder
	places map[string]int
}

// offsetOf returns the offset of a string in the array, to which it is added if it is new.
func (t *atenTexts) offsetOf(s string) int {
	if at, ok := t.places[s]; ok {
		return at
	}
	at := t.text.Len()
	t.places[s] = at
	t.text.WriteString(s + "\x00")
	return at
}

// atenRow is a row before the rows are sorted.
type atenRow struct {
	name, text, target, form string
	from                     *atenRow // the row whose schema this one's is derived from
	order                    int
}

// atenRows returns the rows in the order of names, those of one name in the order of the overloads.
func atenRows(table *schema.Aten) []*atenRow {
	var rows []*atenRow
	add := func(r *atenRow) *atenRow {
		r.order = len(rows)
		rows = append(rows, r)
		return r
	}
	forms := map[string]string{"": "LT_FUNCTION", "in_place": "LT_INPLACE", "out": "LT_OUT"}
	sources := map[*schema.AtenOverload]*atenRow{}
	for _, o := range table.Overloads {
		text := packSignature(o.Signature())
		if o.Map != "" {
			text += "\x01" + o.Map
		}
		target := "LT_OP_" + strings.ReplaceAll(o.Entry, ".", "_")
		if o.IsComputed() {
			target = "-1 - LT_COMPOSITE_" + compositeName(o)
		}
		sources[o] = add(&atenRow{name: o.Name(), text: text, target: target, form: forms[o.Form]})
	}
	for _, o := range table.Overloads {
		base, overload := schema.SplitAtenName(o.Name())
		if o.InPlace {
			add(&atenRow{name: strings.TrimSuffix(base+"_."+overload, "."), target: sources[o].target, form: "LT_INPLACE", from: sources[o]})
		}
		for _, out := range o.Out {
			overload, names, _ := strings.Cut(out, " ")
			name := base + "." + overload
			if overload == "default" {
				name = base
			}
			add(&atenRow{name: name, text: names, target: sources[o].target, form: "LT_OUT", from: sources[o]})
		}
	}
	slices.SortStableFunc(rows, func(a, b *atenRow) int {
		one, _ := schema.SplitAtenName(a.name)
		other, _ := schema.SplitAtenName(b.name)
		return strings.Compare(one, other)
	})
	return rows
}

// atenWords are the parts that signatures share. A byte from 0x80 on represents each in the table.
var atenWords = []string{
	", *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None", ", *, Generator? generator=None",
	", MemoryFormat? memory_format=None",
	", ScalarType? dtype=None", "bool non_blocking=False", ") -> (Tensor(a!), Tensor(b!))", ") -> (Tensor, Tensor)",
	", *, Tensor(a!) out) -> Tensor(a!)", "bool keepdim=False",
	"Tensor? weight=None", "int reduction=1", "Tensor? weight", "Tensor? bias", "(Tensor(a) self", "(Tensor(a!) self", ") -> Tensor(a!)",
	") -> Tensor(a)", ") -> Tensor[]", ") -> Tensor",
	"(Tensor[] self", ", Tensor other", ", Tensor weight", "(Tensor self", "(Tensor input", "SymInt[2] ", "SymInt[3] ", ", Scalar ",
	", Tensor ", "MemoryFormat", ", SymInt[] ", ", SymInt ",
	", float ", ", bool ", ", int[2] ", ", int[3] ", ", int[] ", ", int ", "Tensor? ", "Tensor", "Scalar", "SymInt", "=False", "=True",
	"=None", "padding", "stride", "dilation", "indices", "size",
}

// packSignature returns a signature with a byte for each of atenWords.
func packSignature(signature string) string {
	var pairs []string
	for i, word := range atenWords {
		pairs = append(pairs, word, string([]byte{byte(0x80 + i)}))
	}
	return strings.NewReplacer(pairs...).Replace(signature)
}

// compositeName returns the name in C of the function that implements an overload.
func compositeName(o *schema.AtenOverload) string {
	name := strings.TrimPrefix(o.Entry, schema.Computed)
	if name == "" {
		name = o.Name()
	}
	return strings.NewReplacer(".", "_", "::", "_").Replace(name)
}

// generateAten writes the table, the declarations of the functions in C that it refers to, and the page of what it lacks.
func generateAten(out *output, ops []*schema.Operator) error {
	table, err := schema.LoadAten("engine", ops)
	if err != nil {
		return err
	}
	rows := atenRows(table)
	index := map[*atenRow]int{}
	for i, r := range rows {
		index[r] = i
	}
	texts := &atenTexts{places: map[string]int{}}
	var lines, names, declarations, functions, quoted strings.Builder
	for _, r := range rows {
		from := -1
		if r.from != nil {
			from = index[r.from]
		}
		fmt.Fprintf(&lines, "    {%d, %s, %d, %d, %s},\n", texts.offsetOf(r.name), r.form, texts.offsetOf(r.text), from, r.target)
	}
	for _, o := range table.Overloads {
		if o.Entry == schema.Computed {
			fmt.Fprintf(&names, "  LT_COMPOSITE_%s,\n", compositeName(o))
			fmt.Fprintf(&declarations, "tensor_status lt_compute_%s(lt_value *a, lt_value *r);\n", compositeName(o))
			fmt.Fprintf(&functions, "    lt_compute_%s,\n", compositeName(o))
		}
	}
	for _, word := range atenWords {
		fmt.Fprintf(&quoted, "    %q,\n", word)
	}
	out.write("capi/gen_aten.h", cBanner+"#ifndef LIBTENSOR_CAPI_GEN_ATEN_H\n#define LIBTENSOR_CAPI_GEN_ATEN_H\n\n#include \"value.h\"\n\n"+
		"// The operators of ATen that are functions in C: from the arguments in the order of their schemas to the results.\nenum {\n"+
		names.String()+"};\n\n"+declarations.String()+"\n#endif\n")
	out.write("capi/gen_aten.c", cBanner+"#include \"gen_aten.h\"\n\n#include \"aten.h\"\n#include \"gen_numbers.h\"\n\nconst lt_composite lt_composites[] = {\n"+functions.String()+"};\n\n"+
		"const lt_aten_row lt_aten_rows[] = {\n"+lines.String()+"};\nconst int lt_aten_count = sizeof lt_aten_rows / sizeof *lt_aten_rows;\n\n"+
		"const char *const lt_aten_words[] = {\n"+quoted.String()+"};\n\nconst char lt_aten_text[] =\n"+cText(texts.text.String())+";\n")
	out.write("docs/gen_aten.md", atenPage(table, rows))
	return nil
}

// cText returns the C literals of a text, a line for each item.
func cText(text string) string {
	var b strings.Builder
	for item := range strings.SplitAfterSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		b.WriteString("    \"")
		for _, c := range []byte(item) {
			switch {
			case c < ' ' || c >= 0x7f:
				fmt.Fprintf(&b, "\\%03o", c)
			case c == '"' || c == '\\':
				b.WriteString(`\` + string(rune(c)))
			default:
				b.WriteByte(c)
			}
		}
		b.WriteString("\"\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// atenPage returns the page about the overloads that the table lacks.
func atenPage(table *schema.Aten, rows []*atenRow) string {
	have := map[string]bool{}
	others := 0 // of other namespaces
	for _, r := range rows {
		have[r.name] = true
		others += strings.Count(r.name, "::")
	}
	var lacking []string
	for _, name := range table.Core {
		if !have[name] {
			lacking = append(lacking, name)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s# Operators of ATen\n\n`tensor_call` ([calling_by_name.md](calling_by_name.md)) accepts %d overloads of ATen's operators, under the names and with the schemas of PyTorch 2.15, and %d of `quantized_decomposed`.\n",
		docsBanner, len(rows)-others, others)
	fmt.Fprintf(&b, "\n## Core ATen IR\n%d of the %d operators of Core ATen IR are available.", len(table.Core)-len(lacking), len(table.Core))
	if len(lacking) > 0 {
		fmt.Fprintf(&b, " Not available: `%s`.", strings.Join(lacking, "`, `"))
	}
	b.WriteString("\n\n## Overloads that are not available\nlibtensor has operators of these names, but not these overloads.\n\n| overloads | reason |\n|---|---|\n")
	for _, a := range table.Absent {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.Join(a.Overloads, "`, `"), a.Reason)
	}
	fmt.Fprintf(&b, "\n## Operators that are not available\nMost of these are intermediate ops of PyTorch's backends, derivatives that `backward` computes without a name, and nested tensors.\n\n`%s`\n",
		strings.Join(table.Missing, "`, `"))
	return b.String()
}
